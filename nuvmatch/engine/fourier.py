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

# |error of a correlation| <= ERROR_OF_NORMS * |patch| * |pattern| (Euclidean norms) in
# double precision. Over photographs, noise, waves, steps, stripes and rings of all sizes the
# largest seen was a seventh of it.
ERROR_OF_NORMS = 2.0**-48

# In single precision the bound knows the largest correlation too: waves that fill patch and
# pattern alike are the worst. The largest error seen was three quarters of it.
_SINGLE, _SHARE_OF_NORMS, _SHARE_OF_EXTREME = 2.0**-24, 0.5, 12

# Correlations of whole numbers in double precision are rounded to whole numbers where the
# bound of their error is below this; 0.5 would do.
SURE_TO_ROUND_RIGHT = 0.45

# One row of a patch in so many tells what its greys are about.
ROWS_OF_A_SAMPLE = 8

# Tiles are cut to keep this many threads busy, however many there are: scores must not
# depend on the number of threads.
_THREADS_KEPT_BUSY = 2

# The price of a tile grows in proportion beyond this size, for the memory it takes.
_WINDOWS_AT_ONCE = 2**19

_SPECTRA_BYTES_KEPT = 128 * 2**20

# So many lines of a product of spectra stay in the second-level cache on their way back.
_LINES_AT_ONCE = 64


class Correlator:
    """Correlates patches of real numbers with patterns, two at once: as one of complex numbers.

    Parameters
    ----------
    patterns : ndarray of shape (n, h, w), real
    windows : (int, int)
        Rows and columns of the windows of a patch, at most.
    precision : {np.float32, np.float64}
    """

    def __init__(
        self, patterns: NDArray[Any], windows: tuple[int, int], precision: type[Any] = np.float64
    ) -> None:
        self._patterns = patterns
        self._complex = np.dtype(np.complex64 if precision is np.float32 else np.complex128)
        # OpenCV is fast in both directions at once in single precision, along rows in double.
        self._by_rows = precision is not np.float32
        self._sides = tuple(
            _transform_side(extent + side - 1)
            for extent, side in zip(windows, patterns.shape[1:], strict=True)
        )
        self._spectra = None
        if len(patterns) * math.prod(self._sides) * self._complex.itemsize <= _SPECTRA_BYTES_KEPT:
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
        space = self._space("patch")
        rows = len(first) if self._by_rows else len(space)
        columns = first.shape[1] if columns is None else columns
        energy = put_parts(first, second, columns, complex(origin), space[:rows])
        return self._forward(space, len(first)), energy

    def correlate(
        self, spectrum: NDArray[Any], which: int, windows: tuple[int, int]
    ) -> NDArray[Any]:
        """Sum the products of each window of transformed patches with a pattern.

        Returns
        -------
        ndarray of shape (rows, columns), complex
            The next call, and the next transform, overwrites it.
        """
        pattern = self._spectrum(which)
        if not self._by_rows:
            product = self._space("product")
            np.multiply(spectrum, pattern, out=product)
            _transform(product, cv2.DFT_INVERSE)
            return product[: windows[0], : windows[1]]
        found = self._space("patch")[: windows[0]]
        for start in range(0, len(spectrum), _LINES_AT_ONCE):
            lines = slice(start, start + _LINES_AT_ONCE)
            shape = spectrum[lines].shape
            product = scratch.array("product transform", shape, self._complex)
            np.multiply(spectrum[lines], pattern[lines], out=product)
            _transform(product, cv2.DFT_INVERSE | cv2.DFT_ROWS)
            turn(product, found, start)
        _transform(found, cv2.DFT_INVERSE | cv2.DFT_ROWS)
        return found[:, : windows[1]]

    def extreme(self) -> float:
        """Largest magnitude of the last result's parts, beyond the windows too.

        In single precision.
        """
        product = self._space("product")
        parts = product.view(product.real.dtype)
        return float(max(parts.max(), -parts.min()))

    def _spectrum(self, which: int) -> NDArray[Any]:
        """Spectrum of a pattern, as the inverse will need it: turned round, and scaled."""
        if self._spectra is not None:
            return self._spectra[which]
        space = self._space("pattern")
        space[:] = 0
        pattern = self._patterns[which]
        space[: pattern.shape[0], : pattern.shape[1]] = pattern
        spectrum = self._forward(space, len(pattern), "spectrum of pattern")
        np.conj(spectrum, out=spectrum)
        spectrum /= spectrum.size
        return spectrum

    def _forward(self, space: NDArray[Any], rows: int, name: str = "spectrum") -> NDArray[Any]:
        """Transform numbers, 0 beyond so many rows: in their place, or a place of that name."""
        if not self._by_rows:
            _transform(space, 0)
            return space
        _transform(space[:rows], cv2.DFT_ROWS)
        spectrum = scratch.array(f"{name} transform", self._sides[::-1], self._complex)
        turn(space[:rows], spectrum, 0)
        spectrum[:, rows:] = 0
        _transform(spectrum, cv2.DFT_ROWS)
        return spectrum

    def _space(self, name: str) -> NDArray[Any]:
        return scratch.array(f"{name} transform", self._sides, self._complex)


def halves(plane: NDArray[Any], rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cut a plane with so many rows of windows into what the upper and lower half look at."""
    upper = -(-rows // 2)
    return plane[..., : plane.shape[-2] - rows + upper, :], plane[..., upper:, :]


def _transform(numbers: NDArray[Any], flags: int) -> None:
    """Transform complex numbers in their place, as two channels: OpenCV has no other."""
    parts = numbers.view(numbers.real.dtype).reshape(*numbers.shape, 2)
    cv2.dft(parts, parts, flags)


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


def single_error_bound(energy: float, pattern_energy: float, extreme: float) -> float:
    """Error in single precision, given the largest magnitude of a result."""
    norms = math.sqrt(energy * pattern_energy)
    return _SINGLE * (_SHARE_OF_NORMS * norms + _SHARE_OF_EXTREME * extreme)


def transform_cost(patch: tuple[int, ...], windows: tuple[int, ...]) -> float:
    """Picoseconds a window for a transform of a patch and back, in double precision."""
    sides = [_transform_side(extent) for extent in patch]
    return 2 * price(sides, np.float64) * math.prod(sides) / math.prod(windows)


def price(sides: Sequence[int], precision: type[Any]) -> float:
    """Picoseconds for each number of a transform with these sides."""
    which = (np.float32, np.float64).index(precision)
    nearest = [min(TRANSFORMS, key=lambda known: abs(known - side)) for side in sides]
    return sum(TRANSFORMS[side][which] for side in nearest) / len(nearest)


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
