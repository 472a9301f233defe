"""Bins of the image's greys, for measures that have them: equal width over a range."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Image

_LIMIT = 65536


def check_image_bins(number: int) -> None:
    """Refuse more bins than 16 bits can tell apart."""
    if number > _LIMIT:
        raise ValueError(f"bins is {number}; the image's greys fall into at most {_LIMIT} bins")


def bin_image(image: Image, value_range: tuple[float, float] | None, number: int) -> NDArray[Any]:
    """Bin of each pixel; greys beyond the range fall in the last bins.

    Without a range, it is that of the type for 8 bits, else that of the image.
    """
    low, high = value_range or image.grey_range
    if high - low == np.inf:
        raise ValueError(f"greys reach from {low} to {high}, farther than floats")
    # Whole numbers whose edges floats would round are compared less their offset.
    shift = max(-low, high) > 2**45
    if shift:
        low, high = (int(end) - image.offset + (end - int(end)) for end in (low, high))
    edges = np.linspace(low, high, number + 1)[1:-1]
    if image.planes.dtype == np.uint8:
        of_grey = np.searchsorted(edges, np.arange(256), side="right")
        return np.asarray(of_grey.astype(np.uint16)[image.planes])
    bins = np.empty(image.planes.shape, np.min_scalar_type(edges.size))
    for c, plane in enumerate(image.planes):
        for row, greys in enumerate(plane):  # row by row: the bins come as int64
            own = image.less_offset(greys) if shift else greys
            bins[c, row] = np.searchsorted(edges, own, side="right")
    return bins
