"""Numbers of false alarms as a user asks for them: of a matcher, and in one call."""

import math
import pickle
import runpy
import warnings
from pathlib import Path

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import ndimage

import nuvmatch
from nuvmatch import Matcher, Null, find_peaks, locate

pytestmark = pytest.mark.compiled  # of each template four maps

SAMPLES = Path(__file__).parent.parent / "samples"


def scene(rng, dtype=np.uint8, channels=None, size=(90, 110), noise=8):
    """Noise with a template at (40, 50), inverted and a little noisy."""
    shape = (*size, channels) if channels else size
    image = rng.integers(0, 256, shape)
    template = rng.integers(0, 250, (10, 11, *shape[2:]))
    image[40:50, 50:61] = np.clip(250 - template + rng.normal(0, noise, template.shape), 0, 255)
    if np.dtype(dtype).kind == "f":
        return (image / 255).astype(dtype), (template / 255).astype(dtype)
    scale = np.iinfo(dtype).max // 255
    return (image * scale).astype(dtype), (template * scale).astype(dtype)


def places(matches):
    return [(match.row, match.col) for match in matches]


def told(matches):
    return [match.false_alarms for match in matches]


def mirror_images(template):
    return template[:, ::-1], template[::-1], template[::-1, ::-1]


def lowest_of(maps, shape):
    return sorted(score for scores in maps for score, *_ in naive.lowest_places(scores, shape))


# Against the loops: what decoys show in the image itself.


@pytest.mark.parametrize("measure", ["nuv", "ncc2", "mi"])
@pytest.mark.parametrize("channels", [None, 3])
def test_false_alarms_are_what_mirror_images_show(measure, channels, rng):
    """In images so small that all of it is searched for each of them."""
    negatives = [rng.integers(0, 256, (45, 52, 3)[: 3 if channels else 2]) for _ in range(2)]
    image, template = scene(rng, channels=channels)
    matcher = Matcher(template, measure, dtype=float)
    null = matcher.calibrate(*negatives)
    maps = [
        nuvmatch.score_map(one, decoy, measure, dtype=float, fill_value=np.nan)
        for one in negatives
        for decoy in mirror_images(template)
    ]
    lowest, learnt = lowest_of(maps, (10, 11)), sum(one.size for one in maps)
    size = max(30, int(learnt / 66 / 50))
    found = matcher.locate(image, null=null, max_matches=20)
    assert found[0].false_alarms < 1e-3
    expected = [
        naive.false_alarms(score, lowest, learnt, 81 * 100, (10, 11)) for score in found.scores
    ]
    # More than twice the tail need not be kept: only so few count as shown.
    kept = [told < 81 * 100 * size / learnt for told in expected]
    assert any(kept[1:])
    for match, number, counts in zip(found, expected, kept, strict=True):
        if counts:
            assert match.false_alarms == pytest.approx(number, rel=1e-6)


@pytest.mark.parametrize("measure", ["nuv", "ncc2", "nuv_monotone", "nmi", "ssd"])
def test_what_a_null_says_of_scores_matches_say(measure, rng):
    image, template = scene(rng)
    matcher = Matcher(template, measure)
    null = matcher.calibrate(image)
    assert (null.shape, null.measure) == ((10, 11), measure)
    found = matcher.locate(image, null=null, false_alarms=math.inf)
    assert told(found) == pytest.approx(null.false_alarms(found.scores, 81 * 100))
    assert found.scores.tolist() == matcher.locate(image, threshold=math.inf).scores.tolist()
    passing = matcher.locate(image, null=null, false_alarms=2.5)
    assert list(passing) == [match for match in found if match.false_alarms <= 2.5]
    peaks = find_peaks(
        matcher.score_map(image, fill_value=np.nan), matcher.shape, false_alarms=2.5,
        null=Null.from_maps([matcher.score_map(image)], (10, 11)),
    )  # fmt: skip
    assert all(match.false_alarms <= 2.5 for match in peaks)


# What comes of each way to ask.


def test_what_is_not_asked_for_costs_nothing(rng, monkeypatch):
    image, template = scene(rng)
    matcher = Matcher(template)

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(type(matcher._template), "mirror_images", refuse)
    for options in ({}, {"threshold": 0.9}, {"max_matches": 3}):
        assert set(told(matcher.locate(image, **options))) == {None}
        assert set(told(locate(image, template, **options))) == {None}


def test_limits_combine(rng):
    image, template = scene(rng)
    matcher = Matcher(template)
    everything = matcher.locate(image, false_alarms=math.inf)
    assert len(everything) > 20
    assert math.inf not in told(everything)
    for most in (0.0, 1e-3, 1.0, 10.0):
        found = matcher.locate(image, false_alarms=most)
        assert list(found) == [match for match in everything if match.false_alarms <= most]
        assert found == locate(image, template, false_alarms=most)
        limit = everything[3].score
        below = matcher.locate(image, false_alarms=most, threshold=limit)
        assert list(below) == [match for match in found if match.score <= limit]
        assert matcher.locate(image, false_alarms=most, max_matches=2) == found[:2]
    apart = matcher.locate(image, false_alarms=math.inf, min_distance=40)
    assert apart[0] == everything[0]
    assert len(apart) < len(everything)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("measure", ["nuv", "ncc2", "nuv_adaptive"])
def test_a_place_is_found_in_images_of_any_kind(measure, channels, dtype, rng):
    image, template = scene(rng, dtype, channels)
    found = locate(image, template, measure, false_alarms=1e-3)
    assert places(found) == [(40, 50)]
    assert found[0].margin > 0


def test_what_does_not_count_is_not_searched(rng):
    """By mask and image_mask as by alpha and nodata; decoys are masked as the template."""
    image, template = scene(rng)
    mask, image_mask = rng.random(template.shape) < 0.8, np.ones(image.shape, np.uint8)
    image_mask[60:, 70:] = 0
    by_masks = locate(image, template, mask=mask, image_mask=image_mask, false_alarms=math.inf)
    by_alpha = locate(
        np.dstack([image, 255 * image_mask]),
        np.dstack([template, (255 * mask).astype(np.uint8)]),
        false_alarms=math.inf,
    )
    assert by_alpha == by_masks
    image, template = image.astype(float), template.astype(float)
    by_masks = locate(image, template, mask=mask, image_mask=image_mask, false_alarms=math.inf)
    image[image_mask == 0] = template[~mask] = -9
    by_nodata = locate(image, template, nodata=-9, false_alarms=math.inf)
    assert by_nodata == by_masks
    image[image_mask == 0] = np.nan
    template[~mask] = np.nan
    assert locate(image, template, false_alarms=math.inf) == by_masks
    matcher = Matcher(template, mask=mask)
    windows = naive.map_shape(image, template.shape)
    searched = np.count_nonzero(~np.isnan(matcher.score_map(image, fill_value=np.nan)))
    assert searched < windows[0] * windows[1]
    null = matcher.calibrate(image)
    (match,) = matcher.locate(image, null=null)
    assert match.false_alarms == pytest.approx(null.false_alarms(match.score, searched))
    assert (match.row, match.col) == (40, 50)


def test_a_small_region_learns_from_around_it(rng):
    image, template = scene(rng, size=(150, 160))
    matcher, region = Matcher(template), (30, 42, 30, 31)
    (match,) = matcher.locate(image, region=region, false_alarms=1e-3)
    assert (match.row, match.col) == (40, 50)
    null = matcher.calibrate(image)
    (known,) = matcher.locate(image, region=region, null=null)
    assert known.false_alarms == pytest.approx(null.false_alarms(match.score, 21 * 21))
    whole = matcher.locate(image, null=null)[0]
    assert known.false_alarms == pytest.approx(whole.false_alarms * 21 * 21 / (141 * 150))
    tiny = matcher.locate(image, region=match.region, false_alarms=math.inf)
    assert places(tiny) == [(40, 50)]
    assert tiny[0].false_alarms < 1e-3
    assert (tiny[0].margin, tiny[0].on_edge) == (None, False)
    elsewhere = matcher.locate(image, region=(90, 100, 30, 31), false_alarms=1e-3)
    assert not elsewhere


# Templates that are like their mirror images.


def symmetric(rng, *axes):
    part = rng.integers(0, 256, (12, 12)).astype(np.uint8)
    for axis in axes:
        half = np.take(part, range(6), axis)
        part = np.concatenate([half, np.flip(half, axis)], axis)
    return part


def warnings_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    assert {one.filename for one in caught} <= {__file__}
    return found, [str(one.message) for one in caught]


def test_a_template_equal_to_its_mirror_images_is_told_by_shifts_of_it(rng):
    """By half and a quarter of its size, what leaves it coming in again."""
    template = symmetric(rng, 0, 1)
    image = rng.integers(0, 256, (90, 100)).astype(np.uint8)
    image[20:32, 30:42] = 255 - template
    matcher = Matcher(template, "ncc2", dtype=float)
    assert places(matcher.locate(image, false_alarms=1e-3)) == [(20, 30)]
    negative = rng.integers(0, 256, (80, 90)).astype(np.uint8)
    null = matcher.calibrate(negative)
    maps = [
        nuvmatch.score_map(negative, np.roll(template, by, (0, 1)), "ncc2", dtype=float)
        for by in ((6, 3), (3, 6), (-3, 6))
    ]
    lowest, learnt = lowest_of(maps, (12, 12)), sum(one.size for one in maps)
    for low in (0.8 * lowest[0], lowest[3], lowest[20]):
        expected = naive.false_alarms(low, lowest, learnt, 1000, (12, 12))
        assert null.false_alarms(low, 1000) == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["nuv", "ncc2", "auto"])
@pytest.mark.parametrize("change", ["none", "one pixel", "off the middle", "noise"])
def test_many_copies_of_what_is_nearly_symmetric_are_kept(measure, change, rng):
    """As cells are, and drawn parts: decoys that are like them would find them all."""
    cell = 100 * (np.hypot(*(np.indices((21, 21)) - 10)) < 7)
    image = rng.normal(0, 10, (220, 260))
    true = [(12 + 40 * i, 15 + 40 * j) for i in range(5) for j in range(6)]
    for row, col in true:
        image[row : row + 21, col : col + 21] += cell
    template, at = cell.copy(), 0
    if change == "one pixel":
        template[3, 3] += 1
    elif change != "none":
        at = 2 if change == "off the middle" else 0
        template = image[12 + at : 33 + at, 15:36]
    found = locate(image, template, measure, false_alarms=0.01)
    assert [(row - at, col) for row, col in sorted(places(found))] == true


def check_warned(matcher, image, place):
    """Once for each question; with a null, or without a question, there is nothing to say."""
    best, said = warnings_of(lambda: matcher.locate(image, false_alarms=1e-3))
    assert len(said) == 1
    assert "lowest scores of the image itself" in said[0]
    assert places(best) == [place]
    assert warnings_of(lambda: matcher.locate(image))[1] == []
    null, said = warnings_of(lambda: matcher.calibrate(image))
    assert len(said) == 1
    found, said = warnings_of(lambda: matcher.locate(image, null=null, false_alarms=1e-3))
    assert said == []
    assert told(found) == told(best)


def test_what_equals_its_shifts_too_is_told_by_the_images_own_minima(rng):
    template = np.tile(np.array([0, 200, 0] * 4, np.uint8), (12, 1))
    image = rng.integers(0, 256, (90, 100)).astype(np.uint8)
    image[20:32, 30:42] = 255 - template
    matcher = Matcher(template, "ncc2", dtype=float)
    check_warned(matcher, image, (20, 30))
    found, _ = warnings_of(lambda: matcher.locate(image, false_alarms=math.inf))
    scores = matcher.score_map(image, fill_value=np.nan)
    lowest = lowest_of([scores], (12, 12))
    assert found.scores.tolist() == lowest
    expected = [
        naive.false_alarms(score, lowest, scores.size, scores.size, (12, 12), own=True)
        for score in lowest
    ]
    assert told(found) == pytest.approx(expected)


@pytest.mark.parametrize("axes", [[0], [1]])
def test_of_a_template_equal_to_one_mirror_image_the_others_are_decoys(axes, rng):
    template = symmetric(rng, *axes)
    image = rng.integers(0, 256, (110, 120)).astype(np.uint8)
    image[20:32, 30:42] = template
    matcher = Matcher(template, "ncc2", dtype=float)
    found, said = warnings_of(lambda: matcher.locate(image, false_alarms=1e-3))
    assert said == []
    assert places(found) == [(20, 30)]
    other = np.flip(template, 1 - axes[0])
    negative = rng.integers(0, 256, (100, 110)).astype(np.uint8)
    null = matcher.calibrate(negative)
    scores = nuvmatch.score_map(negative, other, "ncc2", dtype=float)
    lowest = lowest_of([scores], (12, 12))
    low = lowest[5] * 0.9
    expected = naive.false_alarms(low, lowest, scores.size, 1000, (12, 12))
    assert null.false_alarms(low, 1000) == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["nuv", "ncc2", "auto"])
def test_what_a_mirror_image_shows_where_the_template_is_does_not_count(measure, rng):
    """Nearly equal to them it is found by them, too, wherever it is."""
    template = symmetric(rng, 0, 1) // 12 * 10 + rng.integers(0, 25, (12, 12)).astype(np.uint8)
    image = rng.integers(0, 256, (160, 180)).astype(np.uint8)
    true = [(10 + 30 * k, 20 + 25 * k) for k in range(5)]
    for row, col in true:
        image[row : row + 12, col : col + 12] = template
    found = locate(image, template, measure, false_alarms=0.01)
    assert sorted(places(found)) == true


@pytest.mark.parametrize("measure", ["nuv", "ncc2", "auto"])
def test_a_copy_is_told_where_the_image_repeats_itself(measure, rng):
    """As forms and tables do: the lowest scores of chance are many times the same few."""
    line = rng.integers(0, 2, (14, 90)) * rng.integers(0, 2, (14, 1)) * 180
    image = np.full((400, 300), 240)
    for row in range(10, 350, 24):
        image[row : row + 14, 10:280] -= np.tile(line, 3)
    template = 240 - 200 * (np.hypot(*(np.indices((18, 20)) - [[[9]], [[10]]])) < 8)
    template[2:16, 4:7] = 240
    image[370:388, 200:220] = template
    (found,) = locate(image.astype(np.uint8), template.astype(np.uint8), measure, false_alarms=0.01)
    assert (found.row, found.col) == (370, 200)


# Where nothing can be told.


def test_decoys_that_match_leave_everything_open(rng):
    """By nUV what shows less than the template of so few greys scores 0, too."""
    image, template = scene(rng, noise=0)
    few = 100 * (template // 100)
    image[40:50, 50:61] = 250 - few
    for k, decoy in enumerate(mirror_images(few)):
        image[5:15, 5 + 20 * k : 16 + 20 * k] = decoy
    matcher = Matcher(few, "nuv")
    for most, expected in ((1e6, set()), (math.inf, {math.inf})):
        found, said = warnings_of(lambda most=most: matcher.locate(image, false_alarms=most))
        assert len(said) == 1
        assert "nuv cannot decide" in said[0]
        assert set(told(found)) == expected
    assert (40, 50) in places(found)[:4]
    # NCC is 1 of the pattern alone.
    (only,) = locate(image, few, "ncc2", false_alarms=1e-6)
    assert (only.row, only.col) == (40, 50)


def test_few_places_are_too_few(rng):
    image, template = scene(rng)
    small = image[30:60, 40:70]
    found, said = warnings_of(lambda: locate(small, template, false_alarms=math.inf))
    assert len(said) == 1
    assert "false alarms cannot be told" in said[0]
    assert places(found)[0] == (10, 10)
    assert set(told(found)) == {math.inf}
    assert not warnings_of(lambda: locate(small, template, false_alarms=1e9))[0]
    matcher = Matcher(template)
    null = matcher.calibrate(image)
    assert places(matcher.locate(small, null=null, false_alarms=1e-3)) == [(10, 10)]
    with pytest.warns(UserWarning, match="cannot be told"):
        matcher.calibrate(small)


# A null for many.


def test_one_null_serves_a_series(rng):
    image, template = scene(rng)
    frames = [rng.integers(0, 256, image.shape).astype(np.uint8) for _ in range(3)]
    for k, frame in enumerate(frames[1:], 1):
        frame[9 * k : 9 * k + 10, 7 * k : 7 * k + 11] = 250 - template
    matcher = Matcher(template)
    null = matcher.calibrate(*frames)
    again = pickle.loads(pickle.dumps(null))
    for one in (null, again):
        found = [matcher.locate(frame, null=one, false_alarms=1e-3) for frame in frames]
        assert [places(matches) for matches in found] == [[], [(9, 7)], [(18, 14)]]
    assert again.false_alarms(0.5) == null.false_alarms(0.5)
    # Of one image each, unless it is said of how many windows.
    assert null.windows == matcher.calibrate(frames[0]).windows == 81 * 100
    assert null.false_alarms(0.8, 8100) == null.false_alarms(0.8)
    left = np.arange(110) < 60 * np.ones((90, 1))
    assert matcher.calibrate(*frames, image_mask=left).windows == 81 * 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda image, _, null: Matcher(image[:10, :12]).locate(image, null=null),
         r"\(10, 11\).*\(10, 12\)"),
        (lambda image, template, null: locate(image, template, "ncc2", null=null),
         "of nuv, what is searched of ncc2"),
        (lambda image, template, _: Matcher(template).calibrate(), "none"),
        (lambda image, template, _: Matcher(template).calibrate(image[:5]), "larger than"),
        (lambda image, template, _: locate(image, template, false_alarms=-0.5), "false_alarms is"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(call, message, rng):
    image, template = scene(rng)
    null = Matcher(template).calibrate(image)
    with pytest.raises(ValueError, match=message):
        call(image, template, null)


def test_a_null_of_maps_from_anywhere_serves_every_measure(rng):
    image, template = scene(rng)
    null = Null.from_maps([nuvmatch.score_map(image, template[::-1])], template.shape)
    for measure in ("nuv", "nuv_adaptive"):
        assert places(locate(image, template, measure, null=null, false_alarms=0.1)) == [(40, 50)]


def test_a_measure_of_ones_own_is_told_of_too(rng):
    own = runpy.run_path(str(SAMPLES / "own_measure.py"))["MeanDifference"]()
    image, template = scene(rng)
    image[40:50, 50:61] = np.clip(template + rng.normal(0, 8, template.shape), 0, 255)
    found = locate(image, template, own, false_alarms=1e-3)
    assert places(found) == [(40, 50)]
    assert found[0].measure == "MeanDifference()"
    null = Matcher(template, own).calibrate(image)
    assert null.measure == "MeanDifference()"
    with pytest.raises(ValueError, match=r"MeanDifference\(\).*nuv"):
        locate(image, template, null=null)


def test_threads_change_nothing_and_the_image_is_left_alone(rng):
    image, template = scene(rng, np.float64)
    copies = image.copy(), template.copy()
    found = [locate(image, template, false_alarms=math.inf, n_threads=n) for n in (1, 2, 5)]
    assert found[1:] == found[:1] * 2
    assert_array_equal(image, copies[0])
    assert_array_equal(template, copies[1])
    matcher = Matcher(template)
    assert pickle.loads(pickle.dumps(matcher)).locate(image, false_alarms=math.inf) == found[0]


# What the numbers promise.


@pytest.mark.parametrize("measure", ["nuv", "ncc2"])
def test_noise_shows_as_many_matches_as_told(measure, rng):
    numbers, strict = [], []
    for _ in range(40):
        image = rng.integers(0, 256, (120, 120)).astype(np.uint8)
        template = rng.integers(0, 256, (9, 10)).astype(np.uint8)
        found = locate(image, template, measure, false_alarms=1)
        numbers.append(len(found))
        strict.append(sum(match.false_alarms <= 0.01 for match in found))
    assert 0.5 <= np.mean(numbers) <= 2
    assert sum(strict) <= 3


@pytest.mark.parametrize("measure", ["nuv", "ncc2"])
def test_a_planted_truth_is_sure(measure, rng):
    for _ in range(10):
        image, template = scene(rng, noise=20)
        match = locate(image, template, measure, false_alarms=1e-3)[0]
        assert (match.row, match.col) == (40, 50)


@pytest.mark.parametrize("size", [(240, 320), (180, 170)])
@pytest.mark.parametrize("measure", ["nuv", "ncc", "auto"])
def test_what_is_there_is_claimed_beside_its_mirror_image(measure, size, rng):
    """The arrow back beside the arrow, the other eye: they are no chance."""
    ground = ndimage.gaussian_filter(rng.normal(size=size), 2)
    arrow = np.rint(ndimage.gaussian_filter(rng.normal(size=(24, 32)), 2) * 600)
    image = np.rint(ground * 500)
    image[150:174, 20:52] = arrow[:, ::-1]
    with warnings.catch_warnings(action="ignore"):  # decoys may score 0
        assert not places(locate(image, arrow, measure, false_alarms=1e-3))
    image[80:104, 60:92] = arrow
    assert places(locate(image, arrow, measure, false_alarms=1e-6)) == [(80, 60)]
    back = locate(image, arrow[:, ::-1].copy(), measure, false_alarms=1e-6)
    assert places(back) == [(150, 20)]
