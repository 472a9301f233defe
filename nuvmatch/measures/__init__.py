"""The measures by name: each is made once for a template and fills score maps."""

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from ..engine.images import Image
from .mutual_information import MutualInformation
from .ncc import NCC
from .nuv import NUV
from .ssd import SSD
from .template import Template


class Measure(Protocol):
    """A dissimilarity of one template to every window of an image."""

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map, with `nothing` where a window gives no evidence."""


MEASURES: dict[str, Callable[[Template], Measure]] = {
    "nuv": NUV,
    "ncc": lambda template: NCC(template, squared=False),
    "ncc2": lambda template: NCC(template, squared=True),
    "mi": lambda template: MutualInformation(template, by="template"),
    "nmi": lambda template: MutualInformation(template, by="window"),
    "ssd": SSD,
}
BINNED = ("nuv", "mi", "nmi")

__all__ = ["BINNED", "MEASURES", "Measure", "Template"]
