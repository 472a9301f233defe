"""What curves explain, by a transform for each, is what they explain of slice sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SINGLE_TOLERANCE, TOLERANCE, model_map, planted_scene

from nuvmatch import AdaptiveNUV, CurvesNUV, LinearNUV
from nuvmatch.engine import for_each_tile, prepare
from nuvmatch.measures.template import Template

MODELS = [CurvesNUV(bins=4), CurvesNUV(bins=5, n_curves=2), AdaptiveNUV(bins=3), LinearNUV(bins=3)]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def scorer_of(template, model, mask=None):
    return model.prepare(Template.of(template, mask))


def planes_of(image):
    return image[None] if image.ndim == 2 else np.moveaxis(image, -1, 0)


def map_by(method, image, scorer, dtype, bad=None, n_threads=1):
    """A map by the way that is asked for."""
    shape = scorer._slices.shape
    planes = planes_of(image)
    extent = planes.shape[1] - shape[0] + 1, planes.shape[2] - shape[1] + 1
    out = np.empty(extent, dtype)
    own = prepare(planes, None if bad is None else ~bad, shape[0] * shape[1])
    for_each_tile(
        own, scorer._programs, scorer._score_in(own), out, n_threads, method, scorer._projections
    )
    return out


@every_model
@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_maps_equal_the_loops(model, channels, masked, dtype, rng):
    image, template = planted_scene(rng, (19, 26), (7, 6), dtype, channels=channels)
    mask = rng.random((7, 6)) < 0.7 if masked else None
    scorer = scorer_of(template, model, mask)
    if masked:
        expected = map_by("additions", image, scorer, np.float64)
    else:
        expected = model_map(scorer, image.astype(float))
    for kind, limit in ((np.float64, TOLERANCE), (np.float32, SINGLE_TOLERANCE)):
        found = map_by("projections", image, scorer, kind)
        assert_allclose(found, expected, rtol=0, atol=limit)


@every_model
def test_what_is_explained_but_for_rounding_scores_0(model, rng):
    image, template = planted_scene(rng, (60, 70), (9, 8), np.uint8)
    image[40:49, 50:58] = template
    scorer = scorer_of(template, model)
    found = map_by("projections", image, scorer, np.float64)
    expected = map_by("additions", image, scorer, np.float64)
    assert_array_equal(found == 0, expected == 0)
    assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_where_much_is_explained_but_for_rounding_slices_are_summed(rng):
    """Of a pattern that repeats itself, a window in four times nine is a copy."""
    tile = rng.integers(0, 255, (4, 9)).astype(np.uint8)
    image = np.tile(tile, (20, 9))
    scorer = scorer_of(image[:12, :18], CurvesNUV(bins=3, n_curves=2))
    found, expected = (
        map_by(way, image, scorer, np.float32) for way in ("projections", "additions")
    )
    assert_array_equal(found, expected)


@every_model
def test_what_gives_no_evidence_is_not_explained(model, rng):
    image, template = planted_scene(rng, (30, 40), (7, 6), np.float64)
    image[:12, :15] = 7.25
    image[20, 30] = np.nan
    bad = np.zeros(image.shape, np.bool_)
    bad[25, 8] = True
    scorer = scorer_of(template, model)
    found = map_by("projections", image, scorer, np.float64, bad)
    expected = map_by("additions", image, scorer, np.float64, bad)
    assert_array_equal(np.isnan(found), np.isnan(expected))
    assert np.isnan(expected).sum() > 100
    assert_allclose(found, expected, atol=TOLERANCE)


@every_model
@pytest.mark.parametrize("dtype", [np.uint16, np.float64])
def test_little_contrast_beside_much_costs_no_digits(model, dtype, rng):
    _, template = planted_scene(rng, (19, 26), (7, 6), np.uint8)
    image = rng.integers(30_000, 30_005, (40, 60)).astype(dtype)
    image[:, 30:] = rng.integers(0, 65_536, (40, 30))
    scorer = scorer_of(template, model)
    expected = model_map(scorer, image.astype(float))
    for kind, limit in ((np.float64, TOLERANCE), (np.float32, SINGLE_TOLERANCE)):
        found = map_by("projections", image, scorer, kind)
        assert_allclose(found, expected, rtol=0, atol=limit)


@pytest.mark.compiled
def test_bits_do_not_depend_on_threads(rng):
    image, template = planted_scene(rng, (500, 700), (64, 64), np.uint8)
    scorer = scorer_of(template, AdaptiveNUV())
    one, three = (
        map_by("projections", image, scorer, np.float64, n_threads=number) for number in (1, 3)
    )
    assert_array_equal(one, three)
    assert_allclose(one, map_by("fourier", image, scorer, np.float64), rtol=0, atol=1e-11)


def test_limits_of_the_gain_need_slice_sums(rng):
    _, template = planted_scene(rng, (19, 26), (7, 6), np.uint8)
    assert scorer_of(template, CurvesNUV(bins=4, polarity="increasing"))._projections is None
