"""Exact binning by dynamic programming."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_integer
from .._jit import jit
from ._binning import Binning, Levels, as_least
from ._quadratic import Cross, PrefixForm, group_levels, most_bins

_BLOCK_ROWS = 128


def optimal(
    values: ArrayLike | Levels, bins: int, *, cross: Cross = None, least: int = 1
) -> Binning:
    """Cut the values into the bins that explain most of the expected tone curves: exactly.

    Maximises ``<A, S_τ Cross S_τᵀ>_F`` (paper, Theorem 1) over all cuts of the sorted
    distinct levels into neighbours, by dynamic programming over the last bin's beginning.

    Parameters
    ----------
    values : array_like of any shape, or Levels
        Grey levels, finite; d_τ of them distinct.
    bins : int
        How many bins; never more than d_τ.
    cross : array_like of shape (d_τ, d_τ), optional
        Cross-product matrix of the expected tone curves over the sorted distinct levels
        (see `nuvmatch.tones.cross_product`): symmetric, of any rank and definiteness.
        None: ττᵀ, which is k-means.
    least : int
        How many values each bin must hold at least; there are fewer bins where there are not
        enough. A bin of one value explains that value whatever it is, so that a single odd
        pixel of an image, under it, is a perfect match: measures ask for 2.

    Returns
    -------
    Binning
        With inner edges at the lowest level of each upper bin. Among equally good
        binnings the one with the smaller cuts.

    Raises
    ------
    TypeError, ValueError
        If `values` are not finite real numbers, `bins` or `least` is not a positive int, or `cross`
        is not finite and symmetric, or not of the levels' size.

    Notes
    -----
    O(bins d_τ²) time. More than 4096 levels are first grouped into 4096 groups of nearly
    equal counts, and no cut lies inside a group. The best cuts of all are then each off
    by less than a group, of g = d / 4096 pixels and at most one level more. Moving a cut
    so far changes the bins of at most g pixels, so for curves whose greys span at most r
    the objective falls short of the best by at most (bins - 1) g r².
    """
    if cross is None:
        return kmeans(values, bins, least=least)
    levels, bins, least = Levels.of(values), as_integer(bins, "bins", 1), as_least(least)
    places = group_levels(levels.counts)
    form = levels.form(cross).at(places)
    bins = min(bins, most_bins(np.diff(form.counts), least))
    _, cuts = best_partitions(form, bins, least)
    return levels.cut_at(places[trace_back(cuts)])


def kmeans(values: ArrayLike | Levels, bins: int, *, least: int = 1) -> Binning:
    """Cut the values so that their variance within bins is the least possible: exactly.

    This is one-dimensional k-means, solved by dynamic programming over the distinct
    levels, not by Lloyd's iteration. By the paper's
    Theorem 2 it is the optimal binning where tones are disturbed independently.

    Parameters
    ----------
    values : array_like of any shape, or Levels
        Grey levels, finite; d_τ of them distinct.
    bins : int
        How many bins; never more than d_τ.
    least : int
        How many values each bin must hold at least; see `optimal`.

    Returns
    -------
    Binning
        With inner edges at the lowest level of each upper bin. Among equally good
        binnings the one with the smaller cuts.

    Raises
    ------
    TypeError, ValueError
        If `values` are not finite real numbers, or `bins` or `least` is not a positive int.

    Notes
    -----
    O(bins d_τ log d_τ) time, by divide and conquer over the monotone cuts.
    """
    levels, bins, least = Levels.of(values), as_integer(bins, "bins", 1), as_least(least)
    # Any shift and scale of the levels has the same optimum; this one keeps all digits.
    reach = float(abs(levels.levels).max()) or 1.0
    scaled = levels.levels / reach
    median = int(np.searchsorted(np.cumsum(levels.counts), levels.index.size / 2))
    scaled -= scaled[median]
    if scaled[-1] > scaled[0]:
        scaled /= scaled[-1] - scaled[0]
    bins = min(bins, most_bins(levels.counts, least))
    cuts = np.empty((bins, scaled.size + 1), np.int64)
    best_cuts(scaled, levels.counts, median, least, cuts)
    return levels.cut_at(trace_back(cuts))


def objective(values: ArrayLike, labels: ArrayLike, cross: Cross = None) -> float:
    """Compute ``<A, S_τ Cross S_τᵀ>_F`` by the definition, for any labels.

    Parameters
    ----------
    values : array_like of any shape
        Grey levels, finite; d_τ of them distinct.
    labels : array_like of int, of the same shape
        The bin of each value: any whole numbers, bins need not be neighbours.
    cross : array_like of shape (d_τ, d_τ), optional
        As for `optimal`; None: ττᵀ.

    Returns
    -------
    float
        The sum over bins of ``sum_ij Cross[τ(i), τ(j)] / n``, i and j running over the n
        values of a bin (paper, Theorem 1).

    Raises
    ------
    TypeError, ValueError
        As `optimal`; if `labels` are not whole numbers of the values' shape.
    """
    levels = Levels.of(values)
    return levels.explained(levels.index_bins(labels), levels.matrix(cross))


def best_partitions(
    form: PrefixForm, bins: int, least: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Solve for every number of bins at once, each to hold at least so many values.

    Returns
    -------
    objectives : ndarray of shape (bins,)
        Of the best partitions into 1, 2, .. bins.
    cuts : ndarray of shape (bins, n + 1)
        ``cuts[k, j]``: where the last of k + 1 bins begins in the best of ``levels[:j]``.
    """
    n = form.counts.size - 1
    best = np.full((bins + 1, n + 1), -np.inf)
    best[0, 0] = 0
    cuts = np.zeros((bins, n + 1), np.int32)
    for start in range(0, n, _BLOCK_ROWS):
        squares = form.squares(start, min(start + _BLOCK_ROWS, n))
        extend(squares, start, form.counts, least, 1e-12 * form.scale, best, cuts)
    return best[1:, n], cuts


@jit
def extend(
    squares: NDArray[np.float64],
    start: int,
    counts: NDArray[np.float64],
    least: int,
    tie: float,
    best: NDArray[np.float64],
    cuts: NDArray[np.int32],
) -> None:
    """Try every bin that begins at one of the levels `start` .. as the last of a partition.

    ``best[k, i]`` is final when level i has its turn, since bins end after they begin.
    Only what is better by more than `tie` replaces a smaller cut.

    Parameters
    ----------
    squares : ndarray of shape (rows, n + 1 - start)
        ``|c_j - c_i|^2`` for i and j from `start` on.
    counts : ndarray of shape (n + 1,)
        Prefix sums N.
    least : int
        What ``N_j - N_i`` must be at least.
    best : ndarray of shape (bins + 1, n + 1)
        Objective of the best partition of ``levels[:j]`` into k bins.
    cuts : ndarray of shape (bins, n + 1)

    Plain twin: ``naive.best_partition``.
    """
    explained = np.empty(counts.size)
    for row in range(squares.shape[0]):
        i = start + row
        first = i + 1  # where the shortest bin from here ends
        while first < counts.size and counts[first] - counts[i] < least:
            first += 1
        width = counts.size - first
        of_bin = explained[:width]
        square = squares[row, first - start :]
        end_counts = counts[first:]
        for j in range(width):
            of_bin[j] = square[j] / (end_counts[j] - counts[i])
        for k in range(min(cuts.shape[0], i + 1)):
            before = best[k, i]
            if before == -np.inf:
                continue
            after = best[k + 1, first:]
            cut = cuts[k, first:]
            for j in range(width):
                trial = before + of_bin[j]
                better = trial > after[j] + tie
                after[j] = trial if better else after[j]
                cut[j] = i if better else cut[j]


def trace_back(cuts: NDArray[Any]) -> NDArray[np.int64]:
    """Follow the table of last cuts down to the first: the inner ones, ascending."""
    end = cuts.shape[1] - 1
    inner = []
    for row in cuts[:0:-1]:
        end = row[end]
        inner.append(end)
    return np.array(inner[::-1], np.int64)


@jit
def best_cuts(
    levels: NDArray[np.float64],
    counts: NDArray[np.int64],
    median: int,
    least: int,
    cuts: NDArray[Any],
) -> None:
    """Fill ``cuts[k, j]``: where the last of k + 1 bins begins in the best cut of levels[:j].

    Minimises ``sum over bins of (sum n v^2 - (sum n v)^2 / sum n)``. The best last cut
    never falls as j grows, so each half of the range of j searches its part only.

    Parameters
    ----------
    levels, counts : ndarray of shape (n,)
        Ascending; how often each occurs.
    median : int
        Index of a level, 0 or close to it, from which sums run up and down: values far
        out on one side then cost those on the other, and between, no digits.
    least : int
        How many values each bin holds at least.
    cuts : ndarray of shape (bins, n + 1), int, filled where there are enough for k + 1 bins

    Plain twin: ``naive.best_partition``.
    """
    bins = cuts.shape[0]
    n = levels.size
    weight = np.zeros(n + 1)
    first = np.zeros(n + 1)
    second = np.zeros(n + 1)
    for i in range(n):
        weight[i + 1] = weight[i] + counts[i]
    for i in range(median, n):
        first[i + 1] = first[i] + counts[i] * levels[i]
        second[i + 1] = second[i] + counts[i] * levels[i] * levels[i]
    for i in range(median - 1, -1, -1):
        first[i] = first[i + 1] - counts[i] * levels[i]
        second[i] = second[i + 1] - counts[i] * levels[i] * levels[i]
    cost = np.empty(n + 1)
    before = np.empty(n + 1)
    for j in range(1, n + 1):
        part = first[j] - first[0]
        cost[j] = second[j] - second[0] - part * part / weight[j]
        cost[j] = cost[j] if weight[j] >= least else np.inf
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
            cuts[k, j] = cut_low
            for i in range(cut_low, min(j - 1, cut_high) + 1):
                if weight[j] - weight[i] < least:
                    break
                part = first[j] - first[i]
                trial = before[i] + second[j] - second[i] - part * part / (weight[j] - weight[i])
                # What differs by rounding only is equal: the smaller cut stays.
                if trial < best * (1 - 1e-12) - 1e-15 * abs(second[j]):
                    best = trial
                    cuts[k, j] = i
            cost[j] = best
            lows[depth], highs[depth] = j + 1, high
            cut_lows[depth], cut_highs[depth] = cuts[k, j], cut_high
            lows[depth + 1], highs[depth + 1] = low, j - 1
            cut_lows[depth + 1], cut_highs[depth + 1] = cut_low, cuts[k, j]
            depth += 2
