"""From a score map to places: which are peaks, and when one is too near a better one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_greys, as_integer, as_number
from ..results import Match, Matches
from .suppression import Places, Suppression, TieBreaker

# Scores no farther apart than this are near-ties: what single and double precision leave.
_TIES = {"f": 1e-6, "d": 1e-9}


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

    Candidates are places that none of their 8 neighbours undercuts, those on the border
    included, with a score of at most `threshold`. They are taken by (score, row, column); one
    that is too near to a better one already taken is dropped.

    Parameters
    ----------
    score_map : array_like of shape (M, N)
        Dissimilarities of any kind, lower is better; what is not float32 is compared as
        float64. NaN and +infinity are no peaks.
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
    shape = _as_shape(shape)
    scores = np.ascontiguousarray(scores, scores.dtype if scores.dtype.char in _TIES else float)
    found = rule.suppression(scores.shape, shape, scores.dtype)
    found.add(scores, last=True)
    return Matches(as_matches(found.finish(), scores.shape, shape))


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

    def suppression(
        self,
        extent: tuple[int, int],
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        break_ties: TieBreaker | None = None,
    ) -> Suppression:
        """Begin to find the peaks of a map.

        Parameters
        ----------
        extent : (int, int)
            Rows and columns of the map.
        shape : (int, int)
            Height and width of the windows.
        dtype : float32 or float64
            Of the map.
        break_ties : callable, optional
            What near-ties are ordered by, before row and column.
        """
        limit = math.inf
        if self.threshold is not None:
            with np.errstate(over="ignore"):
                limit = float(dtype.type(self.threshold))
        if self.min_distance is None:
            reach = _overlap_reach(*shape, self.max_overlap, extent)
        else:
            reach = _distance_reach(self.min_distance, extent)
        return Suppression(reach, limit, self.max_matches, _TIES[dtype.char], break_ties)


def as_matches(places: Places, extent: tuple[int, int], shape: tuple[int, int]) -> list[Match]:
    """Return matches of windows of that shape, in a map of that extent."""
    return [
        Match(row, col, *shape, score, on_edge=_on_edge(row, extent[0]) or _on_edge(col, extent[1]))
        for row, col, score in zip(*(part.tolist() for part in places), strict=True)
    ]


def _on_edge(place: int, extent: int) -> bool:
    """Whether a better place may lie beyond the map; where it has but one there was no choice."""
    return extent > 1 and place in (0, extent - 1)


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
