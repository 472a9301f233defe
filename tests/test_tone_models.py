"""Tone models, both directions and limits of shape, against loops, closed forms and libraries."""

import itertools
import pickle
import warnings

import naive
import numpy as np
import pytest
import sklearn.isotonic
from numpy.testing import assert_allclose, assert_array_equal
from patterns import TROUBLES, levels, smooth_labels

import nuvmatch
from nuvmatch import tones
from nuvmatch.tones.bases import orthonormal

MODELS = ["nuv", "nuv_linear", "nuv_monotone", "nuv_curves", "nuv_adaptive"]
CURVES = ["nuv_linear", "nuv_curves", "nuv_adaptive"]
TYPES = [np.uint8, np.uint16, np.int32, np.float32, np.float64]


def straight(levels, rng):
    return levels


def scene(rng, image, window, dtype, channels=None):
    """Greys that hold a plateau, and a template of rough and smooth parts planted in them."""
    shape = (*image, channels) if channels else image
    pixels = rng.integers(0, 200, shape)
    pixels[: image[0] // 3, : image[1] // 3] = 7
    template = 3 * smooth_labels(rng, window, 40) + rng.integers(0, 9, window)
    if channels:
        template = np.stack([np.roll(template, c, axis=0) for c in range(channels)], axis=-1)
    pixels[-window[0] - 2 : -2, -window[1] - 1 : -1] = 210 - template
    return pixels.astype(dtype), template.astype(dtype)


def model_map(matcher, image):
    """The loops, for the slices and curves of a matcher."""
    forwards = matcher._forwards
    labels = np.moveaxis(forwards.slices.labels, 0, -1).squeeze()
    model, slices = forwards.model, forwards.slices

    def score(window):
        match matcher._name:
            case "nuv":
                return naive.nuv_window(window, labels)
            case "nuv_monotone":
                return naive.monotone_window(window, labels)
            case _:
                own = [model.curves[:, slices.channel == c] for c in range(slices.channels)]
                return naive.few_curves_window(window, labels, own, model.prices)

    scores = np.empty(naive.map_shape(image, slices.shape))
    for place, window in naive.windows(image, slices.shape):
        scores[place] = score(window)
    return scores


@pytest.mark.parametrize("measure", MODELS)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("masked", [False, True])
def test_models_are_those_of_the_loops(measure, dtype, masked, rng):
    image, template = scene(rng, (19, 22), (8, 7), dtype)
    mask = rng.random((8, 7)) < 0.8 if masked else None
    matcher = nuvmatch.Matcher(template, measure=measure, bins=4, mask=mask, dtype=float)
    assert_allclose(matcher.score_map(image), model_map(matcher, image), atol=1e-9)


@pytest.mark.parametrize("measure", MODELS)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_no_digit_is_lost(measure, trouble, rng):
    image = TROUBLES[trouble](rng)
    for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 1e-6)):
        matcher = nuvmatch.Matcher(levels(rng), measure=measure, bins=4, dtype=dtype)
        expected = model_map(matcher, image.astype(float))
        assert_allclose(matcher.score_map(image), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("measure", MODELS)
def test_colours_are_pooled(measure, rng):
    image, template = scene(rng, (17, 18), (7, 6), np.uint8, channels=3)
    matcher = nuvmatch.Matcher(template, measure=measure, bins=4, dtype=float)
    assert_allclose(matcher.score_map(image), model_map(matcher, image), atol=1e-9)


@pytest.mark.parametrize("measure", MODELS)
@pytest.mark.parametrize("gain", [1e-6, 1.0, 1e6])
def test_offsets_and_contrasts_cost_no_digits(measure, gain, rng):
    image, template = scene(rng, (17, 18), (7, 6), np.float64)
    image = gain * image + 1e6
    image[:, 9:] += 1e6 * gain
    matcher = nuvmatch.Matcher(template, measure=measure, bins=4)
    plain = matcher.score_map((image - 1e6) / gain)
    assert_allclose(matcher.score_map(image), plain, atol=1e-7 if gain < 1 else 1e-9)


@pytest.mark.parametrize("measure", MODELS)
def test_no_evidence_scores_1_and_nothing_leaves_the_bounds(measure, rng):
    image, template = scene(rng, (30, 31), (6, 5), np.float32)
    image[20, 20] = np.nan
    matcher = nuvmatch.Matcher(template, measure=measure)
    scores, valid = matcher.score_map(image), matcher.valid(image)
    assert (scores[~valid] == 1).all()
    assert ((scores >= 0) & (scores <= 1)).all()
    assert not valid[15:21, 16:21].any()
    assert not valid[:4, :5].any()


@pytest.mark.compiled
@pytest.mark.parametrize("measure", MODELS)
def test_same_bits_from_any_number_of_threads_and_after_pickling(measure, rng):
    image = rng.integers(0, 256, (230, 250)).astype(np.uint8)
    template = image[20:36, 30:46]
    one = nuvmatch.Matcher(template, measure=measure, n_threads=1)
    expected = one.score_map(image)
    assert_array_equal(nuvmatch.score_map(image, template, measure=measure, n_threads=7), expected)
    assert_array_equal(pickle.loads(pickle.dumps(one)).score_map(image), expected)


@pytest.mark.compiled
@pytest.mark.parametrize("measure", MODELS)
def test_large_templates_go_by_transforms_to_the_same_scores(measure, rng):
    image = np.cumsum(rng.integers(-9, 10, (300, 310)), axis=1).astype(np.uint8)
    template = image[90:230, 100:240]
    matcher = nuvmatch.Matcher(template, measure=measure, dtype=float)
    scores = matcher.score_map(image)
    forwards = matcher._forwards
    for row, col in [(0, 0), (90, 100), (160, 170), (37, 111)]:
        window = image[row : row + 140, col : col + 140]
        means = forwards.slice_means(window.reshape(1, -1).astype(float))
        scatter = naive.squares(window)
        fitted = forwards.model.fit(means, scatter)[forwards.slices.labels[0]]
        left = ((window - fitted) ** 2).sum() / scatter
        if measure == "nuv_adaptive":
            assert left <= scores[row, col] + 1e-12 <= 1 + 1e-12
        else:
            assert_allclose(scores[row, col], left, atol=1e-9)


# The models by their nature.


def test_one_straight_curve_is_ncc(rng):
    template = rng.integers(0, 5, (9, 8))
    image = rng.integers(0, 256, (40, 40)).astype(np.uint8)
    options = {"measure": "nuv_curves", "tones": straight, "bins": 5, "binning": "equal_width"}
    scores = nuvmatch.score_map(image, template, **options, dtype=float)
    expected = nuvmatch.score_map(image, template, measure="ncc2", dtype=float)
    assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("measure", ["nuv_curves"])
def test_as_many_curves_as_bins_allow_is_piecewise_constant(measure, rng):
    image, template = scene(rng, (30, 31), (9, 8), np.uint8)
    expected = nuvmatch.score_map(image, template, bins=6, dtype=float)
    scores = nuvmatch.score_map(image, template, bins=6, measure=measure, n_curves=5, dtype=float)
    assert_allclose(scores, expected, atol=1e-12)


def test_more_curves_and_fewer_constraints_never_raise_a_score(rng):
    image, template = scene(rng, (40, 41), (9, 8), np.uint8)

    def scores(measure, **options):
        return nuvmatch.score_map(image, template, measure=measure, dtype=float, **options)

    maps = [scores("nuv_curves", n_curves=k) for k in range(1, 8)]
    for fewer, more in itertools.pairwise(maps):
        assert (more <= fewer + 1e-12).all()
    for bound in (scores("nuv_monotone"), maps[-2]):
        assert (scores("nuv") <= bound + 1e-12).all()
    finer = scores("nuv", bins=12)
    assert (finer <= scores("nuv_adaptive") + 1e-12).all()
    either = scores("nuv_monotone")
    one = [scores("nuv_monotone", polarity=p) for p in ("increasing", "decreasing")]
    assert (either <= np.minimum(*one)).all()
    assert (either == np.minimum(*one)).mean() > 0.5  # else the gain has the other sign


def test_piecewise_linear_curves_are_perfect_matches_of_the_linear_model():
    template = np.arange(64).reshape(8, 8) / 63
    edges = [0, 0.25, 0.5, 1]
    bent = np.interp(template, edges, [10, 80, 40, 200])
    image = np.random.default_rng(0).random((30, 30)) * 200
    image[11:19, 5:13] = bent
    options = {"bins": edges, "measure": "nuv_linear"}
    best = nuvmatch.locate(image, template, **options)[0]
    assert (best.row, best.col) == (11, 5)
    assert best.score < 0.02  # levels are told apart to a twelfth of the range only
    assert best.score < nuvmatch.locate(image, template, bins=edges)[0].score / 5


def test_monotone_fits_are_those_of_isotonic_regression(rng):
    template = rng.integers(0, 7, (6, 7))
    for _ in range(20):
        window = rng.integers(0, 50, (6, 7)) + 4 * template
        options = {"measure": "nuv_monotone", "bins": 7, "dtype": float, "polarity": "increasing"}
        score = nuvmatch.score_map(window, template, **options).item()
        fitted = sklearn.isotonic.IsotonicRegression().fit_transform(
            template.ravel(), window.ravel()
        )
        expected = ((window.ravel() - fitted) ** 2).sum() / naive.squares(window)
        assert_allclose(score, expected, atol=1e-12)


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


@pytest.mark.parametrize("binning", nuvmatch.matcher.BINNERS)
def test_adaptive_slices_are_finer_than_the_bins(binning, rng):
    template = rng.integers(0, 41, (12, 12)).astype(np.uint8)
    template[3, 3] = 255
    for bins in (None, 5, 64):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 64 are many
            matcher = nuvmatch.Matcher(template, measure="nuv_adaptive", bins=bins, binning=binning)
        number = matcher.counts.size
        slices = matcher._forwards.slices.counts.size
        assert slices == min(np.ceil(1.5 * number), np.unique(template).size)


def test_adaptive_slices_keep_given_edges(rng):
    template = rng.integers(0, 256, (12, 12)).astype(np.uint8)
    matcher = nuvmatch.Matcher(template, measure="nuv_adaptive", bins=[0, 20, 99, 256])
    assert_array_equal(matcher._forwards.slices.labels[0], np.digitize(template, [20, 99]))


def test_principal_curves_explain_most_of_their_family(rng):
    """Of all choices of curves for it: those of another family explain less of a gamma."""
    template = rng.random((20, 20))
    window = template**2.7
    gamma = nuvmatch.score_map(
        window, template, measure="nuv_curves", n_curves=2, bins=32,
        tones=tones.Gamma(0.25, 4, log=True),
    )  # fmt: skip
    smooth = nuvmatch.score_map(
        window, template, measure="nuv_curves", n_curves=2, bins=32, tones=tones.Smooth()
    )
    assert gamma.item() < smooth.item() / 3


@pytest.mark.parametrize("measure", ["nuv_curves", "nuv_adaptive"])
def test_curves_that_bins_cannot_show_explain_nothing(measure):
    """They go up and down within each slice, and are the same in all."""
    template = np.tile([0, 0.1, 4, 4.1, 8, 8.1], (4, 1))
    image = np.random.default_rng(0).integers(0, 99, (9, 9))
    matcher = nuvmatch.Matcher(
        template, measure=measure, bins=[0, 6, 9], tones=lambda levels, rng: np.array([0, 1] * 3)
    )
    assert (matcher.score_map(image) == 1).all()
    match = matcher.locate(image)[0]
    assert match.tone_curve.values[0] == pytest.approx(match.tone_curve.values[1])


def test_as_many_curves_as_pixels_allow_are_refused():
    with pytest.raises(ValueError, match="every window would match"):
        nuvmatch.Matcher([[0, 7, 9]], measure="nuv_linear")


def test_the_tone_curve_is_flat_where_no_curve_is_worth_its_price(rng):
    image, template = rng.integers(0, 200, (19, 22)), rng.integers(0, 200, (7, 6))
    found = nuvmatch.locate(image, template, measure="nuv_adaptive", max_matches=500, max_overlap=1)
    dear = [match for match in found if match.score == 1]
    assert dear
    assert all(np.ptp(match.tone_curve.values) < 1e-9 for match in dear)


@pytest.mark.parametrize(("scale", "moderate"), [(2.0**-560, 2.0**-60), (2.0**600, 2.0**60)])
@pytest.mark.parametrize("measure", MODELS)
def test_templates_of_any_magnitude(measure, scale, moderate, rng):
    image, template = scene(rng, (19, 22), (8, 7), np.float64)
    scores = nuvmatch.score_map(image, template * scale, measure=measure, dtype=float)
    expected = nuvmatch.score_map(image, template * moderate, measure=measure, dtype=float)
    assert_allclose(scores, expected, atol=1e-9)


@pytest.mark.parametrize("offset", [2**48, 2**52, 2**54])
def test_pedestals_move_no_edges_of_image_bins(offset, rng):
    image = rng.integers(0, 100, (16, 17))
    template = image[3:9, 4:11]
    options = {"direction": "wtp", "bins": 9, "dtype": float}
    plain = nuvmatch.score_map(image, template, value_range=(0, 120), **options)
    raised = nuvmatch.score_map(
        image + offset, template + offset, value_range=(offset, offset + 120), **options
    )
    assert_allclose(raised, plain, atol=1e-9)


# Adjusted scores.


@pytest.mark.compiled
@pytest.mark.parametrize("measure", ["nuv", "nuv_linear", "nuv_monotone", "nuv_curves"])
@pytest.mark.parametrize(("side", "bins"), [(5, 3), (9, 12)])
def test_adjusted_scores_have_mean_1_on_noise(measure, side, bins, rng):
    template = rng.random((side, side))
    noise = rng.standard_normal((400, 400)).astype(np.float32)
    scores = nuvmatch.score_map(noise, template, measure=measure, bins=bins, adjusted=True)
    assert scores.mean() == pytest.approx(1, abs=0.01)
    plain = nuvmatch.score_map(noise, template, measure=measure, bins=bins)
    assert scores.max() > 1
    assert_allclose(scores / plain, (scores / plain)[0, 0], rtol=1e-5)


def test_adjusted_scores_of_no_evidence_and_of_perfect_matches(rng):
    image, template = scene(rng, (30, 31), (9, 8), np.uint8)
    image[15:24, 1:9] = np.where(template > np.median(template), 9, 4)
    scores = nuvmatch.score_map(
        image, template, bins=[0, np.median(template) + 1, 255], adjusted=True, dtype=float
    )
    assert scores[0, 0] == (72 - 1) / (72 - 2)
    assert scores[15, 1] == 0


@pytest.mark.compiled
def test_adjusted_scores_backwards_have_mean_1_on_noise(rng):
    template, noise = rng.random((9, 9, 3)) * (1, 5, 2), rng.standard_normal((150, 150, 3))
    options = {"direction": "wtp", "adjusted": True, "bins": 10}
    scores = nuvmatch.score_map(noise, template, **options)
    assert scores.mean() == pytest.approx(1, abs=0.01)
    noise[:20, :20] = 3
    assert nuvmatch.score_map(noise, template, **options)[0, 0] == 80 / 71


# From window to pattern.


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("bins", [2, 5, 8])
def test_backwards_is_that_of_the_loops(dtype, masked, bins, rng):
    image, template = scene(rng, (19, 22), (8, 7), dtype)
    mask = rng.random((8, 7)) < 0.8 if masked else np.ones((8, 7), bool)
    scores = nuvmatch.score_map(image, template, direction="wtp", bins=bins, mask=mask, dtype=float)
    ends = (0, 255) if dtype is np.uint8 else (image.min(), image.max())
    expected = np.empty(scores.shape)
    for place, window in naive.windows(image, (8, 7)):
        expected[place] = naive.backwards_window(window, template, mask, bins, ends)
    assert_allclose(scores, expected, atol=1e-9)


def test_backwards_in_colour_and_within_a_range(rng):
    image, template = scene(rng, (17, 18), (7, 6), np.int32, channels=3)
    scores = nuvmatch.score_map(
        image, template, direction="wtp", value_range=(50, 150), dtype=float
    )
    mask = np.ones((7, 6), bool)
    for place, window in naive.windows(image, (7, 6)):
        expected = naive.backwards_window(window, template, mask, 8, (50, 150))
        assert_allclose(scores[place], expected, atol=1e-9)


def test_backwards_finds_one_grey_that_shows_as_several(rng):
    """Four kinds of ground, of which the template tells two pairs apart only."""
    ground = smooth_labels(rng, (80, 80), 4)
    image = (60 * ground + rng.integers(0, 9, ground.shape)).astype(np.uint8)
    template = (ground % 2)[30:46, 20:36]
    image[:, 60:] = 60 * (rng.random((80, 20)) < 0.5) + 100 * (rng.random((80, 20)) < 0.2)
    scores = nuvmatch.score_map(image, template, direction="wtp", bins=16)
    assert np.unravel_index(scores.argmin(), scores.shape) == (30, 20)
    assert scores[30, 20] < 1e-6
    assert nuvmatch.score_map(image, template)[30, 20] > 0.5


def test_both_directions_are_the_smaller_of_two(rng):
    image, template = scene(rng, (30, 31), (9, 8), np.uint8)
    for measure in MODELS:
        maps = [
            nuvmatch.score_map(image, template, measure=m, direction=d)
            for m, d in ((measure, "ptw"), ("nuv", "wtp"), (measure, "both"))
        ]
        assert_array_equal(maps[2], np.minimum(maps[0], maps[1]))


def test_one_window_backwards():
    """By hand: the window's two bins leave the template 1 of 5."""
    assert nuvmatch.nuv([0, 1, 2, 3], [5, 5, 9, 9], direction="wtp", bins=2) == pytest.approx(0.2)
    assert nuvmatch.nuv([0, 1, 2, 3], [7, 7, 7, 7], direction="wtp", bins=2) == 1


# Limits of shape, and tone curves.

PLANTS = {"same": (1, 0), "inverted": (-1, 255), "greyed": (0.3, 100)}


@pytest.fixture
def buttons(rng):
    """A button as it is, inverted, and greyed."""
    template = np.repeat(np.arange(4) * 85, 16).reshape(8, 8)
    image = rng.integers(0, 256, (30, 60)).astype(float)
    for i, (gain, offset) in enumerate(PLANTS.values()):
        image[10:18, 5 + 16 * i : 13 + 16 * i] = gain * template + offset
    return image, template


@pytest.mark.parametrize("measure", MODELS)
@pytest.mark.parametrize(
    ("limits", "names"),
    [
        ({}, ["same", "inverted", "greyed"]),
        ({"polarity": "increasing"}, ["same", "greyed"]),
        ({"polarity": "decreasing"}, ["inverted"]),
        ({"gain": (0.5, 2)}, ["same"]),
        ({"gain": (-2, 0.5)}, ["inverted", "greyed"]),
        ({"gain": (-2, 0.5), "polarity": "increasing"}, ["greyed"]),
        ({"gain": (0.5, np.inf)}, ["same"]),
    ],
)
def test_buttons_are_refused_by_their_shape(measure, limits, names, buttons):
    image, template = buttons
    matcher = nuvmatch.Matcher(template, measure=measure, bins=4, **limits)
    found = matcher.locate(image, threshold=0.1 if measure == "nuv_adaptive" else 0.02)
    columns = {name: 5 + 16 * i for i, name in enumerate(PLANTS)}
    assert sorted(m.col for m in found) == sorted(columns[name] for name in names)
    valid, scores = matcher.valid(image), matcher.score_map(image)
    for name, column in columns.items():
        assert valid[10, column] == (name in names)
        assert (scores[10, column] == 1) == (name not in names)
    for match in found:
        gain, offset = dict(zip(columns.values(), PLANTS.values(), strict=True))[match.col]
        expected = gain * np.array(match.tone_curve.levels) + offset
        assert_allclose(match.tone_curve.values, expected, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1, 1e200])
def test_gains_are_in_greys_of_the_image_over_greys_of_the_template(scale, buttons):
    image, template = buttons
    image, limits = image * scale, (0.25 * scale, 0.35 * scale)
    found = nuvmatch.locate(image, template, bins=4, gain=limits, threshold=0.01)
    assert [(m.row, m.col) for m in found] == [(10, 37)]


@pytest.mark.parametrize(
    ("limits", "found"),
    [((1, 2), 1), ((0.5, 1), 1), ((1 + 1e-9, 2), 0), ((0.5, 1 - 1e-9), 0)],
)
def test_limits_of_the_gain_are_included(limits, found):
    template = np.indices((8, 8)).sum(axis=0) % 2  # all numbers on the way are exact
    matcher = nuvmatch.Matcher(template, gain=limits)
    assert len(matcher.locate(template, threshold=0.5)) == found


def test_gains_beyond_all_floats_are_refused(rng):
    template = rng.integers(0, 200, (9, 9)) * 1e-320
    with pytest.raises(ValueError, match="gain and polarity need a template with more contrast"):
        nuvmatch.Matcher(template, gain=(0, 9))


def test_gains_of_windows_summed_again(rng):
    """Of little contrast beside a high plateau: their sums are of other numbers."""
    template = rng.integers(0, 200, (8, 8))
    image = rng.random((40, 40)) * 1e-4
    image[:, 20:] += 1e9
    image[4:12, 3:11] = 1e-6 * template
    for gain, found in (((0.9e-6, 1.1e-6), 1), ((1.1e-6, 1), 0)):
        matches = nuvmatch.locate(image, template, gain=gain, threshold=0.05)
        assert len(matches) == found


def test_refused_windows_hide_no_others(buttons, rng):
    """A perfect match that is refused does not stand in the way of one beside it."""
    image, template = buttons
    image = rng.integers(0, 256, image.shape).astype(float)
    image[10:18, 16:24] = 0.9 * template + 9 * np.arange(8)
    image[10:18, 25:33] = 255 - template
    options = {"bins": 4, "threshold": 0.3, "min_distance": 12}
    assert [m.col for m in nuvmatch.locate(image, template, **options)] == [25]
    found = nuvmatch.locate(image, template, polarity="increasing", **options)
    assert [m.col for m in found] == [16]


@pytest.mark.parametrize("measure", MODELS)
def test_tone_curves_are_what_the_model_fits(measure, rng):
    image, template = scene(rng, (30, 31), (9, 8), np.uint8)
    matcher = nuvmatch.Matcher(template, measure=measure, bins=6)
    best = matcher.locate(image)[0]
    window = image[best.row : best.row + 9, best.col : best.col + 8].astype(float)
    labels = matcher._forwards.slices.labels[0]
    values = np.array(best.tone_curve.values)
    assert_allclose(
        best.tone_curve.levels, [template[labels == k].mean() for k in range(len(values))]
    )
    left = ((window - values[labels]) ** 2).sum() / naive.squares(window)
    if measure == "nuv_adaptive":
        number = [
            np.isclose(best.score, left * price, atol=1e-6)
            for price in matcher._forwards.model.prices
        ]
        assert any(number)
    else:
        assert left == pytest.approx(best.score, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"direction": "up"}, ValueError, "direction is 'up'"),
        ({"polarity": "up"}, ValueError, "polarity is 'up'"),
        ({"polarity": 1}, TypeError, "polarity is 1"),
        ({"gain": 3}, TypeError, "gain is 3"),
        ({"gain": (3, 1)}, ValueError, "gain is"),
        ({"gain": (np.nan, 1)}, ValueError, "gain"),
        ({"adjusted": 1}, TypeError, "adjusted is 1"),
        ({"n_curves": 0, "measure": "nuv_curves"}, ValueError, "n_curves is 0"),
        ({"n_curves": 2}, ValueError, "n_curves is for"),
        ({"measure": "ncc", "direction": "wtp"}, ValueError, "direction='wtp' does not go"),
        ({"measure": "mi", "gain": (0, 1)}, ValueError, "gain=.* does not go"),
        ({"measure": "ssd", "polarity": "increasing"}, ValueError, "polarity"),
        ({"measure": "ncc2", "adjusted": True}, ValueError, "adjusted=True does not go"),
        ({"measure": "nuv_adaptive", "adjusted": True}, ValueError, "adjusted=True is not for"),
        ({"direction": "both", "adjusted": True}, ValueError, "adjusted=True is not for"),
        ({"direction": "wtp", "measure": "nuv_linear"}, ValueError, "'wtp' has the measure 'nuv'"),
        ({"direction": "wtp", "gain": (0, 1)}, ValueError, "not of 'wtp'"),
        ({"gain": (-2, -1), "polarity": "increasing"}, ValueError, "every window would be refused"),
        ({"direction": "wtp", "bins": 70_000}, ValueError, "bins"),
        ({"direction": "both", "bins": 81}, ValueError, "81 bins"),
    ],
)
def test_what_does_not_go_together_is_refused(options, error, message, rng):
    with pytest.raises(error, match=message):
        nuvmatch.Matcher(rng.integers(0, 9, (9, 9)), **options)
