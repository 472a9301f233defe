"""Turned and resized templates in images out of memory: found as in memory, across all seams."""

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import Search, out_of_core
from nuvmatch.out_of_core import poses

pytestmark = pytest.mark.compiled  # poses are hundreds of maps


@pytest.fixture(autouse=True)
def four_blocks(monkeypatch):
    monkeypatch.setattr(poses, "_SIDE", 150)
    with dask.config.set(scheduler="synchronous"):
        yield


def smooth(seed, shape, blur=2.0):
    greys = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), blur)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


TEMPLATE = smooth(1, (24, 30))
PLACES = [(40, 60, 0), (140, 150, 1), (170, 20, 2), (139, 270, 3)]  # two of them across seams


@pytest.fixture
def scene():
    image = smooth(2, (310, 330))
    for row, col, turns in PLACES:
        part = 255 - np.rot90(TEMPLATE, turns)
        image[row : row + part.shape[0], col : col + part.shape[1]] = part
    return image


def told(matches):
    return sorted((m.row, m.col, round(m.angle), round(m.scale, 2), m.name) for m in matches)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_quarter_turns_are_found_where_they_are(scene, dtype):
    search = Search(TEMPLATE.astype(dtype), angles=(0, 90, 180, 270))
    lazy = da.from_array(scene.astype(dtype), chunks=70)
    found = out_of_core.locate(lazy, search, max_matches=4)
    assert told(found) == sorted((r, c, 90 * k, 1, None) for r, c, k in PLACES)
    inside = search.locate(scene.astype(dtype), max_matches=4)
    scores = sorted(match.score for match in inside)
    assert sorted(match.score for match in found) == pytest.approx(scores, abs=1e-6)


def test_any_angle_is_found_as_in_memory(scene):
    turned = ndimage.rotate(TEMPLATE.astype(float), 33, order=3, mode="reflect")
    scene[230 : 230 + turned.shape[0], 150 : 150 + turned.shape[1]] = turned.clip(0, 255)
    search = Search({"a": TEMPLATE}, angles="all")
    options = {"max_matches": 5, "subpixel": True}
    found = out_of_core.locate(da.from_array(scene, chunks=100), search, **options)
    expected = search.locate(scene, **options)
    for one, other in zip(
        *(sorted(m, key=lambda m: m.center) for m in (found, expected)), strict=True
    ):
        assert one.center == pytest.approx(other.center, abs=0.1)
        assert one.angle == pytest.approx(other.angle, abs=0.5)
        assert one.score == pytest.approx(other.score, abs=0.02)
        assert one.sigma == pytest.approx(other.sigma, rel=0.3, abs=0.01)


@pytest.mark.parametrize("seed", [4, 77])  # each block gave it to the other; both had it
def test_what_lies_on_a_seam_is_found_once(seed, monkeypatch):
    """Centers of even sides are there, and each block places it a little differently."""
    monkeypatch.setattr(poses, "_SIDE", 90)
    template, image = smooth(seed, (14, 12), 1), smooth(seed + 1000, (200, 50), 1)
    image[93:107, 24:36] = 255 - template  # blocks meet between rows 99 and 100
    noisy = image + np.random.default_rng(seed).normal(0, 6, image.shape)
    found = out_of_core.locate(
        da.from_array(np.rint(noisy.clip(0, 255)).astype(np.uint8)),
        Search(template, scales=(0.9, 1.1)), threshold=0.2, max_overlap=1.0,
    )  # fmt: skip
    assert len(found) == 1
    assert found[0].center == pytest.approx((99.5, 29.5), abs=0.3)


def test_chance_and_what_is_known_of_it(scene):
    search = Search(TEMPLATE, angles=(0, 90, 180, 270))
    lazy = da.from_array(scene, chunks=(310, 70))
    found = out_of_core.locate(lazy, search, false_alarms=0.01)
    assert told(found) == sorted((r, c, 90 * k, 1, None) for r, c, k in PLACES)
    null = search.calibrate(smooth(3, (310, 330)))
    assert told(out_of_core.locate(lazy, search, null=null, false_alarms=0.01)) == told(found)


def test_masks_and_regions_are_heeded(scene):
    search = Search(TEMPLATE, angles=(0, 90, 180, 270))
    mask = np.ones(scene.shape, np.uint8)
    mask[:100] = 0
    lazy, masked = da.from_array(scene, chunks=90), da.from_array(mask, chunks=50)
    found = out_of_core.locate(lazy, search, image_mask=masked, threshold=0.1)
    assert told(found) == sorted((r, c, 90 * k, 1, None) for r, c, k in PLACES if r >= 100)
    region = (120, 0, 120, 200)
    inside = out_of_core.locate(lazy, search, region=region, threshold=0.1)
    assert told(inside) == sorted((r, c, 90 * k, 1, None) for r, c, k in PLACES[1:3])


def test_parts_are_blocks_and_searches(scene):
    said = []
    search = Search(TEMPLATE, angles=(0, 90))
    out_of_core.locate(
        da.from_array(scene), search, progress=lambda done, parts: said.append((done, parts))
    )
    assert said == [(i, 4) for i in range(1, 5)]


def test_a_template_larger_than_the_image_is_refused(scene):
    search = Search(TEMPLATE, scales=(20.0,))
    with pytest.raises(ValueError, match="larger than the image of shape"):
        out_of_core.locate(da.from_array(scene), search)
