"""Covariance of every window with a template: by FFT, and exactly where that is not enough."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .again import multiply_again
from .fourier import Correlator, error_bound, fitting_tiles, price
from .images import Image, unit_scale
from .moments import tile_moments
from .slices import Slices
from .sums import tolerance
from .threads import Tile, run, tiles


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
    nothing: float,
    n_threads: int,
) -> None:
    """Fill a score map from the products of every window with the pattern.

    Parameters
    ----------
    score : callable
        Turns the products of a tile into its scores, shape (rows, columns); NaN where
        there is no evidence.
    nothing : float
        What to write there.
    out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, filled
    """
    slices = Slices.whole(pattern.mask, len(pattern.planes))
    shape = product_tile(slices.shape, out.shape, 2)
    half = -(-shape[0] // 2)
    correlator = Correlator(pattern.planes, (half, shape[1]))
    accuracy = tolerance(out.dtype)

    def task(tile: Tile) -> None:
        products = _tile_products(image, pattern, slices, tile, correlator, accuracy)
        scores = score(products)
        out[tile.place] = np.where(np.isnan(scores), nothing, scores)

    run(task, tiles(out.shape, *shape), n_threads)


@lru_cache(maxsize=64)
def product_tile(
    template: tuple[int, int], windows: tuple[int, ...], halves: int
) -> tuple[int, int]:
    """Rows and columns of a tile, at most, whose rows are correlated in so many halves."""
    return min(
        (price(sides, np.float64) * numbers, tile)
        for tile, sides, numbers in fitting_tiles(template, windows, halves)
    )[1]


def _tile_products(
    image: Image,
    pattern: Pattern,
    slices: Slices,
    tile: Tile,
    correlator: Correlator,
    accuracy: float,
) -> TileProducts:
    d = slices.pixels
    moments = tile_moments(image, slices, tile, accuracy)
    means, squares, unit = moments.settle()
    width = tile.shape[1] + slices.shape[1] - 1
    patch = moments.patch[:, :, :width].astype(np.float64)
    totals = moments.totals[:, :, : tile.shape[1]].astype(np.float64)
    origin = np.rint(patch.mean(axis=(1, 2))) if image.exact else np.zeros(len(patch))
    patch -= origin[:, None, None]
    products = _correlate(correlator, patch, tile.shape)
    # No BLAS here: its threads, spinning, would take the cores from ours.
    error = error_bound(float((patch**2).sum()), float((pattern.planes**2).sum()))
    if image.exact and pattern.whole and error < 0.25:
        products = np.rint(products)
        error = 0.0
    # From here on about the window's centre: whole numbers, whatever the patch around it.
    for c, total in enumerate(pattern.sums):
        centres = np.floor(totals[c] / d + 0.5) if image.exact else totals[c] / d
        products -= total * (centres - origin[c])
        products -= total / d * (totals[c] - d * centres)
    products[squares == 0] = 0
    lost = error > accuracy * np.sqrt(squares * pattern.squares)
    lost = (lost | (unit != image.scale)) & (squares > 0)
    window_ys, window_xs = np.nonzero(lost)
    centred = pattern.planes - (pattern.sums / d)[:, None, None]
    raw = moments.raw
    if image.exact and window_ys.size:
        raw = raw.astype(np.int64)
    _, ys, xs, _ = slices.places
    multiply_again(raw, centred, ys, xs, window_ys, window_xs, unit, products)
    return TileProducts(means, squares, products, unit)


def _correlate(
    correlator: Correlator, patch: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Sum products over all channels, for the upper and the lower windows at once."""
    rows, columns = shape
    half = -(-rows // 2)
    height = patch.shape[1] - rows + 1
    products = np.zeros((2, half, columns))
    for c, plane in enumerate(patch):
        spectrum = correlator.transform(plane[: half + height - 1], 0.0, plane[half:])
        found = correlator.correlate(spectrum, c, (half, columns))
        products[0] += found.real
        products[1] += found.imag
    return products.reshape(-1, columns)[:rows]
