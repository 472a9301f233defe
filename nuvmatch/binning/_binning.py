"""The result of every binner, and how it comes from edges."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_floats, as_greys, as_integer


@dataclass(frozen=True, eq=False)
class Binning:
    """A cut of grey levels into bins ``[edge_j, edge_j+1)``, the last one closed.

    Attributes
    ----------
    edges : ndarray of shape (b + 1,)
        Bin edges, ascending, in grey levels; every bin holds a value. The last two are
        equal where the top level is a bin of its own.
    labels : ndarray of int, of the values' shape
        The bin of each value, 0 .. b - 1.
    counts : ndarray of int, of shape (b,)
        How many values each bin holds.
    objective : float
        ``sum_j (sum of the values in bin j)^2 / counts_j``: what the best binning for
        undistorted tones maximises (the paper's Theorem 1 with Cross = ττᵀ).
    """

    edges: NDArray[np.float64]
    labels: NDArray[np.int64]
    counts: NDArray[np.int64]
    objective: float

    @classmethod
    def from_edges(cls, values: NDArray[np.float64], edges: NDArray[np.float64]) -> "Binning":
        """Label values by edges that cover them; empty bins go to their lower neighbour."""
        labels = np.searchsorted(edges, values, side="right") - 1
        labels = np.minimum(labels, edges.size - 2)
        used, labels = np.unique(labels, return_inverse=True)
        labels = labels.reshape(values.shape).astype(np.int64)
        counts = np.bincount(labels.ravel())
        sums = np.bincount(labels.ravel(), weights=values.ravel())
        with np.errstate(over="ignore"):  # infinite for greys beyond 1e154
            objective = float((sums * (sums / counts)).sum())
        return cls(np.append(edges[used], edges[-1]), labels, counts, objective)

    @classmethod
    def from_cuts(cls, values: NDArray[np.float64], inner: NDArray[np.float64]) -> "Binning":
        """Label values by inner edges, each the lowest level of the bin above it."""
        return cls.from_edges(values, np.concatenate(([values.min()], inner, [values.max()])))


def check_values(values: ArrayLike, bins: int) -> tuple[NDArray[np.float64], int]:
    """Take what every binner takes: at least one finite value, and a number of bins.

    Raises
    ------
    TypeError, ValueError
        If they are not that.
    """
    greys, base = as_floats(as_greys(values, "values"))
    if base:
        raise ValueError(f"values from {base} on are too large for edges; subtract an offset")
    if greys.size == 0:
        raise ValueError(f"values have shape {greys.shape}; there must be at least one")
    if not np.isfinite(greys).all():
        raise ValueError("values hold NaN or infinity; they must be finite")
    if greys.max() / 2 - greys.min() / 2 > np.finfo(np.float64).max / 2:
        raise ValueError(f"values reach from {greys.min()} to {greys.max()}, farther than floats")
    return greys, as_integer(bins, "bins", 1)
