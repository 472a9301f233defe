"""The best windows without a map: all others are left out by lower bounds.

What slices leave open of some rows of a window, each by its mean over these rows, is no more
than they leave open of these rows as a part of the window. So with S_r the squares left open
in every s-th row from r on, and V the scatter of the window, the sum of S_r / V over any r
bounds its score from below, for every tone model that has one grey for a slice.

For one r, or two, all windows are bounded at once, as those of a template that has these rows
only: in an image whose lines are s lines of the original, one behind the other, it lies as it
is. Where the best windows leave but few others below their own score, these few are followed
from r to r until their bounds are above it.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from .._jit import jit
from .additions import LANES
from .covers import ACCUMULATORS
from .images import Image
from .moments import scatter_of, tile_moments
from .plan import inside_way
from .programs import Programs
from .slices import Indices, Slices, order_of
from .sums import Score, TileSums, for_each_tile
from .threads import Tile, run, tiles
from .window_sums import type_of_sums

# Of templates less high, of fewer windows, and of more pixels at a time the map takes less time;
# but of low ones only once its additions have been found, which takes longer than here.
_LEAST_HEIGHT, _LEAST_WINDOWS, _LARGEST_PART = 24, 2**17, 2**13
_LOW = 48
_STEP = 8  # one row in so many is looked at first

_GUESSES = 24  # windows whose first rows score best, of which the best is mostly the best of all
_PASSES = 2  # by which all windows are bounded, at most
_SURE = 0.7  # of the share of rows looked at: of scores up to that few others are left
_FOLLOWED = 2**24  # pixels of windows that are looked at one by one, at most
_AT_ONCE = 512  # such windows that a thread takes
_TILE = 256, 512  # rows and columns of windows of which the scatter is worked out at once

# Bounds are off by some roundings of single precision for each slice, and never less than that.
_ROUNDING, _ROUNDINGS = 2.0**-23, 8


class BestWindows(NamedTuple):
    """Windows of a score map that score about as well as the best: arrays of shape (n,)."""

    rows: Indices
    cols: Indices
    scores: NDArray[np.floating]


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

    Attributes
    ----------
    step : int
        Groups of rows: each has every `step`-th.
    pixels : tuple of ndarray, of shape (n,)
        Channel, row and column of each pixel that counts, by groups, and by slices within each.
    starts : ndarray of shape (groups * slices + 1,)
        Where each slice of each group begins there.
    """

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        slices = self._slices = programs.slices
        self.step = step = _STEP
        order = _spread(step)
        self._parts = [
            _Part(row, Programs(Slices(_in_use(slices.labels[:, row::step]))))
            for row in order[:_PASSES].tolist()
            if slices.mask[row::step].any()
        ]
        _, ys, xs, channel = slices.places
        of_slice = np.repeat(np.arange(slices.counts.size), slices.counts)
        group = np.argsort(order)[ys % step] * slices.counts.size + of_slice
        sort = order_of(group)
        self.pixels = channel[of_slice][sort], ys[sort], xs[sort]
        numbers = np.bincount(group, minlength=step * slices.counts.size)
        self.starts = np.append(0, np.cumsum(numbers)).astype(np.int64)
        self._used = False

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
        self._used = True
        search = _Search(self, image, n_threads)
        guesses = search.bound(self._parts[0])
        if not guesses.size:
            return None
        best = float(np.fmin.reduce(search.score(guesses, score, dtype)))
        if not best < _SURE * _PASSES / self.step:
            return None
        limit = best + near + _ROUNDING * (_ROUNDINGS + self._slices.counts.size)
        group_size = self._slices.counts.sum() / self.step
        for passes, part in enumerate(self._parts, 1):
            if passes > 1:
                search.bound(part)
            places = search.below(limit)
            if places.size * group_size <= _FOLLOWED:
                break
        else:
            return None
        places = np.union1d(search.follow(places, limit, passes), guesses)
        if places.size * group_size * self.step > _FOLLOWED:
            return None
        scores = search.score(places, score, dtype)
        near_best = scores <= best + near
        rows, cols = np.divmod(places[near_best], image.shape[1])
        return BestWindows(rows, cols, scores[near_best])

    def _pays(self, image: Image) -> bool:
        """Whether bounds of all windows may take less time than a map."""
        if len(self._parts) < _PASSES or not image.exact:
            return False
        height, width = self._slices.shape
        rows, columns = image.shape[0] - height + 1, image.shape[1] - width + 1
        small = height < _LEAST_HEIGHT or rows * columns < _LEAST_WINDOWS
        small |= height < _LOW and self._used
        # Lines that are put behind each other have windows that begin in one and end in the next.
        wasted = 2 * columns < image.shape[1] or rows < _PASSES * self.step
        large = max(part.programs.slices.pixels for part in self._parts) > _LARGEST_PART
        return not (small or wasted or large)


class _Search:
    """Bounds of the scores of all windows of an image.

    A window goes by its first pixel, counted from the image's first: places are arrays of shape
    (n,). What sticks out of the image has no evidence.
    """

    def __init__(self, stopping: Stopping, image: Image, n_threads: int) -> None:
        self._stopping, self._image, self._threads = stopping, image, n_threads
        slices = stopping.programs.slices
        rows, columns = (a - b + 1 for a, b in zip(image.shape, slices.shape, strict=True))
        self._line = stopping.step * image.shape[1]  # of the image as it is looked at
        self._planes = _in_one_line(image, stopping.step, slices.shape[1])
        shape = -(-rows // stopping.step), self._line
        self._bounds = np.zeros(shape, np.float32)
        self._scatter = np.zeros(shape, np.float32)  # 0 where there is no window
        self._measure_scatter(self._scatter.reshape(-1, image.shape[1])[:rows, :columns])
        channels, ys, xs = stopping.pixels
        self._offsets = channels * self._planes.shape[1] + ys * image.shape[1] + xs

    def _measure_scatter(self, out: NDArray[np.float32]) -> None:
        programs = self._stopping.programs
        extent = out.shape[0], out.shape[1]
        todo = tiles(extent, *_TILE, LANES)
        inside = inside_way(self._image, programs, todo)

        def task(tile: Tile) -> None:
            moments = tile_moments(self._image, programs, tile, 1.0, inside)
            out[tile.place] = moments.scatter[:, : tile.shape[1]]

        run(task, todo, self._threads)

    def bound(self, part: _Part) -> Indices:
        """Raise the bounds by some rows; return the windows where these alone score best."""
        bounds, scatter, planes = self._bounds, self._scatter, self._planes
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

    def below(self, limit: float) -> Indices:
        """Return the windows that are not excluded."""
        return np.flatnonzero(self._bounds.reshape(-1) <= limit)

    def follow(self, places: Indices, limit: float, passes: int) -> Indices:
        """Look at windows, one group of rows after the other; return those that none excludes."""
        stopping = self._stopping
        pixels, slices = self._planes.reshape(-1), stopping.programs.slices.counts.size
        bounds, scatter = self._bounds.reshape(-1)[places], self._scatter.reshape(-1)[places]

        def task(part: slice) -> None:
            window = places[part], self._offsets, starts, scatter[part], limit
            follow(pixels, *window, bounds[part])

        for group in range(passes, stopping.step):
            starts = stopping.starts[group * slices : (group + 1) * slices + 1]
            firsts = range(0, places.size, _AT_ONCE)
            run(task, [slice(first, first + _AT_ONCE) for first in firsts], self._threads)
            left = bounds <= limit
            places, bounds, scatter = places[left], bounds[left], scatter[left]
        return places

    def score(self, places: Indices, score: Score, dtype: np.dtype[Any]) -> NDArray[np.floating]:
        """Score windows, as a tile of one row."""
        slices, form = self._stopping.programs.slices, self._planes.dtype
        shape = 1, places.size
        kind = type_of_sums(form, self._image.magnitude, slices.shape)
        sums = np.zeros((slices.counts.size, *shape), ACCUMULATORS[form].wide)
        totals, squares = np.zeros((2, slices.channels, *shape), kind)
        sums_at(
            self._planes.reshape(-1), places, self._offsets, self._stopping.starts,
            slices.channel_of_slice, sums, totals, squares,
        )  # fmt: skip
        scatter, scores = np.empty(shape), np.empty(shape, dtype)
        scatter_of(totals, squares, slices.pixels, scatter)
        tile = Tile(0, 1, 0, places.size)
        score(TileSums(sums, totals, scatter, tile, tile.place, self._image.scale), scores)
        return np.asarray(scores[0])


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


def _in_one_line(image: Image, step: int, width: int) -> NDArray[Any]:
    """Put the lines of each plane behind each other: (channels, pixels and zeros).

    Zeros are as many as may be read beyond the image, by lines that are `step` of them.
    """
    rows, columns = image.shape
    planes = np.zeros((len(image.planes), (rows + step) * columns + width - 1), image.form)
    for plane, greys in zip(planes, image.planes, strict=True):
        pixels = plane[: rows * columns].reshape(rows, columns)
        for row, line in zip(pixels, greys, strict=True):
            row[:] = image.less_offset(line)  # which needs memory
        if image.bad is not None:
            pixels[image.bad] = 0  # as in a patch
    return planes


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


@jit
def follow(
    pixels: NDArray[Any],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    scatter: NDArray[np.float32],
    limit: float,
    bounds: NDArray[np.float32],
) -> None:
    """Add to the bounds of windows what slices leave open, until they exceed a limit.

    Parameters
    ----------
    pixels : ndarray, 1-D
    places : ndarray of shape (n,)
        Index of the first pixel of each window.
    offsets : ndarray of shape (m,)
        How far others are from it, slice by slice.
    starts : ndarray of shape (slices + 1,)
        Where each slice begins there.
    scatter, bounds : ndarray of shape (n,)
        The bounds are raised.

    Plain twin: ``naive.row_bounds``.
    """
    for i in range(places.size):
        bound = float(bounds[i])
        for k in range(starts.size - 1):
            count = starts[k + 1] - starts[k]
            if count > 1:
                total, square = np.int64(0), np.int64(0)
                base = np.int64(pixels[places[i] + offsets[starts[k]]])  # or digits are lost
                for j in range(starts[k] + 1, starts[k + 1]):
                    grey = np.int64(pixels[places[i] + offsets[j]]) - base
                    total += grey
                    square += grey * grey
                bound += (square - float(total) * total / count) / scatter[i]
                if bound > limit:
                    break
        bounds[i] = bound


@jit
def sums_at(
    pixels: NDArray[Any],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    channel: NDArray[np.int64],
    sums: NDArray[Any],
    totals: NDArray[Any],
    squares: NDArray[Any],
) -> None:
    """Sum the slices of windows, and the squares of their pixels.

    Other parameters are those of `follow`.

    Parameters
    ----------
    starts : ndarray of shape (groups * slices + 1,)
        Where each slice of each group of pixels begins.
    channel : ndarray of shape (slices,)
    sums : ndarray of shape (slices, 1, n), zeros
        Filled, as are the others.
    totals, squares : ndarray of shape (channels, 1, n), zeros

    Plain twin: ``naive.slice_sums``.
    """
    slices = channel.size
    for i in range(places.size):
        for k in range(starts.size - 1):
            total, square = np.int64(0), np.int64(0)
            for j in range(starts[k], starts[k + 1]):
                grey = np.int64(pixels[places[i] + offsets[j]])
                total += grey
                square += grey * grey
            sums[k % slices, 0, i] += total
            totals[channel[k % slices], 0, i] += total
            squares[channel[k % slices], 0, i] += square
