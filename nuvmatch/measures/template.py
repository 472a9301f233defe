"""A template as the measures take it: checked, and masked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from ..engine import Lattice, find_lattice, unit_scale
from ..tones.ranges import full_scale, sensor_range


class FlatTemplateError(ValueError):
    """A template is flat where it counts: that says nothing about where it is."""


def under(mask: NDArray[np.bool_], planes: NDArray[Any]) -> NDArray[Any]:
    """Return what is under a mask, (channels, pixels): a view, if that is all."""
    return planes.reshape(len(planes), -1) if mask.all() else planes[:, mask]


@dataclass(frozen=True, eq=False)
class Template:
    """A template as ``Measure.prepare`` gets it: finite where it counts.

    Attributes
    ----------
    planes : ndarray of shape (channels, h, w)
        Greys of the type that was given; one channel, or three.
    mask : ndarray of bool, of shape (h, w)
        Whether a pixel counts.
    greys : ndarray of float64, of shape (channels, h, w)
        The same less `base`; 0 where a pixel does not count.
    base : int
        0, but for whole numbers too large for floats to tell apart.
    by_alpha : Template or None
        Its alpha as a template of its own, where the greys are flat and that is not: an icon
        of one colour has all its shape there.
    """

    planes: NDArray[Any]
    mask: NDArray[np.bool_]
    greys: NDArray[np.float64]
    base: int
    by_alpha: Template | None = None

    @classmethod
    def of(
        cls, template: ArrayLike, mask: ArrayLike | None, nodata: tuple[float, ...] = ()
    ) -> Template:
        """Check a template; a pixel counts that its mask and alpha allow, no NaN nor nodata.

        Raises
        ------
        TypeError, ValueError
            If it is no image, no pixel counts, or one that counts is infinite.
        """
        planes, alpha = _checks.as_planes(template, "template")
        planes = planes.copy()  # what is done to the caller's array must not reach us
        masked = _checks.as_mask(mask, "mask", planes.shape[1:])
        if masked is None:
            masked = np.ones(planes.shape[1:], np.bool_)
        counting = masked.copy()
        for allowed in (_checks.as_opaque(alpha, "template"), _checks.where_data(planes, nodata)):
            if allowed is not None:
                counting &= allowed
        if planes.dtype.kind == "f":
            counting &= ~np.isnan(planes).any(axis=0)
        if not masked.any():
            raise ValueError(
                f"the mask of the template of shape {masked.shape} is zero everywhere; some "
                "pixel must count"
            )
        found = cls._where(counting, planes)
        if alpha is None or not found.flat:
            return found
        by_alpha = cls._where(masked, np.repeat(alpha[None], len(planes), axis=0))
        return found if by_alpha.flat else replace(found, by_alpha=by_alpha)

    @classmethod
    def _where(cls, counting: NDArray[np.bool_], planes: NDArray[Any]) -> Template:
        shape = counting.shape
        inside, base = _checks.as_floats(under(counting, planes))
        if inside.size == 0:
            bad = 0 if planes.dtype.kind != "f" else np.count_nonzero(~np.isfinite(planes))
            raise ValueError(
                f"no pixel of the template of shape {shape} counts, with {bad} NaN or infinite: "
                "each is that, masked out, transparent, or nodata"
            )
        bad = np.count_nonzero(np.isinf(inside))
        if bad:
            raise ValueError(
                f"the template of shape {shape} has {bad} infinite greys; mask them out"
            )
        if counting.all():
            greys = inside.reshape(planes.shape)
        else:
            greys = np.zeros(planes.shape)
            greys[:, counting] = inside
        for array in (planes, counting, greys):
            array.flags.writeable = False  # several measures may share them
        return cls(planes, counting, greys, base)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.planes.shape[1], self.planes.shape[2]

    @property
    def pixels(self) -> int:
        """Pixels of one channel that count."""
        return int(self.inside.shape[1])

    @cached_property
    def inside(self) -> NDArray[np.float64]:
        """Greys that count, shape (channels, pixels), less `base`."""
        return under(self.mask, self.greys)

    @cached_property
    def lattice(self) -> Lattice | None:
        """Greys in steps of the lattice on which floats may lie."""
        if self.planes.dtype.kind != "f":
            return None
        ends = float(self.inside.min()), float(self.inside.max())
        return find_lattice(self.planes, ~self.mask, *ends)

    @cached_property
    def unit(self) -> float:
        """Power of two by which greys are multiplied so that no square overflows."""
        return unit_scale(float(abs(self.inside).max()))

    @cached_property
    def digest(self) -> str:
        """What tells it from other templates, and from the same greys between other ends."""
        kind, low, high = self.planes.dtype, float(self.inside.min()), float(self.inside.max())
        told = self.base, sensor_range(self.inside, kind, None), full_scale(kind, low, high)
        parts = (self.greys.tobytes(), self.mask.tobytes(), str(told).encode())
        return hashlib.blake2b(b"".join(parts), digest_size=8).hexdigest()

    @property
    def flat(self) -> bool:
        """Whether all pixels of a channel that count are equal, in each channel."""
        return bool((self.inside.min(axis=1) == self.inside.max(axis=1)).all())

    def mirror_images(self) -> Iterator[Template]:
        """Yield it mirrored left-right, up-down, and both."""
        yield self._changed(lambda part: part[..., ::-1])
        yield self._changed(lambda part: part[..., ::-1, :])
        yield self._changed(lambda part: part[..., ::-1, ::-1])

    def shifted_images(self) -> Iterator[Template]:
        """Yield it with what leaves it on one side come in on the other, by halves and quarters."""
        height, width = self.mask.shape
        half, quarter = (height // 2, width // 2), (height // 4, width // 4)
        for by in (half[0], quarter[1]), (quarter[0], half[1]), (-quarter[0], half[1]):
            yield self._changed(partial(np.roll, shift=by, axis=(-2, -1)))

    def _changed(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Template:
        """Return it with its pixels elsewhere."""
        planes, mask, greys = (
            np.ascontiguousarray(change(part)) for part in (self.planes, self.mask, self.greys)
        )
        for array in (planes, mask, greys):
            array.flags.writeable = False
        return Template(planes, mask, greys, self.base)

    def check_contrast(self) -> None:
        """Refuse a template that is flat where it counts, with a FlatTemplateError."""
        if self.flat:
            raise FlatTemplateError(
                f"the template of shape {self.mask.shape} is flat: all {self.pixels} pixels that "
                "count are equal, which says nothing about where it is; it must have at least "
                "two grey levels"
            )
