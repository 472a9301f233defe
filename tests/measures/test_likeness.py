"""Whether a template is like another, so that it is no decoy of it."""

import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import Matcher
from nuvmatch.measures.likeness import Look, unlike


def look(greys, mask=None):
    return Look(Matcher(greys, "ncc", mask=mask)._template)


def smooth(seed, shape=(24, 26), width=3):
    noise = np.random.default_rng(seed).normal(size=shape)
    greys = ndimage.gaussian_filter(noise, width, mode="wrap")
    return np.interp(greys, [greys.min(), greys.max()], [0, 255]).astype(np.uint8)


def is_like(one, other, mask=None, beside=None):
    found = look(one, mask).is_like(look(other, beside), 4)
    assert found == look(other, beside).is_like(look(one, mask), 4)
    return found


def explained(one, other):
    """By loops over the shifts of what is so small that nothing is averaged."""
    best = 0
    for down in range(-2, 3):
        for right in range(-2, 3):
            parts = []
            for part, sign in ((one, 1), (other, -1)):
                rows, cols = (
                    slice(max(sign * by, 0), 9 + min(sign * by, 0)) for by in (down, right)
                )
                parts.append(part[rows, cols].ravel().astype(float))
            shares = [
                p.var() * p.size / whole.var() / 81
                for p, whole in zip(parts, (one, other), strict=True)
            ]
            if parts[0].size > 0.4 * 81 and min(shares) > 0.4:
                best = max(best, np.corrcoef(*parts)[0, 1] ** 2)
    return best


def test_alike_is_what_explains_so_much_at_some_shift():
    told = []
    for seed in range(100):
        one, other = smooth(seed, (9, 9), 1), smooth(seed + 500, (9, 9), 1)
        shifted = np.roll(one, (seed % 3, seed % 5 - 2), (0, 1))
        mixed = (0.86 * shifted + 0.14 * other).astype(np.uint8)
        expected = explained(one, mixed)
        assert look(one).is_like(look(mixed), 4) == (expected > 0.97)
        assert look(one).is_like(look(mixed)) == (
            np.corrcoef(one.flat, mixed.flat)[0, 1] ** 2 > 0.97
        )
        told.append(expected > 0.97)
    assert 20 < sum(told) < 80


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
    noisy = disc + rng.normal(0, 12, disc.shape)
    assert is_like(noisy, noisy[:, ::-1])
    assert is_like(noisy, noisy[::-1, ::-1])
    template = Matcher(noisy)._template
    assert unlike(template, template.mirror_images()) == []
    assert unlike(template, template.shifted_images())


def test_a_shift_by_half_is_another():
    one = smooth(3)
    assert is_like(one, np.roll(one, 5, 1))
    assert not is_like(one, np.roll(one, 13, 1))


def test_of_two_that_are_alike_one_is_left():
    one = smooth(1)
    half = np.vstack([one[:12], one[:12][::-1]])  # upside down it is the same
    template = Matcher(half)._template
    (other,) = unlike(template, template.mirror_images())
    assert (other.planes[0] == half[:, ::-1]).all()


def test_where_only_details_tell_they_are_compared(rng):
    checks = (np.indices((32, 32)).sum(axis=0) % 2 * 200).astype(np.uint8)
    assert is_like(checks, 200 - checks)
    assert not is_like(checks, np.indices((32, 32))[0].astype(np.uint8) % 2 * 200)


def test_masks_of_which_little_is_shared_tell_nothing():
    one, left = smooth(5), np.indices((24, 26))[1] < 6
    assert not is_like(one, one, left, left[:, ::-1])
    assert is_like(one, one, left, left)


def test_colours_count_by_themselves(rng):
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
