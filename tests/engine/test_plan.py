"""The plan takes the cheaper way, and a search only where it is worth its time."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from patterns import smooth_labels

from nuvmatch.engine import Programs, Slices, prepare
from nuvmatch.engine.additions import LANES
from nuvmatch.engine.plan import addition_tile, inside_way, make_plan, product_tile
from nuvmatch.engine.programs import _CORRELATORS_KEPT
from nuvmatch.engine.threads import tiles


def test_the_plan_takes_the_cheaper_way(rng):
    image = prepare(rng.integers(0, 256, (1, 600, 800)).astype(np.uint8), None, 1)

    def method_for(labels, method=None):
        shape = (601 - labels.shape[0], 801 - labels.shape[1])
        return make_plan(image, Programs(Slices(labels[None])), shape, method).method

    noise = rng.integers(0, 8, (160, 160))
    smooth = np.add.outer(np.arange(160), np.arange(160)) // 40
    assert method_for(noise[:16, :16]) == "additions"
    assert method_for(noise) == "fourier"
    assert method_for(smooth) == "additions"
    assert method_for(noise, "additions") == "additions"
    assert method_for(smooth, "fourier") == "fourier"


def test_the_search_for_additions_must_be_worth_it(rng):
    """One small map is not; many of them are, but for floats: the same call, the same bits."""
    pixels, labels = rng.integers(0, 256, (1, 80, 100)), smooth_labels(rng, (40, 50), 6)
    for dtype in (np.uint8, np.float64):
        image = prepare(pixels.astype(dtype), None, 2000)
        programs = Programs(Slices(labels[None]))
        plans = [make_plan(image, programs, (41, 51), None) for _ in range(30)]
        assert plans[0].searched is None
        assert (plans[-1].searched is None) == (dtype == np.float64)


@pytest.mark.parametrize(
    ("dtype", "masked", "side", "way"),
    [
        (np.uint8, False, 9, "everything"),
        (np.float64, False, 9, "everything"),
        (np.float64, True, 9, "pixels"),
        (np.uint8, True, 9, "outside"),
        (np.uint8, True, 200, "transforms"),
        (np.uint16, True, 9, "outside"),
    ],
)
def test_a_mask_is_summed_the_way_that_loses_nothing_and_is_cheap(dtype, masked, side, way, rng):
    mask = rng.random((side, side)) < 0.5 if masked else np.ones((side, side), bool)
    image = prepare(rng.integers(0, 256, (1, 700, 700)).astype(dtype), None, mask.size)
    todo = tiles((701 - side, 701 - side), 400, 400)
    assert inside_way(image, Programs(Slices.of_mask(mask, 1)), todo) == way


@pytest.mark.parametrize("slices", [1, 8, 64, 5000, 10**6])
def test_tiles_for_additions_are_whole_lanes_and_fit_the_cache(slices):
    rows, columns = addition_tile(slices)
    assert rows >= 1
    assert columns % LANES == 0
    assert 4 * slices * rows * columns <= 3 * 2**20 or (rows, columns) == (1, LANES)


@pytest.mark.parametrize("windows", [(1, 1), (30, 900), (1061, 1901)])
def test_product_tiles_lie_in_the_map(windows):
    for parts in (1, 2):
        rows, columns = product_tile((20, 31), windows, parts)
        assert 1 <= rows <= windows[0]
        assert 1 <= columns <= windows[1]


def test_only_few_correlators_are_kept():
    """They are large: images of many sizes must not fill the memory."""
    programs = Programs(Slices.of_mask(np.eye(3) > 0, 1))
    first = programs.mask_correlator((1, 1))
    assert programs.mask_correlator((1, 1)) is first
    for side in range(2, 3 * _CORRELATORS_KEPT):
        programs.mask_correlator((side, side))
        assert len(programs._correlators) <= _CORRELATORS_KEPT
    assert programs.mask_correlator((1, 1)) is not first


def test_threads_may_make_and_drop_correlators_at_once():
    programs = Programs(Slices(np.array([[[0, 1], [1, -1]]])))

    def make_many(thread):
        for i in range(10_000):
            programs.keep_correlator((thread, i), object)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(make_many, range(8)))
    finally:
        sys.setswitchinterval(interval)
    programs.keep_correlator("last", object)
    assert len(programs._correlators) == _CORRELATORS_KEPT


def test_tiles_of_nearly_one_size_share_a_correlator():
    programs = Programs(Slices.of_mask(np.eye(3) > 0, 1))
    assert programs.mask_correlator((157, 280)) is programs.mask_correlator((158, 279))
    assert programs.mask_correlator((159, 280)) is not programs.mask_correlator((158, 279))
