"""Peaks against a short brute-force reference, on maps with plateaus."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nuvmatch

options = st.fixed_dictionaries(
    {
        "threshold": st.none() | st.sampled_from([0, 1, 2, 2.5, 9]),
        "max_matches": st.none() | st.integers(1, 9),
        "min_distance": st.none() | st.sampled_from([0, 1, 1.5, 2, 5, 100, np.inf]),
        "max_overlap": st.sampled_from([0, 0.1, 0.25, 1 / 3, 0.5, 1]),
    }
)


def places(matches):
    return list(zip(matches.rows.tolist(), matches.cols.tolist(), strict=True))


@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.integers(1, 14), st.integers(1, 14)),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8]),
    options,
)
def test_peaks_equal_the_reference(seed, size, shape, dtype, chosen):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size).astype(dtype)
    if np.dtype(dtype).kind == "f":
        scores[rng.random(size) < 0.1] = np.nan
        scores[rng.random(size) < 0.1] = np.inf
    found = nuvmatch.find_peaks(scores, shape, **chosen)
    assert places(found) == naive.find_peaks(scores, shape, **chosen)
    assert found.scores.tolist() == [scores[place] for place in places(found)]


@pytest.mark.compiled
@pytest.mark.parametrize("max_matches", [1, 2, 30, None])
def test_few_of_many_are_the_first_of_all(max_matches, rng):
    """A large map, on which only part of the candidates is sorted at first."""
    scores = rng.integers(0, 50, (300, 200)).astype(np.float32)
    everything = nuvmatch.find_peaks(scores, (9, 7), threshold=np.inf)
    some = nuvmatch.find_peaks(scores, (9, 7), threshold=np.inf, max_matches=max_matches)
    assert places(some) == places(everything)[:max_matches]


@pytest.mark.compiled
def test_enough_are_found_where_the_best_lie_in_heaps(rng):
    """The first part of the candidates holds fewer peaks than are asked for."""
    y, x = np.mgrid[:200, :300]
    scores = np.cos(y / 30) + np.cos(x / 40) + rng.random((200, 300)) / 100
    some = nuvmatch.find_peaks(scores, (25, 20), max_matches=12)
    everything = nuvmatch.find_peaks(scores, (25, 20), threshold=np.inf)
    assert len(some) == 12
    assert places(some) == places(everything)[:12]


def test_the_default_is_the_single_best():
    assert places(nuvmatch.find_peaks([[3, 1, 2, 1]], (1, 1))) == [(0, 1)]


def test_a_score_at_the_threshold_passes_in_the_type_of_the_map():
    scores = np.array([[0.1, np.nan, 0.2]], np.float32)  # 0.1 is a little more in float32
    assert len(nuvmatch.find_peaks(scores, (1, 1), threshold=0.1)) == 1
    assert len(nuvmatch.find_peaks(scores.astype(float), (1, 1), threshold=0.1)) == 0
    assert len(nuvmatch.find_peaks(scores, (1, 1), threshold=1e300)) == 2


def test_nan_and_infinity_are_no_peaks_whatever_the_threshold():
    scores = np.array([[np.nan, 3, np.inf], [np.nan, np.inf, np.inf], [-np.inf, np.nan, 5]])
    assert places(nuvmatch.find_peaks(scores, (1, 1))) == [(2, 0)]
    found = nuvmatch.find_peaks(scores, (1, 1), threshold=np.inf, max_overlap=1)
    assert places(found) == [(2, 0), (0, 1), (2, 2)]


def test_peaks_of_a_map_from_anywhere_say_no_more_than_their_place_and_score():
    (match,) = nuvmatch.find_peaks([[3, 1, 2, 1]], (4, 7))
    assert match == nuvmatch.Match(0, 1, 4, 7, 1.0)
    assert (match.measure, match.gain, match.tone_curves) == (None, None, ())


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ssd"])
def test_peaks_of_a_map_are_what_a_matcher_locates(measure, rng):
    image, template = rng.random((30, 34)), rng.random((5, 6))
    image[:9, :9] = 4
    matcher = nuvmatch.Matcher(template, measure)
    scores = matcher.score_map(image, fill_value=np.nan)
    for chosen in ({}, {"threshold": 0.9}, {"max_matches": 7, "min_distance": 3.5}):
        found = nuvmatch.find_peaks(scores, matcher.shape, **chosen)
        located = matcher.locate(image, **chosen)
        assert places(found) == places(located)
        assert found.scores.tolist() == located.scores.tolist()


def test_corners_are_found():
    scores = np.ones((9, 9))
    scores[[0, 0, 8, 8], [0, 8, 0, 8]] = 0
    found = nuvmatch.find_peaks(scores, (4, 4), threshold=0)
    assert places(found) == [(0, 0), (0, 8), (8, 0), (8, 8)]


def test_nothing_passes_nothing_is_returned():
    nothing = nuvmatch.find_peaks(np.ones((5, 5)), (2, 2), threshold=0.5)
    assert len(nothing) == 0
    assert not nothing
    assert len(nuvmatch.find_peaks(np.full((5, 5), np.nan), (2, 2))) == 0


def test_maps_may_hold_infinities():
    """What is -inf is best, and no better than another such."""
    scores = np.full((20, 20), 0.5)
    scores[3, 4] = scores[12, 13] = -np.inf
    found = nuvmatch.find_peaks(scores, (4, 4), max_matches=3)
    assert places(found)[:2] == [(3, 4), (12, 13)]
    assert found[0].margin is None


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"score_map": np.ones(3)}, ValueError, r"score_map has shape \(3,\)"),
        ({"score_map": np.ones((0, 3))}, ValueError, "not empty"),
        ({"score_map": None}, TypeError, "score_map"),
        ({"score_map": np.ma.ones((4, 5))}, TypeError, r"score_map is masked.*\.filled\(np.nan\)"),
        ({"shape": (0, 2)}, ValueError, "height is 0"),
        ({"shape": 3}, TypeError, "shape is 3"),
        ({"shape": (2, 1.5)}, TypeError, "width is 1.5"),
        ({"threshold": np.nan}, ValueError, "threshold"),
        ({"threshold": "low"}, TypeError, "threshold is 'low'"),
        ({"max_matches": 0}, ValueError, "max_matches is 0"),
        ({"max_matches": True}, TypeError, "max_matches is True"),
        ({"min_distance": -1}, ValueError, "min_distance is -1"),
        ({"max_overlap": 1.1}, ValueError, r"max_overlap is 1.1.*\[0, 1\]"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    arguments = {"score_map": np.ones((4, 5)), "shape": (2, 2), **change}
    with pytest.raises(error, match=message):
        nuvmatch.find_peaks(**arguments)


def test_the_lowest_there_can_be_hide_no_others():
    scores = np.full((30, 30), 5.0)
    scores[10, 10] = scores[10, 12] = -np.inf
    scores[10, 15] = 1
    found = nuvmatch.find_peaks(scores, (5, 5), threshold=2, min_distance=4)
    assert places(found) == [(10, 10), (10, 15)]
