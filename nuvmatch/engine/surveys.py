"""What is known of a whole image, and found out part by part where it is too large to hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .lattices import Spacing

# Outliers are at most one pixel in so many, and no more than there are along a side: what is
# sought in an image has more pixels, and its greys must be told apart.
_PIXELS_FOR_AN_OUTLIER = 100
_SAMPLE = 2**18  # pixels that show what range most of them have

_PIXELS_AT_ONCE = 2**20

Ends = tuple[Any, Any]  # lowest and highest grey, Python's int or float


@dataclass(frozen=True)
class Survey:
    """What parts of an image must know of the whole to be read as it is.

    Attributes
    ----------
    extremes : (float, float)
        Lowest and highest good grey; integers come as such.
    finite : bool
        Whether all that is not masked out is finite.
    usual_range : (float, float)
        The same, outliers apart.
    spacing : Spacing or None
        Of the lattice on which the good greys lie.
    """

    extremes: Ends
    finite: bool
    usual_range: Ends
    spacing: Spacing | None = None


class Seen(NamedTuple):
    """What a part of an image shows."""

    ends: Ends | None  # None: no pixel is good
    finite: bool
    samples: tuple[NDArray[Any], ...]  # good pixels, one of so many rows and columns of the whole

    @classmethod
    def of(
        cls,
        planes: NDArray[Any],
        bad: NDArray[np.bool_] | None,
        corner: tuple[int, int],
        steps: Iterable[int],
    ) -> Seen:
        """Look at planes (channels, height, width) that begin at a corner of the whole."""
        bad, finite = with_infinite(planes, bad)
        samples = []
        for step in steps:
            rows, columns = (slice(-first % step, None, step) for first in corner)
            greys = planes[:, rows, columns]
            samples.append(greys.ravel() if bad is None else greys[:, ~bad[rows, columns]].ravel())
        return cls(good_extremes(planes, bad), finite, tuple(samples))

    def and_also(self, other: Seen) -> Seen:
        """Put together what two parts show."""
        both = [ends for ends in (self.ends, other.ends) if ends is not None]
        ends = (min(low for low, _ in both), max(high for _, high in both)) if both else None
        samples = zip(self.samples, other.samples, strict=True)
        return Seen(ends, self.finite and other.finite, tuple(map(np.concatenate, samples)))


def good_extremes(planes: NDArray[Any], bad: NDArray[np.bool_] | None) -> Ends | None:
    """Return the lowest and highest good grey; None where there is none."""
    if bad is None:
        return _as_number(planes.min()), _as_number(planes.max())
    ends = []
    for rows in _blocks(planes):
        good = planes[:, rows][:, ~bad[rows]]
        if good.size:
            ends += [good.min(), good.max()]
    # Not Python's own min and max, which miss a NaN that is not the first.
    return (_as_number(np.min(ends)), _as_number(np.max(ends))) if ends else None


def with_infinite(
    planes: NDArray[Any], bad: NDArray[np.bool_] | None
) -> tuple[NDArray[np.bool_] | None, bool]:
    """Add what is not finite to bad pixels; tell whether there is nothing to add."""
    if planes.dtype.kind != "f":
        return bad, True
    ends = good_extremes(planes, bad)
    if ends is None or all(map(math.isfinite, ends)):
        return bad, True
    infinite = np.empty(planes.shape[1:], np.bool_)
    for rows in _blocks(planes):
        np.logical_not(np.isfinite(planes[:, rows]).all(axis=0), out=infinite[rows])
    return (infinite if bad is None else bad | infinite), False


def range_step(pixels: int) -> int:
    """Return of how many rows, and columns, one is enough to show the usual range."""
    side = math.sqrt(pixels / _SAMPLE)
    return max(1, 2 * math.ceil((side - 1) / 2) + 1)  # odd: no mosaic's colour is left out


def usual_range(
    extremes: Ends, sample: NDArray[Any], step: int, within: Callable[[Ends], Ends | None]
) -> Ends:
    """Return the lowest and highest good grey, outliers apart; integers come as such.

    Outliers are few, and farther from all others than half the range of these, which a sample
    shows in large images.

    Parameters
    ----------
    extremes : (float, float)
    sample : ndarray
        Good pixels, one of so many rows and columns.
    step : int
        How many.
    within : callable
        Returns what `ends_within` does, of the whole image.
    """
    low, high = extremes
    inner_low, inner_high = _inner_range(sample, step)
    whole = isinstance(low, int)
    reach = (inner_high - inner_low) // 2 if whole else inner_high / 2 - inner_low / 2
    # No farther than the image's own: what a type cannot hold some versions of NumPy compare badly.
    limits = max(inner_low - reach, low), min(inner_high + reach, high)
    if inner_low == inner_high or limits == extremes:
        return extremes
    return within(limits) or extremes


def ends_within(planes: NDArray[Any], bad: NDArray[np.bool_] | None, limits: Ends) -> Ends | None:
    """Return the lowest and the highest good grey between two; None where there is none."""
    ends = []
    for rows in _blocks(planes):
        part = planes[:, rows]
        inside = (part >= limits[0]) & (part <= limits[1])
        if bad is not None:
            inside &= ~bad[rows]
        good = part[inside]
        if good.size:
            ends += [good.min(), good.max()]
    return (_as_number(min(ends)), _as_number(max(ends))) if ends else None


def _inner_range(greys: NDArray[Any], step: int) -> Ends:
    """Range of a sample of good pixels, less as many at either end as may be outliers.

    The grey in the middle is never left out, and does not count: it may be a background,
    beside which the rest of the image is few pixels.
    """
    if greys.size == 0:
        return 0, 0
    ordered = np.sort(greys, axis=None)
    middle = ordered[ordered.size // 2]
    below = int(np.searchsorted(ordered, middle, side="left"))
    above = ordered.size - int(np.searchsorted(ordered, middle, side="right"))
    others = below + above
    few = int(min(others / _PIXELS_FOR_AN_OUTLIER, math.sqrt(others) / step))
    low, high = ordered[min(few, below)], ordered[-1 - min(few, above)]
    return _as_number(low), _as_number(high)


def _blocks(planes: NDArray[Any]) -> list[slice]:
    """Cut an image into rows that are looked at at a time: a copy of all would not be small."""
    step = max(1, _PIXELS_AT_ONCE // max(planes[:, 0].size, 1))
    return [slice(top, top + step) for top in range(0, planes.shape[1], step)]


def _as_number(grey: Any) -> Any:
    """Return a grey as Python's float, or int, which no distance overflows."""
    return float(grey) if isinstance(grey, np.floating) else int(grey)
