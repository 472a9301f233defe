"""Normalised cross-correlation: that of other libraries."""

import cv2
import numpy as np
import pytest
import scipy.stats
import skimage.feature
from numpy.testing import assert_allclose
from patterns import over_windows

import nuvmatch
from nuvmatch import NCC


def test_it_is_that_of_opencv_and_scikit_image(rng):
    image = cv2.GaussianBlur(rng.integers(0, 256, (60, 70)).astype(np.uint8), (0, 0), 1.5)
    template = image[20:31, 30:44]
    ours = 1 - nuvmatch.score_map(image, template, "ncc", dtype=np.float64)
    assert_allclose(ours, cv2.matchTemplate(image, template, cv2.TM_CCOEFF_NORMED), atol=1e-4)
    assert_allclose(ours, skimage.feature.match_template(image.astype(float), template), atol=1e-9)


def test_it_is_pearsons_correlation(rng):
    image, template = rng.random((12, 13)), rng.random((5, 6))
    mask = rng.random((5, 6)) < 0.7

    def correlation(window):
        return scipy.stats.pearsonr(window[mask], template[mask]).statistic

    expected = over_windows(correlation, image, (5, 6))
    for squared, scores in ((False, 1 - expected), (True, 1 - expected**2)):
        ours = nuvmatch.score_map(image, template, NCC(squared=squared), mask=mask)
        assert_allclose(ours, scores, atol=1e-12)


@pytest.mark.parametrize(("gain", "score"), [(0.3, 0), (1, 0), (-1, 2), (-20, 2)])
def test_inverted_windows_are_the_worst_unless_it_is_squared(gain, score, rng):
    template = rng.integers(0, 256, (7, 8))
    assert nuvmatch.score(gain * template + 9, template, "ncc") == pytest.approx(score, abs=1e-12)
    assert nuvmatch.score(gain * template + 9, template, "ncc2") == pytest.approx(0, abs=1e-12)


def test_flat_windows_and_flat_templates_say_nothing(rng):
    assert nuvmatch.score(np.full((3, 4), 7), rng.random((3, 4)), "ncc") == 1
    with pytest.raises(ValueError, match="is flat"):
        nuvmatch.Matcher(np.full((3, 4), 7), "ncc")
