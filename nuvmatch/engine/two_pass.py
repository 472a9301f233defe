"""Sums of single windows in two passes (Chan, Golub, LeVeque 1983), where others lost digits.

Greys are taken relative to the window's first pixel, so that an offset costs no digits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit


@jit
def _difference(grey: Any, first: Any, unit: float) -> float:
    """``(grey - first) * unit``, to the last digit also where ``grey - first`` overflows."""
    rough = float(grey) - float(first)
    if abs(rough) < 2.0**62:
        return float(grey - first) * unit
    if abs(rough) < np.inf:
        return rough * unit
    return float(0.5 * grey - 0.5 * first) * (2.0 * unit)


@jit
def two_pass_sums(
    raw: NDArray[Any],
    firsts: NDArray[np.float64],
    starts: NDArray[np.int64],
    ys: NDArray[np.int64],
    xs: NDArray[np.int64],
    channel_of_slice: NDArray[np.int64],
    window_ys: NDArray[np.int64],
    window_xs: NDArray[np.int64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    unit: NDArray[np.float64],
    means: NDArray[np.float64],
) -> None:
    """Sum the slices of the named windows in two passes.

    The unit of a window becomes its largest deviation, so that no contrast is too small.
    Plain twin: ``naive.slice_sums``.

    Parameters
    ----------
    raw : ndarray of shape (channels, rows + h - 1, columns + w - 1), int64 or float64
        Image greys; whole numbers come less an offset.
    firsts : ndarray of shape (channels, n)
        Image greys of the first pixels of windows, in the order of `ys`.
    starts, ys, xs, channel_of_slice
        The places of `Slices`.
    window_ys, window_xs : ndarray of shape (n,)
        Which windows of the tile.
    sums : ndarray of shape (slices, n), filled
        Of ``(grey - mean) * unit``.
    squares, unit : ndarray of shape (n,), filled
        Sum of ``((grey - mean) * unit)^2``, and the unit.
    means : ndarray of shape (channels, n), filled
        In image greys.
    """
    channels = means.shape[0]
    pixels = ys.size // channels
    for i in range(window_ys.size):
        top = window_ys[i]
        left = window_xs[i]
        reach = 0.0
        scale = 1.0
        for attempt in range(2):
            scale = 1.0 if attempt == 0 else 0.5
            reach = 0.0
            for c in range(channels):
                first = raw[c, top + ys[c * pixels], left + xs[c * pixels]]
                for p in range(c * pixels, (c + 1) * pixels):
                    grey = _difference(raw[c, top + ys[p], left + xs[p]], first, scale)
                    reach = max(reach, abs(grey))
            if reach < np.inf:
                break
        if reach > 0:
            scale /= max(reach, 1e-300)
        total = 0.0
        k = 0
        for c in range(channels):
            first = raw[c, top + ys[c * pixels], left + xs[c * pixels]]
            mean = 0.0
            for p in range(c * pixels, (c + 1) * pixels):
                mean += _difference(raw[c, top + ys[p], left + xs[p]], first, scale)
            mean /= pixels
            while k < channel_of_slice.size and channel_of_slice[k] == c:
                part = 0.0
                for p in range(starts[k], starts[k + 1]):
                    grey = _difference(raw[c, top + ys[p], left + xs[p]], first, scale) - mean
                    part += grey
                    total += grey * grey
                sums[k, i] = part
                k += 1
            means[c, i] = 2 * (0.5 * firsts[c, i] + 0.5 * mean / scale)
        squares[i] = total
        unit[i] = scale


@jit
def two_pass_products(
    raw: NDArray[Any],
    firsts: NDArray[np.float64],
    centred: NDArray[np.float64],
    ys: NDArray[np.int64],
    xs: NDArray[np.int64],
    window_ys: NDArray[np.int64],
    window_xs: NDArray[np.int64],
    means: NDArray[np.float64],
    squares: NDArray[np.float64],
    products: NDArray[np.float64],
    residuals: NDArray[np.float64],
    unit: NDArray[np.float64],
) -> None:
    """Multiply the named windows with a centred template, and fit straight lines.

    Plain twin: ``naive.covariance``, ``naive.residual``.

    Parameters
    ----------
    raw, firsts, window_ys, window_xs, means, squares, unit
        As for `two_pass_sums`.
    centred : ndarray of shape (channels, pixels)
        Greys of the template that count, less their means.
    ys, xs : ndarray of shape (pixels,)
        Where they are.
    products, residuals : ndarray of shape (n,), filled
        ``sum of (grey - mean) * unit * centred``, and the sum of squares that remains of
        ``(grey - mean) * unit`` once the multiple of `centred` that is nearest is taken away.
    """
    channels, pixels = centred.shape
    greys = np.empty((channels, pixels))
    energy = 0.0
    for c in range(channels):
        for p in range(pixels):
            energy += centred[c, p] * centred[c, p]
    for i in range(window_ys.size):
        top = window_ys[i]
        left = window_xs[i]
        scale = 1.0
        reach = 0.0
        for attempt in range(2):
            scale = 1.0 if attempt == 0 else 0.5
            reach = 0.0
            for c in range(channels):
                first = raw[c, top + ys[0], left + xs[0]]
                for p in range(pixels):
                    grey = _difference(raw[c, top + ys[p], left + xs[p]], first, scale)
                    greys[c, p] = grey
                    reach = max(reach, abs(grey))
            if reach < np.inf:
                break
        factor = 1.0 / max(reach, 1e-300) if reach > 0 else 1.0
        total = product = 0.0
        for c in range(channels):
            line, pattern = greys[c], centred[c]
            mean = 0.0
            for p in range(pixels):
                line[p] *= factor
                mean += line[p]
            mean /= pixels
            for p in range(pixels):
                line[p] -= mean
                total += line[p] * line[p]
                product += line[p] * pattern[p]
            means[c, i] = 2 * (0.5 * firsts[c, i] + 0.5 * mean / (scale * factor))
        squares[i] = total
        products[i] = product
        unit[i] = scale * factor
        slope = product / energy if energy > 0 else 0.0
        left_over = 0.0
        for c in range(channels):
            line, pattern = greys[c], centred[c]
            mean = 0.0
            for p in range(pixels):
                line[p] -= slope * pattern[p]
                mean += line[p]
            mean /= pixels  # of rounding
            for p in range(pixels):
                left_over += (line[p] - mean) * (line[p] - mean)
        residuals[i] = left_over
