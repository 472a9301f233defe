"""Slice sums of every window: by additions or transforms, in tiles and threads, the same."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SHAPES, all_windows, random_labels, slice_sums_of, smooth_labels

from nuvmatch.engine import Slices, prepare, sums
from nuvmatch.engine.fourier import Correlator


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
@pytest.mark.parametrize("integral", [True, False])
def test_correlations_of_both_halves_take_their_place(integral, rows, rng):
    """In the sums of their slice, rounded if they are whole; and out of what is left over."""
    pixels, labels = rng.integers(0, 256, (rows + 3, 12)), rng.integers(0, 2, (4, 5))
    totals = naive.box_sums(pixels, 4, 5).astype(float)
    expected = naive.slice_sums(pixels.astype(float), labels)
    ones = expected[1] + labels.sum() * totals / 20
    upper, origin = -(-rows // 2), 1000.0
    found = np.zeros((upper, 8), complex)
    found.real = ones[:upper] - origin
    found.imag[: rows - upper] = ones[upper:] - origin
    error = 0.25 if integral else 0.0
    found[0, 3] += error
    sums_of_slice, rest = np.full((rows, 9), np.nan), np.hstack([totals, totals[:, :1]])
    farthest = sums.take_correlations(found, origin, integral, sums_of_slice, rest)
    assert farthest == pytest.approx(error, abs=1e-10)
    assert_allclose(sums_of_slice[:, :8], ones, rtol=1e-14)
    assert_allclose(rest[:, :8], totals - ones, rtol=1e-14, atol=1e-10)
    assert_array_equal(rest[:, 8], totals[:, 0])
    assert_allclose(rest[:, :8] - (labels == 0).sum() * totals / 20, expected[0], atol=1e-10)


@pytest.mark.parametrize("part", [1, 1j], ids=["upper half", "lower half"])
def test_sums_that_may_be_rounded_wrongly_are_done_again_in_double_precision(
    part, monkeypatch, rng
):
    """Off by .7, which the bound allows, a sum becomes the next whole number, .3 from it."""
    correlate = Correlator.correlate

    def off(self, *arguments):
        found = correlate(self, *arguments)
        return found + np.complex64(0.7 * part) if found.dtype == np.complex64 else found

    monkeypatch.setattr(Correlator, "correlate", off)
    monkeypatch.setattr(sums, "single_error_bound", lambda *_: 0.75)
    pixels = rng.integers(0, 256, (30, 41)).astype(np.uint8)
    labels = random_labels(rng, (7, 8))
    image = prepare(pixels[None], None, labels.size)
    found, _ = slice_sums_of(image, Slices(labels[None]), method="fourier")
    assert_allclose(found, naive.slice_sums(pixels.astype(float), labels), atol=1e-9)


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
    """The worst case of rounding for a transform in single precision."""
    y, x = np.mgrid[:250, :250]
    pixels = ((np.sin(2 * np.pi * 0.27 * (x + y)) > 0) * 255).astype(np.uint8)
    labels = (pixels[:150, :150] > 0).astype(int)
    image = prepare(pixels[None], None, labels.size)
    first = slice_sums_of(image, Slices(labels[None]), method="additions")
    second = slice_sums_of(image, Slices(labels[None]), method="fourier")
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)
