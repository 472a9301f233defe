"""Score maps of every measure against the loops, against other libraries, and by their nature."""

from dataclasses import replace

import cv2
import naive
import numpy as np
import pytest
import scipy.stats
import skimage.feature
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from patterns import TROUBLES, levels

import nuvmatch
from nuvmatch.engine import sums
from nuvmatch.engine.additions import LANES

SHAPES = [
    ((1, 3), (1, 3)),
    ((3, 1), (3, 1)),
    ((1, 12), (1, 5)),
    ((12, 1), (5, 1)),
    ((9, 9), (9, 9)),
    ((10, 14), (2, 2)),
    ((13, 11), (3, 7)),
    ((17, 18), (8, 7)),
    ((20, 21), (16, 16)),
]
TYPES = [np.uint8, np.int8, np.uint16, np.int32, np.float32, np.float64]
TOLERANCE = 1e-9  # of float64 maps


def reference(image, template, measure, mask=None, matcher=None):
    match measure:
        case "nuv":
            return naive.nuv_map(image, matcher.labels)
        case "ncc":
            return naive.ncc_map(image, template, mask)
        case "ncc2":
            return 1 - (1 - naive.ncc_map(image, template, mask)) ** 2
        case "ssd":
            return naive.ssd_map(image, template, mask)
        case "mi" | "nmi":
            by = "template" if measure == "mi" else "window"
            low, high = image.min(), image.max()
            if image.dtype.itemsize == 1:
                low, high = np.iinfo(image.dtype).min, np.iinfo(image.dtype).max
            return naive.mutual_information_map(image, matcher.labels, 8, (low, high), by)


def scene(rng, image, window, dtype):
    """An image with a plateau and a template that is not flat."""
    low, high = (0, 100) if np.dtype(dtype).kind in "ui" else (-1, 1)
    pixels = rng.integers(low * 50, high * 50, image) / (1 if high == 100 else 50)
    pixels = (pixels / 50).astype(dtype) if high == 100 else pixels.astype(dtype)
    pixels[: image[0] // 2, : image[1] // 2] = pixels[0, 0]
    template = rng.integers(0, 40, window).astype(dtype)
    template.flat[0], template.flat[-1] = 0, 40
    return pixels, template


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ncc2", "mi", "nmi", "ssd"])
@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_maps_equal_the_loops(measure, image, window, dtype, rng):
    pixels, template = scene(rng, image, window, dtype)
    matcher = nuvmatch.Matcher(template, measure=measure, dtype=np.float64)
    expected = reference(pixels, template.astype(float), measure, matcher=matcher)
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "nmi", "ssd"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_masked_maps_equal_the_loops(measure, dtype, rng):
    pixels, template = scene(rng, (18, 20), (6, 9), dtype)
    mask = rng.random((6, 9)) < 0.6
    matcher = nuvmatch.Matcher(template, measure=measure, mask=mask, dtype=np.float64)
    expected = reference(pixels, template.astype(float), measure, mask, matcher)
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=TOLERANCE)
    if measure in ("mi", "nmi", "nuv"):
        assert (matcher.labels >= 0).tolist() == mask.tolist()


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "nmi", "ssd"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_colour_maps_pool_the_channels(measure, dtype, rng):
    pixels = rng.integers(0, 200, (12, 14, 3)).astype(dtype)
    pixels[:6, :6] = 7
    template = rng.integers(0, 200, (4, 5, 3)).astype(dtype)
    template[..., 1] = 9  # a flat channel is one bin
    matcher = nuvmatch.Matcher(template, measure=measure, dtype=np.float64)
    expected = reference(pixels, template.astype(float), measure, matcher=matcher)
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ncc2", "mi", "nmi", "ssd"])
def test_three_equal_channels_give_the_grey_map(measure, rng):
    pixels, template = scene(rng, (20, 20), (5, 6), np.uint8)
    grey = nuvmatch.score_map(pixels, template, measure=measure)
    colour = nuvmatch.score_map(np.dstack([pixels] * 3), np.dstack([template] * 3), measure=measure)
    assert_allclose(colour, grey, atol=1e-6)


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("measure", ["nuv", "ncc", "ssd"])
def test_no_digit_is_lost(trouble, measure, rng):
    pixels, template = TROUBLES[trouble](rng), levels(rng)
    matcher = nuvmatch.Matcher(template, measure=measure, dtype=np.float64)
    expected = reference(pixels.astype(float), template, measure, matcher=matcher)
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("way", ["additions", "fourier", "small tiles", "masked", "float32 map"])
def test_no_way_to_the_sums_loses_digits(trouble, way, monkeypatch, rng):
    pixels, template = TROUBLES[trouble](rng), levels(rng)
    make_plan = sums.make_plan

    def plan(image, slices, shape, method):
        if way == "small tiles":
            return replace(make_plan(image, slices, shape, "additions"), tile=(3, LANES))
        return make_plan(image, slices, shape, way if way == "fourier" else "additions")

    monkeypatch.setattr(sums, "make_plan", plan)
    mask = rng.random(template.shape) < 0.8 if way == "masked" else None
    dtype, tolerance = (np.float32, 1e-6) if "32" in way else (np.float64, TOLERANCE)
    matcher = nuvmatch.Matcher(template, mask=mask, dtype=dtype)
    expected = naive.nuv_map(pixels.astype(float), matcher.labels)
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("measure", ["ncc", "ncc2", "ssd"])
@pytest.mark.parametrize("image_type", [np.bool_, np.uint8, np.int16, np.float32])
@pytest.mark.parametrize("scale", [0.6, 1 / 256, 300.7])
def test_image_and_template_may_be_of_different_types(measure, image_type, scale, rng):
    pixels = rng.integers(0, 2 if image_type == np.bool_ else 100, (20, 22)).astype(image_type)
    template = pixels[4:9, 5:11] * scale
    scores = nuvmatch.score_map(pixels, template, measure=measure, dtype=np.float64)
    expected = reference(pixels.astype(float), template, measure)
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("dtype", "side", "share", "level", "seed"),
    [
        (np.float64, 32, 0.1, 60, 1),
        (np.float64, 200, 0.1, 47, 0),
        (np.float32, 64, 0.001, 47, 1),
        (np.float32, 200, 3e-4, 20, 0),
    ],
)
@pytest.mark.parametrize("masked", [True, False])
def test_many_terms_cost_no_digits(dtype, side, share, level, seed, masked):
    """Few levels, whose rounding is always to the same side, in long sums."""
    rng = np.random.default_rng(seed)
    template = (rng.random((side, side)) < share) * rng.integers(1, 4, (side, side))
    image = np.full((side, side + 40), level)
    image[:, -30:], image[0, -1] = 255, 0
    image[:, :side] -= (template > 0) & (rng.random(template.shape) < 0.7)
    mask = np.ones((side, side))
    mask[0, 0] = 0 if masked else 1
    pixels = (image / 255).astype(dtype)
    matcher = nuvmatch.Matcher(template, mask=mask)
    expected = naive.nuv_window(pixels[:, :side], matcher.labels)
    tolerance = TOLERANCE if dtype == np.float64 else 1e-6
    assert abs(matcher.score_map(pixels)[0, 0] - expected) < tolerance


def test_a_long_vector_loses_no_digits(rng):
    template = rng.integers(0, 4, 10_000)
    window = 0.7 + 0.01 * (rng.random(10_000) < 0.1)
    window[0] = -1
    labels = nuvmatch.binning.kmeans(template, 4).labels
    expected = naive.nuv_window(window[None], labels[None])
    assert abs(nuvmatch.nuv(template, window, bins=4) - expected) < TOLERANCE


def test_bins_of_the_image_do_not_depend_on_its_lowest_grey(rng):
    image = np.arange(1699, 2024).repeat(2).reshape(10, 65).astype(np.int32)
    template = np.arange(20).reshape(4, 5) % 6
    matcher = nuvmatch.Matcher(template, measure="mi", bins=39, dtype=np.float64)
    expected = naive.mutual_information_map(image, matcher.labels, 39, (1699, 2023), "template")
    assert_allclose(matcher.score_map(image), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("measure", ["nuv", "ncc"])
def test_float32_maps_are_as_exact_as_their_type(measure, rng):
    pixels = rng.standard_normal((24, 40))
    pixels[:, 20:] += 3e5
    template = rng.integers(0, 9, (5, 6))
    matcher = nuvmatch.Matcher(template, measure=measure, dtype=np.float32)
    expected = reference(pixels, template.astype(float), measure, matcher=matcher)
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=1e-6)


def test_many_bins_and_a_mask_leave_the_joint_histogram_right(rng):
    template = rng.permutation(np.arange(625) % 200).reshape(25, 25)
    image, mask = rng.integers(0, 256, (27, 27)).astype(np.uint8), rng.random((25, 25)) < 0.9
    matcher = nuvmatch.Matcher(
        template, measure="mi", bins=200, binning="kmeans", mask=mask, dtype=np.float64
    )
    expected = naive.mutual_information_map(image, matcher.labels, 200, (0, 255), "template")
    assert_allclose(matcher.score_map(image), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ssd"])
def test_greys_may_span_more_than_a_float_holds(measure, rng):
    pixels, template = rng.integers(0, 200, (20, 22)), rng.integers(0, 200, (6, 7))
    scores = nuvmatch.score_map((pixels - 99.5) * 1.7e306, template, measure=measure)
    if measure == "ssd":  # next to such greys the template is nothing
        assert_array_equal(scores, 1)
    else:
        expected = nuvmatch.score_map(pixels - 99.5, template, measure=measure)
        assert_allclose(scores, expected, atol=TOLERANCE)
    with pytest.raises(ValueError, match="farther than floats"):
        nuvmatch.score_map((pixels - 99.5) * 1.7e306, template, measure="mi")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.float64])
@pytest.mark.parametrize("measure", ["nuv", "ncc", "ssd"])
def test_the_map_of_a_crop_is_the_crop_of_the_map(dtype, measure, rng):
    pixels = rng.integers(0, 256 if dtype == np.uint8 else 60000, (50, 60)).astype(dtype)
    template = pixels[20:27, 30:39].copy()
    pixels[0, 0] = 0  # outside the crop, whose lowest grey then is another
    whole = nuvmatch.score_map(pixels, template, measure=measure, dtype=np.float64)
    crop = nuvmatch.score_map(pixels[11:40, 17:50], template, measure=measure, dtype=np.float64)
    if dtype == np.float64:
        assert_allclose(crop, whole[11:34, 17:42], rtol=0, atol=TOLERANCE)
    else:
        assert_array_equal(crop, whole[11:34, 17:42])


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ncc2", "ssd"])
@pytest.mark.parametrize("dtype", TYPES)
def test_a_perfect_match_is_zero_and_bounds_hold(measure, dtype, rng):
    levels = np.array([3, 20, 41, 90]).astype(dtype)
    pixels = levels[rng.integers(0, 4, (30, 33))]
    scores = nuvmatch.score_map(pixels, pixels[4:12, 5:14], measure=measure, dtype=np.float64)
    assert scores[4, 5] <= 1e-12
    assert scores.min() >= 0
    assert scores.max() <= (2 if measure == "ncc" else 1)


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ncc2", "mi", "nmi", "ssd"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_bad_pixels_change_only_the_windows_that_touch_them(measure, dtype, rng):
    pixels = rng.integers(0, 250, (20, 22)).astype(dtype)
    template, image_mask = pixels[3:8, 4:10], np.ones((20, 22))
    options = {"measure": measure, "value_range": (0, 255)}
    clean = nuvmatch.score_map(pixels, template, **options)
    touched = np.zeros(clean.shape, bool)
    places = [(9, 9), (0, 21)]
    for row, col in places:
        touched[max(row - 4, 0) : row + 1, max(col - 5, 0) : col + 1] = True
        image_mask[row, col] = 0
        if dtype == np.float32:
            image_mask[:] = 1
            pixels[row, col] = np.nan if row else -np.inf
    scores = nuvmatch.score_map(pixels, template, image_mask=image_mask, **options)
    assert (scores[touched] == 1).all()
    if dtype == np.uint8:
        assert_array_equal(scores[~touched], clean[~touched])
    else:
        assert_allclose(scores[~touched], clean[~touched], atol=1e-6)
    matcher = nuvmatch.Matcher(template, **options)
    assert_array_equal(matcher.valid(pixels, image_mask=image_mask), ~touched)


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "nmi"])
@pytest.mark.parametrize("grey", [0, 255, 1e6, -0.1])
@pytest.mark.parametrize("masked", [False, True])
def test_flat_windows_score_one_and_are_not_valid(measure, grey, masked, rng):
    pixels = rng.random((20, 25))
    pixels[:12, :14] = grey
    template = rng.integers(0, 9, (5, 6))
    mask = np.ones((5, 6))
    mask[0, 0] = 0 if masked else 1
    matcher = nuvmatch.Matcher(template, measure=measure, mask=mask)
    flat = np.array([np.ptp(w[mask > 0]) == 0 for _, w in naive.windows(pixels, (5, 6))]).reshape(
        16, 20
    )
    assert flat.any()
    assert_array_equal(matcher.valid(pixels), ~flat)
    scores = matcher.score_map(pixels)
    assert (scores[flat] == 1).all()
    assert (scores[~flat] < 1).any()


def test_ssd_counts_flat_windows_as_any_other():
    image = np.zeros((6, 7), np.uint8)
    image[:, 4:] = 9
    matcher = nuvmatch.Matcher(np.full((3, 3), 9), measure="ssd")
    assert matcher.valid(image).all()
    assert matcher.score_map(image)[0].tolist() == [1, 1, pytest.approx(0.5), pytest.approx(0.2), 0]
    assert nuvmatch.score_map(image, np.zeros((3, 3)), measure="ssd")[0, 0] == 0


def test_non_finite_and_masked_out_pixels_add_up_also_in_a_region(rng):
    image, image_mask = rng.random((20, 22)), np.ones((20, 22))
    image[8, 8], image_mask[12, 14] = np.nan, 0
    matcher = nuvmatch.Matcher(image[2:6, 2:7])
    valid = matcher.valid(image, image_mask=image_mask)
    for row, col in [(8, 8), (12, 14)]:
        assert not valid[row - 3 : row + 1, col - 4 : col + 1].any()
    assert np.count_nonzero(~valid) == 40
    found = matcher.locate(
        image, image_mask=image_mask, roi=(5, 4, 12, 14), threshold=1, max_overlap=1
    )
    inside = valid[5:14, 4:14]
    places = {(m.row, m.col) for m in found}
    assert places == {(y + 5, x + 4) for y, x in np.argwhere(inside)}


def test_huge_whole_numbers_keep_their_level(rng):
    """Tone curves and squared differences are of the greys themselves."""
    small = rng.integers(0, 200, (14, 16))
    image, template = small + 2**60, small[4:9, 5:11] + 2**60
    match = nuvmatch.locate(image, template, bins=3, binning="kmeans")[0]
    np.testing.assert_allclose(match.tone_curve.levels, match.tone_curve.values, rtol=1e-15)
    assert min(match.tone_curve.levels) >= 2**60
    image[-1, -1] = 0  # so wide a range that some windows are summed again
    scores = nuvmatch.score_map(image, template, measure="ssd", dtype=np.float64)
    assert_allclose(scores[:9, :10], 0, atol=1e-30)
    away = nuvmatch.score_map(image, small[4:9, 5:11], measure="ssd", dtype=np.float64)
    assert_allclose(away[:9, :10], 1, atol=1e-12)


# Other libraries as oracles.


def test_ncc_equals_opencv_and_scikit_image(rng):
    image = cv2.GaussianBlur(rng.integers(0, 256, (60, 70)).astype(np.uint8), (0, 0), 1.5)
    template = image[20:31, 30:44]
    ours = 1 - nuvmatch.score_map(image, template, measure="ncc", dtype=np.float64)
    assert_allclose(ours, cv2.matchTemplate(image, template, cv2.TM_CCOEFF_NORMED), atol=1e-4)
    assert_allclose(ours, skimage.feature.match_template(image.astype(float), template), atol=1e-9)


@pytest.mark.parametrize("shape", [(7, 9), (6, 9), (8, 4)])
def test_match_template_has_the_layout_of_scikit_image(shape, rng):
    image = rng.random((30, 41))
    template = image[5 : 5 + shape[0], 33 - 4 : 33 - 4 + shape[1]]
    for pad in (False, True):
        ours = nuvmatch.match_template(image, template, measure="ncc", pad_input=pad)
        theirs = skimage.feature.match_template(image, template, pad_input=pad)
        assert ours.shape == theirs.shape
        assert np.argmax(ours) == np.argmax(theirs)
    row, col = shape[0] // 2, shape[1] // 2
    inner = nuvmatch.match_template(image, template, measure="ncc")
    assert_array_equal(ours[row : row + inner.shape[0], col : col + inner.shape[1]], inner)
    assert np.count_nonzero(ours) <= inner.size


def test_ssd_equals_opencv(rng):
    image = rng.integers(0, 256, (40, 50)).astype(np.uint8)
    template = rng.integers(0, 256, (9, 8)).astype(np.uint8)
    difference = cv2.matchTemplate(image, template, cv2.TM_SQDIFF).astype(float)
    energy = naive.box_sums(image.astype(float) ** 2, 9, 8) + (template.astype(float) ** 2).sum()
    ours = nuvmatch.score_map(image, template, measure="ssd", dtype=np.float64)
    assert_allclose(ours, difference / energy, atol=1e-5)


def test_mutual_information_equals_scikit_learn(rng):
    image = rng.integers(0, 256, (14, 15)).astype(np.uint8)
    template = rng.integers(0, 256, (7, 8)).astype(np.uint8)
    matcher = nuvmatch.Matcher(template, measure="mi", bins=6, dtype=np.float64)
    by_window = nuvmatch.Matcher(template, measure="nmi", bins=6, dtype=np.float64)
    binned = np.searchsorted(np.linspace(0, 255, 7)[1:-1], image, side="right")
    mi, nmi = matcher.score_map(image), by_window.score_map(image)
    for (row, col), window in naive.windows(binned, (7, 8)):
        labels, greys = matcher.labels.ravel(), window.ravel()
        information = sklearn.metrics.mutual_info_score
        shared = information(labels, greys)
        assert_allclose(mi[row, col], 1 - shared / information(labels, labels))
        assert_allclose(nmi[row, col], 1 - shared / information(greys, greys))


def test_nuv_is_the_f_test_of_an_analysis_of_variance(rng):
    """Bins are the groups: ``D = 1 / (1 + F (b - 1) / (d - b))``."""
    image, labels = rng.random((9, 10)), np.arange(30).reshape(5, 6) % 4
    scores = nuvmatch.score_map(image, labels)
    for place, window in naive.windows(image, (5, 6)):
        f = scipy.stats.f_oneway(*(window[labels == j] for j in range(4))).statistic
        assert_allclose(scores[place], 1 / (1 + f * 3 / 26), rtol=1e-9)


# Properties.

greys = st.integers(0, 255)
seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 6), st.sampled_from([np.uint8, np.int32, np.float64]))
def test_scores_stay_in_bounds(seed, bins, dtype):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, rng.integers(2, 256), (11, 12)).astype(dtype)
    template = np.arange(20).reshape(4, 5) * rng.integers(1, 12)
    scores = nuvmatch.score_map(image, template, bins=bins)
    assert scores.min() >= 0
    assert scores.max() <= 1


@given(seeds, st.floats(0.01, 100), st.sampled_from([-1, 1]), st.floats(-1e4, 1e4))
def test_linear_changes_of_the_image_change_nothing(seed, gain, sign, offset):
    rng = np.random.default_rng(seed)
    image, template = rng.random((9, 12)), rng.random((4, 5))
    before = nuvmatch.score_map(image, template)
    after = nuvmatch.score_map(sign * gain * image + offset, template)
    assert_allclose(after, before, rtol=0, atol=1e-8)


@given(seeds)
def test_any_change_of_tones_is_found(seed):
    """The image shows each level of the template as any grey of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, (6, 6))
    labels.flat[:4] = range(4)
    image = rng.random((20, 22))
    image[7:13, 9:15] = (rng.permutation(4) + rng.random(4) / 4)[labels]
    match = nuvmatch.locate(image, labels * 85)[0]
    assert (match.row, match.col) == (7, 9)
    assert match.score <= 1e-12


@given(seeds, st.integers(3, 12))
def test_a_finer_binning_never_scores_higher(seed, levels):
    rng = np.random.default_rng(seed)
    image, template = rng.random((9, 10)), rng.integers(0, levels, (5, 6))
    template.flat[:levels] = range(levels)
    edges = np.arange(levels)
    coarse = nuvmatch.score_map(image, template, bins=[*edges[:2], levels])
    fine = nuvmatch.score_map(image, template, bins=[*edges, levels])
    assert (fine <= coarse + 1e-12).all()


@given(seeds, st.integers(0, 5), st.integers(0, 5))
def test_the_map_moves_with_the_image(seed, row, col):
    rng = np.random.default_rng(seed)
    image, template = rng.integers(0, 256, (15, 16)).astype(np.uint8), rng.integers(0, 9, (4, 5))
    moved = np.roll(image, (row, col), (0, 1))
    before, after = nuvmatch.score_map(image, template), nuvmatch.score_map(moved, template)
    assert_array_equal(after[row:, col:], before[: 12 - row, : 12 - col])


@given(seeds, st.sampled_from(["nuv", "ncc", "mi", "ssd"]))
def test_inputs_are_not_modified(seed, measure):
    rng = np.random.default_rng(seed)
    image, template = rng.random((9, 10)), rng.random((3, 4))
    image[0, 0] = np.nan
    mask, image_mask = rng.random((3, 4)) < 0.9, rng.random((9, 10)) < 0.9
    mask.flat[:3] = True
    given_arrays = [image, template, mask, image_mask]
    copies = [array.copy() for array in given_arrays]
    nuvmatch.locate(image, template, measure=measure, mask=mask, image_mask=image_mask)
    for array, copy in zip(given_arrays, copies, strict=True):
        assert_array_equal(array, copy)


@given(seeds)
def test_two_level_templates_score_as_squared_ncc(seed):
    rng = np.random.default_rng(seed)
    image, template = rng.random((10, 11)), (rng.random((5, 4)) < 0.5).astype(float)
    template.flat[:2] = 0, 1
    nuv = nuvmatch.score_map(image, template)
    assert_allclose(nuv, nuvmatch.score_map(image, template, measure="ncc2"), atol=1e-9)
