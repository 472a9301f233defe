"""Sums over the pixels that count: by every way the same."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SHAPES

from nuvmatch.engine import Programs, Slices
from nuvmatch.engine.additions import LANES
from nuvmatch.engine.window_sums import (
    bad_counts,
    flat_windows,
    inner_sums,
    take_outside,
    take_powers,
    window_sums,
)

KINDS = {"uint8": (np.uint8, 255), "int32": (np.int32, 5000), "float64": (np.float64, 0)}


def patch_of(rng, kind, window, rows=6, channels=2):
    """Pixels under so many rows of windows, as wide as a multiple of lanes."""
    dtype, magnitude = KINDS[kind]
    shape = channels, rows + window[0] - 1, LANES + window[1] - 1
    return rng.integers(0, (magnitude or 200) + 1, shape).astype(dtype), magnitude


def some_mask(rng, window):
    mask = rng.random(window) < 0.7
    mask[0, 0] = True
    return mask


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [(1, 1), (1, 5), (4, 3), (16, 16)])
def test_window_sums_are_those_of_the_loops(kind, window, rng):
    patch, magnitude = patch_of(rng, kind, window)
    sums, squares = window_sums(patch, magnitude, window)
    for plane, own, own_squares in zip(patch, sums, squares, strict=True):
        wide = plane.astype(float if kind == "float64" else np.int64)
        assert_array_equal(own, naive.box_sums(wide, *window))
        assert_array_equal(own_squares, naive.box_sums(wide**2, *window))


@pytest.mark.parametrize(
    ("kind", "inside"),
    [(kind, inside) for kind in ("uint8", "int32") for inside in ("outside", "transforms")]
    + [("float64", "pixels")],
)
@pytest.mark.parametrize("window", [(1, 5), (4, 3), (16, 16)])
def test_inner_sums_are_those_of_the_loops(kind, inside, window, rng):
    patch, magnitude = patch_of(rng, kind, window)
    mask = some_mask(rng, window)
    programs = Programs(Slices.of_mask(mask, len(patch)))
    everything = window_sums(patch, magnitude, window)
    sums, squares = inner_sums(patch, magnitude, programs, inside, *everything)
    for c, plane in enumerate(patch):
        wide = plane.astype(float if kind == "float64" else np.int64)
        expected = naive.inner_sums(wide, mask)
        if kind == "float64":
            assert_allclose((sums[c], squares[c]), expected, rtol=1e-14)
        else:
            assert_array_equal((sums[c], squares[c]), expected)


def test_without_a_mask_everything_is_inside(rng):
    patch, magnitude = patch_of(rng, "uint8", (4, 3))
    everything = window_sums(patch, magnitude, (4, 3))
    programs = Programs(Slices.of_mask(np.ones((4, 3), bool), 2))
    inner = inner_sums(patch, magnitude, programs, "everything", *everything)
    assert inner[0] is everything[0]
    assert inner[1] is everything[1]


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_what_is_outside_is_taken_from_sums_and_from_squares_in_two_halves(kind, rng):
    plane, mask = rng.integers(0, 256, (9, 8)), some_mask(rng, (4, 3))
    sums, squares = (naive.box_sums(powers, 4, 3)[None] for powers in (plane, plane**2))
    parts = (plane, plane**2 // 256, plane**2 % 256)
    outside = np.array([naive.inner_sums(part, ~mask)[0] for part in parts]).astype(np.int32)
    inner, inner_squares = np.empty((2, 1, 6, 6), kind)
    take_outside(sums.astype(kind), squares.astype(kind), outside, 256, inner, inner_squares)
    assert_array_equal((inner[0], inner_squares[0]), naive.inner_sums(plane, mask))


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_sums_and_squares_that_come_as_one_complex_number_are_taken_apart(kind, rng):
    plane, mask = rng.integers(0, 256, (9, 8)), some_mask(rng, (4, 3))
    expected = naive.inner_sums(plane, mask)
    found = expected[0] - 700 + 0.3 + 1j * (expected[1] - 90000 - 0.3)
    totals, squares = np.empty((2, 6, 6), kind)
    take_powers(found, 700 + 90000j, totals, squares)
    assert_array_equal((totals, squares), expected)


@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize("masked", [False, True])
def test_bad_pixels_are_counted_where_they_would_count(image, window, masked, rng):
    rows = image[0] - window[0] + 1
    bad = (rng.random((1, image[0], LANES + window[1] - 1)) < 0.1).astype(np.uint8)
    mask = some_mask(rng, window) if masked else np.ones(window, bool)
    counts = bad_counts(bad, Programs(Slices.of_mask(mask, 3)), rows)
    assert_array_equal(counts, naive.inner_sums(bad[0].astype(int), mask)[0])


@pytest.mark.parametrize("window", [(1, 1), (1, 4), (4, 1), (3, 3)])
def test_windows_flat_throughout_are_told(window, rng):
    raw = np.repeat(np.repeat(rng.random((2, 4, 8)), 4, axis=1), 4, axis=2)
    raw[1] = raw[1, 0, 0]
    rows = 16 - window[0] + 1
    found = flat_windows(raw, Slices.of_mask(np.ones(window, bool), 2), rows)
    flat = [
        np.ptp(raw[:, y : y + window[0], x : x + window[1]], axis=(1, 2)).max() == 0
        for y, x in np.ndindex(found.shape)
    ]
    assert_array_equal(found, np.reshape(flat, found.shape))
    assert found.any()
