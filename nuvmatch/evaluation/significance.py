"""Whether two rates differ that were measured on the same trials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95


def rate_interval(hits: int, number: int) -> tuple[float, float]:
    """Return the interval of a rate, by Wilson's score method."""
    from scipy.stats import binomtest  # slow to import

    interval = binomtest(hits, number).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def paired_difference(ours: NDArray[np.bool_], others: NDArray[np.bool_]) -> dict[str, float]:
    """Tell by how much one rate is above another, over the same trials.

    Parameters
    ----------
    ours, others : ndarray of bool, of shape (n,)
        Hits, trial by trial.

    Returns
    -------
    dict
        The `difference` of rates, its interval from `low` to `high` by Newcombe's method 10 [1]_,
        and `p`, two-sided, of McNemar's exact test: it asks only trials in which one hits alone.

    References
    ----------
    .. [1] R. G. Newcombe, *Improved confidence intervals for the difference between binomial
       proportions based on paired data*, Statistics in Medicine 17 (1998).
    """
    from scipy.stats import binomtest  # slow to import

    both, neither = int((ours & others).sum()), int((~ours & ~others).sum())
    alone, others_alone = int((ours & ~others).sum()), int((~ours & others).sum())
    number, discordant = ours.size, alone + others_alone
    first, second = int(ours.sum()), int(others.sum())
    below, above = _reaches(first, number)
    others_below, others_above = _reaches(second, number)
    phi = _correlation(both, alone, others_alone, neither)
    difference = (first - second) / number
    return {
        "difference": difference,
        "low": difference - _joined(below, others_above, phi),
        "high": difference + _joined(above, others_below, phi),
        "p": float(binomtest(alone, discordant).pvalue) if discordant else 1.0,
    }


def _reaches(hits: int, number: int) -> tuple[float, float]:
    """How far the interval of a rate reaches below it, and above."""
    low, high = rate_interval(hits, number)
    return hits / number - low, high - hits / number


def _correlation(both: int, alone: int, others_alone: int, neither: int) -> float:
    """Correlate hits: phi, a positive one corrected for continuity; 0 where one rate is 0 or 1."""
    sides = (both + alone) * (others_alone + neither) * (both + others_alone) * (alone + neither)
    product = float(both * neither - alone * others_alone)
    if product > 0:
        product = max(product - (both + alone + others_alone + neither) / 2, 0.0)
    return product / math.sqrt(sides) if sides else 0.0


def _joined(one: float, other: float, phi: float) -> float:
    """Add two reaches that go together, by their squares."""
    return math.sqrt(max(one**2 - 2 * phi * one * other + other**2, 0.0))


def holm(p_values: ArrayLike) -> Any:
    """Adjust p-values for being many, by Holm's step-down method."""
    p = np.asarray(p_values, float)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(adjusted, 1)
    return out
