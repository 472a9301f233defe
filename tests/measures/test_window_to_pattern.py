"""From window to pattern: the loops, and where it finds what the other direction misses."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from patterns import TOLERANCE, TYPES, labels_of, over_windows, planted_scene, smooth_labels

import nuvmatch
from nuvmatch import WindowToPattern


def loops(image, template, bins, value_range, mask=None):
    mask = np.ones(template.shape[:2], bool) if mask is None else mask
    return over_windows(
        lambda window: naive.window_to_pattern(window, template, mask, bins, value_range),
        image,
        template.shape,
    )


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("bins", [2, 5, 8])
def test_it_is_that_of_the_loops(dtype, masked, bins, rng):
    image, template = planted_scene(rng, (19, 22), (8, 7), dtype)
    mask = rng.random((8, 7)) < 0.8 if masked else None
    measure = WindowToPattern(bins=bins)
    scores = nuvmatch.score_map(image, template, measure, mask=mask, dtype=float, fill_value=np.nan)
    expected = loops(image, template, bins, naive.usual_range(image), mask)
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("bins", [2, 5, 8])
def test_binned_it_is_that_of_the_means_of_bins(dtype, masked, bins, rng):
    image, template = planted_scene(rng, (19, 22), (8, 7), dtype)
    mask = rng.random((8, 7)) < 0.8 if masked else np.ones((8, 7), bool)
    measure = WindowToPattern(bins=bins, binned=True)
    about = {"mask": mask, "fill_value": np.nan}
    scores = nuvmatch.score_map(image, template, measure, dtype=float, **about)
    means = naive.to_means(template, labels_of(nuvmatch.Matcher(template, measure, mask=mask).bins))
    expected = loops(image, means, bins, naive.usual_range(image), mask)
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


def test_binned_in_colour_and_within_a_range(rng):
    image, template = planted_scene(rng, (17, 18), (7, 6), np.int32, channels=3)
    measure = WindowToPattern(value_range=(30, 90), binned=True)
    scores = nuvmatch.score_map(image, template, measure, dtype=float, fill_value=np.nan)
    means = naive.to_means(template, labels_of(nuvmatch.Matcher(template, measure).bins))
    assert_allclose(scores, loops(image, means, 8, (30, 90)), rtol=0, atol=TOLERANCE)


def test_it_is_binned_or_adjusted():
    with pytest.raises(ValueError, match="asked for both"):
        WindowToPattern(binned=True, adjusted=True)


def test_in_colour_and_within_a_range(rng):
    image, template = planted_scene(rng, (17, 18), (7, 6), np.int32, channels=3)
    measure = WindowToPattern(value_range=(30, 90))
    scores = nuvmatch.score_map(image, template, measure, dtype=float, fill_value=np.nan)
    expected = loops(image, template, 8, (30, 90))
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


def test_one_grey_that_shows_as_several_is_found(rng):
    """Four kinds of ground, of which the template tells two pairs apart only."""
    ground = smooth_labels(rng, (80, 80), 4)
    image = (60 * ground + rng.integers(0, 9, ground.shape)).astype(np.uint8)
    template = (ground % 2)[30:46, 20:36]
    image[:, 60:] = 60 * (rng.random((80, 20)) < 0.5) + 100 * (rng.random((80, 20)) < 0.2)
    scores = nuvmatch.score_map(image, template, WindowToPattern(bins=16))
    assert np.unravel_index(scores.argmin(), scores.shape) == (30, 20)
    assert scores[30, 20] < 1e-6
    assert nuvmatch.score_map(image, template)[30, 20] > 0.5


def test_one_window_by_hand():
    """Its two bins leave the template 1 of 5."""
    measure = WindowToPattern(bins=2)
    assert nuvmatch.score([5, 5, 9, 9], [0, 1, 2, 3], measure) == pytest.approx(0.2)
    assert nuvmatch.score([7, 7, 7, 7], [0, 1, 2, 3], measure) == 1


@pytest.mark.parametrize("offset", [2**48, 2**52, 2**54])
def test_pedestals_move_no_edges_of_image_bins(offset, rng):
    image = rng.integers(0, 100, (16, 17))
    template = image[3:9, 4:11]

    def scores(offset):
        measure = WindowToPattern(bins=9, value_range=(offset, offset + 120))
        return nuvmatch.score_map(image + offset, template + offset, measure, dtype=float)

    assert_allclose(scores(offset), scores(0), atol=1e-9)


def test_it_is_the_correlation_ratio_of_the_template(rng):
    """As many bins as greys: what the mean template of each grey leaves open."""
    window, template = rng.integers(0, 5, (6, 7)), rng.random((6, 7))
    window.flat[:5] = range(5)
    left = sum(naive.squares(template[window == grey]) for grey in range(5))
    measure = WindowToPattern(bins=5, value_range=(0, 5))
    assert nuvmatch.score(window, template, measure) == pytest.approx(
        left / naive.squares(template)
    )


def test_bins_by_default_yield_to_small_templates():
    window, template = np.arange(9.0).reshape(3, 3), np.array([[0, 5, 1], [2, 9, 4], [3, 3, 7]])
    five = nuvmatch.score(window, template, WindowToPattern(bins=5))
    assert nuvmatch.score(window, template, WindowToPattern()) == five
    with pytest.raises(ValueError, match="9 bins for 9 pixels"):
        nuvmatch.Matcher(template, WindowToPattern(bins=9))
