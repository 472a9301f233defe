"""Look for templates in images of other tones, by every measure: a row for each."""

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial
from unittest import mock

import numpy as np
import pandas as pd

from nuvmatch import (
    MI,
    NCC,
    NUV,
    SSD,
    AdaptiveNUV,
    Auto,
    CurvesNUV,
    LinearNUV,
    Lowest,
    Matcher,
    MonotoneNUV,
    WindowToPattern,
    find_peaks,
)
from nuvmatch.evaluation import Trial, compare, judge
from nuvmatch.measures import channel

from .. import scenes
from .joined import AutoMap

SIDES = (16, 24, 40)
NOISES = (0.05, 0.15, 0.3)  # shares of the standard deviation of the image
NEAR = 1  # pixels from the truth that count as found
AUTO = "auto"

MEASURES = {
    "SSD": SSD(),
    "NCC": NCC(),
    "|NCC|": NCC(squared=True),
    "MI": MI(binning="equal_width"),
    "nMI": MI(binning="equal_width", normalize="window"),
    "nuv, equal width": NUV(binning="equal_width"),
    "nuv, k-means": NUV(binning="kmeans"),
    "nuv": NUV(),
    "nuv_linear": LinearNUV(),
    "nuv_monotone": MonotoneNUV(),
    "nuv_curves, family known": CurvesNUV(),
    "nuv_curves, family known, 16 bins": CurvesNUV(bins=16),
    "nuv_adaptive": AdaptiveNUV(),
    "MI, 16 bins": MI(binning="equal_width", bins=16),
    "nuv, wtp, 16 bins": WindowToPattern(bins=16),
    "nuv, both, 16 bins": Lowest(NUV(bins=16), WindowToPattern(bins=16)),
    "nuv_adaptive, both, 16 bins": Lowest(AdaptiveNUV(bins=16), WindowToPattern(bins=16)),
    "MI, 16 bins, symmetric": MI(binning="equal_width", bins=16, normalize="both"),
    AUTO: Auto(),
}
TELLING = ("nuv_adaptive", "MI, 16 bins, symmetric", AUTO)  # false alarms, which are looked at
LISTED = 50  # best places among which the truth is looked for
BASELINES = ("SSD", "NCC", "|NCC|", "MI", "nMI")
LEAST_PIXELS, SIDES_OF_BINS = (1, 2, 3, 4), (8, 12, 16, 24)
PENALTIES = (0, 0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4)

CELLS = {f"{name}, {noise}": (name, noise) for name in scenes.CHANGES for noise in NOISES}
CELLS |= {name: (name, NOISES[0]) for name in scenes.REAL}


def find_all(cell, seed, numbers):
    """Rows of some trials of a cell, each the same whatever else is run."""
    return pd.DataFrame(row for number in numbers for row in find(cell, seed, number))


def find(cell, seed, number):
    rng = np.random.default_rng([seed, list(CELLS).index(cell), number])
    row, col, template, scene, family = make_trial(cell, number, scenes.FINAL, rng)
    maps = AutoMap()
    asked = measures_of(family, scenes.POLARITY.get(CELLS[cell][0])) | {AUTO: maps}
    compared = compare([Trial(scene, template, row, col)], asked, near=NEAR, n_threads=1)
    for found in compared.rows:
        if found["measure"] in TELLING:
            matches, logs = list_best(template, scene, found["measure"], maps)
            found |= judge_false_alarms(matches, logs, row, col)
        yield found | {"cell": cell, "trial": number}


def measures_of(family, polarity):
    """Name the measures, and tell those that are to know it the family of the tones."""
    measures = {}
    for name, measure in MEASURES.items():
        if "family known" not in name:
            measures[name] = measure
        elif family is not None:
            measures[name] = replace(measure, tones=family, polarity=polarity)
    return measures


def list_best(template, scene, measure, maps):
    """Best matches, and decadic logarithms of their false alarms: infinite if none can be told."""
    if measure == AUTO:
        matches = find_peaks(maps.scores, template.shape, max_matches=LISTED)
        logs = maps.chance.log_false_alarms(np.array([match.score for match in matches]))
        return matches, logs / math.log(10)
    matcher = Matcher(template, MEASURES[measure], n_threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # infinite false alarms say it too
        matches = matcher.locate(scene, false_alarms=math.inf, max_matches=LISTED)
    return matches, np.log10([match.false_alarms for match in matches])


def judge_false_alarms(matches, logs, row, col):
    """Logarithms at the truth, infinite if it is not listed, and at the best place, if right."""
    near = [max(abs(match.row - row), abs(match.col - col)) <= NEAR for match in matches]
    at_truth = logs[near.index(True)] if True in near else math.inf
    best = logs[0] if matches else math.inf
    return {"nfa": at_truth, "best nfa": best, "best right": near[:1] == [True]}


def make_trial(cell, number, names, rng, sides=SIDES):
    """Where the template lies, the template, the scene, and the family of its tones."""
    name, noise = CELLS[cell]
    side = sides[number % len(sides)]
    change = scenes.CHANGES.get(name)
    cut = None
    while cut is None:
        image, scene = scenes.retone(change, names, rng) if change else scenes.REAL[name](rng)
        scene = scenes.add_noise(scene, noise, rng)
        cut = scenes.cut_template(image, scene, side, rng)
    return *cut, scene, partial(sample_change, change) if change else None


def sample_change(change, levels, rng):
    """A curve of the family that a change is drawn from."""
    return change(rng)(levels)


def tune_all(cell, seed, numbers):
    """Which penalties find the template, on photographs that no table is made of."""
    return pd.DataFrame(row for number in numbers for row in tune(cell, seed, number))


@dataclass(frozen=True)
class Penalised:
    """`AdaptiveNUV` with another penalty of a curve than its own."""

    penalty: float

    def prepare(self, template):
        scorer = AdaptiveNUV().prepare(template)
        numbers = np.arange(len(scorer.model.curves))  # the first is free
        factors = np.exp(self.penalty * min(1, 1024 / template.pixels) * numbers)
        scorer.model = replace(scorer.model, factors=factors)
        return scorer


def tune(cell, seed, number):
    rng = np.random.default_rng([seed, list(CELLS).index(cell), number, 1])
    row, col, template, scene, _ = make_trial(cell, number, scenes.TUNING, rng)
    measures = {penalty: Penalised(penalty) for penalty in PENALTIES}
    measures |= {name: MEASURES[name] for name in BASELINES}
    for name, measure in measures.items():
        scores = Matcher(template, measure, n_threads=1).score_map(scene)
        found = judge(scores, row, col, template.shape, near=NEAR).found
        yield {"cell": cell, "trial": number, "penalty": name, "found": found}


def tune_bins_of_all(cell, seed, numbers):
    """Which bins find the template, by the pixels that they hold at least."""
    return pd.DataFrame(row for number in numbers for row in tune_bins(cell, seed, number))


@dataclass(frozen=True)
class Holding:
    """A measure whose bins hold at least so many pixels."""

    measure: object
    least: int

    def prepare(self, template):
        with mock.patch.object(channel, "LEAST_PIXELS", self.least):
            return self.measure.prepare(template)


def tune_bins(cell, seed, number):
    rng = np.random.default_rng([seed, list(CELLS).index(cell), number, 2])
    row, col, template, scene, _ = make_trial(cell, number, scenes.TUNING, rng, SIDES_OF_BINS)
    for name, measure in {
        "nuv": NUV(),
        "nuv_linear": LinearNUV(),
        "nuv_adaptive": AdaptiveNUV(),
    }.items():
        for least in LEAST_PIXELS:
            scores = Matcher(template, Holding(measure, least), n_threads=1).score_map(scene)
            found = judge(scores, row, col, template.shape, near=NEAR).found
            about = {"measure": name, "least": least, "side": len(template), "cell": cell}
            yield {**about, "trial": number, "found": found}
