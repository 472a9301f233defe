"""Correlation of patches of an image with fixed patterns, by Fourier transforms."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .threads import scratch

# |error of a correlation| <= ERROR * |patch| * |pattern| (Euclidean norms) in double
# precision. Over photographs, noise, waves, steps, stripes and rings of all sizes the
# largest seen was a seventh of it.
ERROR = 2.0**-48

# In single precision, where the bound decides what is certain, it also knows the largest
# correlation: waves that fill patch and pattern alike are the worst. The largest seen was
# three quarters of it.
_SINGLE, _OF_NORMS, _OF_LARGEST = 2.0**-24, 0.5, 12

# Whole numbers are read off correlations in double precision, if the bound of the error is
# below this; half would do.
CERTAIN = 0.45

# Picoseconds for each number of a square transform of that side, in single and in double
# precision, with the product before it and the reading of two slices after it; measured
# by `python -m benchmarks.tune`. Patches are padded to these sides: others, those with high
# powers of 2 and of 5 above all, take up to twice the time.
TRANSFORM = {
    160: (5600, 8100),
    192: (5100, 8600),
    240: (4700, 7700),
    288: (4800, 7900),
    320: (5300, 8800),
    384: (4500, 10200),
    480: (5000, 10900),
    576: (5800, 11100),
    640: (5400, 13300),
    720: (6200, 13300),
    800: (7300, 13600),
    960: (7000, 12300),
    1152: (8000, 14400),
}

# Tiles are as many as keep so many threads busy, whatever their number is: scores must not
# depend on it.
_THREADS = 2

# Tiles of more windows than these take too much memory: they are reckoned as dear as they
# are large.
_WINDOWS = 2**19

_MOST_KEPT = 128 * 2**20  # bytes


class Correlator:
    """Correlates patches with patterns.

    Patches may be complex, which does two correlations of real numbers at the price of one.

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
        self._sides = tuple(
            _transform_side(extent + side - 1)
            for extent, side in zip(windows, patterns.shape[1:], strict=True)
        )
        self._spectra = None
        if len(patterns) * math.prod(self._sides) * self._complex.itemsize <= _MOST_KEPT:
            self._spectra = [self._spectrum(which).copy() for which in range(len(patterns))]

    def transform(
        self, patch: NDArray[Any], origin: float = 0.0, second: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the spectrum of a patch (rows, columns) less its origin.

        The numbers of a second patch, real as those of the first then are, become the
        imaginary part. The next call overwrites the spectrum.
        """
        spectrum = self._space("spectrum")
        spectrum[:] = 0
        inside = spectrum[: patch.shape[0], : patch.shape[1]]
        if second is None:
            np.subtract(patch, origin, out=inside, casting="unsafe")
        else:
            np.subtract(patch, origin, out=inside.real, casting="unsafe")
            inside = spectrum[: second.shape[0], : second.shape[1]]
            np.subtract(second, origin, out=inside.imag, casting="unsafe")
        _transform(spectrum, 0)
        return spectrum

    def correlate(
        self, spectrum: NDArray[Any], which: int, windows: tuple[int, int]
    ) -> NDArray[Any]:
        """Sum the products of each window of a transformed patch with a pattern.

        Returns
        -------
        ndarray of shape (rows, columns), complex
            The next call overwrites it.
        """
        product = self._space("product")
        np.multiply(spectrum, self._spectrum(which), out=product)
        _transform(product, cv2.DFT_INVERSE)
        return product[: windows[0], : windows[1]]

    def largest(self) -> float:
        """Largest part of the last result, beyond the windows too."""
        product = self._space("product")
        parts = product.view(product.real.dtype)
        return float(max(parts.max(), -parts.min()))

    def _spectrum(self, which: int) -> NDArray[Any]:
        """Spectrum of a pattern, as the inverse will need it: turned round, and scaled."""
        if self._spectra is not None:
            return self._spectra[which]
        spectrum = self._space("pattern")
        spectrum[:] = 0
        pattern = self._patterns[which]
        spectrum[: pattern.shape[0], : pattern.shape[1]] = pattern
        _transform(spectrum, 0)
        np.conj(spectrum, out=spectrum)
        spectrum /= spectrum.size
        return spectrum

    def _space(self, name: str) -> NDArray[Any]:
        return scratch.array(f"{name} transform", self._sides, self._complex)


def _transform(numbers: NDArray[Any], flags: int) -> None:
    """Transform complex numbers in their place, as two channels: OpenCV has no other."""
    parts = numbers.view(numbers.real.dtype).reshape(*numbers.shape, 2)
    cv2.dft(parts, parts, flags)


def error_bound(energy: float, pattern_energy: float) -> float:
    """Error of any sum of products of a patch and a pattern with these sums of squares."""
    return ERROR * math.sqrt(energy * pattern_energy)


def single_error_bound(energy: float, pattern_energy: float, largest: float) -> float:
    """Do the same for single precision, given the largest magnitude of a result."""
    return _SINGLE * (_OF_NORMS * math.sqrt(energy * pattern_energy) + _OF_LARGEST * largest)


def transform_cost(patch: tuple[int, ...], windows: tuple[int, ...]) -> float:
    """Picoseconds a window for a transform of a patch and back, in double precision."""
    sides = [_transform_side(extent) for extent in patch]
    return 2 * price(sides, np.float64) * math.prod(sides) / math.prod(windows)


def price(sides: Sequence[int], precision: type[Any]) -> float:
    """Picoseconds for each number of a transform with these sides."""
    which = (np.float32, np.float64).index(precision)
    nearest = [min(TRANSFORM, key=lambda known: abs(known - side)) for side in sides]
    return sum(TRANSFORM[side][which] for side in nearest) / len(nearest)


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
        idle = -tiles % _THREADS
        numbers = (tiles + idle / 2) * side * other / math.prod(windows)
        yield (height, width), (side, other), numbers * max(1, height * width / _WINDOWS)


def _fitting_extents(own: int, windows: int, halves: int) -> list[tuple[int, int, int]]:
    """List extents of tiles, sides of their transforms, and how many tiles there are."""
    found = set()
    for side in TRANSFORM:
        most = halves * max(side - own + 1, -(-own // 2))
        extent = -(-windows // -(-windows // most))  # equal parts
        padded = _transform_side(-(-extent // halves) + own - 1)
        found.add((extent, padded, -(-windows // extent)))
    return sorted(found)


def _transform_side(extent: int) -> int:
    if extent < min(TRANSFORM):
        return cv2.getOptimalDFTSize(extent)
    return next((side for side in TRANSFORM if side >= extent), cv2.getOptimalDFTSize(extent))
