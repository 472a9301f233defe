"""Limits of polarity and gain: what they refuse is no evidence."""

import itertools

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

    def beyond(window):
        gains = naive.gains(window, template, labels)
        return any(not limits[0] <= gain <= limits[1] for gain in gains)

    gains = over_windows(lambda w: naive.gain(w, template, labels), image, labels.shape)
    refused = over_windows(beyond, image, labels.shape) == 1
    scores = nuvmatch.score_map(image, template, model(bins=4, gain=limits), fill_value=np.nan)
    expected = free.score_map(image, fill_value=np.nan)
    assert refused.any()
    assert not refused.all()
    expected[refused] = np.nan
    assert_array_equal(scores, expected)
    for match in free.locate(image, max_matches=9):
        assert match.gain == pytest.approx(gains[match.row, match.col])


@pytest.mark.parametrize("scale", [1e-6, 1, 1e200])
def test_gains_are_in_greys_of_the_image_over_greys_of_the_template(scale, buttons):
    image, template = (greys.astype(float) for greys in buttons)
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


@every_model
@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_gain_at_a_limit_is_not_refused_by_rounding(model, channels, dtype, kind, rng):
    shape = (9, 11) if channels is None else (9, 11, channels)
    template = rng.integers(0, 60, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        template /= 255
    for gain, limits in ((2, (0.5, 2)), (4, (4, 9)), (2, (2, np.inf))):
        image = np.tile(template, (3, 3, 1)[: template.ndim])
        image[5:14, 7:18] = gain * template
        matcher = nuvmatch.Matcher(template, model(gain=limits), dtype=kind)
        assert not np.isnan(matcher.score_map(image, fill_value=np.nan)[5, 7])


@every_model
def test_limits_are_asked_of_each_colour_by_itself(model, rng):
    """Of red and blue swapped the gain of all colours together may be that of a copy."""
    ramp = np.repeat(np.arange(8) * 20, 8).reshape(8, 8)
    template = np.stack([ramp, ramp.T, 140 - ramp], axis=-1).astype(np.uint8)
    noise = rng.integers(0, 256, (20, 40, 3)).astype(np.uint8)
    noise[2:10, 3:11], noise[2:10, 23:31] = template, template[..., ::-1]
    free = nuvmatch.Matcher(template, model(bins=8)).score_map(noise)
    rising = model(bins=8, polarity="increasing")
    scores = nuvmatch.score_map(noise, template, rising, fill_value=np.nan)
    assert free[2, 23] < 0.4
    assert np.isnan(scores[2, 23])
    assert scores[2, 3] == pytest.approx(free[2, 3], abs=1e-6)


def test_a_colour_in_which_the_template_is_flat_has_no_gain_to_limit(rng):
    template = rng.integers(0, 100, (7, 8, 3)).astype(np.uint8)
    template[..., 1] = 40
    window = template.copy()
    window[..., 1] = rng.integers(0, 200, (7, 8))
    for limits in ({"gain": (0.9, 1.1)}, {"polarity": "increasing"}):
        scores = nuvmatch.score_map(window, template, NUV(bins=4, **limits), fill_value=np.nan)
        assert not np.isnan(scores).any()
    window[..., 0] = 255 - window[..., 0]
    assert np.isnan(nuvmatch.score_map(window, template, NUV(gain=(0.9, 1.1)), fill_value=np.nan))


COUNTS = np.random.default_rng(3).integers(0, 256, (9, 8))
TYPES = {  # the same scene as cameras and files hold it
    "uint8": COUNTS.astype(np.uint8),
    "uint16": (257 * COUNTS).astype(np.uint16),
    "12 bits": np.rint(4095 / 255 * COUNTS).astype(np.uint16),
    "8 bits of 16": COUNTS.astype(np.uint16),
    "float32": (COUNTS / 255).astype(np.float32),
    "float64": COUNTS / 255,
}


UNLIKE = [  # of equal types greys are what they are
    pair
    for pair in itertools.product(TYPES, TYPES)
    if pair[0] == pair[1] or TYPES[pair[0]].dtype != TYPES[pair[1]].dtype
]


@pytest.mark.parametrize(("image", "template"), UNLIKE)
def test_gains_between_unlike_ranges_are_of_shares_of_white(image, template):
    scene = np.pad(TYPES[image], 3, mode="reflect")
    measure = NUV(gain=(0.9, 1.1))
    scores = nuvmatch.score_map(scene, TYPES[template], measure, fill_value=np.nan)
    assert not np.isnan(scores[3, 3])
    refusing = NUV(gain=(1.1, 9))
    refused = nuvmatch.score_map(scene, TYPES[template], refusing, fill_value=np.nan)
    assert np.isnan(refused[3, 3])
    assert nuvmatch.locate(scene, TYPES[template], measure)[0].gain == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("image", "template"),
    [
        (COUNTS.astype(np.float32), COUNTS.astype(np.uint8)),
        (COUNTS.astype(np.uint8), COUNTS.astype(np.float64)),
        (COUNTS.astype(np.int32), COUNTS.astype(np.uint8)),
        (COUNTS.astype(np.uint16), COUNTS.astype(np.uint8)),
        (COUNTS.astype(np.int64), COUNTS.astype(np.float32)),
        (1.3 * COUNTS - 5, COUNTS.astype(np.uint8)),  # brightened
        (COUNTS > 99, (COUNTS > 99).astype(np.uint8)),
        ((COUNTS > 99).astype(np.uint8), COUNTS > 99),
        (COUNTS * 200.0, (COUNTS * 200).astype(np.uint16)),
    ],
)
def test_greys_of_one_unit_in_several_types_are_compared_as_they_are(image, template):
    measure = NUV(gain=(0.9, 1.4))
    assert nuvmatch.score(image, template, measure) < 0.3
    expected = np.polyfit(template.ravel().astype(float), image.ravel().astype(float), 1)[0]
    assert nuvmatch.locate(image, template, measure)[0].gain == pytest.approx(expected)


def test_units_that_nothing_tells_are_an_error_where_gains_are_limited():
    image, template = COUNTS - COUNTS.mean(), COUNTS.astype(np.uint8)
    ranges = rf"float64 from -1\d\d.*uint8 from {template.min()} to {template.max()}"
    with pytest.raises(ValueError, match=ranges):
        nuvmatch.score_map(image, template, NUV(gain=(0.5, 2)))
    with pytest.raises(ValueError, match="convert them to one type"):
        nuvmatch.score_map(template, image, NUV(gain=(0.5, 2)))
    assert nuvmatch.score(image, template, NUV(polarity="increasing")) < 0.3
    assert nuvmatch.locate(image, template)[0].gain == pytest.approx(1)


def test_units_are_those_of_the_whole_image_whatever_is_searched():
    """A dark part of a float image of greys up to 255 is none of greys up to 1."""
    template = np.kron(np.eye(3), np.ones((2, 2))).astype(np.uint8)
    image = np.zeros((20, 30), np.float32)
    image[4:10, 5:11], image[-1, -1] = template, 200
    measure = NUV(bins=2, gain=(0.9, 1.1))
    whole = nuvmatch.score_map(image, template, measure, fill_value=np.nan)
    part = nuvmatch.score_map(image, template, measure, region=(0, 0, 15, 20), fill_value=np.nan)
    assert whole[4, 5] == 0
    assert_array_equal(part, whole[:10, :15])


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
