"""Correlation of patches of an image with fixed patterns, by Fourier transforms."""

import math
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
# by `python -m benchmarks.tune`.
TRANSFORM = {
    192: (4700, 7700),
    256: (4300, 9900),
    384: (4000, 12000),
    512: (6000, 14000),
    640: (6200, 12000),
    768: (9700, 17500),
    1024: (8200, 19500),
}

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
            cv2.getOptimalDFTSize(extent + side - 1)
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
    side = min(TRANSFORM, key=lambda side: abs(side**2 - math.prod(patch)))
    return 2 * TRANSFORM[side][1] * math.prod(patch) / math.prod(windows)
