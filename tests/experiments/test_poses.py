"""Turned and resized photographs are what they are said to be, and the page is of its results."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("nilearn", reason="the experiments need what nuvmatch[bench] brings")

from benchmarks.poses import beside, experiment, page

pytestmark = [pytest.mark.bench, pytest.mark.compiled]

DOCS = Path(__file__).parents[2] / "docs"
SIZES = (64, 48, 32)


@pytest.mark.parametrize("side", SIZES)
@pytest.mark.parametrize("number", range(7))
def test_turned_back_the_template_is_where_it_is_said_to_be(side, number):
    trial = experiment.make_trial(side, number, 0, ("none",))
    image, counts, place = experiment.upright(trial)
    start = math.floor(place)
    window = np.s_[start : start + side, start : start + side]
    assert counts[window].all()
    assert np.corrcoef(image[window].ravel(), trial.template.ravel())[0, 1] > 0.8


def test_a_pose_is_right_within_each_tolerance():
    truth = experiment.Pose(10, 20, 179.5, 1.1)
    assert experiment.Pose(11, 21, -179.5, 1.11).is_right(truth)
    assert not experiment.Pose(12, 21, 179.5, 1.1).is_right(truth)
    assert not experiment.Pose(10, 20, 177.5, 1.1).is_right(truth)
    assert not experiment.Pose(10, 20, 179.5, 1.13).is_right(truth)


def test_corrmatch_turns_the_other_way_and_is_asked_rightly():
    """Untouched, without noise to speak of, it finds most templates of 64 pixels."""
    right = 0
    for number in range(7):
        trial = experiment.make_trial(64, number, 0, ("none",), (1, 1))
        right += beside.by_corrmatch(trial)[0].is_right(trial.truth)
    assert right >= 5


def test_the_page_is_made_of_its_results():
    found = json.loads((DOCS / "poses" / "results.json").read_text("utf-8"))
    about = {name: found.pop(name) for name in ("seed", "trials", "environment")}
    tables = {name: pd.DataFrame(rows) for name, rows in found.items()}
    assert page.make_page(tables, about) == (DOCS / "poses.md").read_text("utf-8")
