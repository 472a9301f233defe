"""Look for templates in images of other tones, by every measure: a row for each."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from nuvmatch import Matcher

from .. import scenes

SIDES = (16, 24, 40)
NOISES = (0.05, 0.15, 0.3)  # shares of the standard deviation of the image
NEAR = 1  # pixels from the truth that count as found

MEASURES = {
    "SSD": {"measure": "ssd"},
    "NCC": {"measure": "ncc"},
    "|NCC|": {"measure": "ncc2"},
    "MI": {"measure": "mi", "binning": "equal_width"},
    "nMI": {"measure": "nmi", "binning": "equal_width"},
    "nuv, equal width": {"binning": "equal_width"},
    "nuv, k-means": {"binning": "kmeans"},
    "nuv": {},
    "nuv_linear": {"measure": "nuv_linear"},
    "nuv_monotone": {"measure": "nuv_monotone"},
    "nuv_curves, family known": {"measure": "nuv_curves"},
    "nuv_curves, family known, 16 bins": {"measure": "nuv_curves", "bins": 16},
    "nuv_adaptive": {"measure": "nuv_adaptive"},
    "MI, 16 bins": {"measure": "mi", "binning": "equal_width", "bins": 16},
    "nuv, wtp, 16 bins": {"direction": "wtp", "bins": 16},
    "nuv, both, 16 bins": {"direction": "both", "bins": 16},
    "nuv_adaptive, both, 16 bins": {"measure": "nuv_adaptive", "direction": "both", "bins": 16},
}
BASELINES = ("SSD", "NCC", "|NCC|", "MI", "nMI")
PRICES = (0, 0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4)

CELLS = {f"{name}, {noise}": (name, noise) for name in scenes.CHANGES for noise in NOISES}
CELLS |= {name: (name, NOISES[0]) for name in scenes.REAL}


def find_all(cell, seed, numbers):
    """Rows of some trials of a cell, each the same whatever else is run."""
    return pd.DataFrame(row for number in numbers for row in find(cell, seed, number))


def find(cell, seed, number):
    rng = np.random.default_rng([seed, list(CELLS).index(cell), number])
    row, col, template, scene, family = make_trial(cell, number, scenes.FINAL, rng)
    for measure, options in MEASURES.items():
        if "family known" in measure:
            if family is None:
                continue
            polarity = scenes.POLARITY.get(CELLS[cell][0])
            options = {**options, "tones": family, "polarity": polarity}
        started = time.perf_counter()
        scores = Matcher(template, n_threads=1, **options).score_map(scene)
        taken = time.perf_counter() - started
        found = judge(scores, row, col, len(template))
        about = {"cell": cell, "trial": number, "side": len(template), "measure": measure}
        yield {**about, **found, "ms": 1000 * taken}


def make_trial(cell, number, names, rng):
    """Where the template lies, the template, the scene, and the family of its tones."""
    name, noise = CELLS[cell]
    side = SIDES[number % len(SIDES)]
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


def judge(scores, row, col, side):
    """Whether the best score lies at the truth, how many are better than it, and ROC-AUC.

    Windows within `NEAR` of the truth are matches; those that share no pixel with it are
    none. AUC: the share of these that scores above the best match.
    """
    rows, columns = np.indices(scores.shape)
    distance = np.maximum(abs(rows - row), abs(columns - col))
    truth = scores[distance <= NEAR].min()
    others, apart = scores[distance > NEAR], scores[distance >= side]
    better = int((others <= truth).sum())
    auc = (apart > truth).mean() + (apart == truth).mean() / 2
    return {"found": better == 0, "rank": 1 + better, "auc": auc}


def tune_all(cell, seed, numbers):
    """Which prices of a curve find the template, on photographs that no table is made of."""
    return pd.DataFrame(row for number in numbers for row in tune(cell, seed, number))


def tune(cell, seed, number):
    rng = np.random.default_rng([seed, list(CELLS).index(cell), number, 1])
    row, col, template, scene, _ = make_trial(cell, number, scenes.TUNING, rng)
    matcher = Matcher(template, measure="nuv_adaptive", n_threads=1)
    model = matcher._forwards.model
    for price in PRICES:
        prices = np.exp(price * np.arange(1, len(model.prices) + 1))
        matcher._forwards.model = replace(model, prices=prices)
        found = judge(matcher.score_map(scene), row, col, len(template))["found"]
        yield {"cell": cell, "trial": number, "price": price, "found": found}
    for name in BASELINES:
        scores = Matcher(template, n_threads=1, **MEASURES[name]).score_map(scene)
        found = judge(scores, row, col, len(template))["found"]
        yield {"cell": cell, "trial": number, "price": name, "found": found}
