"""Bins that hold at least so many values, against all partitions that do."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import binning
from nuvmatch.binning.greedy import climb, keep_apart

BINNERS = {
    "optimal": lambda values, bins, least: binning.optimal(
        values, bins, cross=np.ones((np.unique(values).size,) * 2), least=least
    ),
    "greedy": lambda values, bins, least: binning.greedy(values, bins, least=least),
    "kmeans": lambda values, bins, least: binning.kmeans(values, bins, least=least),
    "equal_width": lambda values, bins, least: binning.equal_width(values, bins, least=least),
    "equal_frequency": lambda values, bins, least: binning.equal_frequency(
        values, bins, least=least
    ),
}

seeds = st.integers(0, 2**32 - 1)


def random_values(rng, most):
    return rng.integers(0, rng.integers(1, most + 1), rng.integers(1, 3 * most))


def random_cross(rng, size):
    """A covariance, or an indefinite matrix."""
    square = rng.standard_normal((size, size))
    return square @ square.T if rng.integers(2) else square + square.T


def most_possible(values, bins, least):
    """The largest number of bins, up to some, into which there is a partition."""
    levels, counts = np.unique(values, return_counts=True)
    starts = np.concatenate(([0], np.cumsum(counts)))
    for number in range(min(bins, levels.size), 1, -1):
        for cuts in naive.partitions(levels, number):
            if np.diff(starts[[0, *cuts, levels.size]]).min() >= least:
                return number
    return 1


@given(seeds, st.integers(1, 6), st.integers(1, 5))
def test_optimal_is_the_best_of_all_partitions_that_hold_enough(seed, bins, least):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 8)
    cross = random_cross(rng, np.unique(values).size)
    number = most_possible(values, bins, least)
    best, _ = naive.best_objective(values, cross, number, least if number > 1 else 1)
    cut = binning.optimal(values, bins, cross=cross, least=least)
    assert cut.counts.size == number
    assert number == 1 or cut.counts.min() >= least
    assert_allclose(naive.objective(values, cut.labels, cross), best, rtol=1e-9, atol=1e-9)


@given(seeds, st.integers(1, 6), st.integers(1, 5))
def test_kmeans_is_the_best_of_all_partitions_that_hold_enough(seed, bins, least):
    values = random_values(np.random.default_rng(seed), 9)
    levels, counts = np.unique(values, return_counts=True)
    number = most_possible(values, bins, least)
    cost, cuts = naive.best_partition(levels, counts, number, least if number > 1 else 1)
    cut = binning.kmeans(values, bins, least=least)
    assert cut.counts.size == number
    within = sum(naive.squares(values[cut.labels == k]) for k in range(number))
    assert_allclose(within, cost, atol=1e-9)
    assert_array_equal(cut.edges[1:-1], levels[list(cuts)] if cuts else [])


@given(seeds, st.integers(2, 5), st.integers(1, 4))
def test_greedy_climbs_as_the_definition_does(seed, bins, least):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 24)
    levels = binning.Levels.of(values)
    bins = most_possible(values, bins, least)
    cross = random_cross(rng, levels.levels.size)
    form = levels.form(cross)
    places = np.arange(1, levels.levels.size)
    start = np.sort(rng.permutation(places)[: bins - 1])
    cuts = np.concatenate(([0], start, [levels.levels.size]))
    keep_apart(form.counts, least, cuts)
    assert np.diff(form.counts[cuts]).min() >= (least if bins > 1 else 1)
    expected, expected_cuts = naive.climb(values, cross, cuts[1:-1].copy(), least)
    reached = climb(form.full_table(), form.counts, least, cuts)
    expected -= naive.objective(values, np.zeros(24, int), cross)
    assert_allclose(reached - form.mean_part(), expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(cuts[1:-1], expected_cuts)


@pytest.mark.parametrize("binner", BINNERS.values(), ids=BINNERS)
@given(seed=seeds, bins=st.integers(1, 9), least=st.integers(1, 6))
def test_every_bin_holds_enough(binner, seed, bins, least):
    values = random_values(np.random.default_rng(seed), 30)
    cut = binner(values, bins, least)
    assert cut.counts.sum() == values.size
    assert cut.counts.size == 1 or cut.counts.min() >= least
    assert cut.counts.size <= bins


@pytest.mark.parametrize("binner", BINNERS.values(), ids=BINNERS)
def test_bins_of_one_value_are_the_default(binner):
    values = [0, 0, 0, 1, 1, 1, 2]
    assert binner(values, 3, 1).counts.tolist() == [3, 3, 1]
    assert binner(values, 3, 2).counts.tolist() == [3, 4]
    with pytest.raises(ValueError, match="least is 0"):
        binner(values, 3, 0)
