"""What the engine's work costs on one machine: what its plans reckon with.

Written by ``python -m benchmarks.tune --write``, on
AMD EPYC, 2 CPUs.
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

# Picoseconds for each number of a square transform of that side, in single and in double
# precision, with the product before it and the reading of two slices after it. Patches are
# padded to these sides: others, those with high powers of 2 and of 5 above all, take up to
# twice the time.
TRANSFORMS = {
    160: (5600, 8100),
    192: (5100, 8600),
    240: (4700, 7700),
    288: (4800, 7900),
    320: (5300, 8800),
    384: (4500, 10200),
    480: (5000, 10900),
    576: (5800, 11100),
    640: (5400, 13300),
    720: (6200, 13300),
    800: (7300, 13600),
    960: (7000, 12300),
    1152: (8000, 14400),
}

# Picoseconds for a window and slice, to read and score slices that have left the cache.
READING = 1200

# Microseconds for a slice, and for a slice and each pixel of a template, to search for the
# cheapest additions.
SEARCH = (60, 0.04)
