"""Tone models: the share of a window's variance that the template leaves unexplained."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit

# What rounding alone can leave of a window's squares, at all and for each pixel: that is a
# perfect match.
_ROUNDING, _ROUNDING_PER_PIXEL = 1e-14, 2e-17


@jit
def piecewise_constant(
    sums: NDArray[Any],
    totals: NDArray[Any],
    scatter: NDArray[np.float64],
    counts: NDArray[np.int64],
    channel: NDArray[np.int64],
    nothing: float,
    out: NDArray[Any],
    top: int,
    first: int,
    columns: int,
) -> None:
    """PWC nUV: one free grey for each bin (the paper's measure).

    ``D = 1 - sum_j (s_j - n_j S / d)^2 / n_j / V``, cut to [0, 1], where S is the sum over
    the slices of a channel, d = sum_j n_j, and V the scatter of the window. This is the
    paper's ``(Q - sum_j s_j^2 / n_j) / (Q - S^2 / d)`` without the loss of digits in its
    differences. What rounding alone can leave unexplained counts as 0.

    Parameters
    ----------
    sums : ndarray of shape (slices, rows, >= columns)
        s_j, about any common origin.
    totals : ndarray of shape (channels, rows, >= columns)
        S of each channel.
    scatter : ndarray of shape (rows, >= columns)
        V, of all channels. Where it is 0 or NaN there is no evidence.
    counts, channel : ndarray of shape (slices,)
        n_j, and the channel of each slice, ascending.
    nothing : float
        What to write where there is no evidence.
    out : ndarray of shape (H - h + 1, W - w + 1)
        The whole score map, filled from (top, first) on.

    Plain twin: ``naive.nuv_window``.
    """
    slices, rows, _ = sums.shape
    explained = np.empty(columns)
    total = np.empty(columns)
    pixels = float(counts[channel == 0].sum())
    rounding = _ROUNDING + _ROUNDING_PER_PIXEL * pixels * (channel[-1] + 1)
    for y in range(rows):
        for x in range(columns):
            explained[x] = 0.0
        for k in range(slices):
            if k == 0 or channel[k] != channel[k - 1]:
                of_window = totals[channel[k], y]
                for x in range(columns):
                    total[x] = of_window[x]
            of_slice = sums[k, y]
            count = float(counts[k])
            weight = 1.0 / (count * pixels * pixels)
            for x in range(columns):
                deviation = pixels * of_slice[x] - count * total[x]
                explained[x] += deviation * deviation * weight
        line = out[top + y, first : first + columns]
        whole = scatter[y]
        for x in range(columns):
            within = whole[x] - explained[x]
            share = within / whole[x]
            share = share if within > rounding * whole[x] else 0.0
            line[x] = share if whole[x] > 0.0 else nothing
