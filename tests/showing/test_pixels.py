"""Any image as a picture; matches cut out and turned upright."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import Match
from nuvmatch.showing.pixels import as_picture, cut_out, fitted, outline, range_of, to_8_bits


def test_bytes_are_shown_as_they_are(rng):
    grey = rng.integers(100, 120, (5, 7)).astype(np.uint8)
    colour = rng.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    assert_array_equal(as_picture(grey, "image"), grey)
    assert_array_equal(as_picture(colour, "image"), colour)


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.float32, np.float64, np.uint64])
def test_other_ranges_are_stretched_but_for_a_few_greys(kind):
    ramp = np.linspace(1000, 2000, 10_000).reshape(100, 100)
    image = ramp.astype(kind)
    image[50, 50] = 60_000  # a hot pixel
    shown = as_picture(image, "image")
    wanted = np.rint(255 * ((ramp - 1000) / 1000).clip(0, 1))
    wanted[50, 50] = 255
    assert abs(shown.astype(int) - wanted).max() <= 2


@pytest.mark.parametrize(
    ("kind", "lowest"), [(np.uint64, 2**64 - 1100), (np.int64, -(2**63)), (np.int64, 2**62)]
)
def test_large_whole_numbers_are_told_apart(kind, lowest):
    steps = np.arange(1000).reshape(20, 50)
    image = np.array([lowest + step for step in steps.ravel().tolist()], kind).reshape(20, 50)
    assert_array_equal(as_picture(image, "image"), as_picture(steps.astype(np.uint16), "image"))
    ends = np.array([[np.iinfo(kind).min, np.iinfo(kind).max]], kind)
    assert_array_equal(as_picture(ends, "image"), [[0, 255]])
    floats = np.array([[-1.5e308, -0.5e308, 0.5e308, 1.5e308]])
    assert_array_equal(as_picture(floats, "image"), [[0, 85, 170, 255]])


def test_what_is_not_finite_is_transparent():
    image = np.array([[0.0, np.nan, 1.0], [np.inf, 0.5, 0.25]])
    shown = as_picture(image, "image", (0.0, 1.0))
    assert shown.shape == (2, 3, 4)
    assert_array_equal(shown[..., 3], [[255, 0, 255], [0, 255, 255]])
    assert_array_equal(shown[..., 0][shown[..., 3] > 0], [0, 255, 128, 64])


def test_alpha_is_kept():
    alpha = np.array([[0, 100], [200, 255]])
    grey = np.dstack([np.full((2, 2), 7), alpha]).astype(np.uint8)
    assert_array_equal(as_picture(grey, "image")[..., 3], alpha)
    assert_array_equal(as_picture(grey, "image")[..., :3], np.full((2, 2, 3), 7))
    wide = np.dstack([np.zeros((2, 2, 3)), alpha * 257]).astype(np.uint16)
    assert_array_equal(as_picture(wide, "image")[..., 3], alpha)
    unused = np.dstack([np.full((2, 2), 7), np.zeros((2, 2))]).astype(np.uint8)
    assert as_picture(unused, "image").ndim == 2


@pytest.mark.parametrize(
    "image", [np.full((3, 3), np.nan), np.full((3, 3), 7.0), np.zeros((3, 3), bool)]
)
def test_what_has_no_range_is_black(image):
    assert not to_8_bits(image[np.newaxis]).any()


def test_booleans_are_black_and_white():
    assert_array_equal(as_picture(np.eye(4, dtype=bool), "image"), 255 * np.eye(4))


def test_the_range_of_a_large_image_is_that_of_a_part(rng):
    image = rng.normal(50, 5, (1, 1500, 1500))
    low, high = range_of(image)
    assert_allclose([low, high], 50 + 5 * np.array([-3.09, 3.09]), atol=0.5)


def test_pictures_are_made_smaller_never_larger(rng):
    picture = np.repeat(np.repeat(rng.integers(0, 256, (10, 20)), 3, 0), 3, 1).astype(np.uint8)
    assert_array_equal(fitted(picture, 60), picture)
    assert_array_equal(fitted(picture, 20), picture[1::3, 1::3])
    assert fitted(np.zeros((1, 1000), np.uint8), 10).shape == (1, 10)


def plane(rows, cols):
    """A grey that no interpolation along straight lines can miss."""
    return 3.0 * rows - 2.0 * cols + 1


def test_an_upright_match_is_a_slice():
    planes = np.arange(2 * 20 * 30).reshape(2, 20, 30).astype(np.uint16)
    assert_array_equal(cut_out(planes, Match(3, 4, 5, 6, 0.0)), planes[:, 3:8, 4:10])


def test_what_sticks_out_of_the_image_is_not_a_number():
    planes = np.ones((1, 10, 12))
    for row, col in ((-2, -3), (8, 9), (-2, 9), (20, 30), (-20, -30)):
        cut = cut_out(planes, Match(row, col, 4, 5, 0.0))[0]
        inside = np.zeros((4, 5), bool)
        for i, j in np.ndindex(4, 5):
            inside[i, j] = 0 <= row + i < 10 and 0 <= col + j < 12
        assert_array_equal(np.isfinite(cut), inside)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_quarter_turn_is_turned_back_to_the_last_pixel(turns, rng):
    template = rng.integers(0, 256, (9, 14)).astype(np.uint8)
    turned = np.rot90(template, turns)  # counter-clockwise
    for row, col in ((6, 5), (0, 0)):  # in the corner there is nothing beside it
        scene = np.zeros((1, 30, 30), np.uint8)
        height, width = turned.shape
        scene[0, row : row + height, col : col + width] = turned
        match = Match(
            row, col, height, width, 0.0, angle=90.0 * turns, template_shape=template.shape
        )
        assert_allclose(cut_out(scene, match)[0], template, atol=1e-9)


@pytest.mark.parametrize(("angle", "scale"), [(30.0, 1.0), (-75.0, 1.5), (170.0, 0.6), (0.0, 2.0)])
def test_a_turned_and_resized_match_is_turned_upright(angle, scale):
    scene = plane(*np.mgrid[:80, :90])[np.newaxis]
    match = Match(
        25, 30, 31, 33, 0.0,
        angle=angle, scale=scale, offset=(0.25, -0.25), template_shape=(11, 16),
    )  # fmt: skip
    row, col = 25 + 15 + 0.25, 30 + 16 - 0.25
    turn = np.exp(1j * np.radians(angle)) * scale
    wanted = np.empty((11, 16))
    for i, j in np.ndindex(11, 16):
        offset = ((j - 7.5) - 1j * (i - 5)) * turn  # the eye has rows downwards
        wanted[i, j] = plane(row - offset.imag, col + offset.real)
    assert_allclose(cut_out(scene, match)[0], wanted, atol=0.1)  # OpenCV's 32nds of a pixel


def test_outlines_enclose_whole_pixels():
    assert_array_equal(outline(Match(3, 4, 5, 6, 0.0)), [(4, 3), (10, 3), (10, 8), (4, 8)])
    turned = Match(3, 4, 6, 5, 0.0, angle=90.0, template_shape=(5, 6))
    # The template's top left is at the bottom left, its top right at the top left.
    assert_allclose(outline(turned), [(4, 9), (4, 3), (9, 3), (9, 9)], atol=1e-12)
