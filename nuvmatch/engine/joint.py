"""Joint histograms of every window: what each bin of the image holds of the template."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

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

Scores = Sequence[NDArray[np.float64]]  # of a tile, by each measure
BinSums = Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]
Shape = tuple[int, int]


class JointSums(NamedTuple):
    """Sums over joint histograms: (channels, rows, columns), or (.., 0) of what is not asked."""

    joint: NDArray[np.float64]  # of n log2 n, over the bins of image and template together
    of_image: NDArray[np.float64]  # over the bins of the image
    largest: NDArray[np.uint32]  # pixels in the fullest bin of the image
    explained: NDArray[np.float64]  # of (sum of values)^2 / pixels, over the bins of the image


class Terms(NamedTuple):
    """What is summed over joint histograms."""

    n_log_n: NDArray[np.float64] | None  # by count; empty: in single precision; None: nothing
    values: Sequence[NDArray[np.float64]]  # of each channel's slices; or none


SumUp = Callable[[Terms], JointSums]  # those of the last terms with a table, and without, are kept


def for_each_joint_sum(
    image: Image,
    bins: NDArray[Any],
    number: int,
    mask: Programs,
    slices: Sequence[Programs],
    score: Callable[[SumUp], Scores],
    out: Sequence[NDArray[Any]],
    n_threads: int,
) -> None:
    """Fill score maps from the joint histogram of every window's bins with slices.

    Parameters
    ----------
    bins : ndarray of shape (channels, H, W)
        The bin of each pixel of the image, 0 .. number - 1.
    mask : Programs
        Of all pixels that count. Windows with a bad one there give no evidence: NaN.
    slices : sequence of Programs
        Of each channel by itself.
    score : callable
        Returns the scores of a tile for each map, given a function that sums terms over the
        joint histograms, as `sum_terms` does. Windows that are flat are all in one bin, as many
        others may be: which of them give evidence is the score's to say.
    out : sequence of ndarray of shape (H - h + 1, W - w + 1), float32 or float64, filled
    """
    shape = out[0].shape[0], out[0].shape[1]
    programs = [_additions(own, number * shape[0] * shape[1]) for own in slices]

    def score_tile(tile: Tile) -> Scores:
        def sum_up(terms: Terms) -> JointSums:
            sums = _room(terms, (len(bins), *tile.shape))
            for c, (own, program) in enumerate(zip(slices, programs, strict=True)):
                under = np.ascontiguousarray(bins[c][tile.under(own.slices.shape)])  # one layout
                values = terms.values[c] if terms.values else np.empty(0)
                about = own.slices, program, terms.n_log_n, values
                _sum_channel(under, number, *about, JointSums(*(one[c] for one in sums)))
            return sums

        return score(sum_up)

    _fill(image, mask, tiles(shape, _ROWS, COUNTED), score_tile, out, n_threads)


def _room(terms: Terms, shape: tuple[int, int, int]) -> JointSums:
    """Make room for sums; without columns where they are not asked for."""
    key = "by table" if terms.n_log_n is not None and terms.n_log_n.size > 0 else ""
    none = *shape[:2], 0
    entropies = (2, *(none if terms.n_log_n is None else shape))
    joint, of_image = scratch.array(f"joint {key}", entropies, np.float64)
    largest = scratch.array(f"largest {key}", shape, np.uint32)
    explained = scratch.array(f"explained {key}", shape if terms.values else none, np.float64)
    return JointSums(joint, of_image, largest, explained)


def _sum_channel(
    under: NDArray[Any],
    number: int,
    own: Slices,
    program: Program | None,
    n_log_n: NDArray[np.float64] | None,
    values: NDArray[np.float64],
    sums: JointSums,
) -> None:
    """Sum terms of a channel: each less a whole number, which is given back afterwards."""
    table = np.empty(0) if n_log_n is None else n_log_n
    scales = np.frexp(np.append(own.counts, own.pixels))[1] - 1
    scales *= table.size == 0
    if program is None:
        starts, ys, xs, _ = own.places
        sum_terms(under, number, ys, xs, starts, scales, table, values, *sums)
    else:
        _add_bins(under, number, own, program, scales, table, values, sums)
    np.add(sums.joint, np.dot(scales[:-1], own.counts), out=sums.joint)
    np.add(sums.of_image, scales[-1] * own.pixels, out=sums.of_image)


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
    values: NDArray[np.float64],
    sums: JointSums,
) -> None:
    """Do what `sum_terms` does: a bin of the image is an image of its own, of 1 and 0."""
    (rows, columns), (height, width) = sums.largest.shape, slices.shape
    wide = [np.zeros((rows, COUNTED if one.size else 0), one.dtype) for one in sums]
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
            add_terms(counts, totals, scales, n_log_n, values, *wide)
    into: tuple[NDArray[Any], ...] = sums
    for one, found in zip(into, wide, strict=True):
        one[:] = found[:, :columns]


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

    def score_tile(tile: Tile) -> Scores:
        def sums(c: int) -> BinSums:
            under = bins[c][tile.under(pattern.mask.shape)]
            return _bin_sums(under, number, pattern, most, c, tile.shape)

        return [score(tile.shape, sums)]

    _fill(image, pattern.programs, tiles(out.shape, *most), score_tile, [out], n_threads)


def _bin_sums(
    under: NDArray[Any], number: int, pattern: Pattern, most: Shape, c: int, shape: Shape
) -> BinSums:
    """Sum a channel of a pattern over each bin of what is under a tile, a few bins at a time.

    Two are the real and the imaginary part of one patch; or four, where pairs can be told apart
    as the digits of one whole number to the base of a radix.
    """
    full, mask = bool(pattern.mask.all()), len(pattern.planes)
    integral, radix = _digits(under.size, pattern, c)
    size = 4 if radix else 2
    correlator = pattern.correlator(most, counts=not full)
    some = scratch.array("some bins", (size, *under.shape), np.uint8)
    found = scratch.array("of some bins", (2, size, *shape), np.float64)
    rest = np.empty((2, *shape))
    rest[0], rest[1] = pattern.sums[c], np.count_nonzero(pattern.mask)
    for first in range(0, number - 1, size):
        for i, one in enumerate(some):
            np.equal(under, first + i, out=one.view(np.bool_))
        parts = list(some)
        if radix:
            parts = [some[i] + np.int32(radix) * some[i + 1] for i in (0, 2)]
        spectrum, _ = correlator.transform(*parts)
        take_bins(correlator.correlate(spectrum, c, shape), radix, integral, found[0])
        if full:
            for i in range(0, size, 2):
                _count_two_bins(some[i : i + 2], pattern.mask.shape, found[1, i : i + 2])
        else:
            take_bins(correlator.correlate(spectrum, mask, shape), radix, True, found[1])
        for i in range(min(size, number - first)):
            rest -= found[:, i]
            yield found[0, i], found[1, i]
    if number % size == 1:
        yield rest[0], rest[1]


def _digits(pixels: int, pattern: Pattern, c: int) -> tuple[bool, int]:
    """Tell whether sums over so many pixels are whole numbers, and a radix; 0, if that errs."""
    plane = pattern.planes[c]
    energy = max(float((plane**2).sum()), float(np.count_nonzero(pattern.mask)))
    integral = pattern.integral and error_bound(float(pixels), energy) < _SURE
    largest = max(float(abs(plane).sum()), float(plane.size))
    radix = 2 ** int(2 * largest + 1).bit_length()
    told = radix < 2**31 and error_bound(pixels * float(radix) ** 2, energy) < _SURE
    return integral, radix if integral and told else 0


def _count_two_bins(
    two: NDArray[np.uint8], window: tuple[int, ...], counts: NDArray[np.float64]
) -> None:
    """Count what is in two bins, by sums of numbers 1 and 2, n + 2 m, and of squares, n + 4 m."""
    boxes, squares = scratch.array("boxes", (2, 1, *counts.shape[1:]), np.uint32)
    power_sums(two[:1] + 2 * two[1:], window[0], window[1], boxes, squares)
    np.subtract(squares[0], boxes[0], out=squares[0])
    np.subtract(boxes[0], squares[0], out=counts[0])
    np.divide(squares[0], 2, out=counts[1])


def _fill(
    image: Image,
    mask: Programs,
    todo: list[Tile],
    score: Callable[[Tile], Scores],
    out: Sequence[NDArray[Any]],
    n_threads: int,
) -> None:
    """Fill score maps tile by tile, with NaN where windows have a bad pixel."""

    def task(tile: Tile) -> None:
        rows, columns = tile.shape
        every = score(tile)
        bad = image.bad_patch(tile, mask.slices.shape, _padded(columns))
        hit = None if bad is None else bad_counts(bad, mask, rows)[:, :columns] > 0
        for scores, whole in zip(every, out, strict=True):
            if hit is not None:
                scores[hit] = np.nan
            whole[tile.place] = scores

    run(task, todo, n_threads)


@jit
def take_bins(
    correlations: NDArray[np.complex128],
    radix: int,
    integral: bool,
    found: NDArray[np.float64],
) -> None:
    """Take apart what bins have been correlated to.

    Parameters
    ----------
    correlations : ndarray of shape (rows, columns)
        If `integral`, whole numbers but for rounding.
    radix : int
        Real and imaginary part have two digits to that base, which may be negative, the lower
        one first; 0: each is of one bin.
    found : ndarray of shape (2 or 4, rows, columns), filled

    Plain twin: ``naive.bin_sums``.
    """
    base = float(radix)
    share = 1 / base if radix > 0 else 0.0
    for y in range(correlations.shape[0]):
        both = correlations[y]
        if radix == 0:
            one, two = found[0, y], found[1, y]
            for x in range(both.size):
                real, imag = both[x].real, both[x].imag
                one[x] = np.rint(real) if integral else real
                two[x] = np.rint(imag) if integral else imag
        else:
            low, high = found[0, y], found[1, y]
            for x in range(both.size):
                high[x] = np.rint(both[x].real * share)
                low[x] = np.rint(both[x].real - base * high[x])
            low, high = found[2, y], found[3, y]
            for x in range(both.size):
                high[x] = np.rint(both[x].imag * share)
                low[x] = np.rint(both[x].imag - base * high[x])
