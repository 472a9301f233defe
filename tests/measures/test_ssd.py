"""Squared differences: that of OpenCV, and of flat windows as of any others."""

import cv2
import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch


def test_it_is_that_of_opencv(rng):
    image = rng.integers(0, 256, (40, 50)).astype(np.uint8)
    template = rng.integers(0, 256, (9, 8)).astype(np.uint8)
    difference = cv2.matchTemplate(image, template, cv2.TM_SQDIFF).astype(float)
    energy = naive.box_sums(image.astype(float) ** 2, 9, 8) + (template.astype(float) ** 2).sum()
    ours = nuvmatch.score_map(image, template, "ssd", dtype=np.float64)
    assert_allclose(ours, difference / energy, atol=1e-5)


def test_flat_windows_count_as_any_other():
    image = np.zeros((6, 7), np.uint8)
    image[:, 4:] = 9
    matcher = nuvmatch.Matcher(np.full((3, 3), 9), "ssd")
    scores = matcher.score_map(image, fill_value=np.nan)
    assert scores[0].tolist() == [1, 1, pytest.approx(0.5), pytest.approx(0.2), 0]
    assert nuvmatch.score_map(image, np.zeros((3, 3)), "ssd")[0, 0] == 0
    assert matcher.bins == ()


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_windows_flat_under_the_mask_alone_have_the_grey_there(dtype, rng):
    disc = np.hypot(*np.mgrid[-4:5, -4:5]) <= 4
    image = (rng.integers(0, 200, (20, 30)) / 255).astype(dtype)
    image[8:17, 12:21][disc] = 1
    template = disc.astype(dtype)
    scores = nuvmatch.score_map(image, template, "ssd", mask=disc)
    assert np.argwhere(scores == 0).tolist() == [[8, 12]]
    assert_allclose(scores, naive.ssd_map(image.astype(float), template, disc), atol=1e-6)


def test_an_outlier_costs_no_window_beside_it(rng):
    image = rng.normal(500, 30, (40, 50)).astype(np.float32)
    image[0, :3] = np.finfo(np.float32).min
    template = image[20:28, 30:38]
    scores = nuvmatch.score_map(image, template, "ssd")
    assert np.argwhere(scores == 0).tolist() == [[20, 30]]
    assert_allclose(scores, naive.ssd_map(image.astype(float), template.astype(float)), atol=1e-6)


@pytest.mark.parametrize(("window", "score"), [(1, 0), (-1, 1), (0, 1), (3, 4 / 10), (-3, 1)])
def test_scores_of_multiples_by_hand(window, score, rng):
    template = rng.random((5, 6))
    assert nuvmatch.score(window * template, template, "ssd") == pytest.approx(score, abs=1e-12)


def test_whole_numbers_beyond_those_of_floats_are_told_apart(rng):
    small = rng.integers(0, 200, (14, 16))
    image, template = small + 2**60, small[4:9, 5:11] + 2**60
    image[-1, -1] = 0  # so wide a range that some windows are summed anew
    scores = nuvmatch.score_map(image, template, "ssd", dtype=np.float64)
    assert_allclose(scores[:9, :10], 0, atol=1e-30)
    away = nuvmatch.score_map(image, small[4:9, 5:11], "ssd", dtype=np.float64)
    assert_allclose(away[:9, :10], 1, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, float])
def test_a_byte_identical_copy_scores_0_and_nothing_else_does(dtype, rng):
    image = rng.random((20, 22)) * (1 if np.dtype(dtype).kind == "f" else 250)
    image = image.astype(dtype)
    scores = nuvmatch.score_map(image, image[4:9, 5:11], "ssd", dtype=np.float64)
    assert_array_equal(np.argwhere(scores == 0), [[4, 5]])


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9])
def test_scores_of_what_is_almost_a_copy_keep_their_digits(step, rng):
    """Twice a pixel's difference, once its square: known by hand."""
    template = rng.random((12, 13))
    window = template.copy()
    window[5, 6] += step
    step = window[5, 6] - template[5, 6]
    energy = (window**2).sum() + (template**2).sum()
    assert nuvmatch.score(window, template, "ssd") == pytest.approx(
        step**2 / energy, rel=1e-6, abs=0
    )
    far = window + 1e3
    expected = (far[5, 6] - (template[5, 6] + 1e3)) ** 2
    expected /= (far**2).sum() + ((template + 1e3) ** 2).sum()
    assert nuvmatch.score(far, template + 1e3, "ssd") == pytest.approx(expected, rel=0.01, abs=0)


@pytest.mark.parametrize(("power", "accuracy"), [(-1074, 1e-2), (-1050, 1e-9), (1016, 1e-12)])
def test_greys_at_the_ends_of_the_float_range_are_scored(power, accuracy, rng):
    counts = rng.integers(-100, 156, (20, 21)).astype(float)
    image = np.ldexp(counts, power)
    image[0, 0] = np.nan
    scores = nuvmatch.score_map(image, image[4:11, 5:13], "ssd", fill_value=np.nan)
    expected = naive.ssd_map(counts, counts[4:11, 5:13])
    expected[0, 0] = np.nan
    assert_allclose(scores, expected, atol=accuracy)


TYPES = {
    "uint8": lambda counts: counts.astype(np.uint8),
    "uint16": lambda counts: (257 * counts).astype(np.uint16),
    "float32": lambda counts: (counts / 255).astype(np.float32),
    "float64": lambda counts: counts / 255,
}


@pytest.mark.parametrize("image", TYPES)
@pytest.mark.parametrize("template", TYPES)
def test_content_of_unlike_ranges_is_compared_in_shares_of_white(image, template, rng):
    counts = rng.integers(0, 256, (20, 21))
    counts[0, 0] = 255
    part = counts[4:11, 5:13]
    scores = nuvmatch.score_map(TYPES[image](counts), TYPES[template](part), "ssd")
    expected = naive.ssd_map(counts.astype(float), part.astype(float))
    assert_allclose(scores, expected, atol=1e-6)


def test_units_that_nothing_tells_are_an_error(rng):
    counts = rng.integers(0, 256, (20, 21)).astype(np.uint8)
    floats = counts - counts.mean()
    with pytest.raises(ValueError, match=r"float64 from -1\d.* uint8 from .* SSD compares greys"):
        nuvmatch.score_map(floats, counts[4:9, 3:8], "ssd")
    with pytest.raises(ValueError, match="convert them to one type"):
        nuvmatch.score_map(counts, floats[4:9, 3:8], "ssd")


@pytest.mark.parametrize("kind", [int, np.int16])
def test_whole_numbers_of_no_known_white_are_no_shares_of_it(kind, rng):
    counts = rng.integers(0, 256, (20, 21))
    whole, shares = counts.astype(kind), counts / 255
    for image, template in ((whole, shares), (shares, whole)):
        ranges = f"{image.dtype} from 0 to .* {template.dtype} from .* SSD compares greys"
        with pytest.raises(ValueError, match=ranges):
            nuvmatch.score_map(image, template[4:9, 3:8], "ssd")
    assert (nuvmatch.score_map(0 * shares, whole[4:9, 3:8], "ssd") == 1).all()  # in any unit
    masks = counts > 99
    assert nuvmatch.score_map(masks.astype(kind), masks[4:9, 3:8] / 1, "ssd")[4, 3] == 0


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32])
def test_what_is_masked_out_is_no_match_of_a_black_template(kind, rng):
    image = rng.integers(50, 200, (20, 20)).astype(kind)
    image[12:16, 12:16] = 0
    mask = np.ones((20, 20), bool)
    mask[2:8, 2:8] = False
    matcher = nuvmatch.Matcher(np.zeros((3, 3), kind), "ssd")
    found = matcher.score_map(image, image_mask=mask, fill_value=np.nan)
    touched = [[not mask[y : y + 3, x : x + 3].all() for x in range(18)] for y in range(18)]
    assert_array_equal(np.isnan(found), touched)
    assert np.argwhere(found == 0).tolist() == [[12, 12], [12, 13], [13, 12], [13, 13]]
