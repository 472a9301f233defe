"""Levels of values, and groups of them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nuvmatch.binning import Levels


@pytest.mark.parametrize(
    "values",
    [
        [[3, 5], [3, 9]],
        np.arange(300) % 7 - 3,  # counted, not sorted
        np.arange(300) % 7 + 0.25,
        np.arange(300) % 7 / 3,
        [0, 1e15, 3],
        [2**52 + 1, 2**52, 2**52 + 1],
        [1e-300, 0, 1e-300],
        np.array([True, False, True]),
    ],
)
def test_they_are_those_of_numpy(values):
    found = Levels.of(values)
    levels, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    assert_array_equal(found.levels, levels)
    assert_array_equal(found.index, index.ravel())
    assert_array_equal(found.counts, counts)
    assert found.shape == np.shape(values)
    assert Levels.of(found) is found


def test_joined_levels_go_by_the_lowest():
    found = Levels.of([1, 2, 2, 4, 8]).joined(np.array([True, False, True, False]))
    assert_array_equal(found.levels, [1, 4])
    assert_array_equal(found.counts, [3, 2])
    assert_array_equal(found.index, [0, 0, 0, 1, 1])


def test_groups_are_small_in_number_and_in_range(rng):
    """No group has more than 1/64 of either, as far as levels allow."""
    values = np.concatenate([rng.normal(0, 1, 5000), rng.normal(100, 0.01, 5000)])
    groups = Levels.of(values).grouped()
    assert groups.counts.sum() == values.size
    assert groups.counts.max() <= values.size / 64 + 1
    lowest, highest = np.full((2, groups.levels.size), np.inf)
    np.minimum.at(lowest, groups.index, values)
    np.minimum.at(highest, groups.index, -values)
    assert_array_equal(lowest, groups.levels)
    assert (-highest - lowest).max() <= np.ptp(values) / 64
    few = Levels.of(np.arange(256))
    assert few.grouped() is few
