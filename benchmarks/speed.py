"""Time of one score map, ours against other libraries', interleaved in one process.

    python -m benchmarks.speed [--rounds 15] [--json FILE]

All are warm. A ratio is the median over rounds of (time / time of OpenCV's NCC in the same
round); its spread is that ratio's quartiles.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import cv2
import numpy as np
import skimage.feature

import nuvmatch
from nuvmatch.io import read_image

from .environment import describe, environment

ROOT = Path(__file__).resolve().parents[1]
BASE = "OpenCV NCC"

# Image (height, width) and template side.
CASES = [((512, 512), 16), ((512, 512), 32), ((1080, 1920), 16), ((1080, 1920), 64)]
CASES += [((1080, 1920), 128)]
SLOW = 1e9  # window pixels from which mutual information is left out


def make_image(shape):
    """A photograph, enlarged where it must be, with noise of 3 grey levels."""
    photo = read_image(ROOT / "samples" / "photos" / "camera.png")
    large = cv2.resize(photo, shape[::-1], interpolation=cv2.INTER_CUBIC).astype(float)
    noise = np.random.default_rng(0).normal(0, 3, shape)
    return np.clip(np.rint(large + noise), 0, 255).astype(np.uint8)


def contestants(image, template):
    def ours(measure):
        matcher = nuvmatch.Matcher(template, measure=measure)
        return lambda: matcher.score_map(image)

    row = {
        BASE: lambda: cv2.matchTemplate(image, template, cv2.TM_CCOEFF_NORMED),
        "scikit-image NCC": lambda: skimage.feature.match_template(image, template),
        "nuvmatch ncc": ours("ncc"),
        "nuvmatch nuv": ours("nuv"),
    }
    if image.size * template.size < SLOW:
        row["nuvmatch mi"] = ours("mi")
    return row


def measure(shape, side, rounds):
    """Seconds of each contestant in each round."""
    image = make_image(shape)
    row, column = shape[0] // 3, shape[1] // 2
    row_of_calls = contestants(image, image[row : row + side, column : column + side])
    for call in row_of_calls.values():
        call()
    times = {name: [] for name in row_of_calls}
    for _ in range(rounds):
        for name, call in row_of_calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return times


def summarise(times):
    summary = {}
    for name, seconds in times.items():
        ratios = [a / b for a, b in zip(seconds, times[BASE], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        summary[name] = {
            "milliseconds": 1000 * statistics.median(seconds),
            "ratio": middle,
            "ratio_quartiles": [low, high],
        }
    return summary


def run(cases, rounds):
    """Measure all cases; return the results and where they were taken."""
    where = environment()
    print(describe(where))
    results = []
    for shape, side in cases:
        times = summarise(measure(shape, side, rounds))
        results.append({"image": shape, "template": side, "times": times})
        for name, row in times.items():
            low, high = row["ratio_quartiles"]
            print(
                f"{shape[0]:5} x {shape[1]:<5} {side:3} x {side:<3} {name:18} "
                f"{row['milliseconds']:8.2f} ms  ratio {row['ratio']:6.2f} "
                f"({low:.2f} .. {high:.2f})"
            )
    return results, where


def table(results, where):
    """Markdown: median times, and ratios to OpenCV's NCC in brackets."""
    names = list(results[0]["times"])
    lines = [
        f"| image | template | {' | '.join(names)} |",
        f"|---|---|{'---:|' * len(names)}",
    ]
    for result in results:
        height, width = result["image"]
        side = result["template"]
        cells = [result["times"].get(name) for name in names]
        texts = [f"{c['milliseconds']:.1f} ms ({c['ratio']:.2f})" if c else "" for c in cells]
        lines.append(f"| {height} x {width} | {side} x {side} | {' | '.join(texts)} |")
    return "\n".join([*lines, "", f"Measured on: {describe(where)}."])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="the smallest case, 3 rounds")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    cases, rounds = (CASES[:1], 3) if options.quick else (CASES, options.rounds)
    results, where = run(cases, rounds)
    if options.json:
        options.json.write_text(json.dumps({"environment": where, "results": results}, indent=2))


if __name__ == "__main__":
    main()
