"""Slice sums of every window of an image, tile by tile, for a measure to score."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .additions import LANES
from .covers import ADDERS, Adder
from .fourier import Correlator, error_bound, single_error_bound
from .images import Image
from .moments import Again, Moments, add_up, tile_moments
from .plan import Method, make_plan
from .slices import Slices
from .threads import Tile, run, scratch, tiles


@dataclass(frozen=True)
class TileSums:
    """Sums over each window of a tile.

    All are of the same numbers, greys less some common origin, times some common scale;
    of integer images they are exact. Windows that were summed again have their own origin
    and scale.
    """

    sums: NDArray[Any]  # (slices, rows, at least as many columns as the tile)
    totals: NDArray[Any]  # (channels, rows, ..): over all pixels that count
    scatter: NDArray[np.float64]  # (rows, ..): squared deviations from the mean, of all
    #                               channels; 0 if flat, NaN if a pixel is bad
    tile: Tile
    scale: float
    again: Again | None

    def units(self) -> NDArray[np.float64]:
        """Scale of each window, shape (rows, columns of the tile)."""
        units = np.full(self.tile.shape, self.scale)
        if self.again is not None:
            units[self.again.ys, self.again.xs] = self.again.unit
        return units


def tolerance(dtype: np.dtype[Any]) -> float:
    """Error of a score that a map of this type must not exceed."""
    return 1e-7 if dtype == np.float32 else 1e-10


def for_each_tile(
    image: Image,
    slices: Slices,
    score: Callable[[TileSums], None],
    dtype: np.dtype[Any],
    shape: tuple[int, int],
    n_threads: int,
    method: Method | None = None,
) -> None:
    """Sum the slices of one tile of a score map after the other.

    Parameters
    ----------
    score : callable
        Fills the tile's place in the score map. What it is given is overwritten later.
    dtype, shape
        Of the score map, (H - h + 1, W - w + 1).
    method : {"additions", "fourier"}, optional
        The way to the sums; by default the cheaper one.
    """
    accuracy = tolerance(dtype)
    if dtype == np.float32:
        image = image.rounded(slices.labels[0].size)
    plan = make_plan(image, slices, shape, method)
    fill = partial(_add_up, plan.searched)
    if plan.method == "fourier":
        fill = partial(_correlate, plan.tile, accuracy)

    lanes = LANES if plan.method == "additions" else 1

    def task(tile: Tile) -> None:
        moments = tile_moments(image, slices, tile, accuracy, lanes)
        sums, lost = fill(moments)
        again = _replace_lost(moments, lost, sums)
        scale = moments.image.scale
        score(TileSums(sums, moments.totals, moments.scatter, tile, scale, again))

    run(task, tiles(shape, *plan.tile, lanes), n_threads)


Lost = NDArray[np.bool_] | None


def _add_up(searched: Adder | None, moments: Moments) -> tuple[NDArray[Any], Lost]:
    """Sum slices by the additions that suit the numbers of a tile."""
    adder = ADDERS[moments.patch.dtype]
    largest = moments.image.largest
    program = moments.slices.program(adder, largest, searched=adder is searched)
    sums = scratch.array("sums", (program.plane.size, *moments.scatter.shape), adder.whole)
    add_up(moments.patch, program, moments.whole, sums)
    return sums[: moments.slices.counts.size], moments.lost


def _correlate(
    windows: tuple[int, int], accuracy: float, moments: Moments
) -> tuple[NDArray[Any], Lost]:
    """Sum slices by correlation; the largest of each channel is what the others leave over.

    The upper and the lower half of the windows are done at once, as real and imaginary part.
    Whole numbers come out rounded: in single precision, if that is certain to be right.
    """
    slices = moments.slices
    rows, columns = moments.tile.shape
    height, width = slices.shape
    halves = -(-windows[0] // 2), windows[1]
    whole = moments.patch.dtype != np.float64
    kind = ADDERS[moments.patch.dtype].whole
    sums = scratch.array("sums", (slices.counts.size, *moments.scatter.shape), kind)
    patch = moments.patch[:, :, : columns + width - 1]
    origin = np.rint(patch.mean(axis=(1, 2))) if whole else np.zeros(len(patch))
    middle = -(-rows // 2)
    parts = patch[:, : middle + height - 1], patch[:, middle:]
    energy = max(
        sum(energy_about(np.ascontiguousarray(part[c]), origin[c]) for part in parts)
        for c in range(len(patch))
    )  # contiguous, for one kernel to compile
    counts = max((int(slices.counts[k]) for k in slices.summed), default=0)
    if not (
        patch.dtype == np.uint8
        and single_error_bound(energy, counts, 0) < 1
        and _read(moments, slices.correlator(halves, np.float32), parts, origin, energy, sums)
    ):
        _read(moments, slices.correlator(halves, np.float64), parts, origin, None, sums)
    error = 0.0 if whole else error_bound(energy, counts)
    return sums, _lost(moments, error, accuracy)


def _read(
    moments: Moments,
    correlator: Correlator,
    parts: tuple[NDArray[Any], NDArray[Any]],
    origin: NDArray[np.float64],
    energy: float | None,
    sums: NDArray[Any],
) -> bool:
    """Read slice sums off correlations; False if rounding them may have led astray.

    That is in question if `energy` is given, of both parts of the patch less their origin: a
    sum that was rounded to the wrong number is almost as far from it as the bound of its
    error allows, less one.
    """
    slices, whole = moments.slices, parts[0].dtype != np.float64
    rows, columns = moments.tile.shape
    for c, largest in enumerate(slices.largest):
        sums[largest] = moments.totals[c]
    last, farthest = -1, np.inf
    for which, k in enumerate(slices.summed):
        c = int(slices.channel[k])
        if c != last:
            spectrum, last = correlator.transform(parts[0][c], origin[c], parts[1][c]), c
        found = correlator.correlate(spectrum, which, (-(-rows // 2), columns))
        count = int(slices.counts[k])
        if energy is not None:
            farthest = 1 - single_error_bound(energy, count, correlator.largest())
        rest = sums[slices.largest[c]]
        if take_correlations(found, origin[c] * count, whole, farthest, sums[k], rest) > 0:
            return False
    return True


def _lost(moments: Moments, error: float, accuracy: float) -> Lost:
    """Mark windows too flat for slice sums with that error to be accurate."""
    if error == 0:
        return moments.lost
    # A share of the scatter V is wrong by twice the error over the root of V, at most, for
    # each slice.
    scatter = moments.scatter[:, : moments.tile.shape[1]]
    least = (2 * error / accuracy) ** 2 * moments.slices.counts.size
    inexact = (scatter <= least) & (scatter > 0)
    return inexact if moments.lost is None else inexact | moments.lost


def _replace_lost(moments: Moments, lost: Lost, sums: NDArray[Any]) -> Again | None:
    """Put sums about the window's mean where others have lost digits."""
    if lost is None or not lost.any():
        return None
    again = moments.again(moments.slices, lost)
    sums[:, again.ys, again.xs] = again.sums
    moments.totals[:, again.ys, again.xs] = 0
    moments.scatter[again.ys, again.xs] = again.scatter
    return again


@jit
def energy_about(patch: NDArray[Any], origin: float) -> float:
    """Sum of squared differences of a patch (rows, columns) from its origin."""
    energy = 0.0
    parts = np.zeros(patch.shape[1])
    for y in range(patch.shape[0]):
        greys = patch[y]
        for x in range(greys.size):
            parts[x] += (greys[x] - origin) ** 2
    for part in parts:
        energy += part
    return energy


@jit
def take_correlations(
    found: NDArray[Any],
    origin: float,
    whole: bool,
    farthest: float,
    sums: NDArray[Any],
    rest: NDArray[Any],
) -> int:
    """Put the sums of a slice in their place, and take them from what others leave over.

    Returns how many were as far as `farthest` from the whole numbers that they became.

    Parameters
    ----------
    found : ndarray of shape (half of the rows, columns), complex
        Sums of the upper windows, and of the lower ones, less `origin`; if `whole`, but for
        rounding, whole numbers.
    sums, rest : ndarray of shape (rows, >= columns)
        The first is filled.
    """
    half, columns = found.shape
    doubtful = 0
    # One loop over views of either part takes twice the time: their stride is not seen.
    for y in range(half):
        both, upper, left = found[y], sums[y], rest[y]
        for x in range(columns):
            one = both[x].real
            if whole:
                near = np.rint(one)
                doubtful += abs(one - near) >= farthest
                one = near
            upper[x] = one + origin
            left[x] -= one + origin
    for y in range(half, sums.shape[0]):
        both, lower, left = found[y - half], sums[y], rest[y]
        for x in range(columns):
            one = both[x].imag
            if whole:
                near = np.rint(one)
                doubtful += abs(one - near) >= farthest
                one = near
            lower[x] = one + origin
            left[x] -= one + origin
    return doubtful
