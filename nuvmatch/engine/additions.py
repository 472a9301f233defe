"""The additions of a cover, many windows at a time."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .._jit import COMPILED, jit

# So many neighbouring windows are added up together, in registers: four of 64 bytes each
# for the sums of 8-bit greys.
LANES = 128 if COMPILED else 4


def _piece_in_llvm() -> Any:
    """Make `_add_piece` for compiled code.

    A loop over arrays would keep the sums in memory from one addition to the next; as
    vectors of LLVM they stay in registers, which takes less than half of the time.
    """

    def typed(
        context: Any, pixels: Any, ends: Any, offsets: Any, bounds: Any, here: Any, there: Any,
        fresh: Any, total: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        arguments = (pixels, ends, offsets, bounds, whole, whole, types.boolean, total)
        return types.none(*arguments), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def data(i: int) -> Any:
            return context.make_array(signature.args[i])(context, builder, arguments[i]).data

        def item(i: int) -> tuple[Any, int]:
            kind = context.get_data_type(signature.args[i].dtype)
            return kind, context.get_abi_sizeof(kind)

        def vector_at(pointer: Any, kind: Any) -> Any:
            return builder.bitcast(pointer, ir.VectorType(kind, LANES).as_pointer())

        offsets, bounds, total = data(2), data(3), data(7)
        lane, _ = item(1)
        lanes = ir.VectorType(lane, LANES)
        prefix = "f" if isinstance(lane, ir.DoubleType) else ""
        held = ir.Constant(lanes, None)
        for part in range(4):
            kind, size = item(part % 2)
            source = builder.gep(data(part % 2), [arguments[4 + part % 2]])
            start, stop = (
                builder.load(builder.gep(bounds, [ir.IntType(64)(part + i)])) for i in (0, 1)
            )
            before = builder.block
            head, body, done = (builder.append_basic_block() for _ in range(3))
            builder.branch(head)
            builder.position_at_end(head)
            i, sums = builder.phi(start.type), builder.phi(lanes)
            builder.cbranch(builder.icmp_signed("<", i, stop), body, done)
            builder.position_at_end(body)
            place = builder.gep(source, [builder.load(builder.gep(offsets, [i]))])
            more = builder.load(vector_at(place, kind), align=size)
            more = more if kind == lane else builder.zext(more, lanes)
            later = getattr(builder, prefix + ("sub" if part < 2 else "add"))(sums, more)
            i.add_incoming(start, before)
            i.add_incoming(builder.add(i, ir.IntType(64)(1)), body)
            sums.add_incoming(held, before)
            sums.add_incoming(later, body)
            builder.branch(head)
            builder.position_at_end(done)
            held = sums
        kind, size = item(7)
        target = vector_at(total, kind)
        wide = target.type.pointee
        if kind != lane:
            held = (builder.sitofp if prefix or isinstance(kind, ir.DoubleType) else builder.zext)(
                held, wide
            )
        known = builder.select(
            arguments[6], ir.Constant(wide, None), builder.load(target, align=size)
        )
        add = builder.fadd if isinstance(kind, ir.DoubleType) else builder.add
        builder.store(add(known, held), target, align=size)
        return context.get_dummy_value()

    return intrinsic(typed)


def _piece_in_python(
    pixels: Any,
    ends: Any,
    offsets: Any,
    bounds: Any,
    here: int,
    there: int,
    fresh: bool,
    total: Any,
) -> None:
    """Add up one piece of a slice for `LANES` windows beside each other.

    This is what stands for `_piece_in_llvm` where nothing is compiled.

    Parameters
    ----------
    pixels, ends : ndarray, 1-D
        Pixels and running sums of all planes; sums are formed in the type of the latter.
    offsets : ndarray
        Index into `pixels` or `ends` of what each addition adds to the first window.
    here, there : int
        How far from the first window these are, in `pixels` and in `ends`.
    bounds : ndarray of shape (5,)
        Of the piece.
    fresh : bool
        Whether `total` holds nothing yet.
    total : ndarray of shape (LANES,)
    """
    part = np.zeros(LANES, ends.dtype)
    for kind in range(4):
        source, shift = (ends, there) if kind % 2 else (pixels, here)
        operation = np.add if kind >= 2 else np.subtract
        for i in range(bounds[kind], bounds[kind + 1]):
            place = offsets[i] + shift
            operation(part, source[place : place + LANES], out=part)
    total[:] = part if fresh else total + part


_add_piece: Any = _piece_in_llvm() if COMPILED else _piece_in_python


@jit
def _running_sums(planes: NDArray[Any], axes: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Sum all pixels above, or left of, each place of each plane; integers may wrap.

    Parameters
    ----------
    planes : ndarray of shape (planes, rows, columns)
    axes : ndarray of shape (planes,)
        0: ``out[c, y, x] = planes[c, :y, x].sum()``; the last column is not used.
        1: ``out[c, y, x] = planes[c, y, :x].sum()``; the last row is not used.
        -1: nothing of the plane is used.
    out : ndarray of shape (planes, rows + 1, columns + 1), filled
    """
    channels, rows, columns = planes.shape
    for c in range(channels):
        if axes[c] == 0:
            for x in range(columns):
                out[c, 0, x] = 0
            for y in range(rows):
                greys, above, line = planes[c, y], out[c, y], out[c, y + 1]
                for x in range(columns):
                    line[x] = above[x]
                    line[x] += greys[x]
        elif axes[c] == 1:
            for y in range(rows):
                greys, line = planes[c, y], out[c, y]
                line[0] = 0
                total = line[0]
                for x in range(columns):
                    total += greys[x]
                    line[x + 1] = total


@jit
def sum_slices(
    planes: NDArray[Any],
    runs: NDArray[Any],
    axes: NDArray[np.int64],
    plane: NDArray[np.int64],
    ys: NDArray[np.int64],
    xs: NDArray[np.int64],
    bounds: NDArray[np.int64],
    starts: NDArray[np.int64],
    steps: NDArray[np.int64],
    totals: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """Sum every slice over all windows of a tile.

    Parameters
    ----------
    planes : ndarray of shape (planes, rows + h - 1, columns + w - 1)
        Pixels.
    runs : ndarray of shape (planes, rows + h, columns + w), filled
        Their running sums; its type is the narrow one.
    axes, plane, ys, xs, bounds, starts, steps
        A `Program`.
    totals : ndarray of shape (planes, rows, columns)
        Sum over all pixels of the window that count.
    sums : ndarray of shape (slices, rows, a multiple of `LANES`), filled

    Plain twin: ``naive.slice_sums``.
    """
    slices, rows, columns = sums.shape
    _running_sums(planes, axes, runs)
    offsets = np.empty(ys.size, np.int64)
    for piece in range(len(bounds)):
        for part in range(4):
            items = runs.shape if part % 2 else planes.shape
            for i in range(bounds[piece, part], bounds[piece, part + 1]):
                offsets[i] = ys[i] * items[2] + xs[i]
    pixels = planes.reshape(-1)
    ends = runs.reshape(-1)
    for first in range(0, columns, LANES):
        for k in range(slices):
            here = plane[k] * planes.shape[1] * planes.shape[2] + first
            there = plane[k] * runs.shape[1] * runs.shape[2] + first
            for piece in range(starts[k], starts[k + 1]):
                for y in range(rows):
                    _add_piece(
                        pixels, ends, offsets, bounds[piece],
                        here + y * planes.shape[2], there + y * runs.shape[2],
                        piece == starts[k], sums[k, y, first : first + LANES],
                    )  # fmt: skip
    for y in range(rows):
        for k in range(slices):
            if starts[k] == starts[k + 1]:  # a root has what the others leave over
                rest, whole = sums[k, y], totals[plane[k], y]
                for x in range(columns):
                    rest[x] = whole[x]
        for i in range(len(steps)):
            rest, taken = sums[steps[i, 1], y], sums[steps[i, 0], y]
            for x in range(columns):
                rest[x] -= taken[x]
