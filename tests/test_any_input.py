"""Any arrays at all: a right answer, or an error that says what is wrong.

`pytest --hypothesis-profile nightly` tries ten times as many.
"""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch
from nuvmatch import (
    MI,
    NCC,
    NUV,
    SSD,
    AdaptiveNUV,
    CurvesNUV,
    Highest,
    LinearNUV,
    Lowest,
    MonotoneNUV,
    WindowToPattern,
)

MANY = settings(max_examples=4 * settings.default.max_examples)
REAL = ["?", "u1", "i1", "<u2", ">u2", "<i4", ">i4", "u4", "<i8", ">u8"]
REAL += ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "g"]
OTHER = ["c8", "c16", "O", "U3", "S2", "M8[s]", "m8[s]", "V4", [("x", "u1")]]

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "turned": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "strided": lambda array: np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3],
    "part": lambda array: np.pad(array, [(2, 1)] * array.ndim)[(np.s_[2:-1],) * array.ndim],
    "unaligned": lambda array: np.ndarray(
        array.shape, array.dtype, b"x" + array.tobytes(), offset=1
    ),
    "nested lists": lambda array: array.tolist(),
}

# What may stand in an array, whatever its type.
GREYS = {
    "noise": lambda rng, shape: rng.integers(0, 120, shape),
    "few levels": lambda rng, shape: rng.integers(0, 3, shape) * 40,
    "flat": lambda rng, shape: np.full(shape, rng.integers(0, 9)),
    "flat part": lambda rng, shape: rng.integers(0, 9, shape) * (rng.random(shape) < 0.2),
    "fractions": lambda rng, shape: rng.standard_normal(shape),
    "large": lambda rng, shape: rng.standard_normal(shape) * 1e4 + 1e6,
    "holes": lambda rng, shape: np.where(rng.random(shape) < 0.1, np.nan, rng.random(shape)),
    "infinite": lambda rng, shape: np.where(rng.random(shape) < 0.1, np.inf, rng.random(shape)),
}


@st.composite
def arrays(draw, shape):
    """An array of some type, with some greys, somehow laid out in memory."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    greys = GREYS[draw(st.sampled_from(list(GREYS)))](rng, shape)
    dtype = np.dtype(draw(st.sampled_from(REAL)))
    if dtype.kind != "f":
        greys = np.nan_to_num(greys, posinf=7).astype(np.int64) % (2 if dtype.kind == "b" else 120)
    with np.errstate(over="ignore"):  # what a half float cannot hold is infinite
        array = greys.astype(dtype)
    layout = draw(st.sampled_from(list(LAYOUTS)))
    if array.size and array.ndim >= 2:
        array = LAYOUTS[layout](array)
    if isinstance(array, np.ndarray) and draw(st.booleans()):
        array.flags.writeable = False
    return array


sides = st.integers(1, 12)
pairs = st.tuples(sides, sides)
masks = st.none() | st.sampled_from([0.0, 0.3, 0.8, 1.0])


@MANY
@given(st.data(), pairs, pairs, masks, masks)
@pytest.mark.filterwarnings("ignore:with .* bins for .* pixels noise scores")
def test_any_array_is_matched_or_refused(data, size, window, of_template, of_image):
    image, template = data.draw(arrays(size)), data.draw(arrays(window))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    mask = None if of_template is None else rng.random(window) < of_template
    image_mask = None if of_image is None else rng.random(size) < of_image
    counts = np.ones(window, bool) if mask is None else mask
    counts &= ~np.isnan(np.asarray(template, float))  # NaN masks itself
    greys = np.asarray(template, float)[counts]

    may_fail = (
        window[0] > size[0]
        or window[1] > size[1]
        or greys.size < 3
        or not np.isfinite(greys).all()
        or np.ptp(greys) == 0
    )
    before = np.array(image), np.array(template)
    try:
        matcher = nuvmatch.Matcher(template, mask=mask, dtype=np.float64)
        scores = matcher.score_map(image, image_mask=image_mask)
    except ValueError:
        if not may_fail:
            raise
        return
    assert not may_fail
    for array, copy in zip((image, template), before, strict=True):
        assert_array_equal(np.asarray(array), copy)

    pixels = np.array(image, float)
    bad = ~np.isfinite(pixels)
    if image_mask is not None:
        bad |= ~image_mask
    pixels[bad] = 0
    expected = naive.nuv_map(pixels, matcher.bins[0].labels)
    for place, window_of in naive.windows(bad, window):
        if window_of[counts].any():
            expected[place] = 1
    half = np.asarray(image).dtype.itemsize == 2 and np.asarray(image).dtype.kind == "f"
    assert_allclose(scores, expected, rtol=0, atol=1e-6 if half else 1e-9)


@MANY
@given(
    st.sampled_from(OTHER),
    st.sampled_from(["image", "template", "mask", "image_mask"]),
    st.lists(st.integers(0, 4), max_size=4).map(tuple),
)
def test_what_is_no_array_of_real_numbers_is_refused(dtype, place, shape):
    rng = np.random.default_rng(0)
    given_ones = {
        "image": rng.random((9, 9)),
        "template": rng.random((3, 3)),
        "mask": np.ones((3, 3)),
        "image_mask": np.ones((9, 9)),
    }
    given_ones[place] = np.zeros(shape, dtype)
    with pytest.raises((TypeError, ValueError), match=place):
        nuvmatch.score_map(**given_ones)


@MANY
@given(
    st.sampled_from(["image", "template", "mask", "image_mask"]),
    st.lists(st.integers(0, 12), max_size=5).map(tuple),
)
def test_any_shape_fits_or_is_refused_by_name(place, shape):
    rng = np.random.default_rng(0)
    given_ones = {"image": rng.random((9, 9)), "template": rng.random((3, 3))}
    given_ones[place] = rng.random(shape) + 1
    try:
        scores = nuvmatch.score_map(**given_ones)
    except ValueError as error:
        if not any(word in str(error) for word in ("image", "template", "mask")):
            raise
        return
    height, width = np.shape(given_ones["image"])[:2]
    rows, columns = np.shape(given_ones["template"])[:2]
    assert scores.shape == (height - rows + 1, width - columns + 1)
    assert ((scores >= 0) & (scores <= 1)).all()


OF_IMAGE = {"bins": 3, "value_range": (0, 1)}  # else a bad pixel changes how all are binned
MEASURES = [
    *(tones(bins=3) for tones in (NUV, LinearNUV, MonotoneNUV, CurvesNUV, AdaptiveNUV)),
    NUV(bins=3, adjusted=True),
    NCC(),
    NCC(squared=True),
    SSD(),
    MI(**OF_IMAGE),
    MI(**OF_IMAGE, normalize="window"),
    WindowToPattern(**OF_IMAGE),
    Lowest(NUV(bins=3), WindowToPattern(**OF_IMAGE)),
    Highest(NCC(), SSD()),
]


@MANY
@given(st.integers(0, 2**32), st.sampled_from(MEASURES), st.booleans())
def test_a_bad_pixel_changes_only_windows_that_touch_it(seed, measure, masked):
    rng = np.random.default_rng(seed)
    image = rng.random((14, 17))
    mask = rng.random((5, 4)) < 0.7
    mask[0, :2] = mask[1, 1] = mask[4, 3] = True
    matcher = nuvmatch.Matcher(image[3:8, 2:6], measure, mask=mask if masked else None)
    row, col = rng.integers(0, 14), rng.integers(0, 17)
    spoilt = image.copy()
    spoilt[row, col] = rng.choice([np.nan, np.inf, -np.inf])
    bad = np.zeros(image.shape, bool)
    bad[row, col] = True
    counts = mask if masked else np.ones((5, 4), bool)
    touched = np.zeros(naive.map_shape(image, (5, 4)), bool)
    for place, window in naive.windows(bad, (5, 4)):
        touched[place] = window[counts].any()
    before, after = matcher.score_map(image), matcher.score_map(spoilt, fill_value=np.nan)
    assert_array_equal(np.isnan(after), touched)
    assert_allclose(after[~touched], before[~touched], rtol=0, atol=1e-9)
    filled = np.where(touched, 1, after)
    assert_array_equal(matcher.score_map(spoilt), filled)
