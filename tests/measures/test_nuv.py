"""PWC nUV: what it is, that no way to it loses digits, and what adjusting it does."""

import naive
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SINGLE_TOLERANCE, TOLERANCE, TROUBLES, levels, planted_scene

import nuvmatch
from nuvmatch import NUV, CurvesNUV, LinearNUV, MonotoneNUV, WindowToPattern
from nuvmatch.engine import plan, sums
from nuvmatch.engine.additions import LANES

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("way", ["additions", "fourier", "small tiles", "masked", "float32 map"])
def test_no_way_to_the_sums_loses_digits(trouble, way, monkeypatch, rng):
    pixels, template = TROUBLES[trouble](rng), levels(rng)
    make_plan, method = sums.make_plan, "fourier" if way == "fourier" else "additions"
    monkeypatch.setattr(sums, "make_plan", lambda *given: make_plan(*given[:3], method))
    if way == "small tiles":
        monkeypatch.setattr(plan, "addition_tile", lambda slices: (3, LANES))
    mask = rng.random(template.shape) < 0.8 if way == "masked" else None
    single = way == "float32 map"
    matcher = nuvmatch.Matcher(template, mask=mask, dtype=np.float32 if single else np.float64)
    expected = naive.nuv_map(pixels.astype(float), matcher.bins[0].labels)
    tolerance = SINGLE_TOLERANCE if single else TOLERANCE
    assert_allclose(matcher.score_map(pixels), expected, rtol=0, atol=tolerance)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("dtype", "side", "share", "level", "seed"),
    [
        (np.float64, 32, 0.1, 60, 1),
        (np.float64, 200, 0.1, 47, 0),
        (np.float32, 64, 0.001, 47, 1),
        (np.float32, 200, 3e-4, 20, 0),
    ],
)
@pytest.mark.parametrize("masked", [True, False])
def test_many_terms_cost_no_digits(dtype, side, share, level, seed, masked):
    """Few levels, whose rounding is always to the same side, in long sums."""
    rng = np.random.default_rng(seed)
    template = (rng.random((side, side)) < share) * rng.integers(1, 4, (side, side))
    image = np.full((side, side + 40), level)
    image[:, -30:], image[0, -1] = 255, 0
    image[:, :side] -= (template > 0) & (rng.random(template.shape) < 0.7)
    mask = np.ones((side, side))
    mask[0, 0] = 0 if masked else 1
    pixels = (image / 255).astype(dtype)
    matcher = nuvmatch.Matcher(template, mask=mask)
    expected = naive.nuv_window(pixels[:, :side], matcher.bins[0].labels)
    tolerance = TOLERANCE if dtype == np.float64 else SINGLE_TOLERANCE
    assert abs(matcher.score_map(pixels)[0, 0] - expected) < tolerance


def test_a_long_vector_loses_no_digits(rng):
    template = rng.integers(0, 4, 10_000)
    window = 0.7 + 0.01 * (rng.random(10_000) < 0.1)
    window[0] = -1
    labels = nuvmatch.binning.kmeans(template, 4).labels
    expected = naive.nuv_window(window[None], labels[None])
    assert abs(nuvmatch.score(window, template, NUV(bins=4)) - expected) < TOLERANCE


@pytest.mark.parametrize("side", [8, 40])
def test_few_dark_greys_of_a_bright_image_are_told_apart(side, rng):
    """Rounded, all pixels of one grey would be off alike."""
    pattern = rng.integers(0, 4, (side, side))
    pixels = np.zeros((side + 4, side + 4), np.float32)
    pixels[:side, :side] = np.array([0, 2, 3, 5])[pattern] * 1e-3
    pixels[-1, -1] = 1
    scores = nuvmatch.score_map(pixels, pattern, NUV(bins=[0, 2, 3.5]))
    expected = naive.nuv_window(pixels[:side, :side], (pattern >= 2).astype(int))
    assert_allclose(scores[0, 0], expected, atol=SINGLE_TOLERANCE)


def test_a_perfect_match_of_floats_under_a_mask_scores_zero(rng):
    dots = rng.random((77, 77)) < 0.02
    mask = rng.random((70, 70)) < 0.5
    matcher = nuvmatch.Matcher(dots[4:74, 1:71], NUV(bins=2), mask=mask)
    assert matcher.score_map(dots * 0.1)[4, 1] <= 1e-12


def test_integers_of_a_wider_image_give_the_same_bits(rng):
    pixels = rng.integers(0, 100, (60, 80)).astype(np.uint16)
    pixels[50:, 60:] = 60000
    matcher = nuvmatch.Matcher(np.arange(63).reshape(7, 9) % 5, dtype=np.float64)
    assert_array_equal(matcher.score_map(pixels)[:34, :42], matcher.score_map(pixels[:40, :50]))


def test_bins_of_a_matcher_given_as_edges_are_the_same_bits(rng):
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8)
    matcher = nuvmatch.Matcher(template)
    again = nuvmatch.Matcher(template, NUV(bins=matcher.bins[0].edges))
    assert_array_equal(again.score_map(image), matcher.score_map(image))
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8, channels=3)
    matcher = nuvmatch.Matcher(template)
    again = nuvmatch.Matcher(template, NUV(bins=[cut.edges for cut in matcher.bins]))
    assert_array_equal(again.score_map(image), matcher.score_map(image))


# By its nature.


def test_it_is_the_f_test_of_an_analysis_of_variance(rng):
    """Bins are the groups: ``D = 1 / (1 + F (b - 1) / (d - b))``."""
    image, labels = rng.random((9, 10)), np.arange(30).reshape(5, 6) % 4
    scores = nuvmatch.score_map(image, labels)
    for place, window in naive.windows(image, (5, 6)):
        f = scipy.stats.f_oneway(*(window[labels == j] for j in range(4))).statistic
        assert_allclose(scores[place], 1 / (1 + f * 3 / 26), rtol=1e-9)


@given(seeds)
def test_any_change_of_tones_is_found(seed):
    """The image shows each level of the template as any grey of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, (6, 6))
    labels.flat[:4] = range(4)
    image = rng.random((20, 22))
    image[7:13, 9:15] = (rng.permutation(4) + rng.random(4) / 4)[labels]
    match = nuvmatch.locate(image, labels * 85)[0]
    assert (match.row, match.col) == (7, 9)
    assert match.score <= 1e-12


@given(seeds, st.integers(3, 12))
def test_a_finer_binning_never_scores_higher(seed, levels):
    rng = np.random.default_rng(seed)
    image, template = rng.random((9, 10)), rng.integers(0, levels, (5, 6))
    template.flat[:levels] = range(levels)
    edges = np.arange(levels)
    coarse = nuvmatch.score_map(image, template, NUV(bins=[*edges[:2], levels]))
    fine = nuvmatch.score_map(image, template, NUV(bins=[*edges, levels]))
    assert (fine <= coarse + 1e-12).all()


@given(seeds)
def test_two_level_templates_score_as_squared_ncc(seed):
    rng = np.random.default_rng(seed)
    image, template = rng.random((10, 11)), (rng.random((5, 4)) < 0.5).astype(float)
    template.flat[:2] = 0, 1
    nuv = nuvmatch.score_map(image, template)
    assert_allclose(nuv, nuvmatch.score_map(image, template, "ncc2"), atol=1e-9)


# Adjusted scores.


@pytest.mark.compiled
@pytest.mark.parametrize("model", [NUV, LinearNUV, MonotoneNUV, CurvesNUV])
@pytest.mark.parametrize(("side", "bins"), [(5, 3), (9, 12)])
def test_adjusted_scores_have_mean_1_on_noise(model, side, bins, rng):
    template = rng.random((side, side))
    noise = rng.standard_normal((400, 400)).astype(np.float32)
    scores = nuvmatch.score_map(noise, template, model(bins=bins, adjusted=True))
    assert scores.mean() == pytest.approx(1, abs=0.01)
    plain = nuvmatch.score_map(noise, template, model(bins=bins))
    assert scores.max() > 1
    assert_allclose(scores / plain, (scores / plain)[0, 0], rtol=1e-5)
    if model is NUV:  # Proposition 1
        d = side * side
        assert_allclose(scores / plain, (d - 1) / (d - bins), rtol=1e-5)


@pytest.mark.parametrize("fill_value", [1.0, 0.5, np.nan])
def test_adjusting_leaves_no_evidence_and_perfect_matches_as_they_are(fill_value, rng):
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8)
    image[15:24, 1:9] = np.where(template > np.median(template), 9, 4)
    measure = NUV(bins=[0, np.median(template) + 1, 255], adjusted=True)
    scores = nuvmatch.score_map(image, template, measure, fill_value=fill_value, dtype=float)
    assert_array_equal(scores[0, 0], fill_value)
    assert scores[15, 1] == 0


@pytest.mark.compiled
def test_adjusted_scores_backwards_have_mean_1_on_noise(rng):
    template, noise = rng.random((9, 9, 3)) * (1, 5, 2), rng.standard_normal((150, 150, 3))
    measure = WindowToPattern(adjusted=True, bins=10)
    scores = nuvmatch.score_map(noise, template, measure)
    assert scores.mean() == pytest.approx(1, abs=0.01)
    noise[:20, :20] = 3
    assert nuvmatch.score_map(noise, template, measure)[0, 0] == 1


def test_straight_pieces_of_greys_at_the_end_of_floats(rng):
    greys = rng.random((30, 30))
    expected = nuvmatch.score_map(greys, greys[5:13, 5:13], "nuv_linear")
    small = greys * 2.0**-1022
    found = nuvmatch.score_map(small, small[5:13, 5:13], "nuv_linear")
    assert_allclose(found, expected, atol=1e-6)
