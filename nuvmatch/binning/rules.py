"""Rules for the number of bins."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import one_of
from ._binning import Levels
from ._quadratic import Cross, group_levels
from .optimal import best_partitions

RULES = ("sturges", "rice", "sqrt", "scott", "fd", "auto")
AUTO_LIMIT = 64


def number_of_bins(values: ArrayLike, rule: str, *, cross: Cross = None) -> int:
    """Choose the number of bins by a rule (paper, section 2), never more than levels.

    Parameters
    ----------
    values : array_like of any shape
        Grey levels, finite: d of them, d_τ distinct.
    rule : {"sturges", "rice", "sqrt", "scott", "fd", "auto"}
        ``ceil(log2 d_τ) + 1``, ``ceil(2 d_τ^(1/3))``, ``ceil(sqrt d_τ)``; as many bins as
        Scott's or Freedman and Diaconis' width makes of all d values, as NumPy does it; or
        "auto": the number, from 2 to 64 and not above (d + 1) / 2, for which the best
        bins keep the expected scores of the distorted template and of noise farthest
        apart (Propositions 1 and 2). However strong the noise, the number is the same:
        it divides all these distances by one factor.
    cross : array_like of shape (d_τ, d_τ), optional
        For "auto": cross-product of the expected tone curves; None: ττᵀ.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    TypeError, ValueError
        If `values` are not finite real numbers, there is no such rule, or `cross` does
        not fit the levels for "auto".
    """
    rule, levels = one_of(rule, "rule", RULES), Levels.of(values)
    return number_by_rule(levels, rule, cross, integral=np.asarray(values).dtype.kind in "bui")


def number_by_rule(levels: Levels, rule: str, cross: Cross, *, integral: bool) -> int:
    """Choose the number of bins of levels; `integral`: whether they are of whole numbers."""
    distinct = levels.levels.size
    match rule:
        case "sturges":
            number = _sturges(distinct)
        case "rice":
            number = math.ceil(round(2 * distinct ** (1 / 3), 9))  # 64 levels: 8, not 9
        case "sqrt":
            number = math.ceil(math.sqrt(distinct))
        case "auto":
            number = _most_separating(levels, cross)
        case _:
            number = _by_width(levels.levels[levels.index], rule, distinct, integral)
    return max(1, min(number, distinct))


def _most_separating(levels: Levels, cross: Cross) -> int:
    """Maximise Proposition 1 minus Proposition 2 over the one table of best partitions.

    With V the variance and W_b its part within b bins, times d, that difference is
    ``(V (d - b) / (d - 1) - W_b) / (V + σ² (d - 1))``.
    """
    d = levels.index.size
    form = levels.form(cross).at(group_levels(levels.counts))
    most = min(AUTO_LIMIT, (d + 1) // 2, form.counts.size - 1)
    explained, _ = best_partitions(form, most)
    total = form.scale - form.mean_part()
    within = form.scale - explained
    bins = np.arange(1, most + 1)
    return int(np.argmax(total * (d - bins) / (d - 1) - within)) + 1


def _sturges(distinct: int) -> int:
    return (distinct - 1).bit_length() + 1  # ceil(log2 n), exactly


def _by_width(greys: NDArray[np.float64], rule: str, distinct: int, integral: bool) -> int:
    """Count bins of the width that ``np.histogram_bin_edges`` takes, without making them.

    With the width a tiny share of the range, NumPy would ask for more edges than memory.
    """
    if rule == "scott":
        width = (24 * math.sqrt(math.pi) / greys.size) ** (1 / 3) * float(greys.std())
    else:
        quartiles = np.percentile(greys, [25, 75])
        width = 2 * float(quartiles[1] - quartiles[0]) * greys.size ** (-1 / 3)
        if width == 0:
            return _sturges(distinct)
    if width == 0:
        return 1
    if integral:
        width = max(width, 1.0)  # narrower bins of whole numbers would stay empty
    bins = float(greys.max() - greys.min()) / width
    return math.ceil(bins) if bins < distinct else distinct
