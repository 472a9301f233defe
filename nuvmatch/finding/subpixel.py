"""Fractions of a pixel: the lowest point of a quadratic through the scores around a place.

A score that is a share of variance left over, D = S / V of d pixels, rises by the pattern's own
gradients around its minimum; what is left over is the noise. So its Hessian H tells how exact
the place is: the variance of a least-squares shift is (2 D / d) H^-1. Images are no quadratics
beyond a pixel: how far nine scores are from one tells the other part of the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..results import Match

Around = Callable[[int, int], NDArray[Any]]

# Of the standard error that nine scores leave, by which the quadratic's own error is told: on
# photographs .8 lets one sigma hold .68 of the errors (benchmarks.subpixel).
_MISFIT = 0.8

_FARTHEST = 0.5  # pixels: from there on the next window would be the best
_ROUNDING = 1e-6  # a lesser curvature is what single precision leaves


class Fraction(NamedTuple):
    """How far beside a window the place is, in rows and columns, and how exact that is."""

    offset: tuple[float, float]
    sigma: float


NOT_TOLD = Fraction((0.0, 0.0), math.inf)
_PERFECT = Fraction((0.0, 0.0), 0.0)


def fraction_at(match: Match, extent: tuple[int, ...], around: Around, pixels: int) -> Fraction:
    """Place a match to a fraction of a pixel.

    Parameters
    ----------
    match : Match
        In coordinates of the map.
    extent : (int, int)
        Rows and columns of the map.
    around : callable
        Returns the 3 x 3 scores about a place.
    pixels : int
        How many are compared for a score.
    """
    if 0 < match.row < extent[0] - 1 and 0 < match.col < extent[1] - 1:
        return lowest_point(around(match.row, match.col).astype(np.float64), pixels)
    return NOT_TOLD


def lowest_point(around: NDArray[np.float64], pixels: int) -> Fraction:
    """Find the lowest point of the quadratic that fits 3 x 3 scores best.

    Parameters
    ----------
    around : ndarray of shape (3, 3)
        The best score is in the middle.
    pixels : int
        How many are compared for a score.

    Returns
    -------
    Fraction
        No step and infinite sigma where scores are missing or have no lowest point; no step and
        a sigma of 0 where the best score alone is 0: nothing is better.
    """
    if not np.isfinite(around).all():
        return NOT_TOLD
    if around[1, 1] == 0 and np.count_nonzero(around) == 8:
        return _PERFECT
    coefficients = _FIT @ around.ravel()
    level, gradient = coefficients[0], coefficients[1:3]
    hessian = np.diag(2 * coefficients[3:5]) + (1 - np.eye(2)) * coefficients[5]
    if np.linalg.eigvalsh(hessian)[0] <= _ROUNDING:
        return NOT_TOLD
    inverse = np.linalg.inv(hessian)
    step = np.clip(-inverse @ gradient, -_FARTHEST, _FARTHEST)
    lowest = max(float(level + gradient @ step + step @ hessian @ step / 2), 0.0)
    noise = 2 * lowest / pixels * np.trace(inverse)
    misfit = ((around.ravel() - _DESIGN @ coefficients) ** 2).sum() / 3  # 9 scores less 6
    misfit *= _MISFIT**2 * np.trace(inverse @ inverse) / 6  # rows and columns have squares of 6
    return Fraction((float(step[0]), float(step[1])), math.sqrt((noise + misfit) / 2))


_Y, _X = (np.indices((3, 3)) - 1.0).reshape(2, 9)
_DESIGN = np.stack([np.ones(9), _Y, _X, _Y**2, _X**2, _Y * _X], axis=1)
_FIT = np.linalg.pinv(_DESIGN)
