"""A free grey for each slice: the paper's measure, and what all tone models share.

A tone model says which greys the slices of a template may have in a window. It scores the
slice sums of a tile of windows, and fits the mean greys of the slices of one window.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._jit import jit
from ...engine import TileSums

# What rounding alone can leave of a window's squares, at all and for each pixel: that is a
# perfect match.
_ROUNDING, _ROUNDING_PER_PIXEL = 1e-14, 2e-17


@dataclass(frozen=True, eq=False)
class PiecewiseConstant:
    """A free grey for each slice.

    Attributes
    ----------
    counts, channel_of_slice : ndarray of int, of shape (slices,)
        Pixels of each slice, and the channel it is of, ascending.
    """

    counts: NDArray[np.int64]
    channel_of_slice: NDArray[np.int64]

    def score(self, tile: TileSums) -> NDArray[np.float64]:
        """Score a tile; the next one overwrites the scores."""
        scores = tile.empty_scores()
        score_constant(*self.arguments(tile, scores))
        return scores

    def arguments(self, tile: TileSums, scores: NDArray[np.float64]) -> Any:
        """Return what all kernels take, as `score_constant` has it."""
        model = self.counts, self.channel_of_slice, self.pixels, self.rounding
        return tile.sums, tile.totals_as_floats(), tile.scatter, *model, scores

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
    def degrees_of_freedom(self) -> float:
        """Variance that the model explains of noise on average, in that of one pixel."""
        return float(self.counts.size - 1 - self.channel_of_slice[-1])

    @cached_property
    def pixels(self) -> float:
        """Pixels of one channel."""
        return float(self.counts[self.channel_of_slice == 0].sum())

    @cached_property
    def rounding(self) -> float:
        """Share of a window's scatter that rounding alone can leave unexplained."""
        return float(
            _ROUNDING + _ROUNDING_PER_PIXEL * self.pixels * (self.channel_of_slice[-1] + 1)
        )

    @cached_property
    def own(self) -> list[NDArray[np.bool_]]:
        """Slices of each channel."""
        return [self.channel_of_slice == c for c in range(int(self.channel_of_slice[-1]) + 1)]

    def deviations(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of the slices about the mean of their channel."""
        sums = self.counts * means
        shares = np.bincount(self.channel_of_slice, sums) / np.bincount(
            self.channel_of_slice, self.counts
        )
        return np.asarray(sums - self.counts * shares[self.channel_of_slice])


@jit
def score_constant(
    sums: NDArray[Any],
    totals: NDArray[np.float64],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    pixels: float,
    rounding: float,
    out: NDArray[np.float64],
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
    pixels : float
        d.
    rounding : float
        Share of the scatter that rounding alone can leave.
    out : ndarray of shape (rows, columns), filled
        Scores; NaN is no evidence.

    Plain twin: ``naive.nuv_window``.
    """
    slices, (rows, columns) = len(sums), out.shape
    explained = np.empty(columns)
    total = np.empty(columns)
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
        line, variance = out[y], scatter[y]
        for x in range(columns):
            within = variance[x] - explained[x]
            share = within / variance[x]
            share = share if within > rounding * variance[x] else 0.0
            line[x] = share if variance[x] > 0.0 else np.nan
