"""Exact one-dimensional binning by dynamic programming."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._jit import jit
from ._binning import Binning, check_values


def kmeans(values: ArrayLike, bins: int) -> Binning:
    """Cut the values so that their variance within bins is the least possible: exactly.

    This is one-dimensional k-means, solved by dynamic programming over the distinct
    levels (THEORY section 4 with Cross = ττᵀ), not by Lloyd's iteration. By the paper's
    Theorem 2 it is the optimal binning where tones are disturbed independently.

    Parameters
    ----------
    values : array_like of any shape
        Grey levels, finite; d_τ of them distinct.
    bins : int
        How many bins; never more than d_τ.

    Returns
    -------
    Binning
        With inner edges at the lowest level of each upper bin. Among equally good
        binnings the one with the smaller cuts.

    Raises
    ------
    TypeError, ValueError
        If `values` are not finite real numbers, or `bins` is not a positive int.

    Notes
    -----
    O(bins d_τ log d_τ) time, by divide and conquer over the monotone cuts.
    """
    greys, bins = check_values(values, bins)
    levels, counts = np.unique(greys, return_counts=True)
    bins = min(bins, levels.size)
    # Any shift and scale of the levels has the same optimum; this one keeps all digits.
    reach = max(-float(levels[0]), float(levels[-1])) or 1.0
    scaled = levels / reach
    scaled -= np.average(scaled, weights=counts)
    spread = np.ptp(scaled)
    if spread > 0:
        scaled /= spread
    cuts = np.empty((bins, levels.size + 1), np.int64)
    best_cuts(scaled, counts, cuts)
    return Binning.from_cuts(greys, levels[trace_back(cuts)])


def trace_back(cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Follow the table of last cuts down to the first: the inner ones, ascending."""
    end = cuts.shape[1] - 1
    inner = []
    for row in cuts[:0:-1]:
        end = row[end]
        inner.append(end)
    return np.array(inner[::-1], np.int64)


@jit
def best_cuts(levels: NDArray[np.float64], counts: NDArray[np.int64], cuts: NDArray[Any]) -> None:
    """Fill ``cuts[k, j]``: where the last of k + 1 bins begins in the best cut of levels[:j].

    Minimises ``sum over bins of (sum n v^2 - (sum n v)^2 / sum n)``. The best last cut
    never falls as j grows, so each half of the range of j searches its part only.

    Parameters
    ----------
    levels, counts : ndarray of shape (n,)
        Ascending and centred; how often each occurs.
    cuts : ndarray of shape (bins, n + 1), int, filled where j > k

    Plain twin: ``naive.best_partition``.
    """
    bins = cuts.shape[0]
    n = levels.size
    weight = np.zeros(n + 1)
    first = np.zeros(n + 1)
    second = np.zeros(n + 1)
    for i in range(n):
        weight[i + 1] = weight[i] + counts[i]
        first[i + 1] = first[i] + counts[i] * levels[i]
        second[i + 1] = second[i] + counts[i] * levels[i] * levels[i]
    tie = 1e-12 * second[n]
    cost = np.empty(n + 1)
    before = np.empty(n + 1)
    for j in range(1, n + 1):
        cost[j] = second[j] - first[j] * first[j] / weight[j]
        cuts[0, j] = 0
    # Ranges of j still to fill, each with the range of its cuts; halved, they are few.
    lows, highs = np.empty(128, np.int64), np.empty(128, np.int64)
    cut_lows, cut_highs = np.empty(128, np.int64), np.empty(128, np.int64)
    for k in range(1, bins):
        for j in range(n + 1):
            before[j] = cost[j]
        lows[0], highs[0], cut_lows[0], cut_highs[0] = k + 1, n, k, n - 1
        depth = 1
        while depth > 0:
            depth -= 1
            low, high = lows[depth], highs[depth]
            cut_low, cut_high = cut_lows[depth], cut_highs[depth]
            if low > high:
                continue
            j = (low + high) // 2
            best = np.inf
            for i in range(cut_low, min(j - 1, cut_high) + 1):
                part = first[j] - first[i]
                trial = before[i] + second[j] - second[i] - part * part / (weight[j] - weight[i])
                if trial < best - tie:
                    best = trial
                    cuts[k, j] = i
            cost[j] = best
            lows[depth], highs[depth] = j + 1, high
            cut_lows[depth], cut_highs[depth] = cuts[k, j], cut_high
            lows[depth + 1], highs[depth + 1] = low, j - 1
            cut_lows[depth + 1], cut_highs[depth + 1] = cut_low, cuts[k, j]
            depth += 2
