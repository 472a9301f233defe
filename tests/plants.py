"""Noise with a template of four levels planted in it, for tests that seek it."""

import numpy as np

from nuvmatch import score_map

_ROWS = "11302330 03002321 11022311 13323020 02220321 13330021 01231310 20123120"
LAB = np.array([[int(level) for level in row] for row in _ROWS.split()])
T4 = (85 * LAB).astype(np.uint8)


def noise(seed, shape):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def planted(image, values, row, col):
    """A copy of the image with the values put at a place."""
    image = image.copy()
    image[row : row + values.shape[0], col : col + values.shape[1]] = values
    return image


def scene(tones):
    """Noise, with T4 at (5, 20) in other tones."""
    return planted(noise(1, (40, 50)).astype(float), np.asarray(tones, float)[LAB], 5, 20)


def exact_map(image, template, measure="nuv", **options):
    return score_map(image, template, measure, dtype=np.float64, **options)


def places(matches):
    return [(match.row, match.col) for match in matches]


def best_place(scores):
    return np.unravel_index(scores.argmin(), scores.shape)
