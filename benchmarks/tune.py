"""Measure what the plan of the engine reckons with, and print it beside what it reckons now.

    python -m benchmarks.tune [--write]

With --write the file `nuvmatch/engine/prices.py` is written anew, at the end and whole.
"""

import argparse
import statistics
import threading
import time
from pathlib import Path
from string import Template

import numpy as np

from nuvmatch.engine import available_cpus, prices
from nuvmatch.engine.covers import ACCUMULATORS
from nuvmatch.engine.fourier import Correlator
from nuvmatch.engine.prices import AdditionPrices
from nuvmatch.engine.programs import Program, add_up
from nuvmatch.engine.sums import take_correlations
from nuvmatch.io import write_whole
from nuvmatch.timing import describe, environment

FILE = Path(prices.__file__)
TEXT = Template(
    '''"""What the engine's work costs on one machine: what its plans reckon with.

Written by ``python -m benchmarks.tune --write``, on
$machine.
"""

from typing import NamedTuple


class AdditionPrices(NamedTuple):
    """Picoseconds for 32 windows."""

    pixel: int  # to add a pixel
    run: int  # to add or subtract a running sum
    per_piece: int  # for another piece
    per_image: int  # to make the running sums of an image


# By type of pixel.
ADDITIONS = {
$additions
}

# Picoseconds for each number of a square transform of that side, with the product before it and
# the reading of slices after it. Patches are padded to these sides: others, those with high
# powers of 2 and of 5 above all, take up to twice the time.
TRANSFORMS = {
$transforms
}

# Picoseconds for a window and slice, to read and score slices that have left the cache.
READING = $reading

# Picoseconds for a window, slice and curve, to score by curves.
SCORING = $scoring

# Microseconds for a slice, and for a slice and each pixel of a template, to search for the
# cheapest additions.
SEARCH = $search
'''
)

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


def program_seconds(pixel_type, *, pixels=0, runs=0, pieces=1, axis=-1):
    """Time of so many random additions for one of two slices, the other being left over."""
    rng = np.random.default_rng(0)
    shape = (1, ROWS + SIDE - 1, COLUMNS + SIDE - 1)
    planes = rng.integers(0, 100, shape).astype(pixel_type)
    wide = ACCUMULATORS[pixel_type].wide
    ends = np.linspace(0, pixels + runs, pieces + 1).astype(np.int64)
    bounds = np.empty((pieces, 5), np.int64)
    for piece in range(pieces):
        first, end = ends[piece : piece + 2]
        bounds[piece] = (first, first, first, end if pixels else first, end)
    program = Program(
        axes=np.array([axis]),
        plane=np.zeros(2, np.int64),
        ys=np.sort(rng.integers(0, SIDE, pixels + runs)),
        xs=rng.integers(0, SIDE, pixels + runs),
        bounds=bounds,
        starts=np.array([0, pieces, pieces]),
        steps=np.array([[0, 1]]),
    )
    window_sums = np.zeros((1, ROWS, COLUMNS), wide)

    def make_call():
        sums = np.empty((2, ROWS, COLUMNS), wide)
        return lambda: add_up(planes, program, window_sums, sums)

    return seconds(make_call)


def addition_prices(pixel_type):
    def measure(**program):
        return program_seconds(pixel_type, **program) / (ROWS * COLUMNS) * 32 * 1e12

    few, many = measure(pixels=FEW), measure(pixels=MANY)
    found = AdditionPrices(
        pixel=(many - few) / (MANY - FEW),
        run=(measure(runs=MANY, axis=0) - measure(runs=FEW, axis=0)) / (MANY - FEW),
        per_piece=(measure(pixels=MANY, pieces=33) - many) / 32,
        per_image=(measure(pixels=FEW, axis=0) + measure(pixels=FEW, axis=1)) / 2 - few,
    )
    return AdditionPrices(*(max(int(price), 1) for price in found))


def transform_price(side):
    """Price of each number of a transform, with product and reading of an inverse one."""
    own = side // 4
    half, columns = windows = (side - own + 1,) * 2
    correlator = Correlator(np.ones((1, own, own)), windows)

    def make_call():
        sums = np.zeros((8, 2 * half, columns), np.int32)
        patch = np.ones((side, side), np.uint8)
        pairs = np.arange(8).reshape(4, 2)

        def call():
            spectrum, _ = correlator.transform(patch, patch)
            for pair in pairs:  # as many slices as usual, so that caches are as full
                found = correlator.correlate(spectrum, 0, windows)
                take_correlations(found, np.zeros(2), 2.0**20, True, pair, sums, 7)

        return call

    return int(seconds(make_call) / 5 / side**2 * 1e12)


def measure_all():
    """Measure all prices, and print each beside the one that is reckoned with now."""
    additions, transforms = {}, {}
    for name, old in prices.ADDITIONS.items():
        additions[name] = addition_prices(np.dtype(name))
        print(f"{name}: {tuple(additions[name])}, was {tuple(old)}", flush=True)
    for side, old in prices.TRANSFORMS.items():
        transforms[side] = transform_price(side)
        print(f"{side}: {transforms[side]}, was {old}", flush=True)
    return additions, transforms


def module_text(additions, transforms, machine):
    """The module of prices; those that are not measured stay as they are."""
    return TEXT.substitute(
        machine=machine,
        additions="\n".join(
            f'    "{name}": AdditionPrices{tuple(price)},' for name, price in additions.items()
        ),
        transforms="\n".join(f"    {side}: {price}," for side, price in transforms.items()),
        reading=prices.READING,
        scoring=prices.SCORING,
        search=prices.SEARCH,
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write them into the package")
    write = parser.parse_args(arguments).write
    where = environment()
    print(describe(where))
    additions, transforms = measure_all()
    if write:
        machine = f"{where['processor']}, {where['cpus']} CPUs"
        write_whole(FILE, module_text(additions, transforms, machine).encode())
        print(f"wrote {FILE}")


if __name__ == "__main__":
    main()
