"""Whether false alarms told are those seen in one's own images, and what of one's own is kept."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _checks
from .._progress import Tell, telling
from ..finding import PeakRule, find_peaks
from ..matcher import Matcher
from ..results import Match
from .asking import (
    Asked,
    ByMeasure,
    as_measures,
    as_place,
    check_map,
    check_trial,
    refusal,
    windows_of,
)
from .pictures import NoData
from .significance import rate_interval

_ALL = PeakRule(false_alarms=math.inf)


@dataclass(frozen=True, eq=False)
class PresenceTrial:
    """A template, an image, and where in it the template is, if it is there.

    Attributes
    ----------
    image : array_like
        As `nuvmatch.locate` takes it.
    template : array_like
    places : sequence of (int, int)
        Row and column of the top-left pixel of each copy; none: it is not there.
    name : str
        For the rows.
    nodata : float or sequence of float, optional
        As for `nuvmatch.locate`.
    """

    image: ArrayLike
    template: ArrayLike
    places: Sequence[tuple[int, int]] = ()
    name: str = ""
    nodata: NoData = None


@dataclass(frozen=True)
class Presence(ByMeasure):
    """What `check_presence` has found.

    Attributes
    ----------
    rows : tuple of dict
        One for each trial and measure: `name`, that of the trial, and `trial`, its position;
        `measure`; how many are `planted`, and how many of these are among as many `best` places;
        for each nominal number such as 0.1, how many matches of no planted place pass,
        ``"false at 0.1"``, and how many planted ones are found by those that pass,
        ``"kept at 0.1"``; `score` and `false_alarms` of the best place; and `refused`, why
        nothing could be told, so that nothing passes, or "".
    nominal : tuple of float
        Numbers of false alarms that were allowed.
    """

    nominal: tuple[float, ...] = field(kw_only=True)

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each measure and nominal number of false alarms.

        Returns
        -------
        list of dict
            ``measure`` and ``nominal``; of searches ``without`` the template their number, the
            mean number of ``false`` matches and its standard ``error``; of what is ``planted``
            the number, the share that is among as many ``best`` places and the share that is
            ``kept``, with its 95 % interval from ``low`` to ``high`` (Wilson's); and how many
            searches were ``refused``, in which nothing passes. NaN is what no trial tells.

        Notes
        -----
        The promise of ``false_alarms=`` holds where `false` is about `nominal`, or less. Copies
        count as independent; if many are in one image, intervals are too narrow.
        """
        return [
            _summed(measure, number, self.of(measure))
            for measure in self.measures
            for number in self.nominal
        ]


def check_presence(
    trials: Sequence[PresenceTrial],
    measures: Sequence[Asked] | Mapping[str, Asked] = ("nuv", "nuv_adaptive", "ncc2", "mi"),
    *,
    nominal: Sequence[float] = (0.1, 1, 10),
    near: int = 1,
    n_threads: int | None = None,
    progress: bool | Tell | None = None,
) -> Presence:
    """Seek templates where they are not, and where they are, by several measures.

    It tells of one's own images what ``false_alarms=`` promises of any: how many false matches
    are seen where so many are allowed, and which true ones are kept.

    Parameters
    ----------
    trials : sequence of PresenceTrial
        Those without places show false matches, all others what is kept. An image is read by each
        measure.
    measures : sequence, or dict by name
        Measures, names of them, or callables that are given the image and the template and return
        a map: of dissimilarities, indexed by the window's top-left pixel, NaN being no evidence.
        Of a callable what chance shows is learnt from the map's own minima, of which few may be
        true, as `nuvmatch.find_peaks` does it. A ValueError of any counts as refused.
    nominal : sequence of float
        Numbers of false alarms to allow, above 0.
    near : int
        Pixels from a planted place, in rows and columns, that count as right.
    n_threads : int, optional
        As for `nuvmatch.Matcher`.
    progress : callable or True, optional
        As for `nuvmatch.Matcher.locate`; a part is one trial.

    Returns
    -------
    Presence

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above, a place is none of a trial's score map, or what a
        callable makes is none.

    Warns
    -----
    UserWarning
        If a measure cannot tell false alarms in some of the searches.

    Examples
    --------
    >>> import numpy as np
    >>> from nuvmatch import evaluation
    >>> noise = np.random.default_rng(0).integers(0, 256, (2, 150, 150), dtype=np.uint8)
    >>> template = noise[0, 40:56, 70:86].copy()
    >>> trials = [
    ...     evaluation.PresenceTrial(noise[1], template),
    ...     evaluation.PresenceTrial(255 - noise[0], template, [(40, 70)]),
    ... ]
    >>> found = evaluation.check_presence(trials, ["nuv", "ncc2"], nominal=[0.1])
    >>> [(row["measure"], row["false"], row["kept"]) for row in found.table()]
    [('nuv', 0.0, 1.0), ('ncc2', 0.0, 1.0)]
    """
    trials, asked = _checked_trials(trials), as_measures(measures)
    numbers = _checked_nominal(nominal)
    near = _checks.as_integer(near, "near", 0)
    if n_threads is not None:
        n_threads = _checks.as_integer(n_threads, "n_threads", 1)
    rows: list[dict[str, Any]] = []
    with telling(progress) as counted:
        counted.expect(len(trials))
        for i, trial in enumerate(trials):
            for name, measure in asked.items():
                matches, refused = _seek(trial, name, measure, n_threads)
                rows.append(
                    {
                        "name": trial.name,
                        "trial": i,
                        "measure": name,
                        **_judge(matches, trial.places, numbers, near),
                        "score": matches[0].score if matches else math.nan,
                        "false_alarms": matches[0].false_alarms if matches else math.inf,
                        "refused": refused,
                    }
                )
            counted.advance()
    found = Presence(tuple(rows), nominal=numbers)
    for name in asked:
        refusals = [row["refused"] for row in found.of(name) if row["refused"]]
        if refusals:
            _checks.warn(
                f"{name} lets nothing pass in {len(refusals)} of {len(trials)} searches: "
                f"{refusals[0]}"
            )
    return found


def _checked_trials(trials: Any) -> list[PresenceTrial]:
    """Take trials whose places are those of their score maps."""
    if isinstance(trials, PresenceTrial) or not isinstance(trials, Sequence):
        raise TypeError(
            f"trials is of type {type(trials).__name__}; it must be a sequence of PresenceTrial"
        )
    if not trials:
        raise ValueError("there is no trial; at least one must tell of false matches or true ones")
    return [_checked(trial, f"trial {i}") for i, trial in enumerate(trials)]


def _checked(trial: Any, name: str) -> PresenceTrial:
    if not isinstance(trial, PresenceTrial):
        raise TypeError(f"{name} is of type {type(trial).__name__}; it must be a PresenceTrial")
    _checks.as_nodata(trial.nodata)
    return replace(trial, places=_checked_places(trial.places, check_trial(trial, name), name))


def _checked_places(places: Any, windows: tuple[int, int], name: str) -> list[tuple[int, int]]:
    """Take places of a score map, each once; an iterator would be spent by the first call."""
    try:
        if isinstance(places, str) or not isinstance(places, (Sequence, np.ndarray)):
            raise TypeError
        given = [(row, col) for row, col in places]
    except (TypeError, ValueError):
        raise TypeError(f"places of {name} is {places!r}; it must be [(row, col), ..]") from None
    found = [as_place(row, col, windows, name) for row, col in given]
    if len(set(found)) < len(found):
        raise ValueError(f"places of {name} has one twice; each must be there once")
    return found


def _checked_nominal(nominal: Any) -> tuple[float, ...]:
    """Take numbers of false alarms, which are told apart as they are written in rows."""
    if isinstance(nominal, str) or not np.iterable(nominal):
        raise TypeError(f"nominal is {nominal!r}; it must be a sequence of numbers")
    numbers = tuple(_checks.as_number(one, "nominal", 0, sys.float_info.max) for one in nominal)
    if not all(numbers) or len({f"{number:g}" for number in numbers}) < max(len(numbers), 1):
        raise ValueError(
            f"nominal is {nominal!r}; it must be numbers above 0 that six digits tell apart"
        )
    return numbers


def _seek(
    trial: PresenceTrial, name: str, measure: Any, n_threads: int | None
) -> tuple[Sequence[Match], str]:
    """Return all places by a measure, best first, and why nothing can be told of them, or ""."""
    with _checks.silence() as unsaid:
        if hasattr(measure, "prepare"):
            matches, refused = _refusing(_seek_by, trial, measure, n_threads)
        else:
            matches = None
            scores, refused = _refusing(measure, trial.image, trial.template)
            if not refused:
                check_map(name, scores, windows_of(trial.image, trial.template))
                shape = np.shape(trial.template)[:2]
                matches, refused = _refusing(find_peaks, scores, shape, false_alarms=math.inf)
    matches = matches or ()
    if not matches or matches[0].false_alarms == math.inf:
        return matches, refused or "; ".join(unsaid)
    for message in unsaid:
        _checks.warn(message)
    return matches, ""


def _refusing(function: Callable[..., Any], *given: Any, **options: Any) -> tuple[Any, str]:
    """Return what a function returns, or None and what it refuses it with."""
    try:
        return function(*given, **options), ""
    except ValueError as error:
        return None, refusal(error)


def _seek_by(trial: PresenceTrial, measure: Any, n_threads: int | None) -> Sequence[Match]:
    matcher = Matcher(trial.template, measure, nodata=trial.nodata, n_threads=n_threads)
    return matcher._seek(trial.image, None, None, _ALL).peaks.matches


def _judge(
    matches: Sequence[Match],
    places: Sequence[tuple[int, int]],
    nominal: Sequence[float],
    near: int,
) -> dict[str, int]:
    """Count false matches, and the places that are found, at each number of false alarms."""
    found = np.array([(match.row, match.col) for match in matches], int).reshape(-1, 2)
    hits = np.zeros((len(matches), len(places)), np.bool_)
    for i, place in enumerate(places):
        hits[:, i] = (abs(found - place) <= near).all(axis=1)
    alarms = np.array([match.false_alarms for match in matches], float)
    row = {"planted": len(places), "best": int(hits[: len(places)].any(axis=0).sum())}
    for number in nominal:
        passing = hits[alarms <= number]
        row[f"false at {number:g}"] = int((~passing.any(axis=1)).sum())
        row[f"kept at {number:g}"] = int(passing.any(axis=0).sum())
    return row


def _summed(measure: str, number: float, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the rows of a measure come to at a nominal number."""
    false = np.array([row[f"false at {number:g}"] for row in rows if not row["planted"]], float)
    planted, best, kept = (
        sum(row[key] for row in rows) for key in ("planted", "best", f"kept at {number:g}")
    )
    low, high = rate_interval(kept, planted) if planted else (math.nan, math.nan)
    return {
        "measure": measure,
        "nominal": number,
        "without": false.size,
        "false": float(false.mean()) if false.size else math.nan,
        "error": float(false.std(ddof=1)) / false.size**0.5 if false.size > 1 else math.nan,
        "planted": planted,
        "best": best / planted if planted else math.nan,
        "kept": kept / planted if planted else math.nan,
        "low": low,
        "high": high,
        "refused": sum(row["refused"] != "" for row in rows),
    }
