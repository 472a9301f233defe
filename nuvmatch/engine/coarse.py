"""Bounds of all windows of an image at once, from blocks of pixels, for large templates.

What slices leave open of a window is no less than what they leave open of the means of its
blocks, each of 4 x 4 pixels, where a slice counts by its share of each block: that is a least
squares problem of a few unknowns for a sixteenth of the pixels. And where one slice has all of a
block, nothing of what is within that block is explained.

Both are worked out for one window in 16, at the corners of blocks of the image. The square root
of what is left open is a distance, of the means from all that slices can be: of a window beside
it is no less, but for how far its own means are from these.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .fourier import Correlator, error_bound, halves
from .plan import product_tile
from .slices import Indices, Slices
from .threads import Tile, run, tiles

BLOCK = 4  # pixels of a side
# So many rows and columns before a corner are nearest to it, and so many behind; those that
# follow the last corner belong to it.
_BEFORE, _BEHIND = 1, 2
_STRIP = 32  # rows of blocks are summed at a time

# Whole numbers up to this are exact in single precision, and in double precision.
_EXACT_SINGLE, _EXACT = 2.0**24, 2.0**53
_ROUNDING = 1e-11  # share by which rounding may make bases explain too little


class Corners(NamedTuple):
    """What is known of windows that begin at corners of blocks: arrays of shape (rows, columns).

    Sums of blocks are whole numbers: squares of them are 16 times those of their pixels.
    """

    extent: tuple[int, int]  # rows and columns of all windows
    # Of the block that begins at each pixel, (BLOCK, BLOCK, channels, ..): those that lie as
    # many rows and columns from corners together.
    sums: NDArray[np.float32]
    apart: NDArray[np.float64]  # root of the squares that slices leave open of sums, at least
    within: NDArray[np.float64]  # squares left open within blocks, of all windows of the corner
    scatter_of_sums: NDArray[np.float64]
    scatter: NDArray[np.float64]  # of all of these windows, at most; 0 where all are flat

    def best(self, number: int) -> tuple[Indices, Indices]:
        """Return rows and columns of the windows of those corners where blocks score best."""
        shares = np.full(self.apart.shape, np.inf)
        np.divide(self.apart**2, self.scatter_of_sums, out=shares, where=self.scatter_of_sums > 0)
        best = np.argpartition(shares, min(number, shares.size) - 1, axis=None)[:number]
        ys, xs = (BLOCK * own for own in np.unravel_index(best, shares.shape))
        near = np.mgrid[-_BEFORE:BLOCK, -_BEFORE:BLOCK].reshape(2, -1, 1)
        ys, xs = (ys + near[0]).ravel(), (xs + near[1]).ravel()
        inside = (ys >= 0) & (xs >= 0) & (ys < self.extent[0]) & (xs < self.extent[1])
        return ys[inside], xs[inside]

    def scatter_at(self, ys: Indices, xs: Indices) -> NDArray[np.float32]:
        """Return the scatter of windows, at most."""
        corners = (
            np.minimum((at + _BEFORE) // BLOCK, side - 1)
            for at, side in zip((ys, xs), self.scatter.shape, strict=True)
        )
        return np.asarray(self.scatter[tuple(corners)], np.float32)


class Coarse:
    """The slices of a template without a mask, by blocks; pixels that are left over do not count.

    Parameters
    ----------
    slices : Slices
    """

    def __init__(self, slices: Slices) -> None:
        self._height, self._width = slices.shape
        height, width = self._shape = self._height // BLOCK, self._width // BLOCK
        shares = [_shares(plane, self._shape) for plane in slices.labels]
        # Orthonormal, so that what is explained is a sum of squares. Of slices that are sums of
        # others by blocks rounding makes bases that explain too much: bounds are lower, but right.
        self._bases = [np.linalg.qr(own.T)[0].T.reshape(-1, height, width) for own in shares]
        self._pure = [(own.max(axis=0) == 1).reshape(1, height, width) for own in shares]
        self._correlators: tuple[tuple[int, int], Sequence[Sequence[Correlator]]] = (0, 0), ()

    def exact(self, magnitude: int) -> bool:
        """Whether all is exact for whole numbers of that magnitude."""
        largest = float(BLOCK**2 * magnitude)
        squares = self._shape[0] * self._shape[1] * (2 * largest) ** 2
        return largest <= _EXACT_SINGLE and squares <= _EXACT

    def corners(self, planes: NDArray[Any], n_threads: int) -> Corners:
        """Bound what is left open of windows at the corners of blocks, and near them.

        Parameters
        ----------
        planes : ndarray of shape (channels, rows, columns), whole numbers
        n_threads : int
            Most threads to use.
        """
        sums, inner, totals, squares = _sum_blocks(planes, n_threads)
        coarse = sums[0, 0].astype(np.float64)
        coarse -= np.rint(coarse.mean(axis=(1, 2), keepdims=True))
        extent = planes.shape[1] - self._height + 1, planes.shape[2] - self._width + 1
        rows, columns = (-(-side // BLOCK) for side in extent)
        known = np.empty((3, rows, columns))
        shape = product_tile(self._shape, (rows, columns), 2)
        correlators = self._made_for((-(-shape[0] // 2), shape[1]), n_threads)

        def task(tile: Tile) -> None:
            place = tile.under(self._shape)
            patches = coarse[:, *place], inner[:, *place]
            self._bound(*patches, correlators, known[:, *tile.place])

        run(task, tiles((rows, columns), *shape), n_threads)
        scatter = self._scatter_about(totals, squares, planes.shape[1:])
        apart, within, of_sums = known
        return Corners(extent, sums, apart, within, of_sums, scatter[:rows, :columns])

    def open(
        self, corners: Corners, limit: float, most: int, n_threads: int
    ) -> tuple[Indices, Indices] | None:
        """Return rows and columns of windows that may score up to a limit, in order.

        None if they are `most` or more.
        """
        found: list[Indices] = []
        steps = range(-_BEFORE, BLOCK)
        # Up to what squared distance from a corner's blocks all windows are excluded.
        open_squares = np.maximum(limit * corners.scatter - corners.within, 0)
        room = np.maximum(corners.apart - BLOCK * np.sqrt(open_squares), 0)
        excluded = np.where(corners.scatter > 0, room * room, np.inf)

        def task(step: tuple[int, int]) -> None:
            places = np.empty((2, min(most, excluded.size)), np.int64)
            number = open_beside(
                corners.sums, excluded, *step, *self._shape, *corners.extent, places
            )
            found.append(places[:, :number].copy())

        run(task, [(down, across) for down in steps for across in steps], n_threads)
        rows, cols = np.concatenate(found, axis=1)
        if rows.size >= most:
            return None
        rows, cols = np.divmod(np.sort(rows * corners.extent[1] + cols), corners.extent[1])
        return rows, cols

    def _made_for(self, windows: tuple[int, int], n_threads: int) -> Sequence[Sequence[Correlator]]:
        """Return what correlates each channel with its bases, and with its pure blocks last."""
        made_for, correlators = self._correlators
        if made_for != windows:
            patterns = [np.concatenate(own) for own in zip(self._bases, self._pure, strict=True)]
            made: dict[tuple[int, int], Correlator] = {}

            def make(which: tuple[int, int]) -> None:
                made[which] = Correlator(patterns[which[0]][which[1], None], windows)

            run(
                make, [(c, i) for c, own in enumerate(patterns) for i in range(len(own))], n_threads
            )
            correlators = [[made[c, i] for i in range(len(own))] for c, own in enumerate(patterns)]
            self._correlators = windows, correlators
        return correlators

    def _scatter_about(
        self,
        totals: NDArray[np.float64],
        squares: NDArray[np.float64],
        image: tuple[int, ...],
    ) -> NDArray[np.float64]:
        """Return the scatter of windows that begin at corners, and of blocks all around each.

        That of each window within is no more. Of whole numbers it is 0, or half a square at least.
        """
        behind = [-(-(side % BLOCK + BLOCK - 1) // BLOCK) for side in (self._height, self._width)]
        about = self._shape[0] + 1 + behind[0], self._shape[1] + 1 + behind[1]

        def padded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.pad(numbers, ((1, behind[0]), (1, behind[1])))

        sides = (np.minimum(BLOCK, side - np.arange(0, side, BLOCK)) for side in image)
        pixels = _windows(padded(np.outer(*sides).astype(np.float64)), about)
        scatter = np.zeros_like(pixels)
        for total, square in zip(totals, squares, strict=True):
            of_windows = _windows(padded(total), about)
            of_channel = _windows(padded(square), about) - of_windows * of_windows / pixels
            scatter += np.where(of_channel < 0.25, 0, of_channel)
        return scatter

    def _bound(
        self,
        patch: NDArray[np.float64],
        inner: NDArray[np.float64],
        correlators: Sequence[Sequence[Correlator]],
        out: NDArray[np.float64],
    ) -> None:
        """Fill in `Corners.apart`, `within` and `scatter_of_sums` of a tile."""
        apart, within, scatter = out
        rows, columns = apart.shape
        half = -(-rows // 2)
        windows = half, columns
        out[:] = 0
        explained, square = np.empty((2, half, 2 * columns))
        for plane, own, (*bases, pure), blocks in zip(
            patch, inner, correlators, self._pure, strict=True
        ):
            spectrum, energy = pure.transform(*halves(np.ascontiguousarray(plane), rows))
            explained[:] = 0
            for basis in bases:
                found = basis.correlate(spectrum, 0, windows).view(np.float64)
                explained += np.multiply(found, found, out=square)
            squares, total = _windows(plane * plane, self._shape), _windows(plane, self._shape)
            scatter += squares - total * total / blocks.size
            error = error_bound(energy, len(bases))  # of all of them, as a distance
            apart += squares * (1 - _ROUNDING) - 2 * error * np.sqrt(squares) - error**2
            apart[:half] -= explained[:, ::2]
            apart[half:] -= explained[: rows - half, 1::2]
            spectrum, energy = pure.transform(*halves(np.ascontiguousarray(own), rows))
            found = pure.correlate(spectrum, 0, windows)
            within[:half] += found.real
            within[half:] += found.imag[: rows - half]
            within -= error_bound(energy, float(np.count_nonzero(blocks)))
        np.maximum(out, 0, out=out)
        np.sqrt(apart, out=apart)


def _shares(labels: Indices, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the share of each slice of each block: (slices, blocks)."""
    height, width = shape
    number = int(labels.max()) + 1
    whole = labels[: BLOCK * height, : BLOCK * width]
    block = np.arange(height)[:, None] * width + np.arange(width)
    block = block.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)
    counts = np.bincount((block * number + whole).ravel(), minlength=height * width * number)
    return np.asarray(counts.reshape(-1, number).T / BLOCK**2)


def _windows(numbers: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Sum over all windows."""
    sums = cv2.boxFilter(
        numbers, -1, shape[::-1], anchor=(0, 0), normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    rows, columns = (a - b + 1 for a, b in zip(numbers.shape, shape, strict=True))
    return np.asarray(sums[:rows, :columns])


def _sum_blocks(
    planes: NDArray[Any], n_threads: int
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Sum the block that begins at each pixel, as `Corners.sums` has them.

    Return also, of blocks at corners, the scatter within, the least of all that are near; and the
    sums and the squares of their pixels, of blocks that the image ends in, too.
    """
    channels, rows, columns = planes.shape
    extent = -(-rows // BLOCK), -(-columns // BLOCK)
    sums = np.empty((BLOCK, BLOCK, channels, rows // BLOCK, columns // BLOCK), np.float32)
    inner, totals, squares = np.empty((3, channels, *extent))
    # Squares of sums of 8 bits are exact in single precision.
    kind = np.float32 if planes.dtype == np.uint8 else np.float64
    near = np.ones((_BEFORE + BLOCK, _BEFORE + BLOCK), np.uint8)

    def task(part: tuple[int, int]) -> None:
        c, first = part
        # With what is near the first, and the last, of these rows of blocks.
        top = max(BLOCK * first - _BEFORE, 0)
        bottom = min(BLOCK * (first + _STRIP + 2), BLOCK * extent[0])
        given = planes[c, top:bottom]
        greys = np.zeros((bottom - top, BLOCK * extent[1]), kind)
        greys[: len(given), :columns] = given
        of_blocks = _windows(greys, (BLOCK, BLOCK))
        scatter = of_blocks * of_blocks
        scatter /= -(BLOCK**2)
        of_squares = _windows(np.multiply(greys, greys, out=greys), (BLOCK, BLOCK))
        scatter += of_squares
        least = cv2.erode(scatter, near, anchor=(_BEFORE, _BEFORE))
        corners, own = BLOCK * first - top, slice(first, first + _STRIP)
        for found, each in ((least, inner), (of_blocks, totals), (of_squares, squares)):
            each[c, own] = found[corners::BLOCK, ::BLOCK][:_STRIP]
        for down in range(BLOCK):
            for across in range(BLOCK):
                beside = sums[down, across, c, own]
                found = of_blocks[corners + down :: BLOCK, across::BLOCK][: len(beside)]
                found = found[:, : beside.shape[1]]
                beside[: found.shape[0], : found.shape[1]] = found

    parts = [(c, first) for c in range(channels) for first in range(0, extent[0], _STRIP)]
    run(task, parts, n_threads)
    return sums, inner, totals, squares


@jit
def open_beside(
    sums: NDArray[np.float32],
    excluded: NDArray[np.float64],
    down: int,
    across: int,
    height: int,
    width: int,
    rows: int,
    columns: int,
    places: NDArray[np.int64],
) -> int:
    """Find windows that begin some rows and columns from corners, and whose blocks differ enough.

    Parameters
    ----------
    sums : ndarray
        `Corners.sums`.
    excluded : ndarray of shape (rows, columns)
        Of each corner: windows are found if squares of differences sum up to that.
    down, across : int
        Rows and columns from the corners, less than the side of a block. So many as only the
        last corners have are of these alone.
    height, width : int
        Of the template, in blocks.
    rows, columns : int
        Of all windows.
    places : ndarray of shape (2, n)
        Row and column of each; so many are looked for at most.

    Plain twin: ``naive.blocks_apart``.
    """
    side = BLOCK
    last, final = excluded.shape
    first = 1 if down < 0 else 0 if down <= _BEHIND else last - 1
    start = 1 if across < 0 else 0 if across <= _BEHIND else final - 1
    last = min(last, (rows - 1 - down) // side + 1)
    number = min(final, (columns - 1 - across) // side + 1) - start
    if number <= 0:
        return 0
    up, back = 1 if down < 0 else 0, 1 if across < 0 else 0  # blocks that others begin earlier
    own, other = sums[0, 0], sums[down % side, across % side]
    # Squares of differences, summed down columns of blocks, and over blocks of windows.
    tall, beside = np.zeros(number + width - 1), np.empty(number)
    count = 0
    for i in range(first, last):
        for r in range(i if i == first else i + height - 1, i + height):
            for c in range(own.shape[0]):
                here, there = own[c, r, start:], other[c, r - up, start - back :]
                for j in range(tall.size):
                    gap = float(there[j]) - float(here[j])
                    tall[j] += gap * gap
        total = 0.0
        for j in range(width):
            total += tall[j]
        for j in range(1, number):
            beside[j] = tall[j + width - 1] - tall[j - 1]
        beside[0] = total
        for j in range(1, number):
            total += beside[j]
            beside[j] = total
        least = excluded[i, start:]
        found = 0
        for j in range(number):
            found += beside[j] >= least[j]
        if found > 0:
            for j in range(number):
                if beside[j] >= least[j]:
                    if count == places.shape[1]:
                        return count
                    places[0, count] = side * i + down
                    places[1, count] = side * (start + j) + across
                    count += 1
        for c in range(own.shape[0]):
            here, there = own[c, i, start:], other[c, i - up, start - back :]
            for j in range(tall.size):
                gap = float(there[j]) - float(here[j])
                tall[j] -= gap * gap
    return count
