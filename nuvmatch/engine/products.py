"""Covariance of every window with a template: by FFT, and exactly where that is not enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .additions import LANES
from .fourier import Correlator, error_bound
from .images import Image, unit_scale
from .moments import Moments, as_floats, tile_moments
from .plan import inside_way, product_tile
from .programs import Programs
from .slices import Slices
from .sums import empty_scores, tolerance
from .threads import Tile, run, scratch, tiles
from .two_pass import two_pass_products
from .window_sums import bad_counts

# What rounding alone can leave of the squares of a window whose greys are a straight line of
# the template's: where sums are exact, and for each pixel in two passes.
_ROUNDING, _ROUNDING_OF_PIXELS = 1e-14, 4e-28

# Share by which the slopes of such lines are off, at most.
_SLOPES = 1e-12

# Where sums are not exact, what is left of the squares is off by no more than so many times
# their accuracy: twice for the products, once for the squares.
_ERRORS = 4

# Windows that leave no more than that are done again one by one, unless that reads the pixels
# of the patch more often than this: of a ramp, all windows are straight lines.
_PATCHES_READ_AGAIN = 16

# Windows of a list are done together within blocks of so many rows and columns, so many at once.
_BLOCK, _AT_ONCE = 256, 4096


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
    def centred(self) -> NDArray[np.float64]:
        """What counts of each plane less its mean, shape (channels, pixels)."""
        inside = self.planes[:, self.mask]
        return np.ascontiguousarray(inside - (self.sums / inside.shape[1])[:, None])

    @cached_property
    def energy(self) -> float:
        """Sum of squares of all planes."""
        return float((self.planes**2).sum())

    @cached_property
    def squares(self) -> float:
        """Sum of squared deviations from the channels' means, in (grey * scale)^2."""
        sums = self.sums
        return self.energy - float((sums**2).sum()) / np.count_nonzero(self.mask)


@dataclass(frozen=True)
class TileProducts:
    """Moments of each window of a tile, over the pixels that count.

    Deviations of the window are times `unit`, those of the template as in the pattern.
    `squares` is 0 where a window is flat, NaN where it touches a bad pixel. `residuals` are
    what the straight line that is nearest, through greys of window and template, leaves of
    `squares`: exactly 0, where rounding alone does. The slope of such a line, covariance over
    squares of the pattern, is off by no more than the share `rounding`.

    Arrays may have more columns than the tile; the next tile overwrites them.
    """

    tile: Tile  # where scores go
    squares: NDArray[np.float64]  # (rows, columns): summed squared deviations
    covariances: NDArray[np.float64]  # (rows, columns): summed products of deviations
    residuals: NDArray[np.float64]  # (rows, columns)
    rounding: float
    levels: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]]  # means and unit

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Means in image greys, shape (channels, rows, columns)."""
        return self._means_and_unit[0]

    @cached_property
    def unit(self) -> NDArray[np.float64]:
        """By what greys of the window were multiplied, shape (rows, columns)."""
        return self._means_and_unit[1]

    @cached_property
    def _means_and_unit(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.levels()

    def empty_scores(self) -> NDArray[np.float64]:
        """Return room for the scores of the tile: (rows, columns), overwritten by the next."""
        return empty_scores(self.tile)

    def put(self, ys: NDArray[np.int64], xs: NDArray[np.int64], windows: "TileProducts") -> None:
        """Put windows, done in a row, in their places."""
        for name in ("means", "squares", "covariances", "residuals", "unit"):
            getattr(self, name)[..., ys, xs] = getattr(windows, name)[..., 0, :]


ProductScore = Callable[[TileProducts], NDArray[np.float64]]


class Wanted(NamedTuple):
    """A score map to be filled from the products of every window with a pattern."""

    pattern: Pattern
    score: ProductScore  # returns scores of a tile, (rows, columns); NaN is no evidence
    out: NDArray[Any]  # (H - h + 1, W - w + 1), float32 or float64


def for_each_product(image: Image, wanted: Sequence[Wanted], n_threads: int) -> None:
    """Fill score maps, all of one shape and type, from products with patterns of one mask."""
    programs, extent = wanted[0].pattern.programs, wanted[0].out.shape
    accuracy = tolerance(wanted[0].out.dtype)
    shape = product_tile(programs.slices.shape, (extent[0], extent[1]), 2)
    windows = -(-shape[0] // 2), shape[1]
    correlators = [one.pattern.correlator(windows) for one in wanted]
    todo = tiles((extent[0], extent[1]), *shape)
    inside = inside_way(image, programs, todo)

    def task(tile: Tile) -> None:
        for moments in tile_moments(image, programs, tile, accuracy, inside, lanes=1):
            spectra, energies = moments.spectra(correlators[0])
            for (pattern, score, out), correlator in zip(wanted, correlators, strict=True):
                products = _tile_products(
                    moments, pattern, correlator, spectra, sum(energies), accuracy
                )
                with moments.filling(out):
                    out[tile.place] = score(products)

    run(task, todo, n_threads)


def products_at(
    image: Image,
    pattern: Pattern,
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    n_threads: int,
) -> TileProducts:
    """Do some windows from their own pixels, in two passes: as a tile of one row.

    Parameters
    ----------
    rows, cols : ndarray of shape (n,)
        Where the windows begin, in any order.
    n_threads : int
        Most threads to use.
    """
    rows, cols = np.asarray(rows, np.int64), np.asarray(cols, np.int64)
    n = rows.size
    means = np.empty((len(pattern.planes), n))
    found = _in_a_row(means, *np.empty((4, n)))
    block = rows // _BLOCK * (image.shape[1] // _BLOCK + 1) + cols // _BLOCK
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=-1) | (np.arange(n) % _AT_ONCE == 0))
    ends = np.append(starts, n)[1:]

    def task(part: Tile) -> None:
        own = order[part.left : part.right]
        found.put(np.zeros_like(own), own, _near_each_other(image, pattern, rows[own], cols[own]))

    parts = [Tile(0, 1, int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    run(task, parts, n_threads)
    return found


def _near_each_other(
    image: Image, pattern: Pattern, rows: NDArray[np.int64], cols: NDArray[np.int64]
) -> TileProducts:
    """Do windows that one patch holds."""
    tile = Tile(int(rows.min()), int(rows.max()) + 1, int(cols.min()), int(cols.max()) + 1)
    ys, xs = rows - tile.top, cols - tile.left
    shape = pattern.programs.slices.shape
    raw = image.patch(tile, shape, tile.shape[1])
    found = _in_two_passes(raw, image, pattern, ys, xs)
    bad = image.bad_patch(tile, shape, -(-tile.shape[1] // LANES) * LANES)
    if bad is not None:
        touched = bad_counts(bad, pattern.programs, tile.shape[0])[ys, xs] > 0
        found.means[:, 0, touched] = found.squares[0, touched] = np.nan
        found.covariances[0, touched] = found.residuals[0, touched] = np.nan
    return found


def _in_two_passes(
    raw: NDArray[Any],
    image: Image,
    pattern: Pattern,
    ys: NDArray[np.int64],
    xs: NDArray[np.int64],
) -> TileProducts:
    """Do windows of a patch of an image as a tile of one row."""
    if raw.dtype != np.float64:
        raw = raw.astype(np.int64)
    means = np.empty((len(raw), ys.size))
    squares, products, residuals, unit = np.empty((4, ys.size))
    own_ys, own_xs = (np.ascontiguousarray(part, np.int64) for part in np.nonzero(pattern.mask))
    own, found = (pattern.centred, own_ys, own_xs), (means, squares, products, residuals, unit)
    firsts = image.plus_offset(raw[:, ys + own_ys[0], xs + own_xs[0]])
    two_pass_products(raw, firsts, *own, ys, xs, *found)
    residuals[residuals <= _ROUNDING_OF_PIXELS * pattern.centred.size * squares] = 0
    return _in_a_row(means, squares, products, residuals, unit)


def _in_a_row(
    means: NDArray[np.float64],
    squares: NDArray[np.float64],
    covariances: NDArray[np.float64],
    residuals: NDArray[np.float64],
    unit: NDArray[np.float64],
) -> TileProducts:
    """Take windows as a tile of one row."""
    tile = Tile(0, 1, 0, squares.size)
    each = squares[None], covariances[None], residuals[None]
    return TileProducts(tile, *each, _SLOPES, lambda: (means[:, None], unit[None]))


def _tile_products(
    moments: Moments,
    pattern: Pattern,
    correlator: Correlator,
    spectra: Sequence[NDArray[np.complex128]],
    energy: float,
    accuracy: float,
) -> TileProducts:
    image, slices = moments.image, moments.slices
    rows, columns = moments.tile.shape
    width, half = columns + slices.shape[1] - 1, -(-rows // 2)
    origin = moments.centres()
    # Of several channels in an array that has columns to spare, as one channel's: compiled once.
    found = scratch.array("found", (half, columns + 1), np.complex128)[:, :columns]
    found[:] = 0
    for c, spectrum in enumerate(spectra):
        of_channel = correlator.correlate(spectrum, c, (half, columns))
        if len(spectra) > 1:
            found += of_channel
        else:
            found = of_channel
    error = error_bound(energy, pattern.energy)
    whole = image.exact and pattern.integral and error < 0.25
    # What lost digits may be off by more than the accuracy.
    least = 0.0 if whole else (error / accuracy) ** 2 / (pattern.squares or 1.0)
    straight = _ROUNDING if whole else _ERRORS * accuracy
    shape = moments.scatter.shape
    products = scratch.array("products", shape, np.float64)
    residuals = scratch.array("residuals", shape, np.float64)
    doubtful = take_products(
        found, as_floats(moments.totals), moments.scatter, origin, pattern.sums, slices.pixels,
        pattern.squares, image.exact, whole, straight, least, products, residuals,
    )  # fmt: skip
    each = moments.scatter, products, residuals
    if whole or (not doubtful and moments.inexact is None):
        return TileProducts(moments.tile, *each, _SLOPES, moments.levels)
    squares, residuals = (part[:, :columns] for part in (moments.scatter, residuals))
    lost, flat, line = squares < least, squares == 0, residuals == 0
    if moments.inexact is not None:
        lost |= moments.inexact
        flat &= ~moments.inexact  # it may be rounding that leaves nothing, or the mask
    again, line = lost & ~flat, line & ~flat
    pixels = moments.patch[0, :, :width].size
    if np.count_nonzero(line) <= _PATCHES_READ_AGAIN * pixels / slices.pixels:
        again, straight = again | line, _SLOPES
    ys, xs = map(np.ascontiguousarray, np.nonzero(moments.own(again)))
    done = TileProducts(moments.tile, *each, straight, moments.levels)
    if ys.size:
        done = replace(done, squares=moments.scatter.copy())  # other patterns ask for them, too
        done.put(ys, xs, _in_two_passes(moments.raw, image, pattern, ys, xs))
    return done


@jit
def take_products(
    found: NDArray[np.complex128],
    totals: NDArray[np.float64],
    squares: NDArray[np.float64],
    origin: NDArray[np.float64],
    sums: NDArray[np.float64],
    pixels: float,
    energy: float,
    exact: bool,
    whole: bool,
    rounding: float,
    least: float,
    products: NDArray[np.float64],
    residuals: NDArray[np.float64],
) -> int:
    """Make products of deviations from means out of correlations of greys with a pattern.

    About the window's centre: whole numbers, whatever the patch around it. And tell what the
    nearest straight line leaves of the squares of each window: what is no more than a share
    `rounding` is 0, and products with what is flat are. Returns of how many windows, flat
    ones apart, nothing is left, or squares are below `least`: 0 if `whole`.

    Parameters
    ----------
    found : ndarray of shape (half of the rows, columns)
        Products of the upper windows, and of the lower ones, with the pattern, greys being
        less the origin of their channel; if `whole`, but for rounding, whole numbers.
    totals : ndarray of shape (channels, rows, >= columns)
        Sums of the windows' greys over so many pixels.
    squares : ndarray of shape (rows, >= columns)
    origin, sums : ndarray of shape (channels,)
        Sums of the pattern's planes.
    energy : float
        Squares of the pattern.
    exact : bool
        Whether greys are whole numbers.
    products, residuals : ndarray of shape (rows, >= columns), filled

    Plain twin: ``naive.covariance``, ``naive.residual``.
    """
    half, columns = found.shape
    inverse = 1.0 / pixels
    share = 1.0 / energy if energy > 0 else 0.0
    doubtful = 0
    for y in range(products.shape[0]):
        line, of_line, left = products[y], squares[y], residuals[y]
        both = found[y % half]
        if y < half:
            for x in range(columns):
                line[x] = both[x].real
        else:
            for x in range(columns):
                line[x] = both[x].imag
        if whole:
            for x in range(columns):
                line[x] = np.rint(line[x])
        for c in range(origin.size):
            of_channel, total, middle = totals[c, y], sums[c], origin[c]
            part = total / pixels
            for x in range(columns):
                centre = of_channel[x] * inverse
                if exact:
                    centre = np.floor(centre + 0.5)
                line[x] -= total * (centre - middle)
                line[x] -= part * (of_channel[x] - pixels * centre)
        for x in range(columns):
            product, square = line[x], of_line[x]
            product = 0.0 if square == 0 else product
            rest = square - product * share * product
            left[x] = 0.0 if rest <= rounding * square else rest
            line[x] = product
        if not whole:
            for x in range(columns):
                doubtful += of_line[x] > 0 and (left[x] == 0 or of_line[x] < least)
    return doubtful
