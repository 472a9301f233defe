"""Floats that are whole numbers in disguise are found, and no others."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SINGLE_TOLERANCE, TOLERANCE, noise_scene, reference

import nuvmatch
from nuvmatch import NUV, Matcher
from nuvmatch.engine import find_lattice, prepare
from nuvmatch.engine.lattices import count_steps

PHOTO = np.clip(np.add.outer(np.arange(60) * 3, np.arange(80)) + 7, 0, 255)
SCREEN = np.array([0, 24, 30, 31, 200, 255])[np.add.outer(np.arange(60), np.arange(80) // 7) % 6]
TELESCOPE = PHOTO * 200 + np.arange(80) % 7

DISGUISES = {
    "shares of white": (PHOTO, lambda k: k / 255),
    "by a factor": (PHOTO, lambda k: k * (1 / 255)),
    "shares of the brightest": (PHOTO, lambda k: k / k.max()),
    "between 0 and 1": (PHOTO, lambda k: (k - k.min()) / (k.max() - k.min())),
    "between -1 and 1": (PHOTO, lambda k: k / 127.5 - 1),
    "standardised": (PHOTO, lambda k: (k - k.mean()) / k.std()),
    "as they are": (PHOTO, lambda k: k * 1.0),
    "below 0": (PHOTO, lambda k: -2.5 * k - 9),
    "shares of 256": (PHOTO, lambda k: k / 256),
    "few colours": (SCREEN, lambda k: k / 255),
    "two colours": (SCREEN > 24, lambda k: k * 0.7),
    "16 bits": (TELESCOPE, lambda k: k / 65535),
    "16 bits between 0 and 1": (TELESCOPE, lambda k: (k - k.min()) / (k.max() - k.min())),
    "degrees": (PHOTO, lambda k: 21.5 + 0.5 * k),
}


def lattice_of(greys, bad=None):
    good = greys if bad is None else greys[:, ~bad]
    return find_lattice(greys, bad, float(good.min()), float(good.max()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4"])
@pytest.mark.parametrize("name", DISGUISES)
def test_whole_numbers_are_seen_through_their_disguise(name, dtype):
    numbers, disguise = DISGUISES[name]
    greys = disguise(numbers.astype(dtype)).astype(dtype)
    found = lattice_of(greys[None])
    steps = numbers.astype(int) - numbers.min()
    if greys[0, 0] > greys[-1, -1]:
        steps = steps.max() - steps
    steps //= np.gcd.reduce(np.unique(steps))
    assert found.spacing.number == steps.max()
    assert_array_equal(found.steps[0], steps)
    assert found.steps.dtype == (np.uint8 if steps.max() < 256 else np.uint16)
    assert found.spacing.length * found.spacing.number == pytest.approx(np.ptp(greys.astype(float)))
    exact = name in ("as they are", "below 0", "shares of 256", "degrees", "two colours")
    assert found.spacing.double == (exact or np.dtype(dtype).itemsize == 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_on_no_lattice_is_refused(dtype, rng):
    share = (PHOTO / 255).astype(dtype)
    last, late = share.copy(), share.copy()
    last[-1, -1] += 1e-4
    late[40:] += rng.uniform(-1e-4, 1e-4, late[40:].shape)
    refused = {
        "noise": rng.random((60, 80)),
        "half of it": np.where(np.arange(80) < 40, share, rng.random((60, 80))),
        "one pixel": last,
        "nearly": late,
        "flat": np.full((60, 80), 0.3),
        "too many steps": np.arange(70_000.0).reshape(70, 1000),
        "nodata": np.where(share > 0.9, -9999, share),
        "gamma": share**0.7,
        "too many digits lost": (273.15 + 1e-10 * PHOTO) if dtype == np.float64 else 273.15 + share,
        "two greys of one step": np.where(np.arange(80) == 40, np.nextafter(share, 2), share),
        "too small": share * 1e-300 if dtype == np.float64 else share**9,
    }
    for name, greys in refused.items():
        assert lattice_of(greys.astype(dtype)[None]) is None, name


@pytest.mark.parametrize("number", [3, 4, 5, 9])
def test_few_greys_are_on_no_lattice_by_chance(number):
    """Of three numbers two gaps are always some multiples of a short one, but for 1e-7."""
    found = 0
    for seed in range(300):
        greys = np.random.default_rng(seed).random((1, 1, number), np.float32)
        found += lattice_of(greys) is not None
    assert found <= 30  # a tenth


def test_what_does_not_count_is_on_any_lattice():
    greys = (PHOTO / 255).astype(np.float32)
    bad = np.zeros(greys.shape, np.bool_)
    bad[3, 4:9] = bad[50, 2] = True
    greys[bad] = [np.nan, np.inf, -np.inf, -9999, 0.12345, 1e30]
    found = lattice_of(greys[None], bad)
    assert_array_equal(found.steps[0][~bad], (PHOTO - PHOTO.min())[~bad])
    assert (found.steps[0][bad] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("one_grey", [True, False])
def test_steps_are_counted_as_by_the_loop(one_grey, dtype, rng):
    greys = (1.03 * rng.integers(0, 99, (4, 50))).astype(dtype)
    greys[2, 3], greys[3, 5] = greys[1, 3], greys[1, 3] + (0 if one_grey else 1e-3)
    steps = np.zeros(greys.shape, np.uint16)
    low = float(greys.min())
    found = count_steps(greys, low, 0.97, np.full(200, np.nan), steps)
    expected, same = naive.lattice(greys.ravel(), low, 0.97)
    assert found == same == one_grey
    if same:
        assert_array_equal(steps.ravel(), expected)


HIDDEN = [
    (np.float32, 1e6, 0.4),
    (np.float32, 3e38, 1),
    (np.float64, 1e20, 1),
    (np.float16, 1, 0.0038),
]


@pytest.mark.compiled
@pytest.mark.parametrize(("dtype", "bright", "contrast"), HIDDEN)
@pytest.mark.parametrize("measure", ["nuv", "nuv_adaptive", "ncc2"])
def test_contrast_that_is_small_beside_one_grey_is_not_rounded_away(
    measure, dtype, bright, contrast, rng
):
    """Of a hot pixel, two colours or a fill value, and of a template that a sample overlooks."""
    image = np.zeros((300, 500), dtype)
    image[5, 7] = bright
    template = (rng.random((6, 7)) * contrast).astype(dtype)
    image[151:157, 301:308] = template
    matcher = Matcher(template, measure)
    alone = matcher.score_map(image[140:170, 290:320])
    found = matcher.score_map(image, fill_value=np.nan)
    assert_allclose(found[151, 301], alone[11, 11], atol=SINGLE_TOLERANCE)
    match = matcher.locate(image)[0]
    assert (match.row, match.col) == (151, 301)


OFFSETS = {
    "degrees": (np.float32, lambda k: 273.15 + 0.1 * k),
    "more": (np.float32, lambda k: 1e4 + 0.1 * k),
    "half precision": (np.float16, lambda k: k / 9),
    "double": (np.float64, lambda k: 1e6 + 1e-3 * k),
    "little": (np.float64, lambda k: 273.15 + 1e-9 * k),
}


@pytest.mark.parametrize("measure", ["nuv", "ncc"])
@pytest.mark.parametrize("name", OFFSETS)
def test_where_an_offset_has_cost_digits_greys_are_what_they_are(measure, name, rng):
    dtype, disguise = OFFSETS[name]
    image = disguise(rng.integers(0, 10, (40, 50))).astype(dtype)
    template = image[3:8, 26:31]
    kind = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    found = Matcher(template, measure, dtype=kind).score_map(image)
    limit = TOLERANCE if kind == np.float64 else SINGLE_TOLERANCE
    assert_allclose(found, reference(image.astype(float), template, measure), atol=limit)


MEASURES = ["nuv", "nuv_linear", "nuv_monotone", "nuv_curves", "nuv_adaptive", "ncc", "ncc2"]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("disguise", ["shares of white", "between 0 and 1", "standardised"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maps_are_those_of_the_whole_numbers_to_the_last_bit(measure, disguise, dtype, rng):
    scene, template = noise_scene(rng, (40, 60), (9, 8), np.uint8)
    disguised = DISGUISES[disguise][1](scene.astype(dtype)).astype(dtype)
    map_type = np.dtype(dtype)
    bins = {} if measure.startswith("ncc") else {"bins": Matcher(template, measure).bins[0].edges}
    as_measure = measure if not bins else type(Matcher(template, measure).measure)(**bins)
    matcher = Matcher(template, as_measure, dtype=map_type)
    assert_array_equal(matcher.score_map(disguised), matcher.score_map(scene))
    # Of both in disguise, with bins at the same places.
    own = (template / 255).astype(dtype)
    if measure in ("nuv", "ncc", "ncc2"):
        whole = Matcher(template, measure, dtype=map_type).score_map(scene)
        found = Matcher(own, measure, dtype=map_type).score_map(disguised)
        assert_array_equal(found, whole)


@pytest.mark.parametrize("measure", ["nuv", "ncc"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pixels_that_do_not_count_leave_the_others_on_their_lattice(measure, dtype, rng):
    scene, template = noise_scene(rng, (40, 60), (9, 8), np.uint8)
    share = (scene / 255).astype(dtype)
    counts = np.ones(scene.shape, np.bool_)
    counts[20, 30] = counts[3, 50] = False
    share[~counts] = np.nan, -9999
    matcher = Matcher(template, measure, nodata=-9999, dtype=dtype)
    assert_array_equal(matcher.score_map(share), matcher.score_map(scene, image_mask=counts))


@pytest.mark.parametrize("measure", ["nuv", "ncc"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_grey_beside_the_lattice_counts_for_what_it_is(measure, dtype, rng):
    scene, template = noise_scene(rng, (24, 30), (6, 7), np.uint8)
    for odd in (-9999.0, 0.3141592, 1 / 255 + 3e-5):
        share = (scene / 255).astype(dtype)
        share[12, 15] = odd
        found = Matcher(template, measure, dtype=dtype).score_map(share)
        limit = TOLERANCE if dtype == np.float64 else SINGLE_TOLERANCE
        assert_allclose(found, reference(share.astype(float), template, measure), atol=limit)


def test_a_float64_map_of_a_float32_image_is_that_of_its_floats(rng):
    scene, template = noise_scene(rng, (24, 30), (6, 7), np.uint8)
    share = (scene / 255).astype(np.float32)
    for measure in ("nuv", "ncc"):
        found = nuvmatch.score_map(share, template, measure, dtype=np.float64)
        expected = reference(share.astype(float), template, measure)
        assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
        assert found.dtype == np.float64


def test_limits_of_the_gain_are_those_of_the_greys(rng):
    scene, template = noise_scene(rng, (40, 60), (9, 8), np.uint8)
    share, own = scene / 255 * 0.5, template / 255
    for limits in ((0.2, 0.6), (0.4, 0.55), (-0.6, -0.1)):
        in_steps = Matcher(own, NUV(gain=limits)).score_map(share, fill_value=np.nan)
        by_numbers = NUV(gain=tuple(2 * limit for limit in limits))
        expected = Matcher(template, by_numbers).score_map(scene, fill_value=np.nan)
        assert_array_equal(np.isnan(in_steps), np.isnan(expected))
        assert 0 < np.count_nonzero(np.isnan(expected)) <= expected.size


def test_a_part_of_an_image_is_on_the_lattice_of_the_whole(rng):
    scene = rng.integers(0, 255, (50, 70))
    image = prepare((scene / 255)[None], None, 12).crop(10, 20, 30, 40)
    steps = image.in_steps(12, np.dtype(np.float64))
    assert steps.form is np.uint8
    assert_array_equal(steps.planes[0], scene[10:40, 20:60] - scene.min())
    again = steps.crop(3, 4, 5, 6)
    assert_array_equal(again.planes[0], scene[13:18, 24:30] - scene.min())


def test_what_is_resampled_is_on_no_lattice(rng):
    image = prepare((rng.integers(0, 255, (50, 70)) / 255)[None], None, 12)
    made = image.resampled(image.planes[:, :20, :20] * 0.5)
    assert made.in_steps(12, np.dtype(np.float64)) is made
    assert made.around(10**6, (3, 4)) is made
    assert made.crop(1, 2, 5, 5).place is None


def test_windows_too_large_for_whole_numbers_are_summed_in_floats():
    image = prepare((TELESCOPE / 65535)[None], None, 12)
    assert image.in_steps(12, np.dtype(np.float64)).form is np.int32
    assert image.in_steps(2**24, np.dtype(np.float64)) is image
