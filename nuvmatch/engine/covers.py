"""Slices as few additions: of single pixels, and of runs between two running sums.

The grey of a pixel is one addition. A run of neighbours in a line of the template is the
difference of two places of the image's running sum, whatever its length. Each line goes
from run to run, and sets single pixels right within a run; the cheapest way to do so is
found by dynamic programming, Viterbi's algorithm.

What is summed need not be a slice: it may be the union of a slice and all above it. These
share their boundaries with their neighbours, which saves a run wherever tones change
gradually. Slices and unions alike are the branches of a tree with one slice at its root,
that is what the others leave over of the window's sum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .prices import ADDITIONS, SEARCH, AdditionPrices

Indices = NDArray[np.int64]
Costs = NDArray[np.int32]

_LONGEST_LINE = 256  # so that a piece of one line fits 16 bits
_LINES_AT_ONCE = 32  # whose costs stay in the second-level cache
_LINES_TRIED = 48  # to choose among ways


class Accumulator(NamedTuple):
    """How pixels of one type are added up."""

    narrow: type[np.generic]  # type in which a piece of a slice is summed
    wide: type[np.generic]  # type in which its pieces are
    axes: tuple[int, ...]  # of the running sums that may be used
    prices: AdditionPrices

    def limit(self, magnitude: int) -> int:
        """How many pixels of that magnitude a piece may have, so that its sum fits its type."""
        if self.narrow is np.float64:
            return _LONGEST_LINE  # few terms are added in turn
        room = int(np.iinfo(np.dtype(self.narrow)).max) // max(magnitude, 1)
        # Large limits are rounded, so that what is found for one serves many images.
        return room if room < 2 * _LONGEST_LINE else int(2 ** (room.bit_length() - 1))


# By type of pixel. Running sums of floats would lose digits.
ACCUMULATORS = {
    np.dtype(np.uint8): Accumulator(np.uint16, np.int32, (0, 1), ADDITIONS["uint8"]),
    np.dtype(np.int32): Accumulator(np.int32, np.float64, (0, 1), ADDITIONS["int32"]),
    np.dtype(np.float64): Accumulator(np.float64, np.float64, (), ADDITIONS["float64"]),
}


@dataclass(frozen=True)
class Tree:
    """Which unions of slices are summed: for each slice, the one that it hangs on.

    The sum that belongs to a slice is taken over it and all that hangs on it.
    """

    root: int
    parents: Indices  # (slices,); the root's is -1
    between: Costs  # (slices, slices): branches from one slice to another

    @classmethod
    def star(cls, slices: int, root: int) -> "Tree":
        """Hang every slice on the root."""
        return cls._of(root, np.full(slices, root), (np.arange(slices) != root).astype(np.int32))

    @classmethod
    def path(cls, slices: int, root: int, outside: int) -> "Tree":
        """Hang every slice on its neighbour, and those from `outside` on on the root."""
        index = np.arange(slices)
        parents = np.where(index < outside, index - np.sign(index - root), root)
        return cls._of(root, parents, np.where(index < outside, abs(index - root), 1))

    @classmethod
    def _of(cls, root: int, parents: Indices, depth: Indices) -> "Tree":
        """Work out the distances: down from the root, a slice is one step from its parent."""
        order = np.argsort(depth, kind="stable")
        between = np.zeros((parents.size, parents.size), np.int32)
        for i, k in enumerate(order[1:], 1):
            known = order[:i]
            between[k, known] = between[known, k] = between[parents[k], known] + 1
        parents[root] = -1
        return cls(root, parents, between)

    @property
    def steps(self) -> Indices:
        """(slices - 1, 2): from the root on, whose sum is to be taken from whose."""
        order = np.argsort(self.between[self.root], kind="stable")[1:]
        return np.stack([order, self.parents[order]], axis=1).astype(np.int64)

    def holds(self, member: int, slice_: int) -> bool:
        """Whether the sum that belongs to a slice is taken over a member too."""
        return bool(
            self.between[self.root, slice_] + self.between[slice_, member]
            == self.between[self.root, member]
        )


@dataclass(frozen=True)
class Cover:
    """The additions for the slices of one plane, as the kernels take them.

    A piece is a part of a slice small enough for the narrow type in which it is added up.
    """

    axis: int  # of the running sums: 0 down the columns, 1 along the rows, -1 none are used
    steps: Indices  # of the tree
    ys: Indices  # (additions,)
    xs: Indices
    bounds: Indices  # (pieces, 5): first addition of subtracted pixels, subtracted runs,
    #                  added pixels, added runs, and the end
    starts: Indices  # (slices + 1,): first piece of each slice


class _Way(NamedTuple):
    """What is summed, and along which lines."""

    tree: Tree
    axis: int
    limit: int
    accumulator: Accumulator


def cheapest_cover(
    labels: Indices,
    slices: int,
    limit: int,
    accumulator: Accumulator,
    root: int | None = None,
) -> Cover:
    """Find the cheapest way to sum all slices of a template but one.

    Parameters
    ----------
    labels : ndarray of shape (height, width)
        0 .. slices - 1, or -1 where a pixel does not count. These pixels, if there are
        any, are one more slice, the last.
    limit : int
        How many pixels a piece may have at most.
    root : int, optional
        Which slice is not to be summed; by default the one that saves most.
    """
    labels = np.where(labels < 0, slices, labels)
    _, way = _best_way(labels, slices, limit, accumulator, root)
    return _collect(_Lines.of(labels, way), way)


def plain_cover(
    labels: Indices,
    slices: int,
    limit: int,
    accumulator: Accumulator,
    root: int | None = None,
) -> Cover:
    """Sum all slices but one pixel by pixel; parameters are those of `cheapest_cover`."""
    labels = np.where(labels < 0, slices, labels)
    counts = np.bincount(labels.ravel(), minlength=slices)
    if root is None:
        root = int(np.argmax(counts))
    others = np.delete(np.arange(counts.size), root)
    order = np.argsort(labels, axis=None, kind="stable")
    ys, xs = np.divmod(order[labels.ravel()[order] != root], labels.shape[1])
    counts[root] = 0
    pieces = np.maximum(-(-counts // limit), np.arange(counts.size) != root)
    starts = np.concatenate(([0], np.cumsum(pieces)))
    ends = np.cumsum(counts)
    of_slice = np.repeat(np.arange(counts.size), pieces)
    begin = (ends - counts)[of_slice] + limit * (np.arange(starts[-1]) - starts[of_slice])
    end = np.minimum(begin + limit, ends[of_slice])
    bounds = np.stack([begin, begin, begin, end, end], axis=1)  # nothing but added pixels
    steps = np.stack([others, np.full_like(others, root)], axis=1)
    return Cover(-1, steps, ys, xs, bounds, starts)


def search_time(shape: tuple[int, int], slices: int) -> float:
    """Picoseconds that it takes to find the cheapest cover, about."""
    of_slice, of_pixel = SEARCH
    return slices * (of_slice + of_pixel * shape[0] * shape[1]) * 1e6


def estimated_cost(
    labels: Indices,
    slices: int,
    limit: int,
    accumulator: Accumulator,
    root: int | None = None,
) -> int:
    """Estimate the cost of what `cheapest_cover` will find, in much less time."""
    return _best_way(np.where(labels < 0, slices, labels), slices, limit, accumulator, root)[0]


def _best_way(
    labels: Indices, slices: int, limit: int, accumulator: Accumulator, root: int | None
) -> tuple[int, _Way]:
    """Choose tree and axis by some of the lines."""
    counts = np.bincount(labels.ravel(), minlength=slices)
    middle = int(np.searchsorted(np.cumsum(counts[:slices]), counts[:slices].sum() / 2))
    trees = [Tree.star(counts.size, int(np.argmax(counts)) if root is None else root)]
    if root is None and slices > 2:
        trees.append(Tree.path(counts.size, middle, slices))
    axes = [(trees[0], -1)] + [(tree, axis) for tree in trees for axis in accumulator.axes]
    ways = [_Way(tree, axis, limit, accumulator) for tree, axis in axes]
    costs = [_estimate(labels, way) for way in ways]
    best = int(np.argmin(costs))
    return costs[best], ways[best]


def _estimate(labels: Indices, way: _Way) -> int:
    """Price of the way along all lines, told from some of them."""
    lines = _cut_lines(labels, way)
    step = -(-lines.shape[1] // _LINES_TRIED)
    some = lines[:, ::step]
    return _cost(some, _cheapest_runs(some, way), way, lines.shape[1] / some.shape[1])


def _cut_lines(labels: Indices, way: _Way) -> Indices:
    """Cut a template into lines (length, lines), filled up with the root."""
    of_lines = labels.T if way.axis == 1 else labels
    length, width = of_lines.shape
    longest = min(_LONGEST_LINE, way.limit, length)
    parts = -(-length // longest)
    padded = np.full((parts * longest, width), way.tree.root)
    padded[:length] = of_lines
    return padded.reshape(parts, longest, width).swapaxes(0, 1).reshape(longest, -1)


@dataclass(frozen=True)
class _Lines:
    """The way along lines of the template: its run at each place."""

    labels: Indices  # (length, lines): of the pixels, the root's beyond the template
    runs: Indices  # (length + 1, lines): of the run before each place, the root's at the end
    ys: Indices  # (length + 1, lines): where a place is in the template
    xs: Indices

    @classmethod
    def of(cls, labels: Indices, way: _Way) -> "_Lines":
        """Cut a template into lines, and find the cheapest way along them."""
        lines = _cut_lines(labels, way)
        length, width = labels.T.shape if way.axis == 1 else labels.shape
        along, across = np.indices((len(lines) + 1, lines.shape[1]))
        along = np.minimum(along + across // width * len(lines), length)
        across = across % width
        ys, xs = (across, along) if way.axis == 1 else (along, across)
        return cls(lines, _cheapest_runs(lines, way), ys, xs)


def _cost(lines: Indices, runs: Indices, way: _Way, share: float) -> int:
    """Price of lines, times `share`."""
    tree, axis, limit, accumulator = way
    prices = accumulator.prices
    cost, once = prices.pixel * int(tree.between[runs[:-1], lines].sum()), 0
    if axis >= 0:
        cost += prices.run * int(tree.between[runs[:-1], runs[1:]].sum())
        cost += prices.run * int(tree.between[tree.root, runs[0]].sum())
        once = prices.per_image
    pieces = int(tree.between[tree.root, lines].sum()) * share / limit + tree.parents.size - 1
    return int(cost * share + prices.per_piece * pieces) + once


def _cheapest_runs(lines: Indices, way: _Way) -> Indices:
    """Find the run before each place of lines (length, n): shape (length + 1, n)."""
    tree, axis, _, accumulator = way
    runs = np.full((len(lines) + 1, lines.shape[1]), tree.root)
    if axis >= 0:
        prices = accumulator.prices
        lines = np.ascontiguousarray(lines)  # one layout to compile
        find_runs(lines, tree.between, tree.steps, tree.root, prices.run, prices.pixel, runs)
    return runs


@jit
def find_runs(
    lines: Indices,
    between: Costs,
    branches: Indices,
    root: int,
    run: int,
    pixel: int,
    runs: Indices,
) -> None:
    """Find the cheapest runs along lines: Viterbi's algorithm, several lines at once.

    Parameters
    ----------
    lines : ndarray of shape (length, n)
        Slices of the pixels.
    between : ndarray of shape (slices, slices)
        Branches of the tree from one slice to another.
    branches : ndarray of shape (slices - 1, 2)
        Child and parent, from the root on.
    root : int
    run, pixel : int
        Prices to change the run, and to mend a pixel, for each branch.
    runs : ndarray of shape (length + 1, n), filled
        The last run is the root's.

    Plain twin: ``naive.cheapest_runs``.
    """
    length, n = lines.shape
    slices = len(between)
    costs = np.empty((length, slices, _LINES_AT_ONCE), np.int32)
    reached = np.empty((slices, _LINES_AT_ONCE), np.int32)
    least = np.empty(_LINES_AT_ONCE, np.int32)
    for first in range(0, n, _LINES_AT_ONCE):
        some = min(_LINES_AT_ONCE, n - first)
        for k in range(slices):
            for i in range(some):
                reached[k, i] = run * between[k, root]
        for place in range(length):
            labels = lines[place, first : first + some]
            for k in range(slices):
                of_slice, own, mend = costs[place, k], reached[k], between[k]
                for i in range(some):
                    own[i] += pixel * mend[labels[i]]
                    of_slice[i] = own[i]
            # Along the branches to the root, and back: the least of all costs plus distance.
            for b in range(len(branches) - 1, -1, -1):
                child, parent = reached[branches[b, 0]], reached[branches[b, 1]]
                for i in range(some):
                    parent[i] = min(parent[i], child[i] + run)
            for b in range(len(branches)):
                child, parent = reached[branches[b, 0]], reached[branches[b, 1]]
                for i in range(some):
                    child[i] = min(child[i], parent[i] + run)
        behind = runs[length, first : first + some]
        for i in range(some):
            behind[i] = root
        for place in range(length - 1, -1, -1):
            best = runs[place, first : first + some]
            for i in range(some):
                best[i] = 0
                least[i] = costs[place, 0, i] + run * between[0, behind[i]]
            for k in range(1, slices):
                of_slice, change = costs[place, k], between[k]
                for i in range(some):
                    cost = of_slice[i] + run * change[behind[i]]
                    if cost < least[i]:
                        least[i] = cost
                        best[i] = k
            behind = best


def _collect(lines: _Lines, way: _Way) -> Cover:
    """List the additions of each slice, piece by piece."""
    tree, axis, limit, _ = way
    before = np.vstack([np.full_like(lines.runs[:1], tree.root), lines.runs[:-1]])
    inside = lines.runs[:-1]
    slices = tree.parents.size
    additions, bounds, starts, first = [], [], [0], 0
    for k in range(slices):
        if k != tree.root:
            held = np.array([tree.holds(member, k) for member in range(slices)])
            piece_of_line = _pieces(held[lines.labels].sum(axis=0), limit)
            # A run's sum is the running sum behind its end less that at its beginning.
            kinds = [
                held[inside] & ~held[lines.labels],
                ~held[before] & held[lines.runs],
                ~held[inside] & held[lines.labels],
                held[before] & ~held[lines.runs],
            ]
            found = [np.nonzero(kind) for kind in kinds]
            along, across = (np.concatenate(places) for places in zip(*found, strict=True))
            kind = np.repeat(np.arange(4), [places[0].size for places in found])
            piece = piece_of_line[across]
            ys, xs = lines.ys[along, across], lines.xs[along, across]
            order = np.lexsort((xs, ys, kind, piece))
            additions.append(np.stack([ys[order], xs[order]]))
            pieces = int(piece_of_line[-1]) + 1
            ends = np.searchsorted((4 * piece + kind)[order], np.arange(4 * pieces + 1))
            for p in range(pieces):
                bounds.append(first + ends[4 * p : 4 * p + 5])
            first += order.size
        starts.append(len(bounds))
    ys, xs = np.concatenate([np.zeros((2, 0), np.int64), *additions], axis=1)
    of_pieces = np.array(bounds, np.int64).reshape(-1, 5)
    return Cover(axis, tree.steps, ys, xs, of_pieces, np.array(starts))


def _pieces(counts: Indices, limit: int) -> Indices:
    """Put lines after each other into one piece, and number it, while the limit allows."""
    ends = np.cumsum(counts)
    pieces = np.zeros(counts.size, np.int64)
    held = 0
    while held + limit < ends[-1]:
        first = int(np.searchsorted(ends, held + limit, side="right"))
        pieces[first] = 1
        held = int(ends[first - 1])
    return np.cumsum(pieces)
