"""Bring an image of any type and layout to the few forms that the kernels take."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .threads import Tile

Form = type[np.uint8] | type[np.int32] | type[np.int64] | type[np.float64]

# Window sums are exact in int64 while (pixels of the window) * (range of greys)^2 stays
# below this; the shift to the window's mean needs the remaining bits.
EXACT_LIMIT = 2**60

_EIGHT_BITS = {"?": (0.0, 1.0), "B": (0.0, 255.0), "b": (-128.0, 127.0)}  # by type code


@dataclass(frozen=True)
class Image:
    """An image as the engine reads it: planes, and how patches are cut out of them.

    A *patch* is the pixels under one tile of windows, C-contiguous, of shape (channels,
    rows, columns). Its type, the image's `form`, is uint8 for 8-bit greys, int32 for
    whole numbers of moderate range (less `offset`), int64 for any others (less `offset`),
    and float64. In the first two forms window sums are exact; in the others greys are
    multiplied by `scale`, a power of two, before anything is squared.
    """

    planes: NDArray[Any]  # (channels, height, width), any type, any strides
    form: Form
    grey_range: tuple[float, float]  # of the type for 8 bits, else of the good pixels
    offset: int = 0
    scale: float = 1.0
    bad: NDArray[np.bool_] | None = None  # (height, width): non-finite or masked out

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.planes.shape[1], self.planes.shape[2]

    @property
    def exact(self) -> bool:
        """Whether windows are summed without rounding."""
        return self.form in (np.uint8, np.int32)

    def crop(self, row: int, column: int, height: int, width: int) -> "Image":
        """Return a part of the image that is read just as the whole."""
        part = slice(row, row + height), slice(column, column + width)
        bad = None if self.bad is None else self.bad[part]
        return replace(self, planes=self.planes[:, *part], bad=bad)

    def patch(self, tile: Tile, window: tuple[int, int]) -> NDArray[Any]:
        """Cut out the pixels under the tile's windows; bad ones come as 0."""
        patch = np.array(
            self.less_offset(self.planes[(slice(None), *_under(tile, window))]),
            dtype=self.form,
            order="C",
        )
        if self.bad is not None:
            patch[:, self.bad[_under(tile, window)]] = 0
        return patch

    def less_offset(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """Subtract the offset without loss: what is left fits an int64."""
        if self.form not in (np.int32, np.int64):
            return pixels
        # Modular arithmetic, in which neither uint64 nor a wide range overflows.
        wide = pixels.astype(np.uint64 if pixels.dtype.kind == "u" else np.int64).view(np.uint64)
        return (wide - np.uint64(self.offset % 2**64)).view(np.int64)

    def bad_patch(self, tile: Tile, window: tuple[int, int]) -> NDArray[np.uint8] | None:
        """Cut out where pixels are bad, shape (1, rows, columns); None if nowhere."""
        if self.bad is None:
            return None
        bad = self.bad[_under(tile, window)]
        return np.array(bad[None], dtype=np.uint8, order="C") if bad.any() else None


def _under(tile: Tile, window: tuple[int, int]) -> tuple[slice, slice]:
    return (
        slice(tile.top, tile.bottom + window[0] - 1),
        slice(tile.left, tile.right + window[1] - 1),
    )


def prepare(
    planes: NDArray[Any], image_mask: NDArray[np.bool_] | None, window_pixels: int
) -> Image:
    """Choose the narrowest form in which sums over a window are exact.

    Parameters
    ----------
    planes : ndarray of shape (channels, height, width)
        Greys of any boolean, integer or floating type.
    image_mask : ndarray of shape (height, width), or None
        False where a pixel must not be used.
    window_pixels : int
        How many pixels of one channel a window sums at most.
    """
    bad = None if image_mask is None or image_mask.all() else ~image_mask
    kind = planes.dtype.kind
    if kind == "f":
        finite = np.isfinite(planes).all(axis=0)
        if not finite.all():
            bad = ~finite if bad is None else bad | ~finite
    elif planes.dtype in (np.bool_, np.uint8) and window_pixels * 255 < 2**31:
        return Image(planes, np.uint8, _EIGHT_BITS[planes.dtype.char], bad=bad)
    low, high = _extremes(planes, bad)
    grey_range = _EIGHT_BITS.get(planes.dtype.char, (float(low), float(high)))
    scale = unit_scale(max(-grey_range[0], grey_range[1]))
    if kind == "f":
        return Image(planes, np.float64, grey_range, scale=scale, bad=bad)
    span = int(high) - int(low)
    if window_pixels * span**2 < EXACT_LIMIT:
        return Image(planes, np.int32, grey_range, offset=int(low), bad=bad)
    middle = int(low) + (span + 1) // 2
    return Image(planes, np.int64, grey_range, offset=middle, scale=2.0**-63, bad=bad)


def _extremes(planes: NDArray[Any], bad: NDArray[np.bool_] | None) -> tuple[Any, Any]:
    """Return the lowest and highest good grey; 0 and 0 where there is none."""
    if bad is None:
        return planes.min(), planes.max()
    good = planes[:, ~bad]
    return (good.min(), good.max()) if good.size else (0, 0)


def unit_scale(largest: float) -> float:
    """Return the power of two that brings magnitudes up to `largest` into [-1, 1]."""
    if largest == 0:
        return 1.0
    return math.ldexp(1.0, min(-math.frexp(largest)[1], 1021))
