"""Resolutions: a template made small, and a scene made small and turned upright."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .._checks import as_floats, silence
from ..binning import Binning
from ..engine import Image, prepare, unit_scale
from ..measures import NUV, Measure
from ..measures.base import Scorer
from ..measures.precise import Precise
from ..measures.template import Template
from .poses import Values, turns

# Pixels a side of the coarsest template: as few as still tell poses apart, by trial
# (benchmarks.poses).
_COARSE, _LEAST_SIDE = 12, 6
_WORTHWHILE = 1.25  # a level is no less coarser than the next
_UNSHRUNK = 1.3  # pixels a step: no more are skipped without averaging them
_PER_OCTAVE = 4  # sizes of the scene that are made
TURNED_SIDE = 2**15 - 2  # pixels that OpenCV turns

# Types that OpenCV resamples itself; what others have is taken as float64, and rounded.
_NATIVE = (np.uint8, np.uint16, np.int16, np.float32, np.float64)


class Level:
    """A template at one resolution, made ready.

    Attributes
    ----------
    shape : (int, int)
        Height and width here.
    pitch : ndarray of shape (2,)
        Pixels of the full template for one here, down and across.
    scorer : Scorer
    """

    def __init__(self, template: Template, full: tuple[int, ...], scorer: Scorer) -> None:
        self._template = template
        height, width = template.mask.shape
        self.shape = height, width
        self.pitch = np.array(full) / np.array(self.shape)
        self.scorer = scorer

    @property
    def radius(self) -> float:
        """Pixels from the center to a corner."""
        return math.hypot(*self.shape) / 2

    def placer(self) -> Precise | None:
        """Return what places windows to a fraction of a pixel, if there are bins to do it by."""
        try:
            bins: tuple[Binning, ...] = getattr(self.scorer, "bins", ())
            return Precise(bins or NUV().prepare(self._template).bins)
        except ValueError:
            return None


class Pyramid:
    """A template at several resolutions, made ready as they are asked for.

    Parameters
    ----------
    template : Template
    measure : Measure
    scorer : Scorer
        What the measure has made of the full template.
    """

    def __init__(self, template: Template, measure: Measure, scorer: Scorer) -> None:
        self._template = template
        self._measure = measure
        self.full = Level(template, template.mask.shape, scorer)
        self._made: dict[tuple[int, int], Level | None] = {}

    def factors(self) -> list[float]:
        """Return by how much it may be made smaller, from nothing on, half an octave apart."""
        height, width = self.full.shape
        most = min(math.sqrt(height * width) / _COARSE, min(height, width) / _LEAST_SIDE)
        steps = range(max(math.floor(2 * math.log2(max(most, 1))), 0) + 1)
        return [2 ** (step / 2) for step in steps if 2 ** (step / 2) <= most] or [1.0]

    def levels(self, factor: float) -> list[Level]:
        """Return levels, the coarsest so much smaller, if it can be, and the full one last."""
        coarse = self._level(factor)
        while coarse is None:
            factor /= math.sqrt(2)
            coarse = self._level(factor)
        middle = self._level(factor / 2) if factor / 2 > _WORTHWHILE else None
        levels = [coarse, middle, self.full]
        return [level for i, level in enumerate(levels) if level and level not in levels[:i]]

    def _level(self, factor: float) -> Level | None:
        """Make it smaller: None where the measure can do nothing with it."""
        if factor <= _WORTHWHILE:
            return self.full
        full = self.full.shape
        shape = round(full[0] / factor), round(full[1] / factor)
        if shape not in self._made:
            level = None
            with silence(), suppress(ValueError):
                small = shrink_template(self._template, shape)
                level = Level(small, full, self._measure.prepare(small))
            self._made[shape] = level  # at once, for whoever searches in another thread
        return self._made[shape]


def _float_below(number: int) -> float:
    """Return the highest float that is no higher than a whole number: 2^64 - 1 has no own."""
    found = float(number)
    return found if int(found) <= number else math.nextafter(found, 0)


def shrink_template(template: Template, shape: tuple[int, int]) -> Template:
    """Average a template's pixels that count; those of the small one count that half of do."""
    planes = template.greys if template.base else template.planes  # floats hold all of these
    weights = None if template.mask.all() else template.mask.astype(np.float64)
    small, share = _shrink(np.moveaxis(planes, 0, 2), weights, shape)
    shrunk = Template.of(small, None if share is None else share >= 0.5)
    return replace(shrunk, base=template.base)


class Scene:
    """An image, smaller the coarser it is looked at, and turned upright for poses of a template.

    Parameters
    ----------
    image : Image
    """

    def __init__(self, image: Image) -> None:
        planes, bad = image.planes, image.bad
        if planes.dtype == np.bool_:  # averages of which would all be True
            image = prepare(planes.astype(np.float32), None if bad is None else ~bad, 1)
            planes = image.planes
        self.image = image
        self.shape = image.shape
        self._native = planes.dtype in _NATIVE
        pixels = np.moveaxis(planes, 0, 2)
        if bad is not None:
            pixels = np.where(bad[..., None], planes.dtype.type(0), pixels)
        self._base, self._highest = 0, math.inf
        if not self._native:
            if pixels.dtype.kind in "iu" and pixels.size:
                self._highest = _float_below(int(pixels.max()) - min(int(pixels.min()), 0))
            pixels, self._base = as_floats(pixels)
        self._pixels = np.ascontiguousarray(pixels)
        self._good: Values | None = None if bad is None else np.where(bad, 0.0, 1.0)
        self._sizes: dict[int, Sized] = {}

    def sizes(self, pitch: Values, logs: Values) -> NDArray[np.int64]:
        """Tell in which size to look at it where so many pixels, scaled, are one of a template."""
        octaves = np.log2(pitch).mean() + logs / math.log(2)
        small = octaves > math.log2(_UNSHRUNK)
        return np.where(small, np.rint(_PER_OCTAVE * octaves), 0).astype(np.int64)

    def at(self, size: int) -> Sized:
        """Return it in a size; 0 is its own."""
        if size not in self._sizes:
            factor = 2 ** (size / _PER_OCTAVE)
            shape = [max(round(side / factor), 1) for side in self.shape]
            pixels, share = self._pixels, self._good
            if size:
                pixels, share = _shrink(pixels, share, shape)
            if max(pixels.shape[:2]) > TURNED_SIDE:
                raise ValueError(
                    f"the image of shape {self.shape} is larger than {TURNED_SIDE} pixels a side, "
                    "and cannot be turned or resized: search it region by region"
                )
            bad = None if share is None else np.where(share < 0.5, 255, 0).astype(np.uint8)
            self._sizes[size] = Sized(pixels, bad, np.array(self.shape) / pixels.shape[:2])
        return self._sizes[size]

    def image_of(self, pixels: NDArray[Any], bad: NDArray[np.uint8] | None) -> Image:
        """Take resampled pixels (rows, columns, channels) for an image of the scene's greys."""
        planes = np.moveaxis(pixels, 2, 0)
        kind = self.image.planes.dtype
        if not self._native:
            if kind.kind != "f":
                planes = np.minimum(np.rint(planes), self._highest)
            if self._base:  # of 64 bits: in modular arithmetic, in which no sum overflows
                planes = (planes.astype(np.uint64) + np.uint64(self._base % 2**64)).view(kind)
            else:
                planes = planes.astype(kind)
        return self.image.resampled(planes, None if bad is None else bad.astype(np.bool_))


class Sized:
    """A scene of one size.

    Parameters
    ----------
    pixels : ndarray of shape (rows, columns, channels)
    bad : ndarray of uint8 of shape (rows, columns), or None
        255 where a pixel must not be used.
    step : ndarray of shape (2,)
        Pixels of the full scene for one here, down and across.
    """

    def __init__(self, pixels: NDArray[Any], bad: NDArray[np.uint8] | None, step: Values) -> None:
        self.pixels = pixels
        self._bad = bad
        self._step = step

    def upright(
        self, poses: Values, pitch: Values, shape: tuple[int, int]
    ) -> tuple[NDArray[Any], NDArray[np.uint8] | None]:
        """Turn windows about poses upright, side by side.

        Parameters
        ----------
        poses : ndarray of shape (n, 4)
        pitch : ndarray of shape (2,)
            Pixels of the full template for one of the windows, down and across.
        shape : (int, int)
            Height and width of each.

        Returns
        -------
        pixels : ndarray of shape (height, n * width, channels)
        bad : ndarray of uint8 of shape (height, n * width), or None
        """
        height, width = shape
        maps = self._maps(poses, pitch, shape)
        channels = self.pixels.shape[2]
        pixels = np.empty((height, len(poses) * width, channels), self.pixels.dtype)
        bad = None if self._bad is None else np.empty(pixels.shape[:2], np.uint8)
        for i, one in enumerate(maps):
            part = np.s_[:, i * width : (i + 1) * width]
            _warp(self.pixels, one, pixels[part], cv2.INTER_LINEAR)
            if bad is not None and self._bad is not None:
                _warp(self._bad, one, bad[part], cv2.INTER_LINEAR)
        return pixels, bad

    def smooth(self, pose: Values, pitch: Values, shape: tuple[int, int]) -> Values:
        """Return one window turned upright by cubic interpolation: (channels, rows, columns).

        Less some grey, and in some unit.
        """
        (one,) = self._maps(pose[None], pitch, shape)
        ends = one @ np.array([[0, 0, shape[1], shape[1]], [0, shape[0], 0, shape[0]], [1] * 4])
        limits = np.array(self.pixels.shape[1::-1])
        first = np.clip(np.floor(ends.min(axis=1)).astype(int) - 3, 0, limits - 1)
        stop = np.clip(np.ceil(ends.max(axis=1)).astype(int) + 4, first + 1, limits)
        under = self.pixels[first[1] : stop[1], first[0] : stop[0]]
        if under.dtype.kind == "f":  # OpenCV interpolates in single precision
            under = under * unit_scale(float(abs(under).max()))  # or a sum might overflow
            under = under - under.mean(dtype=np.float64)
            under *= unit_scale(float(abs(under).max()))
        one[:, 2] -= first
        window = np.empty((*shape, under.shape[2]), np.float32)
        _warp(under.astype(np.float32), one, window, cv2.INTER_CUBIC)
        return np.moveaxis(window, 2, 0).astype(np.float64)

    def _maps(self, poses: Values, pitch: Values, shape: tuple[int, int]) -> Values:
        """Return what takes (x, y, 1) of windows to (x, y) here: (n, 2, 3)."""
        linear = turns(poses[:, 2], poses[:, 3]) * pitch / self._step[:, None]
        middle = (np.array(shape) - 1) / 2
        shift = (poses[:, :2] + 0.5) / self._step - 0.5 - linear @ middle
        by_rows = np.concatenate([linear[:, :, ::-1], shift[:, :, None]], axis=2)
        return np.ascontiguousarray(by_rows[:, ::-1])


def _warp(source: NDArray[Any], one: Values, out: NDArray[Any], how: int) -> None:
    size = out.shape[1], out.shape[0]
    found = cv2.warpAffine(
        source, one, size, dst=out, flags=how | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REFLECT,
    )  # fmt: skip
    if found is not out and not np.shares_memory(found, out):
        out[...] = found.reshape(out.shape)


def _shrink(
    pixels: NDArray[Any], weights: Values | None, shape: Sequence[int]
) -> tuple[NDArray[Any], Values | None]:
    """Average the pixels that count under each of a smaller image; return also their share."""
    height, width = shape
    kind = pixels.dtype
    channels = pixels.shape[2]

    def small(array: NDArray[Any]) -> NDArray[Any]:
        return cv2.resize(array, (width, height), interpolation=cv2.INTER_AREA)

    if weights is None and kind in _NATIVE:
        return small(np.ascontiguousarray(pixels)).reshape(height, width, channels), None
    wide = pixels.astype(np.float64)
    share = None
    if weights is not None:
        share = small(weights)
        wide = np.where(weights[..., None] > 0, wide, 0.0) * weights[..., None]
    found = small(np.ascontiguousarray(wide)).reshape(height, width, channels)
    if share is not None:
        found /= np.maximum(share, 1e-9)[..., None]
    if kind.kind in "iu":
        return np.rint(found).astype(kind), share
    return found.astype(np.float32 if kind == np.bool_ else kind), share
