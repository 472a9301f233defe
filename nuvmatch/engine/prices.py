"""What the engine's work costs on one machine: what its plans reckon with.

Written by ``python -m benchmarks.tune --write``, on
AMD EPYC, 2 CPUs; but transforms, which take three quarters of that time since then.
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
    "uint8": AdditionPrices(370, 550, 2500, 35000),
    "int32": AdditionPrices(1080, 1100, 5000, 30000),
    "float64": AdditionPrices(2000, 2000, 4000, 45000),
}

# Picoseconds for each number of a square transform of that side, with the product before it and
# the reading of slices after it. Patches are padded to these sides: others, those with high
# powers of 2 and of 5 above all, take up to twice the time.
TRANSFORMS = {
    160: 6100,
    192: 6400,
    240: 5800,
    288: 5900,
    320: 6600,
    384: 7600,
    480: 8200,
    576: 8300,
    640: 10000,
    720: 10000,
    800: 10200,
    960: 9200,
    1152: 10800,
}

# Picoseconds for a window and slice, to read and score slices that have left the cache.
READING = 1200

# Picoseconds for a window, slice and curve, to score by curves.
SCORING = 100

# Microseconds for a slice, and for a slice and each pixel of a template, to search for the
# cheapest additions.
SEARCH = (60, 0.04)
