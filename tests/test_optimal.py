"""The exact binner and the greedy one, against brute force and against each other."""

import kmeans1d
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import binning, theory
from nuvmatch.binning import Curves
from nuvmatch.binning.greedy import climb
from nuvmatch.binning.optimal import best_partitions

seeds = st.integers(0, 2**32 - 1)


def random_cross(rng, size):
    """A covariance, an indefinite matrix, one of rank 1, or one of whole numbers with ties."""
    square = rng.standard_normal((size, size))
    return [
        square @ square.T,
        square + square.T,
        np.outer(square[0], square[0]),
        np.ones((size, size)) * rng.integers(1, 3) + np.eye(size),
    ][rng.integers(4)]


def random_values(rng, most):
    return rng.integers(0, rng.integers(1, most + 1), rng.integers(1, 3 * most))


@given(seeds, st.integers(1, 12))
def test_optimal_is_the_best_of_all_partitions(seed, bins):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 8)
    size = np.unique(values).size
    cross = random_cross(rng, size)
    best, cuts = naive.best_objective(values, cross, min(bins, size))
    cut = binning.optimal(values, bins, cross=cross)
    assert_allclose(cut.objective, best, rtol=1e-9, atol=1e-9)
    if np.linalg.matrix_rank(cross) == size:  # else rounding may tell equal ones apart
        assert_allclose(naive.objective(values, cut.labels, cross), best, rtol=1e-9, atol=1e-9)
    assert cut.counts.size == min(bins, size)
    assert len(cuts) + 1 == cut.counts.size


@pytest.mark.parametrize("bins", [1, 2, 3, 4, 5, 12])
def test_optimal_for_twelve_levels(bins, rng):
    values = np.repeat(np.arange(12), rng.integers(1, 4, 12))
    cross = np.cov(rng.standard_normal((12, 40)))
    best, cuts = naive.best_objective(values, cross, bins)
    cut = binning.optimal(values, bins, cross=cross)
    assert_allclose(cut.objective, best, rtol=1e-12)
    assert_array_equal(cut.edges[1:-1], cuts)


@given(seeds, st.integers(1, 9))
def test_one_table_has_the_optimum_for_every_number_of_bins(seed, most):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 12)
    levels = binning.Levels.of(values, random_cross(rng, np.unique(values).size))
    most = min(most, levels.levels.size)
    objectives, _ = best_partitions(levels.form, most)
    cross = levels.form  # the same form serves every number
    for bins in range(1, most + 1):
        alone, _ = best_partitions(cross, bins)
        assert objectives[bins - 1] == alone[-1]


@given(seeds, st.integers(1, 9))
def test_no_binner_explains_more_than_optimal(seed, bins):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 30)
    cross = random_cross(rng, np.unique(values).size)
    best = binning.optimal(values, bins, cross=cross)
    for binner in (binning.kmeans, binning.greedy):  # these make as many bins
        other = binner(values, bins, cross=cross)
        assert other.counts.size == best.counts.size
        assert other.objective <= best.objective + 1e-9 * abs(best.objective) + 1e-9
    for binner in (binning.equal_width, binning.equal_frequency):
        other = binner(values, bins, cross=cross)
        rival = binning.optimal(values, other.counts.size, cross=cross)
        assert other.objective <= rival.objective + 1e-9 * abs(rival.objective) + 1e-9


@pytest.mark.parametrize("bins", [1, 2, 5, 9])
def test_kmeans_is_the_special_case_of_tau_tau(bins, rng):
    values = rng.integers(0, 60, 200) / 7
    levels = np.unique(values)
    by_matrix = binning.optimal(values, bins, cross=np.outer(levels, levels))
    by_default = binning.optimal(values, bins)
    theirs = np.array(kmeans1d.cluster(values, bins).clusters)
    cost = (values**2).sum() - by_matrix.objective
    assert_allclose(cost, sum(naive.squares(values[theirs == j]) for j in range(bins)), rtol=1e-9)
    assert_allclose(by_default.objective, by_matrix.objective, rtol=1e-12)
    assert_array_equal(by_default.labels, binning.kmeans(values, bins).labels)


@given(seeds, st.integers(1, 6))
def test_the_low_rank_form_equals_the_matrix(seed, bins):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 15)
    curves = Curves(rng.standard_normal((4, np.unique(values).size)))
    for binner in (binning.optimal, binning.greedy, binning.equal_width):
        short, plain = (binner(values, bins, cross=cross) for cross in (curves, curves.to_matrix()))
        assert_array_equal(short.labels, plain.labels)
        assert_allclose(short.objective, plain.objective, rtol=1e-9, atol=1e-9)
        assert_allclose(
            binning.objective(values, short.labels, curves), short.objective, rtol=1e-9, atol=1e-9
        )


@given(seeds)
def test_the_objective_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 9)
    labels = rng.integers(-2, 3, values.shape)  # any labels, not only those of neighbours
    cross = random_cross(rng, np.unique(values).size)
    expected = naive.objective(values, labels, cross)
    assert_allclose(binning.objective(values, labels, cross), expected, atol=1e-9)
    levels = np.unique(values)
    expected = naive.objective(values, labels, np.outer(levels, levels))
    assert_allclose(binning.objective(values, labels), expected, atol=1e-9)


@given(seeds, st.integers(2, 5))
def test_greedy_climbs_as_the_definition_does(seed, bins):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 20)
    levels = binning.Levels.of(values)
    size = levels.levels.size
    bins = min(bins, size)
    square = rng.standard_normal((size, size))
    cross = square @ square.T
    form = binning.Levels.of(values, cross).form
    start = np.sort(rng.permutation(size - 1)[: bins - 1]) + 1
    cuts = np.concatenate(([0], start, [size]))
    reached = climb(form.whole_table(), form.counts, cuts)
    expected, expected_cuts = naive.climb(values, cross, start)
    assert_allclose(reached, expected, rtol=1e-9)
    assert_array_equal(cuts[1:-1], expected_cuts)


def test_greedy_is_deterministic_and_gains_by_restarts(rng):
    values = rng.permutation(200)
    cross = np.cov(rng.standard_normal((200, 300)))
    once = binning.greedy(values, 9, cross=cross)
    assert_array_equal(binning.greedy(values, 9, cross=cross).labels, once.labels)
    often = binning.greedy(values, 9, cross=cross, restarts=20)
    assert often.objective >= once.objective
    assert binning.greedy(values, 9, cross=cross, seed=5).objective != once.objective


@pytest.mark.parametrize("binner", [binning.optimal, binning.greedy])
def test_the_extremes(binner, rng):
    values = rng.integers(0, 6, 30)
    cross = np.cov(rng.standard_normal((6, 9)))
    assert binner(values, 1, cross=cross).edges.tolist() == [0, 5]
    assert binner(values, 6, cross=cross).counts.tolist() == np.bincount(values).tolist()
    assert binner(values, 99, cross=cross).counts.size == 6
    two = binner([[3, 3], [3, 8]], 2, cross=np.eye(2))
    assert two.labels.tolist() == [[0, 0], [0, 1]]
    assert two.edges.tolist() == [3, 8, 8]


def test_equal_objectives_take_the_smaller_cuts():
    flat = np.ones((6, 6))  # every binning explains the same
    assert binning.optimal(np.arange(6), 3, cross=flat).edges.tolist() == [0, 1, 2, 5]
    assert binning.optimal(np.arange(4) * 0.1, 2, cross=np.eye(4)).edges[1] == 0.1


@pytest.mark.compiled
def test_more_levels_than_the_table_takes_are_grouped(rng):
    values = rng.standard_normal(9000)
    grid = np.sort(values)
    curves = Curves(np.stack([np.sin(grid), np.tanh(3 * grid), grid]))
    cut = binning.optimal(values, 6, cross=curves)
    assert cut.counts.size == 6
    # The docstring's bound: (bins - 1) groups of 9000 / 4096 pixels, rounded up, and r^2.
    finer = binning.kmeans(values, 6, cross=curves)
    reach = sum(np.ptp(curve) ** 2 for curve in curves.samples) / 3
    assert cut.objective >= finer.objective - 5 * 4 * reach
    assert binning.greedy(values, 6, cross=curves).objective <= cut.objective + 5 * 4 * reach


@pytest.mark.parametrize("binner", [binning.optimal, binning.greedy, binning.kmeans])
@pytest.mark.parametrize(
    ("cross", "error", "message"),
    [
        (np.eye(3), ValueError, r"shape \(3, 3\).*4 distinct levels.*\(4, 4\)"),
        (np.ones(4), ValueError, r"shape \(4,\)"),
        (np.arange(16).reshape(4, 4), ValueError, "not symmetric"),
        (np.full((4, 4), np.nan), ValueError, "NaN or infinity"),
        (np.diag([1, 2, 3, np.inf]), ValueError, "NaN or infinity"),
        ("gamma", TypeError, "cross is of type"),
    ],
)
def test_a_cross_product_that_does_not_fit_is_refused(binner, cross, error, message):
    with pytest.raises(error, match=message):
        binner([5, 1, 3, 2, 2], 2, cross=cross)


def test_a_cross_product_may_be_of_any_rank_and_sign():
    for cross in (np.zeros((4, 4)), -np.eye(4), np.diag([1, -1, 1, -1])):
        assert binning.optimal([0, 1, 2, 3], 2, cross=cross).counts.size == 2


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"labels have shape \(2,\)"):
        binning.objective([1, 2, 3], [0, 1])
    with pytest.raises(ValueError, match="whole numbers"):
        binning.objective([1, 2], [0.0, 1.0])


@pytest.mark.parametrize("sigma", [0.05, 0.5, 5])
def test_the_automatic_number_separates_most_whatever_the_noise(sigma, rng):
    values = rng.integers(0, 40, 150)
    cross = np.cov(rng.standard_normal((np.unique(values).size, 99)))
    separations = []
    for bins in range(2, 40):
        labels = binning.optimal(values, bins, cross=cross).labels
        separations.append(theory.separation(values, labels, cross, sigma))
    assert binning.number_of_bins(values, "auto", cross=cross) == np.argmax(separations) + 2


def test_the_automatic_number_of_few_levels_or_pixels():
    assert binning.number_of_bins([5, 5, 5], "auto") == 1
    assert binning.number_of_bins([0, 1] * 20, "auto") == 2
    assert binning.number_of_bins([0, 1, 7], "auto") == 2
