"""Seek icons on drawn screens: are they there? A row for each case, way and measure."""

import math

import numpy as np
import pandas as pd

from nuvmatch import Matcher
from nuvmatch.io import to_grey

from ..icons import THEMES, compose
from ..screens import make_case
from .experiment import MEASURES, hits, locate

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
    for way, template in ways(case).items():
        for measure in MEASURES:
            if measure != LEFT_OUT:
                about = {"case": name, "trial": number, "way": way, "measure": measure}
                about["same theme"] = case.theme == case.screen.theme
                yield {**about, **seek(template, scene, MEASURES[measure], case.place)}


def ways(case):
    """How people have an icon: cut out of a screenshot of its theme, or as a file with alpha."""
    cropped = compose(case.template, THEMES[case.theme]["panel"])
    return {"crop": to_grey(cropped), "alpha": to_grey(case.template)}


def seek(template, scene, measure, place):
    """False alarms of the best place, infinite if nothing can be told, and whether it is right."""
    try:
        matcher = Matcher(template, measure, n_threads=1)
    except ValueError:  # too few greys for its bins
        return {"false alarms": math.inf, "right": False, "refused": True}
    matches, refused = locate(matcher, scene, false_alarms=math.inf, max_matches=1)
    alarms = matches[0].false_alarms if matches else math.inf
    right = place is not None and hits([place], matches) == 1
    return {"false alarms": alarms, "right": right, "refused": refused}
