"""Engine: window sums, slice sums and products of every window, in every form of image."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch.engine.again import multiply_again, sum_again
from nuvmatch.engine.boxes import box_sums
from nuvmatch.engine.images import prepare
from nuvmatch.engine.products import Pattern, for_each_product
from nuvmatch.engine.slices import Slices
from nuvmatch.engine.sums import for_each_tile, tile_sums
from nuvmatch.engine.threads import Tile, tiles

SHAPES = [
    ((1, 1), (1, 1)),
    ((1, 9), (1, 4)),
    ((9, 1), (4, 1)),
    ((7, 7), (7, 7)),
    ((12, 11), (1, 3)),
    ((11, 13), (3, 2)),
    ((20, 17), (5, 8)),
]


def random_labels(rng, shape):
    """Labels 0, 1, .. without gaps, and -1 for some pixels but the first."""
    labels = rng.integers(0, 4, shape)
    counts = rng.random(shape) < 0.8
    counts[0, 0] = True
    packed = np.unique(labels[counts], return_inverse=True)[1]
    labels[:] = -1
    labels[counts] = packed
    return labels


def whole_tile(image, shape):
    rows, columns = naive.map_shape(np.empty(image), shape)
    return Tile(0, rows, 0, columns)


@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_box_sums_are_window_sums(image, window, dtype, rng):
    plane = rng.integers(-99, 99, image).astype(dtype)
    out = np.empty((1, *naive.map_shape(plane, window)), dtype)
    box_sums(plane[None], *window, out)
    assert_array_equal(out[0], naive.box_sums(plane, *window))


def test_a_float_box_sum_is_not_touched_by_pixels_outside_its_box(rng):
    plane = rng.random((9, 30))
    plane[:, :10] = 1e15
    out = np.empty((1, 7, 26))
    box_sums(plane[None], 3, 5, out)
    assert_allclose(out[0, :, 10:], naive.box_sums(plane, 3, 5)[:, 10:], rtol=1e-14)


@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.uint64, np.float32, np.float64])
def test_slice_sums_equal_the_loops(image, window, dtype, rng):
    pixels = rng.integers(0, 2 if dtype == np.bool_ else 200, image).astype(dtype)
    labels = random_labels(rng, window)
    slices = Slices.from_labels(labels[None])
    prepared = prepare(pixels[None], None, slices.pixels)
    tile = tile_sums(prepared, slices, whole_tile(image, window), 1e-10)
    # The exact path shifts by a rounded mean: bring both to the mean itself.
    sums = tile.sums - slices.counts[:, None, None] * tile.sums.sum(axis=0) / slices.pixels
    expected = naive.slice_sums(pixels.astype(float), labels)
    assert_allclose(sums / tile.unit, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "form"),
    [
        (np.bool_, np.uint8),
        (np.uint8, np.uint8),
        (np.int8, np.int32),
        (np.uint16, np.int32),
        (np.int64, np.int32),
        (np.float16, np.float64),
        (np.float64, np.float64),
        (np.longdouble, np.float64),
    ],
)
def test_every_type_comes_in_one_of_few_forms(dtype, form):
    image = prepare(np.ones((1, 4, 5), dtype), None, 4)
    assert image.form is form
    assert image.patch(Tile(0, 3, 0, 4), (2, 2)).dtype == form


@pytest.mark.parametrize(
    ("low", "high", "form"),
    [
        (-(2**62), -(2**62) + 9, np.int32),
        (0, 2**40, np.int64),
        (-(2**63), 2**63 - 1, np.int64),
        (1, 2**64 - 1, np.int64),
    ],
)
def test_wide_integers_are_exact_where_their_range_allows(low, high, form):
    planes = np.array([[[low, high]]], np.uint64 if high >= 2**63 else np.int64)
    image = prepare(planes, None, 4)
    patch = image.patch(Tile(0, 1, 0, 2), (1, 1))
    assert image.form is form
    assert [int(grey) + image.offset for grey in patch[0, 0]] == [low, high]


def test_a_masked_out_pixel_does_not_widen_the_range():
    image = np.array([[[-(2**62), 0], [1, 2]]])
    assert prepare(image, image[0] > -9, 4).form is np.int32


def test_a_window_too_large_for_int32_sums_takes_the_wider_form():
    image = np.ones((1, 4, 5), np.uint8)
    assert prepare(image, None, 2**31 // 255).form is np.uint8
    assert prepare(image, None, 2**31 // 255 + 1).form is np.int32


EXTREMES = {
    "floats": np.array([-1.7e308, 1.7e308, 0, 1e308]),
    "subnormals": np.array([0, 5e-324, 1e-323, 2e-323]),
    "integers": np.array([-(2**63), 2**63 - 1, 0, 2**62]),
    "neighbours": np.array([2**62, 2**62 + 1, 2**62 + 3, 2**62]),
}


@pytest.mark.parametrize("kind", EXTREMES)
def test_windows_are_done_again_without_loss_at_the_ends_of_the_range(kind):
    raw = EXTREMES[kind].reshape(1, 2, 2)
    slices = Slices.from_labels(np.array([[[0, 0], [1, 1]]]))
    sums, squares, unit, means = (np.zeros(s) for s in ((2, 1, 1), (1, 1), (1, 1), (1, 1, 1)))
    here = np.zeros(1, np.int64)
    sum_again(raw, 7.0, *slices.places, here, here, sums, squares, unit, means)
    exact = [Fraction(grey.item()) for grey in raw.ravel()]
    mean = sum(exact) / 4
    centred = [grey - mean for grey in exact]
    scale = Fraction(unit[0, 0])
    expected = [float((centred[0] + centred[1]) * scale), float((centred[2] + centred[3]) * scale)]
    assert_allclose(sums.ravel(), expected, rtol=1e-12)
    assert_allclose(squares[0, 0], float(sum(grey**2 for grey in centred) * scale**2))
    assert_allclose(means[0, 0, 0], float(mean + 7))

    template = np.array([[[3.0, -1], [-4, 2]]])
    products = np.zeros((1, 1))
    multiply_again(raw, template, slices.ys, slices.xs, here, here, unit, products)
    covariance = sum(g * Fraction(t) for g, t in zip(centred, template.ravel(), strict=True))
    assert_allclose(products[0, 0], float(covariance * scale), rtol=1e-12)


def test_tiles_cover_the_map_once():
    for shape in [(1, 1), (7, 5), (64, 1), (100, 333)]:
        seen = np.zeros(shape, int)
        for tile in tiles(shape, 8, 50):
            seen[tile.place] += 1
            assert tile.shape <= (8, 50)
        assert (seen == 1).all()


@pytest.mark.parametrize("bins", [1, 8, 64])
def test_the_map_does_not_depend_on_tiles(bins, rng):
    """Maps larger than one tile in both directions, scored through tiles and windows."""
    image = rng.integers(0, 256, (40, 1100)).astype(np.uint8)
    labels = np.arange(6).reshape(1, 2, 3) % bins
    slices = Slices.from_labels(np.unique(labels, return_inverse=True)[1].reshape(1, 2, 3))
    out = np.empty((39, 1098))
    prepared = prepare(image[None], None, slices.pixels)
    for_each_tile(prepared, slices, lambda tile: tile.squares, out, 2)
    shifted = image.astype(np.int64)
    total, square = (naive_box(v, 2, 3) for v in (shifted, shifted**2))
    mean = (2 * total + 6) // 12
    assert_array_equal(out, square - 2 * mean * total + 6 * mean**2)


def naive_box(plane, height, width):
    """Window sums by NumPy: the loops would take too long on a large map."""
    view = np.lib.stride_tricks.sliding_window_view(plane, (height, width))
    return view.sum(axis=(2, 3))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float64])
@pytest.mark.parametrize(("image", "window"), SHAPES[1:])
def test_products_equal_the_loops(image, window, dtype, rng):
    pixels = rng.integers(0, 200, image).astype(dtype)
    template = rng.integers(0, 9, window).astype(float)
    mask = rng.random(window) < 0.7
    mask[0, 0] = True
    pattern = Pattern.from_greys(template[None], mask)
    prepared = prepare(pixels[None], None, int(mask.sum()))
    out = np.empty(naive.map_shape(pixels, window))

    def true_products(tile):
        return tile.covariances / tile.unit / pattern.scale

    for_each_product(prepared, pattern, true_products, out, 1)
    expected = [naive.covariance(w, template, mask) for _, w in naive.windows(pixels, window)]
    assert_allclose(out.ravel(), expected, atol=1e-8)


def test_integer_products_are_the_same_in_any_surrounding(rng):
    """Correlations by FFT are rounded to whole numbers where whole numbers they are."""
    pixels = rng.integers(0, 65536, (60, 70)).astype(np.uint16)
    template = rng.integers(0, 65536, (9, 12)).astype(float)
    pattern = Pattern.from_greys(template[None], np.ones((9, 12), bool))

    def covariances(part):
        out = np.empty(naive.map_shape(part, (9, 12)))
        prepared = prepare(part[None], None, 108)
        for_each_product(prepared, pattern, lambda tile: tile.covariances, out, 1)
        return out

    assert_array_equal(covariances(pixels)[20:40, 31:50], covariances(pixels[20:48, 31:61]))
