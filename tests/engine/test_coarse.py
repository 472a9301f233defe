"""Bounds by blocks of pixels: no more than what slices leave open, of any window."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from patterns import random_labels

from nuvmatch.engine import Slices
from nuvmatch.engine.coarse import BLOCK, Coarse, open_beside

CASES = [((24, 30), 1), ((9, 13), 1), ((18, 15), 3), ((8, 8), 1), ((19, 11), 2), ((14, 10), 1)]


def draw(rng, window, channels, dtype=np.uint8):
    """An image, in parts flat, dark or of slow waves, and slices without a mask, in parts large."""
    shape = window[0] + int(rng.integers(14, 30)), window[1] + int(rng.integers(14, 30))
    high = 250 if dtype == np.uint8 else 4000
    image = rng.integers(0, high, (*shape, channels))
    image[: shape[0] // 3] //= 50
    ys, xs = np.indices((shape[0], shape[1] // 2 + 5))
    waves = high / 2 * (1 + np.sin(ys / 9 + xs / 14))
    image[:, -waves.shape[1] :] = np.rint(waves)[:, :, None]
    image[-shape[0] // 4 :, : shape[1] // 2] = 7
    labels = np.stack([random_labels(rng, window) for _ in range(channels)])
    labels[labels < 0] = 0
    labels[:, : window[0] // 2, : window[1] // 2 + 4] = 1
    for plane in labels:
        plane[:] = np.unique(plane, return_inverse=True)[1].reshape(plane.shape)
    return image.astype(dtype), labels


def planes_of(image):
    return np.ascontiguousarray(np.moveaxis(image, -1, 0))


def left_open(image, labels, row, col):
    """Squares that slices leave open of a window, and its scatter."""
    height, width = labels.shape[1:]
    window = naive.as_channels(image[row : row + height, col : col + width].astype(float))
    pairs = list(zip(window, labels, strict=True))
    return (
        sum(naive.squares(plane[own == k]) for plane, own in pairs for k in range(own.max() + 1)),
        sum(naive.squares(plane.ravel()) for plane in window),
    )


def scatter_of_sums(image, labels, row, col):
    """Squared deviations of the sums of blocks of a window from their mean."""
    apart, _ = naive.blocks_left_open(image, np.zeros_like(labels), row, col)
    return apart**2


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
@pytest.mark.parametrize(("window", "channels"), CASES)
def test_windows_at_corners_are_bounded_by_blocks(window, channels, dtype, rng):
    image, labels = draw(rng, window, channels, dtype)
    coarse = Coarse(Slices(labels))
    corners = coarse.corners(planes_of(image), 1)
    assert corners.extent == naive.map_shape(image, window)
    few = window[0] * window[1] < 100  # blocks: slices may be sums of others there
    for i, j in np.ndindex(corners.apart.shape):
        apart, within = naive.blocks_left_open(image, labels, BLOCK * i, BLOCK * j)
        assert corners.apart[i, j] <= apart * (1 + 1e-9)
        if not few:
            assert_allclose(corners.apart[i, j], apart, rtol=1e-6, atol=2e-3)
        assert corners.within[i, j] <= within + 1e-6
        apart = scatter_of_sums(image, labels, BLOCK * i, BLOCK * j)
        assert_allclose(corners.scatter_of_sums[i, j], apart, rtol=1e-9, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
@pytest.mark.parametrize(("window", "channels"), CASES)
def test_no_window_is_excluded_that_scores_up_to_the_limit(window, channels, dtype, rng):
    image, labels = draw(rng, window, channels, dtype)
    coarse = Coarse(Slices(labels))
    corners = coarse.corners(planes_of(image), 1)
    truth = np.array(
        [left_open(image, labels, row, col) for row, col in np.ndindex(*corners.extent)]
    ).reshape(*corners.extent, 2)
    squares, scatter = truth[..., 0], truth[..., 1]
    rows, cols = np.indices(corners.extent).reshape(2, -1)
    told = scatter.ravel() > 0
    assert (corners.scatter_at(rows, cols) >= scatter.ravel() * (1 - 1e-6))[told].all()
    with np.errstate(all="ignore"):
        scores = squares / scatter
    excluded = 0
    for limit in (0, 0.01, *np.nanquantile(scores, [0, 0.01, 0.2, 0.6])):
        found = coarse.open(corners, limit + 1e-6, 10**5, 2)
        assert sorted(zip(*found, strict=True)) == list(zip(*found, strict=True))
        left = np.zeros(corners.extent, int)
        np.add.at(left, found, 1)
        assert left.max(initial=0) <= 1
        assert left[scores <= limit].all()
        excluded += np.count_nonzero(left[scatter > 0] == 0)
    assert excluded > 0 or window == (8, 8)  # as many slices as blocks
    assert coarse.open(corners, 1.0, 3, 1) is None


@pytest.mark.parametrize(("window", "channels"), CASES[:4])
def test_windows_beside_corners_are_known_by_how_far_their_blocks_are(window, channels, rng):
    image, labels = draw(rng, window, channels)
    corners = Coarse(Slices(labels)).corners(planes_of(image), 1)
    shape = window[0] // BLOCK, window[1] // BLOCK
    last = [side - 1 for side in corners.apart.shape]
    excluded = rng.uniform(0, 4e5, corners.apart.shape)
    for down, across in ((-1, 0), (0, 0), (2, 1), (1, -1), (3, 2), (3, 3)):
        places = np.empty((2, 10**5), np.int64)
        number = open_beside(corners.sums, excluded, down, across, *shape, *corners.extent, places)
        found = set(zip(*places[:, :number].tolist(), strict=True))
        expected = set()
        for i, j in np.ndindex(corners.apart.shape):
            row, col = BLOCK * i + down, BLOCK * j + across
            inside = 0 <= row < corners.extent[0] and 0 <= col < corners.extent[1]
            if inside and (down < 3 or i == last[0]) and (across < 3 or j == last[1]):
                apart = naive.blocks_apart(image, shape, (row, col), (BLOCK * i, BLOCK * j))
                if apart >= excluded[i, j]:
                    expected.add((row, col))
        assert found == expected


def test_slices_that_blocks_cannot_tell_apart_are_one(rng):
    """A chequered part has half of each of two slices in every block."""
    labels = np.indices((16, 16)).sum(axis=0)[None] % 2
    labels[0, :8] = 2
    image = rng.integers(0, 250, (30, 33, 1)).astype(np.uint8)
    corners = Coarse(Slices(labels)).corners(planes_of(image), 1)
    for i, j in np.ndindex(corners.apart.shape):
        apart, _ = naive.blocks_left_open(image, labels, BLOCK * i, BLOCK * j)
        assert corners.apart[i, j] <= apart * (1 + 1e-9)


def test_many_slices_of_few_blocks_bound_nothing_that_they_explain(rng):
    """Fewer blocks than slices, which are sums of others there."""
    ys, xs = np.indices((36, 9))
    labels = np.unique((ys // 3 + xs) % 14, return_inverse=True)[1].reshape(1, 36, 9)
    image = np.zeros((60, 40, 1), np.uint8)
    image[8:44, 12:21, 0] = rng.permutation(250)[:14][labels[0]]
    coarse = Coarse(Slices(labels))
    corners = coarse.corners(planes_of(image), 1)
    found = coarse.open(corners, 1e-6, 10**5, 1)
    assert (8, 12) in set(zip(*np.array(found).tolist(), strict=True))


def test_exact_up_to_a_magnitude():
    coarse = Coarse(Slices(np.zeros((1, 256, 256), np.int64)))
    assert coarse.exact(255)
    assert coarse.exact(4095)
    assert not coarse.exact(2**20)
    small = Coarse(Slices(np.zeros((1, 8, 8), np.int64)))
    assert small.exact(2**20)  # sums of 16, in single precision
    assert not small.exact(2**20 + 1)
