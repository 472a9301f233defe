"""Covariance of every window with a template: by FFT, and exactly where that is not enough."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fourier import Correlator, error_bound
from .images import Image, unit_scale
from .moments import Moments, tile_moments
from .plan import inside_way, product_tile
from .programs import Programs
from .slices import Slices
from .sums import tolerance
from .threads import Tile, run, tiles
from .two_pass import two_pass_products


@dataclass(frozen=True, eq=False)
class Pattern:
    """A template as numbers to multiply with: ``(grey - origin) * scale``, 0 outside the mask.

    Where these are whole numbers, `integral`, products are exact: the scale is 1.
    """

    planes: NDArray[np.float64]  # (channels, height, width)
    origin: NDArray[np.float64]  # (channels,), close to the mean
    scale: float
    integral: bool
    mask: NDArray[np.bool_]

    @classmethod
    def from_greys(cls, greys: NDArray[np.float64], mask: NDArray[np.bool_]) -> "Pattern":
        """Centre the greys (channels, height, width) under the mask."""
        inside = greys[:, mask]
        integral = bool((inside == np.rint(inside)).all() and (abs(inside) < 2**31).all())
        scale = 1.0 if integral else unit_scale(float(abs(inside).max()))
        # Of a flat channel exactly its grey, so that nothing but zeros is left.
        flat = inside.min(axis=1) == inside.max(axis=1)
        origin = np.where(flat, inside[:, 0] * scale, (inside * scale).mean(axis=1))
        if integral:
            origin = np.floor(origin + 0.5)
        planes = np.where(mask, np.where(mask, greys, 0) * scale - origin[:, None, None], 0)
        return cls(planes, origin, scale, integral, mask)

    @cached_property
    def programs(self) -> Programs:
        """What sums all pixels under the mask."""
        return Programs(Slices.of_mask(self.mask, len(self.planes)))

    def correlator(self, windows: tuple[int, int], *, counts: bool = False) -> Correlator:
        """Return what correlates patches of so many windows with the planes.

        With `counts` the mask is one plane more, the last.
        """

        def make() -> Correlator:
            mask = self.mask[None].astype(np.float64)
            planes = np.concatenate([self.planes, mask]) if counts else self.planes
            return Correlator(planes, windows)

        return self.programs.keep_correlator(("pattern", windows, counts), make)

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """Sum of each channel's plane."""
        return np.asarray(self.planes.sum(axis=(1, 2)))

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean of each channel, in greys * scale."""
        return self.origin + self.sums / np.count_nonzero(self.mask)

    @cached_property
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
        Turns the products of a tile into its scores, shape (rows, columns); NaN where
        there is no evidence.
    out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, filled
    """
    programs, accuracy = pattern.programs, tolerance(out.dtype)
    shape = product_tile(programs.slices.shape, out.shape, 2)
    correlator = pattern.correlator((-(-shape[0] // 2), shape[1]))
    todo = tiles(out.shape, *shape)
    inside = inside_way(image, programs, todo)

    def task(tile: Tile) -> None:
        moments = tile_moments(image, programs, tile, accuracy, inside)
        out[tile.place] = score(_tile_products(moments, pattern, correlator, accuracy))

    run(task, todo, n_threads)


def _tile_products(
    moments: Moments, pattern: Pattern, correlator: Correlator, accuracy: float
) -> TileProducts:
    image, slices, tile = moments.image, moments.slices, moments.tile
    d = slices.pixels
    means, squares, unit = moments.exact()
    width = tile.shape[1] + slices.shape[1] - 1
    patch = moments.patch[:, :, :width].astype(np.float64)
    totals = moments.totals[:, :, : tile.shape[1]].astype(np.float64)
    origin = np.rint(patch.mean(axis=(1, 2))) if image.exact else np.zeros(len(patch))
    patch -= origin[:, None, None]
    products = np.zeros(tile.shape)
    for c, plane in enumerate(patch):
        products += correlator.sums(plane, c, tile.shape)
    # No BLAS here: its threads, spinning, would take the cores from ours.
    error = error_bound(float((patch**2).sum()), float((pattern.planes**2).sum()))
    if image.exact and pattern.integral and error < 0.25:
        products = np.rint(products)
        error = 0.0
    # From here on about the window's centre: whole numbers, whatever the patch around it.
    for c, total in enumerate(pattern.sums):
        centres = np.floor(totals[c] / d + 0.5) if image.exact else totals[c] / d
        products -= total * (centres - origin[c])
        products -= total / d * (totals[c] - d * centres)
    products[squares == 0] = 0
    inexact = error > accuracy * np.sqrt(squares * pattern.squares)
    inexact = (inexact | (unit != image.scale)) & (squares > 0)
    window_ys, window_xs = map(np.ascontiguousarray, np.nonzero(inexact))
    centred = pattern.planes - (pattern.sums / d)[:, None, None]
    raw = moments.raw
    if image.exact and window_ys.size:
        raw = raw.astype(np.int64)
    _, ys, xs, _ = slices.places
    two_pass_products(raw, centred, ys, xs, window_ys, window_xs, unit, products)
    return TileProducts(means, squares, products, unit)
