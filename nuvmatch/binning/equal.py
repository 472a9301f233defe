"""Bins of equal width, and bins of equal frequency."""

import numpy as np
from numpy.typing import ArrayLike

from .._checks import as_integer
from ._binning import Binning, Levels, as_least


def equal_width(values: ArrayLike | Levels, bins: int, *, least: int = 1) -> Binning:
    """Cut the range of the values into bins of equal width.

    Parameters
    ----------
    values : array_like of any shape, or Levels
        Grey levels, finite; d_τ of them distinct.
    bins : int
        How many bins; those that would hold too few values are joined to a neighbour.
    least : int
        How many values each bin must hold at least; see `optimal`.

    Returns
    -------
    Binning
        With edges from ``np.linspace(min, max, bins + 1)``.

    Raises
    ------
    TypeError, ValueError
        As `optimal`.
    """
    levels, bins, least = Levels.of(values), as_integer(bins, "bins", 1), as_least(least)
    return levels.cut_by(np.linspace(levels.levels[0], levels.levels[-1], bins + 1), least)


def equal_frequency(values: ArrayLike | Levels, bins: int, *, least: int = 1) -> Binning:
    """Cut the values into bins of nearly equal counts.

    A value's bin is ``floor(bins * r / d)``, r its midrank among all d values: half the
    number of those equal to it, and all of those below. Equal values stay together.

    Parameters
    ----------
    values : array_like of any shape, or Levels
        Grey levels, finite; d_τ of them distinct.
    bins : int
        How many bins; those that would hold too few values are joined to a neighbour.
    least : int
        How many values each bin must hold at least; see `optimal`.

    Returns
    -------
    Binning
        With inner edges at the lowest level of each upper bin.

    Raises
    ------
    TypeError, ValueError
        As `optimal`.
    """
    levels, bins, least = Levels.of(values), as_integer(bins, "bins", 1), as_least(least)
    twice_midrank = 2 * np.cumsum(levels.counts) - levels.counts
    label = bins * twice_midrank // (2 * levels.index.size)
    return levels.cut_at(levels.join_few(np.flatnonzero(np.diff(label)) + 1, least))
