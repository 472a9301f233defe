"""From a score map to places: threshold, ties, non-maximum suppression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_greys, as_integer, as_number
from .._jit import jit
from ..results import Match, Matches


def find_peaks(
    score_map: ArrayLike,
    shape: tuple[int, int],
    *,
    threshold: float | None = None,
    max_matches: int | None = None,
    min_distance: float | None = None,
    max_overlap: float = 0.25,
) -> Matches:
    """Find the lowest places of a score map, best first.

    Candidates are all places whose score is at most `threshold`, those on the
    border included. They are taken by (score, row, column); one that is too near to a
    better one already taken is dropped.

    Parameters
    ----------
    score_map : array_like of shape (M, N)
        Dissimilarities of any kind, lower is better. NaN and +infinity are no peaks.
    shape : (int, int)
        Height and width of the window behind each score, in pixels.
    threshold : float, optional
        Highest score that passes, compared in the map's type. None: no limit.
    max_matches : int, optional
        How many matches at most. None: no limit; but with `threshold` None too, the
        single best.
    min_distance : float, optional
        Drop a candidate closer than this to a better one: Euclidean, between top-left
        pixels. None: go by `max_overlap`.
    max_overlap : float, optional
        Drop a candidate whose box shares more than this with a better one, as
        intersection over union, in [0, 1].

    Returns
    -------
    Matches
        Empty when nothing passes.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.ones((30, 30))
    >>> scores[10, 10:20] = 0.25
    >>> find_peaks(scores, (8, 8), threshold=0.5, min_distance=20)
    <1 match: (10, 10): 0.25>
    """
    rule = PeakRule(threshold, max_matches, min_distance, max_overlap)
    scores = as_greys(score_map, "score_map")
    if scores.ndim != 2 or scores.size == 0:
        raise ValueError(f"score_map has shape {scores.shape}; it must be (M, N), not empty")
    return rule.find(scores, _as_shape(shape))


@dataclass
class PeakRule:
    """Which places of a score map are peaks, checked before there is a map.

    The fields are the options of `find_peaks`.
    """

    threshold: float | None
    max_matches: int | None
    min_distance: float | None
    max_overlap: float

    def __post_init__(self) -> None:
        if self.threshold is not None:
            self.threshold = as_number(self.threshold, "threshold")
        if self.max_matches is not None:
            self.max_matches = as_integer(self.max_matches, "max_matches", 1)
        elif self.threshold is None:
            self.max_matches = 1
        if self.min_distance is not None:
            self.min_distance = as_number(self.min_distance, "min_distance", 0)
        self.max_overlap = as_number(self.max_overlap, "max_overlap", 0, 1)

    def find(self, scores: NDArray[Any], shape: tuple[int, int]) -> Matches:
        """Find the peaks of a map of windows of the given height and width."""
        candidates = scores < np.inf
        if self.threshold is not None:
            limit: Any = self.threshold
            if scores.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    limit = scores.dtype.type(limit)
            candidates &= scores <= limit
        if self.min_distance is None:
            reach = _overlap_reach(*shape, self.max_overlap, scores.shape)
        else:
            reach = _distance_reach(self.min_distance, scores.shape)
        places = _take(scores, np.flatnonzero(candidates), reach, self.max_matches)
        return Matches(Match(*place, *shape, float(scores[place])) for place in places)


def _as_shape(shape: Any) -> tuple[int, int]:
    try:
        height, width = shape
    except (TypeError, ValueError):
        given = f"of shape {np.shape(shape)}" if isinstance(shape, np.ndarray) else repr(shape)
        raise TypeError(f"shape is {given}; it must be (height, width)") from None
    return as_integer(height, "height", 1), as_integer(width, "width", 1)


def _overlap_reach(
    height: int, width: int, max_overlap: float, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """For each row offset, the largest column offset at which boxes share too much; or -1."""
    rows = np.arange(float(min(height, shape[0])))[:, None]
    columns = np.arange(float(min(width, shape[1])))
    shared = (height - rows) * (width - columns)
    too_much = shared / (2.0 * height * width - shared) > max_overlap
    return np.asarray(np.count_nonzero(too_much, axis=1) - 1)


def _distance_reach(min_distance: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """For each row offset, the largest column offset that is closer than allowed; or -1."""
    rows = np.arange(min(shape[0], np.ceil(min_distance)))[:, None]
    columns = np.arange(min(shape[1], np.ceil(min_distance)))
    too_close = np.hypot(rows, columns) < min_distance
    return np.asarray(np.count_nonzero(too_close, axis=1) - 1)


def _take(
    scores: NDArray[Any],
    candidates: NDArray[np.int64],
    reach: NDArray[np.int64],
    max_matches: int | None,
) -> list[tuple[int, int]]:
    """Take candidates (flat indices, ascending) by score and place, suppressing around each."""
    values = scores.ravel()[candidates]
    enough = candidates.size if max_matches is None else min(max_matches, candidates.size)
    considered = 64 * enough
    while True:
        # The best few suffice as a rule; all that tie with the last of them come along.
        best = candidates
        if considered < candidates.size:
            best = candidates[values <= np.partition(values, considered - 1)[considered - 1]]
        order = best[np.argsort(scores.ravel()[best], kind="stable")]
        taken = np.empty(min(enough, order.size), np.int64)
        count = suppress(order, reach, enough, np.zeros(scores.shape, np.bool_), taken)
        if count == enough or considered >= candidates.size:
            rows, columns = np.divmod(taken[:count], scores.shape[1])
            return list(zip(rows.tolist(), columns.tolist(), strict=True))
        considered *= 8


@jit
def suppress(
    order: NDArray[np.int64],
    reach: NDArray[np.int64],
    enough: int,
    near: NDArray[np.bool_],
    taken: NDArray[np.int64],
) -> int:
    """Take places in order, each unless it is near one already taken; return how many.

    Parameters
    ----------
    order : ndarray of shape (n,)
        Flat indices into the map, best first.
    reach : ndarray
        ``reach[dr]``: places `dr` rows away are near up to this many columns away.
    near : ndarray of the map's shape, False at first
    taken : ndarray, filled

    Plain twin: ``naive.find_peaks``.
    """
    rows, columns = near.shape
    count = 0
    for i in range(order.size):
        if count == enough:
            break
        row = order[i] // columns
        column = order[i] % columns
        if near[row, column]:
            continue
        taken[count] = order[i]
        count += 1
        for y in range(max(row - reach.size + 1, 0), min(row + reach.size, rows)):
            side = reach[abs(y - row)]
            for x in range(max(column - side, 0), min(column + side + 1, columns)):
                near[y, x] = True
    return count
