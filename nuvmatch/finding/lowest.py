"""The lowest places of score maps, and how many places windows are: chance shows by the place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rules import PeakRule
from .suppression import NOWHERE, Places, minima

# Of the template's area: what one place takes of those that do not overlap much.
_PLACE = 0.6

# The lowest of many places: for each, so many minima of the map, among so many times the windows
# that a place has.
_MINIMA, _SHARE, _SAMPLED = 10, 2, 7


def windows_of_a_place(shape: tuple[int, int]) -> float:
    """Return how many windows one place takes."""
    return max(_PLACE * shape[0] * shape[1], 1.0)


def windows_of(places: float, shape: tuple[int, int]) -> int:
    """Return how many windows have so many places that do not overlap much."""
    return math.ceil(places * windows_of_a_place(shape))


def count_windows(maps: Iterable[NDArray[Any]]) -> int:
    """Count the scores that are evidence."""
    return sum(_count(scores) for scores in maps)


def _count(scores: NDArray[Any]) -> int:
    if scores.size == 0 or not np.isnan(scores.min()):  # no NaN, which is soon seen
        return scores.size
    return int(np.count_nonzero(~np.isnan(scores)))


def lowest_places(
    bands: Sequence[tuple[int, NDArray[Any]]], shape: tuple[int, int], number: int | None = None
) -> Places:
    """Find places that do not overlap much, in maps each by itself, lowest first.

    Parameters
    ----------
    bands : sequence of (int, ndarray of shape (M, N))
        Score maps and where their rows begin: places are told by it.
    shape : (int, int)
        Of the windows, in pixels.
    number : int, optional
        How many are enough; there may be some more. None: all.
    """
    if number is not None:
        windows = sum(band.size for _, band in bands)
        share = _SHARE * number * windows_of_a_place(shape) / max(windows, 1)
        if share < 1:
            lows = list(_minima_of(bands, _quantile(bands, share)))
            scores = np.concatenate([one.scores for one in lows])
            for size in (_MINIMA * number, scores.size):
                limit = np.partition(scores, size)[size] if size < scores.size else math.inf
                found = _apart(bands, shape, [one.of(one.scores <= limit) for one in lows])
                if found.rows.size >= number:
                    return found
    return _apart(bands, shape, _minima_of(bands, math.inf))


def _quantile(bands: Sequence[tuple[int, NDArray[Any]]], share: float) -> float:
    """Return what about such a share of scores is below."""
    some = np.concatenate([band[::_SAMPLED, ::_SAMPLED].ravel() for _, band in bands])
    size = int(share * some.size)
    return float(np.partition(some, size)[size])


def _minima_of(bands: Sequence[tuple[int, NDArray[Any]]], limit: float) -> Iterator[Places]:
    """Yield the minima of each map: of plateaus they are all that is there."""
    return (minima(np.ascontiguousarray(band), limit) for _, band in bands)


def _apart(
    bands: Sequence[tuple[int, NDArray[Any]]], shape: tuple[int, int], lows: Iterable[Places]
) -> Places:
    """Take of the minima of each map those that do not overlap much with better ones."""
    found = NOWHERE
    rule = PeakRule(math.inf)  # as `locate` has it by default
    for (first, band), candidates in zip(bands, lows, strict=True):
        search = rule.suppression((band.shape[0], band.shape[1]), shape, band.dtype)
        search.add_found(candidates, math.inf)
        places = search.finish()
        found = found.and_also(places._replace(rows=places.rows + first))
    return found.of(np.argsort(found.scores, kind="stable"))
