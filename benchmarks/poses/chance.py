"""False matches of whole searches: of any angle, and of ten templates at once."""

import warnings
from itertools import islice

import cv2
import numpy as np
import pandas as pd

from nuvmatch import Search

from .. import scenes
from ..kinds import KINDS, cut
from ..presence.experiment import NOMINAL, make_trial, retone

TEMPLATES = 10
WAYS = ("any angle", f"{TEMPLATES} templates")


def search_for(way, trial, kind):
    """Templates that are not in the other image of a trial, made ready."""
    if way == "any angle":
        return Search(trial.template, angles="all", n_threads=1)
    found = (cut(trial.one, trial.side, trial.rng, kind) for _ in range(scenes.TRIES))
    more = [one[2] for one in islice(filter(None, found), TEMPLATES - 1)]
    return Search([trial.template, *more], n_threads=1)


def count_all(name, seed, numbers):
    """Rows of trials of one kind of image: matches at each nominal number, none of them true."""
    cv2.setNumThreads(1)
    kind, way = name.split(": ")
    rows = []
    for number in numbers:
        trial = make_trial(kind, seed, number)
        search = search_for(way, trial, kind)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = search.locate(retone(trial.other, trial.rng), false_alarms=max(NOMINAL))
        told = np.array([match.false_alarms for match in found])
        counts = {f"at {nominal:g}": int((told <= nominal).sum()) for nominal in NOMINAL}
        undecided = any("cannot" in str(one.message) for one in said)
        rows.append(
            {"kind": kind, "way": way, "side": trial.side, "undecided": undecided, **counts}
        )
    return pd.DataFrame(rows)


NAMES = tuple(f"{kind}: {way}" for kind in KINDS for way in WAYS)
