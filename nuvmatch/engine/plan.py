"""Which way to the slice sums of an image is the cheapest."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from .additions import LANES
from .covers import ADDERS, Adder
from .fourier import fitting_tiles, price, single_error_bound
from .images import Image
from .moments import TILE_COLUMNS, TILE_ROWS
from .slices import Slices

Method = Literal["additions", "fourier"]

# Slice sums of a tile stay in the cache until they are scored.
_TILE_BYTES = 3 * 1024 * 1024

# Standard deviation of the greys of a tile, to estimate whether single precision will do.
_CONTRAST = 60

# Picoseconds more a window and slice than additions take, to read and score the slices of
# tiles that leave the cache.
READING = 1200


@dataclass(frozen=True)
class Plan:
    """How slices are summed, and over how many windows at once."""

    method: Method
    tile: tuple[int, int]  # rows and columns, at most
    searched: Adder | None  # whose additions are the cheapest, and not pixel by pixel


def make_plan(image: Image, slices: Slices, shape: tuple[int, int], method: Method | None) -> Plan:
    """Estimate both ways to the slice sums of a score map, and take the cheaper.

    Parameters
    ----------
    shape : (int, int)
        Of the score map.
    method : {"additions", "fourier"}, optional
        Take this one whatever it costs.
    """
    adder = ADDERS[np.dtype(image.form if image.form in (np.uint8, np.int32) else np.float64)]
    searched = slices.worth_a_search(adder, shape[0] * shape[1], exact=image.exact)
    if method is None and not searched:
        method = "additions"
    transforms = len(slices.summed) + slices.channels
    counts = max((int(slices.counts[k]) for k in slices.summed), default=0)
    single = counts if image.form is np.uint8 else None
    cost, sides = _transforms(slices.shape, transforms, shape, single)
    if method is None:
        cost += READING * slices.counts.size
        additions = slices.estimated_cost(adder, image.largest) / 32
        method = "fourier" if cost < additions else "additions"
    tile = sides if method == "fourier" else addition_tile(slices.counts.size)
    return Plan(method, tile, adder if searched else None)


def addition_tile(slices: int) -> tuple[int, int]:
    """Rows and columns of a tile for additions."""
    windows = _TILE_BYTES // (4 * slices)
    columns = min(TILE_COLUMNS, max(LANES, windows // TILE_ROWS // LANES * LANES))
    return min(TILE_ROWS, max(1, windows // columns)), columns


@lru_cache(maxsize=64)
def _transforms(
    template: tuple[int, int], transforms: int, shape: tuple[int, int], single: int | None
) -> tuple[float, tuple[int, int]]:
    """Picoseconds a window by Fourier transforms, and the windows of a tile: the best.

    `single` are the pixels of a pair of slices; None if single precision will not do.
    """
    found = []
    for tile, sides, numbers in fitting_tiles(template, shape, 2):
        precision: type[Any] = np.float64
        if single is not None:
            squares = 2 * math.prod(sides) * _CONTRAST**2
            if single_error_bound(squares, single, single * _CONTRAST) <= 1:
                precision = np.float32
        found.append((price(sides, precision) * numbers * transforms, tile))
    return min(found)
