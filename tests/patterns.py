"""Labels and greys for tests: as photographs have them, and as they cost digits."""

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


def levels(rng):
    """A small template of few levels."""
    return np.round(rng.random((5, 6)), 1) * 100


def _greys(rng):
    return rng.standard_normal((24, 40))


def _in(part, of):
    """Greys, with a part of them set to a value, or made by a function of them."""

    def make(rng):
        greys = _greys(rng)
        greys[part] = of(greys[part]) if callable(of) else of
        return greys

    return make


def _hot_pixel(rng):
    greys = _in(np.s_[:9, :12], 2)(rng)  # flat windows beside it
    greys[20, 35] = 1e300
    return greys


def _sentinel(rng):
    greys = _greys(rng) * 1e-20
    greys[20, 35] = np.finfo(float).max
    return greys


def _plateaus(rng):
    greys = _in(np.s_[:, :10], 1e6)(rng)
    greys[:, 30:] = -1e6
    return greys


def _whole_plateau(rng):
    greys = rng.integers(0, 9, (24, 40))
    greys[:, 20:] += 2**28
    return greys


# Images that make sums lose digits, by what is bad about them.
RIGHT = np.s_[:, 20:]
TROUBLES = {
    "offset": lambda rng: _greys(rng) + 1e6,
    "negative offset": lambda rng: _greys(rng) - 1e6,
    "plateaus": _plateaus,
    "bright half": _in(RIGHT, 65535),
    "tiny contrast": lambda rng: 0.5 + 1e-9 * _greys(rng),
    "ramp": lambda rng: (np.arange(40) * 1e3 + _greys(rng)).astype(np.float32),
    "hot pixel": _hot_pixel,
    "hidden contrast": _in(RIGHT, lambda greys: greys * 1e-200),
    "sentinel": _sentinel,
    "subnormal": lambda rng: _greys(rng) * 1e-310,
    "step": _in(RIGHT, lambda greys: greys + 12_000),
    "whole plateau": _whole_plateau,
    "wide integers": lambda rng: rng.integers(0, 2**30, (24, 40)),
    "pedestal": lambda rng: rng.integers(60_000, 60_016, (24, 40)).astype(np.uint16),
    "two bright greys": lambda rng: rng.integers(254, 256, (24, 40)).astype(np.uint8),
    "saturated half": lambda rng: np.where(
        np.arange(40) < 20, 255, rng.integers(0, 256, (24, 40))
    ).astype(np.uint8),
}
