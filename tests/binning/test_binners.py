"""Binners against their definitions, brute force and other libraries."""

import kmeans1d
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import binning

BINNERS = [binning.equal_width, binning.equal_frequency, binning.kmeans]

small_levels = st.lists(st.integers(-20, 20), min_size=1, max_size=11)


def within(values, labels):
    return sum(naive.squares(np.asarray(values)[labels == j]) for j in np.unique(labels))


@pytest.mark.parametrize("binner", BINNERS)
@given(values=small_levels, bins=st.integers(1, 12))
def test_labels_counts_and_edges_tell_the_same(binner, values, bins):
    cut = binner(values, bins)
    assert 1 <= len(cut.counts) <= min(bins, len(set(values)))
    assert_array_equal(np.bincount(cut.labels), cut.counts)
    assert cut.counts.min() > 0
    assert cut.edges.size == cut.counts.size + 1
    assert (cut.edges[0], cut.edges[-1]) == (min(values), max(values))
    for value, label in zip(values, cut.labels, strict=True):
        last = label == cut.counts.size - 1
        assert cut.edges[label] <= value
        assert value <= cut.edges[label + 1] if last else value < cut.edges[label + 1]


@pytest.mark.parametrize("binner", BINNERS)
@given(values=small_levels, bins=st.integers(1, 12))
def test_the_objective_is_what_the_bins_explain(binner, values, bins):
    labels = binner(values, bins).labels
    squares = float((np.array(values) ** 2).sum())
    expected = squares - within(values, labels)
    assert_allclose(binning.objective(values, labels), expected, rtol=1e-9, atol=1e-9)


@given(values=small_levels, bins=st.integers(1, 11))
def test_kmeans_is_the_best_of_all_partitions(values, bins):
    levels, counts = np.unique(values, return_counts=True)
    bins = min(bins, levels.size)
    cost, cuts = naive.best_partition(levels, counts, bins)
    cut = binning.kmeans(values, bins)
    assert_allclose(within(values, cut.labels), cost, atol=1e-9)
    assert_array_equal(cut.edges[1:-1], levels[list(cuts)] if cuts else [])


@pytest.mark.compiled
@pytest.mark.parametrize("bins", [1, 2, 3, 8, 20])
@pytest.mark.parametrize(
    "kind", ["normal", "steep", "whole", "two scales", "far value", "far below"]
)
def test_kmeans_equals_another_exact_solver(kind, bins, rng):
    values = {
        "normal": rng.standard_normal(700),
        "steep": rng.random(700) ** 6 + 100,
        "whole": rng.integers(0, 256, 700),
        "two scales": np.concatenate([rng.random(350), 1e4 * rng.random(350)]),
        "far value": np.append(rng.standard_normal(255), 1e8),
        "far below": np.append(rng.standard_normal(255), -1e8),
    }[kind]
    theirs = np.array(kmeans1d.cluster(values, bins).clusters)
    ours = binning.kmeans(values, bins)
    assert ours.counts.size == bins
    assert_allclose(within(values, ours.labels), within(values, theirs), rtol=1e-9)


def test_among_equally_good_cuts_the_smaller_ones_win():
    assert binning.kmeans([0, 85, 170, 255], 3).edges.tolist() == [0, 85, 170, 255]
    assert binning.kmeans([-3, -1, 1, 3], 3).edges.tolist() == [-3, -1, 1, 3]
    assert binning.kmeans(np.arange(9) * 0.1, 2).edges[1] == 4 * 0.1


def test_equal_width_edges_are_those_of_linspace(rng):
    values = rng.random((20, 20)) * 7 - 3
    cut = binning.equal_width(values, 6)
    assert_array_equal(cut.edges, np.linspace(values.min(), values.max(), 7))
    assert_array_equal(cut.counts, np.histogram(values, cut.edges)[0])


def test_an_empty_bin_goes_to_its_lower_neighbour():
    cut = binning.equal_width([0, 1, 10], 5)
    assert cut.edges.tolist() == [0, 8, 10]
    assert cut.labels.tolist() == [0, 0, 1]


def test_equal_frequency_shares_distinct_values_evenly(rng):
    values = rng.permutation(24).reshape(4, 6)
    cut = binning.equal_frequency(values, 8)
    assert cut.counts.tolist() == [3] * 8
    assert_array_equal(cut.labels, values // 3)


def test_equal_frequency_keeps_ties_together():
    cut = binning.equal_frequency([0] * 80 + [1] * 15 + [2] * 5, 3)
    assert cut.edges.tolist() == [0, 1, 2]
    assert cut.counts.tolist() == [80, 20]


@given(values=small_levels, bins=st.integers(1, 8))
def test_equal_frequency_follows_midranks(values, bins):
    midranks = [sum(v < w for v in values) + sum(v == w for v in values) / 2 for w in values]
    expected = [int(bins * rank / len(values)) for rank in midranks]
    labels = binning.equal_frequency(values, bins).labels
    assert_array_equal(labels, np.unique(expected, return_inverse=True)[1])


@pytest.mark.parametrize("binner", BINNERS)
def test_a_single_level_is_a_single_bin(binner):
    cut = binner(np.full((2, 3), 7), 4)
    assert cut.labels.tolist() == [[0] * 3] * 2
    assert cut.edges.tolist() == [7, 7]


@pytest.mark.parametrize("binner", BINNERS)
@pytest.mark.parametrize(
    ("values", "bins", "error"),
    [
        ([], 2, ValueError),
        ([1, np.nan], 2, ValueError),
        ([1, np.inf], 2, ValueError),
        ([1, 2], 0, ValueError),
        ([1, 2], 2.5, TypeError),
        ([1, 2], True, TypeError),
        (["a", "b"], 2, TypeError),
        ([1j, 2], 2, TypeError),
        (None, 2, TypeError),
    ],
)
def test_binners_refuse_what_they_cannot_bin(binner, values, bins, error):
    with pytest.raises(error, match=r"values|bins"):
        binner(values, bins)
