"""Black and white: what type and greys tell of them, worked out by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch
from nuvmatch import NUV, tones
from nuvmatch.tones.ranges import full_scale, scale_levels, sensor_range

SURFACE = np.add.outer(np.linspace(0, 1, 24) ** 2, np.linspace(0, 1, 24)) / 2


@pytest.mark.parametrize(
    ("dtype", "greys", "levels_range", "ends"),
    [
        (np.uint8, [10, 30], None, (0, 255)),
        (np.uint8, [10, 30], (0, 99), (0, 99)),
        (np.uint16, [10, 31], (0, 99), (0, 99)),
        (np.uint16, [10, 31], None, (0, 255)),
        (np.uint16, [255, 256], None, (0, 1023)),
        (np.uint16, [1, 4095], None, (0, 4095)),
        (np.uint16, [16, 65520], None, (0, 65520)),
        (np.uint16, [64, 65472], None, (0, 65472)),
        (np.uint16, [0, 256, 65280], None, (0, 65280)),
        (np.uint16, [0, 257, 65535], None, (0, 65535)),
        (np.uint16, [4096, 16383], None, (0, 16383)),
        (np.uint16, [2, 65534], None, (0, 65534)),  # no grey is beyond the type
        (np.uint16, [0, 0], None, (0, 255)),
        (np.uint16, [32768, 32768], None, (0, 32768)),
        (np.float32, [0.2, 0.3], None, (0, 1)),
        (np.float32, [0.2, 0.3], (0, 99), (0, 99)),
        (np.float32, [0.2, 1.1], None, (0.2, 1.1)),
        (np.float32, [0.2, 1.1], (0, 99), (0, 99)),
        (np.float64, [-3, 5], None, (-3, 5)),
        (np.int16, [-3, 5], (-10, 10), (-10, 10)),
        (np.int32, [3, 5], None, (3, 5)),
        (np.bool_, [0, 1], None, (0, 1)),
    ],
)
def test_levels_are_scaled_by_the_sensors_range(dtype, greys, levels_range, ends):
    found = sensor_range(np.array(greys, float), np.dtype(dtype), levels_range)
    assert found == pytest.approx(ends, rel=1e-7)
    assert_allclose(scale_levels(np.array(ends), found), [0, 1])
    assert_allclose(scale_levels(np.array([7.0]), (7, 7)), 0)


@pytest.mark.parametrize("bits", [8, 10, 12, 14])
def test_bits_at_either_end_of_16_are_the_same_levels(bits):
    right = np.rint((2**bits - 1) * SURFACE).astype(np.uint16)
    left = right << (16 - bits)
    levels = [
        scale_levels(greys.astype(float), sensor_range(greys.astype(float), greys.dtype, None))
        for greys in (right, left)
    ]
    assert_allclose(levels[0], right / (2**bits - 1), rtol=1e-15)
    assert_allclose(levels[1], levels[0], rtol=1e-15)


def test_bins_of_a_camera_of_12_bits_are_the_same_at_either_end():
    right = np.rint(4095 * SURFACE).astype(np.uint16)
    told = NUV(levels_range=(0, 4095))
    matchers = [
        nuvmatch.Matcher(right),
        nuvmatch.Matcher(16 * right),
        nuvmatch.Matcher(right, told),
        nuvmatch.Matcher(right.astype(np.int32), told),
    ]
    first, *others = (matcher.bins[0].labels for matcher in matchers)
    for labels in others:
        assert_array_equal(labels, first)


@pytest.mark.parametrize(
    ("dtype", "low", "high", "white"),
    [
        (np.bool_, 0, 1, 1),
        (np.uint8, 3, 40, 255),
        (np.uint16, 3, 40, 255),
        (np.uint16, 0, 1000, 1023),
        (np.uint16, 0, 4095, 4095),
        (np.uint16, 0, 65535, 65535),
        (np.float32, 0, 1, 1),
        (np.float64, -0.03, 1.04, 1),  # resampled
        (np.float64, 0, 255, None),
        (np.float32, -1, 1, None),
        (np.int32, 0, 255, None),
        (np.int8, 0, 127, None),
    ],
)
def test_white_is_known_of_cameras_types_and_floats_up_to_1(dtype, low, high, white):
    assert full_scale(np.dtype(dtype), low, high) == white


def test_pairs_are_learnt_over_the_range_that_their_type_tells(rng):
    """A curve of squares, learnt in several types, is known at the levels 0, .5 and 1."""
    level = np.tile(np.arange(64) / 63, 60)
    for source, value_range in (
        (np.rint(4095 * level).astype(np.uint16), None),
        (np.rint(4095 * level).astype(np.uint16) * 16, None),
        (np.rint(255 * level).astype(np.uint8), None),
        (level, None),
        (np.rint(1000 * level).astype(np.int32) - 500, None),
        (np.rint(255 * level).astype(np.uint8), (0, 255)),
    ):
        learnt = tones.FromPairs([(source, level**2)], value_range=value_range)
        curve = learnt.sample(np.array([0, 0.5, 1]), 1, rng)[0]
        assert_allclose(curve, [0, 0.25, 1], atol=0.01)
        again = eval(repr(learnt), {"tones": tones})
        assert again == learnt


def test_a_range_given_wins_over_that_of_the_type(rng):
    level = np.arange(256)
    half = tones.FromPairs([(level.astype(np.uint8), level)], value_range=(0, 510), levels=256)
    assert_allclose(half.sample(np.array([0.25, 0.5]), 1, rng)[0], [127.5, 255], atol=3)


def test_pairs_without_a_finite_pixel_in_common_are_refused():
    with pytest.raises(ValueError, match=r"pairs\[0\] has no pixel that is finite in both"):
        tones.FromPairs([(np.array([1, np.nan]), np.array([np.nan, 1]))])
