"""Numbers of false alarms: by plain loops over small maps, and what they promise of any map."""

import math
import pickle
import warnings

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch
from nuvmatch import Null, find_peaks
from nuvmatch.finding import logs_of, lowest_places, without_true

seeds = st.integers(0, 2**32 - 1)
SHAPE = (4, 5)


def power_map(rng, size=(40, 50), exponent=30.0):
    """Scores of which chance shows so few low ones as it does of measures."""
    return rng.random(size) ** (1 / exponent)


def random_map(rng):
    """Of any kind: with holes, infinite ones, plateaus, in steps."""
    scores = power_map(rng, tuple(rng.integers(12, 32, 2)), rng.choice([1, 5, 100]))
    match rng.integers(5):
        case 1:
            scores[rng.random(scores.shape) < 0.3] = np.nan
        case 2:
            scores = np.round(8 * scores) / 8
        case 3:
            scores[: len(scores) // 2] = 1
        case 4:
            scores[rng.random(scores.shape) < 0.05] = np.inf
    return scores.astype(rng.choice([np.float32, np.float64]))


def scores_of(map_, shape):
    return [score for score, *_ in naive.lowest_places(map_, shape)]


def asked_of(scores, lowest):
    """Scores to tell false alarms of: those of the map, 0, and such as are between them."""
    known = [score for score in lowest[:: max(len(lowest) // 9, 1)] if score < math.inf]
    return [0.0, 1e-9, *known, *(0.99 * score for score in known), *(1.01 * s for s in known), 1.0]


def count(scores):
    return int((~np.isnan(scores)).sum())


# Against the loops.


@given(seeds, st.sampled_from([(1, 1), (2, 3), (4, 5), (9, 3)]))
def test_the_lowest_places_are_those_of_the_loops(seed, shape):
    scores = random_map(np.random.default_rng(seed))
    expected = naive.lowest_places(scores, shape)
    found = lowest_places([(0, scores)], shape)
    assert found.scores.tolist() == [score for score, *_ in expected]
    assert set(zip(found.rows.tolist(), found.cols.tolist(), strict=True)) == {
        (row, col) for _, row, col in expected
    }


@given(seeds, st.integers(1, 40))
def test_of_so_many_places_none_is_lower_than_those_found(seed, number):
    rng = np.random.default_rng(seed)
    maps = [(0, random_map(rng)), (1000, random_map(rng))]
    everywhere = sorted(
        (score, first + row, col)
        for first, scores in maps
        for score, row, col in naive.lowest_places(scores, SHAPE)
    )
    found = lowest_places(maps, SHAPE, number)
    assert min(number, len(everywhere)) <= found.rows.size <= len(everywhere)
    assert found.scores.tolist() == [score for score, *_ in everywhere[: found.rows.size]]


@given(seeds, st.sampled_from([(1, 1), (2, 3), SHAPE]))
def test_false_alarms_equal_the_loops(seed, shape):
    rng = np.random.default_rng(seed)
    maps = [random_map(rng) for _ in range(rng.integers(1, 4))]
    null = Null.from_maps(maps, shape)
    lowest = sorted(score for one in maps for score in scores_of(one, shape))
    learnt = sum(map(count, maps))
    of_one = learnt // len(maps)
    assert (null.shape, null.windows, null.sample, null.measure) == (shape, of_one, learnt, None)
    asked = asked_of(maps[0], lowest)
    for windows in (None, 1, 100, 12345):
        expected = [
            naive.false_alarms(score, lowest, learnt, windows or of_one, shape) for score in asked
        ]
        assert_allclose(null.false_alarms(asked, windows), expected, rtol=1e-7, atol=1e-300)


@given(seeds, st.sampled_from([(1, 1), (2, 3), SHAPE]))
@pytest.mark.filterwarnings("ignore:false alarms cannot be told", "ignore:the measure cannot")
def test_a_map_tells_by_its_own_minima(seed, shape):
    scores = random_map(np.random.default_rng(seed))
    lowest = scores_of(scores, shape)
    found = find_peaks(scores, shape, false_alarms=math.inf)
    assert found.scores.tolist() == lowest
    expected = [
        naive.false_alarms(score, lowest, count(scores), count(scores), shape, own=True)
        for score in lowest
    ]
    assert_allclose([match.false_alarms for match in found], expected, rtol=1e-7, atol=1e-300)


@pytest.mark.parametrize(("own", "enough"), [(False, 40), (True, 30)])
def test_it_is_said_how_many_places_would_do(own, enough):
    logs = np.log(np.linspace(0.2, 0.9, enough))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Null(SHAPE, 1000, 1000, logs, own=own).warn_if_undecided()
    few = Null(SHAPE, 1000, 1000, logs[1:], own=own)
    with pytest.warns(UserWarning, match=f"are {enough - 1} places .* and {enough} would do"):
        few.warn_if_undecided()


@given(seeds, st.sampled_from([1e-6, 0.01, 0.5, 1, 3, 10.5, 1000]))
@pytest.mark.filterwarnings("ignore:false alarms cannot be told", "ignore:the measure cannot")
def test_what_passes_is_what_has_no_more_false_alarms(seed, most):
    rng = np.random.default_rng(seed)
    scores = random_map(rng)
    null = Null.from_maps([power_map(rng, exponent=3.0)], SHAPE) if rng.random() < 0.5 else None
    all_of_them = find_peaks(scores, SHAPE, false_alarms=math.inf, null=null)
    expected = [match for match in all_of_them if match.false_alarms <= most]
    assert list(find_peaks(scores, SHAPE, false_alarms=most, null=null)) == expected
    assert (
        list(find_peaks(scores, SHAPE, false_alarms=most, null=null, max_matches=2))
        == (expected[:2])
    )
    threshold = float(np.nanmedian(scores))
    both = find_peaks(scores, SHAPE, false_alarms=most, null=null, threshold=threshold)
    assert list(both) == [match for match in expected if match.score <= threshold]


# What is promised, whatever the law.


def test_no_fewer_than_chance_has_shown_equal_ones_counted(rng):
    scores = np.round(power_map(rng), 2)
    null = Null.from_maps([scores], (2, 3))
    lowest = scores_of(scores, (2, 3))
    for score in sorted(set(lowest))[:30]:
        as_low = sum(other <= score for other in lowest)
        assert null.false_alarms(score) >= min(as_low, scores.size / 3.6) * (1 - 1e-12)
        assert null.false_alarms(score, 100) >= min(as_low * 100 / 2000, 100 / 3.6) * (1 - 1e-12)


@pytest.mark.parametrize("own", [False, True])
def test_no_more_than_there_are_places(own, rng):
    scores = power_map(rng)
    null = Null.from_maps([scores], SHAPE)
    if own:
        worst = find_peaks(scores, SHAPE, false_alarms=math.inf)[-1]
        assert worst.false_alarms == pytest.approx(2000 / 12)
    assert null.false_alarms(1e9) == pytest.approx(2000 / 12)
    assert null.false_alarms(1e9, 600) == pytest.approx(50)
    assert null.false_alarms(1e9, 1) == pytest.approx(1)


def test_false_alarms_rise_with_the_score(rng):
    null = Null.from_maps([power_map(rng)], SHAPE)
    told = null.false_alarms(np.linspace(0, 1.2, 999))
    assert (np.diff(told) >= 0).all()
    assert told[0] < 1e-12 < 1 < told[-1]


@given(seeds, st.sampled_from([1e-9, 0.01, 0.5, 1, 3, 40]), st.sampled_from([None, 1, 500]))
def test_a_threshold_is_the_highest_score_with_no_more_false_alarms(seed, most, windows):
    rng = np.random.default_rng(seed)
    scores = power_map(rng, (30, 30))
    null = Null.from_maps([np.round(scores, 2) if rng.random() < 0.5 else scores], (2, 3))
    threshold = null.threshold(most, windows)
    places = max(windows or 900, 3.6) / 3.6
    if most >= places:
        assert threshold == math.inf
    elif threshold < 0:
        assert null.false_alarms(0, windows) > most
    else:
        assert null.false_alarms(threshold * (1 - 1e-9), windows) <= most * (1 + 1e-9)
        assert null.false_alarms(threshold * (1 + 1e-9), windows) > most
    assert null.threshold(math.inf, windows) == math.inf
    assert null.threshold(0, windows) < 0
    assert null.threshold() == null.threshold(1.0, 900)


@pytest.mark.parametrize("most", [1, 2, 3, 6])
def test_a_place_at_the_threshold_passes_and_none_above(most, rng):
    """Where chance has shown just so many, whatever logarithms and their sums are rounded to."""
    for number in range(200, 700, 50):
        shown = maps_of_places(number, rng)
        null = Null.from_maps([shown], (1, 1))
        threshold = null.threshold(most)
        assert null.false_alarms(threshold) <= most
        searched = shown.copy()
        searched[0, 6] = threshold
        passing = find_peaks(searched, (1, 1), false_alarms=most, null=null)
        assert 6 in passing.cols
        assert all(match.score <= threshold for match in passing)


@given(seeds, st.sampled_from([1e-12, 0.3, 7.0, 1e9]))
def test_a_constant_factor_changes_nothing(seed, factor):
    scores = power_map(np.random.default_rng(seed), (30, 30))
    once, times = Null.from_maps([scores], (2, 3)), Null.from_maps([factor * scores], (2, 3))
    asked = np.linspace(0.0501, 1.1, 50)
    assert_allclose(times.false_alarms(factor * asked), once.false_alarms(asked), rtol=1e-6)
    told = [
        [match.false_alarms for match in find_peaks(k * scores, (2, 3), false_alarms=math.inf)]
        for k in (1, factor)
    ]
    assert_allclose(told[1], told[0], rtol=1e-6)


# Which scores of decoys are chance, where their law is known: 30 powers of ten a power of ten.


@pytest.mark.parametrize(
    ("own", "decoy", "elsewhere", "counts"),
    [
        (0.45, 0.65, 1, False),  # 6e4 times as sure as the decoy: the template is there
        (0.45, 0.50, 1, True),  # 24 times: any pattern resembles what is there
        (0.50, 0.45, 1, True),
        (0.90, 0.40, 0.40, False),  # chance shows 2e-8 of the decoy: it is drawn there
        (0.90, 0.58, 0.40, True),  # 1e-3
        (0.45, 0.40, 0.40, True),
        (0.90, 0.40, 1, True),  # of the template nothing is seen
    ],
)
def test_a_decoy_counts_unless_it_or_the_template_is_clearly_there(own, decoy, elsewhere, counts):
    ours, theirs = (power_map(np.random.default_rng(seed), (120, 150)) for seed in range(2))
    ours[18:23, 15:22] = theirs[18:25, 13:24] = 1
    ours[20, 20], theirs[21, 18], ours[5, 40] = own, decoy, min(elsewhere, ours[5, 40])
    template, decoys = (lowest_places([(0, one)], SHAPE) for one in (ours, theirs))
    null = Null(SHAPE, ours.size, theirs.size, logs_of(decoys.scores))
    kept = without_true(template, decoys, null, ours.size, faithful=True).logs
    assert (math.log(decoy) in kept.tolist()) == counts
    assert_array_equal(kept[counts:][:20], null.logs[1:21])  # of all others nothing is lost


@pytest.mark.compiled
def test_a_power_law_is_found_again(rng):
    """Minima of k of uniform numbers: false alarms of a score s are windows * s ** exponent."""
    exponent = 40.0
    null = Null.from_maps([power_map(rng, (400, 500), exponent)], (1, 1))
    asked = 10.0 ** (np.array([-1.0, -2, -3]) / exponent)  # of so many windows one
    assert_allclose(np.log10(null.false_alarms(asked, 1000)), [2, 1, 0], atol=0.1)
    beyond = 10.0 ** (-12.0 / exponent)
    assert np.log10(null.false_alarms(beyond, 1000)) == pytest.approx(-9, abs=0.7)


@pytest.mark.compiled
def test_expected_numbers_are_those_that_maps_show(rng):
    """At nominal 1 and 3, on maps of chance alone, by a null and by their own minima."""
    null = Null.from_maps([power_map(rng, (300, 300))], SHAPE)
    for nominal in (1, 3):
        maps = [power_map(rng) for _ in range(60)]
        numbers = [len(find_peaks(one, SHAPE, false_alarms=nominal, null=null)) for one in maps]
        assert nominal / 2 <= np.mean(numbers) <= 2 * nominal
        numbers = [len(find_peaks(one, SHAPE, false_alarms=nominal)) for one in maps]
        assert nominal / 2 <= np.mean(numbers) <= 2 * nominal


def test_a_few_true_places_do_not_hide_themselves(rng):
    scores = power_map(rng)
    true = [(3, 4), (13, 40), (30, 20), (20, 9), (35, 44)]
    for place in true:
        scores[place] = 0.02
    found = find_peaks(scores, SHAPE, false_alarms=1e-3)
    assert sorted((match.row, match.col) for match in found) == sorted(true)


# Where nothing can be told.


def test_decoys_that_score_0_leave_everything_open(rng):
    """0 is what is no more than 1e-4 of the score where the tail ends."""
    shown = power_map(rng)
    end = sorted(scores_of(shown, SHAPE))[30]
    searched = power_map(rng)
    searched[5, 6] = 0
    for low in (0.0, 1e-300, 0.99e-4 * end):
        shown[17, 20] = low
        null = Null.from_maps([shown], SHAPE)
        assert not null.decides
        assert null.false_alarms(0.0) == null.false_alarms(0.5) == math.inf
        assert null.threshold(1e9) < 0
        with pytest.warns(UserWarning, match="cannot decide"):
            assert not find_peaks(searched, SHAPE, false_alarms=1e9, null=null)
        with pytest.warns(UserWarning, match="cannot decide"):
            found = find_peaks(searched, SHAPE, false_alarms=math.inf, null=null)
        assert {match.false_alarms for match in found} == {math.inf}
        assert found.scores.tolist() == scores_of(searched, SHAPE)
    shown[17, 20] = 1.02e-4 * end
    null = Null.from_maps([shown], SHAPE)
    assert null.decides
    # One lower than all of them is expected less often than they, whatever the tail says.
    assert 0 < null.false_alarms(1e-5 * end) < 1 <= null.false_alarms(1.02e-4 * end)


def test_a_map_whose_own_minima_are_0_leaves_everything_open(rng):
    scores = power_map(rng)
    scores[3:38:7, 4] = 0  # five: true ones, maybe
    assert len(find_peaks(scores, SHAPE, false_alarms=1)) >= 5
    scores[20, 40] = 0
    with pytest.warns(UserWarning, match="the measure cannot decide.*score 0"):
        assert not find_peaks(scores, SHAPE, false_alarms=1)


def maps_of_places(number, rng):
    """A map whose places are so many, in a row and far enough apart."""
    scores = np.full((1, 2 * number), np.nan)
    scores[0, ::2] = power_map(rng, number)
    return scores


def test_too_few_places_tell_nothing(rng):
    """40 are needed; of a map's own 30."""
    enough = Null.from_maps([maps_of_places(40, rng)], (1, 1))
    few = Null.from_maps([maps_of_places(39, rng)], (1, 1))
    assert math.isfinite(enough.false_alarms(0.5))
    assert few.false_alarms(0.5) == math.inf
    searched = maps_of_places(80, rng)
    assert find_peaks(searched, (1, 1), false_alarms=10, null=enough)
    with pytest.warns(UserWarning, match="39 places to learn"):
        assert not find_peaks(searched, (1, 1), false_alarms=10, null=few)
    with pytest.warns(UserWarning, match="29 places to learn"):
        found = find_peaks(maps_of_places(29, rng), (1, 1), false_alarms=math.inf)
    assert len(found) == 29
    assert {match.false_alarms for match in found} == {math.inf}
    assert find_peaks(maps_of_places(30, rng), (1, 1), false_alarms=math.inf)[0].false_alarms < 9
    nothing = Null.from_maps([np.full((9, 9), np.nan)], (1, 1))
    assert nothing.false_alarms(0.5) == math.inf
    with pytest.warns(UserWarning, match="no window gives evidence"):
        assert not find_peaks(np.full((9, 9), np.nan), (1, 1), false_alarms=1)


# What is given, and refused.


def test_a_null_can_be_pickled(rng):
    null = Null.from_maps([power_map(rng)], SHAPE)
    again = pickle.loads(pickle.dumps(null))
    asked = np.linspace(0, 1, 99)
    assert_array_equal(again.false_alarms(asked), null.false_alarms(asked))
    assert (again.shape, again.windows, again.measure) == (null.shape, null.windows, None)
    assert repr(again) == repr(null)


def test_answers_have_the_shape_of_the_question(rng):
    null = Null.from_maps([power_map(rng)], SHAPE)
    asked = rng.random((3, 4, 2))
    told = null.false_alarms(asked)
    assert told.shape == asked.shape
    assert isinstance(null.false_alarms(asked[1, 2, 0]), float)
    assert null.false_alarms(asked[1, 2, 0]) == told[1, 2, 0]
    assert null.false_alarms([]).shape == (0,)
    assert null.false_alarms(1) == null.false_alarms(1.0)


def test_a_null_beside_no_limit_is_told_too(rng):
    scores = power_map(rng)
    null = Null.from_maps([power_map(rng)], SHAPE)
    (single,) = find_peaks(scores, SHAPE, null=null)
    assert single.false_alarms == pytest.approx(null.false_alarms(scores.min(), scores.size))
    assert single.score == scores.min()
    three = find_peaks(scores, SHAPE, null=null, max_matches=3)
    assert [match.false_alarms for match in three] == pytest.approx(
        null.false_alarms(three.scores, scores.size)
    )
    passing = find_peaks(scores, SHAPE, null=null, threshold=three[2].score)
    assert list(passing) == list(three)
    assert find_peaks(scores, SHAPE)[0].false_alarms is None
    assert find_peaks(scores, SHAPE, max_matches=3)[0].false_alarms is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda scores, null: find_peaks(scores, (5, 4), null=null), ValueError,
         r"\(4, 5\).*\(5, 4\)"),
        (lambda scores, _: find_peaks(scores - 1, SHAPE, false_alarms=1), ValueError,
         r"lowest score is -.*at least 0.*1 - s"),
        (lambda scores, null: find_peaks(scores, SHAPE, false_alarms=-1), ValueError,
         "false_alarms is -1"),
        (lambda scores, null: find_peaks(scores, SHAPE, false_alarms=np.nan), ValueError,
         "false_alarms"),
        (lambda scores, null: find_peaks(scores, SHAPE, false_alarms="1"), TypeError,
         "false_alarms is '1'"),
        (lambda scores, null: find_peaks(scores, SHAPE, false_alarms=True), TypeError,
         "false_alarms is True"),
        (lambda scores, null: find_peaks(scores - 1, SHAPE, null=null), ValueError,
         r"lowest score is -"),
        (lambda scores, _: Null.from_maps([scores, scores - 1], SHAPE), ValueError,
         r"lowest score is -"),
        (lambda scores, _: Null.from_maps([scores[0]], SHAPE), ValueError, "a map has shape"),
        (lambda *_: Null.from_maps([], SHAPE), ValueError, "no map"),
        (lambda scores, _: Null.from_maps([scores], 4), TypeError, "shape is 4"),
        (lambda _, null: null.false_alarms(-0.1), ValueError, r"-0.1"),
        (lambda _, null: null.false_alarms("low"), TypeError, "scores"),
        (lambda _, null: null.threshold(-1), ValueError, "false_alarms is -1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(call, error, message, rng):
    null = Null.from_maps([power_map(rng)], SHAPE)
    with pytest.raises(error, match=message):
        call(power_map(rng), null)


def test_negative_scores_are_fine_where_false_alarms_are_not_asked_for():
    assert nuvmatch.find_peaks([[0.5, -1, 2]], (1, 1))[0].score == -1
