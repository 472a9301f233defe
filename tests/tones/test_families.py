"""Families of tone curves: their laws, their names, what they refuse."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import tones
from nuvmatch.tones.families import NAMED

LEVELS = np.linspace(0, 1, 21)
ALL = {
    **NAMED,
    "inverted": tones.Inverted(tones.Gamma()),
    "mixture": tones.Mixture([tones.Gamma(), tones.Smooth()], [3, 1]),
    "gaussian": tones.Gaussian(LEVELS, np.eye(21)),
    "spherical": tones.Spherical(0.1),
    "pairs": tones.FromPairs([(np.arange(256, dtype=np.uint8), np.arange(256) ** 2)]),
    "function": tones.FromFunction(lambda levels, rng: levels * rng.random()),
}


@pytest.mark.parametrize("family", ALL.values(), ids=ALL)
def test_every_family_samples_curves_from_seed_or_generator(family):
    curves = family.sample(LEVELS, 7, 3)
    assert curves.shape == (7, 21)
    assert np.isfinite(curves).all()
    assert_array_equal(family.sample(LEVELS, 7, np.random.default_rng(3)), curves)
    assert not np.array_equal(family.sample(LEVELS, 7, 4), curves)
    assert isinstance(family, tones.Family)
    for n in (0, 1):
        assert family.sample(LEVELS, n, 0).shape == (n, 21)


WRITTEN = {name: family for name, family in ALL.items() if name != "function"}


@pytest.mark.parametrize("family", WRITTEN.values(), ids=WRITTEN)
def test_what_a_family_prints_makes_it_again(family):
    again = eval(repr(family), {"tones": tones})
    assert repr(family).startswith("tones.")
    assert again == family
    assert hash(again) == hash(family)
    assert_array_equal(again.sample(LEVELS, 5, 1), family.sample(LEVELS, 5, 1))
    assert all(other != family for name, other in ALL.items() if ALL[name] is not family)


def test_families_compare_by_content_and_hold_nothing_that_changes(rng):
    mean, covariance = [0.1, 0.9], np.eye(2)
    families, weights = [tones.Gamma(), tones.Smooth()], [3, 1]
    gaussian, mixture = tones.Gaussian(mean, covariance), tones.Mixture(families, weights)
    assert gaussian == tones.Gaussian((0.1, 0.9), ((1, 0), (0, 1)))
    assert gaussian != tones.Gaussian([0.1, 0.8], covariance)
    assert mixture == tones.Mixture(tuple(families), (3, 1))
    mean[0], covariance[0, 0], weights[0] = 5, 9, 7
    families.pop()
    assert gaussian == tones.Gaussian([0.1, 0.9], np.eye(2))
    assert (mixture.weights, len(mixture.families)) == ((3, 1), 2)
    image, shown = rng.integers(0, 256, (2, 6, 7))
    learnt = tones.FromPairs([(image, shown)])
    assert learnt == tones.FromPairs([(image.copy(), shown.copy())])
    assert learnt != tones.FromPairs([(image, 255 - shown)])
    assert len({learnt, tones.FromPairs([(image, shown)])}) == 1
    before = repr(learnt)
    image[:] = shown[:] = 3
    assert repr(learnt) == before


def test_gamma_curves_are_powers():
    curves = tones.Gamma(2, 3).sample(LEVELS, 500, 0)
    gammas = np.log(curves[:, 10]) / np.log(0.5)
    assert_allclose(curves, LEVELS ** gammas[:, None])
    assert 2 <= gammas.min() < 2.01 < 2.99 < gammas.max() <= 3
    logarithmic = tones.Gamma(0.25, 4, log=True).sample(LEVELS, 2000, 0)[:, 10]
    assert_allclose(np.mean(logarithmic > 0.5), 0.5, atol=0.05)  # γ < 1 as often as γ > 1


def test_exposure_clips_and_sigmoid_has_its_centre():
    exposed = tones.Exposure((2, 2.0001), (-0.5, -0.4999)).sample(LEVELS, 3, 0)
    assert_allclose(exposed, np.clip(2 * LEVELS - 0.5, 0, 1)[None].repeat(3, 0), atol=1e-3)
    curves = tones.Sigmoid((10, 10.001), (0.3, 0.3001)).sample(np.array([0.3, 0.5]), 4, 0)
    assert_allclose(curves, [[0.5, 1 / (1 + np.exp(-2))]] * 4, atol=1e-3)


def test_monotone_curves_rise_from_0_to_1():
    curves = tones.Monotone(5).sample(LEVELS, 100, 0)
    assert (np.diff(curves) >= -1e-15).all()
    assert_allclose(curves[:, [0, -1]], [[0, 1]] * 100)
    knots = tones.Monotone(4).sample(LEVELS, 3, 0)
    assert_allclose(knots[:, 1], 0.8 * knots[:, 0] + 0.2 * knots[:, 5])  # straight between


def test_smooth_curves_have_the_covariance_that_is_stated():
    length, levels = 0.3, np.array([0.1, 0.35, 0.8])
    curves = tones.Smooth(length).sample(levels, 40_000, 0)
    k = np.arange(1, 40)[:, None]
    waves = np.exp(-((np.pi * k * length) ** 2) / 4) * np.cos(np.pi * k * levels)
    assert_allclose(np.cov(curves.T), waves.T @ waves, atol=0.02)


def test_inverted_and_mixture_are_made_of_their_families():
    gamma = tones.Gamma()
    assert_allclose(tones.Inverted(gamma).sample(LEVELS, 3, 1), 1 - gamma.sample(LEVELS, 3, 1))
    mixed = tones.Mixture([tones.Spherical(0), tones.Inverted(tones.Spherical(0))], [1, 3])
    curves = mixed.sample(LEVELS, 40, 0)
    assert_allclose(curves[:10], [LEVELS] * 10)
    assert_allclose(curves[10:], [1 - LEVELS] * 30)


def test_a_family_of_a_mixture_may_be_dealt_no_curve():
    class Listed:
        def sample(self, levels, n, rng):
            return np.array([levels for _ in range(n)])

    for none in (lambda levels, rng: levels, Listed()):
        mixed = tones.Mixture([none, tones.Inverted(tones.Spherical(0))], [0, 1])
        assert_allclose(mixed.sample(LEVELS, 3, 0), [1 - LEVELS] * 3)


def test_weights_of_any_size_deal_their_shares():
    families = tones.Spherical(0), tones.Inverted(tones.Spherical(0))
    for weights in ([1e308, 1e308], [5e-324, 5e-324], iter([2, 2])):
        curves = tones.Mixture(families, weights).sample(LEVELS, 4, 0)
        assert_allclose(curves, [LEVELS, LEVELS, 1 - LEVELS, 1 - LEVELS])


def test_a_function_may_change_the_levels_it_is_given():
    def in_place(levels, rng):
        levels **= rng.uniform(1, 3)
        return levels

    expected = tones.FromFunction(lambda levels, rng: levels ** rng.uniform(1, 3))
    levels = LEVELS.copy()
    curves = tones.FromFunction(in_place).sample(levels, 5, 3)
    assert_array_equal(curves, expected.sample(LEVELS, 5, 3))
    assert_array_equal(levels, LEVELS)


def test_gaussian_and_spherical_have_their_moments(rng):
    root = rng.standard_normal((3, 3))
    family = tones.Gaussian([1, 2, 3], root @ root.T)
    curves = family.sample(np.arange(3.0), 50_000, 0)
    assert_allclose(curves.mean(axis=0), [1, 2, 3], atol=0.05)
    assert_allclose(np.cov(curves.T), root @ root.T, atol=0.15)
    deviations = tones.Spherical(0.2).sample(LEVELS, 20_000, 0) - LEVELS
    assert_allclose(np.cov(deviations.T), 0.04 * np.eye(21), atol=0.003)


def test_curves_are_learnt_from_pairs(rng):
    image = rng.integers(0, 256, (60, 60)).astype(np.uint8)
    family = tones.FromPairs([(image, 1 - (image / 255) ** 2)])
    curves = family.sample(LEVELS, 5, 0)
    assert_allclose(curves, [1 - LEVELS**2] * 5, atol=0.02)
    chart = np.array([0, 51, 255], np.uint8)
    few = tones.FromPairs([(chart, chart / 255)]).sample(LEVELS, 500, 0)  # half may be none of it
    for known in (chart[:1], chart[1:2], chart[2:], chart[:2], chart[::2], chart[1:], chart):
        curve = np.interp(LEVELS, np.rint(known / 255 * 63) / 63, known / 255)
        assert (abs(few - curve).max(axis=1) < 1e-9).any()
    shown = 1.0 - image
    shown[0, 0] = np.nan
    wide = tones.FromPairs([(image * 10.0, shown)], value_range=(0, 2550))
    assert_allclose(wide.sample(LEVELS, 2, 0), [1 - 255 * LEVELS] * 2, atol=4)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tones.Gamma(0, 1), ValueError, "low is 0"),
        (lambda: tones.Gamma(3, 2), ValueError, "high is 2"),
        (lambda: tones.Exposure(gain=(0, 1)), ValueError, "gain is 0"),
        (lambda: tones.Sigmoid(centre=3), TypeError, "centre is 3"),
        (lambda: tones.Monotone(0), ValueError, "pieces is 0"),
        (lambda: tones.Smooth(0), ValueError, "length is 0"),
        (lambda: tones.Gamma(1, np.inf), ValueError, "high is inf"),
        (lambda: tones.Smooth(20), ValueError, "length is 20"),
        (lambda: tones.Mixture(tones.Gamma()), TypeError, "Gamma.*sequence of families"),
        (lambda: tones.FromPairs([np.ones((3, 4))]), TypeError, r"pairs\[0\] is no pair"),
        (lambda: tones.FromPairs([5]), TypeError, "is a sequence of"),
        (lambda: tones.Gaussian([], np.zeros((0, 0))), ValueError, r"\(0, 0\).*not empty"),
        (lambda: tones.Gaussian([0, 0], [[1, 0.9], [0, 1]]), ValueError, "not symmetric.* 0.9"),
        (lambda: tones.Mixture([]), ValueError, "families is empty"),
        (lambda: tones.Mixture(iter([])), ValueError, "families is empty"),
        (lambda: tones.Gaussian([1, np.nan], np.eye(2)), ValueError, "mean holds NaN"),
        (lambda: tones.Mixture([tones.Gamma()], [1, 2]), ValueError, "2 for 1 families"),
        (lambda: tones.Mixture([tones.Gamma()], [0]), ValueError, "all 0"),
        (lambda: tones.Gaussian([1, 2], np.eye(3)), ValueError, r"\(3, 3\)"),
        (lambda: tones.Gaussian([1, 2], -np.eye(2)), ValueError, "negative eigenvalue"),
        (
            lambda: tones.Gaussian([1, 2], np.eye(2)).sample(LEVELS, 1, 0),
            ValueError,
            "2 levels; 21",
        ),
        (lambda: tones.Spherical(-1), ValueError, "sigma is -1"),
        (lambda: tones.FromPairs([]), ValueError, "pairs is empty"),
        (lambda: tones.FromPairs([(np.ones(3), np.ones(4))]), ValueError, r"pairs\[0\].*\(4,\)"),
    ],
)
def test_families_refuse_what_they_cannot_be(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (tones.Monotone(np.int64(8)), tones.Monotone(8)),
        (tones.Smooth(np.float32(0.25)), tones.Smooth(0.25)),
        (tones.Gamma(np.float64(0.5), np.int32(3), np.True_), tones.Gamma(0.5, 3.0, True)),
        (tones.Spherical(np.float64(0.1)), tones.Spherical(0.1)),
        (
            tones.Mixture([tones.Gamma()] * 2, np.array([0.5, 1.5])),
            tones.Mixture((tones.Gamma(), tones.Gamma()), (0.5, 1.5)),
        ),
    ],
)
def test_numbers_of_any_kind_are_written_alike(given, plain):
    assert repr(given) == repr(plain)
    assert eval(repr(given), {"tones": tones}) == given == plain


@pytest.mark.parametrize(
    "make",
    [
        lambda: tones.Mixture((1, 2)),
        lambda: tones.Mixture([tones.Gamma()], 3),
        lambda: tones.Inverted(5),
        lambda: tones.Gamma(log=1),
        lambda: tones.Exposure(gain=(1, 2, 3)),
    ],
)
def test_what_is_no_family_or_no_number_is_refused_at_once(make):
    with pytest.raises(TypeError):
        make()


def test_pairs_have_a_short_name_of_their_own():
    greys = np.arange(9.0)
    pairs, same, other = (
        tones.FromPairs([(greys, greys), (greys, last)]) for last in (greys, greys + 0, greys**2)
    )
    assert re.fullmatch(r"tones\.FromPairs\(<2 pairs, [0-9a-f]{8}>\)", str(pairs))
    assert str(pairs) == str(same) != str(other)
