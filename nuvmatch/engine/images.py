"""Bring an image of any type and layout to the few forms that the kernels take."""

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lattices import Lattice, find_lattice
from .surveys import (
    Ends,
    Seen,
    Survey,
    ends_within,
    good_extremes,
    range_step,
    usual_range,
    with_infinite,
)
from .threads import Tile, scratch

Form = type[np.uint8] | type[np.int32] | type[np.int64] | type[np.float64]

# Magnitudes up to which sums of whole numbers are exact in int64, and in float64.
EXACT_LIMIT = 2**60
EXACT_FLOAT_LIMIT = 2**53

_BITS_KEPT = 26  # of the largest grey of an image that is rounded
_FLOAT32_SCALE_LIMIT = 2.0**120

_EIGHT_BIT_RANGES = {"?": (0.0, 1.0), "B": (0.0, 255.0), "b": (-128.0, 127.0)}  # by type code


@dataclass(frozen=True, eq=False)
class Whole:
    """The image that parts are cropped from, and what is worked out once for all of them."""

    planes: NDArray[Any]
    bad: NDArray[np.bool_] | None

    survey: Survey | None = None  # given where these are a part of what does not fit in memory

    @cached_property
    def extremes(self) -> Ends:
        """Lowest and highest good grey; integers come as such."""
        if self.survey is not None:
            return self.survey.extremes
        return good_extremes(self.planes, self.bad) or (0, 0)

    @cached_property
    def lattice(self) -> Lattice | None:
        """Greys in steps of the lattice that floats may lie on."""
        if self.survey is None:
            return find_lattice(self.planes, self.bad, *self.extremes)
        spacing = self.survey.spacing
        steps = spacing and spacing.steps_of(self.planes, self.bad, spacing.no_greys())
        return None if spacing is None or steps is None else Lattice(steps, spacing)

    @cached_property
    def usual_range(self) -> Ends:
        """Lowest and highest good grey, outliers apart; integers come as such."""
        if self.survey is not None:
            return self.survey.usual_range
        step = range_step(self.planes.size)
        (greys,) = Seen.of(self.planes, self.bad, (0, 0), [step]).samples
        return usual_range(self.extremes, greys, step, partial(ends_within, self.planes, self.bad))


@dataclass(frozen=True)
class Image:
    """An image as ``Scorer.fill`` gets it: planes, and how patches are cut out of them.

    A measure of one's own needs `planes` and `bad` only; the rest is how the engine reads it.

    A *patch* is the pixels under one tile of windows, C-contiguous, of shape (channels,
    rows, columns). Its type, the image's `form`, is uint8 for 8-bit greys, int32 for
    whole numbers of moderate range (less `offset`), int64 for any others (less `offset`),
    and float64. In the first two forms window sums are exact; in the others greys are
    multiplied by `scale`, a power of two, before anything is squared.
    A float image may also be `rounded`: then its patches are int32, ``rint(grey * scale)``
    less a whole `middle`. And greys `in_steps` are whole numbers, of which `scale` make one
    grey level.
    """

    planes: NDArray[Any]  # (channels, height, width), any type, any strides
    form: Form
    grey_range: tuple[float, float]  # of the type for 8 bits, else of the good pixels
    whole: Whole  # what this is a part of, or itself
    offset: int = 0
    scale: float = 1.0
    bad: NDArray[np.bool_] | None = None  # (height, width): non-finite or masked out
    magnitude: int = 0  # of whole numbers in a patch, at most
    middle: int = 0  # of a rounded image: whole number taken from each pixel
    precise: "Image | None" = None  # of a rounded image: the image itself
    place: tuple[int, int] | None = (0, 0)  # of this part in the whole: row and column; None
    #                                         if its pixels are others, made of the whole's

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.planes.shape[1], self.planes.shape[2]

    @property
    def exact(self) -> bool:
        """Whether windows are summed without rounding."""
        return self.form in (np.uint8, np.int32) and self.precise is None

    @property
    def usual_range(self) -> tuple[float, float]:
        """Lowest and highest good grey of the whole image, outliers apart."""
        return self.whole.usual_range

    def crop(self, row: int, column: int, height: int, width: int) -> "Image":
        """Return a part of the image that is read just as the whole."""
        part = slice(row, row + height), slice(column, column + width)
        bad = None if self.bad is None else self.bad[part]
        place = None if self.place is None else (self.place[0] + row, self.place[1] + column)
        return replace(self, planes=self.planes[:, *part], bad=bad, place=place)

    def resampled(self, planes: NDArray[Any], bad: NDArray[np.bool_] | None = None) -> "Image":
        """Return pixels made of this image's, none beyond its range, that are read just as it."""
        planes = planes.view()
        planes.flags.writeable = False
        return replace(self, planes=planes, bad=bad, place=None)

    def around(self, windows: int, shape: tuple[int, int]) -> "Image":
        """Return this and what is around it, until it has so many windows, or is the whole."""
        if self.place is None:
            return self
        whole = replace(self, planes=self.whole.planes, bad=self.whole.bad, place=(0, 0))
        rect = ends_around((*self.place, *self.shape), whole.shape, windows, shape)
        return self if rect[2:] == self.shape else whole.crop(*rect)

    def beside_each_other(
        self, rows: NDArray[np.int64], cols: NDArray[np.int64], shape: tuple[int, int]
    ) -> tuple["Image", NDArray[np.int64], NDArray[np.int64]]:
        """Return an image that has some windows, and where they are in it: this one has all."""
        return self, rows, cols

    def in_steps(self, window_pixels: int, dtype: np.dtype[Any]) -> "Image":
        """Return an image of floats in steps of the lattice on which they lie, if they do.

        Sums over a window of so many pixels are exact then, but of greys less an offset and
        times a gain; scores may be of that type. Any other image comes as it is.
        """
        if self.form is not np.float64 or self.place is None:
            return self
        lattice = self.whole.lattice
        if lattice is None or not lattice.serves(dtype):
            return self
        form = _exact_form(lattice.steps.dtype, lattice.spacing.number, window_pixels)
        if form is None:
            return self
        (row, column), (height, width) = self.place, self.shape
        steps = lattice.steps[:, row : row + height, column : column + width]
        scale, magnitude = 1 / lattice.spacing.length, lattice.spacing.number
        return replace(self, planes=steps, form=form, scale=scale, magnitude=magnitude)

    def rounded(self, window_pixels: int) -> "Image":
        """Return an image of floats in whole numbers, if their sums are exact.

        They keep 26 bits of the largest grey. So many a float32 has in the upper part of
        its range; and as they depend on the largest grey alone, a part of an image is
        mostly rounded as the whole.
        """
        reach = max(-self.grey_range[0], self.grey_range[1])
        if self.form is not np.float64 or not 2.0**-900 < reach < 2.0**900:
            return self
        scale = math.ldexp(1.0, _BITS_KEPT - math.ceil(math.log2(reach)))
        low, high = (round(grey * scale) for grey in self.grey_range)
        middle = (low + high) // 2
        magnitude = high - middle
        if window_pixels * magnitude**2 > 2**62:
            return self
        return replace(
            self, form=np.int32, scale=scale, middle=middle, magnitude=magnitude, precise=self
        )

    def patch(self, tile: Tile, window: tuple[int, int], columns: int) -> NDArray[Any]:
        """Cut out the pixels under the tile's windows; bad ones come as 0.

        On the right it is filled up with zeros to so many columns of windows.
        """
        under = tile.under(window)
        pixels = self.planes[(slice(None), *under)]
        pixels = self.less_offset(pixels) if self.precise is None else self._round(pixels)
        shape = (len(pixels), pixels.shape[1], columns + window[1] - 1)
        patch = scratch.array(f"patch of {self.form.__name__}", shape, self.form)
        patch[:, :, : pixels.shape[2]] = pixels
        patch[:, :, pixels.shape[2] :] = 0
        if self.bad is not None:
            patch[:, :, : pixels.shape[2]][:, self.bad[under]] = 0
        return patch

    def _round(self, pixels: NDArray[Any]) -> NDArray[np.int32]:
        """Round pixels to whole numbers about the middle; what is bad has no meaning."""
        narrow = pixels.dtype.itemsize <= 4 and self.scale < _FLOAT32_SCALE_LIMIT
        scaled = scratch.array("scaled", pixels.shape, np.float32 if narrow else np.float64)
        whole = scratch.array("rounded", pixels.shape, np.int32)
        with np.errstate(all="ignore"):
            np.multiply(pixels, scaled.dtype.type(self.scale), out=scaled, casting="same_kind")
            np.rint(scaled, out=scaled)
            np.copyto(whole, scaled, casting="unsafe")
        whole -= self.middle
        return whole

    def less_offset(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """Subtract the offset without loss: what is left fits an int64."""
        if self.form not in (np.int32, np.int64):
            return pixels
        # Modular arithmetic, in which neither uint64 nor a wide range overflows.
        wide = pixels.astype(np.uint64 if pixels.dtype.kind == "u" else np.int64).view(np.uint64)
        return (wide - np.uint64(self.offset % 2**64)).view(np.int64)

    def plus_offset(self, pixels: NDArray[Any]) -> NDArray[np.float64]:
        """Add the offset again, before greys are rounded to floats: C-contiguous."""
        if pixels.dtype == np.float64:
            return np.ascontiguousarray(pixels)
        wide = pixels.astype(np.int64, order="C").view(np.uint64)
        greys = wide + np.uint64(self.offset % 2**64)
        return greys.view(np.uint64 if self.planes.dtype.kind == "u" else np.int64).astype(float)

    def bad_patch(
        self, tile: Tile, window: tuple[int, int], columns: int
    ) -> NDArray[np.uint8] | None:
        """Cut out where pixels are bad, shape (1, rows, columns); None if nowhere."""
        under = tile.under(window)
        if self.bad is None or not self.bad[under].any():
            return None
        bad = self.bad[under]
        patch = np.zeros((1, len(bad), columns + window[1] - 1), np.uint8)
        patch[0, :, : bad.shape[1]] = bad
        return patch


def ends_around(
    rect: tuple[int, int, int, int], limits: tuple[int, int], windows: int, shape: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Widen a part of an image until it has so many windows of a shape, or is the whole.

    Parts are row, column, height and width.
    """
    margin = 0
    while True:
        ends = [
            (max(first - margin, 0), min(first + size + margin, limit))
            for first, size, limit in zip(rect[:2], rect[2:], limits, strict=True)
        ]
        height, width = (stop - first for first, stop in ends)
        rows, columns = max(height - shape[0] + 1, 0), max(width - shape[1] + 1, 0)
        if rows * columns >= windows or (height, width) == limits:
            return ends[0][0], ends[1][0], height, width
        margin += max(shape)


def prepare(
    planes: NDArray[Any],
    image_mask: NDArray[np.bool_] | None,
    window_pixels: int,
    survey: Survey | None = None,
) -> Image:
    """Choose the narrowest form in which sums over a window are exact.

    Parameters
    ----------
    planes : ndarray of shape (channels, height, width)
        Greys of any boolean, integer or floating type.
    image_mask : ndarray of shape (height, width), or None
        False where a pixel must not be used.
    window_pixels : int
        How many pixels of one channel a window has, counted or not.
    survey : Survey, optional
        Of what the planes are a part of, to be read as that is. None: they are all.
    """
    planes = planes.view()
    planes.flags.writeable = False  # whatever a measure of one's own does
    bad = None if image_mask is None or image_mask.all() else ~image_mask
    eight_bits = _EIGHT_BIT_RANGES.get(planes.dtype.char)
    if _exact_form(planes.dtype, 255, window_pixels) is np.uint8 and eight_bits is not None:
        whole = Whole(planes, bad, survey)
        return Image(planes, np.uint8, eight_bits, whole, bad=bad, magnitude=255)
    whole = Whole(planes, bad, survey)
    finite = all(map(math.isfinite, whole.extremes)) if survey is None else survey.finite
    if not finite:
        bad, _ = with_infinite(planes, bad)
        whole = Whole(planes, bad, survey)
    low, high = whole.extremes
    grey_range = eight_bits or (float(low), float(high))
    scale = unit_scale(max(-grey_range[0], grey_range[1]))
    if planes.dtype.kind == "f":
        return Image(planes, np.float64, grey_range, whole, scale=scale, bad=bad)
    span = int(high) - int(low)
    if _exact_form(planes.dtype, span, window_pixels) is not None:
        return Image(planes, np.int32, grey_range, whole, offset=int(low), bad=bad, magnitude=span)
    middle = int(low) + (span + 1) // 2
    return Image(planes, np.int64, grey_range, whole, offset=middle, scale=2.0**-63, bad=bad)


def _exact_form(
    dtype: np.dtype[Any], span: int, window_pixels: int
) -> type[np.uint8] | type[np.int32] | None:
    """Choose the narrowest form in which whole numbers so far apart are summed exactly, if any."""
    if dtype in (np.bool_, np.uint8) and (window_pixels * 255) ** 2 < EXACT_FLOAT_LIMIT:
        return np.uint8
    squares_fit = window_pixels * span**2 < EXACT_LIMIT
    return np.int32 if squares_fit and window_pixels**2 * span < EXACT_FLOAT_LIMIT else None


def unit_scale(magnitude: float) -> float:
    """Return the power of two that brings numbers of at most that magnitude into [-1, 1]."""
    if magnitude == 0:
        return 1.0
    return math.ldexp(1.0, min(-math.frexp(magnitude)[1], 1021))
