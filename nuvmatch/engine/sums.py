"""Slice sums of every window of an image, tile by tile, for a measure to score."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .covers import ACCUMULATORS, Accumulator
from .fourier import error_bound, halves
from .images import Image
from .moments import Moments, Recomputed, as_floats, tile_moments
from .plan import Method, make_plan, middle_of
from .programs import Programs, add_up
from .projections import Projections
from .threads import Tile, run, scratch


class TileSums(NamedTuple):
    """Sums over each window of a tile, or over some windows of a tile, put in a row.

    All are of the same numbers, greys less some common origin; of integer images they are
    exact. Windows that had to be recomputed come by themselves, each with its own origin and
    unit.
    """

    sums: NDArray[Any]  # (slices, rows, at least as many columns as the tile)
    totals: NDArray[Any]  # (channels, rows, ..): over all pixels that count
    scatter: NDArray[np.float64]  # (rows, ..): squared deviations from the mean, of all
    #                               channels; 0 if flat, NaN if a pixel is bad
    tile: Tile  # where scores go
    place: Any  # index of these windows into the score map
    unit: float | NDArray[np.float64] = 1.0  # by what greys were multiplied; (rows, columns)

    def totals_as_floats(self) -> NDArray[np.float64]:
        """Totals in the one type that scores are made of; the next tile overwrites them."""
        return as_floats(self.totals)

    def empty_scores(self) -> NDArray[np.float64]:
        """Return room for the scores of the tile: (rows, columns), overwritten by the next."""
        return empty_scores(self.tile)


def empty_scores(tile: Tile) -> NDArray[np.float64]:
    """Return room for the scores of a tile."""
    return scratch.array("scores", tile.shape, np.float64)


Inexact = NDArray[np.bool_] | None
Score = Callable[[TileSums, NDArray[Any]], None]  # fills the tile's place in an array


def tolerance(dtype: np.dtype[Any]) -> float:
    """Error of a score that a map of this type must not exceed."""
    return 1e-7 if dtype == np.float32 else 1e-10


def for_each_tile(
    image: Image,
    programs: Programs,
    score: Score,
    out: NDArray[Any],
    n_threads: int,
    method: Method | None = None,
    projections: Projections | None = None,
) -> None:
    """Fill a score map from slice sums, one tile after the other.

    Parameters
    ----------
    programs : Programs
        Of the slices.
    score : callable
        Fills the tile's place in the array that it is given beside the sums. These are
        overwritten later.
    out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, filled
    method : {"additions", "fourier", "projections"}, optional
        The way to the sums, or the one without; by default the cheapest one.
    projections : Projections, optional
        By which windows are scored without sums, where that is cheaper.
    """
    accuracy = tolerance(out.dtype)
    if out.dtype == np.float32:
        image = image.rounded(programs.slices.mask.size)
    plan = make_plan(image, programs, out.shape, method, projections)
    sum_up = partial(_add_up, programs, plan.searched)
    if plan.method != "additions":
        sum_up = partial(_correlate, programs, plan.tile, plan.radix, accuracy)

    def fill(moments: Moments) -> Inexact:
        if plan.method == "projections" and projections is not None:
            again = projections.fill(moments, plan.tile, accuracy, out)
            if again is not None:
                return again
        sums, inexact = sum_up(moments)
        tile, unit = moments.tile, moments.image.scale
        score(TileSums(sums, moments.totals, moments.scatter, tile, tile.place, unit), out)
        return inexact

    def task(tile: Tile) -> None:
        for moments in tile_moments(image, programs, tile, accuracy, plan.inside, plan.lanes):
            with moments.filling(out):
                again(moments, fill(moments))

    def again(moments: Moments, inexact: Inexact) -> None:
        if inexact is not None and inexact.any():
            part = _in_a_row(moments.recompute(moments.slices, moments.own(inexact)), moments)
            scores = np.empty((1, part.tile.right), out.dtype)
            score(part, scores)
            out[part.place] = scores

    run(task, plan.tiles, n_threads)


def _in_a_row(windows: Recomputed, moments: Moments) -> TileSums:
    """Take windows that were recomputed, about their means, as a tile of one row."""
    totals = np.zeros((len(moments.totals), 1, windows.ys.size), moments.totals.dtype)
    place = moments.tile.top + windows.ys[None], moments.tile.left + windows.xs[None]
    tile = Tile(0, 1, 0, windows.ys.size)
    sums, scatter, unit = windows.sums[:, None], windows.scatter[None], windows.unit[None]
    return TileSums(sums, totals, scatter, tile, place, unit)


def _add_up(
    programs: Programs, searched: Accumulator | None, moments: Moments
) -> tuple[NDArray[Any], Inexact]:
    """Sum slices by the additions that suit the numbers of a tile."""
    accumulator = ACCUMULATORS[moments.patch.dtype]
    magnitude = moments.image.magnitude
    program = programs.additions(accumulator, magnitude, searched=accumulator is searched)
    sums = scratch.array("sums", (program.plane.size, *moments.scatter.shape), accumulator.wide)
    add_up(moments.patch, program, moments.window_sums, sums)
    return sums[: moments.slices.counts.size], moments.inexact


def _correlate(
    programs: Programs, windows: tuple[int, int], radix: float, accuracy: float, moments: Moments
) -> tuple[NDArray[Any], Inexact]:
    """Sum slices by correlation; the largest of each channel is what the others leave over.

    Whole numbers come out rounded.
    """
    slices, image = moments.slices, moments.image
    rows, columns = moments.tile.shape
    integral = moments.patch.dtype != np.float64
    radix = radix if integral else 0.0
    kind = ACCUMULATORS[moments.patch.dtype].wide
    sums = scratch.array("sums", (slices.counts.size, *moments.scatter.shape), kind)
    for c, k in enumerate(slices.left_over):
        sums[k] = moments.totals[c]
    middle = float(middle_of(image)) if integral else 0.0
    half, width = -(-rows // 2), columns + slices.shape[1] - 1
    correlator = programs.correlator((-(-windows[0] // 2), windows[1]), radix)
    last, energy = -1, 0.0
    for which, pack in enumerate(programs.packs(radix)):
        c = int(slices.channel_of_slice[pack[0]])
        if c != last:
            parts, both = halves(moments.patch[c], rows), complex(middle, middle)
            spectrum, own = correlator.transform(*parts, columns=width, origin=both)
            last, energy = c, max(energy, own)
        found = correlator.correlate(spectrum, which, (half, columns))
        origins = np.asarray(middle * slices.counts[pack], np.float64)
        take_correlations(found, origins, radix, integral, pack, sums, slices.left_over[c])
    counts = max((int(slices.counts[k]) for k in slices.summed), default=0)
    error = 0.0 if integral else error_bound(energy, counts)
    return sums, _inexact(moments, error, accuracy)


def _inexact(moments: Moments, error: float, accuracy: float) -> Inexact:
    """Mark windows too flat for slice sums with that error to be accurate."""
    if error == 0:
        return moments.inexact
    # A share of the scatter V is wrong by at most 2 * error / sqrt(V) for each slice.
    scatter = moments.scatter[:, : moments.tile.shape[1]]
    least = (2 * error / accuracy) ** 2 * moments.slices.counts.size
    inexact = (scatter <= least) & (scatter > 0)
    return inexact if moments.inexact is None else inexact | moments.inexact


@jit
def take_correlations(
    found: NDArray[np.complex128],
    origins: NDArray[np.float64],
    radix: float,
    integral: bool,
    pack: NDArray[np.int64],
    sums: NDArray[Any],
    rest: int,
) -> None:
    """Put the sums of one slice, or two, in their place, and take them from what is left over.

    Parameters
    ----------
    found : ndarray of shape (half of the rows, columns)
        Sums of the upper windows, and of the lower ones; if `integral`, but for rounding, whole
        numbers. Those of a second slice are added times the radix: those of the first are less
        than half of it.
    origins : ndarray of shape (1 or 2,)
        What sums are less.
    pack : ndarray of shape (1 or 2,)
        The slices.
    sums : ndarray of shape (slices, rows, >= columns)
        Those of the pack are filled; that named by `rest` is what others leave over.

    Plain twin: ``naive.slice_sums``.
    """
    half, columns = found.shape
    kind = sums.dtype.type
    numbers = np.empty(columns)
    # One loop over views of either part takes twice the time: their stride is not seen.
    for y in range(sums.shape[1]):
        both, left, first = found[y % half], sums[rest, y], sums[pack[0], y]
        if y < half:
            for x in range(columns):
                numbers[x] = both[x].real
        else:
            for x in range(columns):
                numbers[x] = both[x].imag
        if integral:
            for x in range(columns):
                numbers[x] = np.rint(numbers[x])
        if pack.size > 1:
            second, share = sums[pack[1], y], 1 / radix  # a power of 2
            for x in range(columns):
                digit = np.rint(numbers[x] * share)
                numbers[x] -= digit * radix
                second[x] = kind(digit + origins[1])
                left[x] -= kind(digit + origins[1])
        for x in range(columns):
            first[x] = kind(numbers[x] + origins[0])
            left[x] -= kind(numbers[x] + origins[0])
