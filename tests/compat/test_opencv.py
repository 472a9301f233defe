"""What stands in for OpenCV does what it promises: the cases are those of its tests."""

import cv2
import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import noise_scene

import nuvmatch
from nuvmatch import NUV, compat
from nuvmatch.measures import NAMED

SIX = ["TM_SQDIFF", "TM_SQDIFF_NORMED", "TM_CCORR", "TM_CCORR_NORMED", "TM_CCOEFF"]
SIX += ["TM_CCOEFF_NORMED"]
OURS = {
    "nuv": compat.TM_NUV,
    "nuv_linear": compat.TM_NUV_LINEAR,
    "nuv_monotone": compat.TM_NUV_MONOTONE,
    "nuv_curves": compat.TM_NUV_CURVES,
    "nuv_adaptive": compat.TM_NUV_ADAPTIVE,
    "ncc": compat.TM_NCC_EXACT,
    "ncc2": compat.TM_NCC2,
    "mi": compat.TM_MI,
    "nmi": compat.TM_NMI,
    "ssd": compat.TM_SSD,
    "auto": compat.TM_AUTO,
}
CV_TYPES = {"8UC1": (np.uint8, ()), "8UC3": (np.uint8, (3,))}
CV_TYPES |= {"32FC1": (np.float32, ()), "32FC3": (np.float32, (3,))}
cv_types = pytest.mark.parametrize(("dtype", "channels"), CV_TYPES.values(), ids=CV_TYPES)


def small_scene(rng, dtype, channels=()):
    """Greys from 0 to 9, as OpenCV's own test has them, and another template."""
    image = rng.integers(0, 10, (30, 41, *channels)).astype(dtype)
    return image, rng.integers(0, 10, (13, 11, *channels)).astype(dtype)


def test_each_measure_that_has_a_name_has_a_number_of_its_own():
    assert set(OURS) == set(NAMED)
    assert len(set(OURS.values())) == len(OURS)
    assert not set(OURS.values()) & set(range(100))
    assert [getattr(compat, name) for name in SIX] == [getattr(cv2, name) for name in SIX]


@pytest.mark.parametrize("name", SIX)
@cv_types
def test_opencvs_methods_are_opencvs(name, dtype, channels, rng):
    image, template = small_scene(rng, dtype, channels)
    mask = rng.integers(0, 2, (13, 11)).astype(dtype)
    method = getattr(cv2, name)
    for given in ((), (None,), (None, mask)):
        expected = cv2.matchTemplate(image, template, method, *given)
        assert_array_equal(compat.matchTemplate(image, template, method, *given), expected)
    result = np.empty(expected.shape, np.float32)
    found = compat.matchTemplate(
        image=image, templ=template, method=method, result=result, mask=mask
    )
    assert found is result
    assert_array_equal(result, expected)
    found = compat.matchTemplate(cv2.UMat(image), cv2.UMat(template), method)
    assert isinstance(found, cv2.UMat)


@pytest.mark.parametrize("method", [7, 999, -1, 2000])
def test_a_number_that_is_no_method_is_opencvs_error(method, rng):
    with pytest.raises(cv2.error):
        compat.matchTemplate(*small_scene(rng, np.uint8), method)


@pytest.mark.filterwarnings("ignore:no measure can tell")
@pytest.mark.parametrize("measure", OURS)
def test_our_methods_are_maps_of_our_measures(measure, rng):
    image, template = noise_scene(rng, (22, 23), (6, 7), np.float64)
    scores = compat.matchTemplate(image, template, OURS[measure])
    assert (scores.shape, scores.dtype) == ((17, 17), np.float32)
    expected = nuvmatch.score_map(image, template, measure, dtype=np.float32)
    assert_array_equal(scores, expected)
    assert_array_equal(compat.matchTemplate(image, template, np.int64(OURS[measure])), expected)


def test_settings_go_in_as_a_measure_or_a_name(rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.uint8)
    for measure in (NUV(bins=3), "ncc2"):
        expected = nuvmatch.score_map(image, template, measure)
        assert_array_equal(compat.matchTemplate(image, template, measure), expected)
    with pytest.raises(TypeError, match="measure is None"):
        compat.matchTemplate(image, template, None)


@cv_types
@pytest.mark.parametrize("masked", ["", "u1", "f4"])
def test_the_exact_ncc_is_opencvs_and_that_of_the_loop(dtype, channels, masked, rng):
    """Whether masks are bytes or floats, and whatever not zero stands in bytes."""
    image, template = small_scene(rng, dtype, channels)
    mask = None
    if masked:
        mask = rng.integers(0, 2, (13, 11)).astype(masked)
        mask *= rng.integers(1, 5, mask.shape).astype(masked) if masked == "u1" else 1
    scores = compat.matchTemplate(image, template, compat.TM_NCC_EXACT, mask=mask)
    theirs = cv2.matchTemplate(image, template, cv2.TM_CCOEFF_NORMED, mask=mask)
    assert_allclose(scores, 1 - theirs, rtol=0, atol=1e-4)
    assert_allclose(scores, naive.ncc_map(image, template, mask), rtol=0, atol=2e-6)


@cv_types
@pytest.mark.parametrize("measure", [name for name in OURS if name != "auto"])
def test_a_mask_of_all_pixels_is_none(dtype, channels, measure, rng):
    image, template = small_scene(rng, dtype, channels)
    method = OURS[measure]
    expected = compat.matchTemplate(image, template, method)
    for mask in (rng.integers(1, 256, (13, 11), np.uint8), np.ones((13, 11), np.float32)):
        scores = compat.matchTemplate(image, template, method, None, mask)
        assert_allclose(scores, expected, rtol=0, atol=1e-6)


def test_masks_that_mean_more_than_yes_and_no_are_refused(rng):
    image, template = small_scene(rng, np.uint8, (3,))
    mask = np.ones((13, 11, 3))
    mask[4, 5, 1] = 0
    with pytest.raises(ValueError, match=r"\(13, 11, 3\).*one mask for all channels"):
        compat.matchTemplate(image, template, compat.TM_NUV, mask=mask)
    with pytest.raises(ValueError, match="weights"):
        compat.matchTemplate(image, template, compat.TM_NUV, mask=np.full((13, 11), 0.5))
    with pytest.raises(ValueError, match=r"mask has shape \(5, 5\)"):
        compat.matchTemplate(image, template, compat.TM_NUV, mask=np.ones((5, 5)))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_mask_of_equal_channels_is_one(dtype, rng):
    image, template = small_scene(rng, dtype, (3,))
    mask = rng.integers(0, 2, (13, 11)).astype(dtype)
    scores = compat.matchTemplate(
        image, template, compat.TM_NCC_EXACT, mask=mask[..., None].repeat(3, 2)
    )
    assert_allclose(scores, naive.ncc_map(image, template, mask), rtol=0, atol=2e-6)
    theirs = cv2.matchTemplate(
        image, template, cv2.TM_CCOEFF_NORMED, mask=mask[..., None].repeat(3, 2)
    )
    assert_allclose(scores, 1 - theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("masked", [False, True])
def test_a_constant_template_is_refused_not_1_everywhere(masked, rng):
    """Opencv's answer to it is a perfect match at each place."""
    image = rng.integers(0, 255, (16, 16), np.uint8)
    mask = np.array([[1, 0, 1]] * 3, np.uint8) if masked else None
    for template in (np.ones((3, 3), np.uint8), np.full((3, 3), 3.5, np.float32)):
        with pytest.raises(ValueError, match="is flat"):
            compat.matchTemplate(image, template, compat.TM_NUV, mask=mask)


def test_a_template_larger_than_the_image_is_refused_not_exchanged_for_it(rng):
    image, template = small_scene(rng, np.uint8)
    with pytest.raises(ValueError, match="larger than the image"):
        compat.matchTemplate(template, image, compat.TM_NUV)


def test_the_order_of_colours_does_not_matter(rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.uint8)
    image, template = (
        np.dstack([image, image.T[:20, :20].repeat(2, 1)[:, :22], 255 - image]),
        (np.dstack([template, template[::-1], template[:, ::-1]])),
    )
    for measure in ("nuv", "ncc", "ssd", "mi"):
        rgb = compat.matchTemplate(image, template, OURS[measure])
        bgr = compat.matchTemplate(image[..., ::-1], template[..., ::-1], OURS[measure])
        assert_allclose(rgb, bgr, rtol=0, atol=1e-6)


def test_a_result_that_fits_is_filled_and_another_is_left_alone(rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.uint8)
    expected = nuvmatch.score_map(image, template)
    for result in (np.empty((16, 17), np.float32), np.empty((16, 34), np.float32)[:, ::2]):
        assert compat.matchTemplate(image, template, compat.TM_NUV, result) is result
        assert_array_equal(result, expected)
    for result in (np.zeros((16, 17)), np.zeros((3, 17), np.float32)):
        found = compat.matchTemplate(image, template, compat.TM_NUV, result)
        assert_array_equal(found, expected)
        assert not result.any()
    for result in (cv2.UMat(expected), expected.tolist()):
        with pytest.raises(TypeError, match=r"^result is .* must be a NumPy array"):
            compat.matchTemplate(image, template, compat.TM_NUV, result)
    result = np.zeros((16, 17), np.float32)
    result.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compat.matchTemplate(image, template, compat.TM_NUV, result)


def test_the_minimum_is_where_the_template_is(rng):
    image = rng.integers(0, 256, (30, 40), np.uint8)
    template = image[11:19, 20:30]
    for name in OURS.keys() - {"auto"}:
        low, _, place, _ = cv2.minMaxLoc(compat.matchTemplate(image, template, OURS[name]))
        assert place == (20, 11)
        assert low < 0.5
    for method in (compat.TM_NCC_EXACT, compat.TM_NCC2, compat.TM_SSD):
        assert compat.matchTemplate(image, template, method)[11, 20] == 0


@pytest.mark.parametrize("low", [0, 254])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_no_score_of_bright_pixels_is_below_0(low, dtype, rng):
    """Nor above what it can be, however many digits cancel; and a copy has exactly 0."""
    image = (low + rng.integers(0, 2, (24, 26))).astype(dtype)
    template = image[9:20, 3:15].copy()
    for name in ("nuv", "nuv_adaptive", "ncc", "ncc2", "ssd"):
        scores = compat.matchTemplate(image, template, OURS[name])
        assert scores[9, 3] == scores.min() == 0
        assert scores.max() <= (2 if name == "ncc" else 1)
