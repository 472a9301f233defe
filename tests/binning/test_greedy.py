"""The greedy binner, against the paper's Algorithm 1 by its definition."""

import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import binning
from nuvmatch.binning.greedy import climb


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_greedy_climbs_as_the_definition_does(seed, bins):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 20)
    levels = binning.Levels.of(values)
    size = levels.levels.size
    bins = min(bins, size)
    square = rng.standard_normal((size, size))
    cross = square @ square.T
    form = levels.form(cross)
    start = np.sort(rng.permutation(size - 1)[: bins - 1]) + 1
    cuts = np.concatenate(([0], start, [size]))
    reached = climb(form.full_table(), form.counts, 1, cuts)
    expected, expected_cuts = naive.climb(values, cross, start)
    expected -= naive.objective(values, np.zeros(20, int), cross)
    assert_allclose(reached - form.mean_part(), expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(cuts[1:-1], expected_cuts)


def test_greedy_is_deterministic_and_gains_by_restarts(rng):
    values = rng.permutation(200)
    cross = np.cov(rng.standard_normal((200, 300)))
    once = binning.greedy(values, 9, cross=cross).labels
    assert_array_equal(binning.greedy(values, 9, cross=cross).labels, once)
    often = binning.greedy(values, 9, cross=cross, restarts=20).labels
    assert naive.objective(values, often, cross) >= naive.objective(values, once, cross)
    assert not np.array_equal(binning.greedy(values, 9, cross=cross, seed=5).labels, once)
