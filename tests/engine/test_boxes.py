"""Window sums by boxes: exact where they can be, and of their own pixels alone."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SHAPES

from nuvmatch.engine.boxes import box_sums, power_sums


@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_box_sums_are_window_sums(image, window, dtype, rng):
    plane = rng.integers(-99, 99, image).astype(dtype)
    out = np.empty((1, *naive.map_shape(plane, window)), dtype)
    box_sums(plane[None], *window, out)
    assert_array_equal(out[0], naive.box_sums(plane, *window))


def test_a_float_box_sum_is_not_touched_by_pixels_outside_its_box(rng):
    plane = rng.random((9, 30))
    plane[:, :10] = 1e15
    out = np.empty((1, 7, 26))
    box_sums(plane[None], 3, 5, out)
    assert_allclose(out[0, :, 10:], naive.box_sums(plane, 3, 5)[:, 10:], rtol=1e-14)


@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize(("dtype", "wide"), [(np.uint8, np.uint32), (np.int32, np.int64)])
def test_power_sums_are_window_sums(image, window, dtype, wide, rng):
    planes = rng.integers(0, 200, (2, *image)).astype(dtype)
    shape = (2, *naive.map_shape(planes[0], window))
    totals, squares = np.empty(shape, wide), np.empty(shape, wide)
    power_sums(planes, *window, totals, squares)
    for c in range(2):
        plane = planes[c].astype(np.int64)
        assert_array_equal(totals[c], naive.box_sums(plane, *window))
        assert_array_equal(squares[c], naive.box_sums(plane**2, *window))


def test_power_sums_are_exact_where_running_sums_wrap(rng):
    """All sums of a line are more than 32 bits hold; those of a window are not."""
    planes = rng.integers(250, 256, (1, 3, 70_000)).astype(np.uint8)
    totals, squares = np.empty((2, 1, 2, 69_996), np.uint32)
    power_sums(planes, 2, 5, totals, squares)
    assert (planes.astype(np.int64) ** 2).sum() > 2**32
    for found, powers in ((totals, planes), (squares, planes.astype(np.int64) ** 2)):
        some = powers[0, :, -80:].astype(np.int64)
        assert_array_equal(found[0, :, -76:], naive.box_sums(some, 2, 5))
