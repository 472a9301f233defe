"""What is done to a whole score map."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit


@jit
def replace_nan(scores: NDArray[Any], value: float) -> None:
    """Put a value in place of NaN: in half the time that NumPy takes.

    Parameters
    ----------
    scores : ndarray of shape (rows, columns), changed

    Plain twin: ``naive.replace_nan``.
    """
    for y in range(scores.shape[0]):
        line = scores[y]
        for x in range(line.size):
            if np.isnan(line[x]):
                line[x] = value
