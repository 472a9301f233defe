"""Windows summed in two passes lose nothing at the ends of the ranges of floats and integers."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from patterns import random_labels

from nuvmatch.engine import Slices
from nuvmatch.engine.two_pass import two_pass_products, two_pass_sums

EXTREMES = {
    "floats": np.array([-1.7e308, 1.7e308, 0, 1e308]),
    "subnormals": np.array([0, 5e-324, 1e-323, 2e-323]),
    "integers": np.array([-(2**63), 2**63 - 1, 0, 2**62]),
    "neighbours": np.array([2**62, 2**62 + 1, 2**62 + 3, 2**62]),
}


def sums_of(raw, slices, ys, xs, firsts):
    """Sums, squares, units and means of the windows at the given places."""
    sums, means = np.zeros((slices.counts.size, ys.size)), np.zeros((slices.channels, ys.size))
    squares, unit = np.zeros((2, ys.size))
    two_pass_sums(raw, firsts, *slices.places, ys, xs, sums, squares, unit, means)
    return sums, squares, unit, means


@pytest.mark.parametrize("kind", EXTREMES)
def test_nothing_is_lost_at_the_ends_of_the_range(kind):
    raw = EXTREMES[kind].reshape(1, 2, 2)
    slices, here = Slices(np.array([[[0, 0], [1, 1]]])), np.zeros(1, np.int64)
    firsts = np.array([[float(raw[0, 0, 0]) + 7]])
    sums, squares, unit, means = sums_of(raw, slices, here, here, firsts)
    exact = [Fraction(grey.item()) for grey in raw.ravel()]
    mean = sum(exact) / 4
    centred = [grey - mean for grey in exact]
    scale = Fraction(unit[0])
    expected = [float((centred[0] + centred[1]) * scale), float((centred[2] + centred[3]) * scale)]
    assert_allclose(sums.ravel(), expected, rtol=1e-12)
    assert_allclose(squares[0], float(sum(grey**2 for grey in centred) * scale**2))
    assert_allclose(means[0, 0], float(mean + 7))

    template = np.array([[3.0, -1, -4, 2]])
    ys, xs = np.nonzero(np.ones((2, 2)))
    means[:], (squares, products, residuals, own_unit) = 0, np.zeros((4, 1))
    rest = means, squares, products, residuals, own_unit
    two_pass_products(raw, firsts, template, ys, xs, here, here, *rest)
    scale = Fraction(own_unit[0])
    assert_allclose(squares[0], float(sum(grey**2 for grey in centred) * scale**2))
    assert_allclose(means[0, 0], float(mean + 7))
    pairs = list(zip(centred, map(Fraction, template.ravel()), strict=True))
    covariance = sum(g * t for g, t in pairs)
    assert_allclose(products, float(covariance * scale), rtol=1e-12)
    slope = covariance / sum(t**2 for _, t in pairs)
    left = sum((g - slope * t) ** 2 for g, t in pairs)
    assert_allclose(residuals, float(left * scale**2), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_sums_and_products_of_named_windows_are_those_of_the_loops(dtype, rng):
    plane = rng.integers(0, 200, (9, 11)).astype(dtype)
    labels = random_labels(rng, (4, 5))
    mask, template = labels >= 0, rng.random((4, 5))
    ys, xs = np.array([0, 3, 5]), np.array([6, 2, 0])
    slices = Slices(labels[None])
    firsts = plane[None, ys + slices.places[1][0], xs + slices.places[2][0]].astype(float)
    sums, squares, unit, means = sums_of(plane[None], slices, ys, xs, firsts)
    assert_allclose(sums / unit, naive.slice_sums(plane, labels)[:, ys, xs], atol=1e-10)
    products, residuals, own_squares, own_unit = np.zeros((4, 3))
    centred, own_means = (template - template[mask].mean())[mask][None], np.zeros((1, 3))
    rest = own_means, own_squares, products, residuals, own_unit
    own = np.nonzero(mask)
    firsts = plane[None, ys + own[0][0], xs + own[1][0]].astype(float)
    two_pass_products(plane[None], firsts, centred, *own, ys, xs, *rest)
    assert_allclose(own_means, means)
    assert_allclose(own_squares / own_unit**2, squares / unit**2)
    for i, (y, x) in enumerate(zip(ys, xs, strict=True)):
        window = plane[y : y + 4, x : x + 5]
        assert means[0, i] == pytest.approx(window[mask].mean())
        assert squares[i] / unit[i] ** 2 == pytest.approx(naive.scatter(window, mask))
        expected = naive.covariance(window, template, mask)
        assert products[i] / own_unit[i] == pytest.approx(expected)
        expected = naive.residual(window, template, mask)
        assert residuals[i] / own_unit[i] ** 2 == pytest.approx(expected)
