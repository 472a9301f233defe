"""How much better a place is than the best that does not overlap it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def best_elsewhere(
    at_rows: NDArray[np.int64],
    at_cols: NDArray[np.int64],
    shape: tuple[int, int],
    lowest: NDArray[np.floating],
    rows_of: Callable[[int, int], NDArray[np.floating]],
) -> NDArray[np.float64]:
    """Return, for each place, the lowest score of all windows that share no pixel with it.

    Parameters
    ----------
    at_rows, at_cols : ndarray of shape (n,)
    shape : (int, int)
        Height and width of the windows.
    lowest : ndarray of shape (rows,)
        Lowest score of each row of the map; NaN where it has none.
    rows_of : callable
        Given the first row and the one behind the last: those rows of the map.

    Returns
    -------
    ndarray of shape (n,)
        NaN where there is no such window.
    """
    elsewhere = np.full(at_rows.size, np.nan)
    best_row = _where_lowest(lowest)
    best = lowest[best_row]
    if np.isnan(best):
        return elsewhere
    height, width = shape
    above, below = _running(lowest), _running(lowest[::-1])[::-1]
    best_col = _where_lowest(rows_of(best_row, best_row + 1)[0])
    for i, (row, col) in enumerate(zip(at_rows.tolist(), at_cols.tolist(), strict=True)):
        if abs(row - best_row) >= height or abs(col - best_col) >= width:
            elsewhere[i] = best
            continue
        top, bottom = max(row - height + 1, 0), min(row + height, lowest.size)
        beside = rows_of(top, bottom)
        parts = [
            above[top - 1 : top] if top else above[:0],
            below[bottom : bottom + 1],
            beside[:, : max(col - width + 1, 0)].ravel(),
            beside[:, col + width :].ravel(),
        ]
        elsewhere[i] = np.fmin.reduce(np.concatenate(parts), initial=np.nan)
    return elsewhere


def _where_lowest(scores: NDArray[np.floating]) -> int:
    return int(np.argmin(np.where(np.isnan(scores), np.inf, scores)))


def _running(lowest: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.asarray(np.fmin.accumulate(lowest))
