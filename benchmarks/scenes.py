"""Real images, what may happen to their tones, and templates cut from them."""

import importlib.util
from functools import cache
from pathlib import Path

import cv2
import nibabel
import numpy as np
import skimage.color
import skimage.data

# Defaults are chosen on the first; tables are made of the second.
TUNING = ("brick", "camera", "gravel", "moon", "page", "rocket", "hubble_deep_field", "motorcycle")
FINAL = ("astronaut", "chelsea", "clock", "coffee", "coins", "grass", "text", "retina")
COLOUR = ("astronaut", "chelsea", "coffee", "retina")

LEAST_CONTRAST = 8  # standard deviation of a template
LEAST_LEVELS = 16
TRIES = 200


# Changes of tones: each draws a curve over [0, 1].


def none(rng):
    return lambda t: t


def linear(rng):
    gain = rng.uniform(0.3, 1)
    return lambda t: gain * t + 0.1


def gamma(rng):
    exponent = np.exp(rng.uniform(-np.log(4), np.log(4)))
    return lambda t: t**exponent


def sigmoid(rng):
    slope, centre = rng.uniform(5, 15), rng.uniform(0.3, 0.7)
    return lambda t: 1 / (1 + np.exp(-slope * (t - centre)))


def monotone(rng):
    knots = np.concatenate(([0], np.cumsum(rng.dirichlet(np.ones(6)))))
    return lambda t: np.interp(t, np.linspace(0, 1, 7), knots)


def exposure(rng):
    gain, offset = rng.uniform(1, 2.5), rng.uniform(-0.4, 0.1)
    return lambda t: np.clip(gain * t + offset, 0, 1)


def inverted_gamma(rng):
    curve = gamma(rng)
    return lambda t: 1 - curve(t)


def solarised(rng):
    fold = rng.uniform(0.3, 0.7)
    return lambda t: np.where(t < fold, t / fold, (1 - t) / (1 - fold))


def smooth(rng):
    weights = rng.standard_normal(4) * (1, 1, 0.7, 0.4)
    return lambda t: sum(a * np.cos(np.pi * (k + 1) * t) for k, a in enumerate(weights))


CHANGES = {
    change.__name__.replace("_", " "): change
    for change in (
        none, linear, gamma, sigmoid, monotone, exposure, inverted_gamma, solarised, smooth,
    )
}  # fmt: skip


RISING = ("none", "linear", "gamma", "sigmoid", "monotone", "exposure")
POLARITY = dict.fromkeys(RISING, "increasing") | {"inverted gamma": "decreasing"}


# Images.


@cache
def photograph(name):
    """A photograph of scikit-image, grey or colour, its middle at most 256 pixels square."""
    image = skimage.data.stereo_motorcycle()[0] if name == "motorcycle" else load(name)
    image = image[..., :3] if image.ndim == 3 else image
    if image.shape[0] > 400:
        image = cv2.resize(image, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
    return middle(image)


def load(name):
    return getattr(skimage.data, name)()


def middle(image):
    side = min(256, *image.shape[:2])
    top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
    return np.ascontiguousarray(image[top : top + side, left : left + side])


def grey(image):
    if image.ndim == 2:
        return image
    return np.rint(255 * skimage.color.rgb2gray(image)).astype(np.uint8)


@cache
def stained_tissue():
    """The photograph of a stained tissue in grey, and its two stains (haematoxylin, DAB)."""
    photo = skimage.data.immunohistochemistry()
    found = skimage.color.rgb2hed(photo)[..., [0, 2]]
    # A few pixels have many times more of a stain than all others.
    clipped = np.clip(found, 0, np.percentile(found, 99, axis=(0, 1)))
    return middle(grey(photo)), [middle(to_8_bits(clipped[..., c])) for c in (0, 1)]


@cache
def volume(tissue):
    """T1, grey matter or white matter of the brain template that comes with nilearn."""
    folder = Path(importlib.util.find_spec("nilearn").origin).parent / "datasets" / "data"
    file = nibabel.load(folder / f"mni_icbm152_{tissue}_tal_nlin_sym_09a_converted.nii.gz")
    greys = np.asarray(file.dataobj, np.float64)
    return np.rint(255 * greys / greys.max()).astype(np.uint8)


def to_8_bits(greys):
    return np.rint(255 * (greys - greys.min()) / np.ptp(greys)).astype(np.uint8)


# Pairs of aligned images: one to cut the template from, one to look for it.


def retone(change, names, rng):
    """A photograph, and the same with other tones; and the curve's function."""
    image = grey(photograph(names[rng.integers(len(names))]))
    curve = change(rng)
    return image, curve(image / 255)


def channels(rng):
    """Two colours of a photograph."""
    image = photograph(COLOUR[rng.integers(len(COLOUR))])
    one, two = rng.permutation(3)[:2]
    return image[..., one], image[..., two]


def stains(rng):
    """One stain of a tissue, and its photograph in grey."""
    photo, both = stained_tissue()
    return both[rng.integers(2)], photo


def slices_of(one, two):
    """An axial slice of two of the aligned volumes."""

    def pair(rng):
        level = rng.integers(60, 130)
        return volume(one)[:, :, level], volume(two)[:, :, level]

    pair.__name__ = f"{one} to {two}"
    return pair


TISSUES = ("t1", "gm", "wm")
REAL = {"colours": channels, "stain to photo": stains}
REAL |= {f"{a} to {b}": slices_of(a, b) for a in TISSUES for b in TISSUES if a != b}


def add_noise(scene, noise, rng):
    """Add noise of that share of the standard deviation, and quantise to 8 bits."""
    scene = scene + noise * scene.std() * rng.standard_normal(scene.shape)
    return to_8_bits(scene)


def cut_template(image, scene, side, rng):
    """A place where both images have some contrast, and what is there in the first.

    None where such places are so rare that there may be none.
    """
    for _ in range(TRIES):
        row, col = rng.integers(0, np.array(image.shape) - side + 1)
        place = slice(row, row + side), slice(col, col + side)
        template = image[place]
        if (
            template.std() > LEAST_CONTRAST
            and np.unique(template).size >= LEAST_LEVELS
            and scene[place].std() > LEAST_CONTRAST
        ):
            return row, col, template
    return None
