"""Measures compared on pairs of images: trials are right, and judged as by other libraries."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import ndimage

import nuvmatch
from nuvmatch import NUV, tones
from nuvmatch.evaluation import Trial, compare, cut_trials, judge
from nuvmatch.io import write_picture

pytestmark = pytest.mark.compiled  # whole searches; other tests run their kernels as plain Python


def smooth(seed, shape=(90, 100)):
    greys = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), 1.5)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


IMAGE = smooth(0)


# Judging


def test_a_map_is_judged_by_the_best_score_near_the_truth(rng):
    scores = rng.random((40, 50)) + 1
    scores[20, 30] = 0.5
    assert judge(scores, 21, 29, (8, 8)).found
    assert not judge(scores, 22, 30, (8, 8)).found
    assert judge(scores, 22, 30, (8, 8), near=2).found
    assert not judge(np.zeros((9, 9)), 4, 4, (2, 2)).found  # a tie


def test_rank_and_area_are_those_of_every_pair_of_scores(rng):
    scores = np.round(rng.random((20, 30)), 1)
    scores[3, 4] = np.nan
    found = judge(scores, 7, 9, (5, 6))
    truth = np.nanmin(scores[6:9, 8:11])
    wrong, apart = [], []
    for row, col in np.ndindex(scores.shape):
        score = math.inf if np.isnan(scores[row, col]) else scores[row, col]
        if max(abs(row - 7), abs(col - 9)) > 1:
            wrong.append(score)
        if abs(row - 7) >= 5 or abs(col - 9) >= 6:
            apart.append(score)
    assert found.rank == 1 + sum(score <= truth for score in wrong)
    halves = [1 if score > truth else 0.5 if score == truth else 0 for score in apart]
    assert found.auc == pytest.approx(np.mean(halves))


def test_the_area_is_scikit_learns(rng):
    metrics = pytest.importorskip("sklearn.metrics")
    scores = rng.random((20, 30))
    rows, columns = np.indices(scores.shape)
    apart = scores[(abs(rows - 7) >= 5) | (abs(columns - 7) >= 5)]
    truth = scores[6:9, 6:9].min()
    labels = np.append(np.zeros(apart.size), 1)
    expected = metrics.roc_auc_score(labels, -np.append(apart, truth))
    assert judge(scores, 7, 7, (5, 5)).auc == pytest.approx(expected)


def test_where_all_windows_overlap_there_is_no_area():
    assert math.isnan(judge(np.ones((3, 3)), 1, 1, (8, 8)).auc)


@pytest.mark.parametrize(("row", "col"), [(-1, 0), (0, 5), (4, 0)])
def test_the_truth_must_be_on_the_map(row, col):
    with pytest.raises(ValueError, match="is no place of a score map of shape"):
        judge(np.ones((4, 5)), row, col, (2, 2))


# Trials


def test_templates_are_cut_where_they_are_said_to_be(rng):
    other = 255 - IMAGE
    for trial in cut_trials((IMAGE, other), 5, 16, rng):
        window = np.s_[trial.row : trial.row + 16, trial.col : trial.col + 16]
        assert_array_equal(trial.template, IMAGE[window])
        assert_array_equal(trial.image, other)


def test_a_family_changes_greys_by_its_curves(rng):
    """Of one curve all pixels of a grey have one again, in the order that the curve has."""
    trials = list(cut_trials((IMAGE, tones.Gamma(2, 3)), 3, 16, rng))
    assert len({trial.image.tobytes() for trial in trials}) == 3
    for trial in trials:
        order = np.argsort(IMAGE, axis=None)
        assert (np.diff(trial.image.ravel()[order].astype(int)) >= 0).all()
        assert trial.image.dtype == np.uint8
        assert np.ptp(trial.image) == 255


def test_floats_are_changed_as_floats(rng):
    image = IMAGE / 255
    (trial,) = cut_trials((image, lambda levels, rng: levels**2), 1, 16, rng)
    np.testing.assert_allclose(trial.image, image**2, atol=1e-12)


def test_noise_is_a_share_of_the_contrast(rng):
    image = rng.normal(size=(200, 200)) * 7
    (trial,) = cut_trials((image, image), 1, 16, rng, noise=0.5)
    assert (trial.image - image).std() == pytest.approx(3.5, rel=0.05)


def test_flat_places_are_not_cut(rng):
    image = np.zeros((60, 60))
    image[20:, 20:] = rng.random((40, 40))
    for trial in cut_trials((image, image), 20, 10, rng):
        assert trial.template.std() > 0
    assert not list(cut_trials((np.ones((60, 60)), np.ones((60, 60))), 3, 10, rng))


# Tables


def test_what_forgives_inversion_finds_what_is_inverted():
    found = compare([(IMAGE, tones.Inverted(tones.Gamma(1, 2)))], ["nuv", "ncc"], trials=10)
    nuv, ncc = found.table()
    assert (nuv["measure"], nuv["rate"], nuv["trials"]) == ("nuv", 1, 10)
    assert ncc["rate"] < 0.5
    assert ncc["rank"] > 1000
    assert nuv["auc"] > 0.99


def test_intervals_are_wilsons():
    """p = 7/10: the roots of (p - x)^2 = z^2 x (1 - x) / n."""

    def seven_of_ten(image, template):
        scores = nuvmatch.score_map(image, template)
        seven_of_ten.calls += 1
        return scores if seven_of_ten.calls <= 7 else -scores

    seven_of_ten.calls = 0
    (row,) = compare([(IMAGE, IMAGE)], [seven_of_ten], trials=10).table()
    z, n, p = 1.959963984540054, 10, 0.7
    low, high = np.roots([1 + z**2 / n, -(2 * p + z**2 / n), p**2])[::-1]
    assert row["rate"] == p
    assert row["low"] == pytest.approx(low)
    assert row["high"] == pytest.approx(high)


def test_the_same_templates_whatever_the_measures_and_for_the_same_seed():
    seen = []

    def spy(image, template):
        seen.append(np.asarray(template).tobytes())
        return nuvmatch.score_map(image, template, "ncc")

    pair = (IMAGE, tones.Gamma(1, 3))
    alone = compare([pair], [spy], trials=4, sides=(12, 20))
    beside = compare([pair], {"first": "nuv", "spy": spy}, trials=4, sides=(12, 20))
    assert seen[:8] == seen[8:]
    drop = ("ms", "measure")
    assert [{k: v for k, v in row.items() if k not in drop} for row in alone.rows] == [
        {k: v for k, v in row.items() if k not in drop} for row in beside.of("spy")
    ]
    compare([pair], [spy], trials=4, sides=(12, 20), seed=1)
    assert not set(seen[:8]) & set(seen[16:])


def test_a_trial_of_ones_own_is_taken_as_it_is():
    other = 255 - IMAGE
    trials = [Trial(other, IMAGE[r : r + 12, 9:29], r, 9, f"row {r}") for r in (5, 40)]
    found = compare(trials, ["nuv", NUV(bins=4)])
    assert [row["pair"] for row in found.of("nuv")] == ["row 5", "row 40"]
    assert all(row["found"] for row in found.rows)
    assert found.measures == ["nuv", "NUV(bins=4)"]
    wrong = compare([Trial(other, IMAGE[5:17, 9:29], 50, 9)], ["nuv"])
    assert not wrong.rows[0]["found"]


def test_files_are_read(tmp_path):
    for name, image in (("a.png", IMAGE), ("b.png", 255 - IMAGE)):
        write_picture(tmp_path / name, np.repeat(image[..., None], 3, axis=2))
    found = compare([(tmp_path / "a.png", str(tmp_path / "b.png"))], ["nuv_linear"], trials=2)
    assert [row["found"] for row in found.rows] == [True, True]
    assert found.rows[0]["pair"].endswith("a.png")


def test_a_measure_that_refuses_a_template_has_not_found_it():
    two_greys = (IMAGE > 128).astype(np.uint8) * 255
    found = compare([Trial(two_greys, two_greys[:9, :9], 0, 0)], ["nuv", NUV(bins=[0, 10, 20])])
    plain, refused = found.table()
    assert plain["refused"] == 0
    assert (refused["refused"], refused["rate"]) == (1, 0)


def test_a_roc_curve_is_of_what_trials_need():
    found = compare([(IMAGE, tones.Gamma(1, 3))], ["ssd"], trials=8, noise=0.3)
    wrong, right = found.roc("ssd")
    needs = [1 - row["auc"] for row in found.rows]
    for share in (0, 0.01, 0.1, 0.5):
        passing = right[wrong <= share].max(initial=0)
        assert passing == pytest.approx(np.mean(np.array(needs) <= share))
    assert (wrong[-1], right[-1]) == (1, 1)


def test_the_table_becomes_a_dataframe():
    frame = compare([(IMAGE, IMAGE)], ["ncc"], trials=2).to_dataframe()
    assert frame["rate"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("pairs", "measures", "options", "message"),
    [
        ([], ["nuv"], {}, "no pair"),
        (IMAGE, ["nuv"], {}, "sequence of pairs"),
        ([IMAGE], ["nuv"], {}, "a pair is a Trial, or two"),
        ([(IMAGE, IMAGE[1:])], ["nuv"], {}, "same place"),
        ([(IMAGE, IMAGE)], [], {}, "no measure"),
        ([(IMAGE, IMAGE)], ["nuv", "nuv"], {}, "nuv is there twice"),
        ([(IMAGE, IMAGE)], [3], {}, "3 is no measure"),
        ([(IMAGE, IMAGE)], ["nuvv"], {}, "nuvv"),
        ([(IMAGE, IMAGE)], ["nuv"], {"trials": 0}, "trials is 0"),
        ([(IMAGE, IMAGE)], ["nuv"], {"sides": [200]}, "200 pixels cannot be cut"),
        ([(IMAGE, IMAGE)], ["nuv"], {"noise": -1}, "noise is -1"),
        ([(np.ones((50, 50)),) * 2], ["nuv"], {}, "no template with contrast"),
        ([(IMAGE, IMAGE)], [lambda image, template: image], {}, "a map of shape"),
    ],
)
def test_what_cannot_be_compared_is_said(pairs, measures, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compare(pairs, measures, **options)
