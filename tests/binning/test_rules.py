"""Rules for the number of bins, against NumPy, the formulas and the propositions."""

import numpy as np
import pytest

from nuvmatch import binning, theory


@pytest.mark.parametrize(
    ("distinct", "sturges", "rice", "sqrt"),
    [(1, 1, 1, 1), (2, 2, 2, 2), (8, 4, 4, 3), (64, 7, 8, 8), (65, 8, 9, 9), (1000, 11, 20, 32)],
)
def test_rules_that_count_distinct_levels(distinct, sturges, rice, sqrt):
    values = np.repeat(np.arange(distinct), 3)
    assert binning.number_of_bins(values, "sturges") == sturges
    assert binning.number_of_bins(values, "rice") == rice
    assert binning.number_of_bins(values, "sqrt") == sqrt


@pytest.mark.parametrize("rule", ["scott", "fd"])
@pytest.mark.parametrize("scale", [1, 0.01, 100.0])
def test_rules_by_width_count_as_numpy(rule, scale, rng):
    for values in (rng.standard_normal(500) * scale, rng.integers(0, 99, 300) * scale):
        numpys = np.histogram_bin_edges(values, rule).size - 1
        assert binning.number_of_bins(values, rule) == min(numpys, np.unique(values).size)


@pytest.mark.parametrize("rule", ["scott", "fd"])
def test_bins_of_whole_numbers_are_no_narrower_than_one(rule, rng):
    """As NumPy has it from 2.1 on: so many values would make narrower ones."""
    values = rng.binomial(12, 0.5, 4000)
    assert binning.number_of_bins(values, rule) == np.ptp(values)


def test_rules_by_width_survive_what_would_fill_the_memory():
    values = np.concatenate([np.linspace(0, 1e-9, 50), [1e9]])
    assert binning.number_of_bins(values, "fd") == 51
    assert binning.number_of_bins([0] * 90 + [1, 2, 3, 4], "fd") == 4  # no spread: Sturges
    assert binning.number_of_bins([5, 5, 5], "scott") == 1


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match=r"'doane'.*'sturges'"):
        binning.number_of_bins([1, 2], "doane")


@pytest.mark.parametrize("sigma", [0.05, 0.5, 5])
def test_the_automatic_number_separates_most_whatever_the_noise(sigma, rng):
    values = rng.integers(0, 40, 150)
    cross = np.cov(rng.standard_normal((np.unique(values).size, 99)))
    separations = []
    for bins in range(2, 40):
        labels = binning.optimal(values, bins, cross=cross).labels
        separations.append(theory.separation(values, labels, cross, sigma))
    assert binning.number_of_bins(values, "auto", cross=cross) == np.argmax(separations) + 2


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_the_automatic_number_is_that_of_levels_without_their_offset(offset, rng):
    values = rng.random(400)
    number = binning.number_of_bins(values, "auto")
    assert binning.number_of_bins(values + offset, "auto") == number


def test_the_automatic_number_of_few_levels_or_pixels():
    assert binning.number_of_bins([5, 5, 5], "auto") == 1
    assert binning.number_of_bins([0, 1] * 20, "auto") == 2
    assert binning.number_of_bins([0, 1, 7], "auto") == 2
