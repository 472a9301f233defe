"""Slice sums of every window of an image, tile by tile, for a measure to score."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .covers import ACCUMULATORS, Accumulator
from .fourier import ROWS_OF_A_SAMPLE, Correlator, error_bound, halves, single_error_bound
from .images import Image
from .moments import Moments, Recomputed, tile_moments
from .plan import Method, make_plan
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
        sum_up = partial(_correlate, programs, plan.tile, accuracy)

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
        moments = tile_moments(image, programs, tile, accuracy, plan.inside, plan.lanes)
        inexact = fill(moments)
        if inexact is not None and inexact.any():
            part = _in_a_row(moments.recompute(moments.slices, inexact), moments)
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
    programs: Programs, windows: tuple[int, int], accuracy: float, moments: Moments
) -> tuple[NDArray[Any], Inexact]:
    """Sum slices by correlation; the largest of each channel is what the others leave over.

    Whole numbers come out rounded: in single precision, if that is certain to be right.
    """
    slices = moments.slices
    width = moments.tile.shape[1] + slices.shape[1] - 1
    integral = moments.patch.dtype != np.float64
    kind = ACCUMULATORS[moments.patch.dtype].wide
    sums = scratch.array("sums", (slices.counts.size, *moments.scatter.shape), kind)
    patch = moments.patch
    origin = np.zeros(len(patch))
    if integral:
        origin = np.rint(patch[:, ::ROWS_OF_A_SAMPLE, :width].mean(axis=(1, 2)))
    half = -(-windows[0] // 2), windows[1]
    energy = None
    if patch.dtype == np.uint8:
        energy = _read(moments, programs.correlator(half, np.float32), origin, sums, single=True)
    if energy is None:
        energy = _read(moments, programs.correlator(half, np.float64), origin, sums) or 0.0
    counts = max((int(slices.counts[k]) for k in slices.summed), default=0)
    error = 0.0 if integral else error_bound(energy, counts)
    return sums, _inexact(moments, error, accuracy)


def _read(
    moments: Moments,
    correlator: Correlator,
    origin: NDArray[np.float64],
    sums: NDArray[Any],
    *,
    single: bool = False,
) -> float | None:
    """Read slice sums off correlations, and return the largest sum of squares of a channel.

    In single precision None if some may have been rounded wrongly: a sum that was rounded to
    the wrong number is almost as far from it as the bound of its error allows, less one.
    """
    slices, integral = moments.slices, moments.patch.dtype != np.float64
    rows, columns = moments.tile.shape
    width = columns + slices.shape[1] - 1
    for c, k in enumerate(slices.left_over):
        sums[k] = moments.totals[c]
    last, most, energy = -1, 0.0, 0.0
    for which, k in enumerate(slices.summed):
        c = int(slices.channel_of_slice[k])
        if c != last:
            parts, both = halves(moments.patch[c], rows), complex(origin[c], origin[c])
            spectrum, energy = correlator.transform(*parts, columns=width, origin=both)
            last, most = c, max(most, energy)
        count = int(slices.counts[k])
        if single and single_error_bound(energy, count, 0) >= 1:
            return None
        found = correlator.correlate(spectrum, which, (-(-rows // 2), columns))
        rest = sums[slices.left_over[c]]
        farthest = take_correlations(found, origin[c] * count, integral, sums[k], rest)
        if single and farthest >= 1 - single_error_bound(energy, count, correlator.extreme()):
            return None
    return most


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
    found: NDArray[Any],
    origin: float,
    integral: bool,
    sums: NDArray[Any],
    rest: NDArray[Any],
) -> float:
    """Put the sums of a slice in their place, and take them from what others leave over.

    Returns how far they were, at most, from the whole numbers that they became.

    Parameters
    ----------
    found : ndarray of shape (half of the rows, columns), complex
        Sums of the upper windows, and of the lower ones, less `origin`; if `integral`, but for
        rounding, whole numbers.
    sums, rest : ndarray of shape (rows, >= columns)
        The first is filled.

    Plain twin: ``naive.slice_sums``.
    """
    half, columns = found.shape
    farthest = 0.0
    # One loop over views of either part takes twice the time: their stride is not seen.
    for y in range(half):
        both, upper, left = found[y], sums[y], rest[y]
        for x in range(columns):
            one = both[x].real
            if integral:
                near = np.rint(one)
                farthest = max(farthest, abs(one - near))
                one = near
            upper[x] = one + origin
            left[x] -= one + origin
    for y in range(half, sums.shape[0]):
        both, lower, left = found[y - half], sums[y], rest[y]
        for x in range(columns):
            one = both[x].imag
            if integral:
                near = np.rint(one)
                farthest = max(farthest, abs(one - near))
                one = near
            lower[x] = one + origin
            left[x] -= one + origin
    return farthest
