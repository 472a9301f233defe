"""Bins of equal width, and bins of equal frequency."""

import numpy as np
from numpy.typing import ArrayLike

from ._binning import Binning, check_values


def equal_width(values: ArrayLike, bins: int) -> Binning:
    """Cut the range of the values into bins of equal width.

    Parameters
    ----------
    values : array_like of any shape
        Grey levels, finite.
    bins : int
        How many bins; those that would hold no value are dropped.

    Returns
    -------
    Binning
        With edges from ``np.linspace(min, max, bins + 1)``.

    Raises
    ------
    TypeError, ValueError
        If `values` are not finite real numbers, or `bins` is not a positive int.
    """
    greys, bins = check_values(values, bins)
    return Binning.from_edges(greys, np.linspace(greys.min(), greys.max(), bins + 1))


def equal_frequency(values: ArrayLike, bins: int) -> Binning:
    """Cut the values into bins of nearly equal counts.

    A value's bin is ``floor(bins * r / d)``, r its midrank among all d values: half the
    number of those equal to it, and all of those below. Equal values stay together.

    Parameters
    ----------
    values : array_like of any shape
        Grey levels, finite.
    bins : int
        How many bins; those that would hold no value are dropped.

    Returns
    -------
    Binning
        With inner edges at the lowest level of each upper bin.

    Raises
    ------
    TypeError, ValueError
        If `values` are not finite real numbers, or `bins` is not a positive int.
    """
    greys, bins = check_values(values, bins)
    levels, counts = np.unique(greys, return_counts=True)
    twice_midrank = 2 * np.cumsum(counts) - counts
    label = bins * twice_midrank // (2 * greys.size)
    return Binning.from_cuts(greys, levels[1:][np.diff(label) > 0])
