"""Sum and scatter of every window of a tile, over the pixels that count."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .additions import LANES, sum_slices
from .again import sum_again
from .boxes import box_sums, power_sums
from .covers import ADDERS
from .fourier import CERTAIN, error_bound, transform_cost
from .images import EXACT_LIMIT, Image
from .slices import Program, Slices
from .threads import Tile, run, scratch, tiles

# The relative error of a float sum, for each of the terms that are added in turn.
_ROUNDING = 2e-16

# Squares below this have lost digits to the end of the float range.
_LEAST_SQUARES = 1e-290

# Numbers rounded to whole ones are off by one half at most. Where all that are alike are
# rounded alike, that changes a share of the scatter by one half of the standard deviation's
# inverse. Ten times the accuracy asked for is what a float32 map may be wrong.
_ROUNDED = 0.05

# Summing windows again, one by one, is worth while for this share of them.
_FEW = 1 / 64

# The part of a score map for which sums over all pixels are got ready at once.
TILE_ROWS, TILE_COLUMNS = 96, 1024


@dataclass(frozen=True)
class Moments:
    """What is known of each window of a tile before its slices are summed.

    Arrays may be wider than the tile, for the sake of `LANES`; what is beyond it has no
    meaning. Sums are of the numbers in `patch`: ``grey * scale - origin``.
    """

    image: Image
    slices: Slices
    tile: Tile
    raw: NDArray[Any]  # (channels, rows + h - 1, columns + w - 1): greys less the offset
    patch: NDArray[Any]  # likewise: the numbers that are summed
    origin: NDArray[np.float64]  # (channels,)
    whole: NDArray[Any]  # (channels, rows, columns): sums over all pixels of a window
    totals: NDArray[Any]  # likewise, over those that count
    scatter: NDArray[np.float64]  # (rows, columns): summed squared deviations from the mean;
    #                               exactly 0 if flat, NaN if the window has a bad pixel
    lost: NDArray[np.bool_] | None  # (rows, columns of the tile): whose scatter is not exact

    def settle(self) -> "Settled":
        """Bring what is not exact in order."""
        rows, columns = self.tile.shape
        image, totals = self.image, self.totals[:, :, :columns]
        scatter, d = self.scatter[:, :columns], self.slices.pixels
        if image.exact and d * abs(image.offset) < EXACT_LIMIT:
            # Of whole numbers the same in any surrounding.
            means = (totals + float(d * image.offset)) / d
        else:
            means = (totals / d + self.origin[:, None, None]) / image.scale + image.offset
        unit = np.full(scatter.shape, image.scale)
        if not image.exact:
            flat = scatter == 0
            unit[flat] = 1
            means[:, flat] = self.raw[:, :rows, :columns][:, flat] + float(image.offset)
        if self.lost is not None:
            again = self.again(Slices.whole(self.slices.mask, self.slices.channels), self.lost)
            scatter[again.ys, again.xs] = again.scatter
            means[:, again.ys, again.xs] = again.means
            unit[again.ys, again.xs] = again.unit
        return Settled(means, scatter, unit)

    def again(self, slices: Slices, windows: NDArray[np.bool_]) -> "Again":
        """Sum some windows again, from their own pixels."""
        ys, xs = np.nonzero(windows)
        sums = np.empty((slices.counts.size, ys.size))
        squares, unit = np.empty((2, ys.size))
        means = np.empty((slices.channels, ys.size))
        sum_again(
            self.raw, float(self.image.offset), *slices.places, ys, xs, sums, squares, unit, means
        )
        return Again(ys, xs, sums, squares, unit, means)


class Settled(NamedTuple):
    """Moments of each window of a tile, exact whatever its form."""

    means: NDArray[np.float64]  # (channels, rows, columns), in image greys
    scatter: NDArray[np.float64]  # (rows, columns), of greys times the unit; as in `Moments`
    unit: NDArray[np.float64]  # (rows, columns): the image's scale, or else what was better


class Again(NamedTuple):
    """Windows summed again, about their means, each in a unit of its own."""

    ys: NDArray[np.int64]
    xs: NDArray[np.int64]
    sums: NDArray[np.float64]  # (slices, windows)
    scatter: NDArray[np.float64]  # (windows,)
    unit: NDArray[np.float64]  # (windows,)
    means: NDArray[np.float64]  # (channels, windows), in image greys


def tile_moments(
    image: Image, slices: Slices, tile: Tile, accuracy: float, lanes: int = LANES
) -> Moments:
    """Sum over all windows of a tile.

    Whole numbers are summed exactly. Others are summed about the middle of the patch, or
    rounded; where that leaves the scatter less exact than `accuracy`, the window is `lost`.
    Where much is lost by rounding, the tile is done without. Arrays are made as wide as a
    multiple of `lanes`.
    """
    rows, columns = tile.shape
    lanes = lanes if slices.full else LANES  # what is outside a mask is added up
    padded = -(-columns // lanes) * lanes
    raw = image.patch(tile, slices.shape, padded)
    bad = image.bad_patch(tile, slices.shape, padded)
    patch, origin, largest = raw, np.full(len(raw), float(image.middle)), image.largest
    if image.form in (np.int64, np.float64):
        patch, origin = _about_the_middle(raw, columns + slices.shape[1] - 1, bad, image.scale)
    whole, squares = _window_sums(patch, largest, slices, rows)
    totals, inner_squares = whole, squares
    if not slices.full:
        totals, inner_squares = _inner_sums(patch, largest, slices, whole, squares)
    scatter = scratch.array("scatter", (rows, padded), np.float64)
    if totals.dtype == np.int64:
        scatter_of_integers(totals, inner_squares, slices.pixels, scatter)
    else:
        scatter_of_floats(totals, inner_squares, slices.pixels, scatter)
    lost = None
    if not image.exact:
        inexact = scratch.array("inexact", scatter.shape, np.bool_)
        if image.precise is not None:
            factor, least = 0.0, slices.pixels * (_ROUNDED / accuracy) ** 2
        else:
            factor, least = _ROUNDING * sum(slices.shape) / accuracy, _LEAST_SQUARES
        find_inexact(scatter, squares, factor, least, inexact)
        lost = inexact[:, :columns]
        if lost.any():
            if image.precise is not None:
                raw = image.precise.patch(tile, slices.shape, padded)
            flat = _flat_windows(raw, slices.shape, rows)[:, :columns]
            scatter[:, :columns][flat] = 0
            lost &= ~flat
            if image.precise is not None and np.count_nonzero(lost) > _FEW * lost.size:
                return tile_moments(image.precise, slices, tile, accuracy, lanes)
    if bad is not None:
        touched = _bad_counts(bad, slices, rows) > 0
        scatter[touched] = np.nan
        if lost is not None:
            lost &= ~touched[:, :columns]
    return Moments(
        image, slices, tile, raw, patch, origin, whole, totals, scatter, lost,
    )  # fmt: skip


def scatter_map(
    image: Image, slices: Slices, shape: tuple[int, int], n_threads: int
) -> NDArray[np.float64]:
    """Scatter of every window: 0 where it is flat, NaN where it has a bad pixel."""
    out = np.empty(shape)

    def task(tile: Tile) -> None:
        out[tile.place] = tile_moments(image, slices, tile, 1.0).settle().scatter

    run(task, tiles(shape, TILE_ROWS, TILE_COLUMNS, LANES), n_threads)
    return out


def _window_sums(
    patch: NDArray[Any], largest: int, slices: Slices, rows: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sum numbers and their squares over all pixels of each window."""
    shape = (2 * len(patch), rows, patch.shape[2] - slices.shape[1] + 1)
    if patch.dtype == np.float64:
        sums = scratch.array("moments", shape, np.float64)
        powers = scratch.array("powers", (2 * len(patch), *patch.shape[1:]), np.float64)
        powers[: len(patch)] = patch
        np.multiply(patch, patch, out=powers[len(patch) :])
        box_sums(powers, *slices.shape, sums)
    else:
        narrow = patch.dtype == np.uint8 and slices.mask.size * largest**2 < 2**32
        sums = scratch.array("moments", shape, np.uint32 if narrow else np.int64)
        power_sums(patch, *slices.shape, sums[: len(patch)], sums[len(patch) :])
    return sums[: len(patch)], sums[len(patch) :]


def _inner_sums(
    patch: NDArray[Any], largest: int, slices: Slices, whole: NDArray[Any], squares: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sum numbers and their squares over the pixels of each window that count."""
    adder = ADDERS[patch.dtype]
    c = len(patch)
    if patch.dtype == np.float64:
        # No difference of sums, which would lose digits.
        powers = np.concatenate([patch, patch * patch])
        sums = _mask_sums(powers, slices.inside_program(adder, len(powers)), whole)
        return sums[:c], sums[c:]
    exact = error_bound(patch[0].size * largest**4, slices.pixels) < CERTAIN
    cost = transform_cost(patch.shape[1:], whole.shape[1:])
    if exact and cost < slices.outside_cost(adder, largest):
        return _correlate_inside(patch, slices, whole)
    # Squares come in two halves, so that each is as narrow as the numbers themselves.
    half = largest.bit_length()
    powers = np.multiply(patch, patch, dtype=np.uint16 if patch.dtype == np.uint8 else np.int64)
    stack = scratch.array("numbers and halves", (3 * c, *patch.shape[1:]), patch.dtype)
    stack[:c] = patch
    stack[c : 2 * c] = powers >> half
    stack[2 * c :] = powers & (2**half - 1)
    outside = _mask_sums(stack, slices.outside_program(adder, 2**half - 1, len(stack)), whole)
    inner, inner_squares = scratch.array("inner", (2, *whole.shape), whole.dtype)
    take_outside(whole, squares, outside, 2**half, inner, inner_squares)
    return inner, inner_squares


def _correlate_inside(
    patch: NDArray[Any], slices: Slices, whole: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Do the same by correlation with the mask: numbers and squares as one complex number."""
    totals, squares = np.empty((2, *whole.shape), whole.dtype)
    shape = (whole.shape[1], whole.shape[2])
    correlator = slices.mask_correlator(shape)
    for c, plane in enumerate(patch):
        powers = np.empty(plane.shape, np.complex128)
        powers.real = plane
        np.multiply(powers.real, powers.real, out=powers.imag)
        mean = powers.mean()
        origin = complex(np.rint(mean.real), np.rint(mean.imag))
        powers -= origin
        found = correlator.correlate(correlator.transform(powers), 0, shape)
        totals[c] = np.rint(found.real) + origin.real * slices.pixels
        squares[c] = np.rint(found.imag) + origin.imag * slices.pixels
    return totals, squares


def _mask_sums(planes: NDArray[Any], program: Program, whole: NDArray[Any]) -> NDArray[Any]:
    """Sum each plane inside or outside a mask, as the program says, over all windows."""
    shape = (len(planes), *whole.shape[1:])
    sums = scratch.array(f"mask sums of {planes.dtype}", shape, ADDERS[planes.dtype].whole)
    add_up(planes, program, whole, sums)
    return sums


def add_up(planes: NDArray[Any], program: Program, whole: NDArray[Any], sums: NDArray[Any]) -> None:
    """Sum slices over all windows of a tile."""
    adder = ADDERS[planes.dtype]
    shape = (len(planes), planes.shape[1] + 1, planes.shape[2] + 1)
    runs = scratch.array("runs", shape, adder.piece)
    sum_slices(planes, runs, *program, whole, sums)


def _bad_counts(bad: NDArray[np.uint8], slices: Slices, rows: int) -> NDArray[Any]:
    """Count the bad pixels of each window that would count."""
    counts = np.empty((1, rows, bad.shape[2] - slices.shape[1] + 1), np.uint32)
    box_sums(bad.astype(np.uint16), *slices.shape, counts)
    if slices.full:
        return np.asarray(counts[0])
    program = slices.outside_program(ADDERS[bad.dtype], 1, 1)
    return np.asarray(counts[0] - _mask_sums(bad, program, counts)[0])


def _flat_windows(raw: NDArray[Any], shape: tuple[int, int], rows: int) -> NDArray[np.bool_]:
    """Find the windows that are flat also outside the mask.

    They are the only ones of which there can be very many to sum again.
    """
    height, width = shape
    steps = np.zeros((rows, raw.shape[2] - width + 1), np.int64)
    for differs, size in (
        (raw[:, :, 1:] != raw[:, :, :-1], (height, width - 1)),
        (raw[:, 1:] != raw[:, :-1], (height - 1, width)),
    ):
        if min(size) > 0:
            found = np.empty((len(raw), *steps.shape), np.int64)
            box_sums(differs.astype(np.int64), *size, found)
            steps += found.sum(axis=0)
    return np.asarray(steps == 0)


def _about_the_middle(
    raw: NDArray[Any], width: int, bad: NDArray[np.uint8] | None, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scale, and subtract the middle of each channel's range; bad pixels become 0.

    Digits that get lost here are missed, and summed again, where they matter.
    """
    patch = scratch.array("centred", raw.shape, np.float64)
    inside = raw[:, :, :width]
    if bad is None:
        low, high = inside.min(axis=(1, 2)), inside.max(axis=(1, 2))
    else:
        good = bad[0, :, :width] == 0
        chosen = inside[:, good] if good.any() else np.zeros((len(raw), 1))
        low, high = chosen.min(axis=1), chosen.max(axis=1)
    origin = low * scale / 2 + high * scale / 2
    np.multiply(raw, scale, out=patch)
    patch -= origin[:, None, None]
    patch[:, :, width:] = 0
    if bad is not None:
        patch[:, bad[0] != 0] = 0
    return patch, origin


@jit
def find_inexact(
    scatter: NDArray[np.float64],
    squares: NDArray[np.float64],
    factor: float,
    least: float,
    out: NDArray[np.bool_],
) -> None:
    """Mark windows whose scatter is not above `least` and `factor` times their squares.

    Parameters
    ----------
    scatter, out : ndarray of shape (rows, columns)
    squares : ndarray of shape (channels, rows, columns)
    """
    for y in range(scatter.shape[0]):
        line, of_line = out[y], scatter[y]
        energy = np.zeros(of_line.size)
        for c in range(squares.shape[0]):
            of_channel = squares[c, y]
            for x in range(of_line.size):
                energy[x] += of_channel[x]
        for x in range(of_line.size):
            line[x] = not (of_line[x] > energy[x] * factor and of_line[x] > least)


@jit
def scatter_of_integers(
    totals: NDArray[Any], squares: NDArray[Any], pixels: int, out: NDArray[np.float64]
) -> None:
    """Sum of squared deviations from the mean, of all channels, from exact sums.

    Shifted, in integers, by the rounded mean, so that what is left is small; where that
    makes it exact, bits are those of `scatter_of_floats`.

    Parameters
    ----------
    totals, squares : ndarray of shape (channels, rows, columns)
        Sums and sums of squares over `pixels` numbers.
    out : ndarray of shape (rows, columns), filled
    """
    channels, rows, columns = totals.shape
    share = 1.0 / pixels
    for y in range(rows):
        line = out[y]
        for x in range(columns):
            line[x] = 0.0
        for c in range(channels):
            of_line, squares_of_line = totals[c, y], squares[c, y]
            for x in range(columns):
                total = of_line[x]
                centre = np.int64(np.floor(total / pixels + 0.5))
                rest = total - pixels * centre
                square = squares_of_line[x] - centre * (total + rest)
                line[x] += (float(pixels) * square - float(rest) * rest) * share


@jit
def scatter_of_floats(
    totals: NDArray[Any], squares: NDArray[Any], pixels: int, out: NDArray[np.float64]
) -> None:
    """Do the same where `pixels * squares` is exact in float64, or nothing is.

    Parameters are those of `scatter_of_integers`.
    """
    channels, rows, columns = totals.shape
    share = 1.0 / pixels
    for y in range(rows):
        line = out[y]
        for x in range(columns):
            line[x] = 0.0
        for c in range(channels):
            of_line, squares_of_line = totals[c, y], squares[c, y]
            for x in range(columns):
                total = float(of_line[x])
                line[x] += (float(pixels) * squares_of_line[x] - total * total) * share


@jit
def take_outside(
    whole: NDArray[Any],
    squares: NDArray[Any],
    outside: NDArray[Any],
    radix: int,
    inner: NDArray[Any],
    inner_squares: NDArray[Any],
) -> None:
    """Subtract sums, and sums of squares that come in two halves.

    Parameters
    ----------
    whole, squares, inner, inner_squares : ndarray of shape (channels, rows, columns)
        The last two are filled.
    outside : ndarray of shape (3 * channels, rows, columns)
        Sums, sums of the upper and of the lower halves of squares.
    radix : int
        What one in the upper half is worth.
    """
    channels, rows, columns = whole.shape
    for c in range(channels):
        for y in range(rows):
            for x in range(columns):
                inner[c, y, x] = whole[c, y, x] - np.int64(outside[c, y, x])
                upper = np.int64(outside[channels + c, y, x])
                lower = np.int64(outside[2 * channels + c, y, x])
                inner_squares[c, y, x] = squares[c, y, x] - (upper * radix + lower)
