"""Mutual information: by other libraries, and which bins it is of."""

import naive
import numpy as np
import pytest
import scipy.stats
import skimage.metrics
from numpy.testing import assert_allclose
from patterns import TOLERANCE, reference

import nuvmatch
from nuvmatch import MI


def information(a, b):
    """In nats, from the entropies of both histograms and of the joint one."""
    joint = np.histogram2d(a, b, bins=(np.arange(a.max() + 2), np.arange(b.max() + 2)))[0]
    return (
        scipy.stats.entropy(joint.sum(axis=0))
        + scipy.stats.entropy(joint.sum(axis=1))
        - scipy.stats.entropy(joint.ravel())
    )


def test_it_is_that_of_scipys_entropies(rng):
    image = rng.integers(0, 256, (14, 15)).astype(np.uint8)
    template = rng.integers(0, 256, (7, 8)).astype(np.uint8)
    matcher = nuvmatch.Matcher(template, MI(bins=6), dtype=np.float64)
    mi = matcher.score_map(image)
    nmi = nuvmatch.score_map(image, template, MI(bins=6, normalize="window"), dtype=np.float64)
    labels = matcher.bins[0].labels.ravel()
    binned = np.searchsorted(np.linspace(0, 255, 7)[1:-1], image, side="right")
    for (row, col), window in naive.windows(binned, (7, 8)):
        greys = window.ravel()
        shared = information(labels, greys)
        assert_allclose(mi[row, col], 1 - shared / information(labels, labels))
        assert_allclose(nmi[row, col], 1 - shared / information(greys, greys))


def test_both_normalisations_together_are_scikit_images(rng):
    """Theirs is ``(H(A) + H(B)) / H(A, B)``; ours are 1 - I / H(A) and 1 - I / H(B)."""
    window, template = rng.integers(0, 4, (2, 9, 10))
    window[template == 2] = 1
    template.flat[:4] = window.flat[:4] = range(4)
    ends = {"bins": [0, 1, 2, 3, 4], "value_range": (0, 4)}
    by_template = 1 - nuvmatch.score(window, template, MI(**ends))
    by_window = 1 - nuvmatch.score(window, template, MI(**ends, normalize="window"))
    theirs = skimage.metrics.normalized_mutual_information(template, window, bins=4)
    # With I = 1: H(A) = 1 / by_template, H(B) = 1 / by_window, H(A, B) = H(A) + H(B) - 1.
    both = 1 / by_template + 1 / by_window
    assert both / (both - 1) == pytest.approx(theirs)


def test_any_change_of_tones_is_a_perfect_match(rng):
    template = rng.integers(0, 4, (9, 10))
    window = np.array([200, 3, 77, 140])[template]
    assert nuvmatch.score(window, template, MI(value_range=(0, 255))) <= 1e-12
    assert nuvmatch.score(window, template, "nmi") <= 1e-12


def test_bins_of_the_image_do_not_depend_on_its_lowest_grey():
    image = np.arange(1699, 2024).repeat(2).reshape(10, 65).astype(np.int32)
    template = np.arange(20).reshape(4, 5) % 6
    matcher = nuvmatch.Matcher(template, MI(bins=39), dtype=np.float64)
    labels = matcher.bins[0].labels
    expected = naive.mutual_information_map(image, labels, 39, (1699, 2023), "template")
    assert_allclose(matcher.score_map(image), expected, rtol=0, atol=TOLERANCE)


def test_the_value_range_sets_the_bins_of_the_image(rng):
    image = rng.integers(0, 200, (12, 13)).astype(np.int16)
    template, measure = image[2:7, 3:8], MI(bins=4, value_range=(50, 120))
    expected = reference(image, template, measure, value_range=(50, 120))
    scores = nuvmatch.score_map(image, template, measure, dtype=np.float64)
    assert_allclose(scores, expected, atol=1e-12)
    assert abs(scores - nuvmatch.score_map(image, template, MI(bins=4))).max() > 0.01


def test_the_levels_range_sets_the_tones_of_the_template_only(rng):
    image = rng.integers(0, 100, (14, 15)).astype(np.uint8)
    template = rng.integers(0, 100, (9, 9)).astype(np.uint8)
    family = nuvmatch.tones.Sigmoid()  # which tells the greys in the middle apart
    measure = MI(tones=family, levels_range=(0, 100))
    bright = nuvmatch.Matcher(template, measure, dtype=np.float64)
    dark = nuvmatch.Matcher(template, MI(tones=family), dtype=np.float64)
    assert bright.bins[0].edges.tolist() != dark.bins[0].edges.tolist()
    labels = bright.bins[0].labels
    expected = naive.mutual_information_map(image, labels, 8, (0, 255), "template")
    assert_allclose(bright.score_map(image), expected, rtol=0, atol=TOLERANCE)


def test_many_bins_and_a_mask_leave_the_joint_histogram_right(rng):
    template = rng.permutation(np.arange(625) % 200).reshape(25, 25)
    image, mask = rng.integers(0, 256, (27, 27)).astype(np.uint8), rng.random((25, 25)) < 0.9
    matcher = nuvmatch.Matcher(
        template, MI(bins=200, binning="kmeans"), mask=mask, dtype=np.float64
    )
    labels = matcher.bins[0].labels
    expected = naive.mutual_information_map(image, labels, 200, (0, 255), "template")
    assert_allclose(matcher.score_map(image), expected, rtol=0, atol=TOLERANCE)


def test_more_image_bins_than_labels_can_tell_are_refused():
    with pytest.raises(ValueError, match="65536"):
        nuvmatch.Matcher(np.arange(99).reshape(9, 11) % 5, MI(bins=10**6))
