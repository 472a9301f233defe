"""Correlation of patches of an image with fixed patterns, by Fourier transforms."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .prices import TRANSFORMS
from .threads import scratch

# |error of a correlation| <= ERROR_OF_NORMS * |patch| * |pattern| (Euclidean norms). Over
# photographs, noise, waves, steps, stripes and rings of all sizes the largest seen was a
# seventh of it.
ERROR_OF_NORMS = 2.0**-48

# Correlations of whole numbers are rounded to whole numbers where the bound of their error is
# below this; 0.5 would do.
SURE_TO_ROUND_RIGHT = 0.45

# Tiles are cut to keep this many threads busy, however many there are: scores must not
# depend on the number of threads.
_THREADS_KEPT_BUSY = 2

# The price of a tile grows in proportion beyond this size, for the memory it takes.
_WINDOWS_AT_ONCE = 2**19

_SPECTRA_BYTES_KEPT = 128 * 2**20

_COMPLEX = np.dtype(np.complex128)

# So many lines stay in the second-level cache until they are columns.
_LINES_AT_ONCE = 64


class Correlator:
    """Correlates patches of real numbers with patterns, two at once: as one of complex numbers.

    OpenCV transforms lines twice as fast as columns. So lines are transformed, become columns,
    and are transformed once more; spectra are left that way. Lines of zeros, and those of which
    no window is made, are not transformed at all.

    Parameters
    ----------
    patterns : ndarray of shape (n, h, w), real
    windows : (int, int)
        Rows and columns of the windows of a patch, at most.
    """

    def __init__(self, patterns: NDArray[Any], windows: tuple[int, int]) -> None:
        self._patterns = patterns
        self._sides = transform_sides(windows, patterns.shape[1:])
        self._spectra = None
        if len(patterns) * math.prod(self._sides) * _COMPLEX.itemsize <= _SPECTRA_BYTES_KEPT:
            self._spectra = [self._spectrum(which).copy() for which in range(len(patterns))]

    def transform(
        self,
        first: NDArray[Any],
        second: NDArray[Any],
        *,
        columns: int | None = None,
        origin: complex = 0,
    ) -> tuple[NDArray[Any], float]:
        """Transform two patches less their origins, as real and imaginary part.

        Parameters
        ----------
        first, second : ndarray of shape (rows, >= columns), C-contiguous
            The second may have fewer rows: is 0 there.
        columns : int, optional
            How many count.
        origin : complex
            Of the first, and of the second.

        Returns
        -------
        spectrum : ndarray, complex
            The next call overwrites it.
        energy : float
            Sum of squares of both patches less their origins.
        """
        columns = first.shape[1] if columns is None else columns
        return self._forward("spectrum", first, second, columns, complex(origin))

    def correlate(
        self, spectrum: NDArray[Any], which: int, windows: tuple[int, int]
    ) -> NDArray[Any]:
        """Sum the products of each window of transformed patches with a pattern.

        Returns
        -------
        ndarray of shape (rows, columns), complex
            The next call overwrites it.
        """
        pattern = self._spectrum(which)
        found = scratch.array("correlations", (windows[0], self._sides[1]), _COMPLEX)
        for start in range(0, len(spectrum), _LINES_AT_ONCE):
            lines = slice(start, start + _LINES_AT_ONCE)
            product = scratch.array("lines", spectrum[lines].shape, _COMPLEX)
            np.multiply(spectrum[lines], pattern[lines], out=product)
            _transform(product, cv2.DFT_INVERSE)
            turn(product, found, start)
        _transform(found, cv2.DFT_INVERSE)
        return found[:, : windows[1]]

    def _spectrum(self, which: int) -> NDArray[Any]:
        """Spectrum of a pattern, as the inverse will need it: turned round, and scaled."""
        if self._spectra is not None:
            return self._spectra[which]
        pattern = self._patterns[which]
        spectrum, _ = self._forward("pattern", pattern, pattern[:0], pattern.shape[1], 0j)
        np.conj(spectrum, out=spectrum)
        spectrum /= spectrum.size
        return spectrum

    def _forward(
        self,
        name: str,
        first: NDArray[Any],
        second: NDArray[Any],
        columns: int,
        origin: complex,
    ) -> tuple[NDArray[Any], float]:
        """Do what `transform` does, some lines at a time; the spectrum is held under a name."""
        spectrum, energy = scratch.array(name, self._sides[::-1], _COMPLEX), 0.0
        for start in range(0, len(first), _LINES_AT_ONCE):
            lines = slice(start, start + _LINES_AT_ONCE)
            space = scratch.array("lines", (len(first[lines]), self._sides[1]), _COMPLEX)
            energy += put_parts(first[lines], second[lines], columns, origin, space)
            _transform(space, 0)
            turn(space, spectrum, start)
        spectrum[:, len(first) :] = 0
        _transform(spectrum, 0)
        return spectrum, energy


def halves(plane: NDArray[Any], rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cut a plane with so many rows of windows into what the upper and lower half look at."""
    upper = -(-rows // 2)
    return plane[..., : plane.shape[-2] - rows + upper, :], plane[..., upper:, :]


def _transform(numbers: NDArray[Any], flags: int) -> None:
    """Transform each line in its place, of two channels: OpenCV has no complex numbers."""
    parts = numbers.view(np.float64).reshape(*numbers.shape, 2)
    cv2.dft(parts, parts, flags | cv2.DFT_ROWS)


@jit
def put_parts(
    first: NDArray[Any], second: NDArray[Any], columns: int, origin: complex, out: NDArray[Any]
) -> float:
    """Make two patches less their origins one of complex numbers; return the sum of squares.

    Parameters
    ----------
    first, second : ndarray of shape (rows, >= columns)
        The second may have fewer rows.
    out : ndarray of shape (>= rows, >= columns), complex, filled
        With 0 beyond the patches.

    Plain twin: ``naive.energy``.
    """
    squares = np.zeros(columns)
    for y in range(out.shape[0]):
        line = out[y]
        start = 0
        if y < second.shape[0]:
            one, other = first[y], second[y]
            for x in range(columns):
                real, imag = one[x] - origin.real, other[x] - origin.imag
                line[x] = complex(real, imag)
                squares[x] += real * real + imag * imag
            start = columns
        elif y < first.shape[0]:
            one = first[y]
            for x in range(columns):
                real = one[x] - origin.real
                line[x] = complex(real, 0.0)
                squares[x] += real * real
            start = columns
        for x in range(start, line.size):
            line[x] = 0
    energy = 0.0
    for square in squares:
        energy += square
    return energy


@jit
def turn(numbers: NDArray[Any], out: NDArray[Any], first: int) -> None:
    """Make lines columns, from column `first` on; as many numbers of each as there are rows.

    Eight lines at a time: so many numbers share a few lines of the cache.

    Plain twin: ``naive.turned``.
    """
    lines = numbers.shape[0]
    whole = lines // 8 * 8
    for start in range(0, whole, 8):
        for x in range(out.shape[0]):
            column = out[x, first + start : first + start + 8]
            for i in range(8):
                column[i] = numbers[start + i, x]
    for y in range(whole, lines):
        for x in range(out.shape[0]):
            out[x, first + y] = numbers[y, x]


def error_bound(energy: float, pattern_energy: float) -> float:
    """Error of any sum of products of a patch and a pattern with these sums of squares."""
    return ERROR_OF_NORMS * math.sqrt(energy * pattern_energy)


def transform_sides(windows: tuple[int, ...], pattern: tuple[int, ...]) -> tuple[int, ...]:
    """Sides of the transforms that correlate so many windows with a pattern."""
    extents = zip(windows, pattern, strict=True)
    return tuple(_transform_side(extent + side - 1) for extent, side in extents)


def transform_cost(patch: tuple[int, ...], windows: tuple[int, ...]) -> float:
    """Picoseconds a window for a transform of a patch and back."""
    sides = [_transform_side(extent) for extent in patch]
    return 2 * price(sides) * math.prod(sides) / math.prod(windows)


def price(sides: Sequence[int]) -> float:
    """Picoseconds for each number of a transform with these sides."""
    nearest = [min(TRANSFORMS, key=lambda known: abs(known - side)) for side in sides]
    return sum(TRANSFORMS[side] for side in nearest) / len(nearest)


def fitting_tiles(
    template: tuple[int, int], windows: tuple[int, ...], halves: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int], float]]:
    """Find tiles that fill transforms.

    Parameters
    ----------
    windows : (int, int)
        Rows and columns of the whole map.
    halves : int
        Parts of a tile's rows, which are transformed one by one or as one complex patch.

    Yields
    ------
    tile : (int, int)
        Rows and columns of windows, at most.
    sides : (int, int)
        Of the transforms.
    numbers : float
        How many of these are transformed for a window. A thread that is idle counts as half a
        busy one: the other then has the memory for itself.
    """
    rows = _fitting_extents(template[0], windows[0], halves)
    columns = _fitting_extents(template[1], windows[1], 1)
    for (height, side, down), (width, other, across) in product(rows, columns):
        tiles = down * across
        idle = -tiles % _THREADS_KEPT_BUSY
        numbers = (tiles + idle / 2) * side * other / math.prod(windows)
        yield (height, width), (side, other), numbers * max(1, height * width / _WINDOWS_AT_ONCE)


def _fitting_extents(own: int, windows: int, halves: int) -> list[tuple[int, int, int]]:
    """List extents of tiles, sides of their transforms, and how many tiles there are."""
    found = set()
    for side in TRANSFORMS:
        most = halves * max(side - own + 1, -(-own // 2))
        extent = -(-windows // -(-windows // most))  # equal parts
        padded = _transform_side(-(-extent // halves) + own - 1)
        found.add((extent, padded, -(-windows // extent)))
    return sorted(found)


def _transform_side(extent: int) -> int:
    if extent < min(TRANSFORMS):
        return cv2.getOptimalDFTSize(extent)
    return next((side for side in TRANSFORMS if side >= extent), cv2.getOptimalDFTSize(extent))
