"""The paper's greedy binner."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_integer
from .._jit import jit
from ._binning import Binning, Levels, as_least
from ._quadratic import Cross, group_levels, most_bins


def greedy(
    values: ArrayLike | Levels,
    bins: int,
    *,
    cross: Cross = None,
    least: int = 1,
    restarts: int = 1,
    seed: int | np.random.Generator = 0,
) -> Binning:
    """Cut the values by hill climbing (the paper's Algorithm 1, its slips set right).

    From random distinct cuts on, the one step of one cut to a neighbouring level that
    explains most more is taken, until none explains more. This finds a local optimum;
    `optimal` finds the global one, as fast.

    Parameters
    ----------
    values : array_like of any shape, or Levels
        Grey levels, finite; d_τ of them distinct.
    bins : int
        How many bins; never more than d_τ.
    cross : array_like of shape (d_τ, d_τ), optional
        Cross-product matrix of the expected tone curves; see `optimal`.
    least : int
        How many values each bin must hold at least; see `optimal`.
    restarts : int
        From how many random starts to climb; the best result counts. The paper has one.
    seed : int or numpy.random.Generator
        Of the random starts.

    Returns
    -------
    Binning
        With inner edges at the lowest level of each upper bin.

    Raises
    ------
    TypeError, ValueError
        As `optimal`, and if `restarts` is not a positive int.

    Notes
    -----
    A step costs O(bins). Gains up to 1e-12 of the objective end the climb: rounding
    could have it go round in circles. More than 4096 levels are grouped, as in `optimal`.
    """
    levels, bins, least = Levels.of(values), as_integer(bins, "bins", 1), as_least(least)
    restarts = as_integer(restarts, "restarts", 1)
    places = group_levels(levels.counts)
    form = levels.form(cross).at(places)
    n = places.size - 1
    bins = min(bins, most_bins(np.diff(form.counts), least))
    rng = np.random.default_rng(seed)
    table = form.full_table()
    best, best_cuts = -np.inf, np.empty(0, np.int64)
    for _ in range(restarts):
        cuts = np.empty(bins + 1, np.int64)
        cuts[0], cuts[-1] = 0, n
        cuts[1:-1] = np.sort(rng.permutation(n - 1)[: bins - 1]) + 1
        keep_apart(form.counts, least, cuts)
        objective = climb(table, form.counts, least, cuts)
        if objective > best:
            best, best_cuts = objective, cuts
    return levels.cut_at(places[best_cuts[1:-1]])


def keep_apart(counts: NDArray[np.float64], least: int, cuts: NDArray[np.int64]) -> None:
    """Move inner cuts, as little as need be, until each bin holds at least so many values."""
    for k in range(cuts.size - 2, 0, -1):
        last = np.searchsorted(counts, counts[cuts[k + 1]] - least, side="right") - 1
        cuts[k] = min(cuts[k], last)
    for k in range(1, cuts.size - 1):
        cuts[k] = max(cuts[k], np.searchsorted(counts, counts[cuts[k - 1]] + least))


@jit
def climb(
    table: NDArray[np.float64], counts: NDArray[np.float64], least: int, cuts: NDArray[np.int64]
) -> float:
    """Move inner cuts step by step while that explains more; return what they explain.

    Parameters
    ----------
    table : ndarray of shape (n + 1, n + 1)
        G; of it the diagonal and what is above.
    counts : ndarray of shape (n + 1,)
        Prefix sums of counts.
    least : int
        What each bin must hold at least.
    cuts : ndarray of shape (bins + 1,)
        Ascending from 0 to n; changed in place.

    Plain twin: ``naive.climb``.
    """
    inner = cuts.size - 2
    gains = np.full((cuts.size, 2), -np.inf)
    total = 0.0
    for k in range(inner + 1):
        total += _explained(table, counts, cuts[k], cuts[k + 1])
    first, last = 1, inner  # whose gains are to be computed
    while True:
        for k in range(max(first, 1), min(last, inner) + 1):
            for side in range(2):
                place = cuts[k] + 2 * side - 1
                gains[k, side] = -np.inf
                below, above = (
                    counts[place] - counts[cuts[k - 1]],
                    counts[cuts[k + 1]] - counts[place],
                )
                if below >= least and above >= least:
                    gains[k, side] = (
                        _explained(table, counts, cuts[k - 1], place)
                        + _explained(table, counts, place, cuts[k + 1])
                        - _explained(table, counts, cuts[k - 1], cuts[k])
                        - _explained(table, counts, cuts[k], cuts[k + 1])
                    )
        best, best_side = 0, 0  # the outer cut 0 has no gain
        for k in range(1, inner + 1):
            for side in range(2):
                if gains[k, side] > gains[best, best_side]:
                    best, best_side = k, side
        if not gains[best, best_side] > 1e-12 * abs(total):
            return total
        total += gains[best, best_side]
        cuts[best] += 2 * best_side - 1
        first, last = best - 1, best + 1


@jit
def _explained(
    table: NDArray[np.float64], counts: NDArray[np.float64], start: int, stop: int
) -> float:
    """Compute what the bin of the levels start .. stop - 1 explains."""
    square = table[stop, stop] - 2 * table[start, stop] + table[start, start]
    return float(square / (counts[stop] - counts[start]))
