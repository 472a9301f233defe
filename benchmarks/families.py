"""Which tone family to bin for when nothing is known: location rates on photographs.

    python -m benchmarks.families [--trials 40] [--bins 8] [--seed 0] [--json FILE]

Templates of 16 x 16 and 24 x 24 with some contrast are cut from photographs of scikit-image;
the image is re-toned, given noise, and quantised to 8 bits. Reported: how often the best
place is within a pixel of the truth. All binnings see the same trials.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuvmatch import NUV, locate, tones
from nuvmatch.timing import describe, environment

from . import scenes

PHOTOS = ("camera", "coins", "moon", "text", "brick", "grass", "gravel", "page", "clock")
PHOTOS += ("coffee", "chelsea", "astronaut")
NOISES = (0.05, 0.15, 0.30)  # shares of the re-toned image's standard deviation
CHANGES = {name: change for name, change in scenes.CHANGES.items() if name != "none"}
GAMMA = tones.Gamma(0.25, 4, log=True)
BINNINGS = {
    "k-means": NUV(binning="kmeans"),
    "equal width": NUV(binning="equal_width"),
    "equal frequency": NUV(binning="equal_frequency"),
    "gamma": NUV(tones=GAMMA),
    "monotone": NUV(tones=tones.Monotone(8)),
    "smooth .15": NUV(tones=tones.Smooth(0.15)),
    "smooth .25": NUV(tones=tones.Smooth(0.25)),
    "smooth .4": NUV(tones=tones.Smooth(0.4)),
    "broad": NUV(tones=tones.BROAD),
    "all five": NUV(
        tones=tones.Mixture(
            (GAMMA, tones.Exposure(), tones.Sigmoid(), tones.Monotone(8), tones.Smooth(0.25))
        )
    ),
}


def make_trial(change, noise, rng):
    """Where the template lies, the template, and the scene."""
    cut = None
    while cut is None:
        image, scene = scenes.retone(change, PHOTOS, rng)
        scene = scenes.add_noise(scene, noise, rng)
        cut = scenes.cut_template(image, scene, int(rng.choice([16, 24])), rng)
    return *cut, scene


def run(trials, bins, seed):
    """Location rate of each binning for each change of tones."""
    rng = np.random.default_rng(seed)
    measures = {name: replace(measure, bins=bins) for name, measure in BINNINGS.items()}
    found = {name: {change: [] for change in CHANGES} for name in BINNINGS}
    for kind, change in CHANGES.items():
        for noise in NOISES:
            for _ in range(trials):
                row, col, template, scene = make_trial(change, noise, rng)
                for name, measure in measures.items():
                    best = locate(scene, template, measure)[0]
                    hit = max(abs(best.row - row), abs(best.col - col)) <= 1
                    found[name][kind].append(hit)
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
    print(f"{'':16}", *(f"{change[:9]:>9}" for change in CHANGES), "     mean")
    for name, row in rates.items():
        mean = np.mean(list(row.values()))
        print(f"{name:16}", *(f"{rate:9.3f}" for rate in row.values()), f"{mean:9.4f}")
    if options.json:
        options.json.write_text(json.dumps({"environment": where, "rates": rates}, indent=2))


if __name__ == "__main__":
    main()
