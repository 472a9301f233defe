"""Non-maximum suppression over templates that are turned and of unlike sizes."""

import math

import numpy as np
import pytest

from nuvmatch.finding import PeakRule, compete
from nuvmatch.finding.competing import Outlines
from nuvmatch.results import Match


def at(row, col, shape=(8, 12), angle=0.0, scale=1.0):
    middle = math.floor(row), math.floor(col)
    return Match(
        *middle, 1, 1, 0.5, angle=angle, scale=scale, template_shape=shape,
        offset=(row - middle[0], col - middle[1]),
    )  # fmt: skip


def covers(match, rows, cols):
    """Whether points are within a template: turned back, and within its sides."""
    turn, (height, width) = math.radians(match.angle), match.template_shape
    down, across = rows - match.center[0], cols - match.center[1]
    own = math.cos(turn) * down + math.sin(turn) * across
    other = math.cos(turn) * across - math.sin(turn) * down
    return (abs(own) <= height * match.scale / 2) & (abs(other) <= width * match.scale / 2)


@pytest.mark.parametrize("seed", range(12))
def test_overlap_is_what_points_count(seed):
    rng = np.random.default_rng(seed)
    alike = seed % 2
    one, other = (
        at(*rng.uniform(18, 24, 2), (8, 12) if alike else tuple(rng.integers(5, 15, 2)),
           float(rng.choice([0, 90, 30, -75.5])), 1.0 if alike else rng.uniform(0.7, 1.4))
        for _ in range(2)
    )  # fmt: skip
    rows, cols = np.mgrid[0:45:0.05, 0:45:0.05]
    first, second = covers(one, rows, cols), covers(other, rows, cols)
    shared = np.count_nonzero(first & second)
    whole = np.count_nonzero(first | second)
    if not alike:
        whole = min(np.count_nonzero(first), np.count_nonzero(second))
    assert Outlines([one, other]).overlap(0, 1) == pytest.approx(shared / whole, abs=0.01)


@pytest.mark.parametrize("angle", [30.0, 45.0, -20.0, 12.3])
@pytest.mark.parametrize("off", [0.0, 2e-6])  # of the other's angle
def test_sides_that_lie_on_one_line_are_no_exception(angle, off):
    """Matches along a line, all of one angle: OpenCV says that some share nothing."""
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    for down, across in np.ndindex(3, 13):
        one = at(50, 50, (16, 20), angle)
        place = 50 + cos * down - sin * across, 50 + sin * down + cos * across
        other = at(*place, (16, 20), angle + off)
        shared = (16 - down) * (20 - across)
        assert Outlines([one, other]).overlap(0, 1) == pytest.approx(shared / (640 - shared))


def take(matches, names=None, most=None, **rule):
    order = np.arange(len(matches))
    given = {"threshold": 1.0} | rule
    return compete(matches, names or [None] * len(matches), order, PeakRule(**given), most)


def test_the_better_of_two_that_overlap_is_taken_and_the_far_one_stays():
    matches = [at(20, 20), at(21, 22), at(60, 60), at(20, 31.5)]
    assert take(matches) == [0, 2, 3]
    assert take(matches, max_overlap=0.0) == [0, 2]
    assert take(matches, min_distance=12) == [0, 2]
    assert take(matches, max_matches=2) == [0, 2]


def test_what_one_name_may_not_take_keeps_nobody_away():
    matches = [at(20, 20), at(60, 60), at(61, 61)]
    assert take(matches, ["a", "a", "b"], 1) == [0, 2]
    assert take(matches, ["a", "a", "b"], 2) == [0, 1]


def test_a_turned_template_does_not_keep_away_what_only_its_box_covers():
    thin = at(40, 40, (4, 60), 45.0)
    assert take([thin, at(25, 25, (8, 8))]) == [0, 1]
    assert take([thin, at(40, 40, (8, 8), 45.0)]) == [0]


def test_nothing_competes():
    assert take([]) == []
