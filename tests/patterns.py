"""Labels for tests: of noise, and in patches as photographs have them."""

import numpy as np


def random_labels(rng, shape):
    """Labels 0, 1, .. without gaps, and -1 for some pixels but the first."""
    labels = rng.integers(0, 4, shape)
    counts = rng.random(shape) < 0.8
    counts[0, 0] = True
    packed = np.unique(labels[counts], return_inverse=True)[1]
    labels[:] = -1
    labels[counts] = packed
    return labels


def smooth_labels(rng, shape, bins):
    """Labels in patches of several pixels, as photographs have them."""
    coarse = rng.random((-(-shape[0] // 5), -(-shape[1] // 7)))
    fine = np.kron(coarse, np.ones((5, 7)))[: shape[0], : shape[1]] + 0.1 * rng.random(shape)
    return np.unique((bins * fine).astype(int), return_inverse=True)[1].reshape(shape)
