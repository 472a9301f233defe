"""What is the template turned is no decoy of it."""

import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import MI, NCC, NUV
from nuvmatch.measures.template import Template
from nuvmatch.search.poses import as_angles
from nuvmatch.search.symmetry import is_turned


def smooth(seed):
    greys = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(36, 36)), 2)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


def is_like(one, other, angles):
    templates = Template.of(one, None), Template.of(other, None)
    return is_turned(*templates, NUV(), as_angles(angles))


@pytest.mark.parametrize("seed", range(4))
def test_a_mirror_image_of_no_symmetry_is_none_of_its_turns(seed):
    assert not is_like(smooth(seed)[:, ::-1], smooth(seed), "all")
    assert not is_like(smooth(seed), smooth(seed + 10), "all")


@pytest.mark.parametrize("angle", [90, 137, -70])
def test_what_is_turned_is_recognised_whatever_its_tones(angle):
    turned = ndimage.rotate(smooth(0).astype(float), angle, reshape=False, mode="reflect")
    assert is_like(255 - turned, smooth(0), "all")
    assert is_like(255 - turned, smooth(0), (0, angle))
    assert not is_like(255 - turned, smooth(0), (angle,))


def test_the_mirror_image_of_what_is_symmetric_is_a_turn_of_it():
    """About a diagonal: mirrored left to right it is turned by a quarter."""
    greys = smooth(1) // 2 + smooth(1).T // 2
    assert is_like(greys[:, ::-1], greys, "all")
    assert is_like(greys[:, ::-1], greys, (0, 90))
    assert not is_like(greys[:, ::-1], greys, 0)


def test_a_disc_says_nothing():
    disc = (np.hypot(*(np.indices((30, 30)) - 14.5)) < 20).astype(np.uint8)
    corner = disc.copy()
    corner[0, 0] = 7  # beyond all that turns within it
    assert is_like(corner, corner[:, ::-1], "all")


@pytest.mark.parametrize("measure", [NUV(), MI(), NCC(squared=True)])
@pytest.mark.parametrize("angles", ["all", (0, 90, 180, 270)])
def test_of_noise_half_a_turn_is_recognised(measure, angles):
    """Between right angles nothing is left of it; and it does not score 0 by most measures."""
    greys = np.random.default_rng(3).integers(0, 256, (24, 24), dtype=np.uint8)
    template = Template.of(greys, None)
    assert is_turned(Template.of(greys[::-1, ::-1], None), template, measure, as_angles(angles))
    assert not is_turned(Template.of(greys[:, ::-1], None), template, measure, as_angles(angles))
