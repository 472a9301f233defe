"""Mean and scatter of every window of a tile, over the pixels that count."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .additions import LANES
from .fourier import Correlator, error_bound, halves
from .images import EXACT_LIMIT, Image, unit_scale
from .outliers import find_outliers, scaled_differences
from .programs import Programs
from .slices import Slices
from .threads import Tile, scratch
from .two_pass import two_pass_sums
from .window_sums import Inside, bad_counts, flat_windows, inner_sums, window_sums

# The relative error of a float sum, for each of the terms that are added in turn.
_ROUNDING = 2e-16

# Squares below this have lost digits to the end of the float range, as those of greys have that
# are below the other.
_SQUARES_KEPT, _NEARLY_LOST = 1e-290, 1e-140

# Greys rounded to whole numbers are off by 0.5 at most. Where equal greys are all rounded
# alike, a share of the scatter is off by 0.5 / sd, sd being the window's standard deviation.
# A float32 map may be off by 20 times its accuracy: 0.5 / sd <= 20 * accuracy.
_ROUNDED = 0.025

# One row of a patch in so many tells what its greys are about.
_ROWS_OF_A_SAMPLE = 8

# Share of a tile's windows up to which these are done again one by one, not all in floats.
_SHARE_RECOMPUTED = 1 / 64


@dataclass(frozen=True)
class Moments:
    """What is known of each window of a tile before its slices are summed.

    Arrays may be wider than the tile, for the sake of `LANES`; what is beyond it has no
    meaning. Sums are of the numbers in `patch`: ``(grey - origin) * scale``. The next tile
    overwrites all of them.
    """

    image: Image
    slices: Slices
    tile: Tile
    raw: NDArray[Any]  # (channels, rows + h - 1, columns + w - 1): greys less the offset
    patch: NDArray[Any]  # likewise: the numbers that are summed
    origin: NDArray[np.float64]  # (channels,): an image grey
    window_sums: NDArray[Any]  # (channels, rows, columns): over all pixels of a window
    totals: NDArray[Any]  # likewise, over those that count
    scatter: NDArray[np.float64]  # (rows, columns): summed squared deviations from the mean;
    #                               exactly 0 if flat, NaN if the window has a bad pixel
    inexact: NDArray[np.bool_] | None  # (rows, columns of the tile): whose scatter is not exact
    windows: NDArray[np.bool_] | None = None  # likewise: those this is for, of others nothing
    #                                           here has a meaning; None: all

    def doubtful(self, accuracy: float) -> NDArray[np.bool_]:
        """Mark windows whose scatter is not exact, or so little that transforms may lose it."""
        if self.inexact is None:
            return np.zeros(self.tile.shape, np.bool_)
        if self.patch.dtype != np.float64:
            return self.inexact
        energy = float(np.einsum("cyx,cyx->", self.patch, self.patch))  # no threads of BLAS here
        error = error_bound(energy, self.slices.pixels)
        scatter = self.scatter[:, : self.tile.shape[1]]
        return self.inexact | (scatter > 0) & (scatter < (error / accuracy) ** 2)

    def own(self, windows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return those of some windows that this is for."""
        return windows if self.windows is None else windows & self.windows

    @contextmanager
    def filling(self, out: NDArray[Any]) -> Iterator[None]:
        """Keep what a score map has at windows that this is not for, while its tile is filled."""
        if self.windows is None:
            yield
            return
        part = out[self.tile.place]
        before = part.copy()
        yield
        np.copyto(part, before, where=~self.windows)

    def centres(self) -> NDArray[np.float64]:
        """Whole numbers near the mean of each channel of an exact patch, from some rows; else 0."""
        if not self.image.exact:
            return np.zeros(len(self.patch))
        width = self.tile.shape[1] + self.slices.shape[1] - 1
        rows = self.patch[:, ::_ROWS_OF_A_SAMPLE, :width]
        return np.asarray(np.rint(rows.mean(axis=(1, 2))))

    def spectra(self, correlator: Correlator) -> tuple[list[NDArray[np.complex128]], list[float]]:
        """Transform each channel, less its centre; and tell sums of squares.

        Of a single channel the next transform overwrites it.
        """
        rows, columns = self.tile.shape
        width = columns + self.slices.shape[1] - 1
        spectra, energies = [], []
        for plane, origin in zip(self.patch, self.centres(), strict=True):
            spectrum, energy = correlator.transform(
                *halves(plane, rows), columns=width, origin=complex(origin, origin)
            )
            spectra.append(spectrum if len(self.patch) == 1 else spectrum.copy())
            energies.append(energy)
        return spectra, energies

    def levels(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of each channel, in image greys, and by what greys were multiplied.

        The latter is 1 where a window is flat. Shapes are (channels, rows, columns) and (rows,
        columns) of `totals`.
        """
        image, totals, d = self.image, self.totals, self.slices.pixels
        means = scratch.array("means", totals.shape, np.float64)
        unit = scratch.array("unit", self.scatter.shape, np.float64)
        unit[:] = image.scale
        if image.exact and d * abs(image.offset) < EXACT_LIMIT:
            # Of whole numbers the same in any surrounding.
            np.add(totals, float(d * image.offset), out=means)
            means /= d
        else:
            means[:] = totals / d / image.scale + self.origin[:, None, None]
        if not image.exact:
            ys, xs = np.nonzero(self.scatter[:, : self.tile.shape[1]] == 0)
            unit[ys, xs] = 1
            means[:, ys, xs] = image.plus_offset(self.raw[:, ys, xs])
        return means, unit

    def recompute(self, slices: Slices, windows: NDArray[np.bool_]) -> "Recomputed":
        """Sum some windows anew, from their own pixels."""
        ys, xs = map(np.ascontiguousarray, np.nonzero(windows))  # one layout: compiled once
        sums = np.empty((slices.counts.size, ys.size))
        squares, unit = np.empty((2, ys.size))
        means = np.empty((slices.channels, ys.size))
        channels = np.arange(slices.channels)[:, None]
        top, left = (own[channels * slices.pixels] for own in slices.places[1:3])
        firsts = self.image.plus_offset(self.raw[channels, top + ys, left + xs])
        two_pass_sums(self.raw, firsts, *slices.places, ys, xs, sums, squares, unit, means)
        return Recomputed(ys, xs, sums, squares, unit, means)


class Recomputed(NamedTuple):
    """Windows summed about their means, each in a unit of its own."""

    ys: NDArray[np.int64]
    xs: NDArray[np.int64]
    sums: NDArray[np.float64]  # (slices, windows)
    scatter: NDArray[np.float64]  # (windows,)
    unit: NDArray[np.float64]  # (windows,)
    means: NDArray[np.float64]  # (channels, windows), in image greys


def tile_moments(
    image: Image,
    programs: Programs,
    tile: Tile,
    accuracy: float,
    inside: Inside,
    lanes: int = LANES,
) -> Iterator[Moments]:
    """Sum over all windows of a tile: mostly at once.

    Whole numbers are summed exactly. Others are summed about the middle of the patch, or
    rounded; where that leaves the scatter less exact than `accuracy`, the window is
    `inexact`. Where rounding makes many so, the tile is done without. Where outliers do, windows
    without any are summed apart from those that have some, about the middle of other greys.
    Arrays are made as wide as a multiple of `lanes`.
    """
    found = _moments(image, programs, tile, accuracy, inside, lanes)
    inexact = found.doubtful(accuracy)
    if np.count_nonzero(inexact) <= _SHARE_RECOMPUTED * inexact.size:
        yield found
        return
    if image.precise is not None:
        in_floats: Inside = "everything" if programs.slices.full else "pixels"
        yield from tile_moments(image.precise, programs, tile, accuracy, in_floats, lanes)
        return
    outliers, reach = _outliers(image, programs, tile, found.raw)
    touched = bad_counts(outliers, programs, len(inexact))[:, : inexact.shape[1]] > 0
    enlarged = replace(image, scale=unit_scale(reach))  # or squares of what is left may underflow
    if not touched.any() and image.scale * reach < _NEARLY_LOST:  # outliers are in other tiles
        yield _moments(enlarged, programs, tile, accuracy, inside, lanes)
        return
    if not touched.any() or not (inexact & ~touched).any():
        yield found
        return
    for windows, left_out in ((touched, False), (~touched, True)):
        scaled = enlarged if left_out else image
        found = _moments(scaled, programs, tile, accuracy, inside, LANES, outliers, left_out)
        yield replace(found, windows=windows)


def _moments(
    image: Image,
    programs: Programs,
    tile: Tile,
    accuracy: float,
    inside: Inside,
    lanes: int,
    outliers: NDArray[np.uint8] | None = None,
    left_out: bool = False,
) -> Moments:
    """Sum over all windows of a tile, about the middle of what is no outlier."""
    rows, columns = tile.shape
    slices = programs.slices
    if not slices.full and (inside != "transforms" or image.bad is not None):
        lanes = LANES  # what is outside a mask is added up
    padded = -(-columns // lanes) * lanes
    raw = image.patch(tile, slices.shape, padded)
    bad = image.bad_patch(tile, slices.shape, padded)
    patch, origin = raw, np.full(len(raw), image.middle / image.scale + image.offset)
    if image.form in (np.int64, np.float64):
        width = columns + slices.shape[1] - 1
        patch, origin = _about_the_middle(raw, width, bad, outliers, image)
        if left_out and outliers is not None:
            patch[:, outliers[0] != 0] = 0
    sums, squares = window_sums(patch, image.magnitude, slices.shape)
    totals, inner_squares = inner_sums(patch, image.magnitude, programs, inside, sums, squares)
    scatter = scratch.array("scatter", (rows, padded), np.float64)
    scatter_of(totals, inner_squares, slices.pixels, scatter)
    inexact = None
    if not image.exact:
        inexact = _inexact_windows(image, slices, tile, accuracy, scatter, squares)
        if inexact.any():
            if image.precise is not None:
                raw = image.precise.patch(tile, slices.shape, padded)
            flat = flat_windows(raw, slices, rows)[:, :columns]
            scatter[:, :columns][flat] = 0
            inexact &= ~flat
    if bad is not None:
        touched = bad_counts(bad, programs, rows) > 0
        scatter[touched] = np.nan
        if inexact is not None:
            inexact &= ~touched[:, :columns]
    return Moments(image, slices, tile, raw, patch, origin, sums, totals, scatter, inexact)


def as_floats(totals: NDArray[Any]) -> NDArray[np.float64]:
    """Bring totals to one type, so that kernels are compiled once; whole numbers are exact."""
    if totals.dtype == np.float64:
        return totals
    floats = scratch.array("totals", totals.shape, np.float64)
    floats[:] = totals
    return floats


def scatter_of(
    totals: NDArray[Any], squares: NDArray[Any], pixels: int, out: NDArray[np.float64]
) -> None:
    """Sum squared deviations from the mean; parameters are those of `scatter_of_integers`."""
    if totals.dtype == np.int64:
        scatter_of_integers(totals, squares, pixels, out)
    else:
        scatter_of_floats(totals, squares, pixels, out)


def _inexact_windows(
    image: Image,
    slices: Slices,
    tile: Tile,
    accuracy: float,
    scatter: NDArray[np.float64],
    squares: NDArray[Any],
) -> NDArray[np.bool_]:
    """Mark the windows of a tile whose scatter is too little for sums that round."""
    if image.precise is not None:
        factor, least = 0.0, slices.pixels * (_ROUNDED / accuracy) ** 2
    else:
        factor, least = _ROUNDING * sum(slices.shape) / accuracy, _SQUARES_KEPT
    inexact = scratch.array("inexact", scatter.shape, np.bool_)
    find_inexact(scatter, squares, factor, least, inexact)
    return inexact[:, : tile.shape[1]]


def _outliers(
    image: Image, programs: Programs, tile: Tile, raw: NDArray[Any]
) -> tuple[NDArray[np.uint8], float]:
    """Find outliers of a patch: as `Image.bad_patch` has it; and the largest of other greys."""
    columns, shape = tile.shape[1], programs.slices.shape
    padded, width = -(-columns // LANES) * LANES, columns + shape[1] - 1
    bad = image.bad_patch(tile, shape, padded)
    good = np.ones((raw.shape[1], width), np.bool_) if bad is None else bad[0, :, :width] == 0
    patch = np.zeros((1, raw.shape[1], padded + shape[1] - 1), np.uint8)
    patch[0, :, :width], reach = find_outliers(raw[:, :, :width], good)
    return patch, reach


def _about_the_middle(
    raw: NDArray[Any],
    width: int,
    bad: NDArray[np.uint8] | None,
    outliers: NDArray[np.uint8] | None,
    image: Image,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Subtract the middle of each channel's range, outliers apart, and scale; bad pixels become 0.

    Whole numbers are subtracted as such, before floats round them. Digits that get lost here
    are missed, and summed again, where they matter.
    """
    patch = scratch.array("centred", raw.shape, np.float64)
    inside = raw[:, :, :width]
    without = [one[0, :, :width] == 0 for one in (bad, outliers) if one is not None]
    if not without:
        low, high = inside.min(axis=(1, 2)), inside.max(axis=(1, 2))
    else:
        good = np.logical_and.reduce(without)
        chosen = inside[:, good] if good.any() else np.zeros((len(raw), 1), raw.dtype)
        low, high = chosen.min(axis=1), chosen.max(axis=1)
    if raw.dtype == np.int64:  # rounded up: no difference overflows
        middle = low // 2 + high // 2 + (low % 2 | high % 2)
    else:
        middle = low / 2 + high / 2
    with np.errstate(over="ignore"):  # of outliers
        np.subtract(raw, middle[:, None, None], out=patch)
        patch *= image.scale
        if outliers is not None:
            far = outliers[0] != 0
            patch[:, far] = scaled_differences(raw[:, far], middle[:, None], image.scale)
    patch[:, :, width:] = 0
    if bad is not None:
        patch[:, bad[0] != 0] = 0
    return patch, image.plus_offset(middle)


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

    Plain twin: ``naive.inexact``.
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

    Plain twin: ``naive.scatter``.
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

    Plain twin: ``naive.scatter``.
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
