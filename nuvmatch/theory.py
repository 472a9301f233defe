"""What to expect of PWC nUV: means on noise and on distorted templates, and their distance.

Symbols as in the paper: a template of d pixels with distinct levels τ, b bins, tone curves m
over τ (random), white noise of standard deviation sigma. A window is ``S_τ m + ζ``, or noise
alone. The means of ratios are approximated, as in the paper, by ratios of means: over many
cases they agree to 0.1 % on average, in single small cases they can differ by more. With
curves that are centred and of unit variance on the template (`cross_product`'s default) and
without noise they are exact.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import as_greys, as_integer, as_number
from .binning import Levels
from .binning._quadratic import less_level

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

# Greys and deviations up to which squares, and sums of many of them, are finite.
_LARGEST = 1e140
_LARGEST_SQUARE = 1e290


def expected_noise(d: int, b: int) -> float:
    """Mean score of a window of noise (Proposition 1).

    Parameters
    ----------
    d, b : int
        Pixels and bins, ``1 <= b <= d``, ``d >= 2``.

    Returns
    -------
    float
        ``(d - b) / (d - 1)``: exact for any exchangeable noise.

    Raises
    ------
    TypeError, ValueError
        If `d` or `b` is out of range.
    """
    d, b = as_integer(d, "d", 2), as_integer(b, "b", 1)
    if b > d:
        raise ValueError(f"b is {b}; there cannot be more bins than the {d} pixels")
    return (d - b) / (d - 1)


def noise_distribution(d: int, b: int) -> "rv_frozen[Any, Any]":
    """Distribution of the score of Gaussian white noise: exactly Beta((d - b)/2, (b - 1)/2).

    This is the law of a one-way analysis of variance with the bins for groups. It is not for
    telling whether a template is in an image: windows of images are no white noise, and of
    photographs without the template it says 1e-68. `nuvmatch.Match.false_alarms` is for that.

    Parameters
    ----------
    d, b : int
        Pixels and bins, ``2 <= b < d``.

    Returns
    -------
    scipy.stats frozen distribution
        With ``.cdf``, ``.ppf``, ``.mean`` and the like.

    Raises
    ------
    TypeError, ValueError
        If `d` or `b` is out of range.
    """
    from scipy import stats  # half a second that only this function needs

    expected_noise(d, b)
    if not 2 <= b < d:
        raise ValueError(f"b is {b}; for a distribution it must be 2 or more, and below d = {d}")
    return stats.beta((d - b) / 2, (b - 1) / 2)


def expected_distorted(
    values: ArrayLike, labels: ArrayLike, cross: ArrayLike, sigma: float
) -> float:
    """Mean score of the distorted template with noise (Proposition 2).

    ``[<n, E m²> - J + σ²(d - b)] / [<n, E m²> - n' Cross n / d + σ²(d - 1)]``, J being the
    objective of Theorem 1.

    Parameters
    ----------
    values : array_like of any shape
        The template, d pixels with d_τ distinct levels.
    labels : array_like of int, of the same shape
        The bin of each pixel.
    cross : array_like of shape (d_τ, d_τ)
        E m mᵀ over the sorted distinct levels.
    sigma : float
        Standard deviation of the noise, in the unit of m.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If the arguments do not fit, or are so large that squares would overflow; if the curves
        are flat and there is no noise.
    """
    levels = Levels.of(values)
    bins, matrix = levels.index_bins(labels), levels.matrix(cross)
    as_number(abs(matrix).max(), "the largest of cross", 0, _LARGEST_SQUARE)
    # A common offset of m changes no score, and costs digits.
    matrix = less_level(matrix, int(levels.counts.argmax()))
    explained = levels.explained(bins, matrix)
    total = float(levels.counts @ matrix.diagonal())
    mean_part = float(levels.counts @ matrix @ levels.counts) / levels.index.size
    return _ratio(total - explained, total - mean_part, bins, sigma)


def expected_localized(
    values: ArrayLike, labels: ArrayLike, covariance: ArrayLike, sigma: float
) -> float:
    """Mean score where curves scatter about the template itself, E m = τ (Proposition 3).

    Parameters
    ----------
    values, labels, sigma
        As for `expected_distorted`.
    covariance : array_like of shape (d_τ, d_τ)
        Of m - τ over the sorted distinct levels.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        As `expected_distorted`.
    """
    levels = _squarable(values)
    # Centred levels: a common offset of m changes no score, and costs digits.
    taus = levels.levels - np.average(levels.levels, weights=levels.counts)
    cross = levels.matrix(covariance) + np.outer(taus, taus)
    return expected_distorted(values, labels, cross, sigma)


def expected_spherical(values: ArrayLike, labels: ArrayLike, sigma_m: float, sigma: float) -> float:
    """Mean score where levels scatter about the template independently (Proposition 4).

    Parameters
    ----------
    values, labels, sigma
        As for `expected_distorted`.
    sigma_m : float
        Standard deviation of each level.

    Returns
    -------
    float
        For distinct values ``[||At - t||² + (σ_m² + σ²)(d - b)] / [d var t + (σ_m² + σ²)(d - 1)]``;
        equal values share their deviation, which Proposition 3 accounts for.

    Raises
    ------
    TypeError, ValueError
        As `expected_distorted`.
    """
    variance = as_number(sigma_m, "sigma_m", 0, _LARGEST) ** 2
    levels = _squarable(values)
    bins, d = levels.index_bins(labels), levels.index.size
    sizes = np.bincount(bins)
    greys = (levels.levels - np.average(levels.levels, weights=levels.counts))[levels.index]
    beside = greys - (np.bincount(bins, greys) / sizes)[bins]
    # Pixels of one level, and of one level in one bin: they share their deviation.
    pairs, together = np.unique(bins + sizes.size * levels.index, return_counts=True)
    kept = float((together**2 / sizes[pairs % sizes.size]).sum())
    lost = float((levels.counts**2).sum()) / d
    within = float(beside @ beside) + variance * (d - kept)
    total = float(greys @ greys) + variance * (d - lost)
    return _ratio(within, total, bins, sigma)


def separation(values: ArrayLike, labels: ArrayLike, cross: ArrayLike, sigma: float) -> float:
    """How far the mean scores of noise and of the distorted template lie apart.

    Parameters
    ----------
    values, labels, cross, sigma
        As for `expected_distorted`.

    Returns
    -------
    float
        Proposition 1 minus Proposition 2: what a choice of bins is worth.

    Raises
    ------
    TypeError, ValueError
        As `expected_distorted`.
    """
    bins = np.unique(as_greys(labels, "labels")).size
    noise = expected_noise(as_greys(values, "values").size, bins)
    return noise - expected_distorted(values, labels, cross, sigma)


def ideal_share(
    holds: Callable[[Any], bool],
    sampler: Callable[[np.random.Generator], Any],
    *,
    samples: int = 1000,
    seed: int | np.random.Generator = 0,
) -> float:
    """Share V*/V of the window space on which an assumption holds (paper, section 3.5).

    Defined operationally: the share of windows drawn by `sampler` for which `holds` is
    true. It is the probability that the bins chosen under the assumption are ideal.

    Parameters
    ----------
    holds : callable
        Whether the assumption holds for one window.
    sampler : callable
        Draws one window with the generator it is given.
    samples : int
        How many windows to draw; the standard error is at most ``0.5 / sqrt(samples)``.
    seed : int or numpy.random.Generator
        Of the windows drawn.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    TypeError, ValueError
        If `samples` is not a positive int.
    """
    rng = np.random.default_rng(seed)
    number = as_integer(samples, "samples", 1)
    return sum(bool(holds(sampler(rng))) for _ in range(number)) / number


def _squarable(values: ArrayLike) -> Levels:
    """Sort and count values whose squares are finite."""
    levels = Levels.of(values)
    as_number(abs(levels.levels).max(), "the largest of values", 0, _LARGEST)
    return levels


def _ratio(within: float, total: float, bins: NDArray[np.int64], sigma: float) -> float:
    """Add the noise to the means of both squares, and divide."""
    variance = as_number(sigma, "sigma", 0, _LARGEST) ** 2
    denominator = total + variance * (bins.size - 1)
    if not denominator > 0:
        raise ValueError("windows are flat on average: the score has no mean without noise")
    return (within + variance * (bins.size - 1 - int(bins.max()))) / denominator
