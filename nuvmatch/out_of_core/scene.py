"""An image out of memory, and what parts of it must know of the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from .. import _checks
from ..engine import (
    Image,
    Seen,
    Survey,
    ends_within,
    find_spacing,
    range_step,
    sample_step,
    usual_range,
)
from ..matcher import Matcher
from .running import naming, run
from .sources import as_lazy


class Known(NamedTuple):
    """What a part must know of the whole."""

    survey: Survey
    least_opaque: float | None  # alpha from which on a pixel counts; None: there is no alpha

    def read(self, matcher: Matcher, pixels: NDArray[Any], mask: NDArray[Any] | None) -> Image:
        """Make a part ready for a matcher."""
        planes, *allowed = self.split(pixels, mask)
        return matcher._read(planes, *allowed, survey=self.survey)

    def split(
        self, pixels: NDArray[Any], mask: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
        """Return planes, and where mask and alpha allow a pixel."""
        planes, alpha = _checks.as_planes(pixels, "image")
        allowed = _checks.as_mask(mask, "image_mask", planes.shape[1:])
        opaque = None
        if alpha is not None and self.least_opaque is not None:
            opaque = alpha >= self.least_opaque
        return planes, allowed, opaque


class Scene:
    """An image out of memory.

    Parameters
    ----------
    image : dask array, zarr array, xarray DataArray, array_like, or path
    image_mask : the same, of shape (H, W), optional
    """

    def __init__(self, image: Any, image_mask: Any = None) -> None:
        self.pixels = as_lazy(image, "image")
        shape = self.pixels.shape
        channels = shape[2] if len(shape) == 3 else 1
        if len(shape) not in (2, 3) or not 1 <= channels <= 4 or 0 in shape:
            _checks.as_planes(np.broadcast_to(np.zeros((), self.pixels.dtype), shape), "image")
        self.mask: da.Array | None = None
        if image_mask is not None:
            self.mask = as_lazy(image_mask, "image_mask")
            if self.mask.shape == (*shape[:2], 1):
                self.mask = self.mask[..., 0]
            if self.mask.shape != shape[:2]:
                raise ValueError(
                    f"image_mask has shape {self.mask.shape}; it must be {shape[:2]}, as what it "
                    "masks"
                )
        if len(shape) == 3:
            self.pixels = self.pixels.rechunk({2: -1})
        self.shape = shape[0], shape[1]
        self.channels = {1: 1, 2: 1, 3: 3, 4: 3}[channels]
        self.has_alpha = channels in (2, 4)
        self._surveyed: dict[Any, tuple[Known, bool]] = {}

    def part(
        self, matcher: Matcher, region: Any, least: tuple[int, int]
    ) -> tuple[int, int, int, int]:
        """Return the part that is searched for a template, of a size at least."""
        template = matcher._template.greys[:, : least[0], : least[1]]
        stub = np.broadcast_to(np.zeros((), self.pixels.dtype), (self.channels, *self.shape))
        _checks.check_fit(stub, template)
        return (
            (0, 0, *self.shape) if region is None else _checks.as_region(region, self.shape, least)
        )

    def survey(self, matcher: Matcher) -> tuple[Known, bool]:
        """Learn what parts must know, reading it once if need be; and whether alpha masks any."""
        ranged = _bins_images(matcher.measure)
        kind, template = self.pixels.dtype, matcher._greys
        masks = template.high <= 1 and template.dtype != kind
        key = matcher._nodata, ranged, masks
        if key not in self._surveyed:
            self._surveyed[key] = self._survey(matcher._nodata, ranged, needed=ranged or masks)
        return self._surveyed[key]

    def _survey(self, nodata: tuple[float, ...], ranged: bool, needed: bool) -> tuple[Known, bool]:
        kind, size = self.pixels.dtype, self.channels * self.shape[0] * self.shape[1]
        least, transparent = self._least_opaque()
        ends: tuple[Any, Any] = (0, 1 if kind == np.bool_ else 255)
        if kind == np.int8:
            ends = (-128, 127)
        known = Known(Survey(ends, True, ends), least)
        if kind.itemsize == 1 and not needed:  # their range is that of their type
            return known, transparent
        floats = kind.kind == "f"
        steps = [range_step(size)] * ranged + [sample_step(size)] * floats
        seen: Seen = self._fold(partial(_see, known, nodata, steps), Seen.and_also)
        extremes = seen.ends or (0, 0)
        survey = Survey(extremes, seen.finite, extremes)
        known = known._replace(survey=survey)
        usual, spacing = extremes, None
        if ranged:
            usual = usual_range(
                extremes, seen.samples[0], steps[0],
                lambda limits: self._fold(partial(_see_within, known, nodata, limits), _widest),
            )  # fmt: skip
        if floats and seen.ends is not None:
            wide = seen.samples[-1].astype(np.float64)
            spacing = find_spacing(wide, np.dtype(kind.newbyteorder("=")), *extremes)
        if spacing is not None:
            greys = self._fold(partial(_see_greys, known, nodata, spacing), _same_greys)
            spacing = None if greys is None else spacing.checked(greys)
        return Known(Survey(extremes, seen.finite, usual, spacing), least), transparent

    def _least_opaque(self) -> tuple[float | None, bool]:
        """Return from which alpha on pixels count, and whether some do not."""
        if not self.has_alpha:
            return None, False
        known = Known(Survey((0, 1), True, (0, 1)), None)
        ends = self._fold(partial(_see_alpha, known), _widest)
        if not ends[1]:
            _checks.warn("the alpha channel of the image is 0 everywhere; it is taken for unused")
            return None, False
        least = _checks.least_opaque(ends[1])
        return least, bool(ends[0] < least)

    def _fold(self, look: Callable[..., Any], put_together: Callable[[Any, Any], Any]) -> Any:
        """Look at each chunk, and put together what is seen."""
        pixels = self.pixels
        parts = pixels.to_delayed()
        masks = None if self.mask is None else self.mask.rechunk(pixels.chunks[:2]).to_delayed()
        tops, lefts = (np.cumsum([0, *sizes]).tolist() for sizes in pixels.chunks[:2])
        one = delayed(_look, pure=False)
        answers, names = [], []
        for i, j in np.ndindex(*parts.shape[:2]):
            corner = tops[i], lefts[j]
            name = name_of_block(corner, (tops[i + 1], lefts[j + 1]))
            mask = None if masks is None else masks[i, j]
            part = parts[i, j] if parts.ndim == 2 else parts[i, j, 0]
            answers.append(one(look, part, mask, corner, name))
            names.append(name)
        return reduce(put_together, (answer for _, answer in run(answers, names)))


def name_of_block(corner: Sequence[int], stop: Sequence[int]) -> str:
    """Say which pixels a block has."""
    return f"the block of rows {corner[0]} to {stop[0]}, columns {corner[1]} to {stop[1]}"


def _bins_images(measure: Any) -> bool:
    """Whether a measure may ask for the range of the image: one of a user's own may."""
    parts = getattr(measure, "measures", None)
    if parts is not None:
        return any(map(_bins_images, parts))
    if hasattr(measure, "value_range"):
        return measure.value_range is None
    return not type(measure).__module__.startswith(f"{__package__.split('.')[0]}.")


def _look(look: Callable[..., Any], pixels: Any, mask: Any, corner: Any, name: str) -> Any:
    with naming(name):
        return look(pixels, mask, corner)


def _usable(
    known: Known, nodata: tuple[float, ...], pixels: Any, mask: Any
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return planes, and where a pixel must not be used."""
    planes, *allowed = known.split(pixels, mask)
    given = [one for one in (*allowed, _checks.where_data(planes, nodata)) if one is not None]
    good = np.logical_and.reduce(given) if given else None
    return planes, None if good is None or good.all() else ~good


def _see(known: Known, nodata: Any, steps: Any, pixels: Any, mask: Any, corner: Any) -> Seen:
    return Seen.of(*_usable(known, nodata, pixels, mask), corner, steps)


def _see_within(known: Known, nodata: Any, limits: Any, pixels: Any, mask: Any, _: Any) -> Any:
    return ends_within(*_usable(known, nodata, pixels, mask), limits)


def _see_greys(known: Known, nodata: Any, spacing: Any, pixels: Any, mask: Any, _: Any) -> Any:
    planes, bad = _usable(known, nodata, pixels, mask)
    greys = spacing.no_greys()
    finite = np.isfinite(planes).all(axis=0)
    bad = ~finite if bad is None else bad | ~finite
    return None if spacing.steps_of(planes, bad, greys) is None else greys


def _see_alpha(known: Known, pixels: Any, mask: Any, _: Any) -> Any:
    _, alpha = _checks.as_planes(pixels, "image")
    assert alpha is not None
    return alpha.min(), alpha.max()


def _widest(one: Any, other: Any) -> Any:
    both = [ends for ends in (one, other) if ends is not None]
    return (min(low for low, _ in both), max(high for _, high in both)) if both else None


def _same_greys(one: Any, other: Any) -> Any:
    """Put together greys of steps, if all of one step are one grey."""
    if one is None or other is None:
        return None
    unlike = (one != other) & ~np.isnan(one) & ~np.isnan(other)
    return None if unlike.any() else np.where(np.isnan(one), other, one)
