"""Windows one by one: followed, pixel by pixel, until they are known to score too high."""

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .._jit import COMPILED, jit
from .covers import ACCUMULATORS
from .images import Image
from .moments import scatter_of
from .slices import Indices, Slices, order_of
from .sums import Score, TileSums
from .threads import Tile, run
from .window_sums import type_of_sums

_ABREAST = 16  # neighbouring windows that are looked at together
_AT_ONCE = 512  # windows that a thread takes


class Pixels(NamedTuple):
    """The pixels of a template that count, by groups of rows, and by slices within each.

    Attributes
    ----------
    channel, row, column : ndarray of shape (n,)
        Of each.
    starts : ndarray of shape (groups * slices + 1,)
        Where each slice of each group begins there.
    """

    channel: Indices
    row: Indices
    column: Indices
    starts: Indices

    @classmethod
    def of(cls, slices: Slices, order: Indices) -> "Pixels":
        """Take every so many rows as a group, in an order of the first rows."""
        _, ys, xs, channel = slices.places
        of_slice = np.repeat(np.arange(slices.counts.size), slices.counts)
        group = np.argsort(order)[ys % order.size] * slices.counts.size + of_slice
        sort = order_of(group)
        numbers = np.bincount(group, minlength=order.size * slices.counts.size)
        starts = np.append(0, np.cumsum(numbers)).astype(np.int64)
        return cls(channel[of_slice][sort], ys[sort], xs[sort], starts)


class Windows:
    """The windows of an image of whole numbers.

    A window goes by its first pixel, counted from the image's first: places are arrays of shape
    (n,).

    Parameters
    ----------
    image : Image
    slices : Slices
    pixels : Pixels
        Of the slices.
    spare : int
        Rows of zeros below the image, or more.
    n_threads : int
        Most threads to use.

    Attributes
    ----------
    lines : ndarray of shape (channels, pixels and zeros)
        The rows of the image behind each other.
    """

    def __init__(
        self, image: Image, slices: Slices, pixels: Pixels, spare: int, n_threads: int
    ) -> None:
        self._image, self._slices, self._pixels = image, slices, pixels
        self.threads = n_threads
        self.lines = _in_one_line(image, spare * image.shape[1] + slices.shape[1] + _ABREAST)
        self._offsets = (
            pixels.channel * self.lines.shape[1] + pixels.row * image.shape[1] + pixels.column
        )

    @property
    def planes(self) -> NDArray[Any]:
        """The image: (channels, rows, columns)."""
        rows, columns = self._image.shape
        return self.lines[:, : rows * columns].reshape(-1, rows, columns)

    def places_of(self, rows: Indices, cols: Indices) -> Indices:
        """Return the places of windows."""
        return np.asarray(rows * self._image.shape[1] + cols)

    def at(self, places: Indices) -> tuple[Indices, Indices]:
        """Return rows and columns."""
        rows, cols = np.divmod(places, self._image.shape[1])
        return rows, cols

    def best_of(self, places: Indices, scatter: NDArray[np.float32], number: int) -> Indices:
        """Return so many windows, in order, of which the first group of rows scores best."""
        places, first = np.unique(places, return_index=True)
        scatter = scatter[first]
        shares = np.where(scatter > 0, 0, np.inf).astype(np.float32)
        self._look_at(places, scatter, shares, math.inf, 0)
        return np.sort(places[np.argsort(shares, kind="stable")[:number]])

    def follow(
        self,
        places: Indices,
        scatter: NDArray[np.float32],
        bounds: NDArray[np.float32],
        limit: float,
        first: int,
    ) -> Indices:
        """Look at one group of rows after the other; return the windows that none excludes.

        Parameters
        ----------
        places : ndarray of shape (n,)
            In order.
        scatter, bounds : ndarray of shape (n,)
            Of each window, at most; and what is known of its score: at least.
        limit : float
            Windows that score more are excluded.
        first : int
            Group to begin with.
        """
        groups = (self._pixels.starts.size - 1) // self._slices.counts.size
        for group in range(first, groups):
            self._look_at(places, scatter, bounds, limit, group)
            left = bounds <= limit
            places, scatter, bounds = places[left], scatter[left], bounds[left]
        return places

    def _look_at(
        self,
        places: Indices,
        scatter: NDArray[np.float32],
        bounds: NDArray[np.float32],
        limit: float,
        group: int,
    ) -> None:
        """Raise bounds by a group of rows, until they exceed a limit."""
        slices = self._slices.counts.size
        starts = self._pixels.starts[group * slices : (group + 1) * slices + 1]
        pixels = self.lines.reshape(-1)
        # Squares of 8 bits fit 31 of so many pixels.
        few = pixels.dtype == np.uint8 and np.diff(starts).max() < 2**15
        kind = np.int32 if few else np.float64

        def task(part: slice) -> None:
            window = places[part], self._offsets, starts, scatter[part], limit
            follow(pixels, *window, bounds[part], np.empty((2, _ABREAST), kind))

        firsts = range(0, places.size, _AT_ONCE)
        run(task, [slice(first, first + _AT_ONCE) for first in firsts], self.threads)

    def score(self, places: Indices, score: Score, dtype: np.dtype[Any]) -> NDArray[np.floating]:
        """Score windows, as a tile of one row."""
        slices, form = self._slices, self.lines.dtype
        shape = 1, places.size
        kind = type_of_sums(form, self._image.magnitude, slices.shape)
        sums = np.zeros((slices.counts.size, *shape), ACCUMULATORS[form].wide)
        totals, squares = np.zeros((2, slices.channels, *shape), kind)
        sums_at(
            self.lines.reshape(-1), places, self._offsets, self._pixels.starts,
            slices.channel_of_slice, sums, totals, squares,
        )  # fmt: skip
        scatter, scores = np.empty(shape), np.empty(shape, dtype)
        scatter_of(totals, squares, slices.pixels, scatter)
        tile = Tile(0, 1, 0, places.size)
        score(TileSums(sums, totals, scatter, tile, tile.place, self._image.scale), scores)
        return np.asarray(scores[0])


def _in_one_line(image: Image, spare: int) -> NDArray[Any]:
    """Put the lines of each plane behind each other: (channels, pixels and zeros)."""
    rows, columns = image.shape
    planes = np.zeros((len(image.planes), rows * columns + spare), image.form)
    for plane, greys in zip(planes, image.planes, strict=True):
        pixels = plane[: rows * columns].reshape(rows, columns)
        for row, line in zip(pixels, greys, strict=True):
            row[:] = image.less_offset(line)  # which needs memory
        if image.bad is not None:
            pixels[image.bad] = 0  # as in a patch
    return planes


def _sum_in_llvm() -> Any:
    """Make `_sum_deviations` for compiled code, as vectors of LLVM."""

    def typed(
        context: Any, pixels: Any, offsets: Any, start: Any, stop: Any, first: Any, total: Any,
        squares: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        return types.none(pixels, offsets, whole, whole, whole, total, squares), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def data(i: int) -> Any:
            return context.make_array(signature.args[i])(context, builder, arguments[i]).data

        def item(i: int) -> tuple[Any, int]:
            kind = context.get_data_type(signature.args[i].dtype)
            return kind, context.get_abi_sizeof(kind)

        grey, size = item(0)
        lane, width = item(5)
        lanes, one = ir.VectorType(lane, _ABREAST), ir.IntType(64)(1)
        prefix = "f" if isinstance(lane, ir.DoubleType) else ""
        add, subtract, multiply = (
            getattr(builder, prefix + name) for name in ("add", "sub", "mul")
        )
        windows, offsets = builder.gep(data(0), [arguments[4]]), data(1)

        def greys(i: Any) -> Any:
            place = builder.gep(windows, [builder.load(builder.gep(offsets, [i]))])
            vector = builder.bitcast(place, ir.VectorType(grey, _ABREAST).as_pointer())
            loaded = builder.load(vector, align=size)
            if not prefix:
                return builder.zext(loaded, lanes)
            return (builder.uitofp if size == 1 else builder.sitofp)(loaded, lanes)

        base = greys(arguments[2])  # or digits are lost
        start, before = builder.add(arguments[2], one), builder.block
        head, body, done = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        i, total, squares = builder.phi(start.type), builder.phi(lanes), builder.phi(lanes)
        builder.cbranch(builder.icmp_signed("<", i, arguments[3]), body, done)
        builder.position_at_end(body)
        deviations = subtract(greys(i), base)
        i.add_incoming(start, before)
        i.add_incoming(builder.add(i, one), body)
        for sums, more in ((total, deviations), (squares, multiply(deviations, deviations))):
            sums.add_incoming(ir.Constant(lanes, None), before)
            sums.add_incoming(add(sums, more), body)
        builder.branch(head)
        builder.position_at_end(done)
        for which, sums in ((5, total), (6, squares)):
            builder.store(sums, builder.bitcast(data(which), lanes.as_pointer()), align=width)
        return context.get_dummy_value()

    return intrinsic(typed)


def _sum_in_python(
    pixels: Any, offsets: Any, start: int, stop: int, first: int, total: Any, squares: Any
) -> None:
    """Sum deviations from one of the pixels of a slice, for `_ABREAST` windows beside each other.

    This is what stands for `_sum_in_llvm` where nothing is compiled.

    Parameters
    ----------
    pixels : ndarray, 1-D
    offsets : ndarray
        How far each pixel is from the first of its window.
    start, stop : int
        Of the slice there.
    first : int
        Index of the first pixel of the first window.
    total, squares : ndarray of shape (_ABREAST,), filled
    """
    total[:] = squares[:] = 0
    lanes = np.arange(_ABREAST)
    base = pixels[first + offsets[start] + lanes].astype(total.dtype)
    for place in offsets[start + 1 : stop]:
        deviations = pixels[first + place + lanes].astype(total.dtype) - base
        total += deviations
        squares += deviations * deviations


_sum_deviations: Any = _sum_in_llvm() if COMPILED else _sum_in_python


@jit
def follow(
    pixels: NDArray[Any],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    scatter: NDArray[np.float32],
    limit: float,
    bounds: NDArray[np.float32],
    sums: NDArray[Any],
) -> None:
    """Add to the bounds of windows what slices leave open, until they exceed a limit.

    Neighbours are looked at together.

    Parameters
    ----------
    pixels : ndarray, 1-D
    places : ndarray of shape (n,)
        Index of the first pixel of each window, in order.
    offsets : ndarray of shape (m,)
        How far others are from it, slice by slice.
    starts : ndarray of shape (slices + 1,)
        Where each slice begins there.
    scatter, bounds : ndarray of shape (n,)
        The bounds are raised.
    sums : ndarray of shape (2, _ABREAST)
        Room for sums of deviations and of their squares, of a type that holds them exactly.

    Plain twin: ``naive.row_bounds``.
    """
    i = 0
    while i < places.size:
        stop = i + 1
        while stop < places.size and places[stop] < places[i] + _ABREAST:
            stop += 1
        for k in range(starts.size - 1):
            count = starts[k + 1] - starts[k]
            if count > 1:
                _sum_deviations(
                    pixels, offsets, starts[k], starts[k + 1], places[i], sums[0], sums[1]
                )
                some = False
                for j in range(i, stop):
                    total = float(sums[0, places[j] - places[i]])
                    square = float(sums[1, places[j] - places[i]])
                    bounds[j] += (square - total * total / count) / scatter[j]
                    some |= bounds[j] <= limit
                if not some:
                    break
        i = stop


@jit
def sums_at(
    pixels: NDArray[Any],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    channel: NDArray[np.int64],
    sums: NDArray[Any],
    totals: NDArray[Any],
    squares: NDArray[Any],
) -> None:
    """Sum the slices of windows, and the squares of their pixels.

    Other parameters are those of `follow`.

    Parameters
    ----------
    starts : ndarray of shape (groups * slices + 1,)
        Where each slice of each group of pixels begins.
    channel : ndarray of shape (slices,)
    sums : ndarray of shape (slices, 1, n), zeros
        Filled, as are the others.
    totals, squares : ndarray of shape (channels, 1, n), zeros

    Plain twin: ``naive.slice_sums``.
    """
    slices = channel.size
    for i in range(places.size):
        for k in range(starts.size - 1):
            total, square = np.int64(0), np.int64(0)
            for j in range(starts[k], starts[k + 1]):
                grey = np.int64(pixels[places[i] + offsets[j]])
                total += grey
                square += grey * grey
            sums[k % slices, 0, i] += total
            totals[channel[k % slices], 0, i] += total
            squares[channel[k % slices], 0, i] += square
