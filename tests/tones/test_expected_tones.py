"""Bins of a template for the tones that are expected of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import NUV, Matcher, binning, tones


def labels(template, **options):
    (cut,) = Matcher(template, NUV(**options)).bins
    return cut.labels


def test_the_matcher_bins_for_the_tones_that_are_expected(rng):
    """As its parts do, by hand: levels by the sensor's range, counts, curves, optimum."""
    template = rng.integers(0, 200, (9, 9)).astype(np.uint8)
    levels, counts = np.unique(template, return_counts=True)
    for family in (tones.Gamma(), lambda levels, rng: levels ** rng.uniform(1, 9)):
        cross = tones.cross_product(family, levels / 255, counts=counts)
        for name, binner in (
            ("optimal", binning.optimal),
            ("greedy", binning.greedy),
        ):
            expected = binner(template, 5, cross=cross)
            (found,) = Matcher(template, NUV(bins=5, binning=name, tones=family)).bins
            assert_array_equal(found.labels, expected.labels)
            assert_array_equal(found.edges, expected.edges)
    broad = labels(template, bins=5)
    assert_array_equal(labels(template, bins=5, tones=tones.BROAD), broad)
    assert not np.array_equal(broad, expected.labels)


def test_the_range_of_levels_given_wins_over_that_of_the_type(rng):
    template = rng.integers(0, 200, (9, 9)).astype(np.uint8)
    levels, counts = np.unique(template, return_counts=True)
    cross = tones.cross_product(tones.Gamma(), (levels + 50) / 450, counts=counts)
    expected = binning.optimal(template, 5, cross=cross).labels
    found = labels(template, bins=5, tones=tones.Gamma(), levels_range=(-50, 400))
    assert_array_equal(found, expected)
    assert not np.array_equal(labels(template, bins=5, tones=tones.Gamma()), expected)


def test_a_template_of_tiny_contrast_is_cut_as_by_kmeans(rng):
    template = 0.5 + 1e-12 * rng.integers(0, 50, (8, 8))
    assert_array_equal(labels(template), labels(template, binning="kmeans"))


@pytest.mark.compiled
def test_a_template_of_many_levels_is_cut_as_one_of_its_groups(rng):
    """Within a two-thousandth of the pixels of the cuts of a template rounded to 12 bits."""
    template = rng.random((128, 128)) ** 2
    (many,) = Matcher(template, NUV(bins=6)).bins
    (few,) = Matcher(np.round(template * 4095) / 4095, NUV(bins=6)).bins
    assert_allclose(many.edges, few.edges, atol=2e-3)
    assert (many.edges[0], many.edges[-1]) == (template.min(), template.max())
    assert_array_equal(np.histogram(template, many.edges)[0], many.counts)


def test_a_flat_channel_is_one_bin_whatever_the_tones(rng):
    template = rng.integers(0, 256, (6, 7, 3)).astype(np.uint8)
    template[..., 1] = 128
    cuts = Matcher(template, NUV(bins="auto")).bins
    assert [cut.counts.size > 1 for cut in cuts] == [True, False, True]
