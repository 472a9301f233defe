"""Rules for the number of bins."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import one_of
from ._binning import check_values

RULES = ("sturges", "rice", "sqrt", "scott", "fd")


def number_of_bins(values: ArrayLike, rule: str) -> int:
    """Count bins by a rule (paper, section 2), never more than distinct values.

    Parameters
    ----------
    values : array_like of any shape
        Grey levels, finite: d of them, d_τ distinct.
    rule : {"sturges", "rice", "sqrt", "scott", "fd"}
        ``ceil(log2 d_τ) + 1``, ``ceil(2 d_τ^(1/3))``, ``ceil(sqrt d_τ)``; or as many bins
        as Scott's or Freedman and Diaconis' width makes of all d values, as NumPy does it.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    TypeError, ValueError
        If `values` are not finite real numbers, or there is no such rule.
    """
    rule = one_of(rule, "rule", RULES)
    greys, _ = check_values(values, 1)
    distinct = np.unique(greys).size
    match rule:
        case "sturges":
            number = _sturges(distinct)
        case "rice":
            number = math.ceil(round(2 * distinct ** (1 / 3), 9))  # 64 levels: 8, not 9
        case "sqrt":
            number = math.ceil(math.sqrt(distinct))
        case _:
            whole = np.asarray(values).dtype.kind in "bui"
            number = _by_width(greys, rule, distinct, whole)
    return max(1, min(number, distinct))


def _sturges(distinct: int) -> int:
    return (distinct - 1).bit_length() + 1  # ceil(log2 n), exactly


def _by_width(greys: NDArray[np.float64], rule: str, distinct: int, whole: bool) -> int:
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
    if whole:
        width = max(width, 1.0)  # narrower bins of whole numbers would stay empty
    bins = float(greys.max() - greys.min()) / width
    return math.ceil(bins) if bins < distinct else distinct
