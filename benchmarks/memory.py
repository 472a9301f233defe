"""Peak memory of one call beyond image and map, measured in a process of its own.

    python -m benchmarks.memory [--side 8000] [--limit MIB] [--json FILE]

The image is a file mapped into memory. With --limit the exit status is 1 if a call takes more.
Needs Linux, whose /proc tells a process's resident memory, and takes its peak back to it.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuvmatch import Matcher
from nuvmatch.measures import NAMED
from nuvmatch.timing import describe, environment

from .speed import as_float32, make_image

ROOT = Path(__file__).resolve().parents[1]
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")

# What is called, type of the image, side of the template, bins, and measure.
CASES = [
    ("score_map", "uint8", 64, 8, "nuv"),
    ("score_map", "uint8", 64, 16, "nuv"),
    ("score_map", "uint8", 256, 8, "nuv"),
    ("score_map", "uint16", 64, 8, "nuv"),
    ("score_map", "float32", 64, 8, "nuv"),
    ("score_map", "uint8", 64, 8, "ncc"),
    ("score_map", "uint8", 64, 8, "mi"),
    ("locate", "uint16", 64, 8, "nuv"),
    ("locate", "float32", 64, 8, "nuv"),
    ("locate", "uint8", 64, 8, "mi"),
    ("locate, 100 matches", "uint16", 64, 8, "nuv"),
    ("locate, all below .5", "uint16", 64, 8, "nuv"),
]
HOW = {
    "locate": {},
    "locate, 100 matches": {"max_matches": 100},
    "locate, all below .5": {"threshold": 0.5},
}


def resident(key):
    """Resident memory in MiB: "VmRSS" now, or "VmHWM" at its peak."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024


def in_child(call, file, side, bins, measure):
    """Print the peak of one call beyond what there is once image and map are in memory."""
    image = np.load(file, mmap_mode="r")
    template = image[100 : 100 + side, 200 : 200 + side].copy()
    matcher = Matcher(template, measure if measure == "ncc" else replace(NAMED[measure], bins=bins))
    matcher.score_map(image[: 2 * side, : 2 * side])  # kernels are loaded
    matcher.locate(image[: 2 * side, : 2 * side], max_matches=2)
    image.max()  # the whole file is in memory
    out = None
    if call == "score_map":
        out = np.ones((image.shape[0] - side + 1, image.shape[1] - side + 1), np.float32)
    before = resident("VmRSS")
    RESET.write_text("5")
    if call == "score_map":
        matcher.score_map(image, out=out)
    else:
        matcher.locate(image, **HOW[call])
    print(resident("VmHWM") - before)


def measure_all(side):
    image = make_image((side, side))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"uint8": image, "uint16": 257 * image.astype(np.uint16)}
        kinds["float32"] = as_float32(image)
        for kind, pixels in kinds.items():
            np.save(Path(folder) / f"{kind}.npy", pixels)
        del image, kinds
        for call, kind, template, bins, measure in CASES:
            command = [sys.executable, "-m", "benchmarks.memory", "--child", call]
            command += [str(Path(folder) / f"{kind}.npy"), str(template), str(bins), measure]
            answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
            row = {
                "call": call,
                "image": f"{side} x {side} {kind}",
                "template": f"{template} x {template}",
                "bins": bins,
                "measure": measure,
                "MiB": round(float(answer.stdout), 1),
            }
            results.append(row)
            print(*row.values(), sep="   ", flush=True)
    return results


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--side", type=int, default=8000, help="of the image")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--limit", type=float, default=math.inf, help="MiB that no call may exceed")
    parser.add_argument("--child", nargs=5, metavar=("CALL", "FILE", "SIDE", "BINS", "MEASURE"))
    options = parser.parse_args(arguments)
    if options.child:
        call, file, side, bins, measure = options.child
        in_child(call, Path(file), int(side), int(bins), measure)
        return
    where = environment()
    print(describe(where))
    results = measure_all(options.side)
    if options.json:
        options.json.write_text(json.dumps({"environment": where, "results": results}, indent=2))
    if max(row["MiB"] for row in results) > options.limit:
        sys.exit(f"more than {options.limit:g} MiB")


if __name__ == "__main__":
    main()
