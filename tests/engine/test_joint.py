"""Joint histograms of every window, and sums of a template over each bin of the image."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SHAPES, random_labels

from nuvmatch.engine import Pattern, Programs, Slices, for_each_bin_sum, for_each_count, prepare
from nuvmatch.engine.joint import take_two_bins


def binned_image(rng, shape, channels, number):
    """Greys whose windows are not flat, and the bin of each."""
    planes = rng.random((channels, *shape))
    return prepare(planes, None, 1), (number * planes).astype(np.uint8)


def counts_of(image, bins, number, labels, n_threads=1):
    """Counts (channels, bins, slices, rows, columns) of every window."""
    slices = [Programs(Slices(plane[None])) for plane in labels]
    mask = Programs(Slices.of_mask(labels[0] >= 0, len(labels)))
    shape = naive.map_shape(bins[0], labels[0].shape)
    maps = []
    for c, i, k in np.ndindex(len(labels), number, labels.max() + 1):

        def score(of_tile, of_channel, c=c, i=i, k=k):
            counts = [count.copy() for count in of_channel(c)]
            assert len(counts) == number
            assert counts[i].shape[1:] == of_tile
            return counts[i][k].astype(float) if k < len(counts[i]) else np.zeros(of_tile)

        out = np.empty(shape)
        for_each_count(image, bins, number, mask, slices, score, out, n_threads)
        maps.append(out)
    return np.reshape(maps, (len(labels), number, -1, *shape))


@pytest.mark.parametrize(("image", "window"), SHAPES[1:])
def test_counts_are_those_of_the_loops(image, window, rng):
    prepared, bins = binned_image(rng, image, 1, 3)
    labels = random_labels(rng, window)
    if np.count_nonzero(labels >= 0) < 2:
        labels.flat[-1] = labels.flat[0]
    found = counts_of(prepared, bins, 3, labels[None])[0]
    for i, k in np.ndindex(found.shape[:2]):
        expected = naive.bin_sums(bins[0], np.ones(window), labels == k, 3)[i, 1]
        assert_array_equal(found[i, k], expected)


def test_channels_are_counted_apart(rng):
    prepared, bins = binned_image(rng, (9, 10), 2, 4)
    labels = np.stack([random_labels(rng, (3, 4))] * 2)
    labels[1][labels[1] >= 0] = 0
    found = counts_of(prepared, bins, 4, labels)
    for c in range(2):
        expected = naive.bin_sums(bins[c], np.ones((3, 4)), labels[c] == 0, 4)[:, 1]
        assert_array_equal(found[c, :, 0], expected)


def sums_of(image, bins, number, pattern, window, c=0):
    """Sums and counts (bins, 2, rows, columns) of every window."""
    shape = naive.map_shape(bins[0], window)
    found = np.empty((number, 2, *shape))
    for i, part in np.ndindex(number, 2):

        def score(of_tile, of_channel, i=i, part=part):
            every = [(sums.copy(), counts.copy()) for sums, counts in of_channel(c)]
            assert len(every) == number
            assert every[i][part].shape == of_tile
            return every[i][part]

        for_each_bin_sum(image, bins, number, pattern, score, found[i, part], 1)
    return found


@pytest.mark.parametrize(("image", "window"), SHAPES[1:])
@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("whole", [True, False])
def test_sums_in_bins_are_those_of_the_loops(image, window, number, whole, rng):
    prepared, bins = binned_image(rng, image, 1, number)
    greys = rng.integers(0, 50, window).astype(float) if whole else rng.random(window)
    mask = rng.random(window) < 0.8
    mask.flat[:2] = True
    pattern = Pattern.from_greys(greys[None], mask)
    found = sums_of(prepared, bins, number, pattern, window)
    expected = naive.bin_sums(bins[0], pattern.planes[0], mask, number)
    assert_array_equal(found[:, 1], expected[:, 1])
    if whole:
        assert_array_equal(found[:, 0], expected[:, 0])
    else:
        assert_allclose(found[:, 0], expected[:, 0], atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_windows_with_a_bad_pixel_that_counts_are_nan(masked, dtype, rng):
    good = rng.random((9, 140)) < 0.99
    image = prepare(rng.integers(0, 9, (2, 9, 140)).astype(dtype), good, 9)
    mask = rng.random((3, 4)) < 0.6 if masked else np.ones((3, 4), bool)
    expected = naive.bin_sums(~good, np.ones((3, 4)), mask, 2)[1, 1] > 0
    assert expected.any()
    assert not expected.all()

    def score(shape, _):
        return np.zeros(shape)

    bins, out = np.zeros((2, 9, 140), np.uint8), np.empty(expected.shape)
    programs = Programs(Slices.of_mask(mask, 2))
    of_channel = Programs(Slices(np.where(mask, 0, -1)[None]))
    for_each_count(image, bins, 2, programs, [of_channel] * 2, score, out, 1)
    assert_array_equal(np.isnan(out), expected)
    out[:] = 0
    pattern = Pattern.from_greys(rng.random((2, 3, 4)), mask)
    for_each_bin_sum(image, bins, 2, pattern, score, out, 1)
    assert_array_equal(np.isnan(out), expected)


@pytest.mark.parametrize("integral", [True, False])
def test_two_bins_are_taken_apart_and_from_the_rest(integral, rng):
    bins, mask = rng.integers(0, 3, (7, 8)), rng.random((3, 4)) < 0.8
    numbers = np.where(mask, rng.integers(-9, 9, (3, 4)) if integral else rng.random((3, 4)), 0)
    expected = naive.bin_sums(bins, numbers, mask, 3)
    noise = 0.3 if integral else 0.0  # what rounding takes away

    def as_complex(part, noise):
        return expected[0, part] + noise + 1j * (expected[1, part] - noise)

    found, rest = np.empty((2, 2, 5, 5)), np.empty((2, 5, 5))
    rest[0], rest[1] = numbers.sum(), mask.sum()
    take_two_bins(as_complex(0, noise), as_complex(1, 0.3), integral, found, rest)
    assert_allclose(found, expected[:2], rtol=0, atol=0 if integral else 1e-12)
    assert_allclose(rest, expected[2], atol=1e-12)
