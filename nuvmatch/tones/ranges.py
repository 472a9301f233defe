"""Which greys are black and white, as far as greys and their type tell."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bits of cameras that deliver whole numbers of 16.
_BITS = (8, 10, 12, 14, 16)


def sensor_range(
    greys: NDArray[Any], dtype: np.dtype[Any], levels_range: tuple[float, float] | None
) -> tuple[float, float]:
    """Tell which greys of a type are the levels 0 and 1.

    Those of `levels_range`; without it for uint8 the ends of its range; for uint16 those of
    the 8, 10, 12, 14 or 16 bits that the greys need, bits apart that are 0 in each of them:
    the bits of a camera may stand at either end. For floats inside [0, 1] these, else the
    lowest and highest of the greys.
    """
    if levels_range is not None:
        return levels_range
    low, high = float(greys.min()), float(greys.max())
    if dtype == np.uint8:
        return 0.0, 255.0
    if dtype == np.uint16:
        used = int(np.bitwise_or.reduce(greys.astype(np.int64), axis=None))
        unused = max((used & -used).bit_length() - 1, 0)
        bits = min(_bits_for(used >> unused), 16 - unused)
        return 0.0, float((2**bits - 1) << unused)
    if dtype.kind == "f" and low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high


def full_scale(dtype: np.dtype[Any], low: float, high: float) -> float | None:
    """Tell which grey is white where the lowest and highest are known; None if these say nothing.

    Resampling may overshoot the ends of floats inside [0, 1] a little.
    """
    if dtype == np.bool_:
        return 1.0
    if dtype == np.uint8:
        return 255.0
    if dtype == np.uint16:
        return 2.0 ** _bits_for(int(high)) - 1
    return 1.0 if dtype.kind == "f" and low >= -0.125 and high <= 1.125 else None


def scale_levels(greys: NDArray[Any], ends: tuple[float, float]) -> NDArray[np.float64]:
    """Scale greys so that the given ends become the levels 0 and 1."""
    low, high = ends
    return np.asarray((greys / 2 - low / 2) / ((high / 2 - low / 2) or 1.0))


def _bits_for(number: int) -> int:
    return next(bits for bits in _BITS if number < 2**bits)
