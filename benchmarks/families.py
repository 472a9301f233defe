"""Which tone family to bin for when nothing is known: location rates on photographs.

    python -m benchmarks.families [--trials 40] [--bins 8] [--seed 0] [--json FILE]

Templates of 16 x 16 and 24 x 24 with some contrast are cut from photographs of scikit-image;
the image is re-toned, given noise, and quantised to 8 bits. Reported: how often the best
place is within a pixel of the truth. All binnings see the same trials.
"""

import argparse
import json
from pathlib import Path

import cv2
import numpy as np
import skimage.color
import skimage.data

import nuvmatch
from nuvmatch import tones

from .environment import describe, environment

PHOTOS = ("camera", "coins", "moon", "text", "brick", "grass", "gravel", "page", "clock")
PHOTOS += ("coffee", "chelsea", "astronaut")
NOISES = (0.05, 0.15, 0.30)  # shares of the re-toned image's standard deviation
GAMMA = tones.Gamma(0.25, 4, log=True)
BINNINGS = {
    "k-means": {"binning": "kmeans"},
    "equal width": {"binning": "equal_width"},
    "equal frequency": {"binning": "equal_frequency"},
    "gamma": {"tones": GAMMA},
    "monotone": {"tones": tones.Monotone(8)},
    "smooth .15": {"tones": tones.Smooth(0.15)},
    "smooth .25": {"tones": tones.Smooth(0.25)},
    "smooth .4": {"tones": tones.Smooth(0.4)},
    "broad": {"tones": tones.BROAD},
    "all five": {
        "tones": tones.Mixture(
            (GAMMA, tones.Exposure(), tones.Sigmoid(), tones.Monotone(8), tones.Smooth(0.25))
        )
    },
}


def linear(rng):
    gain = rng.uniform(0.3, 1)
    return lambda t: gain * t + 0.1


def gamma(rng):
    exponent = np.exp(rng.uniform(-np.log(4), np.log(4)))
    return lambda t: t**exponent


def inverted_gamma(rng):
    curve = gamma(rng)
    return lambda t: 1 - curve(t)


def sigmoid(rng):
    slope, centre = rng.uniform(5, 15), rng.uniform(0.3, 0.7)
    return lambda t: 1 / (1 + np.exp(-slope * (t - centre)))


def exposure(rng):
    gain, offset = rng.uniform(1, 2.5), rng.uniform(-0.4, 0.1)
    return lambda t: np.clip(gain * t + offset, 0, 1)


def monotone(rng):
    knots = np.concatenate(([0], np.cumsum(rng.dirichlet(np.ones(6)))))
    return lambda t: np.interp(t, np.linspace(0, 1, 7), knots)


def solarised(rng):
    fold = rng.uniform(0.3, 0.7)
    return lambda t: np.where(t < fold, t / fold, (1 - t) / (1 - fold))


def smooth(rng):
    weights = rng.standard_normal(4) * (1, 1, 0.7, 0.4)
    return lambda t: sum(a * np.cos(np.pi * (k + 1) * t) for k, a in enumerate(weights))


CHANGES = (linear, gamma, inverted_gamma, sigmoid, exposure, monotone, solarised, smooth)


def photographs():
    for name in PHOTOS:
        image = getattr(skimage.data, name)()
        if image.ndim == 3:
            image = np.rint(255 * skimage.color.rgb2gray(image[..., :3])).astype(np.uint8)
        if image.shape[0] > 400:
            image = cv2.resize(image, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
        side = min(256, *image.shape)
        top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
        yield image[top : top + side, left : left + side]


def cut_template(image, rng):
    """A place with some contrast, and what is there."""
    side = int(rng.choice([16, 24]))
    while True:
        row, col = rng.integers(0, np.array(image.shape) - side + 1)
        template = image[row : row + side, col : col + side]
        if template.std() > 8 and np.unique(template).size >= 16:
            return row, col, template


def retone(image, change, noise, rng):
    scene = change(image / 255)
    scene = scene + noise * scene.std() * rng.standard_normal(scene.shape)
    return np.rint(255 * (scene - scene.min()) / np.ptp(scene)).astype(np.uint8)


def run(trials, bins, seed):
    """Location rate of each binning for each change of tones."""
    rng = np.random.default_rng(seed)
    images = list(photographs())
    found = {name: {change.__name__: [] for change in CHANGES} for name in BINNINGS}
    for change in CHANGES:
        for noise in NOISES:
            for _ in range(trials):
                image = images[rng.integers(len(images))]
                row, col, template = cut_template(image, rng)
                scene = retone(image, change(rng), noise, rng)
                for name, options in BINNINGS.items():
                    best = nuvmatch.locate(scene, template, bins=bins, **options)[0]
                    hit = max(abs(best.row - row), abs(best.col - col)) <= 1
                    found[name][change.__name__].append(hit)
    return {
        name: {change: float(np.mean(hits)) for change, hits in row.items()}
        for name, row in found.items()
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.families", description=__doc__)
    parser.add_argument("--trials", type=int, default=40, help="for each change and noise")
    parser.add_argument("--bins", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    where = environment()
    print(describe(where))
    rates = run(options.trials, options.bins, options.seed)
    print(f"{'':16}", *(f"{change.__name__[:9]:>9}" for change in CHANGES), "     mean")
    for name, row in rates.items():
        mean = np.mean(list(row.values()))
        print(f"{name:16}", *(f"{rate:9.3f}" for rate in row.values()), f"{mean:9.4f}")
    if options.json:
        options.json.write_text(json.dumps({"environment": where, "rates": rates}, indent=2))


if __name__ == "__main__":
    main()
