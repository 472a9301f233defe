"""What orders windows that score alike: NCC and squared differences, window by window."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import locate
from nuvmatch.engine import prepare
from nuvmatch.measures import Template, near_ties
from nuvmatch.measures.near_ties import NearTies


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
def test_windows_one_by_one_score_as_in_the_map(channels, dtype, rng):
    image = (rng.random((30, 33, channels)) * 250).astype(dtype)
    image[:10, 20:] = 7
    template, mask = image[4:12, 5:14] + dtype(2), rng.random((8, 9)) < 0.8
    ties = NearTies(Template.of(template, mask))
    rows, cols = rng.integers(8, 23, 50), rng.integers(0, 25, 50)
    planes = prepare(np.moveaxis(image, 2, 0), None, 72)
    ncc, ssd = ties.order(planes, 2, rows, cols)
    pixels, pattern = image.astype(float), template.astype(float)
    assert_allclose(ncc, naive.ncc_map(pixels, pattern, mask)[rows, cols], atol=1e-12)
    assert_allclose(ssd, naive.ssd_map(pixels, pattern, mask)[rows, cols], atol=1e-12)
    copy = NearTies(Template.of(image[4:12, 5:14], mask))
    assert not copy.order(planes, 1, np.array([4]), np.array([5])).any()


def test_windows_that_are_bad_or_flat_come_last(rng):
    image = rng.random((20, 20))
    image[2, 3], image[10:, 10:] = np.nan, 0.5
    ties = NearTies(Template.of(image[5:10, 5:10], None))
    ncc, ssd = ties.order(
        prepare(image[None], None, 25), 1, np.array([0, 12, 5]), np.array([0, 12, 5])
    )
    assert_array_equal(np.isnan(ncc), [True, True, False])
    assert_array_equal(np.isnan(ssd), [True, False, False])


def test_what_repeats_itself_all_over_is_ordered_by_place(rng, monkeypatch):
    """In time that does not depend on how often it does."""
    stripes = np.tile(np.repeat([0, 200], 4), 10)[None].repeat(40, 0).astype(np.uint8)
    stripes[20:28, 16:24] = stripes[20:28, 16:24] // 2
    template = stripes[20:28, 16:24]
    (match,) = locate(stripes, template)
    assert (match.row, match.col) == (20, 16)
    monkeypatch.setattr(near_ties, "_PIXELS_READ", 1000)
    (match,) = locate(stripes, template)
    assert (match.row, match.col, match.score) == (0, 0, 0.0)
