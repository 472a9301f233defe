"""Covariance of every window with a template: by FFT, and exactly where that is not enough."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .again import multiply_again
from .images import Image, unit_scale
from .slices import Slices
from .sums import tile_sums, tolerance
from .threads import Tile, run, tiles

# |error of a correlation by FFT| <= this * |patch| * |template| (Euclidean norms). The
# largest seen over sizes, noise, steps and constants is a twentieth of it.
_FFT_ERROR = 2.0**-50
_LEAST_SIDE = 256


@dataclass(frozen=True)
class Pattern:
    """A template as numbers to multiply with: ``(grey - origin) * scale``, 0 outside the mask.

    Of `whole` numbers the scale is 1 and the origin whole too, so that products are exact.
    """

    planes: NDArray[np.float64]  # (channels, height, width)
    origin: NDArray[np.float64]  # (channels,), close to the mean
    scale: float
    whole: bool
    mask: NDArray[np.bool_]

    @classmethod
    def from_greys(cls, greys: NDArray[np.float64], mask: NDArray[np.bool_]) -> "Pattern":
        """Centre the greys (channels, height, width) under the mask."""
        inside = greys[:, mask]
        whole = bool((inside == np.rint(inside)).all() and (abs(inside) < 2**31).all())
        scale = 1.0 if whole else unit_scale(float(abs(inside).max()))
        # Of a flat channel exactly its grey, so that nothing but zeros is left.
        flat = inside.min(axis=1) == inside.max(axis=1)
        origin = np.where(flat, inside[:, 0] * scale, (inside * scale).mean(axis=1))
        if whole:
            origin = np.floor(origin + 0.5)
        planes = np.where(mask, np.where(mask, greys, 0) * scale - origin[:, None, None], 0)
        return cls(planes, origin, scale, whole, mask)

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of each channel's plane."""
        return np.asarray(self.planes.sum(axis=(1, 2)))

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of each channel, in greys * scale."""
        return self.origin + self.sums / np.count_nonzero(self.mask)

    @property
    def squares(self) -> float:
        """Sum of squared deviations from the channels' means, in (grey * scale)^2."""
        sums = self.sums
        return float((self.planes**2).sum() - (sums**2).sum() / np.count_nonzero(self.mask))


@dataclass(frozen=True)
class TileProducts:
    """Moments of each window of a tile, over the pixels that count.

    Deviations of the window are times `unit`, those of the template as in the pattern.
    `squares` is 0 where a window is flat, NaN where it touches a bad pixel.
    """

    means: NDArray[np.float64]  # (channels, rows, columns), in image greys
    squares: NDArray[np.float64]  # (rows, columns): summed squared deviations
    covariances: NDArray[np.float64]  # (rows, columns): summed products of deviations
    unit: NDArray[np.float64]  # (rows, columns)


def for_each_product(
    image: Image,
    pattern: Pattern,
    score: Callable[[TileProducts], NDArray[np.float64]],
    out: NDArray[Any],
    n_threads: int,
) -> None:
    """Fill a score map from the products of every window with the pattern.

    Parameters
    ----------
    score : callable
        Turns the products of a tile into its scores, shape (rows, columns).
    out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, filled
    """
    from scipy import fft  # a third of a second that only these measures need

    slices = Slices.whole(pattern.mask, len(pattern.planes))
    height, width = slices.shape
    sides = [
        fft.next_fast_len(min(max(_LEAST_SIDE, 6 * side), extent + side - 1), real=True)
        for side, extent in zip(slices.shape, out.shape, strict=True)
    ]
    spectrum = np.conj(fft.rfft2(pattern.planes, sides))
    accuracy = tolerance(out.dtype)

    def correlate(patch: NDArray[np.float64]) -> NDArray[np.float64]:
        product = (fft.rfft2(patch, sides) * spectrum).sum(axis=0)
        whole = fft.irfft2(product, sides, overwrite_x=True)
        rows, columns = patch.shape[1] - height + 1, patch.shape[2] - width + 1
        return np.asarray(whole[:rows, :columns])

    def task(tile: Tile) -> None:
        out[tile.place] = score(_tile_products(image, pattern, slices, tile, correlate, accuracy))

    todo = tiles(out.shape, sides[0] - height + 1, sides[1] - width + 1)
    run(task, todo, n_threads)


def _tile_products(
    image: Image,
    pattern: Pattern,
    slices: Slices,
    tile: Tile,
    correlate: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    accuracy: float,
) -> TileProducts:
    d = slices.pixels
    moments = tile_sums(image, slices, tile, accuracy)
    squares = moments.squares - (moments.sums**2).sum(axis=0) / d
    patch = moments.patch.astype(np.float64, copy=False)
    origin = np.rint(patch.mean(axis=(1, 2))) if image.exact else np.zeros(len(patch))
    patch = patch - origin[:, None, None]
    products = correlate(patch)
    # No BLAS here: its threads, spinning, would take the cores from ours.
    error = _FFT_ERROR * math.sqrt((patch**2).sum() * (pattern.planes**2).sum())
    if image.exact and pattern.whole and error < 0.25:
        products = np.rint(products)
        error = 0.0
    # From here on about the window's centre: whole numbers, whatever the patch around it.
    for c, total in enumerate(pattern.sums):
        products -= total * (moments.centres[c] - origin[c])
        products -= total / d * moments.sums[c]
    products[squares == 0] = 0
    lost = error > accuracy * np.sqrt(squares * pattern.squares)
    lost = (lost | (moments.unit != image.scale)) & (squares > 0)
    window_ys, window_xs = np.nonzero(lost)
    centred = pattern.planes - (pattern.sums / d)[:, None, None]
    raw = moments.raw
    if image.exact and window_ys.size:
        raw = raw.astype(np.int64)
    multiply_again(raw, centred, slices.ys, slices.xs, window_ys, window_xs, moments.unit, products)
    return TileProducts(moments.means, squares, products, moments.unit)
