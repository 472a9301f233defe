"""Mutual information: by other libraries, and which bins it is of."""

import naive
import numpy as np
import pytest
import scipy.stats
import skimage.metrics
from numpy.testing import assert_allclose
from patterns import TOLERANCE

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
    binned = naive.image_bins(image, 6, (image.min(), image.max()))
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
    # Ours by both is 1 - 2 I / (H(A) + H(B)), and I = H(A) + H(B) - H(A, B).
    by_both = nuvmatch.score(window, template, MI(**ends, normalize="both"))
    assert 1 / (1 - (1 - by_both) / 2) == pytest.approx(theirs)


def test_any_change_of_tones_is_a_perfect_match(rng):
    template = rng.integers(0, 4, (9, 10))
    window = np.array([200, 3, 77, 140])[template]
    assert nuvmatch.score(window, template, MI(value_range=(0, 255))) == 0
    assert nuvmatch.score(window, template, "nmi") == 0
    assert nuvmatch.score(window, template, MI(value_range=(0, 255), normalize="both")) == 0


def test_by_both_entropies_it_is_symmetric(rng):
    first, second = rng.integers(0, 5, (2, 9, 10, 3))
    second[first == 2] = 1
    for patch in (first, second):
        patch[0, :5] = np.arange(5)[:, None]
    for a, b in ((first, second), (first[..., 0], second[..., 0])):
        measure = MI(bins=range(6), value_range=(0, 5), normalize="both")
        forth, back = nuvmatch.score(a, b, measure), nuvmatch.score(b, a, measure)
        shared, entropies = 0.0, 0.0  # of all channels
        planes = zip(naive.as_channels(a), naive.as_channels(b), strict=True)
        for x, y in ((x.ravel(), y.ravel()) for x, y in planes):
            shared += information(x, y)
            entropies += information(x, x) + information(y, y)
        assert forth == pytest.approx(back, abs=1e-12)
        assert forth == pytest.approx(1 - 2 * shared / entropies, abs=1e-12)
        by_one = [
            nuvmatch.score(a, b, MI(bins=range(6), value_range=(0, 5), normalize=n))
            for n in ("template", "window")
        ]
        assert min(by_one) < forth < max(by_one)


@pytest.mark.parametrize("normalize", ["template", "window", "both"])
@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_what_tells_all_scores_0_exactly(normalize, channels, dtype, rng):
    """Of any size, whatever logarithms of the counts have been rounded to."""
    for k in range(6):
        image = rng.integers(0, 5, (20, 30, *channels)).astype(dtype)
        template = image[5 : 12 + k, 8 : 16 + 2 * k]
        measure = MI(bins=[0, 1, 2, 3, 4, 5], value_range=(0, 5), normalize=normalize)
        matcher = nuvmatch.Matcher(template, measure)
        match = matcher.locate(image, threshold=0)[0]
        assert (match.row, match.col, match.score) == (5, 8, 0)
        assert np.count_nonzero(matcher.score_map(image) == 0) == 1


@pytest.mark.parametrize("normalize", ["template", "window", "both"])
def test_one_pixel_of_many_is_no_rounding(normalize, rng):
    template = (rng.random((100, 90)) < 0.5).astype(np.uint8)
    window = template.copy()
    window[50, 50] = 1 - window[50, 50]
    measure = MI(bins=2, normalize=normalize)
    assert nuvmatch.score(template, template, measure) == 0
    assert nuvmatch.score(window, template, measure) > 1e-5
    rare = np.zeros_like(template)
    rare.flat[:2] = 1
    once = rare.copy()
    once.flat[0] = 0
    labels = rare.astype(int)
    expected = naive.mutual_information_map(once, labels, 2, (0, 1), normalize)[0, 0]
    assert nuvmatch.score(once, rare, measure) == pytest.approx(expected, abs=1e-9)


def test_templates_in_one_bin_are_refused():
    with pytest.raises(ValueError, match="single bin"):
        nuvmatch.Matcher([[1, 2, 3], [4, 5, 6]], MI(bins=[0, 7, 9]))


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
    matcher = nuvmatch.Matcher(template, measure, dtype=np.float64)
    labels = matcher.bins[0].labels
    expected = naive.mutual_information_map(image, labels, 4, (50, 120), "template")
    scores = matcher.score_map(image)
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
    ends = image.min(), image.max()
    expected = naive.mutual_information_map(image, labels, 8, ends, "template")
    assert_allclose(bright.score_map(image), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.compiled
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


@pytest.mark.compiled
@pytest.mark.parametrize("normalize", ["template", "window", "both"])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_single_precision_is_near_the_loops_under_a_mask(normalize, channels, rng):
    """Also where windows are nearly flat, and in the largest counts."""
    image = rng.integers(0, 256, (41, 43, *channels)).astype(np.uint8)
    image[:, 30:] = 9
    image[7, 35], image[20] = 200, 255
    template = image[3:37, 5:40]
    mask = rng.random(template.shape[:2]) < 0.9
    matcher = nuvmatch.Matcher(template, MI(bins=5, normalize=normalize), mask=mask)
    labels = np.stack([own.labels for own in matcher.bins], axis=-1)
    labels = labels if channels else labels[..., 0]
    expected = naive.mutual_information_map(image, labels, 5, (0, 255), normalize)
    scores = matcher.score_map(image)
    assert scores.dtype == np.float32
    assert_allclose(scores, expected, rtol=0, atol=3e-7)


def test_a_map_of_a_crop_is_the_crop_of_the_map(rng):
    image = rng.integers(0, 256, (24, 300)).astype(np.uint8)
    matcher = nuvmatch.Matcher(image[2:16, 200:217], MI(bins=6, value_range=(0, 255)))
    whole = matcher.score_map(image)
    for top, left in ((0, 1), (3, 30)):
        assert np.array_equal(matcher.score_map(image[top:, left:]), whole[top:, left:])


def test_perfect_matches_are_told_from_near_ones_in_any_precision(rng):
    """In tiles that have both, and others: nothing else changes."""
    template = rng.integers(0, 4, (60, 70)).astype(np.uint8)
    scene = rng.integers(0, 4, (90, 100)).astype(np.uint8)
    scene[10:70, 20:90] = template
    near = scene.copy()
    near[40, 50] = (near[40, 50] + 1) % 4
    measure = MI(bins=range(5), value_range=(0, 4))
    for dtype in (np.float32, np.float64):
        matcher = nuvmatch.Matcher(template, measure, dtype=dtype)
        perfect, other = matcher.score_map(scene), matcher.score_map(near)
        assert perfect[10, 20] == 0
        expected = naive.mutual_information_map(
            near[10:70, 20:90], template.astype(int), 4, (0, 4), "template"
        )
        error = 1e-9 if dtype == np.float64 else 1e-7
        assert other[10, 20] == pytest.approx(expected[0, 0], abs=error)
        away = np.indices(perfect.shape)[0] > 40
        assert np.array_equal(perfect[away], other[away])


@pytest.mark.compiled
def test_a_template_of_a_million_pixels(rng):
    """Counts of more than 16 bits."""
    image = rng.integers(0, 256, (1024, 1026)).astype(np.uint8)
    template = rng.integers(0, 2, (1024, 1024))
    template[image[:, 2:] > 99] = 1
    measure = MI(bins=[0, 1, 2], value_range=(0, 256))
    expected = []
    for i in range(3):
        greys = np.searchsorted([128], image[:, i : 1024 + i].ravel(), side="right")
        labels = template.ravel()
        expected.append(1 - information(labels, greys) / information(labels, labels))
    for dtype, error in ((np.float32, 3e-7), (np.float64, 1e-9)):
        scores = nuvmatch.score_map(image, template, measure, dtype=dtype)
        assert_allclose(scores[0], expected, rtol=0, atol=error)
