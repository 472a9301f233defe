"""Measure what the plan of the engine reckons with, and print it as it stands there.

    python -m benchmarks.tune

The first lines belong in `nuvmatch/engine/covers.py` (picoseconds for 32 windows), the last
ones in `nuvmatch/engine/fourier.py` (picoseconds for a number of a transform).
"""

import argparse
import statistics
import threading
import time

import numpy as np

from nuvmatch.engine.additions import sum_slices
from nuvmatch.engine.covers import ADDERS
from nuvmatch.engine.fourier import TRANSFORM, Correlator
from nuvmatch.engine.sums import take_correlations
from nuvmatch.engine.threads import available_cpus

from .environment import describe, environment

SIDE, ROWS, COLUMNS = 64, 64, 1024
FEW, MANY = 128, 640


def seconds(make_call, rounds=25):
    """Median time of a call, warm, while all other CPUs do the same: as in a score map."""
    done = threading.Event()

    def keep_busy():
        call = make_call()
        while not done.is_set():
            call()

    others = [threading.Thread(target=keep_busy) for _ in range(available_cpus() - 1)]
    for other in others:
        other.start()
    call = make_call()
    times = []
    try:
        for _ in range(rounds + 3):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    finally:
        done.set()
        for other in others:
            other.join()
    return statistics.median(times[3:])


def program_seconds(pixel_type, adder, *, pixels=0, runs=0, pieces=1, axis=-1):
    """Time of so many random additions for one of two slices, the other being left over."""
    rng = np.random.default_rng(0)
    shape = (1, ROWS + SIDE - 1, COLUMNS + SIDE - 1)
    planes = rng.integers(0, 100, shape).astype(pixel_type)
    running = np.empty((1, shape[1] + 1, shape[2] + 1), adder.piece)
    ys = np.sort(rng.integers(0, SIDE, pixels + runs))
    xs = rng.integers(0, SIDE, pixels + runs)
    ends = np.linspace(0, pixels + runs, pieces + 1).astype(np.int64)
    bounds = np.empty((pieces, 5), np.int64)
    for piece in range(pieces):
        first, end = ends[piece : piece + 2]
        bounds[piece] = (first, first, first, end if pixels else first, end)
    code = (
        np.array([axis]), np.zeros(2, np.int64), ys, xs, bounds,
        np.array([0, pieces, pieces]), np.array([[0, 1]]),
    )  # fmt: skip
    whole = np.zeros((1, ROWS, COLUMNS), adder.whole)

    def make_call():
        sums = np.empty((2, ROWS, COLUMNS), adder.whole)
        own = running.copy()
        return lambda: sum_slices(planes, own, *code, whole, sums)

    return seconds(make_call)


def prices(pixel_type, adder):
    """Price of a pixel, a run, another piece, and of making running sums."""

    def measure(**program):
        return program_seconds(pixel_type, adder, **program) / (ROWS * COLUMNS) * 32 * 1e12

    few, many = measure(pixels=FEW), measure(pixels=MANY)
    pixel = (many - few) / (MANY - FEW)
    run = (measure(runs=MANY, axis=0) - measure(runs=FEW, axis=0)) / (MANY - FEW)
    another = (measure(pixels=MANY, pieces=33) - many) / 32
    running = (measure(pixels=FEW, axis=0) + measure(pixels=FEW, axis=1)) / 2 - few
    return [max(int(price), 1) for price in (pixel, run, another, running)]


def transform_price(side, precision):
    """Price of each number of a transform, with product and reading of an inverse one."""
    own = side // 4
    half, columns = windows = (side - own + 1,) * 2
    correlator = Correlator(np.ones((1, own, own)), windows, precision)

    def make_call():
        sums = np.zeros((8, 2 * half, columns), np.int32)
        patch = np.ones((side, side))

        def call():
            spectrum = correlator.transform(patch, 0.0, patch)
            for k in range(7):  # as many slices as usual, so that caches are as full
                found = correlator.correlate(spectrum, 0, windows)
                take_correlations(found, 0.0, True, 1.0, sums[k], sums[7])

        return call

    return int(seconds(make_call) / 8 / side**2 * 1e12)


def main(arguments=None):
    argparse.ArgumentParser(
        prog="python -m benchmarks.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(arguments)
    print(f"# {describe(environment())}")
    for pixel_type, adder in ADDERS.items():
        print(pixel_type, prices(pixel_type, adder), "# was", list(adder[3:]))
    for side, old in TRANSFORM.items():
        new = tuple(transform_price(side, precision) for precision in (np.float32, np.float64))
        print(f"{side}: {new},  # was {old}")


if __name__ == "__main__":
    main()
