"""Kinds of images: of each, two that have nothing in common, in grey."""

from functools import cache

import cv2
import numpy as np
import skimage.color
import skimage.data
from scipy import ndimage

from .icons import ROWS, THEMES
from .scenes import LEAST_CONTRAST, LEAST_LEVELS, TRIES, grey, load, to_8_bits
from .screens import FAMILIES, SIDES, draw_screen

SIDE = 512
STARS = 4  # that a patch of sky shows at least: fewer are like any others
STANDS_OUT = 24  # greys by which a star is brighter than the sky around it

PHOTOGRAPHS = (
    "astronaut", "camera", "chelsea", "clock", "coffee", "coins", "moon", "rocket", "motorcycle",
)  # fmt: skip


def crop(image, rng):
    """A part of at most `SIDE` pixels a side."""
    size = np.minimum(image.shape, SIDE)
    row, col = rng.integers(0, image.shape - size + 1)
    return image[row : row + size[0], col : col + size[1]]


def choose_two(draws, rng):
    one, other = rng.choice(len(draws), 2, replace=False)
    return draws[one](rng), draws[other](rng)


# Photographs.


@cache
def photograph(name):
    image = skimage.data.stereo_motorcycle()[0] if name == "motorcycle" else load(name)
    return grey(image[..., :3] if image.ndim == 3 else image)


def cropped(name):
    return lambda rng: crop(photograph(name), rng)


def photographs(rng):
    """Two of different subjects."""
    return choose_two([cropped(name) for name in PHOTOGRAPHS], rng)


# Textures.


def fractal(rng, exponent, side=SIDE):
    """Noise of a spectrum 1/f^exponent, of mean 0 and standard deviation 1."""
    across, down = np.fft.rfftfreq(side), np.fft.fftfreq(side)[:, None]
    frequency = np.hypot(across, down)
    frequency[0, 0] = np.inf if exponent else 1
    spectrum = np.fft.rfft2(rng.standard_normal((side, side))) * frequency ** (-exponent / 2)
    noise = np.fft.irfft2(spectrum, (side, side))
    return (noise - noise.mean()) / noise.std()


def develop(image, rng, noise=0.1):
    """Add noise of that share of the standard deviation, cut off extremes, make 8 bits."""
    image = image + noise * image.std() * rng.standard_normal(image.shape)
    return to_8_bits(np.clip(image, *np.percentile(image, (0.5, 99.5))))


def coordinates(rng):
    """Rows and columns, in a random direction."""
    angle = rng.uniform(0, np.pi)
    y, x = np.indices((SIDE, SIDE)) - SIDE / 2
    return np.cos(angle) * y - np.sin(angle) * x, np.sin(angle) * y + np.cos(angle) * x


def woven(rng):
    """Threads over and under each other, each of its own grey and thickness."""
    y, x = coordinates(rng)
    pitch = rng.uniform(6, 14)
    u, v = (c / pitch + 0.25 * fractal(rng, 3) + SIDE for c in (y, x))
    own = rng.normal(1, 0.3, (2, 4 * SIDE))
    rows, columns = u.astype(int), v.astype(int)
    warp = own[0][rows] * np.sin(np.pi * (u % 1)) ** 0.7
    weft = own[1][columns] * np.sin(np.pi * (v % 1)) ** 0.7
    return develop(np.where((rows + columns) % 2, warp, 0.7 * weft), rng)


def wood(rng):
    """Rings that are cut lengthwise, and pores along them."""
    y, x = np.indices((SIDE, SIDE))
    bends = rng.uniform(5, 15) * fractal(rng, 4)
    depth = np.hypot(y + bends - rng.uniform(0, SIDE), 0.2 * x + rng.uniform(20, 100))
    rings = (depth / rng.uniform(6, 20)) % 1
    pores = cv2.GaussianBlur(rng.standard_normal((SIDE, SIDE)), (0, 0), 15, sigmaY=0.8)
    return develop(rings + rng.uniform(2, 5) * pores, rng)


def marble(rng):
    """Veins along a direction, bent by turbulence."""
    y, _ = coordinates(rng)
    turbulence = rng.uniform(1, 3) * fractal(rng, rng.uniform(3, 4))
    veins = abs(np.sin(y / rng.uniform(10, 40) + turbulence)) ** rng.uniform(0.3, 1)
    return develop(veins + 0.1 * fractal(rng, 1.5), rng)


def labyrinth(rng):
    """Spots or stripes as of reaction and diffusion: what is near helps, what is far hinders."""
    greys, size, bias = rng.standard_normal((SIDE, SIDE)), rng.uniform(1.5, 4), rng.normal(0, 0.05)
    for _ in range(6):
        near = cv2.GaussianBlur(greys, (0, 0), size)
        difference = near - cv2.GaussianBlur(greys, (0, 0), 1.8 * size) + bias
        greys = np.tanh(1.5 * difference / difference.std())
    return develop(greys + 0.2 * fractal(rng, 1.5), rng)


def scatter_cells(rng, pitch):
    """Distances to the nearest of scattered points, and its number."""
    points = np.ones((SIDE, SIDE))
    points[tuple(rng.integers(0, SIDE, (2, int((SIDE / pitch) ** 2))))] = 0
    distance, (row, col) = ndimage.distance_transform_edt(points, return_indices=True)
    return distance, row * SIDE + col


def creases(labels):
    """Distances to where cells meet."""
    meet = (ndimage.maximum_filter(labels, 3) != labels).astype(np.uint8)
    return cv2.distanceTransform(1 - meet, cv2.DIST_L2, 5)


def cells(rng):
    """Voronoi cells, each of its own grey, darker towards its seams."""
    _, labels = scatter_cells(rng, rng.uniform(12, 30))
    own = rng.uniform(0.3, 1, SIDE**2)
    return develop(own[labels] * (1 - np.exp(-creases(labels) / 1.5)), rng)


def leather(rng):
    """Bumps between creases, lit from one side."""
    _, labels = scatter_cells(rng, rng.uniform(7, 16))
    height = np.sqrt(creases(labels)) + 0.2 * fractal(rng, 2.5)
    height = cv2.GaussianBlur(height, (0, 0), 1)
    return develop(np.tensordot(rng.normal(0, 1, 2), np.gradient(height), 1) + 0.3 * height, rng)


SYNTHETIC = (woven, wood, marble, labyrinth, cells, leather)


def textures(rng):
    """Two of different materials."""
    return choose_two([*SYNTHETIC, *map(cropped, ("brick", "grass", "gravel"))], rng)


# Screens.


def screens(rng):
    """Two windows that share no icon, no word and no font."""
    themes, families = rng.choice(list(THEMES), 2), rng.permutation(FAMILIES)
    rows, half = rng.permutation(len(ROWS)), len(ROWS) // 2
    sides = rng.choice(SIDES, 2, replace=False)  # or badges would be the same
    drawn = []
    for k, chosen in enumerate((rows[:half], rows[half:])):
        icons = [str(rng.choice(list(ROWS[row]))) for row in chosen]
        theme, family = str(themes[k]), str(families[k])
        screen = draw_screen(rng, theme, icons, int(sides[k]), (SIDE, SIDE), family)
        drawn.append(grey(screen.image))
    return tuple(drawn)


# Tissue.


@cache
def stained():
    """The slide in grey, and its haematoxylin and DAB: they lie upon each other."""
    photo = skimage.data.immunohistochemistry()
    stains = skimage.color.rgb2hed(photo)[..., [0, 2]]
    stains = np.clip(stains, 0, np.percentile(stains, 99, axis=(0, 1)))
    return grey(photo), to_8_bits(stains[..., 0]), to_8_bits(stains[..., 1])


def slide(rng):
    return stained()[rng.integers(3)]


def nuclei(rng):
    """Blobs of random density, size and brightness, bright on dark or dark on bright."""
    pitch = rng.uniform(14, 30)
    distance, labels = scatter_cells(rng, pitch)
    own = rng.uniform(0.4, 1, (2, SIDE**2))
    radius = own[0][labels] * pitch / 2 * (1 + 0.25 * fractal(rng, 3))
    blobs = own[1][labels] / (1 + np.exp((distance - radius) / rng.uniform(0.5, 1.5)))
    chromatin = 1 + 0.25 * fractal(rng, 1.5)
    greys = blobs * chromatin + 0.1 * fractal(rng, 2.5)
    return develop(greys * rng.choice([-1, 1]), rng, rng.uniform(0.05, 0.2))


def fundus(rng):
    """The back of an eye: vessels that branch and dots that bleed, dark on a soft ground."""
    greys = fractal(rng, 3.5)
    for _ in range(rng.integers(12, 25)):
        turns = rng.normal(0, 0.12, rng.integers(60, 150)).cumsum() + rng.uniform(0, 2 * np.pi)
        steps = 6 * np.stack([np.cos(turns), np.sin(turns)], 1)
        path = np.rint(rng.uniform(0, SIDE, 2) + steps.cumsum(0)).astype(np.int32)
        cv2.polylines(greys, [path], False, -rng.uniform(1, 3), int(rng.integers(1, 6)))
    for x, y in rng.integers(0, SIDE, (rng.integers(100, 300), 2)).tolist():
        cv2.circle(greys, (x, y), int(rng.integers(1, 4)), -rng.uniform(1, 3), -1)
    greys = cv2.GaussianBlur(greys, (0, 0), 1) + 0.2 * fractal(rng, 1.5)
    return develop(greys, rng)


def tissue(rng):
    """Two of different slides, real or drawn."""
    real = [slide, cropped("cell"), cropped("retina")]
    return choose_two([*real, nuclei, nuclei, nuclei, fundus, fundus], rng)


# Noise.


def noise(rng):
    """Two fields of the same spectrum, white in a quarter of all cases."""
    exponent = rng.uniform(0, 2) * (rng.random() > 0.25)
    one, other = (np.clip(128 + 40 * fractal(rng, exponent), 0, 255) for _ in range(2))
    return np.rint(one).astype(np.uint8), np.rint(other).astype(np.uint8)


# Skies.


def sky(rng):
    """Stars of a power law of brightness, with wings (Moffat's profile), above a soft ground."""
    sharp = np.zeros((SIDE, SIDE))
    fluxes = rng.uniform(0, 1, rng.integers(2500, 7000)) ** (-1 / rng.uniform(1, 1.6))
    row, col = rng.integers(0, SIDE, (2, len(fluxes)))
    np.add.at(sharp, (row, col), 60 * np.minimum(fluxes, 3000))
    width, beta = rng.uniform(0.8, 1.6), rng.uniform(2.5, 4.5)
    y, x = np.indices((31, 31)) - 15 + rng.uniform(-0.5, 0.5, (2, 1, 1))
    profile = (1 + (x**2 + y**2) / width**2 / 2) ** -beta
    stars = cv2.filter2D(sharp, -1, profile / profile.sum())
    ground = 60 + np.tensordot(rng.normal(0, 10, 2), np.indices((SIDE, SIDE)) / SIDE, 1)
    if rng.random() < 0.4:
        ground = ground + 15 * np.exp(0.7 * fractal(rng, 3.5))
    counts = rng.poisson(np.maximum(ground, 5) + stars) + rng.normal(0, 3, stars.shape)
    return stretch(counts)


def stretch(counts):
    """8 bits in which faint stars can be seen, as pictures of skies are published."""
    low, high = np.percentile(counts, (1, 99.8))
    bright = np.clip((counts - low) / (high - low), 0, 1)
    return to_8_bits(np.arcsinh(5 * bright))


def skies(rng):
    """Two drawn skies, or one and a part of a photograph."""
    one, other = sky(rng), sky(rng)
    if rng.random() < 0.2:
        other = cropped("hubble_deep_field")(rng)
    return (one, other) if rng.random() < 0.5 else (other, one)


KINDS = {draw.__name__: draw for draw in (photographs, textures, screens, tissue, noise, skies)}


# Templates.


def star_places(image):
    """Where stars stand out: a map of single pixels."""
    soft = cv2.GaussianBlur(image.astype(np.float32), (0, 0), 1)
    above = soft - cv2.blur(soft, (15, 15))
    peaks = (soft == ndimage.maximum_filter(soft, 5)) & (above > STANDS_OUT)
    return peaks & (above > 4 * 1.48 * np.median(abs(above)))


def starry(image, side):
    """Where windows begin that hold `STARS` or more."""
    sums = cv2.integral(star_places(image).astype(np.uint8))
    counts = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return np.argwhere(counts >= STARS)


def cut(image, side, rng, kind=None):
    """A place of some contrast, in "skies" of some stars, and what is there.

    None where such places are so rare that there may be none.
    """
    places = starry(image, side) if kind == "skies" else None
    ends = np.array(image.shape) - side + 1
    for _ in range(TRIES if places is None or len(places) else 0):
        row, col = rng.integers(0, ends) if places is None else rng.choice(places)
        template = image[row : row + side, col : col + side]
        if template.std() > LEAST_CONTRAST and np.unique(template).size >= LEAST_LEVELS:
            return int(row), int(col), template
    return None
