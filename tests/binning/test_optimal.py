"""The exact binner and the objective, against brute force and the definition."""

import kmeans1d
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import binning
from nuvmatch.binning import Curves
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
    assert_allclose(naive.objective(values, cut.labels, cross), best, rtol=1e-9, atol=1e-9)
    assert cut.counts.size == min(bins, size)
    assert len(cuts) + 1 == cut.counts.size


@pytest.mark.parametrize("bins", [1, 2, 3, 4, 5, 12])
def test_optimal_for_twelve_levels(bins, rng):
    values = np.repeat(np.arange(12), rng.integers(1, 4, 12))
    cross = np.cov(rng.standard_normal((12, 40)))
    best, cuts = naive.best_objective(values, cross, bins)
    cut = binning.optimal(values, bins, cross=cross)
    assert_allclose(naive.objective(values, cut.labels, cross), best, rtol=1e-12)
    assert_array_equal(cut.edges[1:-1], cuts)


@given(seeds, st.integers(1, 8))
def test_one_table_has_the_optimum_for_every_number_of_bins(seed, most):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 8)
    levels = binning.Levels.of(values)
    cross = random_cross(rng, levels.levels.size)
    form = levels.form(cross)
    objectives, _ = best_partitions(form, min(most, levels.levels.size))
    one_bin, _ = naive.best_objective(values, cross, 1)
    for bins, objective in enumerate(objectives, 1):
        alone, _ = best_partitions(form, bins)
        assert objective == alone[-1]
        expected, _ = naive.best_objective(values, cross, bins)
        assert_allclose(objective - objectives[0], expected - one_bin, rtol=1e-9, atol=1e-9)


@given(seeds, st.integers(1, 9))
def test_no_binner_explains_more_than_optimal(seed, bins):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 30)
    cross = random_cross(rng, np.unique(values).size)
    binners = {
        "kmeans": binning.kmeans(values, bins),
        "greedy": binning.greedy(values, bins, cross=cross),
        "equal width": binning.equal_width(values, bins),
        "equal frequency": binning.equal_frequency(values, bins),
    }
    for name, cut in binners.items():
        best = binning.optimal(values, cut.counts.size, cross=cross)
        most = naive.objective(values, best.labels, cross)
        assert naive.objective(values, cut.labels, cross) <= most + 1e-9 * abs(most) + 1e-9
        if name in ("kmeans", "greedy"):  # these make as many bins as are asked for
            assert cut.counts.size == min(bins, np.unique(values).size)


@pytest.mark.parametrize("bins", [1, 2, 5, 9])
def test_kmeans_is_the_special_case_of_tau_tau(bins, rng):
    values = rng.integers(0, 60, 200) / 7
    levels = np.unique(values)
    by_matrix = binning.optimal(values, bins, cross=np.outer(levels, levels))
    by_default = binning.optimal(values, bins)
    theirs = np.array(kmeans1d.cluster(values, bins).clusters)
    cost = sum(naive.squares(values[theirs == j]) for j in range(bins))
    for cut in (by_matrix, by_default):
        explained = binning.objective(values, cut.labels)
        assert_allclose((values**2).sum() - explained, cost, rtol=1e-9)
    assert_array_equal(by_default.labels, binning.kmeans(values, bins).labels)


@pytest.mark.parametrize("offset", [0, 1e3, 1e6, 1e7])
def test_an_offset_of_curves_costs_no_digits(offset, rng):
    """Nor does it change bins: the shift of a curve explains the same in all partitions."""
    values = np.round(rng.random(400) * 50)
    theirs = np.array(kmeans1d.cluster(values, 6).clusters)
    cost = sum(naive.squares(values[theirs == j]) for j in range(6))
    taus = np.unique(values) + offset
    for cross in (np.outer(taus, taus), Curves(taus[np.newaxis])):
        cut = binning.optimal(values + offset, 6, cross=cross)
        within = sum(naive.squares(values[cut.labels == j]) for j in range(6))
        assert within == pytest.approx(cost, rel=1e-9)


@given(seeds, st.integers(1, 6))
def test_the_low_rank_form_equals_the_matrix(seed, bins):
    rng = np.random.default_rng(seed)
    values = random_values(rng, 15)
    samples = rng.standard_normal((4, np.unique(values).size))
    curves, matrix = Curves(samples), np.mean([np.outer(m, m) for m in samples], axis=0)
    assert_allclose(curves.to_matrix(), matrix, atol=1e-12)
    for binner in (binning.optimal, binning.greedy):
        short, plain = (binner(values, bins, cross=cross) for cross in (curves, matrix))
        assert_array_equal(short.labels, plain.labels)
        expected = naive.objective(values, short.labels, matrix)
        found = binning.objective(values, short.labels, curves)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


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

    def explained(cut):
        """The objective without its matrix, which would have 81 million entries."""
        ordered = cut.labels[np.argsort(values)]
        sums = np.array([np.bincount(ordered, curve) for curve in curves.samples])
        return (sums**2 / np.bincount(ordered)).sum() / len(sums)

    cut = binning.optimal(values, 6, cross=curves)
    assert cut.counts.size == 6
    # The docstring's bound: (bins - 1) groups of 9000 / 4096 pixels, rounded up, and r^2.
    reach = sum(np.ptp(curve) ** 2 for curve in curves.samples) / 3
    for other in (binning.kmeans(values, 6), binning.greedy(values, 6, cross=curves)):
        assert explained(other) <= explained(cut) + 5 * 4 * reach


def _objective(values, bins, cross):
    return binning.objective(values, np.zeros(len(values), int), cross)


@pytest.mark.parametrize("binner", [binning.optimal, binning.greedy, _objective])
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
