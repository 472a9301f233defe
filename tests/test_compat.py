"""What stands in for other libraries does what they promise, in our own words.

The cases are those of the tests of OpenCV, scikit-image, PyScreeze and Multi-Template-Matching.
"""

import pickle
import sys
import types

import cv2
import naive
import numpy as np
import PIL.Image
import pytest
import skimage.data
import skimage.feature
from numpy.testing import assert_allclose, assert_array_equal
from patterns import noise_scene
from skimage.morphology import diamond

import nuvmatch
from nuvmatch import NUV, compat
from nuvmatch.compat import Box, ImageNotFoundException, locate_all_on, locate_on
from nuvmatch.io import read_image
from nuvmatch.measures import NAMED

# OpenCV

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


# scikit-image


SHAPES = [(7, 9), (6, 9), (8, 4), (1, 5), (5, 1), (2, 2), (21, 24)]
MODES = [("constant", 0), ("constant", 0.5), ("constant", 300), ("constant", "mean")]
MODES += [(mode, 0) for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp")]
MODES += [(mode, 0) for mode in ("mean", "median", "maximum", "minimum")]


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i8", "?", "f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_match_template_is_scikit_images(shape, dtype, rng):
    greys = 200 * rng.random((21, 24))
    image = greys > 100 if dtype == "?" else greys.astype(dtype)
    top, left = (21 - shape[0]) // 3, (24 - shape[1]) // 2
    template = image[top : top + shape[0], left : left + shape[1]].copy()
    if template.min() == template.max():
        template.flat[0] = ~template.flat[0]
    # Of float32 they sum in float32, and are wrong in the fourth digit.
    precise = [array.astype(float) for array in (image, template)]
    for mode, constant in MODES:
        value = float(image.mean()) if constant == "mean" else constant
        for pad in (False, True):
            ours = compat.match_template(image, template, pad, mode, value, measure="ncc")
            theirs = skimage.feature.match_template(*precise, pad, mode, value)
            assert ours.shape == theirs.shape == (image.shape if pad else ours.shape)
            atol = 2e-6 if dtype == "f4" else 1e-7
            assert_allclose(ours, theirs, rtol=0, atol=atol, err_msg=mode)
    assert ours.dtype == skimage.feature.match_template(image, template).dtype


def test_options_of_padding_are_scikit_images_in_name_and_order(rng):
    image, template = rng.random((20, 21)), rng.random((4, 5))

    def framed(vector, width, axis, options):
        vector[: width[0]], vector[vector.size - width[1] :] = 7, 9

    ours = compat.match_template(
        image=image, template=template, pad_input=True, mode=framed, measure="ncc"
    )
    theirs = skimage.feature.match_template(image, template, pad_input=True, mode=framed)
    assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="mode 'sideways' is not supported"):
        compat.match_template(image, template, True, "sideways")
    with pytest.raises(TypeError, match="pad_input is 'reflect'"):
        compat.match_template(image, template, "reflect")


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "ssd"])
@pytest.mark.parametrize("channels", [(), (3,), (4,)], ids=str)
def test_what_is_padded_is_the_image(measure, channels, rng):
    """By any measure, in colour, and with the types that scores depend on."""
    image = rng.integers(0, 256, (14, 17, *channels), np.uint8)
    template = rng.integers(0, 256, (6, 5, *channels), np.uint8)
    if channels == (4,):
        image[..., 3], template[..., 3] = 255, 255 * (rng.random((6, 5)) < 0.8)
    padded = np.pad(image, [(3, 2), (2, 2), (0, 0)][: image.ndim], "reflect")
    expected = 1 - nuvmatch.score_map(padded, template, measure, dtype=np.float64)
    found = compat.match_template(image, template, True, "reflect", measure=measure)
    assert found.shape == image.shape[:2]
    assert_array_equal(found, expected)


def test_large_whole_numbers_keep_their_digits_when_padded(rng):
    image = 2**60 + rng.integers(0, 9, (12, 13))
    template = image[3:8, 4:8]
    for mode, options in (("edge", {}), ("constant", {"constant_values": 2**60 + 3})):
        padded = np.pad(image, [(2, 2), (2, 1)], mode, **options)
        expected = 1 - naive.ncc_map(padded - 2**60, template - 2**60)
        found = compat.match_template(image, template, True, mode, measure="ncc", **options)
        assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("measure", ["ncc", "nuv"])
def test_two_targets_under_noise_are_the_two_peaks(dtype, measure):
    rng = np.random.default_rng(1)
    target = 0.1 * (np.tri(50) + np.tri(50)[::-1]).astype(dtype)
    image = np.full((200, 200), 0.5, dtype)
    for row, col in ((25, 25), (100, 100)):
        image[row : row + 50, col : col + 50] = target
    image += 0.1 * rng.random(image.shape, dtype)
    result = compat.match_template(image, target, measure=measure)
    assert result.dtype == dtype
    peaks = skimage.feature.peak_local_max(result, min_distance=5, num_peaks=2)
    assert sorted(peaks.tolist()) == [[25, 25], [100, 100]]


def test_a_bright_square_is_1_and_a_dark_one_minus_1():
    image, template = np.full((20, 20), 0.5), np.zeros((7, 7))
    image[2:7, 3:8], image[12:17, 11:16], template[1:6, 1:6] = 1, 0, 1
    result = compat.match_template(image, template, measure="ncc")
    assert np.unravel_index(result.argmax(), result.shape) == (1, 2)
    assert np.unravel_index(result.argmin(), result.shape) == (11, 10)
    assert result.max() == pytest.approx(1)
    assert result.min() == pytest.approx(-1)


def test_nothing_is_nan_where_greys_hardly_differ():
    image = 0.5 + 1e-9 * np.random.default_rng(1).normal(size=(20, 20))
    template = np.ones((6, 6))
    template[:3] = 0
    for measure in ("ncc", "nuv"):
        assert np.isfinite(compat.match_template(image, template, measure=measure)).all()


def test_halves_of_templates_at_the_border_come_second():
    template = 0.5 * diamond(2)
    image = np.full((9, 19), 0.5)
    image[2:7, :3] -= template[:, -3:]
    image[2:7, 4:9] += template
    image[2:7, -9:-4] -= template
    image[2:7, -3:] += template[:, :3]
    result = compat.match_template(
        image, template, pad_input=True, constant_values=image.mean(), measure="ncc"
    )
    columns = np.argsort(result, axis=None) % 19
    assert columns[:2].tolist() == [12, 0]
    assert columns[-2:].tolist() == [18, 6]


def test_half_a_template_is_whole_once_it_is_reflected():
    image, template = np.zeros((10, 10)), diamond(2)
    image[2:7, :3] = template[:, -3:]
    for measure in ("ncc", "nuv"):
        result = compat.match_template(
            image, template, pad_input=True, mode="reflect", measure=measure
        )
        assert np.unravel_index(result.argmax(), result.shape) == (4, 0)
        assert result.max() == pytest.approx(1)


def test_similarities_stay_within_bounds(rng):
    image = read_image("samples/photos/coins.png") / 255
    template = np.zeros((3, 3))
    template[1, 1] = 1
    result = compat.match_template(image, template, measure="ncc")
    assert -1 <= result.min() < result.max() <= 1


@pytest.mark.parametrize(
    ("image", "template", "message"),
    [
        ((3, 3), (5, 5), "larger than the image"),
        ((3, 3), (5, 5, 1), "larger than the image"),
        ((3, 3, 2), (5, 5), "larger than the image"),
        ((5, 5), (3, 3, 3), "grey.*colour"),
        ((5, 5, 3, 3), (3, 3, 2), r"image has shape \(5, 5, 3, 3\)"),
        ((12, 12, 12), (3, 3, 3), r"image has shape \(12, 12, 12\)"),
        ((12, 12), (3,), r"template has shape \(3,\)"),
    ],
)
def test_shapes_that_do_not_go_together_are_refused(image, template, message, rng):
    """Volumes, which scikit-image takes, among them."""
    with pytest.raises(ValueError, match=message):
        compat.match_template(rng.random(image), rng.random(template))


# PyScreeze


def slash(colour):
    """A thin diagonal of 4 x 4 pixels."""
    shape = (4, 4, 3) if colour else (4, 4)
    icon = np.full(shape, 255, np.uint8)
    icon[range(4), range(3, -1, -1)] = (200, 40, 0) if colour else 0
    return icon


def haystack(*places, colour):
    screen = np.full((30, 40, 3) if colour else (30, 40), 255, np.uint8)
    for left in places:
        screen[left : left + 4, left : left + 4] = np.minimum(
            screen[left : left + 4, left : left + 4], slash(colour)
        )
    return screen


WAYS = {
    "arrays": lambda array, path: array if array.ndim == 2 else array[..., ::-1],
    "Pillow": lambda array, path: PIL.Image.fromarray(array),
    "palette": lambda array, path: PIL.Image.fromarray(array).convert("P"),
    "files": lambda array, path: PIL.Image.fromarray(array).save(path) or path,
    "names": lambda array, path: PIL.Image.fromarray(array).save(path) or str(path),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("colour", "options"),
    [(False, {}), (True, {}), (True, {"grayscale": True}), (True, {"measure": "ssd"})],
    ids=str,
)
def test_icons_are_found_on_screens(way, colour, options, tmp_path, rng):
    icon = way(slash(colour), tmp_path / "slash.png")
    one = way(haystack(19, colour=colour), tmp_path / "one.png")
    noise = rng.integers(0, 256, (30, 40, 3)[: 3 if colour else 2], np.uint8)
    noise = way(noise, tmp_path / "noise.png")
    box = locate_on(one, icon, **options)
    assert isinstance(box, Box)
    assert box == (19, 19, 4, 4)
    assert locate_all_on(one, icon, **options) == [(19, 19, 4, 4)]
    assert locate_all_on(noise, icon, **options) == []
    with pytest.raises(ImageNotFoundException, match=r"as 0\.999; the best place has 0\."):
        locate_on(noise, icon, **options)


def test_places_that_overlap_are_kept_if_that_is_allowed():
    screen, icon = np.full((30, 40), 255, np.uint8), np.full((4, 4), 255, np.uint8)
    icon[range(4), range(4)] = 0  # it repeats itself one pixel farther
    screen[range(18, 24), range(18, 24)] = 0
    boxes = locate_all_on(screen, icon, max_overlap=1)
    assert boxes == [(18, 18, 4, 4), (19, 19, 4, 4), (20, 20, 4, 4)]
    assert locate_on(screen, icon) == boxes[0]
    assert locate_all_on(screen, icon, max_overlap=1, limit=2) == boxes[:2]
    assert locate_all_on(screen, icon) == boxes[:1] + boxes[2:]  # an IoU of 1/7


def test_a_region_is_left_top_width_height(rng):
    screen = rng.integers(0, 256, (60, 90), np.uint8)
    screen[40:50, 70:82] = screen[10:20, 20:32]
    icon = screen[10:20, 20:32].copy()
    assert sorted(locate_all_on(screen, icon)) == [(20, 10, 12, 10), (70, 40, 12, 10)]
    assert locate_all_on(screen, icon, region=(60, 30, 25, 30)) == [(70, 40, 12, 10)]
    assert locate_on(screen, icon, region=(70, 40, 12, 10)) == (70, 40, 12, 10)
    with pytest.raises(ImageNotFoundException, match="the best place has"):
        locate_on(screen, icon, region=(71, 0, 19, 60))
    with pytest.raises(ValueError, match="larger than the region"):
        locate_on(screen, icon, region=(0, 0, 11, 60))
    with pytest.raises(TypeError, match=r"must be \(left, top, width, height\)"):
        locate_on(screen, icon, region=(0, 0))


@pytest.mark.parametrize(
    ("box", "center"),
    [
        ((0, 0, 20, 20), (10, 10)),
        ((5, 5, 10, 10), (10, 10)),
        ((50, 50, 100, 100), (100, 100)),
        ((10, 10, 6, 8), (13, 14)),
        ((10, 10, 7, 9), (13, 14)),
        ((10, 10, 8, 10), (14, 15)),
    ],
)
def test_the_center_of_a_box_is_where_to_click(box, center):
    assert Box(*box).center == center


def test_confidence_is_the_correlation_that_the_best_place_has(rng):
    icon = rng.integers(0, 256, (12, 14), np.uint8)
    noisy = np.clip(icon + rng.normal(0, 40, icon.shape), 0, 255).astype(np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    screen[20:32, 30:44] = noisy
    correlation = np.corrcoef(noisy.ravel(), icon.ravel())[0, 1]
    assert 0.8 < correlation < 0.95
    for below in (1e-5, 0.01, 0.3):
        assert locate_on(screen, icon, confidence=correlation - below) == (30, 20, 14, 12)
    with pytest.raises(ImageNotFoundException, match=f"{correlation:.3f}"):
        locate_on(screen, icon, confidence=correlation + 1e-5)
    assert locate_on(screen, icon, confidence=0.6, measure="nuv") == (30, 20, 14, 12)


def test_chances_are_no_similarities(rng):
    screen = rng.integers(0, 256, (60, 70), dtype=np.uint8)
    for locate in locate_on, locate_all_on:
        with pytest.raises(ValueError, match='"auto", whose scores are no similarities'):
            locate(screen, screen[20:32, 20:34], measure="auto")


def test_a_screen_without_any_contrast_shows_nothing(rng):
    icon = rng.integers(0, 256, (12, 14), np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    with pytest.raises(ImageNotFoundException, match="no window does"):
        locate_on(screen, icon, confidence=-1)
    assert locate_all_on(screen, icon, confidence=-1) == []


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["camera", "moon"])
@pytest.mark.parametrize("measure", ["nuv", "nuv_monotone", "nuv_curves", "nuv_adaptive"])
def test_an_exact_copy_has_all_confidence_though_bins_leave_some_open(name, measure):
    photo = getattr(skimage.data, name)()
    for top, left, side in ((100, 200, 30), (300, 120, 16), (200, 310, 48)):
        icon = photo[top : top + side, left : left + side]
        for confidence in (1, 0.99):
            box = locate_on(photo, icon, confidence=confidence, measure=measure)
            window = photo[box.top : box.top + side, box.left : box.left + side]
            assert_array_equal(window, icon)
            assert (left, top, side, side) in locate_all_on(
                photo, icon, confidence=confidence, measure=measure, max_overlap=1
            )


def test_confidence_is_what_is_explained_of_what_can_be(rng):
    """By few bins, which leave much open even of an exact copy: a loop tells how much."""
    icon = rng.integers(0, 256, (20, 22), np.uint8)
    noisy = np.clip(icon + rng.normal(0, 20, icon.shape), 0, 255).astype(np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    screen[20:40, 30:52] = noisy
    measure = NUV(bins=3)
    labels = nuvmatch.Matcher(icon, measure).bins[0].labels
    explained = 1 - naive.nuv_window(noisy, labels)
    expected = explained / (1 - naive.nuv_window(icon, labels))
    assert expected - explained > 0.05
    place = (30, 20, 22, 20)
    assert locate_on(screen, icon, confidence=expected - 1e-5, measure=measure) == place
    with pytest.raises(ImageNotFoundException, match=f"the best place has {expected:.3f}"):
        locate_on(screen, icon, confidence=expected + 1e-5, measure=measure)


@pytest.mark.parametrize("derived", [False, True])
@pytest.mark.parametrize("names", [(), ("pyscreeze",), ("pyautogui",), ("pyautogui", "pyscreeze")])
def test_what_is_not_found_is_caught_as_in_pyscreeze(names, derived, monkeypatch):
    """PyAutoGUI's exception may be one of its own, or PyScreeze's, or derived from that."""
    of_pyscreeze = type("ImageNotFoundException", (Exception,), {})
    of_pyautogui = type("ImageNotFoundException", (of_pyscreeze if derived else Exception,), {})
    theirs = {"pyscreeze": of_pyscreeze, "pyautogui": of_pyautogui}
    for name in ("pyscreeze", "pyautogui"):
        module = types.ModuleType(name)
        module.ImageNotFoundException = theirs[name]
        monkeypatch.setitem(sys.modules, name, module if name in names else None)
    with pytest.raises(ImageNotFoundException, match="no window does") as caught:
        locate_on(np.zeros((30, 40)), slash(False))
    for name in names:
        assert isinstance(caught.value, theirs[name])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again).__mro__[1:], str(again)) == (
        type(caught.value).__mro__[1:],
        str(caught.value),
    )


def test_an_inverted_icon_is_found_by_nuv_alone(rng):
    icon = rng.integers(0, 256, (12, 14), np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    screen[20:32, 30:44] = 255 - icon
    with pytest.raises(ImageNotFoundException):
        locate_on(screen, icon, confidence=0.8)
    assert locate_on(screen, icon, confidence=0.8, measure="nuv") == (30, 20, 14, 12)


def test_files_and_pillow_images_go_with_arrays_of_opencv(tmp_path, rng):
    """Which have their colours the other way round."""
    screen = rng.integers(0, 256, (40, 50, 3), np.uint8)  # RGB
    icon = screen[10:20, 12:30]
    PIL.Image.fromarray(icon).save(tmp_path / "icon.png")
    as_read = cv2.imread(str(tmp_path / "icon.png"))
    for pattern in (as_read, tmp_path / "icon.png", PIL.Image.fromarray(icon)):
        assert locate_on(PIL.Image.fromarray(screen), pattern) == (12, 10, 18, 10)
        assert locate_on(screen[..., ::-1], pattern) == (12, 10, 18, 10)
    grey = cv2.imread(str(tmp_path / "icon.png"), cv2.IMREAD_GRAYSCALE)
    assert locate_on(screen[..., ::-1], grey, confidence=0.99) == (12, 10, 18, 10)
    assert locate_on(PIL.Image.fromarray(screen).convert("L"), as_read, confidence=0.99)


def test_what_is_transparent_in_an_icon_does_not_count_and_of_a_screen_all_does(rng):
    screen = np.dstack([rng.integers(0, 256, (40, 50, 3), np.uint8), np.zeros((40, 50), np.uint8)])
    icon = screen[10:20, 12:30].copy()
    icon[..., 3] = 255
    icon[:5, :9] = 77, 88, 99, 0
    assert locate_on(screen, icon) == (12, 10, 18, 10)
    icon[..., 3] = 255
    with pytest.raises(ImageNotFoundException):
        locate_on(screen, icon)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence": 90}, ValueError, "confidence is 90"),
        ({"confidence": "0.9"}, TypeError, "confidence is '0.9'"),
        ({"grayscale": 1}, TypeError, "grayscale is 1"),
        ({"measure": "sad"}, ValueError, "measure is 'sad'"),
        ({"step": 2}, TypeError, "step"),
    ],
)
def test_options_of_screens_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        locate_on(haystack(19, colour=False), slash(False), **options)


@pytest.mark.parametrize("shape", [(30, 40, 5), (30, 40, 1, 1), (30,), (), (0, 40)])
def test_what_is_no_screen_is_refused_by_its_shape(shape):
    with pytest.raises(ValueError, match=r"^image has shape \("):
        locate_on(np.ones(shape), slash(False))
    with pytest.raises(ValueError, match=r"^template has shape \("):
        locate_on(haystack(19, colour=True), np.ones(shape))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(OSError, match=r"nowhere\.png"):
        locate_on(haystack(19, colour=False), "nowhere.png")


# Multi-Template-Matching, supervision


@pytest.fixture(scope="module")
def coins():
    """The photograph and the two coins of its tutorial."""
    image = read_image("samples/photos/coins.png")
    templates = {"small": image[37:75, 80:121].copy(), "big": image[14:73, 302:367].copy()}
    return image, templates, nuvmatch.Search(templates, "ncc")


@pytest.mark.compiled
def test_coins_are_hits_that_do_not_overlap(coins):
    image, templates, search = coins
    hits = compat.as_hits(search.locate(image, threshold=0.4, max_overlap=0))
    assert hits[:2] == [("small", (80, 37, 41, 38), 1.0), ("big", (302, 14, 65, 59), 1.0)]
    assert len(hits) == 13  # as many as there
    covered = np.zeros(image.shape, int)
    for label, (x, y, width, height), score in hits:
        assert (height, width) == templates[label].shape
        window = image[y : y + height, x : x + width].astype(float)
        correlation = np.corrcoef(window.ravel(), templates[label].ravel())[0, 1]
        assert score == pytest.approx(correlation, abs=2e-6)
        assert score >= 0.6
        covered[y : y + height, x : x + width] += 1
    assert covered.max() == 1
    assert [hit[2] for hit in hits] == sorted((hit[2] for hit in hits), reverse=True)


@pytest.mark.compiled
def test_one_object_is_the_best_hit_of_each_template(coins):
    image, _, search = coins
    hits = compat.as_hits(search.locate(image, max_per_name=1))
    assert sorted(hits) == [("big", (302, 14, 65, 59), 1.0), ("small", (80, 37, 41, 38), 1.0)]


@pytest.mark.compiled
def test_strips_of_the_whole_height_or_width_and_the_whole_are_found(coins):
    """Of which the map is one line, or one place."""
    image = coins[0]
    for part in (np.s_[:, 10:50], np.s_[50:70, :], np.s_[:, :]):
        (hit,) = compat.as_hits(nuvmatch.locate(image, image[part], "ncc"))
        top, left = (sides.start or 0 for sides in part)
        height, width = image[part].shape
        assert hit == ("", (left, top, width, height), 1.0)


def test_what_is_sought_in_part_of_an_image_must_fit_there(coins):
    image, templates, search = coins
    (best,) = search.locate(image, region=(30, 70, 60, 65), max_matches=1)
    assert compat.as_hits([best]) == [("small", (80, 37, 41, 38), 1.0)]
    with pytest.raises(ValueError, match="larger than the region"):
        nuvmatch.locate(image, templates["big"], "ncc", region=(30, 70, 20, 20))
    with pytest.raises(ValueError, match="must not be empty"):
        nuvmatch.locate(image, image[:0], "ncc")
    with pytest.raises(ValueError, match=r"max_overlap is 1\.5"):
        search.locate(image, max_overlap=1.5)


@pytest.mark.compiled
def test_coins_are_detections_whose_class_is_the_place_of_their_name(coins):
    image, templates, search = coins
    found = search.locate(image, threshold=0.4, max_overlap=0)
    detections = compat.as_detections(found, list(templates))
    assert detections["xyxy"].dtype == detections["confidence"].dtype == np.float32
    assert_array_equal(detections["xyxy"][1], [302, 14, 302 + 65, 14 + 59])
    assert_array_equal(detections["xyxy"][:, 2] - detections["xyxy"][:, 0],
                       [match.width for match in found])  # fmt: skip
    assert_allclose(detections["confidence"], 1 - found.scores, atol=1e-7)
    names = detections["data"]["class_name"]
    assert_array_equal(detections["class_id"], names == "big")
    only_big = [match for match in found if match.name == "big"]
    assert set(compat.as_detections(only_big, ["small", "big"])["class_id"]) == {1}
    with pytest.raises(ValueError, match="name 'small'; names is None"):
        compat.as_detections(found)
    with pytest.raises(ValueError, match=r"name 'small'; names is \['big'\]"):
        compat.as_detections(found, ["big"])


def test_matches_without_names_and_no_matches_are_detections_too(rng):
    image = rng.integers(0, 256, (30, 40), np.uint8)
    found = nuvmatch.locate(image, image[5:12, 8:17])
    detections = compat.as_detections(found)
    assert detections["class_id"].tolist() == [0]
    assert detections["data"]["class_name"].tolist() == [""]
    assert compat.as_hits(found) == [("", (8, 5, 9, 7), found[0].similarity)]
    several = nuvmatch.Search([image[5:12, 8:17], image[15:25, 20:35]]).locate(image, max_matches=2)
    assert sorted(compat.as_detections(several)["class_id"]) == [0, 1]
    nothing = compat.as_detections(nuvmatch.Matches())
    shapes = [nothing[key].shape for key in ("xyxy", "confidence", "class_id")]
    assert shapes == [(0, 4), (0,), (0,)]
    assert compat.as_hits(nuvmatch.Matches()) == []


def test_it_is_imported_when_it_is_asked_for():
    assert nuvmatch.compat.matchTemplate
