"""What a bin explains: a quadratic form of prefix sums over the levels.

The bin of levels i .. j - 1 adds ``|c_j - c_i|^2 / (N_j - N_i)`` to the objective (paper,
Theorem 1). N are prefix sums of the levels' counts n, c those of n m for each tone curve m, and
the square is the mean over curves; or, with G_ij the sum of ``n_k n_l Cross_kl`` over k < i,
l < j, it is ``G_jj - 2 G_ij + G_ii``, which an indefinite Cross can make negative.

No BLAS in here: its threads, spinning, stall where another program has one of the cores.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_greys
from .._jit import jit

# More levels than these are grouped: no cut then lies inside a group.
LEVELS_LIMIT = 4096


@dataclass(frozen=True)
class Curves:
    """The mean of m mᵀ over tone curves m, by the curves themselves.

    Stands for a cross-product matrix of low rank, which it never forms.

    Parameters
    ----------
    samples : ndarray of shape (R, d_τ)
        One curve a row, over the sorted distinct levels.
    """

    samples: NDArray[np.float64]

    def to_matrix(self) -> NDArray[np.float64]:
        """Return the plain matrix, of shape (d_τ, d_τ)."""
        return np.asarray(self.samples.T @ self.samples / len(self.samples))


Cross = ArrayLike | Curves | None


@dataclass(frozen=True)
class PrefixForm:
    """Prefix sums over n levels: those of the curves, or the table G of a matrix."""

    counts: NDArray[np.float64]  # N, (n + 1,)
    curves: NDArray[np.float64] | None  # c / sqrt(R), (R, n + 1)
    table: NDArray[np.float64] | None  # G, (n + 1, n + 1)
    scale: float  # what all levels in bins of their own explain, without signs

    def squares(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return ``|c_j - c_i|^2`` for i from `start` to `stop`, and j from `start` on."""
        out = np.zeros((stop - start, self.counts.size - start))
        if self.table is not None:
            squares_from_table(self.table, start, out)
        else:
            assert self.curves is not None
            squares_from_curves(self.curves, start, out)
        return out

    def full_table(self) -> NDArray[np.float64]:
        """Return G, or a table that gives the same squares, right above its diagonal."""
        return self.squares(0, self.counts.size) / -2 if self.table is None else self.table

    def at(self, places: NDArray[np.int64]) -> "PrefixForm":
        """Keep only some of the places between levels, the first and the last among them."""
        if places.size == self.counts.size:
            return self
        curves = None if self.curves is None else np.ascontiguousarray(self.curves[:, places])
        table = None if self.table is None else self.table[np.ix_(places, places)]
        return PrefixForm(self.counts[places], curves, table, self.scale)

    def mean_part(self) -> float:
        """Return what a single bin for all levels explains: the mean's share."""
        ends = self.at(np.array([0, self.counts.size - 1]))
        return float(ends.squares(0, 2)[0, 1] / np.diff(ends.counts)[0])


def prefix_form(levels: NDArray[np.float64], counts: NDArray[np.int64], cross: Cross) -> PrefixForm:
    """Sum up a cross-product over levels; None stands for ττᵀ.

    Curves are taken less their grey at the median level: all partitions then explain less by the
    same, and an offset of the curves costs no digits.

    Raises
    ------
    TypeError, ValueError
        If `cross` is not a finite symmetric matrix of the levels' size.
    """
    cumulated = np.concatenate(([0.0], np.cumsum(counts, dtype=np.float64)))
    median = int(np.searchsorted(cumulated[1:], cumulated[-1] / 2))
    if cross is None:
        cross = Curves(levels[np.newaxis])
    if isinstance(cross, Curves):
        samples = cross.samples
        if samples.ndim != 2 or samples.shape[1] != levels.size:
            raise ValueError(
                f"the curves have shape {samples.shape}; over {levels.size} distinct levels "
                f"they must have (R, {levels.size})"
            )
        with np.errstate(over="ignore"):  # infinite for greys beyond 1e154
            weighted = (samples - samples[:, [median]]) * (counts / np.sqrt(len(samples)))
            curves = np.zeros((len(samples), levels.size + 1))
            np.cumsum(weighted, axis=1, out=curves[:, 1:])
            return PrefixForm(cumulated, curves, None, float((weighted**2 / counts).sum()))
    matrix = less_level(check_cross(cross, levels.size), median)
    table = np.zeros((levels.size + 1, levels.size + 1))
    prefix_sums(matrix, counts, table)
    return PrefixForm(cumulated, None, table, float((counts * abs(matrix.diagonal())).sum()))


def less_level(matrix: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """Return the cross-product of curves less their grey at a level."""
    matrix = matrix - matrix[level]
    return np.asarray(matrix - matrix[:, [level]])


def check_cross(cross: Any, size: int) -> NDArray[np.float64]:
    """Take a finite symmetric matrix over that many levels; definite it need not be."""
    given = as_greys(cross, "cross")
    if given.shape != (size, size):
        raise ValueError(
            f"cross has shape {given.shape}; over {size} distinct levels it must be {(size, size)}"
        )
    matrix = np.ascontiguousarray(given, np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("cross holds NaN or infinity; it must be finite")
    largest, asymmetry = largest_entries(matrix)
    if asymmetry > 1e-9 * largest:
        raise ValueError(f"cross is not symmetric: it differs from its transpose by {asymmetry:g}")
    return matrix


def group_levels(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose at most 4096 + 1 places between levels, nearly the same counts apart."""
    if counts.size <= LEVELS_LIMIT:
        return np.arange(counts.size + 1)
    cumulated = np.concatenate(([0], np.cumsum(counts)))
    wanted = np.linspace(0, cumulated[-1], LEVELS_LIMIT + 1)
    return np.unique(np.searchsorted(cumulated, wanted))


def most_bins(counts: NDArray[Any], least: int) -> int:
    """Count how many bins of neighbouring levels can hold at least so many values each."""
    ends = np.cumsum(counts).tolist()
    bins, held = 0, 0.0
    while bins < counts.size and ends[-1] - held >= least:
        held = ends[bisect_left(ends, held + least)]
        bins += 1
    return max(bins, 1)


@jit
def squares_from_curves(curves: NDArray[np.float64], start: int, out: NDArray[np.float64]) -> None:
    """Add up squared distances of prefix sums, curve by curve.

    Parameters
    ----------
    curves : ndarray of shape (R, n + 1)
    out : ndarray of shape (rows, n + 1 - start), zeros
        Filled for i < j.

    Plain twin: ``naive.objective``.
    """
    rows, columns = out.shape
    side = 512  # what of the output stays in the first-level cache
    for left in range(0, columns, side):
        right = min(left + side, columns)
        for top in range(0, rows, 8):
            for r in range(curves.shape[0]):
                first = max(left, top + 1)
                curve = curves[r, start + first : start + right]
                for i in range(top, min(top + 8, rows)):
                    own = curves[r, start + i]
                    square = out[i, first:right]
                    for j in range(right - first):
                        square[j] += (curve[j] - own) * (curve[j] - own)


@jit
def squares_from_table(table: NDArray[np.float64], start: int, out: NDArray[np.float64]) -> None:
    """Fill ``G_jj - 2 G_ij + G_ii`` for i < j; see `squares_from_curves`.

    Plain twin: ``naive.objective``.
    """
    rows, columns = out.shape
    diagonal = np.empty(columns)
    for j in range(columns):
        diagonal[j] = table[start + j, start + j]
    for i in range(rows):
        row = table[start + i, start:]
        for j in range(i + 1, columns):
            out[i, j] = diagonal[j] - 2 * row[j] + diagonal[i]


@jit
def prefix_sums(
    matrix: NDArray[np.float64], counts: NDArray[np.int64], table: NDArray[np.float64]
) -> None:
    """Fill G of the module's formula, but for its first row and column of zeros.

    Plain twin: ``naive.objective``.
    """
    n = counts.size
    i = 0
    while i + 4 <= n:  # four rows in one pass: their sums need not wait for each other
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            a += counts[i] * counts[j] * matrix[i, j]
            b += counts[i + 1] * counts[j] * matrix[i + 1, j]
            c += counts[i + 2] * counts[j] * matrix[i + 2, j]
            d += counts[i + 3] * counts[j] * matrix[i + 3, j]
            table[i + 1, j + 1] = table[i, j + 1] + a
            table[i + 2, j + 1] = table[i + 1, j + 1] + b
            table[i + 3, j + 1] = table[i + 2, j + 1] + c
            table[i + 4, j + 1] = table[i + 3, j + 1] + d
        i += 4
    while i < n:
        a = 0.0
        for j in range(n):
            a += counts[i] * counts[j] * matrix[i, j]
            table[i + 1, j + 1] = table[i, j + 1] + a
        i += 1


@jit
def largest_entries(matrix: NDArray[np.float64]) -> tuple[float, float]:
    """Return the largest magnitude, and the largest difference from the transpose.

    Plain twin: ``naive.asymmetry``.
    """
    n = matrix.shape[0]
    largest = 0.0
    asymmetry = 0.0
    side = 32  # blocks, so that the transposed reads stay in the cache
    for top in range(0, n, side):
        for left in range(0, top + 1, side):
            for i in range(top, min(top + side, n)):
                for j in range(left, min(left + side, i + 1)):
                    a = matrix[i, j]
                    b = matrix[j, i]
                    largest = max(largest, abs(a), abs(b))
                    asymmetry = max(asymmetry, abs(a - b))
    return largest, asymmetry
