"""What every binner starts from, and what it returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_floats, as_greys, as_integer
from ._quadratic import Cross, Curves, PrefixForm, check_cross, prefix_form

# For a measure more levels than those of 8 bits find nothing more, and would cost it many times
# its map. What has more is put into so many groups.
_EIGHT_BITS, _GROUPS = 256, 128
_STEPS = 4  # a value: whole numbers that reach no farther are counted, not sorted


def as_least(least: int) -> int:
    """Take how many values each bin must hold at least."""
    return as_integer(least, "least", 1)


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
    """

    edges: NDArray[np.float64]
    labels: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Levels:
    """The sorted distinct levels of some values."""

    shape: tuple[int, ...]  # of the values
    index: NDArray[np.int64]  # (d,): which level each value is
    levels: NDArray[np.float64]  # (d_τ,)
    counts: NDArray[np.int64]  # (d_τ,)

    @classmethod
    def of(cls, values: "ArrayLike | Levels") -> "Levels":
        """Sort and count at least one finite value; what is sorted stays as it is.

        Raises
        ------
        TypeError, ValueError
            If `values` are not finite real numbers.
        """
        if isinstance(values, Levels):
            return values
        greys, base = as_floats(as_greys(values, "values"))
        if base:
            raise ValueError(f"values from {base} on are too large for edges; subtract an offset")
        if greys.size == 0:
            raise ValueError(f"values have shape {greys.shape}; there must be at least one")
        if not np.isfinite(greys).all():
            raise ValueError("values hold NaN or infinity; they must be finite")
        low, high = float(greys.min()), float(greys.max())
        if not high - low < np.inf:
            raise ValueError(f"values reach from {low} to {high}, farther than floats")
        return cls(greys.shape, *_sort(greys.ravel(), low, high))

    def joined(self, first: NDArray[np.bool_]) -> "Levels":
        """Join levels to groups by their lowest: `first` tells of each if a group begins with it.

        With the lowest of all one does.
        """
        if first.all():
            return self
        group = np.cumsum(first) - 1
        counts = np.add.reduceat(self.counts, np.flatnonzero(first))
        return Levels(self.shape, group[self.index], self.levels[first], counts)

    def grouped(self) -> "Levels":
        """Join levels to groups, where there are more than 256.

        No group has more than 1/64 of the values, but for those of one level, nor of their
        range: so a few far out do not throw the rest together, nor do many close together leave
        too few groups for those between.
        """
        levels, counts = self.levels, self.counts
        if levels.size <= _EIGHT_BITS:
            return self
        height = (levels / 2 - levels[0] / 2) / (levels[-1] / 2 - levels[0] / 2)
        rank = (np.cumsum(counts) - counts) / counts.sum()
        group = np.floor(_GROUPS / 2 * (height + rank))
        return self.joined(np.concatenate(([True], np.diff(group) > 0)))

    def form(self, cross: Cross) -> PrefixForm:
        """Sum up what bins of the levels explain of a cross-product; None stands for ττᵀ.

        Raises
        ------
        TypeError, ValueError
            If it is not a finite symmetric matrix of the levels' size.
        """
        return prefix_form(self.levels, self.counts, cross)

    def index_bins(self, labels: ArrayLike) -> NDArray[np.int64]:
        """Give the bin of each value as 0 .. b - 1; any whole numbers may label them.

        Raises
        ------
        TypeError, ValueError
            If `labels` are not whole numbers of the values' shape.
        """
        given = as_greys(labels, "labels")
        if given.shape != self.shape or given.dtype.kind not in "iu":
            raise ValueError(
                f"labels have shape {given.shape} and type {given.dtype}; they must be whole "
                f"numbers of shape {self.shape}"
            )
        return np.unique(given.ravel(), return_inverse=True)[1]

    def matrix(self, cross: Cross) -> NDArray[np.float64]:
        """Return a cross-product over the levels as a matrix; None stands for ττᵀ.

        Raises
        ------
        TypeError, ValueError
            If it is not a finite symmetric matrix of the levels' size.
        """
        if cross is None:
            return np.outer(self.levels, self.levels)
        given = cross.to_matrix() if isinstance(cross, Curves) else cross
        return check_cross(given, self.levels.size)

    def explained(self, bins: NDArray[np.int64], matrix: NDArray[np.float64]) -> float:
        """Compute the objective by its definition, for any bins of the values."""
        counts = np.zeros((bins.max() + 1, self.levels.size))
        np.add.at(counts, (bins, self.index), 1)
        explained = ((counts @ matrix) * counts).sum(axis=1)
        return float((explained / counts.sum(axis=1)).sum())

    def cut_at(self, inner: NDArray[np.int64]) -> Binning:
        """Cut before the levels of the given indices, ascending: they are the inner edges."""
        edges = self.levels[np.concatenate(([0], inner, [-1]))]
        return self._cut(inner, edges)

    def cut_by(self, edges: NDArray[np.float64], least: int = 1) -> Binning:
        """Cut by edges that cover the levels; an empty bin is joined to the one below."""
        labels = np.searchsorted(edges, self.levels, side="right") - 1
        labels = np.minimum(labels, edges.size - 2)
        inner = self.join_few(np.flatnonzero(np.diff(labels)) + 1, least)
        used = labels[np.concatenate(([0], inner))]
        return self._cut(inner, np.append(edges[used], edges[-1]))

    def join_few(self, inner: NDArray[np.int64], least: int) -> NDArray[np.int64]:
        """Join bins of fewer values than `least` to the next above, at the top to the last."""
        ends, total = np.cumsum(self.counts), self.index.size
        kept: list[int] = []
        held = 0
        for cut in inner.tolist():
            below = int(ends[cut - 1])
            if below - held >= least and total - below >= least:
                kept.append(cut)
                held = below
        return np.array(kept, np.int64)

    def _cut(self, inner: NDArray[np.int64], edges: NDArray[np.float64]) -> Binning:
        label = np.zeros(self.levels.size, np.int64)
        label[inner] = 1
        labels = np.cumsum(label)[self.index].reshape(self.shape)
        return Binning(edges, labels, np.bincount(labels.ravel()))


def _sort(
    values: NDArray[np.float64], low: float, high: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return which level each value is, the levels, and their counts."""
    if high - low < _STEPS * values.size:
        steps = (values - low).astype(np.int64)
        if (steps + low == values).all():
            counts = np.bincount(steps)
            used = counts > 0
            levels = np.flatnonzero(used).astype(np.float64) + low
            return (np.cumsum(used) - 1)[steps], levels, counts[used]
    levels, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return index.astype(np.int64), levels, counts.astype(np.int64)
