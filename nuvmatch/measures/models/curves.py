"""The sum of a few curves: those that are straight between knots, or the principal ones.

A curve has one value for each slice. With n_k pixels in slice k, the curves u_i of a basis are
orthonormal on the template, and beside the constant: ``sum_k n_k u_ik = 0`` and
``sum_k n_k u_ik u_jk = 1 if i = j else 0``. What a curve explains of a window is then
``(sum_k u_ik s_k)^2``, s being the slice sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._jit import jit
from ...binning import Curves
from ...engine import TileProjections, TileSums
from .constant import PiecewiseConstant

# Curves that others make up but for this share of their length add nothing.
_NEGLIGIBLE = 1e-9

# Windows that are scored at once, so that what is known of them stays in the first cache.
_STRIP = 128

Basis = NDArray[np.float64]  # (curves, slices)


def orthonormal(curves: NDArray[np.float64], counts: NDArray[np.int64]) -> Basis:
    """Make curves (n, slices) orthonormal, in their order; those that add nothing are dropped."""
    roots = np.sqrt(counts / counts.sum())
    weighted = (curves - (curves @ roots**2)[:, None]) * roots
    lengths = np.sqrt((weighted**2).sum(axis=1))
    found: list[NDArray[np.float64]] = []
    for curve, length in zip(weighted, lengths, strict=True):
        rest = curve.copy()
        for _ in range(2):  # the second time for the digits that the first has lost
            for other in found:
                rest -= (rest @ other) * other
        left = float(np.sqrt(rest @ rest))
        if left > _NEGLIGIBLE * max(length, 1e-300):
            found.append(rest / left)
    basis = np.array(found).reshape(-1, counts.size)
    return np.asarray(basis / np.sqrt(counts))


def piecewise_linear(
    levels: NDArray[np.float64], counts: NDArray[np.int64], knots: NDArray[np.float64]
) -> Basis:
    """Take what is straight between knots, and continuous."""
    knots = np.unique(knots)
    hats = np.stack([np.interp(levels, knots, one) for one in np.eye(knots.size)])
    return orthonormal(hats, counts)


def principal(
    curves: Curves, slices: NDArray[np.int64], level_counts: NDArray[np.int64]
) -> tuple[Basis, NDArray[np.float64]]:
    """Find the principal curves of a family, by falling share of what they explain.

    Of all bases they explain most of the family's curves on average (Ky Fan).

    Parameters
    ----------
    curves : Curves
        Sampled over the levels of the template.
    slices : ndarray of shape (d_τ,)
        The slice of each level, ascending from 0.
    level_counts : ndarray of shape (d_τ,)

    Returns
    -------
    basis : ndarray of shape (n, slices)
    shares : ndarray of shape (n,)
        Of the family's variance on the slices; they add up to 1.
    """
    firsts = np.flatnonzero(np.diff(slices, prepend=-1))
    counts = np.add.reduceat(level_counts, firsts)
    means = np.add.reduceat(curves.samples * level_counts, firsts, axis=1) / counts
    roots = np.sqrt(counts)
    weighted = (means - (means @ counts / counts.sum())[:, None]) * roots
    weighted /= float(abs(weighted).max()) or 1.0  # so that no square leaves the float range
    _, lengths, vectors = np.linalg.svd(weighted, full_matrices=False)
    kept = lengths > _NEGLIGIBLE * max(float(lengths[0]), 1e-300)
    shares = lengths[kept] ** 2 / (lengths[kept] ** 2).sum()
    return np.asarray(vectors[kept] / roots), shares


@dataclass(frozen=True, eq=False)
class FewCurves(PiecewiseConstant):
    """The first curves of a basis, as many as are worth their penalty.

    Attributes
    ----------
    curves : ndarray of shape (n, slices)
        Orthonormal in each channel, where each has a part of its own.
    factors : ndarray of shape (n,)
        By which factor a score is raised that takes 1, 2, .. n curves.
    """

    curves: NDArray[np.float64]
    factors: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        counts: NDArray[np.int64],
        channel: NDArray[np.int64],
        bases: Sequence[Basis],
        penalty: float = 0.0,
    ) -> "FewCurves":
        """Take a basis for each channel, and by what power of e a curve raises the score.

        The first is free: a window that is worth no curve would score 1, as any other such.
        """
        number = max(1, *(len(basis) for basis in bases))  # where none is left, one of zeros
        curves = np.zeros((number, counts.size))
        for c, basis in enumerate(bases):
            curves[: len(basis), channel == c] = basis
        return cls(counts, channel, curves, np.exp(penalty * np.arange(number)))

    def score(self, tile: TileSums) -> NDArray[np.float64]:
        """Score a tile; the next one overwrites the scores."""
        scores = tile.empty_scores()
        score_few_curves(self.curves, self.factors, *self.arguments(tile, scores))
        return scores

    def score_projections(
        self, tile: TileProjections, again: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], int]:
        """Do so from correlations with the curves, as `Projections` asks for."""
        explained, left = np.empty((2, *again.shape))
        explained[:] = 0
        left[:] = tile.scatter[:, : again.shape[1]]
        for i, found in enumerate(tile.each):
            curve = i // tile.channels
            factor = self.factors[curve] if i % tile.channels == tile.channels - 1 else np.inf
            if curve + 1 < len(self.factors) and self.factors[curve + 1] == factor:
                factor = np.inf  # the next one costs nothing
            take_projection(found, tile.scatter, factor, explained, left)
        return left, take_shares(left, tile.scatter, tile.error, tile.least, again)

    def fit(self, means: NDArray[np.float64], scatter: float) -> NDArray[np.float64]:
        """Return the greys that the model has for the slices of a window."""
        fitted = means - self.deviations(means) / self.counts
        parts = self.curves * self.deviations(means)
        fits = [fitted]
        explained = [0.0]
        for curve, part in zip(self.curves, parts, strict=True):
            weights = np.bincount(self.channel_of_slice, part)
            fits.append(fits[-1] + weights[self.channel_of_slice] * curve)
            explained.append(explained[-1] + float((weights**2).sum()))
        left = np.maximum(scatter - np.array(explained), 0)
        return fits[int(np.argmin(left * np.append(1.0, self.factors)))]

    @cached_property
    def degrees_of_freedom(self) -> float:
        """Variance that the model explains of noise on average, in that of one pixel."""
        return float(sum(self.curves[:, own].any(axis=1).sum() for own in self.own))


@jit
def score_few_curves(
    curves: NDArray[np.float64],
    factors: NDArray[np.float64],
    sums: NDArray[Any],
    totals: NDArray[np.float64],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    pixels: float,
    rounding: float,
    out: NDArray[np.float64],
) -> None:
    """Fit the first curves of a basis, as many as are worth their penalty.

    ``min over K of factors_K (1 - sum_{i < K} (u_i . s)^2 / V)``, cut to [0, 1], with u the
    curves, which are orthonormal in each channel. With all factors 1 all curves are fitted.
    Other parameters are those of `score_constant`.

    Parameters
    ----------
    curves : ndarray of shape (n, slices)
        u: each has a part for every channel, fitted apart from those of the others.
    factors : ndarray of shape (n,)
        By which factor a score is raised that takes 1, 2, .. n curves.

    Plain twin: ``naive.few_curves_window``.
    """
    slices, (rows, columns) = len(sums), out.shape
    deviations = np.empty((slices, _STRIP))
    part, explained, best = np.empty(_STRIP), np.empty(_STRIP), np.empty(_STRIP)
    ends = np.searchsorted(channel, np.arange(channel[-1] + 1), side="right")
    for y in range(rows):
        for left in range(0, columns, _STRIP):
            n = min(_STRIP, columns - left)
            variance = scatter[y, left : left + n]
            for k in range(slices):
                of_slice = sums[k, y, left : left + n]
                total = totals[channel[k], y, left : left + n]
                deviation, count = deviations[k], float(counts[k])
                for x in range(n):
                    deviation[x] = pixels * of_slice[x] - count * total[x]
            for x in range(n):
                explained[x] = 0.0
                best[x] = variance[x]
            for i in range(curves.shape[0]):
                k = 0
                for c in range(channel[-1] + 1):
                    end = ends[c]
                    for x in range(n):
                        part[x] = 0.0
                    while k + 4 <= end:  # four in one pass: a sum need not go to memory and back
                        a, b = curves[i, k] / pixels, curves[i, k + 1] / pixels
                        d, e = curves[i, k + 2] / pixels, curves[i, k + 3] / pixels
                        one, two = deviations[k], deviations[k + 1]
                        three, four = deviations[k + 2], deviations[k + 3]
                        for x in range(n):
                            part[x] += a * one[x] + b * two[x] + d * three[x] + e * four[x]
                        k += 4
                    while k < end:
                        one, a = deviations[k], curves[i, k] / pixels
                        for x in range(n):
                            part[x] += a * one[x]
                        k += 1
                    for x in range(n):
                        explained[x] += part[x] * part[x]
                factor = factors[i]
                if i + 1 < len(factors) and factors[i + 1] == factor:
                    continue  # the next one costs nothing
                for x in range(n):
                    within = variance[x] - explained[x]
                    within = within if within > rounding * variance[x] else 0.0
                    best[x] = min(best[x], factor * within)
            line = out[y, left : left + n]
            for x in range(n):
                line[x] = best[x] / variance[x] if variance[x] > 0.0 else np.nan


@jit
def take_projection(
    found: NDArray[np.complex128],
    scatter: NDArray[np.float64],
    factor: float,
    explained: NDArray[np.float64],
    left: NDArray[np.float64],
) -> None:
    """Add what a curve explains of each window; what is left, times a factor, counts if less.

    Parameters
    ----------
    found : ndarray of shape (half of the rows, columns)
        Correlations of the upper windows, and as imaginary part of the lower ones.
    scatter : ndarray of shape (rows, >= columns)
    factor : float
        Infinite: only add.
    explained, left : ndarray of shape (rows, columns), changed

    Plain twin: ``naive.few_curves_window``.
    """
    half = found.shape[0]
    for y in range(explained.shape[0]):
        both, variance, of_line, least = found[y % half], scatter[y], explained[y], left[y]
        if y < half:
            for x in range(both.size):
                of_line[x] += both[x].real * both[x].real
        else:
            for x in range(both.size):
                of_line[x] += both[x].imag * both[x].imag
        if factor < np.inf:
            for x in range(both.size):
                least[x] = min(least[x], factor * (variance[x] - of_line[x]))


@jit
def take_shares(
    left: NDArray[np.float64],
    scatter: NDArray[np.float64],
    error: float,
    least: float,
    again: NDArray[np.bool_],
) -> int:
    """Divide what is left by the scatter; mark, and count, what is in doubt.

    Parameters
    ----------
    left : ndarray of shape (rows, columns), changed
        Becomes the scores; NaN is no evidence.
    scatter : ndarray of shape (rows, >= columns)
        Where it is 0 or NaN there is no evidence.
    error, least : float
        As in `TileProjections`.
    again : ndarray of shape (rows, columns), filled

    Plain twin: ``naive.few_curves_window``.
    """
    number = 0
    for y in range(left.shape[0]):
        line, variance, marks = left[y], scatter[y], again[y]
        for x in range(line.size):
            whole, rest = variance[x], line[x]
            line[x] = rest / whole if whole > 0.0 else np.nan
            # Twice the error: what is within it of 0 may be 0.
            within = rest < 0.0 or rest * rest < 4 * error * error * whole
            doubt = whole > 0.0 and (whole < least or within)
            marks[x] = doubt
            number += doubt
    return number
