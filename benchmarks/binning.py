"""The binners: how long they take, and how often their bins recognise a distorted template.

    python -m benchmarks.binning [--cases 200] [--seed 0] [--json FILE]

A hit: the distorted template scores below noise (the paper's general distortions);
five numbers of bins a case. Times are medians, warm.
"""

import argparse
import json
import resource
import statistics
import time
from pathlib import Path

import numpy as np

from nuvmatch import binning, tones
from nuvmatch.tones.cross_product import sample_curves

from .cases import general_case
from .environment import describe, environment

BINNERS = {
    "equal width": binning.equal_width,
    "equal frequency": binning.equal_frequency,
    "k-means": binning.kmeans,
    "greedy, one start": binning.greedy,
    "greedy, 10 starts": lambda v, b, cross: binning.greedy(v, b, cross=cross, restarts=10),
    "optimal": binning.optimal,
}
NUMBERS = (2, 5, "sturges", "rice", "sqrt")


def milliseconds(call, rounds=9):
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def measure_times():
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


def score(window, labels):
    """PWC nUV of one window."""
    centred = window - window.mean()
    sums = np.bincount(labels, centred)
    return 1 - (sums**2 / np.bincount(labels)).sum() / (centred**2).sum()


def measure_hits(cases, seed):
    rng = np.random.default_rng(seed)
    hits = {name: [] for name in BINNERS}
    for _ in range(cases):
        case = general_case(rng)
        for rule in NUMBERS:
            template = case.template
            b = binning.number_of_bins(template, rule) if isinstance(rule, str) else rule
            for name, binner in BINNERS.items():
                labels = binner(template, b, cross=case.cross).labels
                hits[name].append(score(case.distorted, labels) < score(case.noise, labels))
    return {name: float(np.mean(found)) for name, found in hits.items()}


def run(cases, seed):
    """Measure times, memory and hit rates; print them, and return them."""
    print(describe(environment()))
    times, grown = measure_times()
    for name, value in times.items():
        print(f"{name:55} {value:8.1f} ms")
    print(f"{'peak memory of the last, beyond what was in use':55} {grown:8.0f} MiB")
    hits = measure_hits(cases, seed)
    for name, share in hits.items():
        print(f"hit rate, {name:45} {share:8.3f}")
    return times, grown, hits


def table(times, grown, hits):
    """Markdown: hit rates in one table, times in another."""
    lines = [f"| {' | '.join(hits)} |", f"|{'---:|' * len(hits)}"]
    lines += [f"| {' | '.join(f'{share:.3f}' for share in hits.values())} |", ""]
    lines += ["| task | time |", "|---|---:|"]
    lines += [f"| {name} | {value:.1f} ms |" for name, value in times.items()]
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.binning", description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    times, grown, hits = run(options.cases, options.seed)
    if options.json:
        report = {"milliseconds": times, "MiB": grown, "hit_rates": hits}
        report["environment"] = environment()
        options.json.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
