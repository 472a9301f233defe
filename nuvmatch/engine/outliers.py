"""Greys far from all others of a patch, beside which sums in floats lose the digits of these.

`surveys.usual_range` asks something else: which greys bins are laid over, but for few. These may
be many, and are left out of no score.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Outliers are beyond a gap of that share of what is between them and the grey in the middle; so
# many kinds on either side, at most.
_GAP, _GAPS = 0.99, 8


def find_outliers(planes: NDArray[Any], good: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], float]:
    """Mark good pixels that are outliers in a channel; and tell the largest of other greys.

    Parameters
    ----------
    planes : ndarray of shape (channels, rows, columns), int64 or float64
    good : ndarray of shape (rows, columns)

    Returns
    -------
    outliers : ndarray of shape (rows, columns)
    reach : float
        Largest magnitude of a good grey that is none.
    """
    outliers, reach = np.zeros(good.shape, np.bool_), 0.0
    for plane in planes:
        low, high = _ends_within_gaps(plane[good])
        outliers |= good & ((plane < low) | (plane > high))
        reach = max(reach, abs(float(low)), abs(float(high)))
    return outliers, reach


def _ends_within_gaps(greys: NDArray[Any]) -> tuple[Any, Any]:
    """Return the lowest and the highest grey, but for those beyond wide gaps."""
    if not greys.size:
        return 0, 0
    ordered = np.sort(greys)
    middle = ordered.size // 2
    below, above = ordered[middle::-1], ordered[middle:]
    return below[_last(_distances(below))], above[_last(_distances(above))]


def _distances(greys: NDArray[Any]) -> NDArray[np.float64]:
    """Tell how far greys are from the first; of floats halves, which do not overflow."""
    if greys.dtype == np.float64:
        return np.asarray(abs(greys * 0.5 - greys[0] * 0.5))
    numbers = greys.view(np.uint64)
    apart = numbers - numbers[0] if greys[-1] >= greys[0] else numbers[0] - numbers
    return np.asarray(apart.astype(np.float64))


def _last(distances: NDArray[np.float64]) -> int:
    """Return which of ascending distances is the last that no wide gap is before."""
    last = distances.size - 1
    for _ in range(_GAPS):
        gaps = np.diff(distances[: last + 1])
        if not gaps.size or gaps.max() <= _GAP * distances[last]:
            break
        last = int(gaps.argmax())
    return last


def scaled_differences(
    greys: NDArray[Any], middle: NDArray[Any], scale: float
) -> NDArray[np.float64]:
    """Return ``(greys - middle) * scale``, also where ``greys - middle`` overflows."""
    if greys.dtype == np.float64:
        return np.asarray(greys * scale - middle * scale)
    unsigned, origin = greys.view(np.uint64), middle.view(np.uint64)
    above = (unsigned - origin).astype(np.float64)
    return np.where(greys >= middle, above, -(origin - unsigned).astype(np.float64)) * scale
