"""Make the scenes
===============

And templates, from the photographs of this folder.

Every template is cut from an original photograph, and every scene is that photograph
re-toned: where the template lies is known, what greys it has there is not.

    python samples/make_scenes.py
"""

from pathlib import Path

import numpy as np

from nuvmatch.io import read_image, write_picture

HERE = Path(__file__).resolve().parent

# Photograph and place of each template: row, column, height, width.
TEMPLATES = {
    "camera": ("camera", 130, 254, 56, 76),
    "spoon": ("coffee", 246, 326, 80, 80),
    "coin": ("coins", 176, 249, 44, 44),
}


def gamma(shares):
    return shares**2.5


def inverted(shares):
    return 1 - shares


def solarised(shares):
    """Both dark and bright become dark: no function of the greys turns it back."""
    return 1 - abs(2 * shares - 1)


def negative_film(shares):
    """Inverted, each colour with a gamma of its own."""
    return (1 - shares) ** np.array([0.5, 1.0, 2.0])


# Scene, photograph, change of tones, noise in grey levels, bits.
SCENES = [
    ("camera_gamma", "camera", gamma, 0, 8),
    ("camera_inverted", "camera", inverted, 0, 8),
    ("camera_solarised", "camera", solarised, 0, 8),
    ("camera_noisy", "camera", lambda shares: inverted(gamma(shares)), 16, 8),
    ("coffee_negative", "coffee", negative_film, 4, 8),
    ("coins_16bit", "coins", lambda shares: 0.15 + 0.6 * shares**0.6, 0, 16),
]


def make_template(name, folder):
    photo, row, col, height, width = TEMPLATES[name]
    template = read_image(HERE / "photos" / f"{photo}.png")[row : row + height, col : col + width]
    if name == "coin":  # round: the corners are transparent
        y, x = np.mgrid[:height, :width] - np.array([height - 1, width - 1])[:, None, None] / 2
        disc = np.hypot(y, x) <= min(height, width) / 2
        template = np.dstack([template] * 3 + [255 * disc.astype(np.uint8)])
    write_picture(folder / "templates" / f"{name}.png", template)


def make_scene(name, photo, tones, noise, bits, folder):
    image = tones(read_image(HERE / "photos" / f"{photo}.png") / 255)
    image = image + np.random.default_rng(0).normal(0, noise / 255, image.shape)
    greys = np.rint(np.clip(image, 0, 1) * (2**bits - 1))
    scene = greys.astype(np.uint8 if bits == 8 else np.uint16)
    write_picture(folder / "scenes" / f"{name}.png", scene)


def main(folder=HERE):
    for sub_folder in ("templates", "scenes"):
        (folder / sub_folder).mkdir(exist_ok=True)
    for name in TEMPLATES:
        make_template(name, folder)
    for scene in SCENES:
        make_scene(*scene, folder)


if __name__ == "__main__":
    main()
