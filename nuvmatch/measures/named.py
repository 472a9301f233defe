"""The measures by name: a string is shorthand for one with its defaults."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Literal

from .base import Measure
from .mutual_information import MI
from .ncc import NCC
from .nuv import NUV, AdaptiveNUV, CurvesNUV, LinearNUV, MonotoneNUV
from .ssd import SSD

MeasureName = Literal[
    "auto", "nuv", "nuv_linear", "nuv_monotone", "nuv_curves", "nuv_adaptive", "ncc", "ncc2",
    "mi", "nmi", "ssd",
]  # fmt: skip
MeasureLike = MeasureName | Measure

NAMED: dict[str, Measure] = {
    "nuv": NUV(),
    "nuv_linear": LinearNUV(),
    "nuv_monotone": MonotoneNUV(),
    "nuv_curves": CurvesNUV(),
    "nuv_adaptive": AdaptiveNUV(),
    "ncc": NCC(),
    "ncc2": NCC(squared=True),
    "mi": MI(),
    "nmi": MI(normalize="window"),
    "ssd": SSD(),
}

_LENGTH = 240  # of what stands for a name


def as_measure(measure: Any) -> Measure:
    """Take a measure, or the name of one."""
    if isinstance(measure, str):
        if measure not in NAMED:
            raise ValueError(
                f"measure is {measure!r}; it must be one of {', '.join(map(repr, NAMED))}, or a "
                "measure such as NUV(bins=16)"
            )
        return NAMED[measure]
    if isinstance(measure, type) or not callable(getattr(measure, "prepare", None)):
        raise TypeError(
            f"measure is {measure!r}; it must be a name such as 'nuv', a measure such as "
            "NUV(bins=16), or an object of your own with prepare(template)"
        )
    return measure  # type: ignore[no-any-return]  # what has prepare is one


def name_of(measure: Measure) -> str:
    """Return the name of a measure, or how it is written in short."""
    of_its_kind = (name for name, named in NAMED.items() if type(named) is type(measure))
    names = (name for name in of_its_kind if NAMED[name] == measure)
    kind = type(measure)
    if kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__:
        return kind.__name__  # not where it is in memory
    # With what curves are learnt from this can be megabytes. Addresses are of this process alone.
    written = re.sub(" at 0x[0-9A-Fa-f]+", "", str(measure))
    if len(written) > _LENGTH:  # others begin so as well
        told = hashlib.blake2b(written.encode(), digest_size=4).hexdigest()
        written = f"{written[:_LENGTH]}..{told}"
    return next(names, written)


def type_name(measure: Measure) -> str:
    """Return the name of a measure, or of its kind, where others stand beside it."""
    name = name_of(measure)
    if name in NAMED:
        return name
    of_window = isinstance(measure, MI) and measure.normalize == "window"
    return "nMI" if of_window else type(measure).__name__
