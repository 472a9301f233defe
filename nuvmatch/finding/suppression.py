"""Non-maximum suppression over a score map in bands of rows from the top down, or in blocks.

Of candidates near each other the best is taken. One is settled as soon as all that could outdo
it are known, so that no more than a seam of the map waits for the next band, and what is taken
is what one suppression over the whole map takes. So it is with blocks, wherever these are looked
at and in whichever order they come.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit

# Given rows and columns of n windows: (2, n) numbers by which near-ties are ordered, the first
# row of them first.
TieBreaker = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]

# Candidates of a band that there is room for: if there are more it is looked through again.
_EXPECTED, _ONE_IN = 4096, 8
_FARTHEST = 2**60  # rows or columns
_CELLS = 16  # for each candidate, at most
_LEAST_CELL = 16  # side of the cells in which neighbours are looked up


class Places(NamedTuple):
    """Places of a score map."""

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    scores: NDArray[np.float64]

    def of(self, which: Any) -> Places:
        """Return some of them."""
        return Places(self.rows[which], self.cols[which], self.scores[which])

    def and_also(self, others: Places) -> Places:
        """Return these, and others behind them."""
        return Places(
            np.concatenate([self.rows, others.rows]),
            np.concatenate([self.cols, others.cols]),
            np.concatenate([self.scores, others.scores]),
        )


def best_first(places: Places) -> NDArray[np.int64]:
    """Order by score, of equal ones by row and column."""
    order = np.argsort(places.scores)  # a tenth of the time of a sort by all three
    ranked = places.of(order)
    equal = ranked.scores[1:] == ranked.scores[:-1]
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    rows, cols, scores = ranked.of(tied)
    order[tied] = order[tied][np.lexsort((cols, rows, scores))]
    return order


NOWHERE = Places(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class Block(NamedTuple):
    """A block of a score map, that comes with a row and a column more where there are any."""

    rows: tuple[int, int]  # the first, and the one behind the last
    cols: tuple[int, int]
    extent: tuple[int, int]  # of the map

    @property
    def margins(self) -> tuple[int, int]:
        """Rows that come above it, and columns to the left."""
        return min(self.rows[0], 1), min(self.cols[0], 1)

    @property
    def inside(self) -> tuple[slice, slice]:
        """Where it lies in what comes."""
        top, left = self.margins
        height, width = self.rows[1] - self.rows[0], self.cols[1] - self.cols[0]
        return slice(top, top + height), slice(left, left + width)

    def knows(self, places: Places, reaches: tuple[int, int]) -> NDArray[np.bool_]:
        """Tell of which places all is here that is so many rows and columns apart at most."""
        known = np.ones(places.rows.size, np.bool_)
        for at, ends, end, reach in zip(
            places[:2], (self.rows, self.cols), self.extent, reaches, strict=True
        ):
            known &= (at - reach >= ends[0]) | (ends[0] == 0)
            known &= (at + reach < ends[1]) | (ends[1] == end)
        return known


class Suppression:
    """Takes a score map band by band, or block by block.

    Parameters
    ----------
    reach : ndarray of int
        ``reach[dr]``: candidates `dr` rows apart are near up to this many columns apart.
    limit : float
        Highest score of a candidate.
    enough : int or None
        How many places to take.
    tie : float
        Scores no farther apart than this are near-ties, and left to what breaks them.
    break_ties : TieBreaker or None
        None: only equal scores tie; they are taken by row and column.

    Attributes
    ----------
    lowest : float
        The lowest score so far; infinite where there was none.
    """

    def __init__(
        self,
        reach: NDArray[np.int64],
        limit: float,
        enough: int | None,
        tie: float,
        break_ties: TieBreaker | None,
    ) -> None:
        self._reach = reach[: int(np.flatnonzero(reach >= 0).max(initial=-1)) + 1]
        self._limit = limit
        self._enough = enough
        self._needed = None if enough is None else (enough - 1) * _most_near(self._reach) + 1
        self._tie = -1.0 if break_ties is None else tie
        self._break_ties = break_ties
        self._taken = self._open = NOWHERE
        self._rows = 0  # of the map, so far
        self._above: NDArray[np.floating] | None = None  # its last two
        self.lowest = math.inf

    def add(self, band: NDArray[np.floating], *, last: bool) -> None:
        """Take the next rows of the map, C-contiguous."""
        lowest = band.min()
        lowest = np.fmin.reduce(band, axis=None) if np.isnan(lowest) else lowest
        self.lowest = float(np.fmin(self.lowest, lowest))
        if self._enough == 1:  # nothing higher can be the best
            self._limit = min(self._limit, self.lowest + 2 * max(self._tie, 0))
        above = np.full((2, band.shape[1]), np.nan, band.dtype)
        if self._above is not None:
            above[-len(self._above) :] = self._above
        # The last row waits for the next band, and that of the band before had to wait.
        first = -1 if self._rows else 0
        found = candidates(above, band, (first, len(band) - (not last)), self._limit)
        self._open = self._open.and_also(found._replace(rows=found.rows + self._rows))
        self._above = np.concatenate([above, band[-2:]])[-2:]
        self._rows += len(band)
        self._drop_beyond_enough()
        if not last:
            self._settle(self._rows - 1)

    def of_block(self, scores: NDArray[np.floating], block: Block) -> tuple[Places, float]:
        """Find what may be taken of one block of the map, and its lowest score.

        Nothing is kept here: what all blocks have is for `add_found`, in any order. What
        something better drops that nothing beyond the block can change is left out.

        Parameters
        ----------
        scores : ndarray
            Of the block and of what is around it.
        block : Block
        """
        own = scores[block.inside]
        lowest = float(np.fmin.reduce(own, axis=None, initial=np.inf))
        limit = self._limit
        if self._enough == 1:
            limit = min(limit, lowest + 2 * max(self._tie, 0))
        top, left = block.margins
        nothing = np.full((2, scores.shape[1]), np.nan, scores.dtype)
        found = candidates(nothing, np.ascontiguousarray(scores), (top, top + len(own)), limit)
        found = found.of((found.cols >= left) & (found.cols < left + own.shape[1]))
        rows, cols = found.rows - top + block.rows[0], found.cols - left + block.cols[0]
        found = Places(rows, cols, found.scores)
        found = found.of(found.scores <= self._limit_of(found.scores))
        found = found.of(best_first(found))
        if not found.rows.size:
            return found, lowest
        reaches = self._reach.size - 1, int(self._reach.max(initial=-1))
        state = np.full(found.rows.size, OPEN, np.int8)
        self._decide(found, state, block.knows(found, reaches), self._tie)
        return found.of(state != DROPPED), lowest

    def add_found(self, found: Places, lowest: float) -> None:
        """Take, instead of a map, what `of_block` found in one block of it."""
        self.lowest = min(self.lowest, lowest)
        self._open = self._open.and_also(found)
        self._drop_beyond_enough()

    def without_ties(self) -> Suppression:
        """Return it without what breaks ties, to find what may be taken of blocks elsewhere."""
        found = copy.copy(self)
        found._break_ties = None
        return found

    def add_best(self, lowest: Places) -> None:
        """Take, instead of a map, all places that score as well as its best, or nearly.

        That is enough for the single best one.
        """
        self.lowest = float(lowest.scores.min())
        limit = self.lowest + 2 * max(self._tie, 0)
        at = zip(lowest.rows.tolist(), lowest.cols.tolist(), strict=True)
        scores = dict(zip(at, lowest.scores.tolist(), strict=True))
        kept = [
            score <= limit
            and all(
                scores.get((row + down, col + across), math.inf) >= score
                for down in (-1, 0, 1)
                for across in (-1, 0, 1)
            )
            for (row, col), score in scores.items()
        ]
        self._open = lowest.of(np.array(kept))

    def finish(self) -> Places:
        """Return what is taken of the whole map, best first."""
        self._settle(math.inf)
        found = self._taken
        if found.scores.size <= 1:
            return found
        step = found.scores
        if self._break_ties is not None and found.scores.size:
            # From the best on, so that what ties with it is not cut off from it.
            step = np.floor((found.scores - found.scores.min()) / self._tie)
        _, index, counts = np.unique(step, return_inverse=True, return_counts=True)
        return found.of(self._order(found, step, counts[index] > 1)[: self._enough])

    def _drop_beyond_enough(self) -> None:
        """Drop what cannot be among the places taken: each of these has so many near it."""
        if self._needed is not None:
            scores = np.concatenate([self._taken.scores, self._open.scores])
            self._limit = self._limit_of(scores)
            self._taken = self._taken.of(self._taken.scores <= self._limit)
            self._open = self._open.of(self._open.scores <= self._limit)

    def _limit_of(self, scores: NDArray[np.float64]) -> float:
        """Return the highest score that may be among the places taken, given those of some."""
        needed = self._needed
        if needed is None or scores.size <= needed:
            return self._limit
        highest = float(np.partition(scores, needed - 1)[needed - 1])
        return min(self._limit, highest + 2 * max(self._tie, 0))

    def _settle(self, known: float) -> None:
        """Take or drop candidates that no near-tie, nor a row from `known` on, can change."""
        if not self._open.rows.size:
            return
        if self._open.rows.size == 1 and not self._taken.rows.size and known == math.inf:
            self._taken, self._open = self._open, NOWHERE
            return
        seam = self._taken.rows > self._open.rows.min() - self._reach.size
        part = self._open.and_also(self._taken.of(seam))
        state = np.full(part.rows.size, OPEN, np.int8)
        state[self._open.rows.size :] = TAKEN
        order = best_first(part)
        part, state = part.of(order), state[order]
        self._decide(part, state, part.rows + self._reach.size <= known, self._tie)
        if (tied := state == TIED).any():
            order = self._order(part, np.rint(part.scores / self._tie), tied)
            part, state = part.of(order), state[order]
            state[state == TIED] = OPEN
            self._decide(part, state, part.rows + self._reach.size <= known, -1.0)
        self._taken = self._taken.of(~seam).and_also(part.of(state == TAKEN))
        self._open = part.of(state == OPEN)

    def _order(
        self, part: Places, step: NDArray[np.float64], tied: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Order by steps of the score; those that are tied by what breaks ties, then by place."""
        first, second = np.zeros((2, tied.size))
        if self._break_ties is not None and tied.any():
            first[tied], second[tied] = self._break_ties(part.rows[tied], part.cols[tied])
        return np.lexsort((part.cols, part.rows, second, first, step))

    def _decide(
        self, part: Places, state: NDArray[np.int8], known: NDArray[np.bool_], tie: float
    ) -> None:
        rows, cols = (at - at.min(initial=_FARTHEST) for at in (part.rows, part.cols))
        ends = rows.max(initial=0) + 1, cols.max(initial=0) + 1
        cell = max(_LEAST_CELL, self._reach.size, int(self._reach.max(initial=0)) + 1)
        # Where they are few and far apart cells are no more than these.
        cell = max(cell, math.isqrt(int(ends[0] * ends[1]) // (_CELLS * rows.size + 1)))
        shape = ends[0] // cell + 1, ends[1] // cell + 1
        firsts = np.full((3, *shape), -1, np.int64)
        decide(rows, cols, part.scores, self._reach, known, tie, cell, firsts, state)


def candidates(
    above: NDArray[np.floating],
    band: NDArray[np.floating],
    rows: tuple[int, int],
    limit: float,
) -> Places:
    """Return the places, first row to look at and the one behind the last, up to a limit."""
    room = max(_EXPECTED, band.size // _ONE_IN)
    highest, places = band.dtype.type(limit), np.empty((2, room), np.int64)
    number = find_candidates(above, band, *rows, highest, places)
    if number > room:
        places = np.empty((2, number), np.int64)
        find_candidates(above, band, *rows, highest, places)
    at, cols = places[:, :number]
    scores = np.where(at < 0, above[1, cols], band[np.maximum(at, 0), cols])
    return Places(at, cols, scores.astype(np.float64))


def minima(scores: NDArray[np.floating], limit: float) -> Places:
    """Return places of a map, C-contiguous, that no neighbour undercuts, up to a limit."""
    nothing = np.full((2, scores.shape[1]), np.nan, scores.dtype)
    return candidates(nothing, scores, (0, len(scores)), limit)


def _most_near(reach: NDArray[np.int64]) -> int:
    """Count the places that are near one, itself included, where no border is: no more can be."""
    return max(int((2 * reach + 1).sum() * 2 - (2 * reach[:1] + 1).sum()), 1)


OPEN, TIED, TAKEN, DROPPED = 0, 1, 2, 3


@jit
def find_candidates(
    above: NDArray[np.floating],
    band: NDArray[np.floating],
    first: int,
    stop: int,
    limit: Any,
    places: NDArray[np.int64],
) -> int:
    """Find the scores up to a limit that none of their 8 neighbours undercuts; count them.

    Parameters
    ----------
    above : ndarray of shape (2, columns)
        The rows -2 and -1; NaN where there is none.
    band : ndarray of shape (rows, columns)
    first, stop : int
        Rows to look at, from -1 on.
    limit : float
        Of the band's type.
    places : ndarray of shape (2, n)
        Row and column of each; those that it has room for are filled in.

    Plain twin: ``naive.around``.
    """
    count = 0
    columns = band.shape[1]
    highest = band.dtype.type(np.inf)
    lowest = np.full(columns + 2, highest)  # of a row and its neighbours
    passes = np.empty(columns, np.bool_)
    for y in range(first, stop):
        own = band[y] if y >= 0 else above[1]
        up = band[y - 1] if y >= 1 else above[y + 1]
        down = band[y + 1] if y + 1 < band.shape[0] else own  # which undercuts no more than it did
        some = False
        for x in range(columns):
            some |= own[x] <= limit
        if not some:
            continue
        for x in range(columns):
            low = up[x] if up[x] < highest else highest  # not NaN
            low = own[x] if own[x] < low else low
            lowest[x + 1] = down[x] if down[x] < low else low
        for x in range(columns):
            score = own[x]
            undercut = (lowest[x] < score) | (lowest[x + 1] < score) | (lowest[x + 2] < score)
            passes[x] = (score <= limit) & (score < highest) & (not undercut)
        for x in range(columns):
            if passes[x]:
                if count < places.shape[1]:
                    places[0, count] = y
                    places[1, count] = x
                count += 1
    return count


@jit
def decide(
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    scores: NDArray[np.float64],
    reach: NDArray[np.int64],
    known: NDArray[np.bool_],
    tie: float,
    cell: int,
    firsts: NDArray[np.int64],
    state: NDArray[np.int8],
) -> None:
    """Take each candidate that nothing better is near, drop those near it, leave what is open.

    That is what something unknown may change, what near-ties with something near it, and
    what is near something better that is open.

    Parameters
    ----------
    rows, cols, scores : ndarray of shape (n,)
        Best first.
    reach : ndarray
        ``reach[dr]``: candidates `dr` rows apart are near up to this many columns apart.
    known : ndarray of shape (n,)
        Whether all that may be near it is here.
    tie : float
        Scores no farther apart are near-ties; negative: none are.
    cell : int
        Side of a cell: no two that are near each other are more than one cell apart.
    firsts : ndarray of shape (3, cells in a column, cells in a row), filled with -1
        Heads of the lists of what is taken, open and tied. Of a plateau all are tied: one
        near-tie in that list says as much as the rest of it.
    state : ndarray of shape (n,)
        OPEN, or TAKEN or DROPPED before; where it is OPEN it is set.

    Plain twin: ``naive.apart``.
    """
    following = np.full(rows.size, -1, np.int64)
    near_ties = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        row, col = rows[i] // cell, cols[i] // cell
        if state[i] == OPEN:
            ties = 0
            dropped, beside = False, False
            for y in range(max(row - 1, 0), min(row + 2, firsts.shape[1])):
                for x in range(max(col - 1, 0), min(col + 2, firsts.shape[2])):
                    for which in range(3):
                        before, j = -1, firsts[which, y, x]
                        while j >= 0:
                            after = following[j]
                            if which != 2 and state[j] == TIED:  # it has become so: move it
                                if before >= 0:
                                    following[before] = after
                                else:
                                    firsts[which, y, x] = after
                                following[j] = firsts[2, y, x]
                                firsts[2, y, x] = j
                                j = after
                                continue
                            apart = abs(rows[i] - rows[j])
                            if apart < reach.size and abs(cols[i] - cols[j]) <= reach[apart]:
                                beside = True
                                gap = scores[i] - scores[j]
                                gap = 0.0 if np.isnan(gap) else gap  # of two that are infinite
                                if gap <= tie:
                                    near_ties[ties] = j
                                    ties += 1
                                    if which == 2:
                                        break  # the others need not be told again
                                elif state[j] == TAKEN:
                                    dropped = True
                            before, j = j, after
            if dropped:
                state[i] = DROPPED
            elif ties > 0:
                state[i] = TIED
                for j in near_ties[:ties]:
                    state[j] = TIED
            elif not beside and known[i]:
                state[i] = TAKEN
        if state[i] != DROPPED:
            which = 0 if state[i] == TAKEN else 1 if state[i] == OPEN else 2
            following[i] = firsts[which, row, col]
            firsts[which, row, col] = i
