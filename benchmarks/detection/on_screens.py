"""Look for icons on drawn screens where they are: a row for each measure."""

import warnings

import numpy as np
import pandas as pd

from nuvmatch import Matcher
from nuvmatch.io import to_grey

from ..icons import THEMES, compose
from ..screens import make_case
from .experiment import MEASURES, NEAR

SIDES = (16, 20, 24, 32)  # of icons
THEME = {True: "its theme", False: "another theme"}


def find_icons(kind, seed, numbers):
    """Rows of some screens, each the same whatever else is run."""
    return pd.DataFrame(row for number in numbers for row in find_icon(kind, seed, number))


def find_icon(kind, seed, number):
    case = make_case(np.random.default_rng([seed, number]), kind, SIDES)
    template = to_grey(compose(case.template, THEMES[case.theme]["panel"]))
    scene = to_grey(case.screen.image)
    for name, measure in MEASURES.items():
        if "family known" not in name:
            about = {"screen": THEME[case.theme == case.screen.theme], "trial": number}
            yield {
                **about,
                "measure": name,
                "found": is_found(template, scene, measure, case.place),
            }


def is_found(template, scene, measure, place):
    """Whether the best place is the right one; not where the measure refuses the icon."""
    try:
        matcher = Matcher(template, measure, n_threads=1)
    except ValueError:  # too few greys for its bins
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # false alarms are not asked for
        (best,) = matcher.locate(scene) or (None,)
    return best is not None and max(abs(best.row - place[0]), abs(best.col - place[1])) <= NEAR
