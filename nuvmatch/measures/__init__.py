"""The measures by name: each is made once for a template and fills score maps."""

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from ..engine.images import Image
from . import nuv
from .backwards import Backwards, Smaller
from .mutual_information import MutualInformation
from .ncc import NCC
from .nuv import NUV, Tuning
from .ssd import SSD
from .template import Template


class Measure(Protocol):
    """A dissimilarity of one template to every window of an image."""

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map, with `nothing` where a window gives no evidence."""


TONE_MODELS: dict[str, Callable[[Template, Tuning], NUV]] = {
    "nuv": nuv.piecewise_constant,
    "nuv_linear": nuv.piecewise_linear,
    "nuv_monotone": nuv.monotone,
    "nuv_curves": nuv.principal_curves,
    "nuv_adaptive": nuv.adaptive,
}
BASELINES: dict[str, Callable[[Template], Measure]] = {
    "ncc": lambda template: NCC(template, squared=False),
    "ncc2": lambda template: NCC(template, squared=True),
    "mi": lambda template: MutualInformation(template, by="template"),
    "nmi": lambda template: MutualInformation(template, by="window"),
    "ssd": SSD,
}
MEASURES = (*TONE_MODELS, *BASELINES)
BINNED = (*TONE_MODELS, "mi", "nmi")
DIRECTIONS = ("ptw", "wtp", "both")


def make_measure(
    name: str, direction: str, template: Template, tuning: Tuning
) -> tuple[Measure, NUV | None]:
    """Make a measure, and what of it goes from pattern to window by a tone model."""
    if name in BASELINES:
        return BASELINES[name](template), None
    forwards = TONE_MODELS[name](template, tuning)
    if direction == "ptw":
        return forwards, forwards
    backwards = Backwards(template, adjusted=tuning.adjusted)
    return (backwards if direction == "wtp" else Smaller(forwards, backwards)), forwards


__all__ = [
    "BINNED",
    "DIRECTIONS",
    "MEASURES",
    "NUV",
    "TONE_MODELS",
    "Measure",
    "Template",
    "Tuning",
    "make_measure",
]
