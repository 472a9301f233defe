"""Engine: window sums, slice sums and products of every window, in every form of image."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import random_labels, smooth_labels

import nuvmatch
from nuvmatch.engine import fourier, moments, sums
from nuvmatch.engine.again import multiply_again, sum_again
from nuvmatch.engine.boxes import box_sums, power_sums
from nuvmatch.engine.fourier import Correlator, error_bound, single_error_bound
from nuvmatch.engine.images import prepare
from nuvmatch.engine.moments import scatter_map, tile_moments
from nuvmatch.engine.plan import make_plan
from nuvmatch.engine.products import Pattern, for_each_product
from nuvmatch.engine.slices import Slices
from nuvmatch.engine.sums import for_each_tile
from nuvmatch.engine.threads import Tile, scratch, tiles

SHAPES = [
    ((1, 1), (1, 1)),
    ((1, 9), (1, 4)),
    ((9, 1), (4, 1)),
    ((7, 7), (7, 7)),
    ((12, 11), (1, 3)),
    ((11, 13), (3, 2)),
    ((20, 17), (5, 8)),
]


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
@pytest.mark.parametrize(("dtype", "wide"), [(np.uint8, np.uint32), (np.int32, np.int64)])
def test_power_sums_are_window_sums(image, window, dtype, wide, rng):
    planes = rng.integers(0, 200, (2, *image)).astype(dtype)
    shape = (2, *naive.map_shape(planes[0], window))
    totals, squares = np.empty(shape, wide), np.empty(shape, wide)
    power_sums(planes, *window, totals, squares)
    for c in range(2):
        plane = planes[c].astype(np.int64)
        assert_array_equal(totals[c], naive.box_sums(plane, *window))
        assert_array_equal(squares[c], naive.box_sums(plane**2, *window))


def slice_sums_of(image, slices, dtype=np.float64, method=None, n_threads=1):
    """Slice sums of all windows less those of their means, and the windows' scatter."""
    height, width = slices.shape
    shape = image.shape[0] - height + 1, image.shape[1] - width + 1
    sums, scatter = np.empty((slices.counts.size, *shape)), np.empty(shape)

    def keep(tile):
        rows, columns = tile.tile.shape
        totals = tile.totals[slices.channel, :rows, :columns].astype(float)
        of_tile = tile.sums[:, :rows, :columns].astype(float)
        place = tile.tile.place
        sums[:, *place] = of_tile - slices.counts[:, None, None] * totals / slices.pixels
        scatter[place] = tile.scatter[:rows, :columns]

    for_each_tile(image, slices, keep, np.dtype(dtype), shape, n_threads, method)
    return sums, scatter


@pytest.mark.parametrize("method", ["additions", "fourier"])
@pytest.mark.parametrize(("image", "window"), SHAPES)
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.uint64, np.float32, np.float64])
def test_slice_sums_equal_the_loops(image, window, dtype, method, rng):
    pixels = rng.integers(0, 2 if dtype == np.bool_ else 200, image).astype(dtype)
    labels = random_labels(rng, window)
    slices = Slices(labels[None])
    prepared = prepare(pixels[None], None, labels.size)
    sums, scatter = slice_sums_of(prepared, slices, method=method)
    # Windows that were summed again have a unit of their own.
    deviations = naive.slice_sums(pixels.astype(float), labels)
    own = np.array([naive.squares(w[labels >= 0]) for _, w in naive.windows(pixels, window)])
    unit = np.sqrt(scatter / np.maximum(own.reshape(scatter.shape), 1e-300))
    unit[own.reshape(scatter.shape) == 0] = 1
    assert_array_equal(scatter == 0, own.reshape(scatter.shape) == 0)
    assert_allclose(sums / unit, deviations, atol=1e-9)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("windows", [(1, 1), (7, 30), (65, 1030)])
def test_correlations_stay_within_the_bound(windows, precision, rng):
    patterns = rng.standard_normal((2, 5, 6))
    patches = rng.standard_normal((2, windows[0] + 4, windows[1] + 5))
    correlator = Correlator(patterns, windows, precision)
    spectrum = correlator.transform(patches[0] + 3, 3.0, patches[1] + 3)
    view = np.lib.stride_tricks.sliding_window_view(patches[0] + 1j * patches[1], (5, 6))
    for which, pattern in enumerate(patterns):
        found = correlator.correlate(spectrum, which, windows)
        expected = (view * pattern).sum(axis=(2, 3))
        energies = (patches**2).sum(), (pattern**2).sum()
        bound = error_bound(*energies)
        if precision == np.float32:
            bound = single_error_bound(*energies, correlator.largest())
        assert abs(found - expected).max() <= bound


def test_the_energy_of_a_patch_is_that_of_all_its_pixels(rng):
    patch = rng.integers(0, 256, (5, 7)).astype(np.uint8)
    assert sums.energy_about(patch, 93.0) == ((patch - 93.0) ** 2).sum()


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


def test_spectra_too_large_to_keep_are_made_anew(monkeypatch, rng):
    patterns, patch = rng.random((2, 3, 4)), rng.random((9, 9))
    results = []
    for most in (2**20, 0):
        monkeypatch.setattr(fourier, "_MOST_KEPT", most)
        correlator = Correlator(patterns, (7, 6))
        spectrum = correlator.transform(patch)
        results.append([correlator.correlate(spectrum, i, (7, 6)).copy() for i in (0, 1)])
    assert_array_equal(*results)


@pytest.mark.compiled
def test_both_ways_lead_to_the_same_bits(rng):
    pixels = rng.integers(0, 256, (200, 300)).astype(np.uint8)
    slices = Slices(smooth_labels(rng, (40, 50), 6)[None])
    prepared = prepare(pixels[None], None, 2000)
    first = slice_sums_of(prepared, slices, method="additions")
    second = slice_sums_of(prepared, slices, method="fourier")
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)


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


def test_the_plan_takes_the_cheaper_way(rng):
    image = prepare(rng.integers(0, 256, (1, 600, 800)).astype(np.uint8), None, 1)

    def method_for(labels, method=None):
        shape = (601 - labels.shape[0], 801 - labels.shape[1])
        return make_plan(image, Slices(labels[None]), shape, method).method

    noise = rng.integers(0, 8, (160, 160))
    smooth = np.add.outer(np.arange(160), np.arange(160)) // 40
    assert method_for(noise[:16, :16]) == "additions"
    assert method_for(noise) == "fourier"
    assert method_for(smooth) == "additions"
    assert method_for(noise, "additions") == "additions"
    assert method_for(smooth, "fourier") == "fourier"


def test_the_search_for_additions_must_be_worth_it(rng):
    """One small map is not; many of them are, but for floats: the same call, the same bits."""
    pixels, labels = rng.integers(0, 256, (1, 200, 300)), smooth_labels(rng, (40, 50), 6)
    for dtype in (np.uint8, np.float64):
        image, slices = prepare(pixels.astype(dtype), None, 2000), Slices(labels[None])
        plans = [make_plan(image, slices, (161, 251), None) for _ in range(30)]
        assert plans[0].searched is None
        assert (plans[-1].searched is None) == (dtype == np.float64)


def test_sums_wider_than_16_bits_come_out_of_pieces(rng):
    """Slices of more than 257 white pixels, and runs longer than a line may be."""
    pixels = np.full((70, 720), 255, np.uint8)
    pixels[rng.random(pixels.shape) < 0.01] = 0
    labels = np.zeros((60, 600), int)
    labels[20:, 100:] = 1
    slices = Slices(labels[None])
    sums, _ = slice_sums_of(prepare(pixels[None], None, labels.size), slices, method="additions")
    view = np.lib.stride_tricks.sliding_window_view(pixels.astype(float), labels.shape)
    view = view - view.mean(axis=(2, 3), keepdims=True)
    assert_allclose(sums[1], (view * labels).sum(axis=(2, 3)), atol=1e-6)


@pytest.mark.parametrize("bits", [8, 16])
def test_squares_outside_a_mask_are_taken_exactly(bits, rng):
    pixels = rng.integers(0, 2**bits, (30, 200)).astype(np.uint16 if bits == 16 else np.uint8)
    mask = rng.random((9, 12)) < 0.6
    scatter = scatter_map(
        prepare(pixels[None], None, mask.size), Slices.whole(mask, 1), (22, 189), 1
    )
    expected = [naive.squares(w[mask]) for _, w in naive.windows(pixels.astype(float), mask.shape)]
    assert_allclose(scatter.ravel(), expected, rtol=1e-13)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_masks_are_summed_alike_by_either_way(dtype, monkeypatch, rng):
    pixels = rng.integers(0, 256, (1, 153, 345)).astype(dtype)
    mask = rng.random((90, 90)) < 0.5
    found = []
    for cost in (0.0, np.inf):
        monkeypatch.setattr(moments, "transform_cost", lambda *_, cost=cost: cost)
        image = prepare(pixels, None, mask.size)
        found.append(scatter_map(image, Slices.whole(mask, 1), (64, 256), 1))
    if dtype == np.float64:
        assert_allclose(*found, rtol=1e-11)
    else:
        assert_array_equal(*found)
    view = np.lib.stride_tricks.sliding_window_view(pixels[0].astype(float), mask.shape)
    some = view[::21, ::50][..., mask]
    expected = some.var(axis=-1) * mask.sum() * image.scale**2
    assert_allclose(found[0][::21, ::50], expected, rtol=1e-12)


def test_a_rounded_image_says_which_windows_it_cannot_tell(rng):
    pixels = rng.random((40, 300)).astype(np.float32)
    pixels[:, :100] *= 1e-7
    image = prepare(pixels[None], None, 64).rounded(64)
    assert image.form is np.int32
    tile = Tile(0, 33, 60, 293)
    found = tile_moments(image, Slices.whole(np.ones((8, 8), bool), 1), tile, 1e-7)
    assert found.patch.dtype == np.float64  # too many of them: without rounding
    tile = Tile(0, 33, 99, 293)
    found = tile_moments(image, Slices.whole(np.ones((8, 8), bool), 1), tile, 1e-7)
    assert found.patch.dtype == np.int32
    assert found.lost is None or not found.lost.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_summing_again_does_not_bring_back_bad_windows(dtype, rng):
    """Windows of little contrast beside bright ones are lost; those with a NaN stay so."""
    pixels = rng.random((20, 40)).astype(dtype)
    pixels[:, :20] = 0.5 + 1e-9 * (rng.random((20, 20)) < 0.5)
    pixels[:2, 39] = 0, 1  # so that 0.5 is the middle, which stands for bad pixels
    pixels[10, 5] = np.nan
    slices = Slices((np.arange(16) % 2).reshape(1, 4, 4))
    scatter = slice_sums_of(prepare(pixels[None], None, 16), slices, dtype)[1]
    touched = np.zeros(scatter.shape, bool)
    touched[7:11, 2:6] = True
    assert_array_equal(np.isnan(scatter), touched)


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


@pytest.mark.parametrize("part", [np.s_[:], np.s_[5:, 9:]])
def test_a_part_is_rounded_as_the_whole(part, rng):
    pixels = (rng.integers(0, 256, (30, 40)) / 255).astype(np.float32)
    pixels[10, 20] = 1
    images = [prepare(p[None], None, 16).rounded(16) for p in (pixels, pixels[part])]
    greys = [image.patch(Tile(0, 9, 0, 9), (2, 2), 9) + image.middle for image in images]
    assert_array_equal(greys[1][0], np.rint(pixels[part][:10, :10] * 2.0**26).astype(int))
    assert images[0].scale == images[1].scale


def test_scratch_memory_is_used_again_and_grows():
    first = scratch.array("of a test", (4, 5), np.float64)
    assert first.shape == (4, 5)
    assert first.ctypes.data == scratch.array("of a test", (10,), np.uint8).ctypes.data
    assert scratch.array("of a test", (9, 9), np.float64).size == 81


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
    assert image.patch(Tile(0, 3, 0, 4), (2, 2), 4).dtype == form


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
    patch = image.patch(Tile(0, 1, 0, 2), (1, 1), 2)
    assert image.form is form
    assert [int(grey) + image.offset for grey in patch[0, 0]] == [low, high]


def test_a_masked_out_pixel_does_not_widen_the_range():
    image = np.array([[[-(2**62), 0], [1, 2]]])
    assert prepare(image, image[0] > -9, 4).form is np.int32


def test_a_window_too_large_for_exact_floats_takes_a_wider_form():
    image = np.ones((1, 4, 5), np.uint8)
    largest = int(2**26.5 / 255)  # (255 d)^2 < 2^53
    assert prepare(image, None, largest).form is np.uint8
    assert prepare(image, None, largest + 1).form is np.int32


EXTREMES = {
    "floats": np.array([-1.7e308, 1.7e308, 0, 1e308]),
    "subnormals": np.array([0, 5e-324, 1e-323, 2e-323]),
    "integers": np.array([-(2**63), 2**63 - 1, 0, 2**62]),
    "neighbours": np.array([2**62, 2**62 + 1, 2**62 + 3, 2**62]),
}


@pytest.mark.parametrize("kind", EXTREMES)
def test_windows_are_done_again_without_loss_at_the_ends_of_the_range(kind):
    raw = EXTREMES[kind].reshape(1, 2, 2)
    slices = Slices(np.array([[[0, 0], [1, 1]]]))
    sums, squares, unit, means = (np.zeros(s) for s in ((2, 1), 1, 1, (1, 1)))
    here = np.zeros(1, np.int64)
    sum_again(raw, 7.0, *slices.places, here, here, sums, squares, unit, means)
    exact = [Fraction(grey.item()) for grey in raw.ravel()]
    mean = sum(exact) / 4
    centred = [grey - mean for grey in exact]
    scale = Fraction(unit[0])
    expected = [float((centred[0] + centred[1]) * scale), float((centred[2] + centred[3]) * scale)]
    assert_allclose(sums.ravel(), expected, rtol=1e-12)
    assert_allclose(squares[0], float(sum(grey**2 for grey in centred) * scale**2))
    assert_allclose(means[0, 0], float(mean + 7))

    template = np.array([[[3.0, -1], [-4, 2]]])
    products = np.zeros((1, 1))
    _, ys, xs, _ = slices.places
    multiply_again(raw, template, ys, xs, here, here, unit[:, None], products)
    covariance = sum(g * Fraction(t) for g, t in zip(centred, template.ravel(), strict=True))
    assert_allclose(products[0, 0], float(covariance * scale), rtol=1e-12)


def test_tiles_cover_the_map_once():
    for shape in [(1, 1), (7, 5), (64, 1), (100, 333)]:
        seen = np.zeros(shape, int)
        for tile in tiles(shape, 8, 50):
            seen[tile.place] += 1
            assert tile.shape <= (8, 50)
        assert (seen == 1).all()


def test_tiles_begin_at_multiples_of_lanes():
    for tile in tiles((5, 1000), 8, 300, 128):
        assert tile.left % 128 == 0


@pytest.mark.compiled
@pytest.mark.parametrize("bins", [1, 8, 64])
def test_sums_do_not_depend_on_tiles(bins, rng):
    """A map larger than one tile in both directions."""
    image = rng.integers(0, 256, (140, 1300)).astype(np.uint8)
    labels = np.arange(72).reshape(1, 8, 9) % bins
    slices = Slices(labels)
    sums, scatter = slice_sums_of(prepare(image[None], None, 72), slices, method="additions")
    wide = image.astype(np.int64)
    total, square = (naive_box(v, 8, 9) for v in (wide, wide**2))
    assert_array_equal(scatter, (72.0 * square - total.astype(float) ** 2) * (1 / 72))
    view = np.lib.stride_tricks.sliding_window_view(wide, (8, 9))
    some = view[::13, ::17]
    expected = (some * (labels[0] == 0)).sum(axis=(2, 3)) - slices.counts[0] * some.mean(
        axis=(2, 3)
    )
    assert_allclose(sums[0, ::13, ::17], expected, atol=1e-9)


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
    prepared = prepare(pixels[None], None, mask.size)
    out = np.empty(naive.map_shape(pixels, window))

    def true_products(tile):
        return tile.covariances / tile.unit / pattern.scale

    for_each_product(prepared, pattern, true_products, out, np.nan, 1)
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
        for_each_product(prepared, pattern, lambda tile: tile.covariances, out, np.nan, 1)
        return out

    assert_array_equal(covariances(pixels)[20:40, 31:50], covariances(pixels[20:48, 31:61]))


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


@pytest.mark.parametrize("side", [8, 40])
def test_few_dark_greys_of_a_bright_image_are_told_apart(side, rng):
    """Rounded, all pixels of one grey would be off alike."""
    pattern = rng.integers(0, 4, (side, side))
    pixels = np.zeros((side + 4, side + 4), np.float32)
    pixels[:side, :side] = np.array([0, 2, 3, 5])[pattern] * 1e-3
    pixels[-1, -1] = 1
    scores = nuvmatch.score_map(pixels, pattern, bins=[0, 2, 3.5])
    labels = (pattern >= 2).astype(int)
    assert_allclose(scores[0, 0], naive.nuv_window(pixels[:side, :side], labels), atol=1e-6)


def test_half_floats_are_rounded_as_wider_ones(rng):
    pixels = np.zeros((30, 30), np.float16)
    pixels[15, 15] = 1
    mask = rng.random((20, 20)) < 0.6
    matcher = nuvmatch.Matcher(np.arange(400).reshape(20, 20) % 7, bins=4, mask=mask)
    assert_array_equal(matcher.score_map(pixels), matcher.score_map(pixels.astype(np.float32)))


def test_a_perfect_match_of_floats_under_a_mask_scores_zero(rng):
    dots = rng.random((77, 77)) < 0.02
    mask = rng.random((70, 70)) < 0.5
    matcher = nuvmatch.Matcher(dots[4:74, 1:71], bins=2, mask=mask)
    assert matcher.score_map(dots * 0.1)[4, 1] <= 1e-12


def test_integers_of_a_wider_image_give_the_same_bits(rng):
    pixels = rng.integers(0, 100, (60, 80)).astype(np.uint16)
    pixels[50:, 60:] = 60000
    matcher = nuvmatch.Matcher(np.arange(63).reshape(7, 9) % 5, dtype=np.float64)
    assert_array_equal(matcher.score_map(pixels)[:34, :42], matcher.score_map(pixels[:40, :50]))
