"""Which way to the sums of an image is the cheapest: decided once for a map."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
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
from .prices import READING, SCORING
from .programs import Programs
from .projections import Projections
from .threads import Tile, tiles
from .window_sums import Inside

Method = Literal["additions", "fourier", "projections"]

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
    image: Image,
    programs: Programs,
    shape: tuple[int, int],
    method: Method | None,
    projections: Projections | None = None,
) -> Plan:
    """Estimate the ways to a score map, and take the cheapest.

    Parameters
    ----------
    shape : (int, int)
        Of the score map.
    method : {"additions", "fourier", "projections"}, optional
        Take this one whatever it costs.
    projections : Projections, optional
        That do without slice sums.
    """
    form = image.form if image.form in (np.uint8, np.int32) else np.float64
    accumulator = ACCUMULATORS[np.dtype(form)]
    windows = shape[0] * shape[1]
    searched = programs.worth_a_search(accumulator, windows, exact=image.exact)
    if method is None and not searched:
        method = "additions"
    ways: dict[Method, Callable[[], _Way]] = {
        "additions": partial(_by_additions, image, programs, accumulator, method is None),
        "fourier": partial(_by_transforms, image, programs, shape),
    }
    if projections is not None:
        ways["projections"] = partial(_by_projections, projections, shape)
    found = {name: ways[name]() for name in (ways if method is None else [method])}
    chosen: Method = min(found, key=lambda name: found[name].cost)
    _, tile, radix = found[chosen]
    lanes = LANES if chosen == "additions" else 1
    todo = tiles(shape, *tile, lanes)
    inside = inside_way(image, programs, todo)
    return Plan(chosen, tile, todo, lanes, accumulator if searched else None, inside, radix)


class _Way(NamedTuple):
    """A way to a score map."""

    cost: float  # picoseconds a window
    tile: tuple[int, int]
    radix: float = 0.0


def _by_additions(
    image: Image, programs: Programs, accumulator: Accumulator, price_asked: bool
) -> _Way:
    cost = programs.estimated_cost(accumulator, image.magnitude) / 32 if price_asked else 0.0
    return _Way(cost, addition_tile(programs.slices.counts.size))


def _by_transforms(image: Image, programs: Programs, shape: tuple[int, int]) -> _Way:
    slices = programs.slices
    numbers = tuple(len(programs.packs(radix)) + slices.channels for radix in (0, 2))
    counts = max((int(slices.counts[k]) for k in slices.summed), default=0)
    whole = image.form in (np.uint8, np.int32)
    reach = image.magnitude - middle_of(image) if whole else 0
    cost, tile, radix = _transforms(slices.shape, numbers, shape, counts, reach)
    return _Way(cost + READING * slices.counts.size, tile, radix)


def _by_projections(projections: Projections, shape: tuple[int, int]) -> _Way:
    slices = projections.programs.slices
    number = projections.number + slices.channels
    cost, tile, _ = _transforms(slices.shape, (number, number), shape, 0, 0)
    # Slice sums would have to be multiplied with the curves yet.
    spared = SCORING * len(projections.curves) * slices.counts.size
    return _Way(cost + READING * projections.number - spared, tile)


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
