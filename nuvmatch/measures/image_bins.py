"""Bins of the image's greys, for measures that have them: equal width over a range."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ..engine import Image

_LIMIT = 65536
_AT_ONCE = 2**15  # pixels that a core keeps at hand
_COMPARED = 100  # edges up to which comparing greys with each is faster than a search


def check_image_bins(number: int) -> None:
    """Refuse more bins than 16 bits can tell apart."""
    if number > _LIMIT:
        raise ValueError(f"bins is {number}; the image's greys fall into at most {_LIMIT} bins")


def bin_image(image: Image, value_range: tuple[float, float] | None, number: int) -> NDArray[Any]:
    """Bin of each pixel, ``searchsorted(linspace(low, high, number + 1), grey, "right") - 1``.

    Greys beyond the range fall in the last bins. Without a range, it is the one that the whole
    image has, outliers apart, whatever part of it this is.
    """
    low, high = value_range or image.usual_range
    if high - low == np.inf:
        raise ValueError(f"greys reach from {low} to {high}, farther than floats")
    # Whole numbers whose edges floats would round are compared less their offset.
    shift = max(-low, high) > 2**45
    if shift:
        low, high = (int(end) - image.offset + (end - int(end)) for end in (low, high))
    edges = np.linspace(low, high, number + 1)[1:-1]
    dtype = np.min_scalar_type(edges.size)
    if image.planes.dtype == np.uint8:
        of_grey = np.searchsorted(edges, np.arange(256), side="right").astype(dtype)
        if dtype != np.uint8:
            return np.asarray(of_grey[image.planes])
        bins = np.empty(image.planes.shape, dtype)
        for plane, of_plane in zip(image.planes, bins, strict=True):
            cv2.LUT(plane, of_grey, dst=of_plane)  # in half the time of NumPy's indexing
        return bins
    bins = np.empty(image.planes.shape, dtype)
    rows = max(1, _AT_ONCE // image.planes.shape[2])
    for plane, of_plane in zip(image.planes, bins, strict=True):
        for top in range(0, len(plane), rows):
            greys = plane[top : top + rows]
            own = image.less_offset(greys) if shift else greys
            _put_in_bins(own, edges, of_plane[top : top + rows])
    return bins


def _put_in_bins(greys: NDArray[Any], edges: NDArray[np.float64], bins: NDArray[Any]) -> None:
    """Count the edges that are not above each grey: one after the other, if they are few."""
    if edges.size > _COMPARED:
        bins[:] = np.searchsorted(edges, greys, side="right")
        return
    greys = greys.astype(np.result_type(greys, edges), copy=False)
    bins[:] = 0
    for edge in edges:
        bins += greys >= edge
