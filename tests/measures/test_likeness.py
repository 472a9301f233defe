"""Whether a template is like another, so that it is no decoy of it."""

import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import Matcher
from nuvmatch.measures.likeness import Look, are_equal, unlike


def made(greys, mask=None):
    return Matcher(greys, "ncc", mask=mask)._template


def look(greys, mask=None):
    return Look(made(greys, mask))


def smooth(seed, shape=(24, 26), width=3):
    noise = np.random.default_rng(seed).normal(size=shape)
    greys = ndimage.gaussian_filter(noise, width, mode="wrap")
    return np.interp(greys, [greys.min(), greys.max()], [0, 255]).astype(np.uint8)


def is_like(one, other, mask=None, beside=None):
    found = look(one, mask).is_like(look(other, beside))
    assert found == look(other, beside).is_like(look(one, mask))
    return found


def noise_of(greys):
    """Median deviation of what no plane explains in 3 x 3 pixels, up to a fifth of the scatter."""
    kernel = np.outer([1, -2, 1], [1, -2, 1])
    left = [
        abs((kernel * greys[row : row + 3, col : col + 3]).sum())
        for row, col in np.ndindex(greys.shape[0] - 2, greys.shape[1] - 2)
    ]
    return min((np.median(left) / 0.6745 / 6) ** 2, 0.2 * greys.var())


def explained(one, other):
    """By loops over the shifts of what is so small that nothing is averaged: those that count."""
    found = {}
    noise = [noise_of(part.astype(float)) for part in (one, other)]
    whole = [part.var() - level for part, level in zip((one, other), noise, strict=True)]
    for down in range(-2, 3):
        for right in range(-2, 3):
            parts = []
            for part, sign in ((one, 1), (other, -1)):
                rows, cols = (
                    slice(max(sign * by, 0), 9 + min(sign * by, 0)) for by in (down, right)
                )
                parts.append(part[rows, cols].ravel().astype(float))
            size = parts[0].size
            left = [part.var() - level for part, level in zip(parts, noise, strict=True)]
            shares = [of * size / all_ / 81 for of, all_ in zip(left, whole, strict=True)]
            if size > 0.4 * 81 and min(shares) > 0.4:
                found[down, right] = np.cov(*parts, bias=True)[0, 1] ** 2 / np.prod(left)
    return found


def test_alike_is_what_explains_so_much_at_some_shift():
    told = []
    for seed in range(100):
        one, other = smooth(seed, (9, 9), 1), smooth(seed + 500, (9, 9), 1)
        shifted = np.roll(one, (seed % 3, seed % 5 - 2), (0, 1))
        mixed = (0.8 * shifted + 0.2 * other).astype(np.uint8)
        told.append(max(explained(one, mixed).values()) > 0.97)
        assert is_like(one, mixed) == told[-1]
    assert 20 < sum(told) < 80


def test_what_stands_out_is_another_where_it_is_shifted_as_far_as_may_be():
    told = []
    for seed in range(60):
        one = smooth(seed, (9, 9), 1.5)
        far = [
            r for (down, right), r in explained(one, one).items() if 2 in map(abs, (down, right))
        ]
        told.append(max(far, default=0) < 0.5)
        assert look(one).stands_out == told[-1]
    assert 5 < sum(told) < 55


@pytest.mark.parametrize("seed", range(4))
def test_patches_are_not_like_others_nor_their_mirror_images(seed):
    one = smooth(seed)
    assert not is_like(one, one[:, ::-1])
    assert not is_like(one, smooth(seed + 50))
    assert is_like(one, one)
    assert is_like(one, 255 - one // 2)


def test_what_is_nearly_symmetric_is_like_its_mirror_images(rng):
    """A little off the middle, and noisy."""
    disc = 100.0 * (np.hypot(*(np.indices((29, 29)) - [[[12]], [[15]]])) < 9)
    template = made(disc + rng.normal(0, 12, disc.shape))
    assert unlike(template, template.mirror_images()) == []
    assert len(unlike(template, template.shifted_images())) == 3


def test_a_detail_on_a_symmetric_ground_is_a_difference():
    """As the text of a button is: others have the same frame."""
    frame = np.full((28, 96), 235)
    frame[:2] = frame[-2:] = frame[:, :2] = frame[:, -2:] = 90
    text = np.random.default_rng(1).random((9, 44)) < 0.3
    button = frame.copy()
    button[9:18, 26:70][text] = 60
    assert len(unlike(made(frame), made(frame).mirror_images())) == 0
    assert len(unlike(made(button), made(button).mirror_images())) == 3


@pytest.mark.parametrize("seed", range(3))
def test_of_lines_and_edges_nothing_but_what_is_equal_is_left_out(seed):
    """Images are full of what is nearly like them, and decoys show it."""
    rng = np.random.default_rng(seed)
    line = np.where(abs(np.indices((30, 30))[1] - 14) < 3, 200, 60)
    edge = np.where(np.indices((30, 30))[1] < 15, 200, 60)
    for greys in (line, edge, edge.T, np.indices((30, 30))[0] * 4):
        template = made(greys + rng.normal(0, 2, greys.shape))
        assert len(unlike(template, template.mirror_images())) == 3
    assert len(unlike(made(line[:, :29]), made(line[:, :29]).mirror_images())) == 0


def test_a_shift_by_half_is_another():
    one = smooth(3)
    assert is_like(one, np.roll(one, 5, 1))
    assert not is_like(one, np.roll(one, 13, 1))


def test_of_two_that_are_equal_one_is_left():
    one = smooth(1)
    half = np.vstack([one[:12], one[:12][::-1]])  # upside down it is the same
    template = made(half)
    (other,) = unlike(template, template.mirror_images())
    assert (other.planes[0] == half[:, ::-1]).all()


def test_equal_is_inverted_too():
    one, left = smooth(1), np.indices((24, 26))[1] < 20
    other = one.copy()
    other[0, 0] += 1
    assert are_equal(made(one), made(255 - one))
    assert not are_equal(made(one), made(other))
    other[0, 25] += 1
    assert are_equal(made(one, left), made(255 - np.where(left, one, 7), left))
    assert not are_equal(made(one, left), made(one))


def test_where_only_details_tell_nothing_is_like_it():
    checks = (np.indices((64, 64)).sum(axis=0) % 2 * 200).astype(np.uint8)
    assert not is_like(checks, checks)
    assert not look(checks).stands_out
    template = made(checks)
    assert unlike(template, template.mirror_images()) == []  # for they are equal


def test_masks_of_which_little_is_shared_tell_nothing():
    one, left = smooth(5), np.indices((24, 26))[1] < 6
    assert not is_like(one, one, left, left[:, ::-1])
    assert is_like(one, one, left, left)


def test_colours_count_by_themselves():
    one = np.stack([smooth(k) for k in range(3)], axis=-1)
    assert is_like(one, one)
    assert not is_like(one, one[..., [1, 2, 0]])


@pytest.mark.parametrize("dtype", [bool, "u8", "i1", "f2", "f4", ">f8"])
def test_any_type_and_size(dtype):
    for height, width in ((1, 7), (2, 3), (3, 40), (300, 5)):
        greys = smooth(2, (height, width), 1) // 2
        greys = (greys > np.median(greys)) if dtype is bool else greys.astype(dtype)
        if greys.min() != greys.max():
            assert is_like(greys, greys)
            assert are_equal(made(greys), made(greys))
