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


@pytest.mark.parametrize(("dtype", "rounding"), [(np.uint8, 0), (np.int32, 0), (float, 1e-15)])
def test_a_byte_identical_copy_scores_0_and_nothing_else_does(dtype, rounding, rng):
    image = (rng.random((20, 22)) * (1 if dtype is float else 250)).astype(dtype)
    scores = nuvmatch.score_map(image, image[4:9, 5:11], "ssd", dtype=np.float64)
    assert scores[4, 5] <= rounding
    assert_array_equal(np.argwhere(scores <= rounding), [[4, 5]])
