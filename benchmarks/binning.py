"""How long binning takes: medians, warm. What the bins are worth: `benchmarks.paper`.

python -m benchmarks.binning [--json FILE]
"""

import argparse
import json
import resource
import statistics
import time
from pathlib import Path

import numpy as np

from nuvmatch import binning, tones
from nuvmatch.timing import describe, environment
from nuvmatch.tones.cross_product import sample_curves


def milliseconds(call, rounds=9):
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def measure():
    rng = np.random.default_rng(0)
    bytes_64 = rng.integers(0, 256, (64, 64)).astype(np.uint8)
    floats = rng.random(1000)
    many = rng.random(4096)

    def sampled(values, scale=1.0):
        levels, counts = np.unique(values, return_counts=True)
        return sample_curves(tones.BROAD, levels / scale, counts, samples=256)

    floats_cross = sampled(floats).to_matrix()
    times = {
        "optimal, 64 x 64 of 8 bits, 32 bins, curves sampled": milliseconds(
            lambda: binning.optimal(bytes_64, 32, cross=sampled(bytes_64, 255))
        ),
        "optimal, 1000 levels, 32 bins, curves sampled": milliseconds(
            lambda: binning.optimal(floats, 32, cross=sampled(floats))
        ),
        "optimal, 1000 levels, 32 bins, matrix given": milliseconds(
            lambda: binning.optimal(floats, 32, cross=floats_cross)
        ),
        "greedy, 1000 levels, 32 bins, 10 starts, matrix given": milliseconds(
            lambda: binning.greedy(floats, 32, cross=floats_cross, restarts=10)
        ),
    }
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times["optimal, 4096 levels, 16 bins, curves sampled"] = milliseconds(
        lambda: binning.optimal(many, 16, cross=sampled(many)), rounds=3
    )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return times, grown


def run():
    """Measure times and memory; print them, and return them."""
    print(describe(environment()))
    times, grown = measure()
    for name, value in times.items():
        print(f"{name:55} {value:8.1f} ms")
    print(f"{'peak memory of the last, beyond what was in use':55} {grown:8.0f} MiB")
    return times, grown


def table(times):
    """Markdown, for the README."""
    rows = [f"| {name} | {value:.1f} ms |" for name, value in times.items()]
    return "\n".join(["| task | time |", "|---|---:|", *rows])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.binning", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    times, grown = run()
    if options.json:
        report = {"milliseconds": times, "MiB": grown, "environment": environment()}
        options.json.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
