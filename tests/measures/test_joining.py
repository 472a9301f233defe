"""Maps of several measures joined by what chance shows in each: by the loops."""

import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import Null
from nuvmatch.measures.joining import evidence, join

seeds = st.integers(0, 2**32 - 1)
SHAPE = (3, 4)


class Chance:
    """What chance shows by one measure: as a null has it, and as the loops take it."""

    def __init__(self, rng, places=80, own=False, windows=2000):
        """Few places, or a low own score, leave it undecided."""
        lowest = np.sort(rng.random(places) ** (1 / rng.integers(5, 100)))
        if rng.random() < 0.3:  # equal ones
            lowest = np.sort(rng.choice(lowest, places))
        self.lowest = lowest.tolist()
        self.null = Null(SHAPE, windows=windows // 2, sample=windows, logs=np.log(lowest), own=own)
        tail = naive.tail(self.lowest, windows, SHAPE, own)
        self.law = tail and (*tail, windows, [] if own else self.lowest)

    def map(self, rng, extent):
        """Random scores of which some are what chance has shown, 0, or no evidence."""
        scores = rng.random(extent) ** 0.2
        scores *= rng.choice([1, 0.3])
        shown = rng.random(extent) < 0.3
        scores[shown] = rng.choice(self.lowest, np.count_nonzero(shown))
        scores[rng.random(extent) < 0.1] = 0
        scores[rng.random(extent) < 0.2] = np.nan
        return scores


def compare(chances, rng, extent=(9, 11), dtype=float):
    maps = np.array([chance.map(rng, extent) for chance in chances]).astype(dtype)
    joined = join(maps, [chance.null for chance in chances])
    expected = naive.join_maps(maps, [chance.law for chance in chances])
    tolerance = 1e-9 if dtype is float else 1e-5  # as logarithms of single precision have it
    assert_allclose(joined, expected, rtol=tolerance, atol=tolerance)
    return maps, joined


@given(seeds, st.integers(1, 5))
def test_joined_maps_equal_the_loops(seed, number):
    """Some measures undecided, some by the image's own scores."""
    rng = np.random.default_rng(seed)
    chances = [
        Chance(
            rng, int(rng.choice([20, 60, 150])), bool(rng.random() < 0.3), rng.integers(500, 9999)
        )
        for _ in range(number)
    ]
    compare(chances, rng)


@pytest.mark.parametrize("deciding", [0, 1, 2, 3])
def test_as_many_as_decide_must_agree(deciding, rng):
    """Two, or the only one; a window that fewer know gives no evidence."""
    chances = [Chance(rng) for _ in range(deciding)] + [Chance(rng, 20), Chance(rng, 10, own=True)]
    maps, joined = compare(chances, rng, (30, 40))
    known = np.count_nonzero(~np.isnan(maps[:deciding]), axis=0)
    assert_array_equal(np.isnan(joined), known < max(min(deciding, 2), 1))


def test_a_third_that_agrees_less_changes_nothing(rng):
    chances = [Chance(rng) for _ in range(3)]
    maps = np.array([np.full((1, 1), chance.lowest[3]) for chance in chances])
    nulls = [chance.null for chance in chances]
    two = join(maps[:2], nulls[:2])
    assert_array_equal(join(np.array([*maps[:2], [[10.0]]]), nulls), two)
    assert_array_equal(join(np.array([*maps[:2], [[np.nan]]]), nulls), two)
    assert join(np.array([*maps[:2], [[0.0]]]), nulls) < two
    by_one = [join(maps[i : i + 1], nulls[i : i + 1])[0, 0] for i in (0, 1)]
    assert two[0, 0] == pytest.approx(sum(by_one) / 2)


def test_lower_scores_are_never_less_sure(rng):
    """Across what chance has shown, the end of the tail, and its lowest score."""
    for own in (False, True):
        chance = Chance(rng, own=own)
        scores = np.unique([*np.linspace(0, 2, 5001), *chance.lowest])
        joined = join(scores[None, None], [chance.null])[0]
        assert (np.diff(joined) >= -1e-12).all()
        assert joined[0] < joined[-1] - 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_that_chance_has_shown_counts_as_shown(dtype, rng):
    """Equal ones are counted: in logarithms and back they would not always be equal."""
    shown = np.sort(0.05 + rng.random(500) / 1000).astype(dtype).astype(float)
    null = Null(SHAPE, windows=500, sample=500, logs=np.log(shown))
    joined = join(shown.astype(dtype)[None, None], [null])[0]
    law = (*naive.tail(shown.tolist(), 500, SHAPE), 500, shown.tolist())
    expected = [naive.log_of_chance(score, law) for score in shown]
    assert_allclose(joined, expected, rtol=0, atol=1e-5)


def test_maps_of_single_precision_and_in_parts_are_joined_alike(rng):
    chances = [Chance(rng) for _ in range(3)]
    maps, joined = compare(chances, rng, (12, 10), np.float32)
    nulls = [chance.null for chance in chances]
    assert_array_equal(join(maps[:, 3:7], nulls), joined[3:7])
    assert_array_equal(join(np.asfortranarray(maps), nulls), joined)
    assert_array_equal(join(maps[:, :, ::-1], nulls), joined[:, ::-1])


def test_evidence_is_what_each_says_by_itself(rng):
    chances = [Chance(rng), Chance(rng, 20), Chance(rng), Chance(rng)]
    values = np.array([chances[0].lowest[2], 0.1, np.nan, 1.5])
    expected = [naive.log_of_chance(values[i], chances[i].law) for i in (0, 3)]
    found = evidence(values, [chance.null for chance in chances])
    assert found.tolist() == [
        pytest.approx(expected[0]), math.inf, math.inf, pytest.approx(expected[1])
    ]  # fmt: skip
