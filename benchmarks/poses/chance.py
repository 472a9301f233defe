"""Whole searches, of any angle and of ten templates at once: what is false, and what is kept."""

import math
import warnings
from itertools import islice

import cv2
import numpy as np
import pandas as pd

from nuvmatch import Search

from .. import scenes
from ..kinds import KINDS, cut
from ..presence.experiment import NOMINAL, make_trial, retone, window
from .experiment import PLACE

TEMPLATES = 10
KEPT = (1, 0.001)  # false alarms, up to which what is there is kept
WAYS = ("any angle", f"{TEMPLATES} templates")


def search_for(way, trial, kind):
    """Templates that are not in the other image of a trial, made ready."""
    if way == "any angle":
        return Search(trial.template, angles="all", n_threads=1)
    found = (cut(trial.one, trial.side, trial.rng, kind) for _ in range(scenes.TRIES))
    more = [one[2] for one in islice(filter(None, found), TEMPLATES - 1)]
    return Search([trial.template, *more], n_threads=1)


def count_all(name, seed, numbers):
    """Rows of trials of one kind of image, where the template is not, and where it is."""
    cv2.setNumThreads(1)
    kind, way = name.split(": ")
    rows = []
    for number in numbers:
        trial = make_trial(kind, seed, number)
        search = search_for(way, trial, kind)
        about = {"kind": kind, "way": way, "side": trial.side}
        rows.append(about | count_false(search, trial) | count_kept(search, trial))
    return pd.DataFrame(rows)


def count_false(search, trial):
    """Matches at each nominal number, none of them true; whether nothing can be told."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = search.locate(retone(trial.other, trial.rng), false_alarms=max(NOMINAL))
    told = np.array([match.false_alarms for match in found])
    counts = {f"at {nominal:g}": int((told <= nominal).sum()) for nominal in NOMINAL}
    return counts | {"undecided": any("cannot" in str(one.message) for one in said)}


def count_kept(search, trial):
    """Whether the template is found in the image that it is cut from, and with which alarms."""
    scene = retone(trial.one, trial.rng, window(trial.place, trial.side))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # infinite false alarms say it too
        found = search.locate(scene, false_alarms=math.inf, max_per_name=1)
    middle = np.array(trial.place) + (trial.side - 1) / 2
    there = [one for one in found if one.name == search.names[0]]
    right = bool(there) and math.dist(there[0].center, middle) <= PLACE
    return {"best": right} | {
        f"kept at {nominal:g}": right and there[0].false_alarms <= nominal for nominal in KEPT
    }


NAMES = tuple(f"{kind}: {way}" for kind in KINDS for way in WAYS)
