"""Which way to the sums of an image is the cheapest: decided once for a map."""

import math
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from .additions import LANES
from .covers import ACCUMULATORS, Accumulator
from .fourier import (
    SURE_TO_ROUND_RIGHT,
    error_bound,
    fitting_tiles,
    price,
    transform_cost,
)
from .images import Image
from .prices import READING
from .programs import Programs
from .threads import Tile, tiles
from .window_sums import Inside

Method = Literal["additions", "fourier"]

# The largest tile for additions; smaller where many slices would leave the cache before they
# are scored.
_TILE_ROWS, _TILE_COLUMNS = 96, 1024
_TILE_BYTES = 3 * 1024 * 1024


class Plan(NamedTuple):
    """How slices are summed, and over how many windows at once."""

    method: Method
    tile: tuple[int, int]  # rows and columns of a tile, at most
    tiles: list[Tile]
    lanes: int  # tiles begin at, and arrays are as wide as, multiples of this
    searched: Accumulator | None  # numbers of this kind are added by the cheapest additions,
    #                               those of others pixel by pixel
    inside: Inside
    radix: float  # two sums come as the digits of one number to this base; 0: each by itself


def make_plan(
    image: Image, programs: Programs, shape: tuple[int, int], method: Method | None
) -> Plan:
    """Estimate both ways to the slice sums of a score map, and take the cheaper.

    Parameters
    ----------
    shape : (int, int)
        Of the score map.
    method : {"additions", "fourier"}, optional
        Take this one whatever it costs.
    """
    slices = programs.slices
    kind = np.dtype(image.form if image.form in (np.uint8, np.int32) else np.float64)
    accumulator = ACCUMULATORS[kind]
    windows = shape[0] * shape[1]
    searched = programs.worth_a_search(accumulator, windows, exact=image.exact)
    if method is None and not searched:
        method = "additions"
    numbers = tuple(len(programs.packs(radix)) + slices.channels for radix in (0, 2))
    counts = max((int(slices.counts[k]) for k in slices.summed), default=0)
    reach = 0 if kind == np.float64 else image.magnitude - middle_of(image)
    cost, tile, radix = _transforms(slices.shape, numbers, shape, counts, reach)
    if method is None:
        cost += READING * slices.counts.size
        additions = programs.estimated_cost(accumulator, image.magnitude) / 32
        method = "fourier" if cost < additions else "additions"
    if method == "additions":
        tile = addition_tile(slices.counts.size)
    lanes = LANES if method == "additions" else 1
    todo = tiles(shape, *tile, lanes)
    inside = inside_way(image, programs, todo)
    return Plan(method, tile, todo, lanes, accumulator if searched else None, inside, radix)


def middle_of(image: Image) -> int:
    """Return a whole number amid those in patches, whatever is in them."""
    return image.magnitude // 2 if image.exact else 0


def inside_way(image: Image, programs: Programs, todo: list[Tile]) -> Inside:
    """Choose how to sum over the pixels that count, for tiles of about the same size."""
    slices = programs.slices
    if slices.full:
        return "everything"
    if image.form not in (np.uint8, np.int32):
        return "pixels"
    rows = max(tile.shape[0] for tile in todo)
    columns = max(-(-tile.shape[1] // LANES) * LANES for tile in todo)
    patch = rows + slices.shape[0] - 1, columns + slices.shape[1] - 1
    energy = math.prod(patch) * image.magnitude**4
    cost = transform_cost(patch, (rows, columns))
    accumulator = ACCUMULATORS[np.dtype(image.form)]
    if error_bound(energy, slices.pixels) < SURE_TO_ROUND_RIGHT and cost < programs.outside_cost(
        accumulator, image.magnitude
    ):
        return "transforms"
    return "outside"


def addition_tile(slices: int) -> tuple[int, int]:
    """Rows and columns of a tile for additions."""
    windows = _TILE_BYTES // (4 * slices)
    columns = min(_TILE_COLUMNS, max(LANES, windows // _TILE_ROWS // LANES * LANES))
    return min(_TILE_ROWS, max(1, windows // columns)), columns


@lru_cache(maxsize=64)
def product_tile(template: tuple[int, int], shape: tuple[int, int], parts: int) -> tuple[int, int]:
    """Rows and columns of a tile, at most, whose rows are correlated in so many parts."""
    return min(
        (price(sides) * numbers, tile)
        for tile, sides, numbers in fitting_tiles(template, shape, parts)
    )[1]


@lru_cache(maxsize=64)
def _transforms(
    template: tuple[int, int], numbers: tuple[int, int], shape: tuple[int, int],
    counts: int, reach: int,
) -> tuple[float, tuple[int, int], float]:  # fmt: skip
    """Picoseconds a window by Fourier transforms, the windows of a tile, and the radix: the best.

    Parameters
    ----------
    numbers : (int, int)
        How many transforms there are, if each slice is summed by itself, and if two are at once.
    counts, reach : int
        Pixels of a slice, and their whole numbers less the middle, at most; a reach of 0 is
        one of floats.
    """
    radix = 2.0 ** (2 * counts * reach).bit_length()
    energy = counts * (1 + radix**2)
    found = []
    for tile, sides, share in fitting_tiles(template, shape, 2):
        error = error_bound(2 * math.prod(sides) * reach**2, energy)
        packed = reach > 0 and error < SURE_TO_ROUND_RIGHT
        cost = price(sides) * share * numbers[packed]
        found.append((cost, tile, radix if packed else 0.0))
    return min(found)
