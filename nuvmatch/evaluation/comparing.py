"""Compare measures on one's own images: how often each finds a template, how surely, how fast."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._progress import Tell, telling
from ..matcher import Matcher
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
from .significance import holm, paired_difference, rate_interval
from .trials import Trial, cut_trials, judge

# What a callable's mean AUC must be below, over so many trials, to look like a similarity.
_UPSIDE_DOWN, _SEVERAL = 0.2, 3


@dataclass(frozen=True)
class Comparison(ByMeasure):
    """What `compare` has found.

    Attributes
    ----------
    rows : tuple of dict
        One for each trial and measure: `pair`, its name, `trial`, which counts those of one pair
        and side, `side`, `measure`, `found`, `rank`, `auc` (as in `Judgement`), `ms`, the time of
        preparing the template and of the map, and `refused`, what a measure said that did not
        take the template, or "".
    """

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each measure.

        Returns
        -------
        list of dict
            ``measure``, ``trials``, ``rate``: the share in which it is found, with its 95 %
            interval from ``low`` to ``high`` (Wilson's), median ``rank``, mean ``auc``, median
            ``ms``, and how many were ``refused``, which count as not found, with the `auc` of
            chance, 0.5.
        """
        table = []
        for measure in self.measures:
            rows = self.of(measure)
            hits = sum(row["found"] for row in rows)
            low, high = rate_interval(hits, len(rows))
            table.append(
                {
                    "measure": measure,
                    "trials": len(rows),
                    "rate": hits / len(rows),
                    "low": low,
                    "high": high,
                    "rank": float(np.median([row["rank"] for row in rows])),
                    "auc": _mean([row["auc"] for row in rows]),
                    "ms": float(np.median([row["ms"] for row in rows])),
                    "refused": sum(row["refused"] != "" for row in rows),
                }
            )
        return table

    def differences(self, against: str) -> list[dict[str, Any]]:
        """Tell by how much the rate of each other measure differs from that of one.

        Parameters
        ----------
        against : str
            Name of the measure that the others are compared with.

        Returns
        -------
        list of dict
            For each other ``measure``: ``against``; ``difference``, its rate less that one's, with
            its 95 % interval from ``low`` to ``high`` (Newcombe's method 10 for paired rates
            [1]_); ``p``, two-sided, of McNemar's exact test; and ``p_holm``, that adjusted for
            there being several measures (Holm's step-down method [2]_).

        Raises
        ------
        ValueError
            If there is no such measure, or one was not asked of the same trials.

        Notes
        -----
        Trials count as independent. Of templates that overlap, or that are cut from few images,
        intervals are too narrow for other images.

        References
        ----------
        .. [1] R. G. Newcombe, *Improved confidence intervals for the difference between binomial
           proportions based on paired data*, Statistics in Medicine 17 (1998).
        .. [2] S. Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian
           Journal of Statistics 6 (1979).
        """
        others = [name for name in self.measures if name != against]
        if len(others) == len(self.measures):
            raise ValueError(f"against is {against!r}; it must be one of {self.measures}")
        hits = {name: self._hits(name) for name in self.measures}
        if any(hits[name].keys() != hits[against].keys() for name in others):
            raise ValueError("measures were not asked of the same trials; rows are paired by these")
        found = {
            name: np.array([(of_one, hits[against][key]) for key, of_one in hits[name].items()])
            for name in others
        }
        told = [paired_difference(*found[name].astype(bool).T) for name in others]
        adjusted = holm([one["p"] for one in told]).tolist()
        return [
            {"measure": name, "against": against, **one, "p_holm": p}
            for name, one, p in zip(others, told, adjusted, strict=True)
        ]

    def _hits(self, measure: str) -> dict[tuple[Any, ...], bool]:
        """Tell by trial whether a measure has found it."""
        rows = self.of(measure)
        hits = {(row["pair"], row["trial"], row["side"]): bool(row["found"]) for row in rows}
        if len(hits) != len(rows):
            raise ValueError(f"of {measure} a pair, trial and side are there twice")
        return hits

    def roc(self, measure: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return shares of wrong windows that pass, and of right ones that do with no more.

        Each trial has a threshold of its own: what it takes to let the right window pass; of a
        template that was refused half of the wrong ones. Both ascend, from (0, ..) to (1, 1).

        Raises
        ------
        ValueError
            If there is no such measure.
        """
        if measure not in self.measures:
            raise ValueError(f"measure is {measure!r}; it must be one of {self.measures}")
        wrong = np.sort([1 - row["auc"] for row in self.of(measure) if row["auc"] == row["auc"]])
        right = np.arange(1, wrong.size + 1) / max(wrong.size, 1)
        return np.append(wrong, 1.0), np.append(right, 1.0)


def compare(
    pairs: Sequence[Any] | Mapping[str, Any],
    measures: Sequence[Asked] | Mapping[str, Asked] = ("nuv", "nuv_adaptive", "ncc", "mi"),
    *,
    trials: int = 20,
    sides: int | Sequence[int] = (24,),
    noise: float = 0.0,
    near: int = 1,
    nodata: NoData = None,
    seed: int = 0,
    n_threads: int | None = None,
    progress: bool | Tell | None = None,
) -> Comparison:
    """Seek templates in images whose tones have changed, by several measures.

    Parameters
    ----------
    pairs : sequence of Trial, (image, image) or (image, family), or dict of these by name
        Without names they are called by their files, trials by their own name, all else "pair 0"
        and so on. A trial is a template whose place is known. Of two images, array_like or paths
        of files, templates are cut from the first and sought in the second, which shows the same
        at the same place: other bands, other sensors, before and after; of a grey one and one in
        colour the luminance of the latter is taken, as on the command line. A family of tone
        curves, such as ``tones.Gamma(1, 3)`` or a function ``f(levels, rng)``, makes the second
        of the first.
    measures : sequence, or dict by name
        Measures, names of them, or callables that are given the image and the template and return
        a map: of dissimilarities, indexed by the window's top-left pixel. A ValueError of any
        counts as not found.
    trials : int
        Templates that are cut from a pair, of each side.
    sides : int or sequence of int
        Heights and widths of these, in pixels.
    noise : float
        That is added to the image that is searched, as a share of its standard deviation.
    near : int
        Pixels from the right place, in rows and columns, that count as right.
    nodata : float or sequence of float, optional
        Greys that count in neither image, as for `nuvmatch.Matcher`. None: what TIFF files say
        themselves. Templates are cut where every pixel counts in both, none being nodata, NaN,
        infinite or transparent; contrast is that of what counts, and noise and tones change
        nothing else. Callables are given all pixels as they are.
    seed : int
        The same seed, the same templates, whatever the measures.
    n_threads : int, optional
        As for `nuvmatch.Matcher`.
    progress : callable or True, optional
        As for `nuvmatch.Matcher.locate`; a part is one pair by templates of one side.

    Returns
    -------
    Comparison

    Raises
    ------
    OSError, TypeError, ValueError
        If an argument is not of the form above, a trial's template does not go with its image, a
        curve of a family is none, or no template has contrast.

    Warns
    -----
    UserWarning
        If a measure has refused templates, or a callable's maps seem to be of similarities.

    Examples
    --------
    >>> import numpy as np
    >>> from nuvmatch import evaluation, tones
    >>> image = np.random.default_rng(0).integers(0, 256, (80, 90), dtype=np.uint8)
    >>> pairs = [(image, tones.Inverted(tones.Gamma(1, 3)))]
    >>> found = evaluation.compare(pairs, ["nuv", "ncc"], trials=3, sides=[16])
    >>> [(row["measure"], row["rate"]) for row in found.table()]
    [('nuv', 1.0), ('ncc', 0.0)]
    """
    pairs, asked = _checked_pairs(pairs), as_measures(measures)
    trials, near = _checks.as_integer(trials, "trials", 1), _checks.as_integer(near, "near", 0)
    noise = _checks.as_number(noise, "noise", 0, sys.float_info.max)
    of_sides: Any = [sides] if np.ndim(sides) == 0 else sides
    sides = [_checks.as_integer(side, "a side", 2) for side in of_sides]
    if not sides or len(set(sides)) < len(sides):
        raise ValueError(f"sides is {sides}; it must be one or more, each once")
    seed = _checks.as_integer(seed, "seed", 0)
    nodata = None if nodata is None else _checks.as_nodata(nodata)
    if n_threads is not None:
        n_threads = _checks.as_integer(n_threads, "n_threads", 1)
    rows: list[dict[str, Any]] = []
    seen: Counter[tuple[str, int]] = Counter()
    with telling(progress) as counted:
        counted.expect(len(pairs) * len(sides))
        for i, (name, pair) in enumerate(pairs):
            for side in sides[:1] if isinstance(pair, Trial) else sides:
                rng = np.random.default_rng([seed, i, side])
                for trial in cut_trials(pair, trials, side, rng, noise=noise, nodata=nodata):
                    called = name or trial.name or f"pair {i}", np.shape(trial.template)[0]
                    about = {"pair": called[0], "trial": seen[called], "side": called[1]}
                    seen[called] += 1
                    rows += [about | one for one in _ask(trial, asked, near, n_threads)]
                counted.advance()
    if not rows:
        raise ValueError(
            "no template with contrast, of which every pixel counts, could be cut from any of the "
            "images"
        )
    found = Comparison(tuple(rows))
    for name, measure in asked.items():
        _warn_of(name, found.of(name), similar=not hasattr(measure, "prepare"))
    return found


def _warn_of(name: str, rows: Sequence[dict[str, Any]], *, similar: bool) -> None:
    """Say what a measure has refused, or that it may have made maps of similarities."""
    refused = [row["refused"] for row in rows if row["refused"]]
    if refused:
        _checks.warn(
            f"{name} has refused {len(refused)} of {len(rows)} templates, which count as not "
            f"found: {refused[0]}"
        )
    areas = [row["auc"] for row in rows if row["auc"] == row["auc"] and not row["refused"]]
    if similar and len(areas) >= _SEVERAL and _mean(areas) < _UPSIDE_DOWN:
        _checks.warn(
            f"{name} scores the right place worse than nearly all others (mean AUC "
            f"{_mean(areas):.2g}): lower is better in maps; of similarities give 1 - map"
        )


def _checked_pairs(pairs: Any) -> list[tuple[str, Any]]:
    """Take pairs, each with a name that it was given, or ""."""
    if isinstance(pairs, Mapping):
        named = [(str(name), pair) for name, pair in pairs.items()]
    elif isinstance(pairs, np.ndarray) or not isinstance(pairs, Sequence):
        given = f"an array of shape {pairs.shape}" if hasattr(pairs, "shape") else repr(pairs)
        raise TypeError(f"pairs is {given}; it must be a sequence of pairs, [(image, other), ..]")
    else:
        named = [("", pair) for pair in pairs]
    if not named:
        raise ValueError("there is no pair; at least one must tell measures apart")
    for i, (name, pair) in enumerate(named):
        if isinstance(pair, Trial):
            called = name or pair.name or f"pair {i}"
            as_place(pair.row, pair.col, check_trial(pair, called), called)
            _checks.as_nodata(pair.nodata)
    return named


def _ask(
    trial: Trial, measures: Mapping[str, Any], near: int, n_threads: int | None
) -> list[dict[str, Any]]:
    """Seek the template of a trial by each measure."""
    shape = np.shape(trial.template)[:2]
    windows = windows_of(trial.image, trial.template)
    rows = []
    for name, measure in measures.items():
        started, refused = time.perf_counter(), ""
        scores = np.full(windows, np.nan)
        try:
            if hasattr(measure, "prepare"):
                matcher = Matcher(trial.template, measure, nodata=trial.nodata, n_threads=n_threads)
                scores = matcher.score_map(trial.image, fill_value=np.nan)
            else:
                scores = measure(trial.image, trial.template)
        except ValueError as error:
            refused = refusal(error)
        taken = time.perf_counter() - started
        check_map(name, scores, windows)
        found = judge(scores, trial.row, trial.col, (shape[0], shape[1]), near=near)
        about = {"measure": name, **asdict(found)}
        rows.append(about | {"ms": 1000 * taken, "refused": refused})
    return rows


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else float("nan")
