"""Tone models: the share of a window's variance that the template leaves unexplained."""

import numpy as np
from numpy.typing import NDArray

from .._jit import jit

# What rounding alone can leave of a window's squares, at all and for each pixel: that is a
# perfect match.
_ROUNDING, _ROUNDING_PER_PIXEL = 1e-14, 2e-17


@jit
def piecewise_constant(
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """PWC nUV: one free grey for each bin (the paper's measure).

    ``D = (Q - sum_j s_j^2 / n_j) / (Q - sum_c S_c^2 / d)``, cut to [0, 1], where S_c is
    the sum over the slices of channel c. What rounding alone can leave unexplained
    counts as 0. NaN where Q is 0 or NaN: no evidence.

    Parameters
    ----------
    sums : ndarray of shape (slices, rows, columns)
        s_j, about any centre near the window's mean.
    squares : ndarray of shape (rows, columns)
        Q, about the same centre.
    counts, channel : ndarray of shape (slices,)
        n_j, and the channel of each slice, ascending.
    out : ndarray of shape (rows, columns), filled

    Plain twin: ``naive.nuv``.
    """
    slices, rows, columns = sums.shape
    explained = np.empty(columns)
    mean_part = np.empty(columns)
    of_channel = np.empty(columns)
    rounding = _ROUNDING + _ROUNDING_PER_PIXEL * counts.sum()
    for y in range(rows):
        for x in range(columns):
            explained[x] = 0.0
            mean_part[x] = 0.0
            of_channel[x] = 0.0
        pixels = 0
        for k in range(slices):
            s = sums[k, y]
            weight = 1.0 / counts[k]
            for x in range(columns):
                explained[x] += s[x] * s[x] * weight
                of_channel[x] += s[x]
            pixels += counts[k]
            if k + 1 == slices or channel[k + 1] != channel[k]:
                weight = 1.0 / pixels
                for x in range(columns):
                    mean_part[x] += of_channel[x] * of_channel[x] * weight
                    of_channel[x] = 0.0
                pixels = 0
        for x in range(columns):
            q = squares[y, x]
            if q > 0.0:
                within = q - explained[x]
                share = within / (q - mean_part[x]) if within > rounding * q else 0.0
                out[y, x] = min(share, 1.0)
            else:
                out[y, x] = np.nan
