"""Tone models: the share of a window's variance that the template leaves unexplained.

A model says which greys the slices of a template may have in a window: any (the paper's
measure), the sums of a few curves, or rising or falling ones. It scores the slice sums of a
tile of windows, and fits the mean greys of the slices of one window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .bases import Basis

# What rounding alone can leave of a window's squares, at all and for each pixel: that is a
# perfect match.
_ROUNDING, _ROUNDING_PER_PIXEL = 1e-14, 2e-17

# Windows that are scored at once, so that what is known of them stays in the first cache.
_STRIP = 128

# Windows of noise, to find out how much a model explains of it.
_SIMULATED = 20_000


class Place(NamedTuple):
    """Where the scores of a tile go; as kernels take it."""

    nothing: float  # what to write where there is no evidence
    out: NDArray[Any]  # the whole score map
    top: int  # where the tile begins
    first: int
    columns: int


@dataclass(frozen=True, eq=False)
class PiecewiseConstant:
    """A free grey for each slice: the paper's measure.

    Attributes
    ----------
    counts, channel : ndarray of int, of shape (slices,)
        Pixels of each slice, and the channel it is of, ascending.
    """

    counts: NDArray[np.int64]
    channel: NDArray[np.int64]

    def score(
        self,
        sums: NDArray[Any],
        totals: NDArray[Any],
        scatter: NDArray[np.float64],
        place: Place,
    ) -> None:
        """Fill a tile of a score map; arguments are those of `piecewise_constant`."""
        piecewise_constant(sums, totals, scatter, self.counts, self.channel, *place)

    def fit(self, means: NDArray[np.float64], scatter: float) -> NDArray[np.float64]:
        """Return the greys that the model has for the slices of a window.

        Parameters
        ----------
        means : ndarray of shape (slices,)
            Of the window's greys.
        scatter : float
            Squared deviations from the mean, of all channels.
        """
        return means

    @cached_property
    def freedom(self) -> float:
        """Variance that the model explains of noise on average, in that of one pixel."""
        return float(self.counts.size - 1 - self.channel[-1])

    @cached_property
    def _own(self) -> list[NDArray[np.bool_]]:
        """Slices of each channel."""
        return [self.channel == c for c in range(int(self.channel[-1]) + 1)]

    def deviations(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of the slices about the mean of their channel."""
        sums = self.counts * means
        shares = np.bincount(self.channel, sums) / np.bincount(self.channel, self.counts)
        return np.asarray(sums - self.counts * shares[self.channel])


@dataclass(frozen=True, eq=False)
class FewCurves(PiecewiseConstant):
    """The first curves of a basis, as many as are worth their price.

    Attributes
    ----------
    curves : ndarray of shape (n, slices)
        Orthonormal in each channel, where each has a part of its own.
    prices : ndarray of shape (n,)
        By which factor a score is raised that takes 1, 2, .. n curves.
    """

    curves: NDArray[np.float64]
    prices: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        counts: NDArray[np.int64],
        channel: NDArray[np.int64],
        bases: Sequence[Basis],
        price: float = 0.0,
    ) -> "FewCurves":
        """Take a basis for each channel, and the power of e that a curve costs."""
        number = max(1, *(len(basis) for basis in bases))  # where none is left, one of zeros
        curves = np.zeros((number, counts.size))
        for c, basis in enumerate(bases):
            curves[: len(basis), channel == c] = basis
        return cls(counts, channel, curves, np.exp(price * np.arange(1, number + 1)))

    def score(
        self,
        sums: NDArray[Any],
        totals: NDArray[Any],
        scatter: NDArray[np.float64],
        place: Place,
    ) -> None:
        """Fill a tile of a score map; arguments are those of `piecewise_constant`."""
        few_curves(
            sums, totals, scatter, self.counts, self.channel, *place, self.curves, self.prices
        )

    def fit(self, means: NDArray[np.float64], scatter: float) -> NDArray[np.float64]:
        """Return the greys that the model has for the slices of a window."""
        fitted = means - self.deviations(means) / self.counts
        parts = self.curves * self.deviations(means)
        fits = [fitted]
        explained = [0.0]
        for curve, part in zip(self.curves, parts, strict=True):
            weights = np.bincount(self.channel, part)
            fits.append(fits[-1] + weights[self.channel] * curve)
            explained.append(explained[-1] + float((weights**2).sum()))
        left = np.maximum(scatter - np.array(explained), 0)
        return fits[int(np.argmin(left * np.append(1.0, self.prices)))]

    @cached_property
    def freedom(self) -> float:
        """Variance that the model explains of noise on average, in that of one pixel."""
        return float(sum(self.curves[:, own].any(axis=1).sum() for own in self._own))


@dataclass(frozen=True, eq=False)
class Monotone(PiecewiseConstant):
    """A grey for each slice that never falls, or never rises, from slice to slice.

    Attributes
    ----------
    rising, falling : bool
        Which of both may be fitted, in all channels alike.
    """

    rising: bool = True
    falling: bool = True

    def score(
        self,
        sums: NDArray[Any],
        totals: NDArray[Any],
        scatter: NDArray[np.float64],
        place: Place,
    ) -> None:
        """Fill a tile of a score map; arguments are those of `piecewise_constant`."""
        monotone(
            sums, totals, scatter, self.counts, self.channel, *place, self.rising, self.falling
        )

    def fit(self, means: NDArray[np.float64], scatter: float) -> NDArray[np.float64]:
        """Return the greys that the model has for the slices of a window."""
        from scipy.optimize import isotonic_regression  # slow to import

        fits = [
            np.concatenate(
                [
                    isotonic_regression(
                        means[own], weights=self.counts[own], increasing=increasing
                    ).x
                    for own in self._own
                ]
            )
            for increasing in (True, False)
            if (self.rising if increasing else self.falling)
        ]
        return min(fits, key=lambda fitted: float((self.counts * (means - fitted) ** 2).sum()))

    @cached_property
    def freedom(self) -> float:
        """Variance that the model explains of noise on average, in that of one pixel.

        By simulation, to about one per cent.
        """
        rng = np.random.default_rng(0)
        noise = rng.standard_normal((self.counts.size, 1, _SIMULATED))
        sums = noise * np.sqrt(self.counts)[:, None, None]
        totals = np.stack([sums[own].sum(axis=0) for own in self._own])
        scatter, scores = np.full((1, _SIMULATED), 1e9), np.empty((1, _SIMULATED))
        self.score(sums, totals, scatter, Place(0.0, scores, 0, 0, _SIMULATED))
        return float(1e9 * (1 - scores).mean())


@jit
def piecewise_constant(
    sums: NDArray[Any],
    totals: NDArray[Any],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    nothing: float,
    out: NDArray[Any],
    top: int,
    first: int,
    columns: int,
) -> None:
    """PWC nUV: one free grey for each bin (the paper's measure).

    ``D = 1 - sum_j (s_j - n_j S / d)^2 / n_j / V``, cut to [0, 1], where S is the sum over
    the slices of a channel, d = sum_j n_j, and V the scatter of the window. This is the
    paper's ``(Q - sum_j s_j^2 / n_j) / (Q - S^2 / d)`` without the loss of digits in its
    differences. What rounding alone can leave unexplained counts as 0.

    Parameters
    ----------
    sums : ndarray of shape (slices, rows, >= columns)
        s_j, about any common origin.
    totals : ndarray of shape (channels, rows, >= columns)
        S of each channel.
    scatter : ndarray of shape (rows, >= columns)
        V, of all channels. Where it is 0 or NaN there is no evidence.
    counts, channel : ndarray of shape (slices,)
        n_j, and the channel of each slice, ascending.
    nothing : float
        What to write where there is no evidence.
    out : ndarray of shape (H - h + 1, W - w + 1)
        The whole score map, filled from (top, first) on.

    Plain twin: ``naive.nuv_window``.
    """
    slices, rows, _ = sums.shape
    explained = np.empty(columns)
    total = np.empty(columns)
    pixels = float(counts[channel == 0].sum())
    rounding = _ROUNDING + _ROUNDING_PER_PIXEL * pixels * (channel[-1] + 1)
    for y in range(rows):
        for x in range(columns):
            explained[x] = 0.0
        for k in range(slices):
            if k == 0 or channel[k] != channel[k - 1]:
                of_window = totals[channel[k], y]
                for x in range(columns):
                    total[x] = of_window[x]
            of_slice = sums[k, y]
            count = float(counts[k])
            weight = 1.0 / (count * pixels * pixels)
            for x in range(columns):
                deviation = pixels * of_slice[x] - count * total[x]
                explained[x] += deviation * deviation * weight
        line = out[top + y, first : first + columns]
        whole = scatter[y]
        for x in range(columns):
            within = whole[x] - explained[x]
            share = within / whole[x]
            share = share if within > rounding * whole[x] else 0.0
            line[x] = share if whole[x] > 0.0 else nothing


@jit
def few_curves(
    sums: NDArray[Any],
    totals: NDArray[Any],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    nothing: float,
    out: NDArray[Any],
    top: int,
    first: int,
    columns: int,
    curves: NDArray[np.float64],
    prices: NDArray[np.float64],
) -> None:
    """Fit the first curves of a basis, as many as are worth their price.

    ``min over K of prices_K (1 - sum_{i < K} (u_i . s)^2 / V)``, cut to [0, 1], with u the
    curves, which are orthonormal in each channel. With all prices 1 all curves are fitted.
    Other parameters are those of `piecewise_constant`.

    Parameters
    ----------
    curves : ndarray of shape (n, slices)
        u: each has a part for every channel, fitted apart from those of the others.
    prices : ndarray of shape (n,)
        By which factor a score is raised that takes 1, 2, .. n curves.

    Plain twin: ``naive.few_curves_window``.
    """
    slices, rows, _ = sums.shape
    deviations = np.empty((slices, _STRIP))
    part, explained, best = np.empty(_STRIP), np.empty(_STRIP), np.empty(_STRIP)
    ends = np.searchsorted(channel, np.arange(channel[-1] + 1), side="right")
    pixels = float(counts[channel == 0].sum())
    rounding = _ROUNDING + _ROUNDING_PER_PIXEL * pixels * (channel[-1] + 1)
    for y in range(rows):
        for left in range(0, columns, _STRIP):
            n = min(_STRIP, columns - left)
            whole = scatter[y, left : left + n]
            for k in range(slices):
                of_slice = sums[k, y, left : left + n]
                total = totals[channel[k], y, left : left + n]
                deviation, count = deviations[k], float(counts[k])
                for x in range(n):
                    deviation[x] = pixels * of_slice[x] - count * total[x]
            for x in range(n):
                explained[x] = 0.0
                best[x] = whole[x]
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
                price = prices[i]
                if i + 1 < len(prices) and prices[i + 1] == price:
                    continue  # the next one costs nothing
                for x in range(n):
                    within = whole[x] - explained[x]
                    within = within if within > rounding * whole[x] else 0.0
                    best[x] = min(best[x], price * within)
            line = out[top + y, first + left : first + left + n]
            for x in range(n):
                line[x] = best[x] / whole[x] if whole[x] > 0.0 else nothing


@jit
def monotone(
    sums: NDArray[Any],
    totals: NDArray[Any],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    nothing: float,
    out: NDArray[Any],
    top: int,
    first: int,
    columns: int,
    rising: bool,
    falling: bool,
) -> None:
    """Fit a grey for each bin that never falls, or never rises, from bin to bin.

    Least squares: what pooling adjacent violators finds, by its closed form. With A_ik the
    mean grey of the bins i .. k, ``max over i <= j of min over k >= j of A_ik`` is the grey
    of bin j that never falls. It makes no decisions, so that many windows are fitted at once.
    Other parameters are those of `piecewise_constant`.

    Parameters
    ----------
    rising, falling : bool
        Which of both may be fitted: the better one is, in all channels alike.

    Plain twin: ``naive.monotone_window``.
    """
    slices, rows, _ = sums.shape
    before = np.zeros((slices + 1, _STRIP))  # sums of deviations of all slices before one
    low, high = np.empty(_STRIP), np.empty(_STRIP)
    up, down = np.empty((slices, _STRIP)), np.empty((slices, _STRIP))
    risen, fallen = np.empty(_STRIP), np.empty(_STRIP)
    pixels = float(counts[channel == 0].sum())
    rounding = _ROUNDING + _ROUNDING_PER_PIXEL * pixels * (channel[-1] + 1)
    for y in range(rows):
        for left in range(0, columns, _STRIP):
            n = min(_STRIP, columns - left)
            for x in range(n):
                risen[x], fallen[x] = 0.0, 0.0
            for k in range(slices):
                of_slice = sums[k, y, left : left + n]
                total = totals[channel[k], y, left : left + n]
                last, own, count = before[k], before[k + 1], float(counts[k])
                rise, fall = up[k], down[k]
                for x in range(n):
                    own[x] = last[x] + (pixels * of_slice[x] - count * total[x])
                    rise[x], fall[x] = -np.inf, np.inf
            for i in range(slices):
                for x in range(n):
                    low[x], high[x] = np.inf, -np.inf
                together = float(counts[i:][channel[i:] == channel[i]].sum())
                first_sum = before[i]
                for j in range(slices - 1, i - 1, -1):
                    if channel[j] == channel[i]:
                        share, end = 1.0 / (together * pixels), before[j + 1]
                        rise, fall = up[j], down[j]
                        for x in range(n):
                            mean = (end[x] - first_sum[x]) * share
                            least = mean if mean < low[x] else low[x]
                            most = mean if mean > high[x] else high[x]
                            low[x], high[x] = least, most
                            rise[x] = least if least > rise[x] else rise[x]
                            fall[x] = most if most < fall[x] else fall[x]
                        together -= float(counts[j])
            for k in range(slices):
                count, rise, fall = float(counts[k]), up[k], down[k]
                for x in range(n):
                    risen[x] += count * rise[x] * rise[x]
                    fallen[x] += count * fall[x] * fall[x]
            whole = scatter[y, left : left + n]
            line = out[top + y, first + left : first + left + n]
            for x in range(n):
                best = risen[x] if rising else 0.0
                best = max(best, fallen[x]) if falling else best
                within = whole[x] - best
                share = within / whole[x] if within > rounding * whole[x] else 0.0
                line[x] = share if whole[x] > 0.0 else nothing


@jit
def refuse_gains(
    sums: NDArray[Any],
    totals: NDArray[Any],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    nothing: float,
    out: NDArray[Any],
    top: int,
    first: int,
    columns: int,
    slopes: NDArray[np.float64],
    units: NDArray[np.float64],
    low: float,
    high: float,
) -> None:
    """Write `nothing` where the gain is not between two limits.

    The gain is the slope of the straight line through the greys of window and template,
    slice by slice. Other parameters are those of `piecewise_constant`.

    Parameters
    ----------
    slopes : ndarray of shape (slices,)
        Weights of the slice sums: they add up to the gain.
    units : ndarray of shape (rows, columns)
        By what the greys of each window were multiplied.

    Plain twin: ``naive.gain``.
    """
    slices, rows, _ = sums.shape
    pixels = float(counts[channel == 0].sum())
    for y in range(rows):
        for x in range(columns):
            gain = 0.0
            for k in range(slices):
                deviation = pixels * sums[k, y, x] - float(counts[k]) * totals[channel[k], y, x]
                gain += slopes[k] * (deviation / pixels)
            gain /= units[y, x]
            if not (low <= gain and gain <= high):
                out[top + y, first + x] = nothing
