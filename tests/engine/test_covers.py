"""Covers: every pixel of a slice is added once, by as few additions as possible."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from patterns import smooth_labels

from nuvmatch.engine.covers import (
    ACCUMULATORS,
    Tree,
    cheapest_cover,
    estimated_cost,
    find_runs,
    plain_cover,
    search_time,
)


@pytest.mark.parametrize("accumulator", ACCUMULATORS.values(), ids=map(str, ACCUMULATORS))
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (40, 33), (3, 600)])
@pytest.mark.parametrize("limit", [1, 60, 257])
@pytest.mark.parametrize("find", [cheapest_cover, plain_cover])
def test_a_cover_adds_every_pixel_of_a_slice_once(find, accumulator, masked, shape, limit, rng):
    labels = smooth_labels(rng, shape, 5)
    slices = labels.max() + 1
    if masked:
        labels[rng.random(shape) < 0.2] = -1
        labels[0, 0] = 0
    cover = find(labels, slices, limit, accumulator)
    # What a pixel of the template contributes to each sum, from the image of one pixel.
    contributions = np.zeros((slices + 1, *shape), int)
    for k in range(len(cover.starts) - 1):
        for piece in range(cover.starts[k], cover.starts[k + 1]):
            in_piece = np.zeros(shape, int)
            for kind in range(4):
                sign = 1 if kind >= 2 else -1
                first, end = cover.bounds[piece, kind : kind + 2]
                for y, x in zip(cover.ys[first:end], cover.xs[first:end], strict=True):
                    if kind % 2 == 0:
                        in_piece[y, x] += sign
                    elif cover.axis == 0:
                        in_piece[:y, x] += sign
                    else:
                        in_piece[y, :x] += sign
            assert set(np.unique(in_piece)) <= {0, 1}
            assert in_piece.sum() <= limit
            contributions[k] += in_piece
    root = int(np.flatnonzero(np.diff(cover.starts, append=cover.starts[-1]) == 0)[0])
    contributions[root] = 1
    for child, parent in cover.steps:
        contributions[parent] -= contributions[child]
    for k in range(slices):
        assert_array_equal(contributions[k], labels == k)


def test_a_cover_is_no_dearer_than_pixel_by_pixel(rng):
    accumulator = ACCUMULATORS[np.dtype(np.uint8)]
    flat = np.zeros((64, 64), int)
    flat[16:48, 20:60] = 1
    cover = cheapest_cover(flat, 2, 257, accumulator)
    assert cover.ys.size == 2 * 32  # rows of the smaller slice: a run each, two ends
    noise = rng.integers(0, 4, (30, 30))
    cover = cheapest_cover(noise, 4, 257, accumulator)
    assert cover.ys.size <= (noise != np.bincount(noise.ravel()).argmax()).sum()


def test_unions_along_a_path_share_boundaries():
    stripes = 1 + np.add.outer(np.arange(60), np.arange(60)) // 6 % 2
    labels = np.hstack([np.zeros((60, 70), int), stripes])
    cover = cheapest_cover(labels, 3, 257, ACCUMULATORS[np.dtype(np.uint8)])
    assert cover.steps.tolist() == Tree.path(3, 0, 3).steps.tolist()
    # A line crosses ten boundaries; to and from nothing it goes over one or two more.
    assert cover.ys.size <= 60 * (10 + 2 + 2)


@pytest.mark.parametrize("path", [False, True])
def test_no_other_runs_are_cheaper(path, rng):
    tree = Tree.path(4, 1, 3) if path else Tree.star(4, 2)
    for _ in range(20):
        lines = rng.integers(0, 4, (5, 40))
        run, pixel = rng.integers(1, 9, 2).tolist()
        runs = np.full((6, 40), -1)
        find_runs(lines, tree.between, tree.steps, tree.root, run, pixel, runs)
        turns = np.vstack([np.full(40, tree.root), runs])
        prices = run * tree.between[turns[:-1], turns[1:]].sum(axis=0)
        prices += pixel * tree.between[runs[:-1], lines].sum(axis=0)
        for line, price in list(zip(lines.T, prices, strict=True))[::8]:
            assert price == naive.cheapest_runs(line, tree.between, tree.root, run, pixel)
        assert (runs[-1] == tree.root).all()


@pytest.mark.parametrize("kind", ACCUMULATORS, ids=str)
def test_no_piece_is_larger_than_its_narrow_type_holds(kind):
    accumulator = ACCUMULATORS[kind]
    for magnitude in (0, 1, 255, 5000, 2**31 - 1):
        if kind.kind == "f":
            assert accumulator.limit(magnitude) >= 1
        elif magnitude <= np.iinfo(kind).max:
            assert accumulator.limit(magnitude) >= 1
            total = accumulator.limit(magnitude) * magnitude
            assert total <= np.iinfo(accumulator.narrow).max


def test_estimates_tell_what_is_dear_and_a_search_takes_longer_for_more_slices(rng):
    accumulator = ACCUMULATORS[np.dtype(np.uint8)]

    def cost(labels):
        return estimated_cost(labels, labels.max() + 1, 257, accumulator)

    smooth = smooth_labels(rng, (40, 50), 5)
    assert cost(smooth) < cost(rng.permutation(smooth.ravel()).reshape(smooth.shape))
    assert cost(smooth) < cost(np.tile(smooth, (2, 2)))
    assert search_time((9, 9), 4) < search_time((9, 90), 4) < search_time((9, 90), 40)
