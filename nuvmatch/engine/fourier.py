"""Correlation of patches of an image with fixed patterns, by Fourier transforms."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

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

# Tiles are cut to keep this many threads busy, however many there are: scores must not
# depend on the number of threads.
_THREADS_KEPT_BUSY = 2

# The price of a tile grows in proportion beyond this size, for the memory it takes.
_WINDOWS_AT_ONCE = 2**19

_SPECTRA_BYTES_KEPT = 128 * 2**20


class Correlator:
    """Correlates patches with patterns.

    Patches may be complex, which does two correlations of real numbers at the price of one.

    Parameters
    ----------
    patterns : ndarray of shape (n, h, w), real
    windows : (int, int)
        Rows and columns of the windows of a patch, at most.
    precision : {np.float32, np.float64}

    Attributes
    ----------
    energies : list of float
        Sum of squares of each pattern.
    """

    def __init__(
        self, patterns: NDArray[Any], windows: tuple[int, int], precision: type[Any] = np.float64
    ) -> None:
        self._patterns = patterns
        self.energies = [float((pattern**2).sum()) for pattern in patterns]
        self._complex = np.dtype(np.complex64 if precision is np.float32 else np.complex128)
        self._sides = tuple(
            _transform_side(extent + side - 1)
            for extent, side in zip(windows, patterns.shape[1:], strict=True)
        )
        self._spectra = None
        if len(patterns) * math.prod(self._sides) * self._complex.itemsize <= _SPECTRA_BYTES_KEPT:
            self._spectra = [self._spectrum(which).copy() for which in range(len(patterns))]

    def transform(
        self, patch: NDArray[Any], second: NDArray[Any] | None = None, *, origin: float = 0.0
    ) -> NDArray[Any]:
        """Return the spectrum of a patch (rows, columns) less its origin.

        A second patch, if both are real, becomes the imaginary part. The next call
        overwrites the spectrum.
        """
        spectrum = self._space("spectrum")
        spectrum[:] = 0
        parts = [(spectrum, patch)]
        if second is not None:
            parts = [(spectrum.real, patch), (spectrum.imag, second)]
        for space, part in parts:
            inside = space[: part.shape[0], : part.shape[1]]
            if origin:
                np.subtract(part, origin, out=inside, casting="unsafe")
            else:
                inside[:] = part
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

    def sums(
        self, plane: NDArray[Any], which: int, windows: tuple[int, int]
    ) -> NDArray[np.float64]:
        """Do so for a real plane: the windows of its halves are correlated as one patch."""
        rows, columns = windows
        upper = -(-rows // 2)
        spectrum = self.transform(*halves(plane, rows))
        found = self.correlate(spectrum, which, (upper, columns))
        return np.concatenate([found.real, found.imag[: rows - upper]])

    def extreme(self) -> float:
        """Largest magnitude of the last result's parts, beyond the windows too."""
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


def halves(plane: NDArray[Any], rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cut a plane with so many rows of windows into what the upper and lower half look at."""
    upper = -(-rows // 2)
    return plane[..., : plane.shape[-2] - rows + upper, :], plane[..., upper:, :]


def _transform(numbers: NDArray[Any], flags: int) -> None:
    """Transform complex numbers in their place, as two channels: OpenCV has no other."""
    parts = numbers.view(numbers.real.dtype).reshape(*numbers.shape, 2)
    cv2.dft(parts, parts, flags)


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
