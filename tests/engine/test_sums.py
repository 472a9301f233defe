"""Slice sums of every window: by additions or transforms, in tiles and threads, the same."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SHAPES, all_windows, random_labels, slice_sums_of, smooth_labels

from nuvmatch.engine import Programs, Slices, prepare, sums
from nuvmatch.engine.plan import make_plan


@pytest.mark.parametrize("method", ["additions", "fourier"])
@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.uint64, np.float32, np.float64])
def test_slice_sums_equal_the_loops(image, window, dtype, method, rng):
    pixels = rng.integers(0, 2 if dtype == np.bool_ else 200, image).astype(dtype)
    labels = random_labels(rng, window)
    slices = Slices(labels[None])
    prepared = prepare(pixels[None], None, labels.size)
    sums, scatter = slice_sums_of(prepared, slices, method=method)
    # Windows that were summed anew have a unit of their own.
    deviations = naive.slice_sums(pixels.astype(float), labels)
    own = [naive.scatter(w, labels >= 0) for _, w in naive.windows(pixels.astype(float), window)]
    own = np.reshape(own, scatter.shape)
    unit = np.sqrt(scatter / np.maximum(own, 1e-300))
    unit[own == 0] = 1
    assert_array_equal(scatter == 0, own == 0)
    assert_allclose(sums / unit, deviations, atol=1e-9)


@pytest.mark.parametrize("rows", [1, 4, 5])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("integral", [True, False])
def test_correlations_of_both_halves_take_their_place(integral, number, rows, rng):
    """In the sums of their slices, rounded if they are whole; and out of what is left over."""
    pixels, labels = rng.integers(0, 256, (rows + 3, 12)), rng.integers(0, 3, (4, 5))
    integral = integral or number == 2
    totals = naive.box_sums(pixels, 4, 5).astype(float)
    means = np.bincount(labels.ravel(), minlength=3)[:, None, None] * totals / 20
    expected = naive.slice_sums(pixels.astype(float), labels) + means
    origins, radix = np.array([1000.0, 700.0])[:number], 2.0**12
    both = expected[1] - 1000 + (radix * (expected[2] - 700) if number == 2 else 0)
    upper = -(-rows // 2)
    found = np.zeros((upper, 8), complex)
    found.real, found.imag[: rows - upper] = both[:upper], both[upper:]
    if integral:
        found += 0.4 * (rng.choice([1, -1], found.shape) + 1j * rng.choice([1, -1], found.shape))
    every = np.full((3, rows, 9), np.nan)
    every[0, :, :8] = totals
    pack = np.array([1, 2])[:number]
    sums.take_correlations(found, origins, radix, integral, pack, every, 0)
    assert_allclose(every[pack, :, :8], expected[pack], rtol=1e-12)
    assert_allclose(every[0, :, :8], totals - expected[pack].sum(axis=0), atol=1e-9)
    assert np.isnan(every[:, :, 8]).all()


@pytest.mark.compiled
@pytest.mark.parametrize("slices", [2, 3, 4])
@pytest.mark.parametrize("greys", [(0, 255), (0, 65535), (-300, -299)])
def test_sums_as_large_as_can_be_do_not_run_into_each_other(slices, greys, rng):
    """Whole slices of the lowest grey beside whole slices of the highest."""
    labels = np.arange(24).reshape(4, 6) * slices // 24
    pixels = rng.choice(greys, (30, 41)).astype(np.int64)
    for k in range(slices):
        for first, other in (greys, greys[::-1]):
            left = 9 if first < other else 21
            pixels[7 * k : 7 * k + 4, left : left + 6] = np.where(labels == k, first, other)
    image = prepare(pixels[None].astype(np.uint8 if greys[1] == 255 else np.int32), None, 24)
    found, _ = slice_sums_of(image, Slices(labels[None]), method="fourier")
    assert_allclose(found, naive.slice_sums(pixels.astype(float), labels), atol=1e-9)


def test_two_slices_are_summed_at_once_where_that_is_certain_to_be_exact(rng):
    labels = rng.integers(0, 8, (40, 40))
    programs = Programs(Slices(labels[None]))
    for bits, at_once in ((8, True), (12, True), (16, False)):
        image = prepare(rng.integers(0, 2**bits, (1, 300, 300)), None, 1600)
        assert (make_plan(image, programs, (261, 261), "fourier").radix > 0) == at_once
    packs = programs.packs(0.0), programs.packs(2.0)
    assert [pack.size for pack in packs[0]] == [1] * 7
    assert [pack.size for pack in packs[1]] == [2, 2, 2, 1]
    for found in packs:
        assert_array_equal(np.concatenate(found), programs.slices.summed)


@pytest.mark.compiled
def test_both_ways_lead_to_the_same_bits(rng):
    pixels = rng.integers(0, 256, (200, 300)).astype(np.uint8)
    slices = Slices(smooth_labels(rng, (40, 50), 6)[None])
    prepared = prepare(pixels[None], None, 2000)
    first = slice_sums_of(prepared, slices, method="additions")
    second = slice_sums_of(prepared, slices, method="fourier")
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("method", ["additions", "fourier"])
def test_sums_do_not_depend_on_threads(dtype, method, rng):
    pixels = rng.integers(0, 256, (300, 700)).astype(dtype) / (1 if dtype == np.uint8 else 255)
    slices = Slices(smooth_labels(rng, (40, 50), 6)[None])
    image = prepare(pixels.astype(dtype)[None], None, 2000)
    first = slice_sums_of(image, slices, np.float32, method)
    for n_threads in [1, 2] * 8:
        again = slice_sums_of(image, slices, np.float32, method, n_threads)
        for a, b in zip(first, again, strict=True):
            assert_array_equal(a, b)


def test_sums_wider_than_16_bits_come_out_of_pieces(rng):
    """Slices of more than 257 white pixels, and runs longer than a line may be."""
    pixels = np.full((62, 640), 255, np.uint8)
    pixels[rng.random(pixels.shape) < 0.01] = 0
    labels = np.zeros((60, 600), int)
    labels[20:, 100:] = 1
    slices = Slices(labels[None])
    sums, _ = slice_sums_of(prepare(pixels[None], None, labels.size), slices, method="additions")
    view = all_windows(pixels.astype(float), labels.shape)
    view = view - view.mean(axis=(2, 3), keepdims=True)
    assert_allclose(sums[1], (view * labels).sum(axis=(2, 3)), atol=1e-6)


def test_greys_close_to_one_value_are_told_apart_after_rounding(rng):
    """So few different whole numbers that their sums would fit a narrower type."""
    pixels = (1 - 2.0**-24 * rng.integers(0, 4, (20, 60))).astype(np.float32)
    labels = (np.arange(20) % 3).reshape(4, 5)
    slices = Slices(labels[None])
    sums, scatter = slice_sums_of(prepare(pixels[None], None, 20), slices, np.float32)
    expected = naive.slice_sums(pixels.astype(float), labels)
    own = [naive.squares(w) for _, w in naive.windows(pixels.astype(float), (4, 5))]
    unit = np.sqrt(scatter / np.reshape(own, scatter.shape))
    assert_allclose(sums / unit, expected, atol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("bins", [1, 8, 64])
def test_sums_do_not_depend_on_tiles(bins, rng):
    """A map larger than one tile in both directions."""
    image = rng.integers(0, 256, (140, 1300)).astype(np.uint8)
    labels = np.arange(72).reshape(1, 8, 9) % bins
    slices = Slices(labels)
    sums, scatter = slice_sums_of(prepare(image[None], None, 72), slices, method="additions")
    wide = image.astype(np.int64)
    total, square = (all_windows(v, (8, 9)).sum(axis=(2, 3)) for v in (wide, wide**2))
    assert_array_equal(scatter, (72.0 * square - total.astype(float) ** 2) * (1 / 72))
    some = all_windows(wide, (8, 9))[::13, ::17]
    means = some.mean(axis=(2, 3))
    expected = (some * (labels[0] == 0)).sum(axis=(2, 3)) - slices.counts[0] * means
    assert_allclose(sums[0, ::13, ::17], expected, atol=1e-9)


@pytest.mark.compiled
def test_waves_that_fill_image_and_template_come_out_exact():
    """The worst case of rounding for transforms."""
    y, x = np.mgrid[:250, :250]
    pixels = ((np.sin(2 * np.pi * 0.27 * (x + y)) > 0) * 255).astype(np.uint8)
    labels = (pixels[:150, :150] > 0).astype(int)
    image = prepare(pixels[None], None, labels.size)
    first = slice_sums_of(image, Slices(labels[None]), method="additions")
    second = slice_sums_of(image, Slices(labels[None]), method="fourier")
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)
