"""Joint histograms of every window: what each bin of the image holds of the template."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .additions import LANES
from .boxes import box_sums, power_sums
from .covers import ACCUMULATORS
from .fourier import error_bound
from .histograms import LANES as COUNTED
from .histograms import add_terms, sum_terms
from .images import Image
from .plan import product_tile
from .products import Pattern
from .programs import Program, Programs, add_up
from .slices import Slices
from .threads import Tile, run, scratch, tiles
from .window_sums import bad_counts

_BYTES = ACCUMULATORS[np.dtype(np.uint8)]

_ROWS = 128  # of a tile of joint histograms

# How often faster than by an addition a pixel is counted by its bit; and picoseconds a window to
# make an image of one bin, and sum it over windows.
_BITS, _PLANE = 3, 5000

_SURE = 0.25  # error of sums of whole numbers, at most: they are rounded to the right ones

BinSums = Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]
Shape = tuple[int, int]


class JointSums(NamedTuple):
    """Sums of ``n log2 n``, each of shape (rows, columns); overwritten by the next."""

    joint: NDArray[np.float64]  # over the bins of image and template together
    of_image: NDArray[np.float64]  # over the bins of the image
    largest: NDArray[np.uint32]  # pixels in the fullest bin of the image


class JointSumsOf(Protocol):
    """What sums a channel of a tile."""

    def __call__(self, c: int, n_log_n: NDArray[np.float64]) -> JointSums:
        """Sum by a table, or by none in single precision."""


def for_each_joint_sum(
    image: Image,
    bins: NDArray[Any],
    number: int,
    mask: Programs,
    slices: Sequence[Programs],
    score: Callable[[Shape, JointSumsOf], NDArray[np.float64]],
    out: NDArray[Any],
    n_threads: int,
) -> None:
    """Fill a score map from the joint histogram of every window's bins with slices.

    Parameters
    ----------
    bins : ndarray of shape (channels, H, W)
        The bin of each pixel of the image, 0 .. number - 1.
    mask : Programs
        Of all pixels that count. Windows with a bad one there give no evidence: NaN.
    slices : sequence of Programs
        Of each channel by itself.
    score : callable
        Returns the scores of a tile, given its shape, and a function that sums ``n log2 n`` over
        the joint histograms of a channel, as `sum_terms` does. Windows that are flat are all in
        one bin, as many others may be: which of them give evidence is the score's to say.
    out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, filled
    """
    programs = [_additions(own, number * out.size) for own in slices]

    def score_tile(tile: Tile) -> NDArray[np.float64]:
        def sums_of(c: int, n_log_n: NDArray[np.float64]) -> JointSums:
            own, program = slices[c].slices, programs[c]
            under = np.ascontiguousarray(bins[c][tile.under(own.shape)])  # of one layout
            columns = tile.shape[1] if program is None else COUNTED
            joint, of_image = scratch.array("joint", (2, tile.shape[0], columns), np.float64)
            largest = scratch.array("largest", joint.shape, np.uint32)
            scales = np.frexp(np.append(own.counts, own.pixels))[1] - 1
            scales *= n_log_n.size == 0
            about = scales, n_log_n, joint, of_image, largest
            if program is None:
                starts, ys, xs, _ = own.places
                sum_terms(under, number, ys, xs, starts, *about)
            else:
                _add_bins(under, number, own, program, *about)
            joint += np.dot(scales[:-1], own.counts)
            of_image += scales[-1] * own.pixels
            return JointSums(*(sums[:, : tile.shape[1]] for sums in (joint, of_image, largest)))

        return score(tile.shape, sums_of)

    _fill(image, mask, tiles(out.shape, _ROWS, COUNTED), score_tile, out, n_threads)


def _additions(slices: Programs, windows: int) -> Program | None:
    """Find additions that count the pixels of slices sooner than bits do: where tones are flat."""
    if not slices.worth_a_search(_BYTES, windows, exact=True):
        return None
    additions = slices.estimated_cost(_BYTES, 1) / 32 + _PLANE
    bits = slices.slices.pixels * _BYTES.prices.pixel / 32 / _BITS
    return slices.additions(_BYTES, 1, searched=True) if additions < bits else None


def _add_bins(
    under: NDArray[Any],
    number: int,
    slices: Slices,
    program: Program,
    scales: NDArray[np.int32],
    n_log_n: NDArray[np.float64],
    *sums: NDArray[Any],
) -> None:
    """Do what `sum_terms` does: a bin of the image is an image of its own, of 1 and 0."""
    rows, (height, width) = len(sums[0]), slices.shape
    for one in sums:
        one[:] = 0
    plane = scratch.array("in bin", (1, len(under), COUNTED + width - 1), np.uint8)
    plane[:, :, under.shape[1] :] = 0
    in_bin = scratch.array("window sums", (1, rows, COUNTED), np.uint32)
    cells = scratch.array("cells", (program.plane.size, rows, COUNTED), _BYTES.wide)
    for i in range(number):
        np.equal(under, i, out=plane[0, :, : under.shape[1]])
        if plane.any():
            box_sums(plane.astype(np.uint16), height, width, in_bin)
            add_up(plane, program, in_bin, cells)
            counts = cells[: slices.counts.size].view(np.uint32)
            totals = counts.sum(axis=0, dtype=np.uint32)
            add_terms(counts, totals, scales, n_log_n, *sums)


def _padded(columns: int) -> int:
    """As many columns as are added up at once."""
    return -(-columns // LANES) * LANES


def for_each_bin_sum(
    image: Image,
    bins: NDArray[Any],
    number: int,
    pattern: Pattern,
    score: Callable[[Shape, Callable[[int], BinSums]], NDArray[np.float64]],
    out: NDArray[Any],
    n_threads: int,
) -> None:
    """Fill a score map from the sums of a pattern over every window's bins.

    Parameters
    ----------
    score : callable
        Returns the scores of a tile, given their shape, and a function that yields for a
        channel the sums of the pattern's numbers, and the counts of pixels, (rows, columns),
        in one bin of the image after the other. These are overwritten by the next. Counts are
        whole numbers, and so are sums where the pattern's numbers are.

    Other parameters are those of `for_each_joint_sum`.
    """
    most = product_tile(pattern.mask.shape, out.shape, 1)

    def score_tile(tile: Tile) -> NDArray[np.float64]:
        def sums(c: int) -> BinSums:
            under = bins[c][tile.under(pattern.mask.shape)]
            return _bin_sums(under, number, pattern, most, c, tile.shape)

        return score(tile.shape, sums)

    _fill(image, pattern.programs, tiles(out.shape, *most), score_tile, out, n_threads)


def _bin_sums(
    under: NDArray[Any], number: int, pattern: Pattern, most: Shape, c: int, shape: Shape
) -> BinSums:
    """Sum a channel of a pattern over each bin of what is under a tile, two bins at a time."""
    energy = float((pattern.planes[c] ** 2).sum())
    integral = pattern.integral and error_bound(float(under.size), energy) < _SURE
    full = bool(pattern.mask.all())
    correlator = pattern.correlator(most, counts=not full)
    two = scratch.array("two bins", (2, *under.shape), np.uint8)
    found = scratch.array("of two bins", (2, 2, *shape), np.float64)
    sums, counts = scratch.array("sums and counts", (2, *shape), np.complex128)
    rest = np.empty((2, *shape))
    rest[0], rest[1] = pattern.sums[c], np.count_nonzero(pattern.mask)
    for j in range(0, number - 1, 2):
        np.equal(under, j, out=two[0].view(np.bool_))
        np.equal(under, j + 1, out=two[1].view(np.bool_))
        spectrum, _ = correlator.transform(*two)
        sums[:] = correlator.correlate(spectrum, c, shape)
        if full:
            _count_two_bins(two, pattern.mask.shape, counts)
        else:
            counts[:] = correlator.correlate(spectrum, len(pattern.planes), shape)
        take_two_bins(sums, counts, integral, found, rest)
        yield found[0, 0], found[0, 1]
        yield found[1, 0], found[1, 1]
    if number % 2:
        yield rest[0], rest[1]


def _count_two_bins(
    two: NDArray[np.uint8], window: tuple[int, ...], counts: NDArray[np.complex128]
) -> None:
    """Count what is in two bins, by sums of numbers 1 and 2, n + 2 m, and of squares, n + 4 m."""
    boxes, squares = scratch.array("boxes", (2, 1, *counts.shape), np.uint32)
    power_sums(two[:1] + 2 * two[1:], window[0], window[1], boxes, squares)
    np.subtract(squares[0], boxes[0], out=squares[0])
    np.subtract(boxes[0], squares[0], out=counts.real)
    np.divide(squares[0], 2, out=counts.imag)


def _fill(
    image: Image,
    mask: Programs,
    todo: list[Tile],
    score: Callable[[Tile], NDArray[np.float64]],
    out: NDArray[Any],
    n_threads: int,
) -> None:
    """Fill a score map tile by tile, with NaN where windows have a bad pixel."""

    def task(tile: Tile) -> None:
        rows, columns = tile.shape
        scores = score(tile)[:, :columns]
        bad = image.bad_patch(tile, mask.slices.shape, _padded(columns))
        if bad is not None:
            scores[bad_counts(bad, mask, rows)[:, :columns] > 0] = np.nan
        out[tile.place] = scores

    run(task, todo, n_threads)


@jit
def take_two_bins(
    sums: NDArray[np.complex128],
    counts: NDArray[np.complex128],
    integral: bool,
    found: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> None:
    """Take apart what two bins have been correlated to, and take it from what is left over.

    Parameters
    ----------
    sums, counts : ndarray of shape (rows, columns)
        Of the first bin in the real part, of the second in the imaginary one. Counts, and
        sums if `integral`, are whole numbers but for rounding.
    found : ndarray of shape (2, 2, rows, columns), filled
        Sum and count of either bin.
    rest : ndarray of shape (2, rows, columns), from which sums and counts are taken

    Plain twin: ``naive.bin_sums``.
    """
    rows, columns = sums.shape
    for y in range(rows):
        for x in range(columns):
            first, second = sums[y, x].real, sums[y, x].imag
            if integral:
                first, second = np.rint(first), np.rint(second)
            found[0, 0, y, x] = first
            found[1, 0, y, x] = second
            rest[0, y, x] = rest[0, y, x] - first - second
            first, second = np.rint(counts[y, x].real), np.rint(counts[y, x].imag)
            found[0, 1, y, x] = first
            found[1, 1, y, x] = second
            rest[1, y, x] = rest[1, y, x] - first - second
