"""From a score map to matches: its peaks, and how far each is to be believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..results import Match, Matches
from .lowest import count_windows, lowest_places
from .margins import best_elsewhere
from .rules import MAX_OVERLAP, PRECISE, PeakRule, as_score_map, as_shape
from .significance import Null, check_null, logs_of, numbers_of
from .subpixel import fraction_at
from .suppression import Places, Suppression, TieBreaker

_ROUNDING = 1e-12  # of a logarithm

# Given the first row and the one behind the last: those rows of the map.
Rows = Callable[[int, int], NDArray[np.floating]]


def find_peaks(
    score_map: ArrayLike,
    shape: tuple[int, int],
    *,
    threshold: float | None = None,
    false_alarms: float | None = None,
    null: Null | None = None,
    max_matches: int | None = None,
    min_distance: float | None = None,
    max_overlap: float = MAX_OVERLAP,
    subpixel: bool = False,
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
    false_alarms : float, optional
        How many false matches an image like this may show: a place passes if chance shows no
        more that are as good. Infinity: as many as there are, but each match tells. None: not
        asked for.
    null : Null, optional
        What chance shows. None: the map's own minima tell, the five lowest left out; more than
        a few true places among them make the others doubtful, and NaN must tell windows
        without evidence from scores.
    max_matches : int, optional
        How many matches at most. None: no limit; but with `threshold` and `false_alarms` None
        too, the single best.
    min_distance : float, optional
        Drop a candidate closer than this to a better one: Euclidean, between top-left
        pixels. None: go by `max_overlap`.
    max_overlap : float, optional
        Drop a candidate whose box shares more than this with a better one, as
        intersection over union, in [0, 1].
    subpixel : bool
        Tell `Match.center` to a fraction of a pixel, by the scores around it, and how exact it is
        (`Match.sigma`), as if all pixels of a window were compared.

    Returns
    -------
    Matches
        Empty when nothing passes.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above; if `null` is of another shape; if false alarms
        are asked for and a score is below 0.

    Warns
    -----
    UserWarning
        If false alarms are asked for and cannot be told: they are infinite then.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.ones((30, 30))
    >>> scores[10, 10:20] = 0.25
    >>> find_peaks(scores, (8, 8), threshold=0.5, min_distance=20)
    <1 match: (10, 10): 0.25>
    """
    rule = PeakRule(threshold, false_alarms, max_matches, min_distance, max_overlap, subpixel)
    if rule.subpixel == PRECISE:
        raise ValueError("subpixel is 'precise', which needs pixels: Matcher.locate has them")
    scores, shape = as_score_map(score_map, "score_map"), as_shape(shape)
    chance = None
    if null is not None:
        check_null(null)
        null.check(shape)
    if null is not None or rule.false_alarms is not None:
        windows = count_windows([scores])
        if null is None:
            lowest = lowest_places([(0, scores)], shape)
            null = Null(shape, windows, windows, logs_of(lowest.scores), own=True)
        null.warn_if_undecided()
        chance = Chance(null, windows)
    found = take_peaks(
        feed_bands([(0, scores)], len(scores)), scores.shape, shape, scores.dtype, rule,
        lambda top, bottom: scores[top:bottom], chance=chance,
    )  # fmt: skip
    matches = found.compared(found.matches)
    if not rule.subpixel:
        return Matches(matches)

    def around(row: int, col: int) -> NDArray[Any]:
        return scores[row - 1 : row + 2, col - 1 : col + 2]

    pixels = shape[0] * shape[1]
    return Matches(
        replace(match, **fraction_at(match, scores.shape, around, pixels)._asdict())
        for match in matches
    )


class Chance(NamedTuple):
    """What chance shows in a search: the law, and how many windows are searched."""

    null: Null
    windows: int

    @property
    def joined(self) -> bool:
        """Whether the map is of logarithms, of false alarms of several measures."""
        return bool(self.null.parts)

    def log_false_alarms(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithms of false alarms of a map's values."""
        logs = values if self.joined else logs_of(values)
        return self.null.log_false_alarms(logs, self.windows)

    def scores(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of a map's values: of a joined one the chance of a false alarm."""
        if not self.joined:
            return values
        with np.errstate(over="ignore"):
            chances = -np.expm1(-np.exp(self.log_false_alarms(values)))
        return np.where(np.isnan(values), np.nan, chances)

    def most(self, rule: PeakRule) -> float:
        """Return the logarithm of the most false alarms that pass."""
        most = math.inf if rule.false_alarms is None else rule.false_alarms
        if self.joined and rule.threshold is not None and rule.threshold < 1:
            most = min(most, -math.log1p(-max(rule.threshold, 0.0)))
        return math.log(most) if most > 0 else -math.inf

    def limit(self, rule: PeakRule) -> float:
        """Return a value of the map above which nothing passes."""
        # What rounding makes of a score is to pass, and to be judged by itself.
        limit = self.null.limit(self.most(rule), self.windows)
        limit += 1e-6 * max(abs(limit), 1) if math.isfinite(limit) else 0
        with np.errstate(over="ignore"):
            return limit if self.joined else float(np.exp(limit))


class Peaks(NamedTuple):
    """Matches of a map, and what they are compared with."""

    matches: list[Match]
    lowest: float  # of the map; infinite where there was no value
    row_lowest: NDArray[np.floating]  # of each row; empty where none are compared
    rows_of: Rows
    chance: Chance | None
    values: NDArray[np.float64]  # of the map at the matches: of a joined one no scores

    def compared(self, matches: Sequence[Match]) -> list[Match]:
        """Return some of the matches with their margins."""
        if not (self.row_lowest.size and matches):
            return list(matches)
        shape = matches[0].height, matches[0].width
        rows, cols = (np.array([getattr(m, name) for m in matches]) for name in ("row", "col"))
        best = best_elsewhere(rows, cols, shape, self.row_lowest, self.rows_of)
        if self.chance is not None:
            best = self.chance.scores(best)
        with np.errstate(invalid="ignore"):  # of two that are infinite
            gaps = best - np.array([m.score for m in matches])
        return [
            replace(match, margin=None if math.isnan(gap) else gap)
            for match, gap in zip(matches, gaps.tolist(), strict=True)
        ]


NO_PEAKS = Peaks([], math.inf, np.empty(0), lambda top, bottom: np.empty((0, 0)), None, np.empty(0))


# Gives a suppression the whole map; returns the lowest score of each row if that is asked for.
Feed = Callable[[Suppression, bool], NDArray[np.floating]]


def feed_bands(bands: Iterable[tuple[int, NDArray[Any]]], rows: int) -> Feed:
    """Give a map of so many rows in bands: their first rows and the bands, from the top down."""

    def feed(search: Suppression, compared: bool) -> NDArray[np.floating]:
        lowest: list[NDArray[np.floating]] = []
        for first, band in bands:
            search.add(band, last=first + len(band) == rows)
            if compared:
                lowest.append(np.fmin.reduce(band, axis=1))
        return np.concatenate(lowest) if lowest else np.empty(0)

    return feed


def take_peaks(
    feed: Feed,
    extent: tuple[int, ...],
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    rule: PeakRule,
    rows_of: Rows,
    *,
    chance: Chance | None = None,
    break_ties: TieBreaker | None = None,
) -> Peaks:
    """Take the peaks of a map that comes in parts.

    Parameters
    ----------
    feed : callable
        Gives the map.
    extent : (int, int)
        Rows and columns of the map.
    shape : (int, int)
        Height and width of the windows.
    dtype : float32 or float64
        Of the map.
    rule : PeakRule
    rows_of : callable
        Makes rows of it, again if need be.
    chance : Chance, optional
        Asked for false alarms.
    break_ties : callable, optional
        What near-ties are ordered by, before row and column.
    """
    limit = math.inf if rule.threshold is None else rule.threshold
    if chance is not None:
        limit = min(chance.limit(rule), math.inf if chance.joined else limit)
    rows, columns = extent
    search = rule.suppression((rows, columns), shape, dtype, break_ties, limit)
    rows_lowest = feed(search, chance is not None or (rule.max_matches or 1) > 1)
    places = search.finish()
    alarms: NDArray[np.float64] | None = None
    if chance is not None:
        alarms = chance.log_false_alarms(places.scores)
        believed = alarms <= chance.most(rule) + _ROUNDING
        places, alarms = places.of(believed), alarms[believed]
    matches = _as_matches(places, extent, shape, chance, alarms)
    return Peaks(matches, search.lowest, rows_lowest, rows_of, chance, places.scores)


def take_best(
    lowest: Places,
    extent: tuple[int, int],
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    rule: PeakRule,
    break_ties: TieBreaker | None = None,
) -> Peaks:
    """Take the best place of a map of which the lowest scores are known, with near-ties.

    Other parameters are those of `take_peaks`.

    Parameters
    ----------
    lowest : Places
        All that score no more than the best and `reach_of_ties`.
    """
    search = rule.suppression(extent, shape, dtype, break_ties)
    search.add_best(lowest)
    places = search.finish()
    matches = _as_matches(places, extent, shape, None, None)
    return NO_PEAKS._replace(matches=matches, lowest=search.lowest, values=places.scores)


def _as_matches(
    places: Places,
    extent: tuple[int, ...],
    shape: tuple[int, int],
    chance: Chance | None,
    alarms: NDArray[np.float64] | None,
) -> list[Match]:
    """Put together what is known of places; None is what was not asked for."""
    scores = places.scores if chance is None else chance.scores(places.scores)
    told = [None] * scores.size if alarms is None else numbers_of(alarms).tolist()
    found = zip(places.rows.tolist(), places.cols.tolist(), scores.tolist(), told, strict=True)
    return [
        Match(
            row, col, *shape, score, false_alarms=false_alarms,
            on_edge=_on_edge(row, extent[0]) or _on_edge(col, extent[1]),
        )
        for row, col, score, false_alarms in found
    ]  # fmt: skip


def _on_edge(place: int, extent: int) -> bool:
    """Whether a better place may lie beyond the map; where it has but one there was no choice."""
    return extent > 1 and place in (0, extent - 1)
