"""The best windows without a map: all others are left out by lower bounds.

What slices leave open of some rows of a window, each by its mean over these rows, is no more
than they leave open of these rows as a part of the window. So with S_r the squares left open
in every s-th row from r on, and V the scatter of the window, the sum of S_r / V over any r
bounds its score from below, for every tone model that has one grey for a slice.

For one r, or two, all windows are bounded at once, as those of a template that has these rows
only: in an image whose lines are s lines of the original, one behind the other, it lies as it
is. Those of large templates are bounded by blocks of pixels instead (`Coarse`). Where the best
windows leave but few others below their own score, these few are followed from r to r until
their bounds are above it.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from .._jit import jit
from .additions import LANES
from .coarse import Coarse
from .images import Image
from .moments import tile_moments
from .plan import inside_way
from .programs import Programs
from .slices import Indices, Slices
from .sums import Score, TileSums, for_each_tile
from .threads import Tile, run, tiles
from .windows import Pixels, Windows

# Of templates less high, of fewer windows, and of more pixels at a time the map takes less time;
# but of low ones only once its additions have been found, which takes longer than here.
_LEAST_HEIGHT, _LEAST_WINDOWS, _LARGEST_PART = 24, 2**17, 2**13
_LOW = 48
_COARSE = 128  # templates of no less, each way, are looked at by blocks
_STEP = 8  # one row in so many is looked at first

_GUESSES = 24  # windows whose first rows score best, of which the best is mostly the best of all
_PASSES = 2  # by which all windows are bounded, at most
_SURE = 0.7  # of the share of rows looked at: of scores up to that few others are left
_FOLLOWED = 2**24  # pixels of windows that are looked at one by one, at most
_FOLLOWED_OF_EACH = 300  # pixels of each window of the image on the mean, from blocks on
_CORNERS, _SCORED = 8, 8  # windows at corners of blocks that seem best; of these, and near them
_SHARE_FOLLOWED = 2  # scores: of windows that are excluded this share of their pixels is looked at
_TILE = 256, 512  # rows and columns of windows of which the scatter is worked out at once

# Bounds are off by some roundings of single precision for each slice, and never less than that.
_ROUNDING, _ROUNDINGS = 2.0**-23, 8


class BestWindows(NamedTuple):
    """Windows of a score map that score about as well as the best: arrays of shape (n,)."""

    rows: Indices
    cols: Indices
    scores: NDArray[np.floating]


ScoreOf = Callable[[Indices], NDArray[np.floating]]
Best = tuple[Indices, NDArray[np.floating]]  # places, and their scores
ScatterOf = Callable[[], NDArray[np.float64]]  # of a tile: (rows, >= columns)


class _Part(NamedTuple):
    """Every so many rows of a template, as a template."""

    first: int  # row
    programs: Programs


class Stopping:
    """Finds the best windows for one template, and stops at others as soon as it can.

    Parameters
    ----------
    programs : Programs
        Of the slices of the template.
    """

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._slices = programs.slices
        self._order = _spread(_STEP)
        self._pixels = Pixels.of(self._slices, self._order)
        self._used = False

    @cached_property
    def _parts(self) -> list[_Part]:
        labels = self._slices.labels
        return [
            _Part(row, Programs(Slices(_in_use(labels[:, row::_STEP]))))
            for row in self._order[:_PASSES].tolist()
            if self._slices.mask[row::_STEP].any()
        ]

    @cached_property
    def _coarse(self) -> Coarse:
        return Coarse(self._slices)

    def lowest(
        self, image: Image, score: Score, dtype: np.dtype[Any], near: float, n_threads: int
    ) -> BestWindows | None:
        """Find all windows that score no more than the best, and `near` more.

        Parameters
        ----------
        image : Image
        score : callable
            Scores sums, as it does for a map.
        dtype : float32 or float64
            Of scores.
        near : float
        n_threads : int
            Most threads to use.

        Returns
        -------
        BestWindows or None
            Scores are those of a map to the last bit. None where that takes less time, or
            nothing is found.
        """
        if not self._pays(image):
            return None
        by_blocks = self._has_blocks(image)
        if not by_blocks and not self._has_rows(image):
            return None
        self._used = True
        windows = Windows(image, self._slices, self._pixels, _STEP, n_threads)
        score_of = partial(windows.score, score=score, dtype=dtype)
        if by_blocks:
            found = self._by_blocks(image, windows, score_of, near)
        else:
            rows = _Rows(self._programs, windows, image)
            found = self._by_rows(rows, windows, score_of, near)
        if found is None:
            return None
        places, scores = found
        return BestWindows(*windows.at(places), scores)

    def _by_blocks(
        self, image: Image, windows: Windows, score_of: ScoreOf, near: float
    ) -> Best | None:
        corners = self._coarse.corners(windows.planes, windows.threads)
        places = windows.places_of(*corners.best(_CORNERS))
        guesses = windows.best_of(places, corners.scatter_at(*windows.at(places)), _SCORED)
        best = float(np.fmin.reduce(score_of(guesses)))
        if math.isnan(best):
            return None
        limit = best + near + self._rounding
        pixels = min(_SHARE_FOLLOWED * limit, 1.0) * self._slices.counts.sum()
        most = int(min(_FOLLOWED_OF_EACH / pixels, 1.0) * math.prod(corners.extent)) + 1
        left = self._coarse.open(corners, limit, most, windows.threads)
        if left is None:
            return None
        scatter = self._scatter_at(image, *left, windows.threads)
        told = scatter > 0
        places, scatter = windows.places_of(*left)[told], scatter[told]
        places = windows.follow(places, scatter, np.zeros_like(scatter), limit, 0)
        return self._among(np.union1d(places, guesses), score_of, best + near)

    def _scatter_at(
        self, image: Image, rows: Indices, cols: Indices, n_threads: int
    ) -> NDArray[np.float32]:
        """Work out the scatter of windows, in order, where these are."""
        scatter = np.empty(rows.size, np.float32)

        def task(tile: Tile, of_tile: ScatterOf) -> None:
            first, last = np.searchsorted(rows, (tile.top, tile.bottom))
            inside = (cols[first:last] >= tile.left) & (cols[first:last] < tile.right)
            at = first + np.flatnonzero(inside)
            if at.size:
                scatter[at] = of_tile()[rows[at] - tile.top, cols[at] - tile.left]

        _for_each_scatter(image, self._programs, task, n_threads)
        return scatter

    def _by_rows(
        self, rows: "_Rows", windows: Windows, score_of: ScoreOf, near: float
    ) -> Best | None:
        guesses = rows.bound(self._parts[0])
        if not guesses.size:
            return None
        best = float(np.fmin.reduce(score_of(guesses)))
        if not best < _SURE * _PASSES / _STEP:
            return None
        limit = best + near + self._rounding
        group_size = self._slices.counts.sum() / _STEP
        for passes, part in enumerate(self._parts, 1):
            if passes > 1:
                rows.bound(part)
            places, scatter, bounds = rows.below(limit)
            if places.size * group_size <= _FOLLOWED:
                break
        else:
            return None
        places = windows.follow(places, scatter, bounds, limit, passes)
        return self._among(np.union1d(places, guesses), score_of, best + near)

    def _among(self, places: Indices, score_of: ScoreOf, limit: float) -> Best | None:
        """Return the windows, of these, that score up to a limit, with their scores."""
        if places.size * self._slices.counts.sum() > _FOLLOWED:
            return None
        scores = score_of(places)
        return places[scores <= limit], scores[scores <= limit]

    @property
    def _rounding(self) -> float:
        return _ROUNDING * (_ROUNDINGS + self._slices.counts.size)

    def _pays(self, image: Image) -> bool:
        """Whether bounds of all windows may take less time than a map."""
        height, width = self._slices.shape
        rows, columns = image.shape[0] - height + 1, image.shape[1] - width + 1
        small = height < _LEAST_HEIGHT or rows * columns < _LEAST_WINDOWS
        # Lines that are put behind each other have windows that begin in one and end in the next.
        wasted = 2 * columns < image.shape[1] or rows < _PASSES * _STEP
        return image.exact and not (small or wasted)

    def _has_blocks(self, image: Image) -> bool:
        fits = min(self._slices.shape) >= _COARSE and self._slices.full and image.bad is None
        return fits and self._coarse.exact(image.magnitude)

    def _has_rows(self, image: Image) -> bool:
        if len(self._parts) < _PASSES or (self._slices.shape[0] < _LOW and self._used):
            return False
        return max(part.programs.slices.pixels for part in self._parts) <= _LARGEST_PART


class _Rows:
    """Bounds of all windows of an image by some of their rows.

    Windows are as `Windows` has them; what sticks out of the image has no evidence.
    """

    def __init__(self, programs: Programs, windows: Windows, image: Image) -> None:
        self._image, self._lines, self._threads = image, windows.lines, windows.threads
        rows, columns = (a - b + 1 for a, b in zip(image.shape, programs.slices.shape, strict=True))
        self._line = _STEP * image.shape[1]  # of the image as it is looked at
        shape = -(-rows // _STEP), self._line
        self._bounds = np.zeros(shape, np.float32)
        self._scatter = np.zeros(shape, np.float32)  # 0 where there is no window
        of_windows = self._scatter.reshape(-1, image.shape[1])[:rows, :columns]

        def task(tile: Tile, of_tile: ScatterOf) -> None:
            of_windows[tile.place] = of_tile()[:, : tile.shape[1]]

        _for_each_scatter(image, programs, task, self._threads)

    def bound(self, part: _Part) -> Indices:
        """Raise the bounds by some rows; return the windows where these alone score best."""
        bounds, scatter, planes = self._bounds, self._scatter, self._lines
        height, width = part.programs.slices.shape
        folded = as_strided(
            planes[:, part.first * self._image.shape[1] :],
            (len(planes), len(bounds) + height - 1, self._line + width - 1),
            (planes.strides[0], self._line * planes.itemsize, planes.itemsize),
            writeable=False,
        )
        found: list[tuple[NDArray[Any], Indices]] = []
        slices = part.programs.slices
        # In single precision sums of 8-bit greys are exact: of so many pixels as there are at most.
        kind = np.dtype(np.float32 if planes.dtype == np.uint8 else np.float64)
        weights = np.stack([slices.counts, slices.counts / slices.pixels, 1 / slices.counts])
        model = weights.astype(kind), slices.channel_of_slice, kind.type(slices.pixels)

        def task(sums: TileSums, out: NDArray[np.float32]) -> None:
            rows, columns = sums.tile.shape
            top, left = sums.tile.top, sums.tile.left
            held = slice(top, top + rows)
            least, lines = np.full(columns, np.inf, kind), np.zeros(columns, np.int64)
            bound_rows(
                sums.sums, sums.totals, sums.scatter, *model, scatter[held], left, out[held],
                least, lines,
            )  # fmt: skip
            best = np.argpartition(least, min(_GUESSES, columns) - 1)[:_GUESSES]
            found.append((least[best], (top + lines[best]) * self._line + left + best))

        image = replace(self._image, planes=folded, offset=0, bad=None)
        for_each_tile(image, part.programs, task, bounds, self._threads, "additions")
        shares, places = map(np.concatenate, zip(*found, strict=True))
        best = np.lexsort((places, shares))[:_GUESSES]
        return np.asarray(places[best][shares[best] < np.inf])

    def below(self, limit: float) -> tuple[Indices, NDArray[np.float32], NDArray[np.float32]]:
        """Return the windows that are not excluded, their scatter, and their bounds."""
        places = np.flatnonzero(self._bounds.reshape(-1) <= limit)
        return places, self._scatter.reshape(-1)[places], self._bounds.reshape(-1)[places]


def _for_each_scatter(
    image: Image, programs: Programs, use: Callable[[Tile, ScatterOf], None], n_threads: int
) -> None:
    """Offer the scatter of the windows of each tile."""
    extent = tuple(a - b + 1 for a, b in zip(image.shape, programs.slices.shape, strict=True))
    todo = tiles((extent[0], extent[1]), *_TILE, LANES)
    inside = inside_way(image, programs, todo)

    def task(tile: Tile) -> None:
        def of_tile() -> NDArray[np.float64]:
            (moments,) = tile_moments(image, programs, tile, 1.0, inside)  # of exact sums
            return moments.scatter

        use(tile, of_tile)

    run(task, todo, n_threads)


def _spread(step: int) -> Indices:
    """Order rows 0, 1, .. of so many, a power of two: each far from those before it."""
    order = np.zeros(1, np.int64)
    while order.size < step:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def _in_use(labels: Indices) -> Indices:
    """Count the labels of each plane from 0 on, without gaps; -1 stays."""
    found = np.empty(labels.shape, np.int64)
    for plane, out in zip(labels, found, strict=True):
        used = np.unique(plane[plane >= 0])
        out[:] = np.where(plane < 0, -1, np.searchsorted(used, plane))
    return found


@jit
def bound_rows(
    sums: NDArray[Any],
    totals: NDArray[Any],
    scatter: NDArray[np.float64],
    weights: NDArray[np.floating],
    channel: NDArray[np.int64],
    pixels: Any,
    whole: NDArray[np.float32],
    first: int,
    bounds: NDArray[np.float32],
    least: NDArray[np.floating],
    lines: NDArray[np.int64],
) -> None:
    """Add to bounds of scores what slices leave open of some rows.

    Parameters
    ----------
    sums : ndarray of shape (slices, rows, >= columns)
        Of the slices of these rows.
    totals : ndarray of shape (channels, rows, >= columns)
    scatter : ndarray of shape (rows, >= columns)
        Of these rows.
    weights : ndarray of shape (3, slices), float32 if that holds all sums exactly, or float64
        Pixels of each slice, their share of the channel's, and one over their number.
    channel : ndarray of shape (slices,)
    pixels : float
        Of a channel, of the type of the weights.
    whole, bounds : ndarray of shape (rows, >= first + columns)
        Scatter of all rows of the window; where it is 0 or NaN there is no evidence, and the
        bound infinite. Bounds are raised.
    first : int
        The tile's column there.
    least, lines : ndarray of shape (columns,)
        Set where a row has a lower share left open: to that, and to the row.

    Plain twin: ``naive.row_bounds``.
    """
    rows, columns = bounds.shape[0], least.size
    middle, rest, own, explained = np.empty((4, columns), weights.dtype)
    for y in range(rows):
        for x in range(columns):
            explained[x] = 0
        for k in range(channel.size):
            if k == 0 or channel[k] != channel[k - 1]:
                total = totals[channel[k], y]
                for x in range(columns):
                    rest[x] = total[x]
                    # Less a whole number near the mean no digits are lost.
                    middle[x] = np.rint(rest[x] / pixels)
                    rest[x] -= pixels * middle[x]
            of_slice = sums[k, y]
            count, share, weight = weights[0, k], weights[1, k], weights[2, k]
            for x in range(columns):
                own[x] = of_slice[x]
                deviation = own[x] - count * middle[x] - share * rest[x]
                explained[x] += deviation * deviation * weight
        line, of_all = bounds[y, first : first + columns], whole[y, first : first + columns]
        for x in range(columns):
            rest[x] = scatter[y, x]
        for x in range(columns):
            within = rest[x] - explained[x]
            within = within if within > 0 else weights.dtype.type(0)
            line[x] = line[x] + within / of_all[x] if of_all[x] > 0 else np.inf
            left = within / rest[x]
            better = left < least[x] and of_all[x] > 0
            least[x] = left if better else least[x]
            lines[x] = y if better else lines[x]
