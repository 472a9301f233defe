"""Several score maps joined by what chance shows in each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from ..finding import Null

_ROUNDING = 1e-12  # of a score, by its logarithm

AGREE = 2  # so many measures must agree


def join(maps: NDArray[np.floating], parts: Sequence[Null]) -> NDArray[np.float64]:
    """Join score maps: the mean of the two lowest logarithms of false alarms of one window.

    Measures that cannot decide are left out; a window that only one of the others knows gives
    no evidence. One that decides alone counts alone.

    Parameters
    ----------
    maps : ndarray of shape (measures, rows, columns)
    parts : sequence of Null
        What chance shows by each measure.

    Returns
    -------
    ndarray of shape (rows, columns)
    """
    deciding = [i for i, part in enumerate(parts) if part.decides]
    laws = np.array([_law(parts[i]) for i in deciding]).reshape(-1, 6)
    shown = [np.exp(parts[i].shown) * (1 - _ROUNDING) for i in deciding]  # equal ones count
    ends = np.cumsum([0, *map(len, shown)])
    out = np.empty(maps.shape[1:])
    told = maps if len(deciding) == len(parts) else maps[deciding]
    join_maps(
        np.ascontiguousarray(told), laws, np.concatenate([*shown, []]), ends,
        min(AGREE, len(deciding)), out,
    )  # fmt: skip
    return out


def evidence(values: NDArray[np.floating], parts: Sequence[Null]) -> NDArray[np.float64]:
    """Return what each measure says of one window: logarithms of false alarms, per window.

    Infinite where it says nothing.
    """
    said = [join(values[i : i + 1, None, None], parts[i : i + 1]) for i in range(len(parts))]
    return np.nan_to_num(np.ravel(said), nan=np.inf)


def _law(part: Null) -> tuple[float, ...]:
    """Numbers by which `join_maps` goes: of the tail, and the score where it ends."""
    tail = part.tail
    end = math.exp(part.shown[-1] if part.shown.size else tail.level) * (1 + _ROUNDING)
    return tail.start, tail.level, tail.slope, math.exp(tail.least), 1 / part.sample, end


@jit
def join_maps(
    maps: NDArray[np.floating],
    laws: NDArray[np.float64],
    shown: NDArray[np.float64],
    ends: NDArray[np.int64],
    agree: int,
    out: NDArray[np.float64],
) -> None:
    """Join score maps by the laws of chance of each.

    Up to the highest score that chance has shown it is ``start + (log score - level) / slope``,
    but what is below how many it has shown goes on with a hundredth of the slope: it orders,
    and claims no more. Above it a straight line goes on from there, which saves a logarithm
    where nothing is to be claimed.

    Parameters
    ----------
    maps : ndarray of shape (measures, rows, columns)
    laws : ndarray of shape (measures, 6)
        Start, level, slope and lowest score of the tail; the share that one window is of those
        learnt from; and the score where the line begins.
    shown : ndarray
        Scores that chance has shown, ascending, measure by measure.
    ends : ndarray of shape (measures + 1,)
        Where those of each measure begin and end.
    agree : int
        Of how many lowest logarithms the mean is taken: 1 or 2.
    out : ndarray of shape (rows, columns)
        Is filled; NaN where fewer measures than must agree have evidence.

    Plain twin: ``naive.join_maps``.
    """
    measures, rows, columns = maps.shape
    for y in range(rows):
        lowest, second, said = np.empty((3, columns))
        lowest[:] = np.inf
        second[:] = np.inf
        for m in range(measures):
            start, level, slope, least = laws[m, 0], laws[m, 1], laws[m, 2], laws[m, 3]
            share, end = laws[m, 4], laws[m, 5]
            first, last = ends[m], ends[m + 1]
            at_end = start + (np.log(max(end, least)) - level) / slope
            if last > first:
                floor = np.log((last - first) * share)
                at_end = floor + 0.01 * (at_end - floor) if at_end < floor else at_end
            scores = maps[m, y]
            rise = 1 / slope / end
            base = at_end - 1 / slope
            for x in range(columns):
                said[x] = base + scores[x] * rise
            for x in range(columns):
                score = np.float64(scores[x])
                if score <= end:
                    log = start + (np.log(max(score, least)) - level) / slope
                    low, high = first, last
                    while low < high:
                        middle = (low + high) // 2
                        if shown[middle] <= score:
                            low = middle + 1
                        else:
                            high = middle
                    if low > first:
                        floor = np.log((low - first) * share)
                        log = floor + 0.01 * (log - floor) if log < floor else log
                    said[x] = log
            for x in range(columns):
                log = said[x] if said[x] == said[x] else np.inf
                second[x] = min(second[x], max(lowest[x], log))
                lowest[x] = min(lowest[x], log)
        for x in range(columns):
            log = (lowest[x] + second[x]) / 2 if agree == 2 else lowest[x]
            out[y, x] = log if agree > 0 and log < np.inf else np.nan
