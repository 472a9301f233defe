"""Joint histograms of every window, and sums of a template over each bin of the image."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SHAPES, random_labels

from nuvmatch.engine import (
    Pattern,
    Programs,
    Slices,
    Terms,
    for_each_bin_sum,
    for_each_joint_sum,
    prepare,
)
from nuvmatch.engine import joint as joint_histograms
from nuvmatch.engine.histograms import LANES, add_terms, sum_terms
from nuvmatch.engine.joint import take_bins

NO_TABLE = np.empty(0)


def table(pixels):
    n = np.arange(1.0, pixels + 1)
    return np.append(0, n * np.log2(n))


def binned_image(rng, shape, channels, number):
    """Greys whose windows are not flat, and the bin of each."""
    planes = rng.random((channels, *shape))
    return prepare(planes, None, 1), (number * planes).astype(np.uint8)


def check_sums(bins, number, labels, n_log_n, rng):
    """Compare sums of every window of one tile, by a table or by none, with those of loops."""
    starts, ys, xs, _ = Slices(labels[None]).places
    joint, of_image, explained = np.empty((3, *naive.map_shape(bins, labels.shape)))
    largest = np.empty(joint.shape, np.uint32)
    about = bins, number, ys, xs, starts, np.zeros(len(starts), np.int32), n_log_n
    values = rng.standard_normal(len(starts) - 1)
    sum_terms(*about, values, joint, of_image, largest, explained)
    expected = naive.joint_sums(bins, labels, values)
    error = 1e-13 * n_log_n[-1] if n_log_n.size else 1e-6 * np.count_nonzero(labels >= 0)
    assert_allclose(joint, expected[0], rtol=0, atol=error)
    assert_allclose(of_image, expected[1], rtol=0, atol=error)
    assert_array_equal(largest, expected[2])
    assert_allclose(explained, expected[3], rtol=1e-12, atol=1e-12)
    none, alone = np.empty((len(joint), 0)), [np.empty_like(one) for one in (largest, explained)]
    sum_terms(*about, values, none, none, *alone)  # only what is explained
    assert_array_equal(alone[0], largest)
    assert_array_equal(alone[1], explained)
    sum_terms(*about, np.empty(0), joint, of_image, largest, none)  # all but that
    assert_allclose(joint, expected[0], rtol=0, atol=error)


@pytest.mark.parametrize(("image", "window"), SHAPES[1:])
@pytest.mark.parametrize("exact", [True, False])
def test_joint_sums_are_those_of_the_loops(image, window, exact, rng):
    bins, labels = rng.integers(0, 3, image).astype(np.uint8), random_labels(rng, window)
    n_log_n = table(labels.size) if exact else NO_TABLE
    check_sums(bins, 3, labels, n_log_n, rng)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("window", "rows", "columns", "bins", "labels"),
    [
        ((3, 3), 2, LANES, 3, 2),  # all windows that are counted together
        ((2, 270), 2, 9, 2, 3),  # wider than these
        ((27, 31), 2, 5, 2, 1),  # more pixels in a slice than are counted at a time
        ((45, 50), 2, 3, 2, 2),
        ((5, 6), 3, 4, 300, 4),  # more bins than pixels, and than are taken up at a time
    ],
)
def test_joint_sums_of_many_pixels_and_bins(window, rows, columns, bins, labels, exact, rng):
    shape = rows + window[0] - 1, columns + window[1] - 1
    image = rng.integers(0, bins, shape).astype(np.uint16)
    image[-1] = bins - 1
    slices = rng.integers(0, labels, window)
    slices.flat[:labels] = range(labels)
    n_log_n = table(slices.size) if exact else NO_TABLE
    check_sums(image, bins, slices, n_log_n, rng)


@pytest.mark.parametrize("pixels", range(1, 20))
def test_any_number_of_pixels_is_counted(pixels, rng):
    bins, labels = rng.integers(0, 2, (2, 40)).astype(np.uint8), np.full((2, 10), -1)
    labels.flat[rng.permutation(20)[:pixels]] = 0
    check_sums(bins, 2, labels, table(20), rng)


@pytest.mark.parametrize("exact", [True, False])
def test_scales_leave_terms_small(exact, rng):
    """Terms of a table are as they are."""
    counts = rng.integers(0, 60, (3, 2, LANES)).astype(np.uint32)
    counts[:, 0, 0] = 0
    totals = counts.sum(axis=0, dtype=np.uint32)
    joint, of_image, explained = np.ones((3, 2, LANES))
    largest = np.full((2, LANES), 100, np.uint32)
    values = np.array([-2.0, 1, 0.5])
    scales = np.array([5, 6, 2, 7], np.int32)
    n_log_n = table(180) if exact else NO_TABLE
    add_terms(counts, totals, scales, n_log_n, values, joint, of_image, largest, explained)
    scales = scales * (not exact)
    terms = table(180)[counts] - scales[:3, None, None] * counts
    assert_allclose(joint, 1 + terms.sum(axis=0), rtol=0, atol=1e-12 if exact else 5e-5)
    terms = table(180)[totals] - scales[3] * totals
    assert_allclose(of_image, 1 + terms, rtol=0, atol=1e-12 if exact else 5e-5)
    assert_array_equal(largest, np.maximum(totals, 100))
    sums = (values[:, None, None] * counts).sum(axis=0)
    assert_allclose(explained, 1 + sums**2 / np.maximum(totals, 1))


@pytest.mark.parametrize("by", ["bits", "additions"])
@pytest.mark.parametrize("n_log_n", [table(12), NO_TABLE])
def test_channels_of_every_tile_are_summed_apart(by, n_log_n, rng, monkeypatch):
    monkeypatch.setattr(joint_histograms, "_ROWS", 5)
    shape = (14, LANES + 20)
    monkeypatch.setattr(joint_histograms, "_BITS", 1e9 if by == "bits" else 1e-9)
    bins = rng.integers(0, 4, (2, *shape)).astype(np.uint8)
    labels = np.stack([random_labels(rng, (3, 4))] * 2)
    labels[1][labels[1] >= 0] = 0
    slices = [Programs(Slices(plane[None])) for plane in labels]
    mask = Programs(Slices.of_mask(labels[0] >= 0, 2))
    image = prepare(rng.random((2, *shape)), None, 1)
    values = [rng.standard_normal(own.slices.counts.size) for own in slices]
    terms = Terms(n_log_n, values)

    def score(sum_up):
        sums = sum_up(terms)
        return [one[c].astype(float) for c in range(2) for one in sums]

    plain = [naive.joint_sums(bins[c], labels[c], values[c]) for c in range(2)]
    expected = np.concatenate(plain)
    found = np.empty((2, *expected.shape))
    for n_threads, out in enumerate(found, 1):
        for_each_joint_sum(image, bins, 4, mask, slices, score, list(out), n_threads)
    assert_array_equal(*found)
    assert_allclose(out, expected, rtol=0, atol=1e-9 if n_log_n.size else 1e-4)


def test_flat_slices_are_counted_by_additions(rng):
    """Many pixels, and few ends of runs: or else bit by bit."""
    flat, busy = np.indices((200, 200))[0] // 50, rng.integers(0, 4, (200, 200))
    many, few = 10**7, 10
    assert joint_histograms._additions(Programs(Slices(flat[None])), many) is not None
    assert joint_histograms._additions(Programs(Slices(flat[None])), few) is None
    assert joint_histograms._additions(Programs(Slices(busy[None])), many) is None


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
@pytest.mark.parametrize("number", [2, 3, 4, 5, 6, 9])
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
@pytest.mark.parametrize("largest", [1, 255, 10**5, 10**8])
def test_whole_numbers_of_any_size_are_summed_exactly(masked, largest, rng):
    """Two in one number only where all are sure to be rounded right."""
    prepared, bins = binned_image(rng, (50, 70), 1, 5)
    bins[0, :, :40] //= 3
    greys = np.rint(largest * rng.random((40, 60)) ** 4)
    mask = rng.random(greys.shape) < 0.7 if masked else np.ones(greys.shape, bool)
    pattern = Pattern.from_greys(greys[None], mask)
    assert pattern.integral
    found = sums_of(prepared, bins, 5, pattern, greys.shape)
    assert_array_equal(found, naive.bin_sums(bins[0], pattern.planes[0], mask, 5))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_windows_with_a_bad_pixel_that_counts_are_nan(masked, dtype, rng):
    good = rng.random((9, 140)) < 0.99
    image = prepare(rng.integers(0, 9, (2, 9, 140)).astype(dtype), good, 9)
    mask = rng.random((3, 4)) < 0.6 if masked else np.ones((3, 4), bool)
    expected = naive.bin_sums(~good, np.ones((3, 4)), mask, 2)[1, 1] > 0
    assert expected.any()
    assert not expected.all()

    def zeros(sum_up):
        sums = sum_up(Terms(None, ()))
        return [np.zeros(sums.largest.shape[1:])]

    def score(shape, _):
        return np.zeros(shape)

    bins, out = np.zeros((2, 9, 140), np.uint8), np.empty(expected.shape)
    programs = Programs(Slices.of_mask(mask, 2))
    of_channel = Programs(Slices(np.where(mask, 0, -1)[None]))
    for_each_joint_sum(image, bins, 2, programs, [of_channel] * 2, zeros, [out], 1)
    assert_array_equal(np.isnan(out), expected)
    out[:] = 0
    pattern = Pattern.from_greys(rng.random((2, 3, 4)), mask)
    for_each_bin_sum(image, bins, 2, pattern, score, out, 1)
    assert_array_equal(np.isnan(out), expected)


@pytest.mark.parametrize("radix", [0, 2**9])
@pytest.mark.parametrize("integral", [True, False])
def test_bins_are_taken_apart(radix, integral, rng):
    size = 4 if radix else 2
    bins, mask = rng.integers(0, size, (7, 8)), rng.random((3, 4)) < 0.8
    numbers = np.where(mask, rng.integers(-9, 9, (3, 4)) if integral else rng.random((3, 4)), 0)
    expected = naive.bin_sums(bins, numbers, mask, size)[:, 0]
    if radix:
        expected = np.rint(expected)
        both = expected[0] + radix * expected[1] + 1j * (expected[2] + radix * expected[3])
    else:
        both = expected[0] + 1j * expected[1]
    both += (0.3 - 0.3j) * (integral or radix > 0)  # what rounding takes away
    found = np.empty((size, 5, 5))
    take_bins(both, radix, integral, found)
    assert_allclose(found, expected, rtol=0, atol=0 if integral else 1e-12)
