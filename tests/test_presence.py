"""False alarms told against those seen in trials, and what is kept: by hand and by loops."""

import math
from dataclasses import replace

import numpy as np
import pytest

import nuvmatch
from nuvmatch import Matcher, find_peaks
from nuvmatch.evaluation import Presence, PresenceTrial, check_presence

pytestmark = pytest.mark.compiled  # whole searches; other tests run their kernels as plain Python


def noise(seed, side=160):
    return np.random.default_rng(seed).integers(0, 256, (side, side), dtype=np.uint8)


TEMPLATE = noise(0, 12)


def planted(image, *places, template=TEMPLATE):
    image = image.copy()
    for row, col in places:
        image[row : row + len(template), col : col + len(template)] = template
    return image


# What is counted


@pytest.mark.parametrize("measure", ["nuv", "nuv_adaptive", "auto"])
def test_false_matches_are_those_that_locate_returns(measure):
    image = noise(1)
    found = check_presence([PresenceTrial(image, TEMPLATE)], [measure], nominal=[0.1, 1, 10])
    (row,) = found.rows
    for number in (0.1, 1, 10):
        matches = nuvmatch.locate(image, TEMPLATE, measure, false_alarms=number)
        assert row[f"false at {number}"] == len(matches)
    assert row["false at 10"] > row["false at 0.1"]
    best = nuvmatch.locate(image, TEMPLATE, measure, false_alarms=math.inf)[0]
    assert (row["score"], row["false_alarms"]) == (best.score, best.false_alarms)
    assert (row["planted"], row["best"], row["kept at 1"], row["refused"]) == (0, 0, 0, "")


def test_what_is_kept_is_what_is_near_a_match_that_passes():
    """Counted by a loop over what `locate` returns: copies of which some are worse than chance."""
    rng = np.random.default_rng(2)
    places = [(5, 9), (40, 80), (100, 20), (130, 130), (70, 140)]
    image = noise(3).astype(float)
    for spread, (row, col) in zip((0, 40, 90, 150, 400), places, strict=True):
        image[row : row + 12, col : col + 12] = TEMPLATE + spread * rng.normal(size=(12, 12))
    beside = [(row + 1, col - 1) for row, col in places]
    for near, wanted in ((1, beside), (0, places)):
        trial = PresenceTrial(image, TEMPLATE, wanted)
        (row,) = check_presence([trial], ["nuv"], nominal=[0.01, 3], near=near).rows
        for number in (0.01, 3):
            matches = nuvmatch.locate(image, TEMPLATE, false_alarms=number)
            kept, false = 0, len(matches)
            for place in places:
                hits = [match for match in matches if (match.row, match.col) == place]
                kept += len(hits)
                false -= len(hits)
            assert (row[f"kept at {number}"], row[f"false at {number}"]) == (kept, false)
        assert 1 <= row["kept at 0.01"] <= row["kept at 3"] < row["planted"] == 5
        listed = nuvmatch.locate(image, TEMPLATE, max_matches=5)
        assert row["best"] == sum((match.row, match.col) in places for match in listed)
    (row,) = check_presence([PresenceTrial(image, TEMPLATE, beside)], ["nuv"], near=0).rows
    assert (row["best"], row["kept at 10"]) == (0, 0)


def test_a_map_of_ones_own_is_judged_by_its_own_minima():
    """Of 400 places 30 score less than others: copies by far, and two are where nothing is."""
    scores = np.full((200, 200), 0.9)
    rows, columns = np.meshgrid(np.arange(5, 200, 10), np.arange(5, 200, 10), indexing="ij")
    scores[rows, columns] = np.linspace(0.5, 0.8, 400).reshape(20, 20)
    places = [(25, 35), (105, 95), (165, 185)]
    for row, col in [*places, (55, 55), (95, 145)]:
        scores[row, col] = 1e-3
    image, template = np.zeros((209, 209), np.uint8), np.zeros((10, 10), np.uint8)
    trial = PresenceTrial(image, template, places)

    def own(image, template):
        return scores

    (row,) = check_presence([trial], [own], nominal=[0.1, 100]).rows
    assert (row["planted"], row["kept at 0.1"], row["false at 0.1"]) == (3, 3, 2)
    assert (row["best"], row["score"], row["refused"]) == (1, 1e-3, "")  # the first three by place
    alarms = [match.false_alarms for match in find_peaks(scores, (10, 10), false_alarms=100)]
    assert row["kept at 100"] + row["false at 100"] == len(alarms) > 50
    assert row["false_alarms"] == alarms[0] < 0.1


def test_a_match_may_be_near_two_places_which_count_each():
    image = planted(noise(4), (20, 20), (20, 60))
    trial = PresenceTrial(image, TEMPLATE, [(20, 20), (21, 21), (20, 60), (90, 90)])
    (row,) = check_presence([trial], ["ncc2"]).rows
    assert (row["planted"], row["kept at 0.1"]) == (4, 3)


def test_rows_are_those_of_trials_in_turn_by_each_measure():
    trials = [
        PresenceTrial(noise(5), TEMPLATE, name="without"),
        PresenceTrial(planted(noise(5), (3, 4)), TEMPLATE, np.array([[3, 4]]), "with"),
    ]
    parts = []
    found = check_presence(
        trials, {"one": "nuv", "other": nuvmatch.NCC()}, progress=lambda *p: parts.append(p)
    )
    told = [(row["name"], row["trial"], row["measure"]) for row in found.rows]
    assert told == [
        ("without", 0, "one"), ("without", 0, "other"), ("with", 1, "one"), ("with", 1, "other"),
    ]  # fmt: skip
    assert parts == [(1, 2), (2, 2)]
    assert found.measures == ["one", "other"]
    single = check_presence(trials, {"one": "nuv"}, n_threads=1)
    assert list(single.rows) == found.of("one")


# Tables


def made_up():
    """Three searches without, one of them refused, and two with five copies together."""
    false, kept = "false at 2", "kept at 2"
    counts = [(0, 0, 3, 0), (0, 0, 0, 0), (0, 0, 6, 0), (1, 1, 9, 0), (4, 2, 0, 3)]
    return Presence(
        tuple(
            {"measure": "nuv", "planted": planted, "best": best, false: wrong, kept: right}
            | {"refused": "few places" if i == 1 else ""}
            for i, (planted, best, wrong, right) in enumerate(counts)
        ),
        nominal=(2.0,),
    )


def test_a_table_has_means_shares_and_wilson_s_interval():
    """False: 3, 0 and 6, so that the error is 3 / sqrt(3); kept: 3 of 5."""
    (row,) = made_up().table()
    z, n, p = 1.959963984540054, 5, 0.6
    low, high = np.roots([1 + z**2 / n, -(2 * p + z**2 / n), p**2])[::-1]
    assert row == {
        "measure": "nuv", "nominal": 2, "without": 3, "false": 3, "planted": 5, "best": 0.6,
        "kept": 0.6, "refused": 1, "error": pytest.approx(math.sqrt(3)),
        "low": pytest.approx(low), "high": pytest.approx(high),
    }  # fmt: skip
    assert made_up().to_dataframe()["kept"].tolist() == [0.6]


def test_what_no_trial_tells_is_nan():
    rows = made_up().rows
    (without,) = Presence(rows[:1], nominal=(2.0,)).table()
    assert (without["without"], without["false"], without["planted"]) == (1, 3, 0)
    assert all(math.isnan(without[key]) for key in ("error", "best", "kept", "low", "high"))
    (with_it,) = Presence(rows[3:], nominal=(2.0,)).table()
    assert (with_it["without"], with_it["kept"]) == (0, 0.6)
    assert all(math.isnan(with_it[key]) for key in ("false", "error"))


def test_the_promise_holds_on_noise():
    """The mean of 40 counts of mean 1, and little more scatter than Poisson's: .5 to 1.5."""
    trials = [PresenceTrial(noise(100 + i), noise(200 + i, 12)) for i in range(40)]
    for row in check_presence(trials, ["nuv", "ncc2"], nominal=[1, 10]).table():
        assert row["without"] == 40
        if row["nominal"] == 1:
            assert 0.5 < row["false"] < 1.5
            assert 0.08 < row["error"] < 0.32
        else:
            assert 8 < row["false"] < 12.5


def test_what_is_nodata_is_no_part_of_the_pattern():
    """A hole in the template, where its image has other greys; and what is none is refused."""
    template = np.where(np.indices((12, 12)).sum(axis=0) < 12, -1, TEMPLATE.astype(int))
    trial = PresenceTrial(planted(noise(4), (30, 50)).astype(int), template, [(30, 50)], nodata=-1)
    (with_hole,) = check_presence([trial], ["ncc2"]).rows
    (whole,) = check_presence([replace(trial, nodata=None)], ["ncc2"]).rows
    found = nuvmatch.locate(trial.image, template, "ncc2", nodata=-1, false_alarms=1)
    assert with_hole["false_alarms"] == found[0].false_alarms < 1e-6 < whole["false_alarms"]
    with pytest.raises(TypeError, match="nodata is '-1'"):
        check_presence([replace(trial, nodata="-1")])


# What is said


def test_what_cannot_be_told_is_refused_and_passes_nothing():
    image = planted(noise(6, 40), (4, 5), template=noise(7, 24))
    trial = PresenceTrial(image, noise(7, 24), [(4, 5)])

    def own(image, template):
        return Matcher(template).score_map(image)

    with pytest.warns(UserWarning, match="lets nothing pass in 1 of 1 searches") as said:
        found = check_presence([trial], ["nuv", own])
    assert [str(one.message).split()[0] for one in said] == ["nuv", "own"]
    for row in found.rows:
        assert (row["planted"], row["best"], row["kept at 10"]) == (1, 1, 0)
        assert (row["false at 10"], row["false_alarms"]) == (0, math.inf)
        assert row["refused"].startswith("false alarms cannot be told")
    assert [row["refused"] for row in found.table()] == [1] * 6


def test_what_is_raised_of_a_template_counts_as_refused():
    def choosy(image, template):
        raise ValueError("unheard of")

    trials = [PresenceTrial(noise(8), TEMPLATE), PresenceTrial(noise(8), np.ones((9, 9)), [(3, 3)])]
    with pytest.warns(UserWarning, match="lets nothing pass") as said:
        found = check_presence(trials, ["mi", choosy])
    about_mi, about_choosy = (str(one.message) for one in said)
    assert about_mi.startswith("mi lets nothing pass in 1 of 2 searches: the template of shape")
    assert about_choosy == "choosy lets nothing pass in 2 of 2 searches: unheard of"
    of_one = found.of("mi")[1]
    assert (of_one["planted"], of_one["best"], of_one["kept at 10"]) == (1, 0, 0)
    assert math.isnan(of_one["score"])


def test_warnings_that_tell_of_something_else_are_no_refusals():
    stripes = np.tile(np.arange(12) // 3 % 2 * 200, (12, 1)).astype(np.uint8)
    with pytest.warns(UserWarning, match="like its mirror images") as said:
        found = check_presence([PresenceTrial(noise(9), stripes)], ["nuv"])
    assert len(said) == 1
    assert found.rows[0]["refused"] == ""


def test_what_refuses_without_a_word_has_refused():
    def own(image, template):
        raise ValueError

    with pytest.warns(UserWarning, match="own lets nothing pass in 1 of 1 searches: ValueError"):
        found = check_presence([TRIAL], [own])
    assert [row["refused"] for row in found.table()] == [1, 1, 1]


TRIAL = PresenceTrial(noise(10, 40), TEMPLATE)


@pytest.mark.parametrize(
    ("trials", "options", "message"),
    [
        ([], {}, "there is no trial"),
        (TRIAL, {}, "trials is of type PresenceTrial; it must be a sequence"),
        ([TRIAL, (TEMPLATE, TEMPLATE)], {}, "trial 1 is of type tuple"),
        ([PresenceTrial(TEMPLATE, noise(0, 13))], {}, "trial 0: the template of shape .13, 13. is"),
        ([PresenceTrial(None, TEMPLATE)], {}, "the image of trial 0 is None"),
        (
            [PresenceTrial(noise(0), TEMPLATE, (3, 4))],
            {},
            r"places of trial 0 is \(3, 4\); it must",
        ),
        ([PresenceTrial(noise(0), TEMPLATE, 5)], {}, "places of trial 0 is 5"),
        (
            [PresenceTrial(noise(0), TEMPLATE, iter([(3, 4)]))],
            {},
            "places of trial 0 is <list_iter",
        ),
        ([PresenceTrial(noise(0), TEMPLATE, "")], {}, "places of trial 0 is ''"),
        ([PresenceTrial(noise(0, 40), TEMPLATE, [(3, 29)])], {}, r"\(3, 29\).*shape \(29, 29\)"),
        ([PresenceTrial(noise(0, 40), TEMPLATE, [(-1, 3)])], {}, r"a place of trial 0 is \(-1, 3"),
        ([PresenceTrial(noise(0, 40), TEMPLATE, [(3, 3), (3, 3)])], {}, "has one twice"),
        ([PresenceTrial(noise(0, 40), TEMPLATE, [(0.5, 3)])], {}, "a row is 0.5"),
        ([TRIAL], {"nominal": []}, "nominal is"),
        ([TRIAL], {"nominal": [1, 1.0]}, "six digits tell apart"),
        ([TRIAL], {"nominal": [0]}, "above 0"),
        ([TRIAL], {"nominal": [-1]}, "nominal is -1"),
        ([TRIAL], {"nominal": 1}, "nominal is 1; it must be a sequence"),
        ([TRIAL], {"near": -1}, "near is -1"),
        ([TRIAL], {"n_threads": 0}, "n_threads is 0"),
        ([TRIAL], {"measures": ["nuv", "nuv"]}, "nuv is there twice"),
        ([TRIAL], {"measures": [lambda image, template: image]}, "a map of shape"),
        ([TRIAL], {"measures": {"own": lambda *_: None}}, "the map that own has made is None"),
    ],
)
def test_bad_input_is_said(trials, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_presence(trials, **options)
