"""Families of tone curves, and their cross-products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch
from nuvmatch import tones
from nuvmatch.tones.families import NAMED, scale_levels, sensor_range

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
    assert family.sample(LEVELS, 1, 0).shape == (1, 21)


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
        (lambda: tones.Mixture([]), ValueError, "families is empty"),
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


def test_the_cross_product_is_the_mean_of_outer_products():
    curves = tones.Gamma().sample(LEVELS, 50, 0)
    cross = tones.cross_product(tones.Gamma(), LEVELS, samples=50, normalize=False)
    assert_allclose(cross, np.mean([np.outer(m, m) for m in curves], axis=0))


def test_normalized_curves_are_centred_and_of_unit_variance_on_the_template():
    counts = np.arange(1, 22)
    cross = tones.cross_product(tones.Gamma(), LEVELS, counts=counts, samples=50)
    assert_allclose(counts @ cross, 0, atol=1e-9)
    assert_allclose(counts @ cross.diagonal() / counts.sum(), 1)


def test_curves_that_are_flat_on_the_template_are_left_out():
    def sometimes_flat(levels, rng):
        return levels * (rng.random() < 0.5)

    cross = tones.cross_product(sometimes_flat, LEVELS)
    straight = tones.cross_product(tones.Spherical(0), LEVELS)
    assert_allclose(cross, straight)
    with pytest.raises(ValueError, match="flat on the template's levels"):
        tones.cross_product(lambda levels, rng: levels * 0 + 3, LEVELS)


@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-200])
def test_the_contrast_of_curves_does_not_matter(scale):
    expected = tones.cross_product(lambda levels, rng: levels ** rng.uniform(1, 3), LEVELS)
    found = tones.cross_product(lambda levels, rng: scale * levels ** rng.uniform(1, 3), LEVELS)
    assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"family": "gamma"}, TypeError, "tones is 'gamma'"),
        ({"family": tones.Gamma}, TypeError, "tones is <class"),
        ({"family": lambda levels, rng: levels[:-1]}, ValueError, r"\(256, 20\)"),
        ({"family": lambda levels, rng: levels / 0}, ValueError, "NaN or infinity"),
        ({"family": lambda levels, rng: "up"}, TypeError, "a curve of tones is of type <U2"),
        ({"family": lambda levels, rng: None}, TypeError, "a curve of tones is None"),
        ({"family": lambda levels, rng: levels * 1j}, TypeError, "a curve of tones is of type"),
        ({"levels": LEVELS[None]}, ValueError, r"levels have shape \(1, 21\)"),
        ({"levels": [0.5, 0.2]}, ValueError, "sorted and distinct"),
        ({"counts": [1, 2]}, ValueError, r"counts have shape \(2,\)"),
        ({"counts": np.zeros(21)}, ValueError, "must be positive"),
        ({"samples": 0}, ValueError, "samples is 0"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_cross_product_of_bad_arguments_is_refused(change, error, message):
    arguments = {"family": tones.Gamma(), "levels": LEVELS, **change}
    with pytest.raises(error, match=message):
        tones.cross_product(**arguments)


@pytest.mark.parametrize(
    ("dtype", "greys", "value_range", "ends"),
    [
        (np.uint8, [10, 30], (0, 99), (0, 255)),
        (np.uint16, [10, 30], None, (0, 65535)),
        (np.float32, [0.2, 0.3], (0, 99), (0, 1)),
        (np.float32, [0.2, 1.1], (0, 99), (0, 99)),
        (np.float64, [-3, 5], None, (-3, 5)),
        (np.int16, [-3, 5], (-10, 10), (-10, 10)),
        (np.bool_, [0, 1], None, (0, 1)),
    ],
)
def test_levels_are_scaled_by_the_sensors_range(dtype, greys, value_range, ends):
    found = sensor_range(np.array(greys, float), np.dtype(dtype), value_range)
    assert found == ends
    assert_allclose(scale_levels(np.array(ends), found), [0, 1])
    assert_allclose(scale_levels(np.array([7.0]), (7, 7)), 0)


def test_the_matcher_bins_for_the_tones_that_are_expected(rng):
    """As its parts do, by hand: levels by the sensor's range, counts, curves, optimum."""
    template = rng.integers(0, 200, (9, 9)).astype(np.uint8)
    levels, counts = np.unique(template, return_counts=True)
    for family in (tones.Gamma(), lambda levels, rng: levels ** rng.uniform(1, 9)):
        cross = tones.cross_product(family, levels / 255, counts=counts)
        for name, binner in (
            ("optimal", nuvmatch.binning.optimal),
            ("greedy", nuvmatch.binning.greedy),
        ):
            expected = binner(template, 5, cross=cross)
            matcher = nuvmatch.Matcher(template, bins=5, binning=name, tones=family)
            assert_array_equal(matcher.labels, expected.labels)
    broad = nuvmatch.Matcher(template, bins=5).labels
    assert_array_equal(nuvmatch.Matcher(template, bins=5, tones=tones.BROAD).labels, broad)
    assert not np.array_equal(broad, expected.labels)


def test_a_template_of_tiny_contrast_is_cut_as_by_kmeans(rng):
    template = 0.5 + 1e-12 * rng.integers(0, 50, (8, 8))
    kmeans = nuvmatch.Matcher(template, binning="kmeans").labels
    assert_array_equal(nuvmatch.Matcher(template).labels, kmeans)


@pytest.mark.compiled
def test_a_template_of_many_levels_is_cut_as_one_of_its_groups(rng):
    """Within a two-thousandth of the pixels of the cuts of a template rounded to 12 bits."""
    template = rng.random((128, 128)) ** 2
    many = nuvmatch.Matcher(template, bins=6)
    few = nuvmatch.Matcher(np.round(template * 4095) / 4095, bins=6)
    assert_allclose(many.bin_edges, few.bin_edges, atol=2e-3)
    assert (many.bin_edges[0], many.bin_edges[-1]) == (template.min(), template.max())
    assert_array_equal(np.histogram(template, many.bin_edges)[0], many.counts)


def test_a_flat_channel_is_one_bin_whatever_the_tones(rng):
    template = rng.integers(0, 256, (6, 7, 3)).astype(np.uint8)
    template[..., 1] = 128
    counts = nuvmatch.Matcher(template, bins="auto").counts
    assert [len(c) > 1 for c in counts] == [True, False, True]
