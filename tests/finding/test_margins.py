"""How much better a place is than all that share no pixel with it: by masking the map."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nuvmatch
from nuvmatch import Matcher, Null, find_peaks

seeds = st.integers(0, 2**32 - 1)
shapes = st.sampled_from([(1, 1), (2, 3), (5, 4), (9, 2), (30, 30), (1, 9)])


def expected_margins(scores, shape, matches, row=0, col=0):
    """By the loop, for places in an image of which the map is of a region."""
    return [naive.margin(scores, shape, match.row - row, match.col - col) for match in matches]


def margins(matches):
    return [match.margin for match in matches]


def close(margins):
    return [None if margin is None else pytest.approx(margin, abs=1e-12) for margin in margins]


@given(seeds, shapes, st.sampled_from([2, 7, 1000]))
def test_margins_equal_the_loop(seed, shape, most):
    """On maps of few rows and columns, with plateaus and holes."""
    rng = np.random.default_rng(seed)
    scores = rng.random(rng.integers(1, 20, 2)).astype(rng.choice([np.float32, np.float64]))
    if rng.random() < 0.5:
        scores = np.round(3 * scores) / 3
    if rng.random() < 0.5:
        scores[rng.random(scores.shape) < 0.4] = np.nan
        scores[: rng.integers(len(scores))] = np.nan
    found = find_peaks(scores, shape, max_matches=most, max_overlap=rng.choice([0, 0.25, 1]))
    assert margins(found) == close(expected_margins(scores, shape, found))


@given(seeds, shapes)
@pytest.mark.filterwarnings("ignore:false alarms cannot be told")
def test_margins_are_told_with_false_alarms(seed, shape):
    rng = np.random.default_rng(seed)
    scores = rng.random(rng.integers(5, 25, 2)) ** 0.1
    found = find_peaks(scores, shape, false_alarms=np.inf)
    assert len(found) >= 1
    assert margins(found) == close(expected_margins(scores, shape, found))
    null = Null.from_maps([scores], shape)
    (single,) = find_peaks(scores, shape, false_alarms=np.inf, max_matches=1, null=null)
    assert single.margin == found[0].margin


def test_by_hand():
    scores = np.array([[0.5, 0.1, 0.6, 0.7, 0.3, 0.9, np.nan, 0.8]])
    found = find_peaks(scores, (1, 3), max_matches=3, max_overlap=0)
    assert [(match.col, match.margin) for match in found] == [
        (1, pytest.approx(0.3 - 0.1)),
        (4, pytest.approx(0.1 - 0.3)),
        (7, pytest.approx(0.1 - 0.8)),
    ]


def test_there_is_none_where_all_windows_share_a_pixel(rng):
    scores = rng.random((4, 5))
    assert margins(find_peaks(scores, (4, 5), max_matches=9, max_overlap=1))[0] is None
    scores[:] = np.nan
    scores[0, 0], scores[3, 3] = 0.5, 0.75
    assert margins(find_peaks(scores, (4, 4), max_matches=2)) == [None, None]
    assert margins(find_peaks(scores, (3, 4), max_matches=2)) == [0.25, -0.25]


def test_the_best_place_has_none_below_0_and_all_others_have(rng):
    found = find_peaks(rng.random((40, 50)), (5, 6), max_matches=20, max_overlap=0)
    assert found[0].margin == found[1].score - found[0].score > 0
    assert all(match.margin == found[0].score - match.score for match in found[1:])


@pytest.mark.parametrize("options", [{}, {"max_matches": 1}, {"threshold": 0.9}])
def test_nothing_is_told_where_nothing_was_asked(options, rng):
    image = rng.integers(0, 256, (40, 50)).astype(np.uint8)
    matcher = Matcher(image[10:18, 20:29])
    for found in (
        matcher.locate(image, **options),
        find_peaks(matcher.score_map(image), matcher.shape, **options),
    ):
        assert len(found) >= 1
        assert {match.false_alarms for match in found} == {None}
        assert set(margins(found)) == {None}


# Of a matcher, whose map is never held whole.

OPTIONS = [{"max_matches": 12}, {"false_alarms": np.inf}, {"max_matches": 9, "max_overlap": 1}]


@pytest.mark.compiled
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("held", [2**23, 1000, 100])
@pytest.mark.parametrize("colours", [None, 3])
def test_a_matcher_tells_them_in_bands_too(colours, held, options, rng, monkeypatch):
    image = rng.integers(0, 256, (110, 60, *([colours] if colours else []))).astype(np.uint8)
    image_mask = np.ones(image.shape[:2])
    image_mask[30:60, 41] = 0
    mask = rng.random((12, 11)) < 0.8
    matcher = Matcher(image[50:62, 20:31], "ncc2", mask=mask, dtype=float)
    scores = matcher.score_map(image, image_mask=image_mask, fill_value=np.nan)
    assert np.isnan(scores).any()
    monkeypatch.setattr(nuvmatch.measures.bands, "WINDOWS_HELD", held)
    found = matcher.locate(image, image_mask=image_mask, **options)
    assert (found[0].row, found[0].col) == (50, 20)
    assert len(found) > 8
    assert margins(found) == close(expected_margins(scores, matcher.shape, found))


@pytest.mark.compiled
@pytest.mark.parametrize("region", [(10, 5, 70, 40), (-5, 30, 60, 100), (45, 15, 20, 21)])
@pytest.mark.parametrize("held", [2**23, 300])
def test_in_a_region_only_its_windows_count(region, held, rng, monkeypatch):
    image = rng.random((100, 60))
    matcher = Matcher(image[50:62, 20:31], "ncc2", dtype=float)
    scores = matcher.score_map(image, region=region)
    monkeypatch.setattr(nuvmatch.measures.bands, "WINDOWS_HELD", held)
    top, left = max(region[0], 0), max(region[1], 0)
    for options in OPTIONS:
        found = matcher.locate(image, region=region, **options)
        expected = expected_margins(scores, matcher.shape, found, top, left)
        assert len(found) > 0
        assert margins(found) == close(expected)
