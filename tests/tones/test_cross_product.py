"""The cross-product of a family of tone curves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nuvmatch import tones

LEVELS = np.linspace(0, 1, 21)


class Short:
    """A family with a level too few."""

    def sample(self, levels, n, rng):
        return np.ones((n, len(levels) - 1))


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


def test_an_error_does_not_write_what_curves_were_learnt_from(rng):
    image = rng.integers(0, 256, (60, 60)).astype(np.uint8)
    with pytest.raises(ValueError, match=r"of tones.FromPairs\(<1 pairs, .*>\) are flat") as caught:
        tones.cross_product(tones.FromPairs([(image, 0 * image)]), LEVELS)
    assert len(str(caught.value)) < 100


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
        ({"family": lambda levels, rng: levels[:-1]}, ValueError, r"\(20,\).*\(21,\)"),
        ({"family": lambda levels, rng: levels[: rng.integers(2, 99)]}, ValueError, r"\(21,\)"),
        ({"family": tones.Mixture([tones.Gamma(), Short()])}, ValueError, r"\(128, 20\)"),
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
