"""Products of every window with a template, exact where whole numbers are multiplied."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SHAPES

from nuvmatch.engine import Pattern, Wanted, for_each_product, prepare, products_at


def product_map(image, pattern, shape, of_tile):
    """Map of what is asked of the products of each tile, the tile's windows apart."""
    out = np.empty(shape)

    def score(tile):
        with np.errstate(all="ignore"):  # beyond the tile there may be anything
            return of_tile(tile)[:, : tile.tile.shape[1]]

    for_each_product(image, [Wanted(pattern, score, out)], 1)
    return out


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float64])
@pytest.mark.parametrize(("image", "window"), SHAPES[1:])
def test_products_equal_the_loops(image, window, dtype, rng):
    pixels = rng.integers(0, 200, image).astype(dtype)
    template = rng.integers(0, 9, window).astype(float)
    mask = rng.random(window) < 0.7
    mask[0, 0] = True
    pattern = Pattern.from_greys(template[None], mask)
    prepared = prepare(pixels[None], None, mask.size)

    def true_products(tile):
        return tile.covariances / tile.unit / pattern.scale

    out = product_map(prepared, pattern, naive.map_shape(pixels, window), true_products)
    expected = [naive.covariance(w, template, mask) for _, w in naive.windows(pixels, window)]
    assert_allclose(out.ravel(), expected, atol=1e-8)


def test_moments_come_with_the_products(rng):
    pixels, template = rng.random((2, 12, 13)), rng.random((2, 4, 5))
    mask = rng.random((4, 5)) < 0.8
    pattern = Pattern.from_greys(template, mask)
    seen = {}

    def keep(tile):
        seen["means"] = tile.means.copy()
        return tile.squares / tile.unit**2

    out = product_map(prepare(pixels, None, 20), pattern, (9, 9), keep)
    image = np.moveaxis(pixels, 0, -1)
    expected = [naive.scatter(window, mask) for _, window in naive.windows(image, (4, 5))]
    assert_allclose(out.ravel(), expected, rtol=1e-12)
    for c in range(2):
        inner, _ = naive.inner_sums(pixels[c], mask)
        assert_allclose(seen["means"][c, :, :9], inner / mask.sum())
    assert pattern.squares / pattern.scale**2 == pytest.approx(
        naive.scatter(np.moveaxis(template, 0, -1), mask)
    )
    assert_allclose(pattern.means / pattern.scale, template[:, mask].mean(axis=1))


def test_no_evidence_is_zero_or_nan_in_squares(rng):
    pixels = rng.random((9, 12))
    pixels[:, :6], pixels[4, 10] = 3, np.nan
    pattern = Pattern.from_greys(rng.random((1, 3, 3)), np.ones((3, 3), bool))
    out = product_map(prepare(pixels[None], None, 9), pattern, (7, 10), lambda t: t.squares)
    assert_array_equal(out[:, :4], 0)
    touched = np.zeros(out.shape, bool)
    touched[2:5, 8:] = True
    assert_array_equal(np.isnan(out), touched)


def test_integer_products_are_the_same_in_any_surrounding(rng):
    """Correlations by FFT are rounded to whole numbers where whole numbers they are."""
    pixels = rng.integers(0, 65536, (60, 70)).astype(np.uint16)
    template = rng.integers(0, 65536, (9, 12)).astype(float)
    pattern = Pattern.from_greys(template[None], np.ones((9, 12), bool))

    def covariances(part):
        prepared, shape = prepare(part[None], None, 108), naive.map_shape(part, (9, 12))
        return product_map(prepared, pattern, shape, lambda tile: tile.covariances)

    assert_array_equal(covariances(pixels)[20:40, 31:50], covariances(pixels[20:48, 31:61]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 3])
def test_listed_windows_equal_the_loops(channels, dtype, rng):
    """In any order, more than once, farther apart than a block, and with bad pixels."""
    pixels = rng.integers(0, 100, (channels, 40, 600)).astype(dtype)
    if dtype is np.int64:
        pixels += 2**40
        pixels[:, -1, -1] = -(2**63)  # in no window of these: the others lie far from the middle
    template, mask = rng.random((channels, 5, 6)), rng.random((5, 6)) < 0.8
    pattern = Pattern.from_greys(template, mask)
    usable = np.ones((40, 600), bool)
    usable[20, 30] = False
    image = prepare(pixels, usable, 30)
    rows = np.concatenate([rng.integers(0, 36, 80), [18, 18, 3, 3]])
    cols = np.concatenate([rng.integers(0, 595, 80), [27, 28, 9, 9]])
    for n_threads in (1, 2):
        found = products_at(image, pattern, rows, cols, n_threads)
        assert found.squares.shape == (1, rows.size)
        for i, (row, col) in enumerate(zip(rows, cols, strict=True)):
            part = np.s_[row : row + 5, col : col + 6]
            if not usable[part][mask].all():
                assert np.isnan(found.squares[0, i])
                assert np.isnan(found.means[:, 0, i]).all()
                continue
            window = np.moveaxis(pixels[:, *part].astype(float), 0, -1)
            greys, unit = np.moveaxis(template, 0, -1), found.unit[0, i]
            assert_allclose(found.means[:, 0, i], window[mask].mean(axis=0), rtol=1e-14)
            assert_allclose(found.squares[0, i] / unit**2, naive.scatter(window, mask))
            covariance = naive.covariance(window, greys, mask)
            assert_allclose(found.covariances[0, i] / unit / pattern.scale, covariance, atol=1e-3)
            residual = naive.residual(window, greys, mask)
            assert_allclose(found.residuals[0, i] / unit**2, residual)
    none = products_at(image, pattern, rows[:0], cols[:0], 1)
    assert none.squares.shape == (1, 0)


def test_what_a_straight_line_leaves_equals_the_loops(rng):
    for dtype in (np.uint8, np.int64, np.float64):
        pixels = rng.integers(0, 200, (14, 15)).astype(dtype)
        template, mask = rng.integers(0, 200, (4, 5)).astype(float), rng.random((4, 5)) < 0.9
        pixels[3:7, 8:13] = template
        pattern = Pattern.from_greys(template[None], mask)

        def residuals(tile):
            return tile.residuals / tile.unit**2

        out = product_map(prepare(pixels[None], None, 20), pattern, (11, 11), residuals)
        expected = [naive.residual(w, template, mask) for _, w in naive.windows(pixels, (4, 5))]
        assert_allclose(out.ravel(), expected, rtol=1e-9, atol=1e-9)
        assert out[3, 8] == 0
