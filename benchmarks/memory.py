"""Peak memory of one score map beyond image and map, measured in a process of its own.

    python -m benchmarks.memory [--side 8000] [--json FILE]

Needs Linux, whose /proc tells a process's resident memory, and takes its peak back to it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuvmatch import Matcher
from nuvmatch.measures import NAMED

from .environment import describe, environment
from .speed import as_float32, make_image

ROOT = Path(__file__).resolve().parents[1]
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")

# Type of the image, side of the template, bins, and measure.
CASES = [
    ("uint8", 64, 8, "nuv"),
    ("uint8", 64, 16, "nuv"),
    ("uint8", 256, 8, "nuv"),
    ("float32", 64, 8, "nuv"),
    ("uint8", 64, 8, "ncc"),
    ("uint8", 64, 8, "mi"),
]


def resident(key):
    """Resident memory in MiB: "VmRSS" now, or "VmHWM" at its peak."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024


def in_child(file, side, bins, measure):
    """Print the peak of one map beyond what there is once image and map are in memory."""
    image = np.load(file)
    template = image[100 : 100 + side, 200 : 200 + side].copy()
    matcher = Matcher(template, measure if measure == "ncc" else replace(NAMED[measure], bins=bins))
    matcher.score_map(image[: 2 * side, : 2 * side])  # kernels are loaded
    out = np.zeros((image.shape[0] - side + 1, image.shape[1] - side + 1), np.float32)
    out[:] = 1
    before = resident("VmRSS")
    RESET.write_text("5")
    matcher.score_map(image, out=out)
    print(resident("VmHWM") - before)


def measure_all(side):
    image = make_image((side, side))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("uint8", "float32"):
            np.save(Path(folder) / f"{kind}.npy", image if kind == "uint8" else as_float32(image))
        for kind, template, bins, measure in CASES:
            command = [sys.executable, "-m", "benchmarks.memory", "--child"]
            command += [str(Path(folder) / f"{kind}.npy"), str(template), str(bins), measure]
            answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
            row = {
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
    parser.add_argument("--child", nargs=4, metavar=("FILE", "SIDE", "BINS", "MEASURE"))
    options = parser.parse_args(arguments)
    if options.child:
        file, side, bins, measure = options.child
        in_child(Path(file), int(side), int(bins), measure)
        return
    where = environment()
    print(describe(where))
    results = measure_all(options.side)
    if options.json:
        options.json.write_text(json.dumps({"environment": where, "results": results}, indent=2))


if __name__ == "__main__":
    main()
