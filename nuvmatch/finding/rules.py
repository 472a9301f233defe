"""Which places of a score map are peaks, and when one is too near a better one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_flag, as_greys, as_integer, as_number
from .suppression import Suppression, TieBreaker

MAX_OVERLAP = 0.25
PRECISE = "precise"  # fractions of a pixel from the pixels, not from the map

# Scores no farther apart than this are near-ties: what single and double precision leave.
_TIES = {"f": 1e-6, "d": 1e-9}


@dataclass
class PeakRule:
    """Which places of a score map are peaks, checked before there is a map.

    The fields are the options of `find_peaks`.
    """

    threshold: float | None = None
    false_alarms: float | None = None
    max_matches: int | None = None
    min_distance: float | None = None
    max_overlap: float = MAX_OVERLAP
    subpixel: bool | str = False

    def __post_init__(self) -> None:
        if self.threshold is not None:
            self.threshold = as_number(self.threshold, "threshold")
        if self.false_alarms is not None:
            self.false_alarms = as_number(self.false_alarms, "false_alarms", 0)
        if self.max_matches is not None:
            self.max_matches = as_integer(self.max_matches, "max_matches", 1)
        elif self.threshold is None and self.false_alarms is None:
            self.max_matches = 1
        if self.min_distance is not None:
            self.min_distance = as_number(self.min_distance, "min_distance", 0)
        self.max_overlap = as_number(self.max_overlap, "max_overlap", 0, 1)
        choices = f"True, False or {PRECISE!r}"
        if not isinstance(self.subpixel, str):
            self.subpixel = as_flag(self.subpixel, "subpixel", choices)
        elif self.subpixel != PRECISE:
            raise ValueError(f"subpixel is {self.subpixel!r}; it must be {choices}")

    @property
    def asks_for_the_best_alone(self) -> bool:
        """Whether the single best place is all that is asked for."""
        return self.threshold is None and self.false_alarms is None and self.max_matches == 1

    def suppression(
        self,
        extent: tuple[int, int],
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        break_ties: TieBreaker | None = None,
        limit: float = math.inf,
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
        limit : float
            Highest score that passes.
        """
        with np.errstate(over="ignore"):
            limit = float(dtype.type(limit))
        if self.min_distance is None:
            reach = _overlap_reach(*shape, self.max_overlap, extent)
        else:
            reach = _distance_reach(self.min_distance, extent)
        return Suppression(reach, limit, self.max_matches, _TIES[dtype.char], break_ties)


def reach_of_ties(dtype: np.dtype[Any]) -> float:
    """Tell how much more than the best something scores, at most, that may be taken instead.

    That is twice what near-ties differ by, and some rounding.
    """
    return 3 * _TIES[dtype.char]


def as_score_map(array: ArrayLike, name: str) -> NDArray[Any]:
    """Take a score map of float32 or, whatever else it is, as float64."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is masked; NaN is no evidence: pass .filled(np.nan) of it")
    scores = as_greys(array, name)
    if scores.ndim != 2 or scores.size == 0:
        raise ValueError(f"{name} has shape {scores.shape}; it must be (M, N), not empty")
    return np.ascontiguousarray(scores, scores.dtype if scores.dtype.char in _TIES else float)


def as_shape(shape: Any) -> tuple[int, int]:
    """Take height and width of windows."""
    try:
        height, width = shape
    except (TypeError, ValueError):
        given = f"of shape {np.shape(shape)}" if isinstance(shape, np.ndarray) else repr(shape)
        raise TypeError(f"shape is {given}; it must be (height, width)") from None
    return as_integer(height, "height", 1), as_integer(width, "width", 1)


@lru_cache(maxsize=64)  # small maps take less time than this
def _overlap_reach(
    height: int, width: int, max_overlap: float, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """For each row offset, the largest column offset at which boxes share too much; or -1."""
    rows = np.arange(float(min(height, shape[0])))[:, None]
    columns = np.arange(float(min(width, shape[1])))
    shared = (height - rows) * (width - columns)
    return _last_of_rows(shared / (2.0 * height * width - shared) > max_overlap)


@lru_cache(maxsize=64)
def _distance_reach(min_distance: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """For each row offset, the largest column offset that is closer than allowed; or -1."""
    rows = np.arange(min(shape[0], np.ceil(min_distance)))[:, None]
    columns = np.arange(min(shape[1], np.ceil(min_distance)))
    return _last_of_rows(np.hypot(rows, columns) < min_distance)


def _last_of_rows(near: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.asarray(np.count_nonzero(near, axis=1) - 1)
