"""Tone models against loops, closed forms and SciPy, and by their nature."""

import itertools

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import (
    SINGLE_TOLERANCE,
    TOLERANCE,
    TONE_MODELS,
    TROUBLES,
    TYPES,
    levels,
    model_map,
    planted_scene,
    smooth_labels,
)
from scipy.optimize import isotonic_regression

import nuvmatch
from nuvmatch import NUV, AdaptiveNUV, CurvesNUV, LinearNUV, MonotoneNUV, tones
from nuvmatch.measures import BINNERS, Template
from nuvmatch.measures.models.curves import FewCurves, orthonormal
from nuvmatch.measures.models.monotone import MonotoneModel

every_model = pytest.mark.parametrize("model", TONE_MODELS)


def straight(levels, rng):
    return levels


def scorer_of(template, measure, mask=None):
    return measure.prepare(Template.of(template, mask))


def exact_map(image, template, measure, **options):
    return nuvmatch.score_map(image, template, measure, dtype=np.float64, **options)


@every_model
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("masked", [False, True])
def test_models_are_those_of_the_loops(model, dtype, masked, rng):
    image, template = planted_scene(rng, (19, 22), (8, 7), dtype)
    mask = rng.random((8, 7)) < 0.8 if masked else None
    expected = model_map(scorer_of(template, model(bins=4), mask), image)
    scores = exact_map(image, template, model(bins=4), mask=mask)
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@every_model
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 8])
def test_no_digit_is_lost(model, trouble, step, rng):
    """Of 700 windows, for which the loops take their time, all or one out of eight."""
    image, template = TROUBLES[trouble](rng), levels(rng)
    expected = model_map(scorer_of(template, model(bins=4)), image.astype(float), step)
    known = ~np.isnan(expected)
    for dtype, tolerance in ((np.float64, TOLERANCE), (np.float32, SINGLE_TOLERANCE)):
        scores = nuvmatch.score_map(image, template, model(bins=4), dtype=dtype)
        assert_allclose(scores[known], expected[known], rtol=0, atol=tolerance)


@every_model
def test_colours_are_pooled(model, rng):
    image, template = planted_scene(rng, (17, 18), (7, 6), np.uint8, channels=3)
    expected = model_map(scorer_of(template, model(bins=4)), image)
    scores = exact_map(image, template, model(bins=4))
    assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@every_model
@pytest.mark.parametrize("gain", [1e-6, 1.0, 1e6])
def test_offsets_and_contrasts_cost_no_digits(model, gain, rng):
    image, template = planted_scene(rng, (17, 18), (7, 6), np.float64)
    image = gain * image + 1e6
    image[:, 9:] += 1e6 * gain
    matcher = nuvmatch.Matcher(template, model(bins=4))
    plain = matcher.score_map((image - 1e6) / gain)
    assert_allclose(matcher.score_map(image), plain, atol=1e-7 if gain < 1 else TOLERANCE)


@pytest.mark.compiled
@every_model
def test_large_templates_go_by_transforms_to_the_same_scores(model, rng):
    image = np.cumsum(rng.integers(-9, 10, (300, 310)), axis=1).astype(np.uint8)
    template = image[90:230, 100:240]
    scores = exact_map(image, template, model())
    scorer = scorer_of(template, model())
    labels = scorer.bins[0].labels
    for row, col in [(0, 0), (90, 100), (160, 170), (37, 111)]:
        window = image[row : row + 140, col : col + 140]
        fitted = np.array(scorer.tone_curve(window[None])[0].values)[labels]
        left = ((window - fitted) ** 2).sum() / naive.squares(window)
        if model is AdaptiveNUV:
            assert left <= scores[row, col] + 1e-12 <= 1 + 1e-12
        else:
            assert_allclose(scores[row, col], left, atol=TOLERANCE)


@every_model
@pytest.mark.parametrize(("scale", "moderate"), [(2.0**-560, 2.0**-60), (2.0**600, 2.0**60)])
def test_templates_of_any_magnitude(model, scale, moderate, rng):
    image, template = planted_scene(rng, (19, 22), (8, 7), np.float64)
    scores = exact_map(image, template * scale, model())
    assert_allclose(scores, exact_map(image, template * moderate, model()), atol=TOLERANCE)


# The models by their nature.


def test_one_straight_curve_is_ncc(rng):
    template = rng.integers(0, 5, (9, 8))
    image = rng.integers(0, 256, (40, 40)).astype(np.uint8)
    measure = CurvesNUV(tones=straight, bins=5, binning="equal_width")
    expected = exact_map(image, template, "ncc2")
    assert_allclose(exact_map(image, template, measure), expected, atol=1e-12)


def test_as_many_curves_as_bins_allow_is_piecewise_constant(rng):
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8)
    expected = exact_map(image, template, NUV(bins=6))
    scores = exact_map(image, template, CurvesNUV(bins=6, n_curves=5))
    assert_allclose(scores, expected, atol=1e-12)


def test_more_curves_and_fewer_constraints_never_raise_a_score(rng):
    image, template = planted_scene(rng, (40, 41), (9, 8), np.uint8)

    def scores(measure):
        return exact_map(image, template, measure)

    maps = [scores(CurvesNUV(n_curves=k)) for k in range(1, 8)]
    for fewer, more in itertools.pairwise(maps):
        assert (more <= fewer + 1e-12).all()
    for bound in (scores("nuv_monotone"), maps[-2]):
        assert (scores("nuv") <= bound + 1e-12).all()
    assert (scores(NUV(bins=16)) <= scores("nuv_adaptive") + 1e-12).all()
    either = scores("nuv_monotone")
    one = [scores(MonotoneNUV(polarity=p)) for p in ("increasing", "decreasing")]
    assert (either <= np.minimum(*one)).all()
    assert (either == np.minimum(*one)).mean() > 0.5  # else the gain has the other sign


def test_piecewise_linear_curves_are_perfect_matches_of_the_linear_model(rng):
    template = np.arange(256).reshape(16, 16) / 255
    edges = np.linspace(0, 1, 17)  # of slices; pieces meet at every fourth
    image = rng.random((40, 40)) * 200
    image[11:27, 5:21] = np.interp(template, edges[::4], [10, 80, 40, 100, 200])
    best = nuvmatch.locate(image, template, LinearNUV(bins=edges))[0]
    assert (best.row, best.col) == (11, 5)
    assert best.score < 0.02  # levels are told apart to a sixteenth of the range only
    assert best.score < nuvmatch.locate(image, template, NUV(bins=edges[::4]))[0].score / 5


@pytest.mark.parametrize(("polarity", "sign"), [("increasing", 1), ("decreasing", -1)])
def test_monotone_fits_are_those_of_isotonic_regression(polarity, sign, rng):
    template = rng.permutation(np.arange(42) % 7).reshape(6, 7)
    for _ in range(20):
        window = rng.integers(0, 50, (6, 7)) + 4 * sign * template
        groups = [window[template == level] for level in np.unique(template)]
        fit = isotonic_regression(
            [group.mean() for group in groups],
            weights=[group.size for group in groups],
            increasing=sign > 0,
        ).x
        left = sum(((group - grey) ** 2).sum() for group, grey in zip(groups, fit, strict=True))
        score = nuvmatch.score(window, template, MonotoneNUV(bins=7, polarity=polarity))
        assert_allclose(score, left / naive.squares(window), atol=1e-12)


@pytest.mark.parametrize("bins", [2, 5, 9])
def test_a_basis_is_orthonormal_beside_the_constant(bins, rng):
    counts = rng.integers(1, 30, bins)
    curves = rng.standard_normal((bins + 3, bins))
    curves[1] = 3 * curves[0] + 2
    basis = orthonormal(curves, counts)
    assert basis.shape == (bins - 1, bins)
    assert_allclose((basis * counts) @ basis.T, np.eye(bins - 1), atol=1e-12)
    assert_allclose(basis @ counts, 0, atol=1e-12)
    assert_allclose(basis[0], orthonormal(curves[:1], counts)[0])


@every_model
def test_degrees_of_freedom_are_what_a_model_explains_of_noise(model, rng):
    template, noise = rng.random((7, 8)), rng.standard_normal((40, 40))
    fitted = scorer_of(template, model(bins=5)).model
    explained = 55 * (1 - exact_map(noise, template, model(bins=5)).mean())
    if model is AdaptiveNUV:  # few curves are worth their penalty
        assert explained < fitted.degrees_of_freedom
    else:
        assert fitted.degrees_of_freedom == pytest.approx(explained, rel=0.1)
    assert isinstance(fitted, MonotoneModel) == (model is MonotoneNUV)
    assert isinstance(fitted, FewCurves) == (model in (LinearNUV, CurvesNUV, AdaptiveNUV))


def slices_of(template, measure):
    return nuvmatch.Matcher(template, measure).bins[0]


@pytest.mark.parametrize("binning", BINNERS)
@pytest.mark.parametrize(("model", "times"), [(AdaptiveNUV, 2), (LinearNUV, 4)])
def test_slices_are_finer_than_the_bins(model, times, binning, rng):
    template = rng.permutation(np.arange(288) // 7).reshape(18, 16).astype(np.uint8)
    for bins in (None, 5, 40):
        number = slices_of(template, NUV(bins=bins, binning=binning)).counts.size
        slices = slices_of(template, model(bins=bins, binning=binning)).counts.size
        assert slices == min(np.ceil(times * number), 41)  # each level has 7 pixels


def test_adaptive_slices_keep_given_edges(rng):
    template = rng.integers(0, 256, (12, 12)).astype(np.uint8)
    cut = slices_of(template, AdaptiveNUV(bins=[0, 20, 99, 256]))
    assert_array_equal(cut.labels, np.digitize(template, [20, 99]))
    assert cut.edges.tolist() == [0, 20, 99, 256]


@pytest.mark.compiled
def test_principal_curves_explain_most_of_their_family(rng):
    """Of all choices of curves for it: those of another family explain less of a gamma."""
    template = rng.random((20, 20))
    window = template**2.7

    def score(family):
        return nuvmatch.score(window, template, CurvesNUV(n_curves=2, bins=32, tones=family))

    assert score(tones.Gamma(0.25, 4, log=True)) < score(tones.Smooth()) / 3


@pytest.mark.parametrize("model", [CurvesNUV, AdaptiveNUV])
def test_curves_that_bins_cannot_show_explain_nothing(model, rng):
    """They go up and down within each slice, and are the same in all."""
    template = np.tile([0, 0.1, 4, 4.1, 8, 8.1], (4, 1))
    image = rng.integers(0, 99, (9, 9))
    jagged = model(bins=[0, 6, 9], tones=lambda levels, rng: np.array([0, 1] * 3))
    matcher = nuvmatch.Matcher(template, jagged)
    assert (matcher.score_map(image) == 1).all()
    (curve,) = matcher.locate(image)[0].tone_curves
    assert curve.values[0] == pytest.approx(curve.values[1])


def test_as_many_curves_as_pixels_allow_are_refused():
    with pytest.raises(ValueError, match="every window would match"):
        nuvmatch.Matcher([[0, 7, 9]], "nuv_linear")


# Tone curves.


def test_the_first_curve_is_free(rng):
    """Else windows that are worth none would all score 1, and the first of them be found."""
    template = rng.integers(0, 200, (7, 6)).astype(np.uint8)
    noise = rng.integers(0, 200, (40, 40)).astype(np.uint8)
    scores = nuvmatch.score_map(noise, template, "nuv_adaptive", dtype=float)
    one = nuvmatch.score_map(noise, template, AdaptiveNUV(n_curves=1), dtype=float)
    assert (scores <= one).all()
    assert (scores == one).mean() > 0.5  # of noise a second is seldom worth its price
    assert (scores < 1).all()


@pytest.mark.compiled
@pytest.mark.parametrize(("side", "penalty"), [(16, 0.16), (32, 0.16), (64, 0.04)])
def test_a_curve_costs_less_over_more_pixels(side, penalty, rng):
    template = rng.integers(0, 256, (side, side)).astype(np.uint8)
    factors = scorer_of(template, AdaptiveNUV()).model.factors
    assert_allclose(np.log(factors), penalty * np.arange(factors.size))


@every_model
@pytest.mark.parametrize("channels", [None, 3])
def test_tone_curves_are_what_the_model_fits(model, channels, rng):
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8, channels)
    matcher = nuvmatch.Matcher(template, model(bins=6))
    best = matcher.locate(image)[0]
    window = image[best.row : best.row + 9, best.col : best.col + 8].astype(float)
    assert len(best.tone_curves) == len(matcher.bins) == (channels or 1)
    left = 0.0
    for c, (curve, cut) in enumerate(zip(best.tone_curves, matcher.bins, strict=True)):
        greys = np.atleast_3d(template)[..., c]
        expected = [greys[cut.labels == k].mean() for k in range(cut.counts.size)]
        assert_allclose(curve.levels, expected)
        left += ((np.atleast_3d(window)[..., c] - np.array(curve.values)[cut.labels]) ** 2).sum()
    left /= naive.scatter(window, np.ones((9, 8), bool))
    if model is AdaptiveNUV:
        factors = scorer_of(template, model(bins=6)).model.factors
        assert np.isclose(best.score, left * factors, atol=1e-6).any()
    else:
        assert left == pytest.approx(best.score, abs=1e-6)


def test_huge_whole_numbers_keep_their_level(rng):
    """Tone curves and squared differences are of the greys themselves."""
    small = rng.integers(0, 200, (14, 16))
    image, template = small + 2**60, small[4:9, 5:11] + 2**60
    match = nuvmatch.locate(image, template, NUV(bins=3, binning="kmeans"))[0]
    (curve,) = match.tone_curves
    assert_allclose(curve.levels, curve.values, rtol=1e-15)
    assert min(curve.levels) >= 2**60
    assert match.gain == pytest.approx(1)


def test_bins_of_smooth_templates_lie_as_their_edges_say(rng):
    template = 3 * smooth_labels(rng, (20, 21), 60)
    for model in TONE_MODELS:
        cut = slices_of(template, model())
        assert_array_equal(np.digitize(template, cut.edges[1:-1]), cut.labels)
