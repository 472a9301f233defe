"""A template as the measures take it: checked, and masked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from ..engine import unit_scale


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
    """

    planes: NDArray[Any]
    mask: NDArray[np.bool_]
    greys: NDArray[np.float64]
    base: int

    @classmethod
    def of(cls, template: ArrayLike, mask: ArrayLike | None) -> Template:
        """Check a template and its mask; alpha and mask both must let a pixel count.

        Raises
        ------
        TypeError, ValueError
            If it is no image, no pixel counts, or one that counts is not finite.
        """
        planes, counting = _checks.as_planes(template, "template")
        planes = planes.copy()  # what is done to the caller's array must not reach us
        shape = planes.shape[1:]
        given = _checks.as_mask(mask, "mask", shape)
        if counting is None:
            counting = np.ones(shape, np.bool_)
        if given is not None:
            counting = counting & given
        inside, base = _checks.as_floats(planes[:, counting])
        if inside.size == 0:
            raise ValueError(
                f"the mask of the template of shape {shape} is zero everywhere; some pixel must "
                "count"
            )
        bad = np.count_nonzero(~np.isfinite(inside))
        if bad:
            raise ValueError(
                f"the template of shape {shape} has {bad} NaN or infinite greys; mask them out"
            )
        greys = np.zeros(planes.shape)
        greys[:, counting] = inside
        for array in (planes, counting, greys):
            array.flags.writeable = False  # several measures may share them
        return cls(planes, counting, greys, base)

    @property
    def pixels(self) -> int:
        """Pixels of one channel that count."""
        return int(self.inside.shape[1])

    @cached_property
    def inside(self) -> NDArray[np.float64]:
        """Greys that count, shape (channels, pixels), less `base`."""
        return self.greys[:, self.mask]

    @cached_property
    def unit(self) -> float:
        """Power of two by which greys are multiplied so that no square overflows."""
        return unit_scale(float(abs(self.inside).max()))

    def check_contrast(self) -> None:
        """Refuse a template that is flat where it counts, with a ValueError."""
        if (self.inside.min(axis=1) == self.inside.max(axis=1)).all():
            raise ValueError(
                f"the template of shape {self.mask.shape} is flat: all {self.pixels} pixels that "
                "count are equal, which says nothing about where it is; it must have at least "
                "two grey levels"
            )
