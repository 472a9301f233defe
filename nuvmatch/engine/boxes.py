"""Sums over every rectangular window."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit


@jit
def box_sums(planes: NDArray[Any], height: int, width: int, out: NDArray[Any]) -> None:
    """Sum over every window of `height` x `width`.

    A window is the end of one block and the beginning of the next (van Herk's scheme,
    for sums): three additions a pixel and direction, whatever the window's size, and no
    difference of running sums, so that a float sum is as exact as its own pixels allow.

    Parameters
    ----------
    planes : ndarray of shape (channels, rows + height - 1, columns + width - 1)
    out : ndarray of shape (channels, rows, columns), same type, filled

    Plain twin: ``naive.box_sums``.
    """
    channels, rows, _ = out.shape
    line = np.empty(planes.shape[2], planes.dtype)
    tall = np.empty((min(height, rows), planes.shape[2]), planes.dtype)
    for c in range(channels):
        for top in range(0, rows, height):
            bottom = min(top + height, rows)
            _sum_down(planes[c, top : bottom + height - 1], height, line, tall)
            for y in range(top, bottom):
                _sum_along(tall[y - top], width, out[c, y])


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
def _sum_along(line: NDArray[Any], width: int, out: NDArray[Any]) -> None:
    """Sum `width` neighbours of a line."""
    columns = out.size
    for start in range(0, columns, width):
        total = line[start] * 0
        for x in range(start + width - 1, start - 1, -1):
            total += line[x]
            if x < columns:
                out[x] = total
        total = line[start] * 0
        for x in range(start + 1, min(start + width, columns)):
            total += line[x + width - 1]
            out[x] += total


@jit
def _copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    for x in range(target.size):
        target[x] = source[x]


@jit
def _add(source: NDArray[Any], target: NDArray[Any]) -> None:
    for x in range(target.size):
        target[x] += source[x]
