"""In which units an image and a template hold their greys."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..engine import Image
from ..tones.ranges import full_scale
from .template import Template


class Greys(NamedTuple):
    """Type of greys, and between which they lie."""

    dtype: np.dtype[Any]
    low: float
    high: float

    @classmethod
    def of_template(cls, template: Template) -> Greys:
        """Take the greys that count."""
        inside, base = template.inside, template.base
        return cls(template.planes.dtype, float(inside.min()) + base, float(inside.max()) + base)

    @classmethod
    def of_image(cls, image: Image) -> Greys:
        """Take the good ones of the whole image, whatever part of it is searched."""
        return cls(image.planes.dtype, *image.grey_range)

    def __str__(self) -> str:
        return f"{self.dtype} from {self.low:g} to {self.high:g}"


def unit_of(image: Image, template: Greys) -> float | None:
    """Return by what greys of the image are to be multiplied to be as those of the template.

    Of equal types, of floats on both sides, and where one has whole numbers that are no
    camera's, greys are what they are: 1. Else black and white of both decide. None, if these
    are not to be told, as of such whole numbers beside shares of white.
    """
    kind = image.planes.dtype
    if kind == template.dtype or kind.kind == template.dtype.kind == "f":
        return 1.0
    found = Greys.of_image(image)
    white, of_template = full_scale(*found), full_scale(*template)
    if white is not None and of_template is not None:
        # Nothing but 0 and 1 on both sides are masks, of whatever type.
        masks = template.high <= 1 and image.whole.extremes[1] <= 1
        return 1.0 if masks else of_template / white
    if white is None and of_template is None:
        return 1.0
    unknown, known = (found, template) if white is None else (template, found)
    if unknown.dtype.kind != "f":
        shares = 1.0 in (white, of_template) and (known.low, known.high) != (0, 0)
        return None if shares and max(-unknown.low, unknown.high) > 1 else 1.0
    # Floats that may well hold the greys of the other type, resampled or brightened.
    most = 1.0 if known.dtype == np.bool_ else float(np.iinfo(known.dtype).max)
    return 1.0 if -most / 8 <= unknown.low and unknown.high <= 2 * most else None


def common_unit(image: Image, template: Greys, what: str) -> float:
    """Return the same, or raise a ValueError that says for what it is needed."""
    unit = unit_of(image, template)
    if unit is None:
        raise ValueError(
            f"the image's greys are {Greys.of_image(image)}, the template's {template}; {what} "
            "compares greys, so both must be in one unit: convert them to one type"
        )
    return unit
