"""Limits of the gain: the slope of the straight line through greys of window and template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._jit import jit
from ...engine import TileSums
from .constant import PiecewiseConstant

# Shares of themselves by which gains may be rounded: at all, and of floats in float32 maps. There
# the engine may have rounded these to whole numbers, as far as a score is exact to 2e-6.
_ROUNDING, _ROUNDING_OF_FLOATS = 5e-10, 2e-6


@dataclass(frozen=True, eq=False)
class Gain:
    """The gain of windows over a template whose slices have these mean greys.

    Attributes
    ----------
    model : PiecewiseConstant
        Of the slices.
    slopes : ndarray of shape (slices,)
        Weights of the slice sums: they add up to the gain.
    slopes_of_channels : ndarray of shape (slices,)
        Those of each channel add up to the gain of that channel.
    asked : ndarray of bool, of shape (channels,)
        Whether the template's channel is not flat, so that it has a gain.
    """

    model: PiecewiseConstant
    slopes: NDArray[np.float64]
    slopes_of_channels: NDArray[np.float64]
    asked: NDArray[np.bool_]

    @classmethod
    def of(cls, model: PiecewiseConstant, levels: NDArray[np.float64], unit: float) -> Gain:
        """Take the mean greys times a unit, with which no square leaves the range of floats."""
        weights, channel = model.deviations(levels), model.channel_of_slice
        asked = np.array([np.ptp(levels[own]) > 0 for own in model.own])
        with np.errstate(all="ignore"):  # what leaves the range of floats is told by `usable`
            squares = np.bincount(channel, weights**2 / model.counts)
            slopes = weights / model.counts / squares.sum() * unit
            of_channels = weights / model.counts / squares[channel] * unit
        return cls(model, slopes, np.where(asked[channel], of_channels, 0), asked)

    @property
    def usable(self) -> bool:
        """Whether the template has enough contrast for gains to be floats."""
        return bool(np.isfinite(self.slopes).all() and np.isfinite(self.slopes_of_channels).all())

    def of_window(self, means: NDArray[np.float64]) -> float:
        """Return the gain of a window whose slices have these mean greys."""
        with np.errstate(invalid="ignore"):  # where slopes are not usable
            return float((self.slopes * self.model.deviations(means)).sum())

    def refuse(
        self,
        tile: TileSums,
        scores: NDArray[np.float64],
        limits: tuple[float, float],
        unit: float,
        dtype: np.dtype[Any],
    ) -> None:
        """Write NaN for the windows of a tile with a channel whose gain is beyond the limits.

        Greys of the image come times a unit, for a map of that type. A gain at a limit is not
        beyond it.
        """
        units = np.array(np.broadcast_to(tile.unit, scores.shape)) / unit
        rounded = dtype == np.float32 and np.ndim(tile.unit) == 0 and tile.unit != 1
        rounding = _ROUNDING_OF_FLOATS if rounded else _ROUNDING
        low, high = limits
        low, high = low - rounding * abs(low), high + rounding * abs(high)
        own = self.slopes_of_channels, self.asked, units, low, high
        refuse_gains(*own, *self.model.arguments(tile, scores))


@jit
def refuse_gains(
    slopes: NDArray[np.float64],
    asked: NDArray[np.bool_],
    units: NDArray[np.float64],
    low: float,
    high: float,
    sums: NDArray[Any],
    totals: NDArray[np.float64],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    pixels: float,
    rounding: float,
    out: NDArray[np.float64],
) -> None:
    """Write NaN where the gain of a channel is not between two limits.

    The gain is the slope of the straight line through the greys of window and template,
    slice by slice. Other parameters are those of `score_constant`.

    Parameters
    ----------
    slopes : ndarray of shape (slices,)
        Weights of the slice sums: those of each channel add up to its gain.
    asked : ndarray of shape (channels,)
        Which channels are limited.
    units : ndarray of shape (rows, columns)
        By what the greys of each window were multiplied.

    Plain twin: ``naive.gains``.
    """
    slices, (rows, columns) = len(sums), out.shape
    for y in range(rows):
        for x in range(columns):
            gain = 0.0
            for k in range(slices):
                deviation = pixels * sums[k, y, x] - float(counts[k]) * totals[channel[k], y, x]
                gain += slopes[k] * (deviation / pixels)
                if k + 1 == slices or channel[k + 1] != channel[k]:
                    gain /= units[y, x]
                    if asked[channel[k]] and not (low <= gain and gain <= high):
                        out[y, x] = np.nan
                    gain = 0.0
