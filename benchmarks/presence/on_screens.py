"""Seek icons on drawn screens: are they there? A row for each case, way and measure."""

import numpy as np
import pandas as pd

from nuvmatch.evaluation import PresenceTrial
from nuvmatch.io import to_grey

from ..icons import THEMES, compose
from ..screens import make_case
from .experiment import MEASURES, seek

SIDES = (20, 24, 32)  # of icons
CLAIMS = (1e-6, 1e-4)  # false alarms up to which an icon is said to be there
CASES = ("there", "absent", "look-alike")
LEFT_OUT = "nuv"


def decide_all(name, seed, numbers):
    """Rows of some cases, each the same whatever else is run."""
    return pd.DataFrame(row for number in numbers for row in decide(name, seed, number))


def decide(name, seed, number):
    case = make_case(np.random.default_rng([seed, CASES.index(name), number]), name, SIDES)
    scene = to_grey(case.screen.image)
    places = () if case.place is None else [case.place]
    trials = [PresenceTrial(scene, icon, places, way) for way, icon in ways(case).items()]
    about = {"case": name, "trial": number, "same theme": case.theme == case.screen.theme}
    for row in seek(trials, {m: MEASURES[m] for m in MEASURES if m != LEFT_OUT}):
        yield {**row, **about, "way": row["name"]}


def ways(case):
    """How people have an icon: cut out of a screenshot of its theme, or as a file with alpha."""
    cropped = compose(case.template, THEMES[case.theme]["panel"])
    return {"crop": to_grey(cropped), "alpha": to_grey(case.template)}
