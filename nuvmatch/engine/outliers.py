"""Greys far from all others of a patch, beside which sums in floats lose the digits of these."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Outliers are the fewer beyond a gap of that share of the range of greys; so many kinds at most.
_GAP, _GAPS = 0.25, 8


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
        low, high = _usual_range(plane[good])
        outliers |= good & ((plane < low) | (plane > high))
        reach = max(reach, abs(float(low)), abs(float(high)))
    return outliers, reach


def _usual_range(greys: NDArray[Any]) -> tuple[Any, Any]:
    """Return the lowest and the highest grey, but for the fewer beyond a wide gap."""
    ordered = np.sort(greys)
    for _ in range(_GAPS):
        # No difference overflows: of whole numbers as if unsigned, and of halves.
        whole = ordered.dtype == np.int64
        gaps = np.diff(ordered.view(np.uint64) if whole else ordered * 0.5)
        if not gaps.size or gaps.max() <= _GAP * gaps.sum():
            break
        at = int(gaps.argmax()) + 1
        ordered = ordered[at:] if at <= ordered.size // 2 else ordered[:at]
    return (ordered[0], ordered[-1]) if ordered.size else (0, 0)


def scaled_differences(
    greys: NDArray[Any], middle: NDArray[Any], scale: float
) -> NDArray[np.float64]:
    """Return ``(greys - middle) * scale``, also where ``greys - middle`` overflows."""
    if greys.dtype == np.float64:
        return np.asarray(greys * scale - middle * scale)
    unsigned, origin = greys.view(np.uint64), middle.view(np.uint64)
    above = (unsigned - origin).astype(np.float64)
    return np.where(greys >= middle, above, -(origin - unsigned).astype(np.float64)) * scale
