"""Sums of numbers and of their squares over every window of a tile."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .boxes import box_sums, power_sums
from .covers import ACCUMULATORS
from .programs import Program, Programs, add_up
from .slices import Slices
from .threads import scratch

# Over which pixels sums are taken to have those under a mask: over all, for there is no mask;
# over all less those outside; or over the pixels themselves, one by one or by transforms.
# Whole numbers have the same sums by each way; floats would lose digits by any but "pixels".
Inside = Literal["everything", "outside", "pixels", "transforms"]


def window_sums(
    patch: NDArray[Any], magnitude: int, shape: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sum numbers and their squares over all pixels of each window.

    Parameters
    ----------
    patch : ndarray of shape (channels, rows + h - 1, columns + w - 1)
    magnitude : int
        Of whole numbers, at most.
    shape : (int, int)
        h and w.

    Returns
    -------
    sums, squares : ndarray of shape (channels, rows, columns)
        Overwritten by the next call.
    """
    channels, height, width = patch.shape
    rows, columns = height - shape[0] + 1, width - shape[1] + 1
    if patch.dtype == np.float64:
        sums = scratch.array("moments", (2 * channels, rows, columns), np.float64)
        powers = scratch.array("powers", (2 * channels, height, width), np.float64)
        powers[:channels] = patch
        np.multiply(patch, patch, out=powers[channels:])
        box_sums(powers, *shape, sums)
    else:
        kind = type_of_sums(patch.dtype, magnitude, shape)
        sums = scratch.array("moments", (2 * channels, rows, columns), kind)
        power_sums(patch, *shape, sums[:channels], sums[channels:])
    return sums[:channels], sums[channels:]


def type_of_sums(
    dtype: np.dtype[Any], magnitude: int, shape: tuple[int, int]
) -> type[np.uint32] | type[np.int64]:
    """Return the type in which whole numbers, and their squares, are summed over a window."""
    narrow = dtype == np.uint8 and shape[0] * shape[1] * magnitude**2 < 2**32
    return np.uint32 if narrow else np.int64


def inner_sums(
    patch: NDArray[Any],
    magnitude: int,
    programs: Programs,
    inside: Inside,
    sums: NDArray[Any],
    squares: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sum numbers and their squares over the pixels of each window that count.

    Parameters are those of `window_sums`, and what that returns.
    """
    match inside:
        case "everything":
            return sums, squares
        case "transforms":
            return _by_transforms(patch, programs, sums)
        case "pixels":
            powers = np.concatenate([patch, patch * patch])
            inner = _mask_sums(
                powers, programs.additions_inside(ACCUMULATORS[patch.dtype], len(powers)), sums
            )
            return inner[: len(patch)], inner[len(patch) :]
    # Squares come in two halves, so that each is as narrow as the numbers themselves.
    half = magnitude.bit_length()
    c = len(patch)
    powers = np.multiply(patch, patch, dtype=np.uint16 if patch.dtype == np.uint8 else np.int64)
    stack = scratch.array("numbers and halves", (3 * c, *patch.shape[1:]), patch.dtype)
    stack[:c] = patch
    stack[c : 2 * c] = powers >> half
    stack[2 * c :] = powers & (2**half - 1)
    program = programs.additions_outside(ACCUMULATORS[patch.dtype], 2**half - 1, len(stack))
    outside = _mask_sums(stack, program, sums)
    inner, inner_squares = scratch.array("inner", (2, *sums.shape), sums.dtype)
    take_outside(sums, squares, outside, 2**half, inner, inner_squares)
    return inner, inner_squares


def _by_transforms(
    patch: NDArray[Any], programs: Programs, like: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Correlate with the mask: numbers and squares as one complex number."""
    totals, squares = scratch.array("inner", (2, *like.shape), like.dtype)
    shape, pixels = (like.shape[1], like.shape[2]), programs.slices.pixels
    correlator = programs.mask_correlator(shape)
    for c, plane in enumerate(patch):
        numbers = plane.astype(np.float64)
        powers = numbers * numbers
        origin = complex(np.rint(numbers.mean()), np.rint(powers.mean()))
        spectrum, _ = correlator.transform(numbers, powers, origin=origin)
        found = correlator.correlate(spectrum, 0, shape)
        take_powers(found, origin * pixels, totals[c], squares[c])
    return totals, squares


def bad_counts(bad: NDArray[np.uint8], programs: Programs, rows: int) -> NDArray[Any]:
    """Count the bad pixels (1, rows + h - 1, columns + w - 1) of each window that would count."""
    slices = programs.slices
    counts = np.empty((1, rows, bad.shape[2] - slices.shape[1] + 1), np.uint32)
    box_sums(bad.astype(np.uint16), *slices.shape, counts)
    if slices.full:
        return np.asarray(counts[0])
    program = programs.additions_outside(ACCUMULATORS[bad.dtype], 1, 1)
    return np.asarray(counts[0] - _mask_sums(bad, program, counts)[0])


def flat_windows(raw: NDArray[Any], slices: Slices, rows: int) -> NDArray[np.bool_]:
    """Find the windows that are flat also outside the mask.

    They are the only ones of which there can be very many to sum again.
    """
    height, width = slices.shape
    steps = np.zeros((rows, raw.shape[2] - width + 1), np.int64)
    for differs, size in (
        (raw[:, :, 1:] != raw[:, :, :-1], (height, width - 1)),
        (raw[:, 1:] != raw[:, :-1], (height - 1, width)),
    ):
        if min(size) > 0:
            found = np.empty((len(raw), *steps.shape), np.uint32)
            box_sums(differs.astype(np.uint16), *size, found)
            steps += found.sum(axis=0, dtype=np.int64)
    return np.asarray(steps == 0)


def _mask_sums(planes: NDArray[Any], program: Program, sums: NDArray[Any]) -> NDArray[Any]:
    """Sum each plane inside or outside a mask, as the program says, over all windows."""
    shape = (len(planes), *sums.shape[1:])
    of_mask = scratch.array(f"mask sums of {planes.dtype}", shape, ACCUMULATORS[planes.dtype].wide)
    add_up(planes, program, sums, of_mask)
    return of_mask


@jit
def take_powers(
    found: NDArray[np.complex128],
    origin: complex,
    totals: NDArray[Any],
    squares: NDArray[Any],
) -> None:
    """Take sums of numbers and of squares apart, whole but for rounding, and less an origin.

    Parameters
    ----------
    found : ndarray of shape (rows, columns)
    totals, squares : ndarray of shape (rows, columns), filled

    Plain twin: ``naive.inner_sums``.
    """
    kind = totals.dtype.type
    for y in range(found.shape[0]):
        both, line, of_squares = found[y], totals[y], squares[y]
        for x in range(both.size):
            line[x] = kind(np.rint(both[x].real) + origin.real)
            of_squares[x] = kind(np.rint(both[x].imag) + origin.imag)


@jit
def take_outside(
    sums: NDArray[Any],
    squares: NDArray[Any],
    outside: NDArray[Any],
    radix: int,
    inner: NDArray[Any],
    inner_squares: NDArray[Any],
) -> None:
    """Subtract sums, and sums of squares that come in two halves.

    Parameters
    ----------
    sums, squares, inner, inner_squares : ndarray of shape (channels, rows, columns)
        The last two are filled.
    outside : ndarray of shape (3 * channels, rows, columns)
        Sums, sums of the upper and of the lower halves of squares.
    radix : int
        What one in the upper half is worth.

    Plain twin: ``naive.inner_sums``.
    """
    channels, rows, columns = sums.shape
    for c in range(channels):
        for y in range(rows):
            upper, lower = outside[channels + c, y], outside[2 * channels + c, y]
            of_line, left, target = sums[c, y], outside[c, y], inner[c, y]
            squares_of_line, squared = squares[c, y], inner_squares[c, y]
            for x in range(columns):
                target[x] = of_line[x] - np.int64(left[x])
                outer = np.int64(upper[x]) * radix + np.int64(lower[x])
                squared[x] = squares_of_line[x] - outer
