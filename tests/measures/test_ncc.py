"""Normalised cross-correlation: that of other libraries."""

import cv2
import naive
import numpy as np
import pytest
import scipy.stats
import skimage.feature
from numpy.testing import assert_allclose, assert_array_equal
from patterns import over_windows

import nuvmatch
from nuvmatch import NCC
from nuvmatch.engine import prepare, products
from nuvmatch.measures import Template
from nuvmatch.measures.sharing import fill_all


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


@pytest.mark.parametrize(
    ("dtype", "outlier"),
    [(np.float32, np.finfo(np.float32).min), (float, 1e200), (np.int32, -(2**31))],
)
@pytest.mark.parametrize("contrast", [1, 30])
def test_an_outlier_costs_no_window_beside_it(contrast, dtype, outlier, rng):
    """As files of floats have where there is no data: about it, contrast rounds to 0."""
    image = rng.normal(500, contrast, (40, 50)).astype(dtype)
    image[0, :3] = outlier
    template = image[20:28, 30:38]
    expected = naive.ncc_map(image.astype(float), template.astype(float))
    for measure, scores in (("ncc", expected), ("ncc2", 1 - (1 - expected) ** 2)):
        found = nuvmatch.score_map(image, template, measure)
        assert np.argwhere(found == 0).tolist() == [[20, 30]]
        assert_allclose(found, scores, atol=1e-6)


COPIES = {  # greys of noise in [0, 1]
    "bool": lambda noise: noise < 0.5,
    "uint8": lambda noise: (noise * 255).astype(np.uint8),
    "int16": lambda noise: (noise * 65535 - 32768).astype(np.int16),
    "int32": lambda noise: (noise * 2**31).astype(np.int32),
    "int64": lambda noise: (noise * 999).astype(np.int64) + 2**60,
    "uint64": lambda noise: (noise * 2**63).astype(np.uint64) + np.uint64(2**62),
    "float32": lambda noise: noise.astype(np.float32),
    "float64": lambda noise: noise,
    "float32, pedestal": lambda noise: (noise + 1000).astype(np.float32),
    "float64, pedestal": lambda noise: noise + 1e6,
    "float64, small": lambda noise: noise * 1e-200,
}


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("channels", [None, 3])
def test_a_byte_identical_copy_scores_exactly_0(kind, channels, dtype, rng):
    shape = (90, 97) if channels is None else (90, 97, channels)
    noise = rng.random(shape)
    noise[3, 4], noise[3, 6] = 0, 0.9  # the smallest template is not flat
    image = COPIES[kind](noise)
    for place, window in (
        ((3, 4), (1, 3)),
        ((11, 60), (9, 8)),
        ((30, 7), (33, 40)),
        ((0, 0), (90, 97)),
    ):
        (row, col), (height, width) = place, window
        template = image[row : row + height, col : col + width]
        masks = None, rng.random(window) < 0.7
        for mask in masks:
            if mask is not None:
                mask.flat[0] = mask.flat[-1] = True
            for measure in ("ncc", "ncc2", "ssd"):
                scores = nuvmatch.score_map(image, template, measure, mask=mask, dtype=dtype)
                assert scores[row, col] == 0, (window, measure)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float32, np.float64])
def test_a_straight_line_of_whole_numbers_scores_exactly_0(dtype, rng):
    image = rng.integers(0, 120, (60, 70)).astype(dtype)
    template = image[20:41, 30:48].astype(float)
    for line in (2 * template + 3, (template + 8) * 64):
        assert nuvmatch.score_map(image, line, "ncc")[20, 30] == 0
        assert nuvmatch.score_map(image, line.astype(np.int64), "ncc")[20, 30] == 0
    for line in (9 - 2 * template, 255 - template):
        assert nuvmatch.score_map(image, line, "ncc2")[20, 30] == 0
        assert nuvmatch.score_map(image, line, "ncc")[20, 30] == pytest.approx(2, abs=1e-7)


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9])
def test_scores_of_what_is_almost_a_copy_keep_their_digits(step, rng):
    """By the residual of a pixel that is off: 1 - NCC² is step² (1 - 1/d - h) / scatter."""
    template = rng.random((12, 13))
    window = template.copy()
    window[5, 6] += step
    step = window[5, 6] - template[5, 6]
    deviation = template[5, 6] - template.mean()
    left = step**2 * (1 - 1 / template.size - deviation**2 / naive.squares(template))
    share = left / naive.squares(window)
    assert nuvmatch.score(window, template, "ncc2") == pytest.approx(share, rel=1e-5, abs=0)
    assert nuvmatch.score(window, template, "ncc") == pytest.approx(
        share / 2, rel=1e-5 + step, abs=0
    )


@pytest.mark.compiled
def test_where_all_windows_are_straight_lines_work_is_bounded(monkeypatch):
    """A ramp, in floats: what cannot be done again is cut at the error that sums may have."""
    again = []
    original = products._in_two_passes

    def counted(raw, offset, pattern, ys, xs):
        again.append(ys.size)
        return original(raw, offset, pattern, ys, xs)

    monkeypatch.setattr(products, "_in_two_passes", counted)
    image = np.add.outer(np.arange(150.0), 2 * np.arange(160.0)) / 255
    for measure in ("ncc", "ncc2"):
        scores = nuvmatch.score_map(image, image[30:70, 40:90], measure)
        assert not scores.any()
    scores = nuvmatch.score_map(image, image[30:70, 40:90], "ssd")
    assert scores[30, 40] == 0
    assert sum(again) < 100


@pytest.mark.compiled
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["uint8", "float32", "shares", "colour", "flat parts"])
def test_mirror_images_share_the_work_and_no_digit(kind, masked, far, rng):
    """What is filled together is what each fills alone, to the last bit."""
    channels = 3 if kind == "colour" else 1
    pixels = rng.integers(0, 200, (channels, 60, 70)).astype(np.uint8)
    if kind == "flat parts":  # which are done again one by one
        pixels = pixels.astype(float) + rng.random(pixels.shape)
        pixels[:, 30:, :40] = 1e3 + 1e-9 * rng.random((30, 40))
    elif kind != "uint8":
        pixels = pixels.astype(np.float32) / 255
        pixels = pixels if kind == "shares" else pixels + rng.random(pixels.shape, np.float32)
    mask = rng.random((9, 8)) < 0.8 if masked else np.ones((9, 8), bool)
    mask |= mask[::-1, ::-1]
    greys = np.moveaxis(pixels[:, 20:29, 30:38], 0, 2)
    templates = [Template.of(given.copy(), mask) for given in (greys, greys[::-1, ::-1])]
    if far and pixels.dtype != np.uint8:
        pixels[0, 50, 60] = 1e30
    image = prepare(pixels, None, mask.size)
    scorers = [NCC(squared=k % 2 == 0).prepare(templates[k // 2]) for k in range(4)]
    assert all(scorers[0].shares_with(other) for other in scorers)
    for dtype in (np.float32, np.float64):
        together, alone = np.empty((2, 4, 52, 63), dtype)
        fill_all(scorers, image, list(together), 1)
        for scorer, scores in zip(scorers, alone, strict=True):
            scorer.fill(image, scores, 1)
        assert_array_equal(together, alone)


def test_templates_of_unlike_masks_or_kinds_share_nothing(rng):
    greys = rng.integers(0, 200, (9, 8))
    mask = np.arange(72).reshape(9, 8) > 0
    whole = NCC().prepare(Template.of(greys, None))
    assert not whole.shares_with(NCC().prepare(Template.of(greys, mask)))
    assert not whole.shares_with(NCC().prepare(Template.of(greys + 0.3 * rng.random((9, 8)), None)))
    assert not whole.shares_with(nuvmatch.SSD().prepare(Template.of(greys, None)))
