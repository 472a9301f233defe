"""Non-maximum suppression over a score map that comes in bands of rows, from the top down.

Of candidates near each other the best is taken. One is settled as soon as all that could outdo
it are known, so that no more than a seam of the map waits for the next band, and what is taken
is what one suppression over the whole map takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit

# Given rows and columns of n windows: (2, n) numbers by which near-ties are ordered, the first
# row of them first.
TieBreaker = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]

_EXPECTED = 4096  # candidates of a band: if there are more it is looked through again
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


class Suppression:
    """Takes a score map band by band.

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
        stop = len(band) - (not last)
        limit, places = band.dtype.type(self._limit), np.empty((2, _EXPECTED), np.int64)
        number = find_candidates(above, band, first, stop, limit, places)
        if number > _EXPECTED:
            places = np.empty((2, number), np.int64)
            find_candidates(above, band, first, stop, limit, places)
        rows, cols = places[:, :number]
        scores = np.where(rows < 0, above[1, cols], band[np.maximum(rows, 0), cols])
        found = Places(rows + self._rows, cols, scores.astype(np.float64))
        self._open = self._open.and_also(found)
        self._above = np.concatenate([above, band[-2:]])[-2:]
        self._rows += len(band)
        self._drop_beyond_enough()
        if not last:
            self._settle(self._rows - 1)

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
        needed = self._needed
        if needed is not None and self._taken.scores.size + self._open.scores.size > needed:
            scores = np.concatenate([self._taken.scores, self._open.scores])
            highest = float(np.partition(scores, needed - 1)[needed - 1])
            self._limit = min(self._limit, highest + 2 * max(self._tie, 0))
            self._taken = self._taken.of(self._taken.scores <= self._limit)
            self._open = self._open.of(self._open.scores <= self._limit)

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
        self._decide(part, state, known, self._tie)
        if (tied := state == TIED).any():
            order = self._order(part, np.rint(part.scores / self._tie), tied)
            part, state = part.of(order), state[order]
            state[state == TIED] = OPEN
            self._decide(part, state, known, -1.0)
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

    def _decide(self, part: Places, state: NDArray[np.int8], known: float, tie: float) -> None:
        rows = part.rows - part.rows.min(initial=0)
        cell = max(_LEAST_CELL, self._reach.size, int(self._reach.max(initial=0)) + 1)
        shape = (rows.max(initial=0) // cell + 1, part.cols.max(initial=0) // cell + 1)
        firsts = np.full((3, *shape), -1, np.int64)
        known = min(known - part.rows.min(initial=0), 2.0**60)
        decide(rows, part.cols, part.scores, self._reach, int(known), tie, cell, firsts, state)


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
    passes = np.empty(columns, np.bool_)
    nothing = np.full(columns, np.nan, band.dtype)
    for y in range(first, stop):
        own = band[y] if y >= 0 else above[1]
        up = band[y - 1] if y >= 1 else above[y + 1]
        down = band[y + 1] if y + 1 < band.shape[0] else nothing
        some = 0
        for x in range(columns):
            passes[x] = own[x] <= limit and own[x] < np.inf
            some += passes[x]
        if some == 0:
            continue
        for x in range(columns):
            passes[x] &= not (up[x] < own[x] or down[x] < own[x])
        for x in range(columns - 1):
            passes[x] &= not (up[x + 1] < own[x] or own[x + 1] < own[x] or down[x + 1] < own[x])
        for x in range(1, columns):
            passes[x] &= not (up[x - 1] < own[x] or own[x - 1] < own[x] or down[x - 1] < own[x])
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
    known: int,
    tie: float,
    cell: int,
    firsts: NDArray[np.int64],
    state: NDArray[np.int8],
) -> None:
    """Take each candidate that nothing better is near, drop those near it, leave what is open.

    That is what a row from `known` on may change, what near-ties with something near it, and
    what is near something better that is open.

    Parameters
    ----------
    rows, cols, scores : ndarray of shape (n,)
        Best first.
    reach : ndarray
        ``reach[dr]``: candidates `dr` rows apart are near up to this many columns apart.
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
                                if scores[i] - scores[j] <= tie:
                                    near_ties[ties] = j
                                    ties += 1
                                    if which == 2:
                                        break  # the others need not be told again
                                dropped |= state[j] == TAKEN and scores[i] - scores[j] > tie
                            before, j = j, after
            if dropped:
                state[i] = DROPPED
            elif ties > 0:
                state[i] = TIED
                for j in near_ties[:ties]:
                    state[j] = TIED
            elif not beside and rows[i] + reach.size <= known:
                state[i] = TAKEN
        if state[i] != DROPPED:
            which = 0 if state[i] == TAKEN else 1 if state[i] == OPEN else 2
            following[i] = firsts[which, row, col]
            firsts[which, row, col] = i
