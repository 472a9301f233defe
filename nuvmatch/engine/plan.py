"""Which way to the sums of an image is the cheapest: decided once for a map."""

import math
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from .additions import LANES
from .covers import ACCUMULATORS, Accumulator
from .fourier import (
    SURE_TO_ROUND_RIGHT,
    error_bound,
    fitting_tiles,
    price,
    single_error_bound,
    transform_cost,
)
from .images import Image
from .prices import READING
from .programs import Programs
from .projections import Projections
from .threads import Tile, tiles
from .window_sums import Inside

Method = Literal["additions", "fourier", "projections"]

# The largest tile for additions; smaller where many slices would leave the cache before they
# are scored.
_TILE_ROWS, _TILE_COLUMNS = 96, 1024
_TILE_BYTES = 3 * 1024 * 1024

# Standard deviation of the greys of a tile, to estimate whether single precision will do.
_CONTRAST = 60


class Plan(NamedTuple):
    """How slices are summed, and over how many windows at once."""

    method: Method
    tile: tuple[int, int]  # rows and columns of a tile, at most
    tiles: list[Tile]
    lanes: int  # tiles begin at, and arrays are as wide as, multiples of this
    searched: Accumulator | None  # numbers of this kind are added by the cheapest additions,
    #                               those of others pixel by pixel
    inside: Inside


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
    slices = programs.slices
    kind = np.dtype(image.form if image.form in (np.uint8, np.int32) else np.float64)
    accumulator = ACCUMULATORS[kind]
    windows = shape[0] * shape[1]
    searched = programs.worth_a_search(accumulator, windows, exact=image.exact)
    if method is None and not searched:
        method = "additions"
    transforms = len(slices.summed) + slices.channels
    counts = max((int(slices.counts[k]) for k in slices.summed), default=0)
    single = counts if image.form is np.uint8 else None
    cost, tile = _transforms(slices.shape, transforms, shape, single)
    tiles_of: dict[Method, tuple[int, int]] = {
        "additions": addition_tile(slices.counts.size), "fourier": tile,
    }  # fmt: skip
    costs: dict[Method, float] = {
        "additions": programs.estimated_cost(accumulator, image.magnitude) / 32,
        "fourier": cost + READING * slices.counts.size,
    }
    if projections is not None:
        transforms = projections.number + slices.channels
        cost, tiles_of["projections"] = _transforms(slices.shape, transforms, shape, None)
        costs["projections"] = cost + READING * projections.number
    chosen = method or min(costs, key=lambda one: costs[one])
    tile = tiles_of[chosen]
    lanes = LANES if chosen == "additions" else 1
    todo = tiles(shape, *tile, lanes)
    inside = inside_way(image, programs, todo)
    return Plan(chosen, tile, todo, lanes, accumulator if searched else None, inside)


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
        (price(sides, np.float64) * numbers, tile)
        for tile, sides, numbers in fitting_tiles(template, shape, parts)
    )[1]


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
