"""What holds for every measure: the loops, bad pixels, types, parts, threads, copies."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from patterns import (
    MEASURES,
    PLAIN,
    SHAPES,
    SINGLE_TOLERANCE,
    TOLERANCE,
    TROUBLES,
    TYPES,
    flat_windows,
    labels_of,
    levels,
    name_of_measure,
    noise_scene,
    reference,
)

import nuvmatch
from nuvmatch import MI, NCC, NUV, SSD, Lowest, WindowToPattern

seeds = st.integers(0, 2**32 - 1)
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=name_of_measure)
PLAIN_AND_BACKWARDS = [*PLAIN, WindowToPattern(), Lowest("nuv", WindowToPattern())]


def in_bounds(scores, measure):
    most = {NCC(): 2, NUV(adjusted=True): np.inf}.get(measure, 1)
    return ((scores >= 0) & (scores <= most)).all()


# Against the loops.


@pytest.mark.parametrize("measure", PLAIN_AND_BACKWARDS, ids=name_of_measure)
@pytest.mark.parametrize(("image", "window"), SHAPES[1:])
@pytest.mark.parametrize("dtype", TYPES)
def test_maps_equal_the_loops(measure, image, window, dtype, rng):
    pixels, template = noise_scene(rng, image, window, dtype)
    scores = nuvmatch.score_map(pixels, template, measure, dtype=float)
    assert_allclose(scores, reference(pixels, template, measure), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("measure", PLAIN_AND_BACKWARDS, ids=name_of_measure)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_masked_maps_equal_the_loops(measure, dtype, rng):
    pixels, template = noise_scene(rng, (18, 20), (6, 9), dtype)
    mask = rng.random((6, 9)) < 0.6
    matcher = nuvmatch.Matcher(template, measure, mask=mask, dtype=np.float64)
    expected = reference(pixels, template, measure, mask)
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=TOLERANCE)
    if matcher.bins:
        assert_array_equal(labels_of(matcher.bins) >= 0, mask)


@pytest.mark.parametrize("measure", PLAIN_AND_BACKWARDS, ids=name_of_measure)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_colour_maps_pool_the_channels(measure, dtype, rng):
    pixels = rng.integers(0, 200, (12, 14, 3)).astype(dtype)
    pixels[:6, :6] = 7
    template = rng.integers(0, 200, (4, 5, 3)).astype(dtype)
    template[..., 1] = 9  # a flat channel is one bin
    scores = nuvmatch.score_map(pixels, template, measure, dtype=float)
    assert_allclose(scores, reference(pixels, template, measure), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("measure", ["nuv", "ncc", "ssd"])
def test_no_digit_is_lost(trouble, measure, rng):
    pixels, template = TROUBLES[trouble](rng), levels(rng)
    expected = reference(pixels.astype(float), template, measure)
    scores = nuvmatch.score_map(pixels, template, measure, dtype=float)
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("measure", ["nuv", "ncc"])
def test_float32_maps_are_as_exact_as_their_type(measure, rng):
    pixels = rng.standard_normal((24, 40))
    pixels[:, 20:] += 3e5
    template = rng.integers(0, 9, (5, 6))
    scores = nuvmatch.score_map(pixels, template, measure, dtype=np.float32)
    expected = reference(pixels, template, measure)
    assert_allclose(scores, expected, rtol=0, atol=SINGLE_TOLERANCE)


@pytest.mark.parametrize(
    ("measure", "scale"),
    [("ssd", 0.6), *((name, scale) for name in ("ncc", "ncc2") for scale in (0.6, 1 / 256, 300.7))],
)
@pytest.mark.parametrize("image_type", [np.bool_, np.uint8, np.int16, np.float32])
def test_image_and_template_may_be_of_different_types(measure, image_type, scale, rng):
    pixels = rng.integers(0, 2 if image_type == np.bool_ else 100, (20, 22)).astype(image_type)
    template = pixels[4:9, 5:11] * scale
    scores = nuvmatch.score_map(pixels, template, measure, dtype=np.float64)
    expected = reference(pixels.astype(float), template, measure)
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ssd"])
def test_greys_may_span_more_than_a_float_holds(measure, rng):
    pixels, template = rng.integers(0, 200, (20, 22)), rng.integers(0, 200, (6, 7))
    scores = nuvmatch.score_map((pixels - 99.5) * 1.7e306, template, measure, fill_value=np.nan)
    if measure == "ssd":  # next to such greys the template is nothing
        assert_allclose(scores, 1, rtol=1e-14)
    else:
        expected = nuvmatch.score_map(pixels - 99.5, template, measure)
        assert_allclose(scores, expected, atol=TOLERANCE)


@pytest.mark.parametrize("measure", [MI(), WindowToPattern()], ids=name_of_measure)
def test_bins_of_an_image_that_spans_more_than_a_float_holds_are_refused(measure, rng):
    image = (rng.integers(0, 200, (20, 22)) - 99.5) * 1.7e306
    with pytest.raises(ValueError, match="farther than floats"):
        nuvmatch.score_map(image, rng.integers(0, 200, (6, 7)), measure)


# Bounds, and what gives no evidence.


@every_measure
@pytest.mark.parametrize("dtype", TYPES)
def test_bounds_hold_and_no_better_match_than_the_template_itself(measure, dtype, rng):
    greys = np.array([3, 20, 41, 90]).astype(dtype)
    pixels = greys[rng.integers(0, 4, (30, 33))]
    scores = nuvmatch.score_map(pixels, pixels[4:12, 5:14], measure, dtype=np.float64)
    assert in_bounds(scores, measure)
    assert scores[4, 5] == scores.min()


@pytest.mark.parametrize("measure", ["nuv", "ncc", "ncc2", "ssd"])
@pytest.mark.parametrize("dtype", TYPES)
def test_a_perfect_match_is_zero(measure, dtype, rng):
    greys = np.array([3, 20, 41, 90]).astype(dtype)
    pixels = greys[rng.integers(0, 4, (30, 33))]
    scores = nuvmatch.score_map(pixels, pixels[4:12, 5:14], measure, dtype=np.float64)
    assert scores[4, 5] <= 1e-12


@every_measure
@pytest.mark.parametrize("grey", [0, 255, 1e6, -0.1])
@pytest.mark.parametrize("masked", [False, True])
def test_flat_windows_are_no_evidence(measure, grey, masked, rng):
    pixels = max(9, grey) * rng.random((20, 25))  # or all are in one bin of the image
    pixels[:12, :14] = grey
    template, mask = rng.integers(0, 9, (5, 6)), np.ones((5, 6), bool)
    mask[0, 0] = not masked
    flat = flat_windows(pixels, mask)
    assert flat.any()
    matcher = nuvmatch.Matcher(template, measure, mask=mask)
    scores, marked = matcher.score_map(pixels), matcher.score_map(pixels, fill_value=np.nan)
    if isinstance(measure, SSD):
        assert not np.isnan(marked).any()
        return
    assert (scores[flat] == 1).all()
    assert np.isnan(marked[flat]).all()
    if measure != NUV(polarity="increasing"):  # which refuses others
        assert not np.isnan(marked[~flat]).any()
        assert (scores[~flat] < 1).any()
        assert_array_equal(marked[~flat], scores[~flat])


@every_measure
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_bad_pixels_change_only_the_windows_that_touch_them(measure, dtype, rng):
    pixels = rng.integers(1, 250, (20, 22)).astype(dtype)
    pixels[1, 1], pixels[18, 2] = 0, 255  # between which greys are binned
    template, image_mask = pixels[3:8, 4:10].copy(), np.ones((20, 22))
    matcher = nuvmatch.Matcher(template, measure)
    clean = matcher.score_map(pixels, fill_value=-1)
    touched = np.zeros(clean.shape, bool)
    for row, col in [(9, 9), (0, 21)]:
        touched[max(row - 4, 0) : row + 1, max(col - 5, 0) : col + 1] = True
        if dtype == np.float32:
            pixels[row, col] = np.nan if row else -np.inf
        else:
            image_mask[row, col] = 0
    scores = matcher.score_map(pixels, image_mask=image_mask, fill_value=-1)
    assert (scores[touched] == -1).all()
    assert (matcher.score_map(pixels, image_mask=image_mask)[touched] == 1).all()
    if dtype == np.uint8:
        assert_array_equal(scores[~touched], clean[~touched])
    else:
        assert_allclose(scores[~touched], clean[~touched], atol=SINGLE_TOLERANCE)


@every_measure
def test_where_nothing_is_evidence_nothing_is_located(measure, rng):
    image = np.full((12, 13), np.nan)
    matcher = nuvmatch.Matcher(rng.integers(0, 9, (4, 5)), measure)
    assert len(matcher.locate(image, threshold=np.inf)) == 0
    assert np.isnan(matcher.score_map(image, fill_value=np.nan)).all()
    image[2:9, 3:9] = 9 * rng.random((7, 6))
    best = matcher.locate(image)[0]
    assert 2 <= best.row <= 5
    assert 3 <= best.col <= 4


# Parts, copies, threads.


@every_measure
def test_three_equal_channels_give_the_grey_map(measure, rng):
    pixels, template = noise_scene(rng, (20, 20), (5, 6), np.uint8)
    grey = nuvmatch.score_map(pixels, template, measure)
    colour = nuvmatch.score_map(np.dstack([pixels] * 3), np.dstack([template] * 3), measure)
    assert_allclose(colour, grey, atol=SINGLE_TOLERANCE)


@every_measure
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.float64])
def test_the_map_of_a_crop_is_the_crop_of_the_map(dtype, measure, rng):
    top = 255 if dtype == np.uint8 else 60000
    pixels = rng.integers(0, top + 1, (30, 36)).astype(dtype)
    template = pixels[12:19, 18:27] // (top // 15) * (top // 15)  # of few levels, soon cut
    pixels[0, 0] = 0  # outside the crop, whose lowest grey then is another
    pixels[8, 12], pixels[26, 30] = 0, top
    whole = nuvmatch.score_map(pixels, template, measure, dtype=np.float64)
    crop = nuvmatch.score_map(pixels[7:28, 9:34], template, measure, dtype=np.float64)
    if dtype == np.float64:
        assert_allclose(crop, whole[7:22, 9:26], rtol=0, atol=TOLERANCE)
    else:
        assert_array_equal(crop, whole[7:22, 9:26])


@every_measure
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32])
def test_the_map_of_a_region_is_the_crop_of_the_map(measure, dtype, rng):
    """Also where greys are binned by the range of the whole image."""
    pixels, template = noise_scene(rng, (30, 32), (5, 6), dtype)
    pixels[0, 0] = 120
    matcher = nuvmatch.Matcher(template, measure)
    whole = matcher.score_map(pixels, fill_value=np.nan)
    part = matcher.score_map(pixels, region=(3, 9, 14, 20), fill_value=np.nan)
    expected = whole[3 : 3 + 14 - 4, 9 : 9 + 20 - 5]
    assert part.shape == expected.shape
    assert_allclose(part, expected, rtol=0, atol=SINGLE_TOLERANCE if dtype == np.float32 else 0)
    found = matcher.locate(pixels, region=(3, 9, 14, 20), threshold=np.inf, max_overlap=1)
    places = {(match.row, match.col): match.score for match in found}
    candidates = [
        (y, x)
        for y, x in np.argwhere(np.isfinite(part))
        if not (naive.around(part, y, x) < part[y, x]).any()
    ]
    assert places == {(y + 3, x + 9): part[y, x] for y, x in candidates}


@pytest.mark.compiled
@every_measure
def test_same_bits_from_any_number_of_threads_and_after_pickling(measure, rng):
    image = rng.integers(0, 256, (150, 170)).astype(np.uint8)
    template = image[20:36, 30:46]
    one = nuvmatch.Matcher(template, measure, n_threads=1)
    expected = one.score_map(image)
    assert_array_equal(nuvmatch.score_map(image, template, measure, n_threads=7), expected)
    again = pickle.loads(pickle.dumps(one))
    assert again.measure == one.measure
    assert_array_equal(again.score_map(image), expected)


@every_measure
def test_what_is_done_to_the_template_afterwards_changes_nothing(measure, rng):
    image, template = noise_scene(rng, (14, 15), (5, 6), np.float64)
    mask = rng.random((5, 6)) < 0.8
    matcher = nuvmatch.Matcher(template, measure, mask=mask)
    expected = matcher.score_map(image)
    bins = [cut.labels.copy() for cut in matcher.bins]
    template[:], mask[:] = 3, False
    assert_array_equal(matcher.score_map(image), expected)
    assert_array_equal(pickle.loads(pickle.dumps(matcher)).score_map(image), expected)
    for cut, labels in zip(matcher.bins, bins, strict=True):
        assert_array_equal(cut.labels, labels)


@every_measure
@pytest.mark.parametrize("layout", ["C", "F", "strided", "float64"])
def test_a_map_can_be_put_where_one_likes(measure, layout, rng):
    image = rng.integers(0, 256, (14, 17)).astype(np.uint8)
    template = image[5:12, 6:15] // 17 * 17
    matcher = nuvmatch.Matcher(template, measure)
    shape, kind = (8, 9), np.float64 if layout == "float64" else np.float32
    space = np.full((16, 18), np.nan, kind, order="F" if layout == "F" else "C")
    out = space[::2, ::2] if layout == "strided" else space[:8, :9]
    if layout in ("C", "float64"):
        out = np.ascontiguousarray(out)
    assert out.shape == shape
    assert matcher.score_map(image, out=out) is out
    expected = nuvmatch.score_map(image, template, measure, dtype=kind)
    assert_array_equal(out, expected)


# Properties.


@given(seeds, st.sampled_from(MEASURES), st.sampled_from([np.uint8, np.int32, np.float64]))
def test_scores_stay_in_bounds(seed, measure, dtype):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, rng.integers(2, 256), (11, 12)).astype(dtype)
    template = np.arange(20).reshape(4, 5) * rng.integers(1, 12)
    assert in_bounds(nuvmatch.score_map(image, template, measure), measure)


@given(seeds, st.integers(0, 5), st.integers(0, 5), st.sampled_from(MEASURES))
def test_the_map_moves_with_the_image(seed, row, col, measure):
    rng = np.random.default_rng(seed)
    image, template = rng.integers(0, 256, (15, 16)).astype(np.uint8), rng.integers(0, 9, (4, 5))
    moved = np.roll(image, (row, col), (0, 1))
    matcher = nuvmatch.Matcher(template, measure)
    before, after = matcher.score_map(image), matcher.score_map(moved)
    assert_array_equal(after[row:, col:], before[: 12 - row, : 12 - col])


@given(seeds, st.sampled_from(MEASURES))
def test_inputs_are_not_modified(seed, measure):
    rng = np.random.default_rng(seed)
    image, template = rng.random((9, 10)), rng.random((3, 4))
    image[0, 0] = np.nan
    mask, image_mask = rng.random((3, 4)) < 0.9, rng.random((9, 10)) < 0.9
    mask.flat[:9] = True
    given_arrays = [image, template, mask, image_mask]
    copies = [array.copy() for array in given_arrays]
    nuvmatch.locate(image, template, measure, mask=mask, image_mask=image_mask)
    for array, copy in zip(given_arrays, copies, strict=True):
        assert_array_equal(array, copy)


@given(seeds, st.floats(0.01, 100), st.sampled_from([-1, 1]), st.floats(-1e4, 1e4))
@pytest.mark.parametrize("measure", ["nuv", "nuv_monotone", "nuv_curves", "nuv_linear", "ncc2"])
def test_linear_changes_of_the_image_change_nothing(measure, seed, gain, sign, offset):
    rng = np.random.default_rng(seed)
    image, template = rng.random((9, 12)), rng.random((4, 5))
    matcher = nuvmatch.Matcher(template, measure)
    before, after = matcher.score_map(image), matcher.score_map(sign * gain * image + offset)
    assert_allclose(after, before, rtol=0, atol=1e-8)
