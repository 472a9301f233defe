"""Poses at the border of an image or a region, beside holes, and where there is no room."""

import math

import numpy as np
import pytest
from plants import noise
from scipy import ndimage

import nuvmatch as nv
from nuvmatch import Search

pytestmark = pytest.mark.compiled  # poses are hundreds of maps


def pattern(side):
    greys = ndimage.gaussian_filter(np.random.default_rng(7).normal(size=(side, side)), 2.0)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("beyond", [0, 1, 3, 12])
def test_what_sticks_out_of_the_image_takes_no_place_within(beyond, exact):
    """Of noise: the best window of the template as it is, and of that by half a turn."""
    for seed in range(5):
        image = noise(seed, (24 + beyond, 30 + beyond))
        template = noise(seed + 100, (24, 30))
        (found,) = Search(template, angles=(0, 180), exact=exact).locate(image)
        best = min(nv.score_map(image, one).min() for one in (template, template[::-1, ::-1]))
        assert best - 0.01 < found.score <= best + 2e-6  # half a pixel beside it, it may be better


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("angles", [(0, 180), "all"])
def test_a_template_cut_by_the_border_is_found_at_the_border(lines, angles):
    for seed in range(3):
        whole = np.roll(pattern(90), 17 * seed, axis=1)
        template, image = whole[20:44, 30:58], whole[20 + lines :, 9:]
        upright = nv.locate(image, template)[0]
        (found,) = Search(template, angles=angles).locate(image)
        assert (upright.row, upright.col) == (0, 21)
        assert found.score <= upright.score + 1e-6
        assert np.hypot(*np.subtract(found.center, upright.center)) < 2


def test_where_a_window_meets_the_border_or_a_hole_it_is_placed_no_more_exactly():
    whole, opaque = pattern(100), np.ones((80, 90), np.bool_)
    template, image = whole[20:44, 30:58], whole[20:, 10:]
    search = Search(template, angles="all")
    assert search.locate(image, subpixel=True)[0].sigma == math.inf
    inner = whole[10:90, 5:95]
    assert search.locate(inner, subpixel=True)[0].sigma < 0.1
    opaque[10 + 24 + 1, 30] = False  # beside the window
    beside = search.locate(inner, image_mask=opaque, subpixel=True)[0]
    assert beside.center == pytest.approx((21.5, 38.5), abs=0.1)
    assert beside.sigma == math.inf


@pytest.mark.parametrize("poses", [{}, {"scales": (0.9, 1.0, 1.1)}])
@pytest.mark.parametrize("region", [None, (2, 3, 30, 40)])
def test_a_rival_without_room_takes_no_place(poses, region):
    image, like = noise(0, (40, 50)), noise(1, (60, 10))
    if region is not None:
        like = np.ascontiguousarray(image[:35, 4:14])  # it lies in the image, not in the region
    sought = image[5:13, 6:18]
    limits = {"region": region, "threshold": 0.5}
    expected = Search({"it": sought}, **poses).locate(image, **limits)
    assert [(m.row, m.col) for m in expected] == [(5, 6)]
    for asked in (limits, limits | {"false_alarms": 0.1}):
        search = Search({"it": sought, "like": like}, rivals=["like"], **poses)
        (found,) = search.locate(image, **asked)
        assert (found.row, found.col, found.score) == (5, 6, expected[0].score)
    with pytest.raises(ValueError, match="is larger than the"):
        Search({"it": sought, "like": like}, **poses).locate(image, **limits)
