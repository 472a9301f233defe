"""Sums over the joint histograms of many windows at a time.

For each bin of the image there is one bit a window: whether a pixel of it falls into the bin. Full
adders count these, as logic on whole registers of windows; what they leave are the digits of
the counts. Full adders take three bits of one weight, and leave one of it and one of twice it.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from .._jit import COMPILED, jit

# So many neighbouring windows are counted together. Neighbours of 8 are apart, in the order in
# which the digits of counts are put together: window 8 j + p stands at p LANES / 8 + j.
LANES = 256
_DIGITS = 8
_COUNTED = 248  # pixels of a slice at a time: a multiple of 8, and what 8 digits hold
_BINS_AT_ONCE = 64  # bins of the image

# log2(1 + x) / x - 1 in powers of x, for 0 <= x <= 1: within 5e-8 of the logarithm.
_LOGARITHM = (
    0.4426899, -0.721165776, 0.47868371, -0.347301096, 0.241864771, -0.137521327, 0.052058991,
    -0.00930916052,
)  # fmt: skip

_LONG = ir.IntType(64)
_WORDS = ir.VectorType(_LONG, LANES // 64)


def _splat(number: int) -> ir.Constant:
    return ir.Constant(_WORDS, [_LONG(number)] * _WORDS.count)


def _data(context: Any, builder: Any, signature: Any, arguments: Any, i: int) -> Any:
    return context.make_array(signature.args[i])(context, builder, arguments[i]).data


def _add_bits(builder: Any, digits: list[Any], bits: list[Any]) -> None:
    """Add 1, 2, 4 or 8 bits to the digits of counts."""
    for k, digit in enumerate(digits):
        carries = []
        for a, b in zip(bits[::2], bits[1::2], strict=True) if len(bits) > 1 else ():
            either = builder.xor(digit, a)
            carry = builder.or_(builder.and_(digit, a), builder.and_(either, b))
            digit = builder.xor(either, b)
            carries.append(carry)
        if not carries:
            carries.append(builder.and_(digit, bits[0]))
            digit = builder.xor(digit, bits[0])
        digits[k] = digit
        bits = carries


def _put_together(builder: Any, digits: list[Any]) -> None:
    """Make bytes of digits: a transposition of 8 x 8 bits, in blocks of 4, of 2 and of 1."""
    for step, mask in ((4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333), (1, 0x5555555555555555)):
        for p in (p for p in range(_DIGITS) if not p & step):
            low, high = digits[p], digits[p + step]
            swapped = builder.xor(builder.lshr(low, _splat(step)), high)
            swapped = builder.and_(swapped, _splat(mask))
            digits[p + step] = builder.xor(high, swapped)
            digits[p] = builder.xor(low, builder.shl(swapped, _splat(step)))


def _count_in_llvm() -> Any:
    """Make `_count` for compiled code: digits stay in registers from pixel to pixel."""

    def typed(
        context: Any, planes: Any, offsets: Any, start: Any, stop: Any, here: Any, fresh: Any,
        counts: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        arguments = (planes, offsets, whole, whole, whole, types.boolean, counts)
        return types.none(*arguments), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        planes, offsets, counts = (
            _data(context, builder, signature, arguments, i) for i in (0, 1, 6)
        )
        source = builder.gep(planes, [arguments[4]])
        first, digits = arguments[2], [ir.Constant(_WORDS, None)] * _DIGITS
        for size in (8, 4, 2, 1):
            before = builder.block
            head, body, done = (builder.append_basic_block() for _ in range(3))
            builder.branch(head)
            builder.position_at_end(head)
            i, held = builder.phi(_LONG), [builder.phi(_WORDS) for _ in digits]
            after = builder.add(i, _LONG(size))
            builder.cbranch(builder.icmp_signed("<=", after, arguments[3]), body, done)
            builder.position_at_end(body)
            bits = []
            for j in range(size):
                place = builder.load(builder.gep(offsets, [builder.add(i, _LONG(j))]))
                pointer = builder.bitcast(builder.gep(source, [place]), _WORDS.as_pointer())
                bits.append(builder.load(pointer, align=1))
            more = list(held)
            _add_bits(builder, more, bits)
            for phi, known, later in zip([i, *held], [first, *digits], [after, *more], strict=True):
                phi.add_incoming(known, before)
                phi.add_incoming(later, body)
            builder.branch(head)
            builder.position_at_end(done)
            first, digits = i, held
        _put_together(builder, digits)
        narrow, wide = (ir.VectorType(ir.IntType(n), LANES // 8) for n in (8, 32))
        for p, digit in enumerate(digits):
            target = builder.gep(counts, [_LONG(p * LANES // 8)])
            target = builder.bitcast(target, wide.as_pointer())
            more = builder.zext(builder.bitcast(digit, narrow), wide)
            zero = ir.Constant(wide, None)
            known = builder.select(arguments[5], zero, builder.load(target, align=4))
            builder.store(builder.add(known, more), target, align=4)
        return context.get_dummy_value()

    return intrinsic(typed)


def _count_in_python(
    planes: Any, offsets: Any, start: int, stop: int, here: int, fresh: bool, counts: Any
) -> None:
    """Count some pixels of a slice in `LANES` windows beside each other.

    This is what stands for `_count_in_llvm` where nothing is compiled.

    Parameters
    ----------
    planes : ndarray of uint8, 1-D
        Bits of windows.
    offsets : ndarray
        Index into `planes` of the bits of each pixel, for the first window.
    start, stop : int
        Which of them are counted, `_COUNTED` at most.
    here : int
        How far from the first window these are, in `planes`.
    fresh : bool
        Whether `counts` holds nothing yet.
    counts : ndarray of uint32 of shape (LANES,)
        In the order of `LANES`.
    """
    places = offsets[start:stop, None] + here + np.arange(LANES // 8)
    found = np.unpackbits(planes[places], axis=1, bitorder="little").sum(axis=0, dtype=np.uint32)
    found = found.reshape(-1, 8).T.ravel()
    counts[:] = found if fresh else counts + found


def _add_terms_in_llvm() -> Any:
    """Make `_add_terms` for compiled code."""

    def typed(context: Any, counts: Any, scale: Any, sums: Any) -> Any:
        return types.none(counts, types.int32, sums), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counts, sums = (_data(context, builder, signature, arguments, i) for i in (0, 2))
        whole, single = (ir.VectorType(kind, 16) for kind in (ir.IntType(32), ir.FloatType()))

        def splat(vector: Any, number: float) -> ir.Constant:
            return ir.Constant(vector, [vector.element(number)] * vector.count)

        kind = ir.FunctionType(single, [single] * 3)
        declare: Any = cgutils.get_or_insert_function
        add = declare(builder.module, kind, "llvm.fmuladd.v16f32")
        bias = builder.add(arguments[1], ir.IntType(32)(127))
        bias = builder.insert_element(ir.Constant(whole, None), bias, ir.IntType(32)(0))
        bias = builder.shuffle_vector(bias, bias, ir.Constant(whole, None))
        with cgutils.for_range_slice(builder, _LONG(0), _LONG(LANES), _LONG(16)) as (i, _):
            source = builder.bitcast(builder.gep(counts, [i]), whole.as_pointer())
            target = builder.bitcast(builder.gep(sums, [i]), single.as_pointer())
            number = builder.sitofp(builder.load(source, align=4), single)
            bits = builder.bitcast(number, whole)
            exponent = builder.sub(builder.lshr(bits, splat(whole, 23)), bias)
            mantissa = builder.and_(bits, splat(whole, 2**23 - 1))
            mantissa = builder.or_(mantissa, splat(whole, 127 << 23))
            x = builder.fsub(builder.bitcast(mantissa, single), splat(single, 1))
            log = splat(single, _LOGARITHM[-1])
            for coefficient in _LOGARITHM[-2::-1]:
                log = builder.call(add, [log, x, splat(single, coefficient)])
            rest = builder.fadd(builder.sitofp(exponent, single), x)
            log = builder.call(add, [log, x, rest])
            known = builder.load(target, align=4)
            builder.store(builder.call(add, [number, log, known]), target, align=4)
        return context.get_dummy_value()

    return intrinsic(typed)


def _add_terms_in_python(counts: Any, scale: int, sums: Any) -> None:
    """Add ``n (log2 n - scale)`` of counts (LANES,) to sums in single precision.

    This is what stands for `_add_terms_in_llvm` where nothing is compiled.
    """
    sums += counts * (np.log2(np.maximum(counts, 1)) - scale)


_count: Any = _count_in_llvm() if COMPILED else _count_in_python
_add_terms: Any = _add_terms_in_llvm() if COMPILED else _add_terms_in_python


@jit
def _set_bits(
    bins: NDArray[Any], first: int, bits: NDArray[np.uint64], present: NDArray[np.bool_]
) -> None:
    """Set a bit for each pixel in the plane of its bin, and tell which rows have any."""
    bits[:] = 0
    present[:] = False
    rows, columns = bins.shape
    for y in range(rows):
        for x in range(columns):
            i = np.int64(bins[y, x]) - first
            if 0 <= i < len(bits):
                bits[i, y, x >> 6] |= np.uint64(1) << np.uint64(x & 63)
                present[i, y] = True


@jit
def _shift(bits: NDArray[np.uint64], planes: NDArray[np.uint64]) -> None:
    """Move bits by 0 to 7 windows, so that those of any window begin a byte."""
    rows, words = bits.shape
    for y in range(rows):
        line = bits[y]
        following = line[1:]
        for s in range(8):
            moved = planes[s, y]
            for x in range(words):
                moved[x] = line[x] >> np.uint64(s)
            if s > 0:
                for x in range(words - 1):
                    moved[x] |= following[x] << np.uint64(64 - s)


@jit
def _count_slices(
    planes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    here: int,
    counts: NDArray[np.uint32],
) -> None:
    """Count the pixels of each slice, and of all, in the order of `LANES`."""
    slices = len(starts) - 1
    total = counts[slices]
    total[:] = 0
    for k in range(slices):
        of_slice = counts[k]
        for at in range(starts[k], starts[k + 1], _COUNTED):
            stop = min(at + _COUNTED, starts[k + 1])
            _count(planes, offsets, at, stop, here, at == starts[k], of_slice)
        for x in range(LANES):
            total[x] += of_slice[x]


@jit
def _add_row(
    counts: NDArray[np.uint32],
    total: NDArray[np.uint32],
    scales: NDArray[np.int32],
    n_log_n: NDArray[np.float64],
    sums: NDArray[np.float32],
    joint: NDArray[np.float64],
    of_image: NDArray[np.float64],
    largest: NDArray[np.uint32],
) -> None:
    """Add the terms of one bin of the image, in `LANES` windows beside each other."""
    slices = len(scales) - 1
    for x in range(LANES):
        largest[x] = max(largest[x], total[x])
    if joint.size == 0:
        return
    if n_log_n.size > 0:
        for k in range(slices):
            of_slice = counts[k]
            for x in range(LANES):
                joint[x] += n_log_n[of_slice[x]]
        for x in range(LANES):
            of_image[x] += n_log_n[total[x]]
    else:
        sums[:] = 0
        for k in range(slices):
            _add_terms(counts[k], scales[k], sums[0])
        _add_terms(total, scales[slices], sums[1])
        for x in range(LANES):
            joint[x] += sums[0, x]
            of_image[x] += sums[1, x]


@jit
def _add_explained(
    counts: NDArray[np.uint32],
    total: NDArray[np.uint32],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
    explained: NDArray[np.float64],
) -> None:
    """Add what one bin of the image explains of the template's values: ``sum^2 / pixels``."""
    sums[:] = 0
    for k in range(len(values)):
        of_slice = counts[k]
        for x in range(LANES):
            sums[x] += values[k] * of_slice[x]
    for x in range(LANES):
        explained[x] += sums[x] * sums[x] / max(np.float64(total[x]), 1.0)


@jit
def add_terms(
    counts: NDArray[np.uint32],
    totals: NDArray[np.uint32],
    scales: NDArray[np.int32],
    n_log_n: NDArray[np.float64],
    values: NDArray[np.float64],
    joint: NDArray[np.float64],
    of_image: NDArray[np.float64],
    largest: NDArray[np.uint32],
    explained: NDArray[np.float64],
) -> None:
    """Add the terms of one bin of the image to those of others.

    Parameters
    ----------
    counts : ndarray of shape (slices, rows, LANES)
        Pixels of each slice in the bin.
    totals : ndarray of shape (rows, LANES)
        Pixels of all of them.
    joint, of_image, largest, explained : ndarray of shape (rows, LANES)
        Are added to, or raised.

    Other parameters are those of `sum_terms`.

    Plain twin: ``naive.joint_sums``.
    """
    sums, deviations = np.empty((2, LANES), np.float32), np.empty(LANES)
    for y in range(len(totals)):
        _add_row(counts[:, y], totals[y], scales, n_log_n, sums, joint[y], of_image[y], largest[y])
        if len(values) > 0:
            _add_explained(counts[:, y], totals[y], values, deviations, explained[y])


@jit
def sum_terms(
    bins: NDArray[Any],
    number: int,
    ys: NDArray[np.int64],
    xs: NDArray[np.int64],
    starts: NDArray[np.int64],
    scales: NDArray[np.int32],
    n_log_n: NDArray[np.float64],
    values: NDArray[np.float64],
    joint: NDArray[np.float64],
    of_image: NDArray[np.float64],
    largest: NDArray[np.uint32],
    explained: NDArray[np.float64],
) -> None:
    """Sum over the joint histogram of every window, and over the image's own.

    Parameters
    ----------
    bins : ndarray of shape (rows + h - 1, columns + w - 1)
        The bin of each pixel of the image, 0 .. number - 1.
    ys, xs, starts : ndarray
        The pixels of the slices, and where each slice begins and ends.
    scales : ndarray of shape (slices + 1,)
        Terms are ``n (log2 n - scale)`` where there is no table; the last scale is that of all
        pixels.
    n_log_n : ndarray of shape (pixels + 1,) or (0,)
        Terms by count. None: by a polynomial, in single precision for each bin of the image.
    values : ndarray of shape (slices,) or (0,)
        Of the template, less their mean over all of its pixels.
    joint, of_image : ndarray of shape (rows, columns), filled; or (rows, 0)
        Sums of ``n log2 n``. At most `LANES` columns.
    largest : ndarray of shape (rows, columns), filled
        Pixels of the fullest bin of the image.
    explained : ndarray of shape (rows, columns), filled; or (rows, 0) without values
        Sums over the bins of the image of ``(sum of values)^2 / pixels``.

    Plain twin: ``naive.joint_sums``.
    """
    rows, columns = largest.shape
    height, width = bins.shape[0] - rows + 1, bins.shape[1] - columns + 1
    words = -(-(LANES + width) // 512) * 8  # a line of the cache, or some
    bits = np.empty((min(number, _BINS_AT_ONCE), len(bins), words), np.uint64)
    present = np.empty((len(bits), len(bins)), np.bool_)
    planes = np.empty((8, len(bins), words), np.uint64)
    as_bytes = planes.reshape(-1).view(np.uint8)
    offsets = ((xs & 7) * len(bins) + ys) * (8 * words) + (xs >> 3)
    counts = np.empty((len(starts), LANES), np.uint32)  # the last: of all slices
    sums, deviations = np.empty((2, LANES), np.float32), np.empty(LANES)
    both = np.zeros((2, rows, LANES if joint.size > 0 else 0))
    known = np.zeros((rows, LANES if len(values) > 0 else 0))
    fullest = np.zeros((rows, LANES), np.uint32)
    for i in range(number):
        own = i % len(bits)
        if own == 0:
            _set_bits(bins, i, bits, present)
        if not present[own].any():
            continue
        _shift(bits[own], planes)
        last = -1  # row that has the bin, of those under the windows
        for y in range(len(bins)):
            if present[own, y]:
                last = y
            top = y - height + 1
            if 0 <= top <= last:
                _count_slices(as_bytes, offsets, starts, top * 8 * words, counts)
                _add_row(
                    counts, counts[-1], scales, n_log_n, sums,
                    both[0, top], both[1, top], fullest[top],
                )  # fmt: skip
                if len(values) > 0:
                    _add_explained(counts, counts[-1], values, deviations, known[top])
    for y in range(rows):
        for x in range(columns):
            place = (x & 7) * (LANES // 8) + (x >> 3)
            largest[y, x] = fullest[y, place]
            if joint.size > 0:
                joint[y, x] = both[0, y, place]
                of_image[y, x] = both[1, y, place]
            if len(values) > 0:
                explained[y, x] = known[y, place]
