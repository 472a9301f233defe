"""What is done to a whole score map."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nuvmatch.engine import replace_nan


@pytest.mark.parametrize("value", [1.0, 0.25, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_but_nan_is_replaced(value, dtype, rng):
    scores = rng.random((9, 13)).astype(dtype)
    scores[rng.random(scores.shape) < 0.3] = np.nan
    scores[2, 3], scores[4, 5], scores[6, 7] = np.inf, -np.inf, -0.0
    expected = naive.replace_nan(scores, value)
    replace_nan(scores, value)
    assert_array_equal(scores, expected)
