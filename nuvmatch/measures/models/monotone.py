"""A grey for each slice that never falls, or never rises, from slice to slice."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._jit import jit
from ...engine import Tile, TileSums
from .constant import PiecewiseConstant

# Windows that are scored at once, so that what is known of them stays in the first cache.
_STRIP = 128

# Windows of noise, to find out how much the model explains of it.
_SIMULATED = 20_000


@dataclass(frozen=True, eq=False)
class MonotoneModel(PiecewiseConstant):
    """A grey for each slice that never falls, or never rises, from slice to slice.

    Attributes
    ----------
    rising, falling : bool
        Which of both may be fitted, in all channels alike.
    """

    rising: bool = True
    falling: bool = True

    def score(self, tile: TileSums) -> NDArray[np.float64]:
        """Score a tile; the next one overwrites the scores."""
        scores = tile.empty_scores()
        score_monotone(self.rising, self.falling, *self.arguments(tile, scores))
        return scores

    def fit(self, means: NDArray[np.float64], scatter: float) -> NDArray[np.float64]:
        """Return the greys that the model has for the slices of a window."""
        from scipy.optimize import isotonic_regression  # slow to import

        fits = [
            np.concatenate(
                [
                    isotonic_regression(
                        means[own], weights=self.counts[own], increasing=increasing
                    ).x
                    for own in self.own
                ]
            )
            for increasing in (True, False)
            if (self.rising if increasing else self.falling)
        ]
        return min(fits, key=lambda fitted: float((self.counts * (means - fitted) ** 2).sum()))

    @cached_property
    def degrees_of_freedom(self) -> float:
        """Variance that the model explains of noise on average, in that of one pixel.

        By simulation, to about one per cent.
        """
        rng = np.random.default_rng(0)
        noise = rng.standard_normal((self.counts.size, 1, _SIMULATED))
        sums = noise * np.sqrt(self.counts)[:, None, None]
        totals = np.stack([sums[own].sum(axis=0) for own in self.own])
        tile = Tile(0, 1, 0, _SIMULATED)
        scatter = np.full(tile.shape, 1e9)
        scores = self.score(TileSums(sums, totals, scatter, tile, tile.place))
        return float(1e9 * (1 - scores).mean())


@jit
def score_monotone(
    rising: bool,
    falling: bool,
    sums: NDArray[Any],
    totals: NDArray[np.float64],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    pixels: float,
    rounding: float,
    out: NDArray[np.float64],
) -> None:
    """Fit a grey for each bin that never falls, or never rises, from bin to bin.

    Least squares: what pooling adjacent violators finds, by its closed form. With A_ik the
    mean grey of the bins i .. k, ``max over i <= j of min over k >= j of A_ik`` is the grey
    of bin j that never falls. It makes no decisions, so that many windows are fitted at once.
    Other parameters are those of `score_constant`.

    Parameters
    ----------
    rising, falling : bool
        Which of both may be fitted: the better one is, in all channels alike.

    Plain twin: ``naive.monotone_window``.
    """
    slices, (rows, columns) = len(sums), out.shape
    before = np.zeros((slices + 1, _STRIP))  # sums of deviations of all slices before one
    low, high = np.empty(_STRIP), np.empty(_STRIP)
    up, down = np.empty((slices, _STRIP)), np.empty((slices, _STRIP))
    risen, fallen = np.empty(_STRIP), np.empty(_STRIP)
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
            variance = scatter[y, left : left + n]
            line = out[y, left : left + n]
            for x in range(n):
                best = risen[x] if rising else 0.0
                best = max(best, fallen[x]) if falling else best
                within = variance[x] - best
                share = within / variance[x] if within > rounding * variance[x] else 0.0
                line[x] = share if variance[x] > 0.0 else np.nan
