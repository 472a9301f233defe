"""Time of score maps, ours against other libraries', interleaved in one process.

    python -m benchmarks.speed [--only sizes floats ..] [--rounds 9] [--json FILE]

All are warm. A ratio is the median over rounds of (time / time of OpenCV's NCC of the same
image as uint8 in the same round); its spread is that ratio's quartiles. Templates are cut
from three fixed places of a photograph, since what our time depends on is how busy they are;
a row is the place with the middle ratio. Where the C library lets one say so, memory is
kept by the process ("fast heap"): otherwise OpenCV gives its pages back and fetches them
anew in each call, which makes it slower, and us look better.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import skimage.feature

import nuvmatch
from nuvmatch import NUV, CurvesNUV, Matcher, WindowToPattern
from nuvmatch.engine import available_cpus
from nuvmatch.io import read_image
from nuvmatch.timing import (
    BASE,
    FAST_HEAP,
    HD,
    describe,
    environment,
    measure_rounds,
    opencv,
    summarise,
)

from .plain import joint_histogram_map

ROOT = Path(__file__).resolve().parents[1]
SIDES = (8, 16, 32, 64, 128, 256)
PLACES = ((0.333, 0.5), (0.556, 0.208), (0.093, 0.781))  # smooth, busy, noisy


def make_image(shape):
    """A photograph, enlarged where it must be, with noise of 3 grey levels."""
    photo = read_image(ROOT / "samples" / "photos" / "camera.png")
    large = cv2.resize(photo, shape[::-1], interpolation=cv2.INTER_CUBIC).astype(np.float32)
    large += np.random.default_rng(0).normal(0, 3, shape)
    return np.clip(np.rint(large), 0, 255).astype(np.uint8)


def templates(image, side):
    for row, column in PLACES:
        top, left = int(row * image.shape[0]), int(column * image.shape[1])
        top, left = min(top, image.shape[0] - side), min(left, image.shape[1] - side)
        yield image[top : top + side, left : left + side].copy()


def best_by_opencv(image, template):
    return cv2.minMaxLoc(opencv(image, template)())


def ours(image, template, measure="nuv", **options):
    matcher = Matcher(template, measure, **options)
    return lambda: matcher.score_map(image)


def correlation_each_bin(image, template):
    """The way that the paper's reference takes: one correlation for each bin."""
    labels = Matcher(template).bins[0].labels
    slices = [(labels == k).astype(np.float32) for k in range(labels.max() + 1)]
    return lambda: [cv2.matchTemplate(image, one, cv2.TM_CCORR) for one in slices]


def as_float32(greys):
    return (greys / 255).astype(np.float32)


def ellipse(side):
    y, x = np.indices((side, side)) / (side - 1) - 0.5
    return x**2 + y**2 <= 0.25


def on_photograph(contestants, sides=SIDES):
    """Cases of a large photograph: templates of all sides from all places."""
    image = make_image(HD)
    for side in sides:
        for template in templates(image, side):
            calls = {BASE: opencv(image, template), **contestants(image, template)}
            yield f"{side} x {side}", calls


def sizes():
    return on_photograph(
        lambda image, template: {
            "nuvmatch nuv": ours(image, template),
            "nuvmatch ncc": ours(image, template, "ncc"),
            "OpenCV, each bin": correlation_each_bin(image.astype(np.float32), template),
            "scikit-image NCC": lambda: skimage.feature.match_template(image, template),
        }
    )


def floats():
    """Whole numbers, the same as shares of white, and floats that are no such shares."""

    def contestants(image, template):
        bent, bent_template = ((as_float32(greys) ** 0.7) for greys in (image, template))
        return {
            "uint8": ours(image, template),
            "float32 / 255": ours(as_float32(image), as_float32(template)),
            "float64 / 255": ours(image / 255, template / 255),
            "other float32": ours(bent * noise, bent_template),
        }

    noise = np.random.default_rng(2).uniform(0.99, 1.01, HD).astype(np.float32)
    return on_photograph(contestants)


def bins():
    return on_photograph(
        lambda image, template: {
            f"{number} bins": ours(image, template, NUV(bins=number)) for number in (8, 16)
        }
    )


def masks():
    def contestants(image, template):
        noise = np.random.default_rng(0).random(template.shape) < 0.5
        return {
            "no mask": ours(image, template),
            "ellipse": ours(image, template, mask=ellipse(len(template))),
            "random half": ours(image, template, mask=noise),
        }

    return on_photograph(contestants, SIDES[1:])


def threads():
    return on_photograph(
        lambda image, template: {
            "one thread": ours(image, template, n_threads=1),
            "two threads": ours(image, template, n_threads=2),
        }
    )


def pixels():
    """Cost per window as images grow."""
    for megapixels, shape in ((1, (1000, 1000)), (4, (2000, 2000)), (64, (8000, 8000))):
        image = make_image(shape)
        for side in (16, 64):
            template = next(iter(templates(make_image(HD), side)))
            yield (
                f"{megapixels} MP, {side} x {side}",
                {
                    BASE: opencv(image, template),
                    "nuvmatch nuv": ours(image, template),
                },
            )


def mi():
    def contestants(image, template):
        labels = Matcher(template).bins[0].labels
        return {
            "nuvmatch nuv": ours(image, template),
            "nuvmatch mi": ours(image, template, "mi"),
            "plain loop MI": lambda: joint_histogram_map(image, labels, 8),
        }

    return on_photograph(contestants, (16, 32))


def models():
    return on_photograph(
        lambda image, template: {
            "nuv": ours(image, template),
            "nuv_curves, 3": ours(image, template, CurvesNUV(n_curves=3)),
            "nuv_adaptive": ours(image, template, "nuv_adaptive"),
            "nuv_linear": ours(image, template, "nuv_linear"),
            "nuv_monotone": ours(image, template, "nuv_monotone"),
            "nuv, wtp": ours(image, template, WindowToPattern()),
        }
    )


def retoned(image):
    """The photograph under other tones, and under noise of 2 grey levels."""
    noise = np.random.default_rng(1).normal(0, 2, image.shape)
    greys = image.astype(np.float64)
    scenes = 255 * (greys / 255) ** 0.6, 255 - greys, abs(greys - 110), greys + noise
    return [np.clip(np.rint(scene), 0, 255).astype(np.uint8) for scene in scenes]


def locate():
    """The single best place: a row is the middle of four scenes and three places."""
    image = make_image(HD)
    for side in SIDES[2:]:
        for scene, template in itertools.product(retoned(image), templates(image, side)):
            yield (
                f"{side} x {side}",
                {
                    BASE: partial(best_by_opencv, scene, template),
                    "nuvmatch map": ours(scene, template),
                    "locate": partial(Matcher(template).locate, scene),
                    "locate, one call": partial(nuvmatch.locate, scene, template),
                },
            )


def latency():
    image = make_image((64, 64))
    for template in templates(image, 16):
        yield (
            "64 x 64, 16 x 16",
            {
                BASE: opencv(image, template),
                "nuvmatch nuv": ours(image, template),
            },
        )


SECTIONS = {
    f.__name__: f
    for f in (sizes, locate, floats, bins, masks, threads, models, pixels, mi, latency)
}


def run_section(name, rounds):
    """Measure a section: for each case, contestant by contestant, the middle place."""
    places = {}
    for case, calls in SECTIONS[name]():
        summary = summarise(measure_rounds(calls, rounds if name != "latency" else 50 * rounds))
        places.setdefault(case, []).append(summary)
    results = {}
    for case, of_case in places.items():
        results[case] = {}
        for contestant in of_case[0]:
            rows = sorted((summary[contestant] for summary in of_case), key=lambda r: r["ratio"])
            middle = dict(rows[len(rows) // 2])
            middle["ratio_of_places"] = [row["ratio"] for row in rows]
            results[case][contestant] = middle
            low, high = middle["ratio_quartiles"]
            of_places = " ".join(f"{ratio:.2f}" for ratio in middle["ratio_of_places"])
            print(
                f"{name:8} {case:18} {contestant:18} {middle['milliseconds']:9.3f} ms  ratio "
                f"{middle['ratio']:6.2f} ({low:.2f} .. {high:.2f})  places {of_places}",
                flush=True,
            )
    return results


def run(names, rounds, fast_heap):
    """Measure sections in a fresh process, whose heap keeps its pages or does not."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        command = [sys.executable, "-m", "benchmarks.speed", "--here", "--only", *names]
        command += ["--rounds", str(rounds), "--json", str(file)]
        heap = FAST_HEAP if fast_heap else {}
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **heap})
        return json.loads(file.read_text())


def table(measured, section="sizes", told="nuvmatch nuv", heading="nuv at three places"):
    """Markdown: median times at the middle place, and ratios to OpenCV's NCC in brackets."""
    results, where = measured["sections"][section], measured["environment"]
    names = list(next(iter(results.values())))
    lines = [
        f"| template | {' | '.join(names)} | {heading} |",
        f"|---|{'---:|' * (len(names) + 1)}",
    ]
    for case, row in results.items():
        cells = [f"{c['milliseconds']:.1f} ms ({c['ratio']:.2f})" for c in row.values()]
        ratios = [f"{ratio:.2f}" for ratio in row[told]["ratio_of_places"]]
        cells.append(" ".join(ratios) if len(ratios) <= 3 else f"{ratios[0]} .. {ratios[-1]}")
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Measured on: {describe(where)}."])


def table_of_locate(measured):
    """Do the same for the single best place."""
    return table(measured, "locate", "locate", "locate, least and most")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="one small section, 3 rounds")
    parser.add_argument("--here", action="store_true", help="in this process, as its heap is")
    options = parser.parse_args(arguments)
    if options.rounds < 2:
        parser.error(f"--rounds is {options.rounds}; quartiles take two or more")
    names, rounds = (["latency"], 3) if options.quick else (options.only, options.rounds)
    if options.here:
        where = environment()
        print(describe(where), f"({available_cpus()} threads each)")
        sections = {name: run_section(name, rounds) for name in names}
        results = {"environment": where, "sections": sections}
    else:
        print("Fast heap:")
        results = run(names, rounds, fast_heap=True)
        if "sizes" in names:
            print("The heap as it comes:")
            results["slow heap"] = run(["sizes"], rounds, fast_heap=False)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
