"""Images of any type come in few forms, and in these without loss."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import nuvmatch
from nuvmatch.engine import Seen, Tile, prepare, unit_scale


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


@pytest.mark.parametrize("grey", [np.nan, np.inf])
def test_what_is_not_finite_is_found_far_down_a_large_masked_image(grey):
    """Which is looked at some rows at a time."""
    planes, bad = np.ones((1, 1100, 1000), np.float32), np.zeros((1100, 1000), bool)
    planes[0, 1090, 30], bad[0, 0] = grey, True
    image, seen = prepare(planes, ~bad, 4), Seen.of(planes, bad, (0, 0), [])
    bad[1090, 30] = True
    assert_array_equal(image.bad, bad)
    assert image.grey_range == seen.ends == (1, 1)
    assert not seen.finite


def test_a_window_too_large_for_exact_floats_takes_a_wider_form():
    image = np.ones((1, 4, 5), np.uint8)
    largest = int(2**26.5 / 255)  # (255 d)^2 < 2^53
    assert prepare(image, None, largest).form is np.uint8
    assert prepare(image, None, largest + 1).form is np.int32


def test_a_patch_holds_zeros_where_pixels_are_bad_and_beyond_the_image(rng):
    planes, mask = rng.integers(1, 9, (2, 5, 6)).astype(np.uint8), np.ones((5, 6), bool)
    mask[2, 3] = False
    patch = prepare(planes, mask, 4).patch(Tile(1, 3, 2, 5), (2, 2), 8)
    expected = np.zeros((2, 3, 9), int)
    expected[:, :, :4] = np.where(mask, planes, 0)[:, 1:4, 2:6]
    assert_array_equal(patch, expected)


def test_a_crop_is_read_as_the_whole(rng):
    planes = rng.integers(-500, 9000, (1, 12, 13))
    planes[0, 0, 0] = -100_000
    whole = prepare(planes, planes[0] % 7 > 0, 4)
    part = whole.crop(3, 2, 8, 9)
    assert (part.shape, part.form, part.offset) == ((8, 9), whole.form, whole.offset)
    assert part.grey_range == whole.grey_range
    of_part = part.patch(Tile(0, 7, 0, 8), (2, 2), 8).copy()
    assert_array_equal(of_part, whole.patch(Tile(3, 10, 2, 10), (2, 2), 8))


@pytest.mark.parametrize("part", [np.s_[:], np.s_[5:, 9:]])
def test_a_part_is_rounded_as_the_whole(part, rng):
    pixels = (rng.integers(0, 256, (30, 40)) / 255).astype(np.float32)
    pixels[10, 20] = 1
    images = [prepare(p[None], None, 16).rounded(16) for p in (pixels, pixels[part])]
    greys = [image.patch(Tile(0, 9, 0, 9), (2, 2), 9) + image.middle for image in images]
    assert_array_equal(greys[1][0], np.rint(pixels[part][:10, :10] * 2.0**26).astype(int))
    assert images[0].scale == images[1].scale


def test_half_floats_are_rounded_as_wider_ones(rng):
    pixels = np.zeros((30, 30), np.float16)
    pixels[15, 15] = 1
    mask = rng.random((20, 20)) < 0.6
    matcher = nuvmatch.Matcher(np.arange(400).reshape(20, 20) % 7, nuvmatch.NUV(bins=4), mask=mask)
    assert_array_equal(matcher.score_map(pixels), matcher.score_map(pixels.astype(np.float32)))


@pytest.mark.parametrize("magnitude", [5e-324, 1e-300, 0.3, 1.0, 1023.0, 1.7e308])
def test_units_are_powers_of_two_that_let_no_square_overflow(magnitude):
    unit = unit_scale(magnitude)
    assert np.frexp(unit)[0] == 0.5
    assert magnitude * unit <= 1
    assert magnitude * unit >= 0.25 or magnitude < 1e-300
    assert unit_scale(0.0) == 1


# The range of greys that an image has, outliers apart.


def usual(image, good=None):
    return prepare(np.asarray(image)[None], good, 4).usual_range


@pytest.mark.parametrize("dtype", [bool, "u1", "i1", ">u2", "i4", "u8", "f2", "f4", ">f8", "g"])
@pytest.mark.parametrize("outliers", [0, 1, 5, 30])
def test_the_usual_range_is_that_of_the_loops(dtype, outliers, rng):
    image = (20 + 5 * rng.standard_normal((40, 50)).clip(-2, 2)).astype(dtype)
    hot = rng.choice(2000, outliers, replace=False)
    image.flat[hot] = (rng.random(outliers) * 120).astype(dtype)
    good = rng.random((40, 50)) < 0.9
    assert usual(image) == naive.usual_range(image)
    assert usual(image, good) == naive.usual_range(image, good)


@pytest.mark.parametrize(
    "image",
    [
        np.arange(12).reshape(3, 4),
        np.arange(256, dtype=np.uint8).reshape(16, 16),
        np.linspace(-1, 1, 10_000).reshape(100, 100),
        np.random.default_rng(0).normal(0, 1, (100, 100)),
        np.array([[0, 0, 0, 0, 9]]),
        np.ones((5, 5)),
        np.zeros((5, 5), bool),
    ],
    ids=["few", "levels", "ramp", "noise", "one", "flat", "no"],
)
def test_without_outliers_it_is_the_whole_range(image):
    assert usual(image) == (image.min(), image.max())


@pytest.mark.parametrize("ground", [0, 255])
@pytest.mark.parametrize("pixels", [1, 20, 400])
def test_what_stands_on_a_background_of_one_grey_is_no_outlier(ground, pixels, rng):
    image = np.full((100, 100), ground, np.uint8)
    image.flat[rng.choice(10_000, pixels, replace=False)] = rng.integers(90, 160, pixels)
    assert usual(image) == (image.min(), image.max())


def test_a_small_bright_object_in_the_dark_is_no_outlier(rng):
    image = rng.integers(0, 30, (200, 200)).astype(np.uint8)
    image[50:70, 70:90] = rng.integers(100, 256, (20, 20))
    assert usual(image) == (image.min(), image.max())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_large_images_are_sampled_but_the_ends_are_exact(dtype, rng):
    """Wherever the outliers are, and the lowest and highest of the rest."""
    image = rng.integers(20, 41, (1100, 1200)).astype(dtype)
    image[1, 1], image[2, 5] = 13, 47  # not in the sample
    image[::97, ::89] = 250
    assert usual(image) == (13, 47)
    assert usual(np.full_like(image, 7)) == (7, 7)
    alone = np.full_like(image, 7)
    alone[1, 1] = 250
    assert usual(alone) == (7, 250)


def test_an_image_without_good_pixels_has_no_range():
    assert usual(np.ones((4, 5)), np.zeros((4, 5), bool)) == (0, 0)


def test_wide_integers_keep_their_ends():
    image = np.arange(2**63, 2**63 + 1000, dtype=np.uint64).reshape(25, 40)
    assert usual(image) == (2**63, 2**63 + 999)
    image[3, 3], image[4, 4] = 2**64 - 1, 0
    assert usual(image) == (2**63, 2**63 + 999)


def test_parts_have_the_range_of_the_whole(rng):
    planes = rng.random((1, 40, 50)).astype(np.float32)
    planes[0, 30, 30] = 1e6
    whole = prepare(planes, None, 4)
    part = whole.crop(3, 4, 10, 11).crop(1, 1, 5, 5)
    assert part.whole is whole.whole
    assert part.usual_range == whole.usual_range == naive.usual_range(planes)
    assert part.rounded(4).usual_range == whole.usual_range


def test_around_a_part_lies_more_of_the_same_image(rng):
    """As much on each side as there is, until the windows are enough, or it is the whole."""
    planes, mask = rng.integers(0, 256, (1, 50, 60)).astype(np.uint8), rng.random((50, 60)) < 0.9
    whole = prepare(planes, mask, 12)
    part = whole.crop(20, 2, 9, 8)
    assert (whole.place, part.place, part.crop(3, 1, 4, 5).place) == ((0, 0), (20, 2), (23, 3))
    assert part.around(7 * 5, (3, 4)) is part
    for windows in (36, 200, 1000, 2736, 10**6):
        more = part.around(windows, (3, 4))
        (top, left), (rows, columns) = more.place, more.shape
        margin = 20 - top if top else 0
        assert_array_equal(more.planes, planes[:, top : top + rows, left : left + columns])
        assert_array_equal(more.bad, ~mask[top : top + rows, left : left + columns])
        assert (more.form, more.offset, more.grey_range) == (
            whole.form, whole.offset, whole.grey_range
        )  # fmt: skip
        assert top <= 20
        assert left <= 2
        assert (rows - 2) * (columns - 3) >= min(windows, 48 * 57)
        if margin:
            assert (rows, left) == (9 + 2 * margin, max(2 - margin, 0))
            assert columns == min(10 + margin, 60) - left
    assert part.around(10**6, (3, 4)).shape == (50, 60)
    assert whole.around(10**6, (3, 4)) is whole
