"""Poses of templates so small that kernels may run as plain Python."""

import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import NUV, Search

GREYS = ndimage.gaussian_filter(np.random.default_rng(4).normal(size=(26, 26)), 1.2)
IMAGE = np.rint(np.interp(GREYS, [GREYS.min(), GREYS.max()], [0, 255])).astype(np.uint8)
MEASURE = NUV(bins=4)


def test_a_quarter_turn_and_a_half():
    """Beside a template that is not there: each place goes to the better one."""
    parts = {"here": np.rot90(IMAGE[6:15, 9:18], -1), "not here": IMAGE[::-1, ::-1][3:12, 3:12].T}
    search = Search(parts, MEASURE, angles=(0, 90, 180), n_threads=1)
    (found,) = search.locate(IMAGE, subpixel=True)
    assert (found.name, found.angle, found.box) == ("here", 90, (9, 6, 9, 9))
    assert 0 <= found.sigma < 0.5


def test_any_angle_and_scale_with_a_mask():
    image = np.where(np.indices(IMAGE.shape)[0] > 22, np.nan, 255.0 - IMAGE)
    mask = np.ones((10, 10), bool)
    mask[0, 0] = False
    search = Search(IMAGE[5:15, 7:17], MEASURE, masks=mask, angles="all", scales=(0.9, 1.1))
    (found,) = search.locate(image)
    assert found.center == pytest.approx((9.5, 11.5), abs=0.3)
    assert found.scale == pytest.approx(1, abs=0.06)
    assert abs(found.angle) < 4


@pytest.mark.filterwarnings("ignore:false alarms cannot be told", "ignore:the template is like")
def test_where_chance_cannot_be_told_nothing_is_believed():
    search = Search(IMAGE[5:14, 7:16], MEASURE, angles=(0, 180))
    assert not search.locate(IMAGE, false_alarms=1e-3)
    (found,) = search.locate(IMAGE, false_alarms=np.inf, max_matches=1)
    assert found.box == (7, 5, 9, 9)


def test_a_coarse_level_comes_first():
    """A template that is sought small, in between, and whole."""
    large = ndimage.zoom(GREYS, 3, order=3)
    large = np.rint(np.interp(large, [large.min(), large.max()], [0, 255])).astype(np.uint8)
    search = Search(large[20:56, 14:50], MEASURE, angles=(0, 90), scales=(0.95, 1.0, 1.05))
    search._seekers[0]._factor = lambda space: 3.0
    (found,) = search.locate(np.rot90(large))
    assert (found.angle, found.scale) == (90, 1)
    assert found.center == pytest.approx((77 - 31.5, 37.5), abs=0.2)
