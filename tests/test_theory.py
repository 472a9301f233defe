"""The propositions, by simulation: numerator and denominator apart, ratios over many cases."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from nuvmatch import binning, theory, tones

D, BINS = 40, 5
VALUES = np.random.default_rng(7).integers(0, 15, D)  # with equal levels
LABELS = binning.kmeans(VALUES, BINS).labels
LEVELS, INDEX, COUNTS = np.unique(VALUES, return_inverse=True, return_counts=True)
WITHIN = np.eye(D) - np.array([(k == LABELS) / (k == LABELS).sum() for k in LABELS])
TOTAL = np.eye(D) - 1 / D


def squares(windows):
    """Numerator and denominator of the score of each window."""
    return ((windows @ WITHIN) ** 2).sum(axis=1), ((windows @ TOTAL) ** 2).sum(axis=1)


def assert_mean(sample, expected):
    """The expected value lies within the simulation's own error."""
    error = sample.std() / np.sqrt(len(sample))
    assert abs(sample.mean() - expected) < 4 * error


@pytest.fixture
def covariance(rng):
    root = rng.standard_normal((LEVELS.size, LEVELS.size)) / 3
    return root @ root.T


NOISES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "exponential": lambda rng, shape: rng.exponential(1, shape),
    "cauchy": lambda rng, shape: rng.standard_cauchy(shape),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_proposition_1_is_exact_for_exchangeable_noise(noise, rng):
    numerator, denominator = squares(noise(rng, (20_000, D)))
    assert_mean(numerator / denominator, theory.expected_noise(D, BINS))


def test_gaussian_noise_follows_the_beta_law(rng):
    numerator, denominator = squares(rng.standard_normal((5000, D)))
    law = theory.noise_distribution(D, BINS)
    assert scipy.stats.kstest(numerator / denominator, law.cdf).pvalue > 1e-3
    assert law.mean() == pytest.approx(theory.expected_noise(D, BINS))


def test_an_offset_of_all_curves_costs_no_digits():
    """Of whole numbers, which floats hold exactly."""
    levels = np.arange(LEVELS.size)
    told = [
        theory.expected_distorted(VALUES, LABELS, np.outer(levels + offset, levels + offset), 0.5)
        for offset in (0, 1e5, 6e7)
    ]
    assert_allclose(told, told[0], rtol=1e-12)


@pytest.mark.parametrize("sigma", [0, 0.3, 1.5])
def test_proposition_2_has_the_means_of_both_squares(sigma, covariance, rng):
    mean = rng.standard_normal(LEVELS.size)
    curves = rng.multivariate_normal(mean, covariance, 20_000)
    windows = curves[:, INDEX] + sigma * rng.standard_normal((20_000, D))
    numerator, denominator = squares(windows)
    cross = covariance + np.outer(mean, mean)
    total = COUNTS @ cross.diagonal() + sigma**2 * (D - 1) - COUNTS @ cross @ COUNTS / D
    assert_mean(denominator, total)
    assert_mean(numerator, theory.expected_distorted(VALUES, LABELS, cross, sigma) * total)


def test_ratios_of_means_are_means_of_ratios_over_many_cases(rng):
    """To the 0.1 % that the paper states, on average over cases of its kind."""
    measured, predicted = [], []
    for _ in range(400):
        d = int(rng.integers(100, 300))
        values = np.round(rng.random(d), 2)
        levels, index = np.unique(values, return_inverse=True)
        labels = binning.equal_width(values, 5).labels
        root = rng.standard_normal((levels.size, levels.size)) / np.sqrt(levels.size)
        mean = rng.standard_normal(levels.size)
        cross = root @ root.T + np.outer(mean, mean)
        sigma = rng.uniform(0.1, 2)
        curves = mean + rng.standard_normal((100, levels.size)) @ root.T
        windows = curves[:, index] + sigma * rng.standard_normal((100, d))
        centred = windows - windows.mean(axis=1, keepdims=True)
        sums = np.array([np.bincount(labels, w, 5) for w in centred])
        explained = (sums**2 / np.bincount(labels)).sum(axis=1)
        measured.append(np.mean(1 - explained / (centred**2).sum(axis=1)))
        predicted.append(theory.expected_distorted(values, labels, cross, sigma))
    assert abs(np.mean(predicted) / np.mean(measured) - 1) < 1e-3


def test_normalized_curves_make_the_mean_exact_without_noise(rng):
    family, levels = tones.Smooth(), np.linspace(0, 1, LEVELS.size)
    cross = tones.cross_product(family, levels, counts=COUNTS, samples=300, seed=3)
    curves = family.sample(levels, 300, np.random.default_rng(3))
    numerator, denominator = squares(curves[:, INDEX])
    expected = theory.expected_distorted(VALUES, LABELS, cross, 0)
    assert_allclose(np.mean(numerator / denominator), expected, rtol=1e-9)


@pytest.mark.parametrize("sigma", [0, 0.5])
def test_proposition_3_is_proposition_2_about_the_template(sigma, covariance, rng):
    curves = rng.multivariate_normal(LEVELS, covariance, 20_000)
    numerator, denominator = squares(curves[:, INDEX] + sigma * rng.standard_normal((20_000, D)))
    t = VALUES.astype(float)
    printed_total = (
        ((t @ TOTAL) ** 2).sum()
        + COUNTS @ covariance.diagonal()
        - COUNTS @ covariance @ COUNTS / D
        + sigma**2 * (D - 1)
    )
    assert_mean(denominator, printed_total)
    expected = theory.expected_localized(VALUES, LABELS, covariance, sigma)
    assert_mean(numerator, expected * printed_total)


def test_proposition_4_for_distinct_values(rng):
    t = rng.random(30)
    labels = binning.kmeans(t, 4).labels
    within = sum(((t[labels == k] - t[labels == k].mean()) ** 2).sum() for k in range(4))
    noise = 0.3**2 + 0.2**2
    printed = (within + noise * 26) / (30 * t.var() + noise * 29)
    assert_allclose(theory.expected_spherical(t, labels, 0.3, 0.2), printed)


def test_proposition_4_with_equal_values_is_proposition_3():
    expected = theory.expected_localized(VALUES, LABELS, 0.3**2 * np.eye(LEVELS.size), 0.2)
    assert_allclose(theory.expected_spherical(VALUES, LABELS, 0.3, 0.2), expected, rtol=1e-12)
    across = np.arange(D) % 3  # bins that part equal values
    expected = theory.expected_localized(VALUES, across, 0.3**2 * np.eye(LEVELS.size), 0.2)
    assert_allclose(theory.expected_spherical(VALUES, across, 0.3, 0.2), expected, rtol=1e-12)


def test_noise_beside_which_all_else_is_nothing_is_told_as_noise():
    cross = np.eye(LEVELS.size)
    for score in (
        theory.expected_distorted(VALUES, LABELS, cross, 1e140),
        theory.expected_localized(VALUES, LABELS, cross, 1e140),
        theory.expected_spherical(VALUES, LABELS, 1, 1e140),
    ):
        assert score == pytest.approx(theory.expected_noise(D, BINS))


def test_corollary_no_free_lunch(rng):
    """Spherical about 0: no binning tells the distorted template from noise."""
    t = rng.random(30)
    for bins in (2, 5, 9):
        labels = binning.equal_width(t, bins).labels
        expected = theory.expected_distorted(t, labels, 0.7 * np.eye(30), 0.4)
        assert_allclose(expected, theory.expected_noise(30, labels.max() + 1))


def test_separation_is_the_distance_of_the_two_means(covariance):
    apart = theory.separation(VALUES, LABELS, covariance, 0.5)
    noise, distorted = (
        theory.expected_noise(D, BINS),
        theory.expected_distorted(VALUES, LABELS, covariance, 0.5),
    )
    assert apart == noise - distorted
    best = binning.optimal(VALUES, BINS, cross=covariance).labels
    assert theory.separation(VALUES, best, covariance, 0.5) >= apart


def test_the_ideal_share_is_the_probability_of_the_assumption():
    share = theory.ideal_share(lambda w: w < 0.3, lambda rng: rng.random(), samples=20_000)
    assert share == pytest.approx(0.3, abs=0.015)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.expected_noise(1, 1), "d is 1"),
        (lambda: theory.expected_noise(5, 6), "b is 6"),
        (lambda: theory.noise_distribution(5, 1), "b is 1"),
        (lambda: theory.noise_distribution(5, 5), "b is 5"),
        (lambda: theory.expected_distorted([1, 2], [0, 1], np.eye(3), 1), r"\(3, 3\)"),
        (lambda: theory.expected_distorted([1, 2], [0, 1, 1], np.eye(2), 1), r"\(3,\)"),
        (lambda: theory.expected_localized([1, 2], [0, 1], 0.1, 1), r"shape \(\)"),
        (lambda: theory.expected_spherical([1, 2], [0, 1, 1], 1, 1), r"\(3,\)"),
        (lambda: theory.expected_distorted([1, 2], [0, 1], np.eye(2), -1), "sigma is -1"),
        (lambda: theory.expected_distorted([1, 2], [0, 1], np.ones((2, 2)), 0), "flat"),
        (lambda: theory.expected_distorted([1, 2], [0, 1], np.eye(2), 1e155), r"sigma is 1e\+155"),
        (lambda: theory.expected_distorted([1, 2], [0, 1], 1e300 * np.eye(2), 1), "of cross is 1e"),
        (lambda: theory.expected_localized([1, 1e155], [0, 1], np.eye(2), 1), "of values is 1e"),
        (lambda: theory.expected_spherical([1, 1e155], [0, 1], 1, 1), "of values is 1e"),
        (lambda: theory.expected_spherical([1, 2], [0, 1], 1e154, 1), "sigma_m is 1e"),
        (lambda: theory.ideal_share(bool, bool, samples=0), "samples is 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
