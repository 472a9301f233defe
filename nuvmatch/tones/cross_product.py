"""The cross-product of a family of tone curves, by sampling it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_greys, as_integer
from ..binning import Curves
from .families import Seed, draw_curves


def cross_product(
    family: Any,
    levels: ArrayLike,
    *,
    counts: ArrayLike | None = None,
    samples: int = 256,
    seed: Seed = 0,
    normalize: bool = True,
) -> NDArray[np.float64]:
    """Estimate ``Cross(m) = E m mᵀ`` as the mean over sampled tone curves (paper, section 3.5).

    Parameters
    ----------
    family : Family or callable
        A family of `nuvmatch.tones`, or a function ``f(levels, rng)`` that returns a curve.
    levels : array_like of shape (d_τ,)
        The template's sorted distinct levels, scaled to [0, 1] by the sensor's range.
    counts : array_like of int, of shape (d_τ,), optional
        How many pixels of the template have each level. None: one each.
    samples : int
        How many curves to draw.
    seed : int or numpy.random.Generator
        Of the curves drawn.
    normalize : bool
        First centre each curve on the template, and scale it to unit variance there.
        The expected score without noise is then exact, not a ratio of means, and no
        curve weighs more for its contrast. Curves that are flat on the template, which
        no score can see, are left out.

    Returns
    -------
    ndarray of shape (d_τ, d_τ)
        Symmetric, positive semi-definite, for `nuvmatch.binning.optimal` and `greedy`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above, a curve is not finite, or all are flat.
    """
    return sample_curves(family, levels, counts, samples, seed, normalize).to_matrix()


def sample_curves(
    family: Any,
    levels: ArrayLike,
    counts: ArrayLike | None = None,
    samples: int = 256,
    seed: Seed = 0,
    normalize: bool = True,
) -> Curves:
    """Sample a cross-product in its low-rank form; see `cross_product`."""
    taus = as_greys(levels, "levels").astype(np.float64)
    if taus.ndim != 1 or taus.size == 0 or not np.isfinite(taus).all():
        raise ValueError(f"levels have shape {taus.shape}; they must be finite, of shape (d,)")
    if not (np.diff(taus) > 0).all():
        raise ValueError("levels must be sorted and distinct, as np.unique makes them")
    weights = np.ones(taus.size) if counts is None else as_greys(counts, "counts").astype(float)
    if weights.shape != taus.shape or not (weights > 0).all():
        raise ValueError(
            f"counts have shape {weights.shape}; they must be positive, of shape {taus.shape}"
        )
    number = as_integer(samples, "samples", 1)
    curves = draw_curves(family, taus, number, np.random.default_rng(seed))
    if not normalize:
        return Curves(curves)
    weights = weights / weights.sum()
    largest, exponents = np.frexp(abs(curves).max(axis=1, keepdims=True))
    curves = np.ldexp(curves, -exponents)  # so that no square leaves the range of floats
    centred = curves - (curves * weights).sum(axis=1, keepdims=True)
    spread = np.sqrt((centred**2 * weights).sum(axis=1))
    seen = spread > 1e-12 * largest[:, 0]
    if not seen.any():
        raise ValueError(f"all curves of {family} are flat on the template's levels")
    return Curves(centred[seen] / spread[seen, np.newaxis])
