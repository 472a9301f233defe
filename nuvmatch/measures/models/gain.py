"""Limits of the gain: the slope of the straight line through greys of window and template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._jit import jit
from ...engine import TileSums
from .constant import PiecewiseConstant


@dataclass(frozen=True, eq=False)
class Gain:
    """The gain of windows over a template whose slices have these mean greys.

    Attributes
    ----------
    model : PiecewiseConstant
        Of the slices.
    slopes : ndarray of shape (slices,)
        Weights of the slice sums: they add up to the gain.
    """

    model: PiecewiseConstant
    slopes: NDArray[np.float64]

    @classmethod
    def of(cls, model: PiecewiseConstant, levels: NDArray[np.float64], unit: float) -> Gain:
        """Take the mean greys times a unit, with which no square leaves the range of floats."""
        weights = model.deviations(levels)
        with np.errstate(all="ignore"):  # what leaves the range of floats is told by `usable`
            slopes = weights / model.counts / (weights**2 / model.counts).sum() * unit
        return cls(model, slopes)

    @property
    def usable(self) -> bool:
        """Whether the template has enough contrast for gains to be floats."""
        return bool(np.isfinite(self.slopes).all())

    def of_window(self, means: NDArray[np.float64]) -> float:
        """Return the gain of a window whose slices have these mean greys."""
        with np.errstate(invalid="ignore"):  # where slopes are not usable
            return float((self.slopes * self.model.deviations(means)).sum())

    def refuse(self, tile: TileSums, out: NDArray[Any], limits: tuple[float, float]) -> None:
        """Write NaN for the windows of a tile whose gain is beyond the limits."""
        units = np.array(np.broadcast_to(tile.unit, tile.tile.shape))
        refuse_gains(self.slopes, units, *limits, *self.model.arguments(tile, out))


@jit
def refuse_gains(
    slopes: NDArray[np.float64],
    units: NDArray[np.float64],
    low: float,
    high: float,
    sums: NDArray[Any],
    totals: NDArray[Any],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    pixels: float,
    rounding: float,
    out: NDArray[Any],
    first: int,
    columns: int,
) -> None:
    """Write NaN where the gain is not between two limits.

    The gain is the slope of the straight line through the greys of window and template,
    slice by slice. Other parameters are those of `score_constant`.

    Parameters
    ----------
    slopes : ndarray of shape (slices,)
        Weights of the slice sums: they add up to the gain.
    units : ndarray of shape (rows, columns)
        By what the greys of each window were multiplied.

    Plain twin: ``naive.gain``.
    """
    slices, rows, _ = sums.shape
    for y in range(rows):
        for x in range(columns):
            gain = 0.0
            for k in range(slices):
                deviation = pixels * sums[k, y, x] - float(counts[k]) * totals[channel[k], y, x]
                gain += slopes[k] * (deviation / pixels)
            gain /= units[y, x]
            if not (low <= gain and gain <= high):
                out[y, first + x] = np.nan
