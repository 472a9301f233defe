"""Kernels of quadratic forms against the loops."""

import naive
import pytest

from nuvmatch.binning._quadratic import largest_entries


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 70])
def test_the_largest_entry_and_the_asymmetry_are_those_of_the_loops(size, rng):
    matrix = rng.standard_normal((size, size))
    matrix += matrix.T
    assert largest_entries(matrix) == naive.asymmetry(matrix)
    matrix[rng.integers(size), rng.integers(size)] -= 9
    assert largest_entries(matrix) == naive.asymmetry(matrix)
