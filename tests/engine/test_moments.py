"""Mean and scatter of every window: exact, or known not to be."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import all_windows, exact_moments, random_labels, scatter_of, slice_sums_of

import nuvmatch
from nuvmatch.engine import Programs, Slices, Tile, plan, prepare
from nuvmatch.engine.moments import (
    find_inexact,
    scatter_of_floats,
    scatter_of_integers,
    tile_moments,
)
from nuvmatch.engine.outliers import find_outliers

FULL = Slices.of_mask(np.ones((8, 8), bool), 1)


@pytest.mark.parametrize(
    ("kernel", "kind"), [(scatter_of_integers, np.int64), (scatter_of_floats, np.float64)]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_scatter_is_that_of_the_loops(kernel, kind, channels, rng):
    image = rng.integers(0, 256, (9, 10, channels))
    mask = rng.random((4, 5)) < 0.8
    sums = [naive.inner_sums(image[..., c], mask) for c in range(channels)]
    totals, squares = (np.array(part).astype(kind) for part in zip(*sums, strict=True))
    out = np.empty((6, 6))
    kernel(totals, squares, np.count_nonzero(mask), out)
    expected = [naive.scatter(window, mask) for _, window in naive.windows(image, (4, 5))]
    assert_allclose(out.ravel(), expected, rtol=1e-13)


def test_integers_far_from_zero_keep_their_scatter(rng):
    """Their squares take all of 62 bits, which no float holds."""
    greys = 2**28 + rng.integers(0, 3, (64,))
    out = np.empty((1, 1))
    totals, squares = np.array([[[greys.sum()]]]), np.array([[[(greys**2).sum()]]])
    scatter_of_integers(totals, squares, 64, out)
    assert out[0, 0] == pytest.approx(naive.squares(greys), rel=1e-14)


def test_inexact_windows_are_those_of_the_loops(rng):
    scatter = rng.choice([0, 1e-20, 1e-3, 1, 9, np.nan], (7, 8))
    squares = rng.choice([0, 1e-3, 2, 400], (2, 7, 8))
    out = np.empty((7, 8), bool)
    for factor, least in ((0.0, 1.0), (0.01, 1e-10), (0.0, 0.0)):  # one is met exactly
        find_inexact(scatter, squares, factor, least, out)
        assert_array_equal(out, naive.inexact(scatter, squares, factor, least))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("masked", [False, True])
def test_means_and_scatter_of_a_tile_are_those_of_the_loops(dtype, masked, rng):
    pixels = rng.integers(0, 120, (15, 18)).astype(dtype)
    pixels[:8, :9] = 7
    mask = np.ones((4, 5), bool)
    mask[rng.random((4, 5)) < 0.3] = not masked
    image, tile = prepare(pixels[None], None, 20), Tile(2, 11, 3, 14)
    means, scatter, unit = exact_moments(image, Slices.of_mask(mask, 1), tile)
    for y, x in np.ndindex(9, 11):
        window = pixels[y + 2 : y + 6, x + 3 : x + 8].astype(float)
        assert means[0, y, x] == pytest.approx(window[mask].mean(), rel=1e-14)
        expected = naive.scatter(window, mask)
        assert scatter[y, x] / unit[y, x] ** 2 == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("dtype", "far"), [(np.int64, -(2**63)), (np.int64, 2**63 - 1), (np.uint64, 2**64 - 1)]
)
@pytest.mark.parametrize("corner", [(0, 0), (2, 3)])
def test_one_grey_far_away_costs_the_others_no_digits(dtype, far, corner, rng):
    """In the same tile or in another; floats would round greys less the image's middle."""
    pixels, mask = rng.integers(0, 3000, (15, 18)).astype(dtype), rng.random((4, 5)) < 0.7
    pixels[8:13, 9:17], pixels[0, 0] = 7, far
    image, (y, x) = prepare(pixels[None], None, 20), corner
    means, scatter, unit = exact_moments(image, Slices.of_mask(mask, 1), Tile(y, 11, x, 14))
    for row, col in np.ndindex(11 - y, 14 - x):
        window = pixels[y + row : y + row + 4, x + col : x + col + 5].astype(float)
        assert means[0, row, col] == pytest.approx(window[mask].mean(), rel=1e-14)
        expected = naive.scatter(window, mask)
        assert scatter[row, col] / unit[row, col] ** 2 == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("bits", [8, 16])
def test_squares_outside_a_mask_are_taken_exactly(bits, rng):
    pixels = rng.integers(0, 2**bits, (30, 200)).astype(np.uint16 if bits == 16 else np.uint8)
    mask = rng.random((9, 12)) < 0.6
    scatter = scatter_of(prepare(pixels[None], None, mask.size), Slices.of_mask(mask, 1))
    expected = [naive.scatter(w, mask) for _, w in naive.windows(pixels.astype(float), mask.shape)]
    assert_allclose(scatter.ravel(), expected, rtol=1e-13)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_masks_are_summed_alike_by_either_way(dtype, monkeypatch, rng):
    pixels = rng.integers(0, 256, (1, 153, 345)).astype(dtype)
    mask = rng.random((90, 90)) < 0.5
    found = []
    for cost in (0.0, np.inf):
        monkeypatch.setattr(plan, "transform_cost", lambda *_, cost=cost: cost)
        image = prepare(pixels, None, mask.size)
        found.append(scatter_of(image, Slices.of_mask(mask, 1)))
    if dtype == np.float64:
        assert_allclose(*found, rtol=1e-11)
    else:
        assert_array_equal(*found)
    some = all_windows(pixels[0].astype(float), mask.shape)[::21, ::50][..., mask]
    expected = some.var(axis=-1) * mask.sum() * image.scale**2
    assert_allclose(found[0][::21, ::50], expected, rtol=1e-12)


def test_a_rounded_image_says_which_windows_it_cannot_tell(rng):
    pixels = rng.random((40, 300)).astype(np.float32)
    pixels[:, :100] *= 1e-7
    image = prepare(pixels[None], None, 64).rounded(64)
    assert image.form is np.int32
    (found,) = tile_moments(image, Programs(FULL), Tile(0, 33, 60, 293), 1e-7, "everything")
    assert found.patch.dtype == np.float64  # too many of them: without rounding
    (found,) = tile_moments(image, Programs(FULL), Tile(0, 33, 99, 293), 1e-7, "everything")
    assert found.patch.dtype == np.int32
    assert found.inexact is None or not found.inexact.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_summing_anew_does_not_bring_back_bad_windows(dtype, rng):
    """Windows of little contrast beside bright ones are inexact; those with a NaN stay so."""
    pixels = rng.random((20, 40)).astype(dtype)
    pixels[:, :20] = 0.5 + 1e-9 * (rng.random((20, 20)) < 0.5)
    pixels[:2, 39] = 0, 1  # so that 0.5 is the middle, which stands for bad pixels
    pixels[10, 5] = np.nan
    slices = Slices((np.arange(16) % 2).reshape(1, 4, 4))
    scatter = slice_sums_of(prepare(pixels[None], None, 16), slices, dtype)[1]
    touched = np.zeros(scatter.shape, bool)
    touched[7:11, 2:6] = True
    assert_array_equal(np.isnan(scatter), touched)


def test_slices_know_their_pixels(rng):
    labels = np.stack([random_labels(rng, (5, 6)), np.full((5, 6), -1)])
    labels[1][labels[0] >= 0] = 0
    slices = Slices(labels)
    assert slices.counts.tolist() == [*np.bincount(labels[0][labels[0] >= 0]), slices.pixels]
    assert slices.channel_of_slice.tolist() == [0] * (labels[0].max() + 1) + [1]
    starts, ys, xs, _ = slices.places
    for k, c in enumerate(slices.channel_of_slice):
        own = np.zeros((5, 6), bool)
        own[ys[starts[k] : starts[k + 1]], xs[starts[k] : starts[k + 1]]] = True
        assert_array_equal(own, labels[c] == k - (labels[0].max() + 1) * c)
    assert len(slices.left_over) == 2
    assert slices.counts[slices.left_over[0]] == slices.counts[:-1].max()
    assert sorted(slices.summed + slices.left_over) == list(range(slices.counts.size))
    greys = rng.random((2, 5, 6))
    expected = [greys[0][labels[0] == k].mean() for k in range(labels[0].max() + 1)]
    expected.append(greys[1][slices.mask].mean())
    assert_allclose(slices.means(greys[:, slices.mask]), expected)


FAR = {  # greys that an image has in a few pixels
    "float32": [-3.4e38],
    "float64": [-1e12, 1e12],
    "float64, ends": [1.7e308, -1.7e308],
    "int64": [-(2**62), 10**12],
    "uint64": [2**64 - 1],
}


@pytest.mark.compiled
@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("side", [8, 61])
@pytest.mark.parametrize("kind", FAR)
def test_windows_beside_outliers_are_summed_apart(kind, side, nan, rng):
    """Exactly, and of all windows at once: one by one they take a thousand times as long."""
    noise = np.rint(rng.normal(500, 30, (90, 140)))
    pixels = noise.astype(kind.partition(",")[0])
    mask = np.ones((side, side), bool)
    if nan and pixels.dtype.kind == "f":
        pixels[40, 50], mask[0, 0] = np.nan, False
    for i, grey in enumerate(FAR[kind]):
        pixels[30 + i, 70] = grey
    image = prepare(pixels[None], None, mask.size)
    slices = Slices.of_mask(mask, 1)
    tile = Tile(0, 91 - side, 0, 141 - side)
    done = np.zeros(tile.shape, int)
    programs = Programs(slices)
    inside = plan.inside_way(image, programs, [tile])
    for part in tile_moments(image, programs, tile, 1e-10, inside):
        done += part.own(np.ones(tile.shape, bool))
        assert np.count_nonzero(part.own(part.inexact)) <= 0.02 * part.inexact.size
        for y, x in zip(*np.nonzero(part.own(~part.inexact)), strict=True):
            if (y * x) % 7:
                continue
            greys = pixels[y : y + side, x : x + side][mask]
            scale = abs(greys.astype(float)).max()
            shares = greys.astype(float) / scale
            expected = shares.var() * greys.size * (scale * part.image.scale) ** 2
            assert_allclose(part.scatter[y, x], expected, rtol=1e-9, atol=0)
    assert_array_equal(done, 1)


@pytest.mark.compiled
@pytest.mark.parametrize("measure", ["nuv", "nuv_curves", "ncc", "ncc2"])
@pytest.mark.parametrize("kind", FAR)
def test_maps_beside_outliers_are_those_without(kind, measure, rng):
    """And windows that have one score what they do alone."""
    pixels = np.rint(rng.normal(500, 30, (90, 140))).astype(kind.partition(",")[0])
    others = pixels.copy()
    touched = np.zeros((67, 111), bool)
    for i, grey in enumerate(FAR[kind]):
        pixels[30 + 25 * i, 70 - 3 * i] = grey
        touched[max(7 + 25 * i, 0) : 31 + 25 * i, 41 - 3 * i : 71 - 3 * i] = True
    matcher = nuvmatch.Matcher(others[20:44, 30:60], measure)
    found = matcher.score_map(pixels)
    tolerance = 1e-9 if found.dtype == np.float64 else 1e-6
    assert_allclose(found[~touched], matcher.score_map(others)[~touched], atol=tolerance)
    for y, x in zip(*np.nonzero(touched), strict=True):
        if (y * x) % 29 == 0:
            alone = matcher.score_map(pixels[y : y + 24, x : x + 30])
            assert_allclose(found[y, x], alone[0, 0], atol=tolerance)


def test_windows_far_from_an_outlier_are_summed_at_once_too(rng):
    """Of a tile that has none, beside which all its greys would have no squares."""
    pixels = rng.normal(500, 30, (90, 140))
    pixels[0, 0] = -1.7e308
    image = prepare(pixels[None], None, 64)
    (found,) = tile_moments(image, Programs(FULL), Tile(20, 83, 0, 133), 1e-10, "everything")
    assert not found.inexact.any()
    expected = all_windows(pixels[20:], (8, 8))[5, 7].var() * 64 * found.image.scale**2
    assert_allclose(found.scatter[5, 7], expected, rtol=1e-9)


@pytest.mark.parametrize(
    "others", [[100, 900], [0, 470, 500, 530], [0] * 9 + [200]], ids=["page", "dead", "ground"]
)
def test_ordinary_tones_are_no_outliers(others, rng):
    greys = rng.choice(others, (40, 50)) + rng.normal(0, 5, (40, 50))
    greys[3, 4], greys[5, 6] = 1e30, -1e25
    found, reach = find_outliers(greys[None], np.ones(greys.shape, bool))
    assert np.argwhere(found).tolist() == [[3, 4], [5, 6]]
    assert reach == abs(greys[~found]).max()


def test_of_a_flat_ground_all_else_is_an_outlier():
    greys = np.full((1, 5, 6), 2**62)
    greys[0, 2, 3] = -(2**62)
    found, reach = find_outliers(greys, np.ones((5, 6), bool))
    assert np.argwhere(found).tolist() == [[2, 3]]
    assert reach == 2.0**62
    assert find_outliers(greys, np.zeros((5, 6), bool))[1] == 0
