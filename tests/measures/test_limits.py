"""Limits of polarity and gain: what they refuse is no evidence."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import TONE_MODELS, labels_of, over_windows, planted_scene

import nuvmatch
from nuvmatch import NUV, AdaptiveNUV

every_model = pytest.mark.parametrize("model", TONE_MODELS)
PLANTS = {"same": (1, 0), "inverted": (-1, 255), "greyed": (0.3, 100)}


@pytest.fixture
def buttons(rng):
    """A button as it is, inverted, and greyed."""
    template = np.repeat(np.arange(4) * 85, 16).reshape(8, 8)
    image = rng.integers(0, 256, (30, 60)).astype(float)
    for i, (gain, offset) in enumerate(PLANTS.values()):
        image[10:18, 5 + 16 * i : 13 + 16 * i] = gain * template + offset
    return image, template


@every_model
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
def test_buttons_are_refused_by_their_shape(model, limits, names, buttons):
    image, template = buttons
    matcher = nuvmatch.Matcher(template, model(bins=4, **limits))
    found = matcher.locate(image, threshold=0.1 if model is AdaptiveNUV else 0.02)
    columns = {name: 5 + 16 * i for i, name in enumerate(PLANTS)}
    assert sorted(m.col for m in found) == sorted(columns[name] for name in names)
    marked, scores = matcher.score_map(image, fill_value=np.nan), matcher.score_map(image)
    for name, column in columns.items():
        assert np.isnan(marked[10, column]) == (name not in names)
        assert (scores[10, column] == 1) == (name not in names)
    for match in found:
        gain, offset = dict(zip(columns.values(), PLANTS.values(), strict=True))[match.col]
        assert match.gain == pytest.approx(gain)
        (curve,) = match.tone_curves
        assert_allclose(curve.values, gain * np.array(curve.levels) + offset, atol=1e-9)


@every_model
@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("limits", [(-1.1, 0.1), (0.1, 9)])
def test_windows_are_refused_by_the_gain_of_the_loops(model, channels, limits, rng):
    image, template = planted_scene(rng, (15, 17), (7, 6), np.float64, channels)
    free = nuvmatch.Matcher(template, model(bins=4))
    labels = labels_of(free.bins)
    gains = over_windows(lambda w: naive.gain(w, template, labels), image, labels.shape)
    scores = nuvmatch.score_map(image, template, model(bins=4, gain=limits), fill_value=np.nan)
    expected = free.score_map(image, fill_value=np.nan)
    refused = (gains < limits[0]) | (gains > limits[1])
    assert refused.any()
    assert not refused.all()
    expected[refused] = np.nan
    assert_array_equal(scores, expected)
    for match in free.locate(image, max_matches=9):
        assert match.gain == pytest.approx(gains[match.row, match.col])


@pytest.mark.parametrize("scale", [1e-6, 1, 1e200])
def test_gains_are_in_greys_of_the_image_over_greys_of_the_template(scale, buttons):
    image, template = buttons
    measure = NUV(bins=4, gain=(0.25 * scale, 0.35 * scale))
    found = nuvmatch.locate(image * scale, template, measure, threshold=0.01)
    assert [(m.row, m.col) for m in found] == [(10, 37)]
    assert found[0].gain == pytest.approx(0.3 * scale)


@pytest.mark.parametrize(
    ("limits", "found"),
    [((1, 2), 1), ((0.5, 1), 1), ((1 + 1e-9, 2), 0), ((0.5, 1 - 1e-9), 0)],
)
def test_limits_of_the_gain_are_included(limits, found):
    template = np.indices((8, 8)).sum(axis=0) % 2  # all numbers on the way are exact
    matcher = nuvmatch.Matcher(template, NUV(gain=limits))
    assert len(matcher.locate(template, threshold=0.5)) == found


def test_gains_beyond_all_floats_are_refused(rng):
    template = rng.integers(0, 200, (9, 9)) * 1e-320
    with pytest.raises(ValueError, match="gain and polarity need a template with more contrast"):
        nuvmatch.Matcher(template, NUV(gain=(0, 9)))


def test_a_gain_beyond_all_floats_is_none(rng):
    template = rng.integers(0, 200, (9, 9)) * 1e-320
    match = nuvmatch.locate(rng.random((12, 12)), template)[0]
    assert match.gain is None


def test_gains_of_windows_summed_anew(rng):
    """Of little contrast beside a high plateau: their sums are of other numbers."""
    template = rng.integers(0, 200, (8, 8))
    image = rng.random((40, 40)) * 1e-4
    image[:, 20:] += 1e9
    image[4:12, 3:11] = 1e-6 * template
    for gain, found in (((0.9e-6, 1.1e-6), 1), ((1.1e-6, 1), 0)):
        matches = nuvmatch.locate(image, template, NUV(gain=gain), threshold=0.05)
        assert len(matches) == found


def test_refused_windows_hide_no_others(buttons, rng):
    """A perfect match that is refused does not stand in the way of one beside it."""
    image, template = buttons
    image = rng.integers(0, 256, image.shape).astype(float)
    image[10:18, 16:24] = 0.9 * template + 9 * np.arange(8)
    image[10:18, 25:33] = 255 - template
    options = {"threshold": 0.3, "min_distance": 12}
    assert [m.col for m in nuvmatch.locate(image, template, NUV(bins=4), **options)] == [25]
    rising = NUV(bins=4, polarity="increasing")
    assert [m.col for m in nuvmatch.locate(image, template, rising, **options)] == [16]


@pytest.mark.parametrize("measure", ["ncc", "mi", "ssd", nuvmatch.WindowToPattern()], ids=str)
def test_measures_without_tone_curves_have_no_gain(measure, buttons):
    image, template = buttons
    match = nuvmatch.locate(image, template, measure)[0]
    assert match.gain is None
    assert match.tone_curves == ()
