"""Images of pairs: where they count, and how their tones are changed there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from ..engine import unit_scale
from ..tones.families import Family, draw_curves
from ..tones.ranges import scale_levels, sensor_range

NoData = float | Sequence[float] | None


@dataclass(frozen=True, eq=False)
class Picture:
    """An image, and where it counts: what does not is never changed, nor is alpha.

    Attributes
    ----------
    pixels : ndarray
        As `nuvmatch.locate` takes it.
    counts : ndarray of bool, of shape (H, W)
        Where it is opaque, finite, and none of `nodata`.
    nodata : tuple of float
    """

    pixels: NDArray[Any]
    counts: NDArray[np.bool_]
    nodata: tuple[float, ...]

    @classmethod
    def of(cls, pixels: NDArray[Any], name: str, nodata: tuple[float, ...]) -> Picture:
        """Find out where an image counts, as a matcher does."""
        planes, alpha = _checks.as_planes(pixels, name)
        counts = np.isfinite(planes).all(axis=0)
        for allowed in _checks.as_opaque(alpha, "image"), _checks.where_data(planes, nodata):
            if allowed is not None:
                counts &= allowed
        return cls(pixels, counts, nodata)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.counts.shape[0], self.counts.shape[1]

    @property
    def colours(self) -> NDArray[Any]:
        """Greys or colours without alpha: a view."""
        return _colours(self.pixels)

    @cached_property
    def contrast(self) -> float:
        """Standard deviation of what counts."""
        return spread(self.colours[self.counts])

    @cached_property
    def levels(self) -> int:
        """How many greys count."""
        return int(np.unique(self.colours[self.counts]).size)

    def retoned(self, family: Family, rng: np.random.Generator) -> Picture:
        """Change the greys by a curve of a family."""
        inside, _ = _checks.as_floats(self.colours[self.counts])
        greys, index = np.unique(inside, return_inverse=True)
        ends = sensor_range(greys, self.pixels.dtype, None)
        (curve,) = draw_curves(family, scale_levels(greys, ends), 1, rng)
        return self._with(curve[index].reshape(inside.shape))

    def with_noise(self, noise: float, rng: np.random.Generator) -> Picture:
        """Add noise, as a share of the contrast."""
        if noise == 0:
            return self
        added = noise * self.contrast * rng.standard_normal(self.colours.shape)
        return self._with(_checks.as_floats(self.colours[self.counts])[0] + added[self.counts])

    def _with(self, values: NDArray[np.float64]) -> Picture:
        """Put values where it counts: none becomes nodata by it."""
        kind = self.pixels.dtype
        if kind.kind == "f":
            limits = np.finfo(kind)
            greys = values.clip(limits.min, limits.max).astype(kind)
            data = _checks.where_data(greys.reshape(len(greys), -1).T, self.nodata)
            if data is not None:  # what is clipped may well be the 0 that stands for none
                greys[~data] += np.spacing(np.maximum(abs(greys[~data]), 1))
        else:
            greys = _as_whole(values, kind, self.nodata)
            keeps = self.colours.size < self.pixels.size or not self.counts.all()
            kind = np.promote_types(kind, greys.dtype) if keeps else greys.dtype
        pixels = self.pixels.astype(kind)
        _colours(pixels)[self.counts] = greys
        return replace(self, pixels=pixels)


def spread(greys: NDArray[Any]) -> float:
    """Return the standard deviation of greys of any type: no square overflows."""
    values, _ = _checks.as_floats(greys)
    unit = unit_scale(float(abs(values).max()))
    return float((values * unit).std() / unit)


def is_grey(pixels: NDArray[Any]) -> bool:
    """Whether there is one channel beside alpha."""
    return pixels.ndim == 2 or pixels.shape[2] < 3


def _colours(pixels: NDArray[Any]) -> NDArray[Any]:
    return pixels if pixels.ndim == 2 else pixels[..., : 1 if is_grey(pixels) else 3]


def _as_whole(
    values: NDArray[np.float64], kind: np.dtype[Any], nodata: tuple[float, ...]
) -> NDArray[Any]:
    """Spread values over whole numbers of 8 or 16 bits, of which none is nodata."""
    white, unsigned = (255, np.uint8) if kind.itemsize == 1 else (65535, np.uint16)
    greys = np.arange(white + 1).astype(unsigned)
    data = _checks.where_data(greys[np.newaxis], nodata)
    if data is not None:
        greys = greys[data]
    low, high = values.min(), values.max()
    shares = (values - low) / ((high - low) or 1.0)
    return np.asarray(greys[np.rint((greys.size - 1) * shares).astype(np.int64)])
