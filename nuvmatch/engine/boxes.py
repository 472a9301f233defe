"""Sums over boxes of pixels, at every place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit


@jit
def box_sums(planes: NDArray[Any], height: int, width: int, out: NDArray[Any]) -> None:
    """Sum over every window of `height` x `width`.

    Down the columns a window is the end of one block and the beginning of the next (van
    Herk's scheme, for sums); along the rows it is a sum of spans of 1, 2, 4, .. pixels. There
    is no difference of running sums, so that a float sum is as exact as its own pixels
    allow, and a pixel that is not finite stays in its windows.

    Parameters
    ----------
    planes : ndarray of shape (channels, rows + height - 1, columns + width - 1)
    out : ndarray of shape (channels, rows, columns), filled; its type is summed in

    Plain twin: ``naive.box_sums``.
    """
    channels, rows, _ = out.shape
    line = np.empty(planes.shape[2], out.dtype)
    spare = np.empty_like(line)
    tall = np.empty((min(height, rows), planes.shape[2]), out.dtype)
    for c in range(channels):
        for top in range(0, rows, height):
            bottom = min(top + height, rows)
            _sum_down(planes[c, top : bottom + height - 1], height, line, tall)
            for y in range(top, bottom):
                _sum_along(tall[y - top], spare, width, out[c, y])


@jit
def _sum_down(plane: NDArray[Any], height: int, line: NDArray[Any], tall: NDArray[Any]) -> None:
    """Sum `height` rows of each column, for at most `height` windows below each other."""
    last = plane.shape[0] - height
    _copy(plane[last], line)
    for y in range(last + 1, height):  # the rows that all windows share
        _add(plane[y], line)
    _copy(line, tall[last])
    for y in range(last - 1, -1, -1):
        _add(plane[y], line)
        _copy(line, tall[y])
    for x in range(line.size):
        line[x] = 0
    for y in range(1, last + 1):
        _add(plane[y + height - 1], line)
        _add(line, tall[y])


@jit
def _sum_along(line: NDArray[Any], spare: NDArray[Any], width: int, out: NDArray[Any]) -> None:
    """Sum `width` neighbours of a line; line and spare are used up."""
    done = 0
    span = 1  # line[x] is the sum over so many pixels from x on
    while True:
        if width & span:
            if done == 0:
                _copy(line, out)
            else:
                _add(line[done:], out)
            done += span
        if done == width:
            return
        _sum_of(line[:-span], line[span:], spare[:-span])
        line, spare = spare, line
        span *= 2


@jit
def _copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    for x in range(target.size):
        target[x] = source[x]


@jit
def _add(source: NDArray[Any], target: NDArray[Any]) -> None:
    for x in range(target.size):
        target[x] += source[x]


@jit
def power_sums(
    planes: NDArray[Any],
    height: int,
    width: int,
    totals: NDArray[Any],
    squares: NDArray[Any],
) -> None:
    """Sum whole numbers and their squares over every window of `height` x `width`.

    As differences of running sums, which is exact also where these wrap.

    Parameters
    ----------
    planes : ndarray of shape (channels, rows + height - 1, columns + width - 1)
    totals, squares : ndarray of shape (channels, rows, columns), filled
        Their type is summed in.

    Plain twin: ``naive.box_sums``.
    """
    channels, rows, columns = totals.shape
    tall = np.empty(planes.shape[2], totals.dtype)
    tall_squares = np.empty_like(tall)
    running = np.empty(planes.shape[2] + 1, totals.dtype)
    running_squares = np.empty_like(running)
    for c in range(channels):
        for x in range(tall.size):
            tall[x] = 0
            tall_squares[x] = 0
        for y in range(height - 1):
            _add_powers(planes[c, y], tall, tall_squares)
        for y in range(rows):
            _add_powers(planes[c, y + height - 1], tall, tall_squares)
            running[0] = 0
            running_squares[0] = 0
            total, square = running[0], running_squares[0]
            for x in range(tall.size):
                total += tall[x]
                square += tall_squares[x]
                running[x + 1] = total
                running_squares[x + 1] = square
            _difference_of(running[width:], running[:columns], totals[c, y])
            _difference_of(running_squares[width:], running_squares[:columns], squares[c, y])
            _take_powers(planes[c, y], tall, tall_squares)


@jit
def _add_powers(line: NDArray[Any], sums: NDArray[Any], squares: NDArray[Any]) -> None:
    for x in range(line.size):
        number = sums.dtype.type(line[x])
        sums[x] += number
        squares[x] += number * number


@jit
def _take_powers(line: NDArray[Any], sums: NDArray[Any], squares: NDArray[Any]) -> None:
    for x in range(line.size):
        number = sums.dtype.type(line[x])
        sums[x] -= number
        squares[x] -= number * number


@jit
def _difference_of(first: NDArray[Any], second: NDArray[Any], target: NDArray[Any]) -> None:
    for x in range(target.size):
        target[x] = first[x] - second[x]


@jit
def _sum_of(first: NDArray[Any], second: NDArray[Any], target: NDArray[Any]) -> None:
    for x in range(target.size):
        target[x] = first[x]
        target[x] += second[x]
