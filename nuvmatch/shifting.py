"""How one image is shifted against another, chip by chip: whether they are registered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _checks
from ._progress import Tell, telling
from .engine import Image
from .finding import PRECISE, Null, PeakRule
from .matcher import Matcher
from .measures import Auto, Measure, MeasureLike, as_measure
from .results import Region

_NUMBERS = ("row", "col", "shift_row", "shift_col", "sigma", "score", "false_alarms")
_CHIP = np.dtype([(name, np.float64) for name in _NUMBERS] + [("outlier", np.bool_)])

_TOLD = 1.0  # pixels: a larger sigma, by pixels, tells no shift
_COUNTING = 0.5  # share of a chip's pixels that must be more than no data

# The normalised median test: pixels that are no error, how many times the neighbours' own
# scatter and these are one, and how many neighbours tell.
_NO_ERROR, _TOO_MANY, _NEIGHBOURS = 0.1, 2.0, 3


def shifts(
    fixed: ArrayLike,
    moving: ArrayLike,
    measure: MeasureLike = "nuv",
    *,
    grid: int | tuple[int, int] = 20,
    size: int = 48,
    search: int = 8,
    nodata: float | Sequence[float] | None = None,
    subpixel: bool | str = "precise",
    n_threads: int | None = None,
    progress: bool | Tell | None = None,
) -> NDArray[Any]:
    """Tell how one image is shifted against another, whatever the tones of each.

    Chips of the one, on a grid, are sought around their places in the other.

    Parameters
    ----------
    fixed, moving : array_like of equal height and width
        As for `Matcher.locate`, both grey or both colour.
    measure : str or Measure
        As for `Matcher`; "auto" needs more than a region, and is refused.
    grid : int or (int, int)
        How many chips down and across.
    size : int
        Pixels a side of each.
    search : int
        How far each is sought, in pixels up, down, left and right.
    nodata, subpixel, n_threads, progress
        As for `Matcher` and `Matcher.locate`: NaN is no data either, and a part is a chip.

    Returns
    -------
    structured ndarray of shape `grid`
        Fields `row`, `col`: the chip's center in `fixed`. `shift_row`, `shift_col`: what is to be
        added to them for its center in `moving`. `sigma`, `score`: as of a `Match`.
        `false_alarms`: how many chips chance shows that score as well, by what they score far
        from their places; infinite where the shift is not told to a pixel, along a straight
        edge (a "precise" `sigma` above 1, whether asked for or not) or on the border of what was
        searched.
        All of these are NaN where a chip is flat, half of its pixels or more are no data, or no
        window gives evidence.
        `outlier`: whether the shift is unlike those of the chips beside it, by the normalised
        median test [1]_ (within three where all are in one row or column), or on the border of
        what was searched.
        ``pandas.DataFrame(table.ravel())`` makes a table of it.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above, the images are too small for a chip and its
        search, or no chip can be sought.

    Warns
    -----
    UserWarning
        If false alarms cannot be told, and are infinite: some forty chips are needed.

    References
    ----------
    .. [1] J. Westerweel, F. Scarano, *Universal outlier detection for PIV data*, Experiments in
       Fluids 39 (2005).
    """
    one, other = _checks.as_greys(fixed, "fixed"), _checks.as_greys(moving, "moving")
    measure = as_measure(measure)
    if isinstance(measure, Auto):
        raise ValueError('measure is "auto", which needs whole images; "nuv_adaptive" does not')
    rule = PeakRule(subpixel=subpixel)
    grid = _as_grid(grid)
    size, search = _checks.as_integer(size, "size", 2), _checks.as_integer(search, "search", 1)
    planes, alpha = _checks.as_planes(one, "fixed")
    opaque = _checks.as_opaque(alpha, "fixed")
    one = one if alpha is None else one[..., : len(planes)]  # judged whole, not chip by chip
    regions = _spread(one.shape, other.shape, grid, size + 2 * search)
    half = len(regions) // 2 + (grid[1] // 2 if grid[0] > 1 else 0)  # far, both ways
    table, chance = np.full(len(regions), np.nan, _CHIP), []
    table["outlier"], refusal, image = False, None, None
    with telling(progress) as parts:
        parts.expect(len(regions))
        for i, (chip, region) in enumerate(zip(table, regions, strict=True)):
            row, col = region[0] + search, region[1] + search
            chip["row"], chip["col"] = row + (size - 1) / 2, col + (size - 1) / 2
            window = np.s_[row : row + size, col : col + size]
            try:
                mask = None if opaque is None else opaque[window]
                matcher = _made_ready(one[window], mask, measure, nodata, n_threads)
            except ValueError as error:  # it is flat, or few of its pixels count
                refusal = error
            else:
                if image is None:  # made ready once: all chips are of one size
                    image = matcher._prepare(other, None, None)[0]
                _seek(chip, matcher, image, region, rule)
                elsewhere = regions[(i + half) % len(regions)]
                if _are_apart(region, elsewhere):
                    chance.append(matcher._scores(image.crop(*elsewhere), None))
            parts.advance()
    if refusal is not None and np.isnan(table["score"]).all():
        raise refusal
    _tell_false_alarms(table, chance, size, search)
    found = table.reshape(grid)
    for place in np.ndindex(grid):
        found["outlier"][place] |= _is_unlike_neighbours(found, place)
    return found


def _made_ready(
    chip: NDArray[Any],
    mask: NDArray[np.bool_] | None,
    measure: Measure,
    nodata: float | Sequence[float] | None,
    n_threads: int | None,
) -> Matcher:
    """Make a chip ready; few pixels match by chance, which would count for all chips."""
    matcher = Matcher(chip, measure, mask=mask, nodata=nodata, n_threads=n_threads)
    if matcher._template.mask.mean() <= _COUNTING:
        raise ValueError("half of each chip's pixels or more are no data")
    return matcher


def _as_grid(grid: int | tuple[int, int]) -> tuple[int, int]:
    down, across = grid if isinstance(grid, tuple | list) and len(grid) == 2 else (grid, grid)
    return _checks.as_integer(down, "grid", 1), _checks.as_integer(across, "grid", 1)


def _spread(
    shape: tuple[int, ...], other: tuple[int, ...], grid: tuple[int, int], side: int
) -> list[Region]:
    """Spread the regions in which chips are sought evenly over an image, row by row."""
    if len(shape) < 2 or shape[:2] != other[:2]:
        raise ValueError(f"fixed has shape {shape}, moving {other}; they must be of equal size")
    if min(shape[:2]) < side:
        raise ValueError(
            f"images of shape {shape[:2]} are too small: a chip and its search take {side} pixels"
        )
    tops, lefts = (
        np.rint(np.linspace(0, length - side, number)).astype(int).tolist()
        for length, number in zip(shape[:2], grid, strict=True)
    )
    return [(top, left, side, side) for top in tops for left in lefts]


def _seek(chip: Any, matcher: Matcher, image: Image, region: Region, rule: PeakRule) -> None:
    found = matcher._seek_in(matcher._bands(image.crop(*region)), region[:2], rule)
    for place in found.peaks.matches:
        precise = matcher._complete(place, found, PRECISE)
        match = precise
        if rule.subpixel != PRECISE:  # pixels tell in any case whether it is a place at all
            match = matcher._complete(place, found, rule.subpixel)
        row, col = match.center
        chip["shift_row"], chip["shift_col"] = row - chip["row"], col - chip["col"]
        chip["sigma"] = np.nan if match.sigma is None else match.sigma
        chip["score"], chip["outlier"] = match.score, match.on_edge
        if match.on_edge or (precise.sigma or 0.0) > _TOLD:
            chip["false_alarms"] = np.inf


def _are_apart(one: Region, other: Region) -> bool:
    return abs(one[0] - other[0]) >= one[2] or abs(one[1] - other[1]) >= one[3]


def _tell_false_alarms(
    table: NDArray[Any], chance: list[NDArray[Any]], size: int, search: int
) -> None:
    """Judge all chips by what they score where they are not: one law for all of them."""
    shape, windows = (size, size), (2 * search + 1) ** 2
    if chance:
        null = Null.from_maps(chance, shape)
        null.warn_if_undecided()
    else:
        null = Null(shape, 0, 0, np.empty(0))
        _checks.warn(
            "false alarms cannot be told, and are infinite: they are learnt from what chips score "
            "at each other's places, of which no two are apart here"
        )
    alarms = null.false_alarms(table["score"], windows * table.size)
    untold = np.isinf(table["false_alarms"])
    table["false_alarms"] = np.where(untold, np.inf, alarms)


def _is_unlike_neighbours(table: NDArray[Any], place: tuple[int, ...]) -> bool:
    """Compare a shift with the median of those beside it, in units of their own scatter."""
    (row, col), reach = place, 3 if 1 in table.shape else 1
    near = np.s_[max(row - reach, 0) : row + reach + 1, max(col - reach, 0) : col + reach + 1]
    beside = np.ones(table.shape, np.bool_)
    beside[place] = False
    known = beside[near] & ~np.isnan(table["shift_row"][near])
    if np.isnan(table["shift_row"][place]) or np.count_nonzero(known) < _NEIGHBOURS:
        return False
    fields = ("shift_row", "shift_col")
    others = np.stack([table[name][near][known] for name in fields])
    own = np.array([table[name][place] for name in fields])
    middle = np.median(others, axis=1)
    scatter = np.median(np.hypot(*(others - middle[:, None])))
    return bool(np.hypot(*(own - middle)) > _TOO_MANY * (scatter + _NO_ERROR))
