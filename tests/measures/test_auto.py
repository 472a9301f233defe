"""Several measures joined by what chance shows in each: from the call to the answer."""

import math
import pickle
import warnings

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch
from nuvmatch import MI, NUV, Auto, Highest, Lowest, Matcher
from nuvmatch.measures import name_of

pytestmark = pytest.mark.compiled  # of each measure four maps

BOTH = Auto("nuv", "ncc2")  # quick, where it does not matter which
CURVE = (np.sin(np.arange(256) / 25) * 100 + 110).astype(np.uint8)  # neither rising nor falling


def scene(rng, size=(90, 110), window=(12, 13), channels=None):
    """Noise, a smoother template in it at (40, 50) and, in other tones, at (10, 20)."""
    shape = (*size, channels) if channels else size
    image = rng.integers(0, 256, shape).astype(np.uint8)
    coarse = rng.integers(0, 200, (5, 5, *shape[2:])).repeat(3, axis=0).repeat(3, axis=1)
    template = coarse[: window[0], : window[1]] + rng.integers(0, 50, (*window, *shape[2:]))
    template = template.astype(np.uint8)
    image[40 : 40 + window[0], 50 : 50 + window[1]] = template
    image[10 : 10 + window[0], 20 : 20 + window[1]] = CURVE[template]
    return image, template


def places(matches):
    return [(match.row, match.col) for match in matches]


def test_the_place_is_found_in_any_tones_and_only_there(rng):
    image, template = scene(rng)
    found = nuvmatch.locate(image, template, "auto", false_alarms=0.1)
    assert set(places(found)) == {(40, 50), (10, 20)}
    assert places(found)[0] == (40, 50)
    assert found[0].false_alarms < 1e-6
    assert found[1].false_alarms < 0.01
    assert nuvmatch.locate(image, template, "auto")[0] == found[0]


def check_map_and_places(matcher, image, fill_value, **part):
    """Scores are ``1 - exp(-false_alarms)``, of the map as of the places, in its order."""
    scores = matcher.score_map(image, fill_value=fill_value, **part)
    found = matcher.locate(image, max_matches=40, **part)
    assert len(found) == 40
    top, left = (max(first, 0) for first in part.get("region", (0, 0))[:2])
    known = scores if math.isnan(fill_value) else scores[scores != fill_value]
    assert np.nanmin(known) >= 0
    assert np.nanmax(known) <= 1
    told = np.array([match.false_alarms for match in found])
    assert (np.diff(told) >= 0).all()
    assert_allclose(found.scores, 1 - np.exp(-told), rtol=1e-9, atol=1e-15)
    of_map = [scores[match.row - top, match.col - left] for match in found]
    assert_allclose(of_map, found.scores, rtol=1e-3, atol=1e-30)
    assert np.nanmin(scores) == min(of_map)
    assert found[0].margin > 0
    assert all(match.margin <= 0 for match in found[1:])
    return scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("measure", ["auto", BOTH], ids=str)
def test_scores_are_the_chance_of_a_false_alarm(measure, dtype, rng):
    image, template = scene(rng)
    matcher = Matcher(template, measure, dtype=dtype)
    scores = check_map_and_places(matcher, image, 1.0)
    assert scores.dtype == dtype
    assert scores.shape == (79, 98)
    check_map_and_places(matcher, image, 1.0, region=(5, 10, 80, 95))


def test_each_decoy_is_judged_by_what_the_others_show(rng):
    """In images so small that all of it is searched for each of them."""
    negatives = [rng.integers(0, 256, (41, 37)) for _ in range(2)]
    template = scene(rng)[1]
    null = Matcher(template, BOTH, dtype=float).calibrate(*negatives)
    decoys = template[:, ::-1], template[::-1], template[::-1, ::-1]
    maps = [
        [
            [nuvmatch.score_map(one, decoy, measure, dtype=float) for measure in ("nuv", "ncc2")]
            for one in negatives
        ]
        for decoy in decoys
    ]
    lowest = []
    for left_out, judged in enumerate(maps):
        others = [of_image for i, one in enumerate(maps) for of_image in one if i != left_out]
        laws = []
        for of_measure in zip(*others, strict=True):
            shown = [
                score for one in of_measure for score, *_ in naive.lowest_places(one, (12, 13))
            ]
            learnt = sum(one.size for one in of_measure)
            law = naive.tail(sorted(shown), learnt, (12, 13))
            laws.append((*law, learnt, sorted(shown)[:60]))  # two tails are kept
        for of_image in judged:
            joined = naive.join_maps(of_image, laws)
            lowest += [log for log, *_ in naive.lowest_places(joined, (12, 13))]
    assert null.logs.size >= 60
    assert_allclose(null.logs[:30], sorted(lowest)[:30], rtol=1e-6)
    assert [part.sample for part in null.parts] == [null.sample] * 2


@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("fill_value", [np.nan, 7.0])
def test_no_evidence_is_where_no_measure_has_it(fill_value, channels, rng):
    image, template = scene(rng, channels=channels)
    image[60:80, :25] = 9  # flat
    mask, image_mask = rng.random(template.shape[:2]) < 0.9, np.ones(image.shape[:2])
    image_mask[30, 70:90] = 0
    matcher = Matcher(template, BOTH, mask=mask)
    scores = check_map_and_places(matcher, image, fill_value, image_mask=image_mask)
    alone = nuvmatch.score_map(image, template, mask=mask, image_mask=image_mask, fill_value=np.nan)
    nothing = np.isnan(scores) if math.isnan(fill_value) else scores == fill_value
    assert_array_equal(nothing, np.isnan(alone))
    assert nothing.any()
    found = matcher.locate(image, image_mask=image_mask, false_alarms=1e-3)
    assert (40, 50) in places(found)


def test_matches_say_which_measures_spoke(rng):
    image, template = scene(rng)
    names = {"nuv", "ncc2", "MI"}
    found = nuvmatch.locate(image, template, Auto("nuv", "ncc2", MI(bins=5)), max_matches=20)
    for match in found:
        word, listed = match.measure.split(" ", 1)
        spoke = listed.strip("()").split(", ")
        assert word == "auto"
        assert len(spoke) == 2
        assert set(spoke) <= names
    assert found[0].measure != "auto (MI, ncc2)"
    both = nuvmatch.locate(image, template, BOTH)[0]
    assert both.measure in ("auto (nuv, ncc2)", "auto (ncc2, nuv)")


def test_curves_and_gain_are_of_the_first_measure_that_has_them(rng):
    image, template = scene(rng)
    match = nuvmatch.locate(image, template, Auto("ncc2", NUV(bins=4), "mi"))[0]
    alone = Matcher(template, NUV(bins=4))
    assert match.tone_curves == alone.tone_curve(image, 40, 50)
    assert match.gain == pytest.approx(1)
    matcher = Matcher(template, Auto("ncc2", NUV(bins=4)))
    assert len(matcher.bins[0].counts) == 4
    assert matcher.tone_curve(image, 40, 50) == match.tone_curves
    bare = nuvmatch.locate(image, template, Auto("ncc2", "ssd"))[0]
    assert (bare.tone_curves, bare.gain) == ((), None)


def test_a_threshold_is_of_the_chance_and_limits_combine(rng):
    image, template = scene(rng)
    matcher = Matcher(template, BOTH)
    everything = matcher.locate(image, max_matches=1000)
    for threshold in (0.0, 1e-6, 0.5, 0.99):
        found = matcher.locate(image, threshold=threshold)
        assert list(found) == [match for match in everything if match.score <= threshold]
    for most in (1e-3, 0.5, 3):
        found = matcher.locate(image, false_alarms=most)
        assert list(found) == [match for match in everything if match.false_alarms <= most]
        both = matcher.locate(image, false_alarms=most, threshold=0.3)
        assert list(both) == [match for match in found if match.score <= 0.3]
    assert list(matcher.locate(image, threshold=0.9, max_matches=2)) == list(everything[:2])


def test_it_is_a_value_and_its_matcher_can_be_pickled(rng):
    assert eval(repr(Auto()), vars(nuvmatch)) == Auto()
    assert repr(BOTH) == f"Auto({NUV()!r}, {nuvmatch.NCC(squared=True)!r})"
    assert Auto("nuv", "ncc2") == BOTH == eval(repr(BOTH), vars(nuvmatch))
    assert hash(Auto("nuv", "ncc2")) == hash(BOTH)
    assert len({BOTH, Auto("ncc2", "nuv"), Auto(), Auto("nuv", "ncc2")}) == 3
    assert Auto(Lowest("nuv", "ncc2"), "mi").measures[0] == Lowest("nuv", "ncc2")
    assert name_of(Auto()) == "auto"
    image, template = scene(rng)
    for measure in ("auto", BOTH):
        matcher = Matcher(template, measure)
        again = pickle.loads(pickle.dumps(matcher))
        assert again.measure == matcher.measure
        assert again.locate(image, max_matches=3) == matcher.locate(image, max_matches=3)
    assert repr(Matcher(template, "auto")) == "<Matcher for a template of 12 x 13 by auto>"
    assert Matcher(template, "auto").measure == Auto()


@pytest.mark.parametrize(
    ("measures", "error", "message"),
    [
        (["nuv"], ValueError, "two measures or more"),
        ([Auto(), "nuv"], ValueError, "none of these itself"),
        (["nuv", "auto"], ValueError, "none of these itself"),
        (["nuv", "sad"], ValueError, "measure is 'sad'"),
        (["nuv", 3], TypeError, "measure is 3"),
    ],
)
def test_what_cannot_be_joined_is_refused(measures, error, message):
    with pytest.raises(error, match=message):
        Auto(*measures)


@pytest.mark.parametrize("measure", ["auto", BOTH], ids=str)
def test_a_window_alone_has_no_score(measure, rng):
    window, template = rng.random((2, 9, 9))
    with pytest.raises(ValueError, match="whole image"):
        nuvmatch.score(window, template, measure)


@pytest.mark.parametrize("combine", [Lowest, Highest])
@pytest.mark.parametrize("measure", ["auto", BOTH], ids=str)
def test_it_has_no_score_of_its_own_to_combine(measure, combine):
    for parts in ((measure, "nuv"), ("nuv", measure)):
        with pytest.raises(ValueError, match="do not compare"):
            combine(*parts)


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (5, 6)])
def test_small_templates_are_sought_without_a_word(shape, rng):
    image = rng.integers(0, 256, (60, 80)).astype(np.uint8)
    template = image[20 : 20 + shape[0], 30 : 30 + shape[1]]
    found = nuvmatch.locate(image, template, "auto", max_matches=20)
    assert (20, 30) in places(found)
    if shape[0] > 3:  # nine greys of noise are soon found again
        assert places(found)[0] == (20, 30)
        assert found[0].false_alarms < 1e-3


def test_where_no_measure_can_decide_ncc_orders_and_one_warning_is_given(rng):
    image = rng.integers(0, 256, (20, 24)).astype(np.uint8)
    template = image[5:15, 8:17]
    by_ncc = nuvmatch.locate(image, template, "ncc", max_matches=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = nuvmatch.locate(image, template, "auto", max_matches=4)
    assert [(one.category, one.filename) for one in caught] == [(UserWarning, __file__)]
    assert "ncc" in str(caught[0].message)
    assert places(found) == places(by_ncc)
    assert {match.false_alarms for match in found} == {math.inf}
    assert {match.measure for match in found} == {"auto (ncc)"}
    with pytest.warns(UserWarning, match="ncc"):
        assert not nuvmatch.locate(image, template, "auto", false_alarms=1e9)
    with pytest.warns(UserWarning, match="ncc"):
        scores = nuvmatch.score_map(image, template, "auto")
    assert_array_equal(scores, 1)


def test_a_template_equal_to_its_mirror_images_is_told_by_shifts_of_it(rng):
    quarter = rng.integers(0, 256, (6, 6)).astype(np.uint8)
    half = np.hstack([quarter, quarter[:, ::-1]])
    template = np.vstack([half, half[::-1]])
    image = rng.integers(0, 256, (120, 130)).astype(np.uint8)
    image[40:52, 50:62] = template
    found = nuvmatch.locate(image, template, "auto", false_alarms=1e-3)
    assert places(found) == [(40, 50)]


def test_threads_change_nothing_and_the_image_is_left_alone(rng):
    image, template = scene(rng)
    copies = image.copy(), template.copy()
    matchers = [Matcher(template, "auto", n_threads=n) for n in (1, 2, 5)]
    maps = [matcher.score_map(image) for matcher in matchers]
    found = [matcher.locate(image, max_matches=30) for matcher in matchers]
    for one, other in zip(maps[1:], found[1:], strict=True):
        assert_array_equal(one, maps[0])
        assert other == found[0]
    assert_array_equal(image, copies[0])
    assert_array_equal(template, copies[1])


def test_a_null_of_its_own_serves_a_series(rng):
    image, template = scene(rng)
    matcher = Matcher(template, BOTH)
    frames = [rng.integers(0, 256, image.shape).astype(np.uint8) for _ in range(2)]
    null = pickle.loads(pickle.dumps(matcher.calibrate(*frames)))
    found = matcher.locate(image, null=null, false_alarms=1e-3)
    assert (40, 50) in places(found)
    assert found[0].measure.startswith("auto (")
    with pytest.raises(ValueError, match="null is of"):  # of several measures
        Matcher(template, "nuv").locate(image, null=null)
    with pytest.raises(ValueError, match="null is of"):
        Matcher(template, Auto("nuv", "mi")).locate(image, null=null)
    anywhere = nuvmatch.Null.from_maps([nuvmatch.score_map(frames[0], template)], (12, 13))
    with pytest.raises(ValueError, match="null is of"):
        matcher.locate(image, null=anywhere)
    single = Matcher(template, "nuv").calibrate(*frames)
    with pytest.raises(ValueError, match="null is of nuv"):
        matcher.locate(image, null=single)


def test_a_map_in_bands_is_joined_as_in_one(rng, monkeypatch):
    image, template = scene(rng)
    matcher = Matcher(template, BOTH)
    null = matcher.calibrate(image)
    whole = matcher.locate(image, null=null, max_matches=25)
    monkeypatch.setattr(nuvmatch.measures.bands, "WINDOWS_HELD", 1500)
    bands = matcher.locate(image, null=null, max_matches=25)
    assert bands == whole
    assert (40, 50) in places(matcher.locate(image, false_alarms=1e-3))


def test_a_null_tells_of_chances_what_matches_say(rng):
    image, template = scene(rng)
    matcher = Matcher(template, "auto")
    null = matcher.calibrate(image)
    found = matcher.locate(image, null=null, false_alarms=math.inf)
    assert len(found) > 10
    alarms = np.array([match.false_alarms for match in found])
    usual = (alarms > 1e-9) & (alarms < 9)  # of chances nearer to 0 or 1 little is left
    assert_allclose(null.false_alarms(found.scores)[usual], alarms[usual], rtol=1e-6)
    for most in (0.5, 1, 3):
        assert null.threshold(most) == pytest.approx(1 - math.exp(-most))
        below = matcher.locate(image, null=null, threshold=null.threshold(most))
        assert below == matcher.locate(image, null=null, false_alarms=most)
    assert null.threshold(0) == -1
