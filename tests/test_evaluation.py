"""Measures compared on pairs of images: trials are right, and judged as by other libraries."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import ndimage

import nuvmatch
from nuvmatch import NUV, tones
from nuvmatch.evaluation import Comparison, Trial, compare, cut_trials, judge
from nuvmatch.evaluation.significance import holm, paired_difference
from nuvmatch.io import to_grey, write_picture

pytestmark = pytest.mark.compiled  # whole searches; other tests run their kernels as plain Python


def smooth(seed, shape=(90, 100)):
    greys = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), 1.5)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


IMAGE = smooth(0)
COLOURS = np.dstack([IMAGE, smooth(1), smooth(2)])


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
    scores = np.where(np.isnan(scores), math.inf, scores)
    truth = scores[6:9, 8:11].min()
    wrong, apart = [], []
    for row, col in np.ndindex(scores.shape):
        if max(abs(row - 7), abs(col - 9)) > 1:
            wrong.append(scores[row, col])
        if abs(row - 7) >= 5 or abs(col - 9) >= 6:
            apart.append(scores[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2].min())
    assert found.rank == 1 + sum(score <= truth for score in wrong)
    halves = [1 if score > truth else 0.5 if score == truth else 0 for score in apart]
    assert found.auc == pytest.approx(np.mean(halves))


def test_the_area_is_scikit_learns(rng):
    metrics = pytest.importorskip("sklearn.metrics")
    scores = rng.random((20, 30))
    rows, columns = np.indices(scores.shape)
    apart = scores[(abs(rows - 7) >= 5) | (abs(columns - 7) >= 5)]
    labels = np.append(np.zeros(apart.size), 1)
    expected = metrics.roc_auc_score(labels, -np.append(apart, scores[7, 7]))
    assert judge(scores, 7, 7, (5, 5), near=0).auc == pytest.approx(expected)


@pytest.mark.parametrize("near", [0, 1, 3])
def test_who_knows_nothing_has_the_area_of_chance(near, rng):
    areas = [judge(rng.random((60, 60)), 30, 30, (9, 9), near=near).auc for _ in range(400)]
    assert abs(np.mean(areas) - 0.5) < 4 * np.std(areas) / 20


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


# What counts

HOLED = np.ones(IMAGE.shape, bool)  # where a pixel counts
HOLED[:35], HOLED[60, 50] = False, False


def holed(hole, grey=IMAGE):
    """An image with no data above, and in one pixel: a grey of its type, or by alpha."""
    if hole == "alpha":
        return np.dstack([grey, np.where(HOLED, 255, 40).astype(np.uint8)])
    kind = {0: np.uint8, -9999: np.int16}.get(hole, np.float32)
    return np.where(HOLED, np.clip(grey.astype(float), 1, None), hole).astype(kind)


@pytest.mark.parametrize("hole", [-9999, 0, np.nan, np.inf, "alpha"])
def test_what_does_not_count_is_in_no_template_and_decides_about_none(hole, rng):
    """Of inverted greys NCC² is 0: it finds all, unless templates show the edge."""
    nodata = hole if hole in (-9999, 0) else None
    pair = holed(hole), holed(hole, 255 - IMAGE)
    for trial in cut_trials(pair, 30, 16, rng, nodata=nodata):
        assert HOLED[trial.row : trial.row + 16, trial.col : trial.col + 16].all()
        assert_array_equal(trial.image, pair[1])
    for kept in pair, pair[::-1]:
        (row,) = compare([kept], ["ncc2"], sides=16, nodata=nodata).table()
        assert (row["rate"], row["trials"], row["refused"]) == (1, 20, 0)


def test_a_place_counts_where_it_does_in_both_images(rng):
    left, right = IMAGE.astype(float), 255.0 - IMAGE
    left[:, :40], right[:, 80:] = np.nan, -1
    columns = [trial.col for trial in cut_trials((left, right), 60, 16, rng, nodata=-1)]
    assert (min(columns), max(columns)) == (40, 64)


def square(levels, rng):
    return levels**2


@pytest.mark.parametrize("noise", [0, 0.3])
@pytest.mark.parametrize("hole", [-9999, 0, np.nan, np.inf, "alpha"])
def test_what_does_not_count_stays_as_it_is_and_nothing_else_becomes_it(hole, noise, rng):
    image, nodata = holed(hole), hole if hole in (-9999, 0) else None

    def dark(levels, rng):
        return np.clip(levels - 0.3, 0, 1)  # black becomes 0

    (trial,) = cut_trials((image, dark), 1, 16, rng, noise=noise, nodata=nodata)
    assert_array_equal(trial.image[~HOLED], image[~HOLED])
    if hole == "alpha":
        assert_array_equal(trial.image[..., 1], image[..., 1])
    else:
        assert_array_equal(np.isfinite(trial.image) & (trial.image != hole), HOLED)


def test_floats_clipped_to_the_grey_of_no_data_are_data(rng):
    image = np.where(HOLED, IMAGE / 255 * 0.9 + 0.05, 0)
    pair = image, lambda levels, rng: np.clip(levels - 0.4, 0, 1)
    (trial,) = cut_trials(pair, 1, 16, rng, nodata=0)
    assert_array_equal(trial.image != 0, HOLED)
    np.testing.assert_allclose(trial.image, np.clip(image - 0.4, 0, 1), atol=1e-15)


def test_levels_and_noise_are_of_what_counts(rng):
    """Floats are levels themselves where those that count are inside [0, 1]."""
    image = np.where(HOLED, IMAGE / 255, -9999)
    (trial,) = cut_trials((image, square), 1, 16, rng, nodata=-9999)
    np.testing.assert_allclose(trial.image[HOLED], image[HOLED] ** 2, atol=1e-12)
    image = np.where(np.arange(200) < 50, -9999, rng.normal(size=(200, 200)) * 7)
    (trial,) = cut_trials((image, image), 1, 16, rng, noise=0.5, nodata=-9999)
    assert (trial.image - image)[:, 50:].std() == pytest.approx(3.5, rel=0.05)


def opaque(image):
    white = 1 if image.dtype.kind == "f" else 255
    return np.dstack([image, np.full(IMAGE.shape, white, image.dtype)])


@pytest.mark.parametrize("image", [COLOURS, IMAGE, COLOURS / 255, IMAGE.astype(np.int16)])
@pytest.mark.parametrize("noise", [0, 0.5])
def test_opaque_images_do_as_those_without_alpha(image, noise, rng):
    kept = ("found", "rank", "auc", "refused")
    rows = [
        [
            [row[key] for key in kept]
            for pair in ((one, one), (one, tones.Inverted(tones.Gamma(1, 3))))
            for row in compare([pair], ["nuv"], trials=4, noise=noise).rows
        ]
        for one in (image, opaque(image))
    ]
    assert rows[0] == rows[1]


def test_alpha_is_no_colour(rng):
    """It decides neither about the noise, nor whether an image is grey."""
    image = np.dstack([rng.normal(size=(200, 200)) * 7, np.ones((200, 200))])
    (trial,) = cut_trials((image, image), 1, 16, rng, noise=0.5)
    assert_array_equal(trial.image[..., 1], 1)
    assert (trial.image - image)[..., 0].std() == pytest.approx(3.5, rel=0.05)
    (trial,) = cut_trials((opaque(IMAGE), COLOURS), 1, 16, rng)
    assert_array_equal(trial.image, to_grey(COLOURS))


@pytest.mark.parametrize(
    "image",
    [IMAGE.astype(np.float16) * 256, IMAGE * 1e300, IMAGE > 128, IMAGE // 86],
    ids=["halves", "huge", "two", "three"],
)
def test_any_range_and_few_greys_have_contrast(image):
    """Squares of the first two overflow; the others have no more greys in any window."""
    for pair in (image, image), (image, tones.Gamma(1, 2)):
        (row,) = compare([pair], ["nuv"], trials=5, noise=0.05).table()
        assert (row["trials"], row["rate"]) == (5, 1)


def test_what_files_and_trials_say_is_none_is_heard(tmp_path):
    """Either file's tag is of both; what is given stands in its place."""
    tifffile = pytest.importorskip("tifffile")
    image, other = holed(-9999), holed(-9999, 255 - IMAGE)
    tag = {"extratags": [(42113, "s", 0, "-9999", True)]}
    tifffile.imwrite(tmp_path / "tagged.tif", image, **tag)
    tifffile.imwrite(tmp_path / "plain.tif", other)

    def rates(*pairs, **options):
        table = compare(pairs, ["ncc2"], sides=16, **options).table()
        return [row["rate"] for row in table]

    files = tmp_path / "tagged.tif", tmp_path / "plain.tif"
    assert rates(files) == rates(files[::-1]) == [1]
    assert rates(files, nodata=5)[0] < 0.5
    template = image[30:46, 20:36]  # a third of it is none
    own = Trial(other, template, 30, 20)
    assert rates(own) == [0]
    assert rates(own, nodata=-9999) == rates(replace(own, nodata=-9999), nodata=5) == [1]


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
    with pytest.warns(UserWarning, match=r"NUV\(.*\) has refused 1 of 1"):
        found = compare([Trial(two_greys, two_greys[:9, :9], 0, 0)], ["nuv", NUV(bins=[0, 10, 20])])
    plain, refused = found.table()
    assert plain["refused"] == 0
    assert (refused["refused"], refused["rate"], refused["auc"]) == (1, 0, 0.5)  # as chance


def test_a_roc_curve_is_of_what_trials_need():
    found = compare([(IMAGE, tones.Gamma(1, 3))], ["ssd"], trials=8, noise=0.3)
    wrong, right = found.roc("ssd")
    needs = [1 - row["auc"] for row in found.rows]
    for share in (0, 0.01, 0.1, 0.5):
        passing = right[wrong <= share].max(initial=0)
        assert passing == pytest.approx(np.mean(np.array(needs) <= share))
    assert (wrong[-1], right[-1]) == (1, 1)
    with pytest.raises(ValueError, match=r"measure is 'ncc'; it must be one of \['ssd'\]"):
        found.roc("ncc")


@pytest.mark.parametrize("offset", [2**62, -(2**63)])
def test_large_whole_numbers_are_compared_as_small_ones(offset):
    large = IMAGE.astype(np.int64) + offset
    for changed in (None, tones.Gamma(1, 3)):
        found, expected = (
            compare([(one, changed or one)], ["nuv", "ncc"], trials=3, sides=12, noise=0.2).table()
            for one in (large, IMAGE)
        )
        assert [row["rate"] for row in found] == [row["rate"] for row in expected] == [1, 1]


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
        ([(IMAGE, IMAGE)], ["nuv"], {"n_threads": 0}, "n_threads is 0"),
        ([(IMAGE, IMAGE)], ["nuv"], {"sides": [200]}, "200 pixels cannot be cut"),
        ([(IMAGE, IMAGE)], ["nuv"], {"sides": "24"}, "a side"),
        ([(IMAGE, IMAGE)], ["nuv"], {"sides": []}, "sides is"),
        ([(IMAGE, IMAGE)], ["nuv"], {"sides": [12, 12]}, "each once"),
        ([(IMAGE, IMAGE)], "nuv", {}, "measures is 'nuv'"),
        ([(IMAGE, IMAGE)], ["nuv"], {"noise": np.inf}, "noise is inf"),
        ({}, ["nuv"], {}, "no pair"),
        ([(IMAGE, lambda levels: levels)], ["nuv"], {}, r"as f\(levels, rng\): too many"),
        ([(IMAGE, IMAGE)], ["nuv"], {"noise": -1}, "noise is -1"),
        ([(np.ones((50, 50)),) * 2], ["nuv"], {}, "no template with contrast"),
        ([(IMAGE, IMAGE)], [lambda image, template: image], {}, "a map of shape"),
        ([(IMAGE, IMAGE)], ["nuv"], {"nodata": "none"}, "nodata is 'none'"),
        ([(IMAGE, IMAGE * np.nan)], ["nuv"], {}, "no template with contrast"),
        (
            [(IMAGE, lambda levels, rng: levels[:3])],
            ["nuv"],
            {},
            rf"\(3,\); over {np.unique(IMAGE).size} lev",
        ),
        ([(IMAGE, lambda levels, rng: levels * np.nan)], ["nuv"], {}, "curves with NaN"),
        ([(IMAGE, lambda levels, rng: None)], ["nuv"], {}, "a curve of tones is None"),
        ([Trial(IMAGE[:9], IMAGE[:20], 0, 0)], ["nuv"], {}, "^pair 0: the template .* is larger"),
        ([Trial(IMAGE, COLOURS, 0, 0, "a")], ["nuv"], {}, "^a: .*both must be grey or both colour"),
        ([Trial(None, IMAGE, 0, 0)], ["nuv"], {}, "the image of pair 0 is None"),
        ([Trial(IMAGE, IMAGE[:9], 82, 0)], ["nuv"], {}, r"a place of pair 0 is \(82, 0\)"),
        ([Trial(IMAGE, IMAGE[:9], 0, 0, nodata="0")], ["nuv"], {}, "nodata is '0'"),
    ],
)
def test_what_cannot_be_compared_is_said(pairs, measures, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compare(pairs, measures, **options)


# Names, and differences


def test_rows_are_told_apart_by_pair_trial_and_side():
    """Arrays have no names, trials may have one name, and one of two sides is once sought."""
    other = 255 - IMAGE
    own = Trial(other, IMAGE[5:17, 9:29], 5, 9)
    pairs = [(IMAGE, other), own, (IMAGE, tones.Gamma(1, 2)), own, replace(own, name="a")]
    pairs += [replace(own, name="a")]
    rows = compare(pairs, ["ncc"], trials=2, sides=(12, 16)).rows
    keys = [(row["pair"], row["side"], row["trial"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {
        *((f"pair {i}", side, k) for i in (0, 2) for side in (12, 16) for k in (0, 1)),
        ("pair 1", 12, 0), ("pair 3", 12, 0), ("a", 12, 0), ("a", 12, 1),
    }  # fmt: skip


def test_pairs_are_named_by_a_dict():
    pairs = {"bands": (IMAGE, 255 - IMAGE), "own": Trial(IMAGE, IMAGE[:12, :12], 0, 0, "other")}
    rows = compare(pairs, ["ncc2"], trials=1, sides=12).rows
    assert [row["pair"] for row in rows] == ["bands", "own"]


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [  # both, the first alone, the second alone, neither; and what is printed of them
        ((36, 12, 2, 0), 0.0569, 0.3404),  # Newcombe (1998): one hits where the other fails
        ((12, 9, 2, 21), 0.0112, 0.2954),  # the same: mostly both or neither
        ((1, 1, 7, 12), -0.507, -0.026),  # Fagerland et al. (2014), table V: hardly so
    ],
)
def test_intervals_of_paired_rates_are_those_in_print(table, low, high):
    first, second = (
        np.repeat(np.array(hits, bool), table) for hits in ([1, 1, 0, 0], [1, 0, 1, 0])
    )
    told = paired_difference(first, second)
    digits = len(str(abs(low))) - 2
    assert (round(told["low"], digits), round(told["high"], digits)) == (low, high)
    back = paired_difference(second, first)
    assert (back["low"], back["high"]) == pytest.approx((-told["high"], -told["low"]))


def test_rates_that_are_equal_or_perfect_have_an_interval_about_zero():
    """Of rates of 1 Wilson's interval is from 1/(1 + z²/n) to 1, and phi is 0."""
    every = np.ones(20, bool)
    told = paired_difference(every, every)
    reach = 1 - 1 / (1 + 1.959963984540054**2 / 20)
    assert told == {
        "difference": 0, "p": 1, "low": pytest.approx(-reach), "high": pytest.approx(reach),
    }  # fmt: skip


@pytest.mark.parametrize(("alone", "others"), [(0, 0), (1, 0), (5, 0), (3, 8), (7, 7), (2, 11)])
def test_the_p_value_counts_all_ways_to_divide_discordant_trials(alone, others):
    first = np.repeat([True, False, True, False], [4, 3, alone, others])
    second = np.repeat([True, False, False, True], [4, 3, alone, others])
    number = alone + others
    ways = [math.comb(number, k) for k in range(number + 1)]
    as_far = sum(w for k, w in enumerate(ways) if abs(2 * k - number) >= abs(alone - others))
    assert paired_difference(first, second)["p"] == pytest.approx(as_far / 2**number)


def test_holm_steps_down():
    """The worked example of a textbook: .01, .02, .03, .04 times 4, 3, 2, 1, never falling."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])


def made_up(**found):
    """Trials of measures by whether they are found, in two pairs."""
    return Comparison(
        tuple(
            {"pair": "ab"[i % 2], "trial": i // 2, "side": 9, "measure": name, "found": hit}
            for name, hits in found.items()
            for i, hit in enumerate(hits)
        )
    )


def test_measures_are_compared_over_the_same_trials():
    """8 trials that only one finds: p = 2 / 2**8; 3 of 5 that do: p = 1."""
    best = [True] * 12
    found = made_up(best=best, bad=[False] * 8 + [True] * 4, near=[True] * 12)
    backwards = Comparison(tuple(reversed(found.of("bad"))) + tuple(found.of("best")))
    for one in found, backwards:
        bad = next(row for row in one.differences("best") if row["measure"] == "bad")
        assert (bad["against"], bad["p"]) == ("best", 2 / 2**8)
        assert bad["difference"] == pytest.approx(-8 / 12)
        assert -1 <= bad["low"] < bad["difference"] < bad["high"] < 0
    bad, near = found.differences("best")
    assert (bad["p_holm"], near["p"], near["p_holm"]) == (4 / 2**8, 1, 1)
    assert made_up(best=best).differences("best") == []


def test_what_is_not_paired_is_not_compared():
    found = made_up(a=[True, False], b=[True])
    with pytest.raises(ValueError, match="the same trials"):
        found.differences("a")
    with pytest.raises(ValueError, match=r"against is 'c'; it must be one of \['a', 'b'\]"):
        found.differences("c")
    with pytest.raises(ValueError, match="of a a pair, trial and side are there twice"):
        Comparison(found.rows + found.rows).differences("a")


# What is said


def test_what_a_callable_refuses_is_said_once():
    def choosy(image, template):
        choosy.calls += 1
        if choosy.calls > 1:
            raise ValueError("unheard of")
        return nuvmatch.score_map(image, template, "ncc")

    choosy.calls = 0
    with pytest.warns(UserWarning, match="unheard of") as said:
        found = compare([(IMAGE, IMAGE)], ["ncc", choosy], trials=3)
    assert [str(one.message) for one in said] == [
        "choosy has refused 2 of 3 templates, which count as not found: unheard of"
    ]
    assert found.table()[1]["rate"] == 1 / 3


def test_a_similarity_is_noticed():
    def similarity(image, template):
        return 1 - nuvmatch.score_map(image, template, "ncc")

    with pytest.warns(UserWarning, match="similarity scores the right place worse.*1 - map"):
        compare([(IMAGE, IMAGE)], [similarity], trials=3)
    compare([(IMAGE, 255 - IMAGE)], ["ncc"], trials=3)  # as bad, and what it is


def test_a_grey_image_is_compared_with_the_luminance_of_one_in_colour():
    luminance = to_grey(COLOURS)
    kept = ("found", "rank", "auc")
    both = [
        [[row[key] for key in kept] for row in compare([pair], ["nuv"], trials=5).rows]
        for pair in ((IMAGE, COLOURS), (IMAGE, luminance))
    ]
    assert both[0] == both[1]


def test_a_map_without_evidence_finds_nothing():
    assert not judge(np.full((1, 1), np.nan), 0, 0, (8, 8)).found
