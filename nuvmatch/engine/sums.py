"""Slice sums of every window, centred so that no digit is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .again import sum_again
from .boxes import box_sums
from .images import EXACT_LIMIT, Image
from .slices import Slices
from .threads import Tile, run, tiles

# The sums of one tile stay in the second-level cache of a core.
_TILE_BYTES = 512 * 1024
_TILE_COLUMNS = 1024
_LEAST_TILE, _LARGEST_TILE = 256, 8192  # windows

# The relative error of a float sum, for each of the terms that are added in turn.
_ROUNDING = 2e-16

# Squares below this have lost digits to the end of the float range.
_LEAST_SQUARES = 1e-290


@dataclass(frozen=True)
class TileSums:
    """Sums over each window of a tile, of ``(grey - mean of the window) * unit``.

    The mean is rounded for exact images, so that sums stay whole numbers. `squares` is
    exactly 0 where a window is flat, and NaN where it touches a bad pixel.
    """

    sums: NDArray[np.float64]  # (slices, rows, columns)
    squares: NDArray[np.float64]  # (rows, columns), over all channels
    unit: NDArray[np.float64]  # (rows, columns): the image's scale, or else what was better
    means: NDArray[np.float64]  # (channels, rows, columns), not rounded, in image greys
    patch: NDArray[Any]  # (channels, rows + h - 1, columns + w - 1): greys as summed
    centres: NDArray[np.float64]  # (channels, rows, columns): in them, what was subtracted
    raw: NDArray[Any]  # as patch, with all digits


def for_each_tile(
    image: Image,
    slices: Slices,
    score: Callable[[TileSums], NDArray[np.float64]],
    out: NDArray[Any],
    n_threads: int,
) -> None:
    """Fill a score map: sum the slices of one tile after the other, and score it.

    Parameters
    ----------
    score : callable
        Turns the sums of a tile into its scores, shape (rows, columns).
    out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, filled
    """
    windows = _TILE_BYTES // (8 * slices.counts.size)
    windows = min(max(windows, _LEAST_TILE), _LARGEST_TILE)
    columns = min(_TILE_COLUMNS, windows, out.shape[1])
    accuracy = tolerance(out.dtype)

    def task(tile: Tile) -> None:
        out[tile.place] = score(tile_sums(image, slices, tile, accuracy))

    run(task, tiles(out.shape, windows // columns, columns), n_threads)


def tolerance(dtype: np.dtype[Any]) -> float:
    """Error of a score that a map of this type must not exceed."""
    return 1e-7 if dtype == np.float32 else 1e-10


def tile_sums(image: Image, slices: Slices, tile: Tile, accuracy: float) -> TileSums:
    """Sum every slice over every window of a tile.

    Integer images are summed exactly and shifted, still in integers, by the window's
    rounded mean. Others are summed about the middle of the patch and then shifted by
    the window's mean; where that leaves the variance less exact than `accuracy`, the
    window is summed again from its own pixels.
    """
    raw = image.patch(tile, slices.shape)
    bad = image.bad_patch(tile, slices.shape)
    patch, origin = (raw, 0) if image.exact else _about_the_middle(raw, bad, image.scale)

    wide = patch.astype(np.int64 if image.exact else np.float64, copy=False)
    totals = _window_sums(wide, slices)
    squares = _window_sums(wide * wide, slices).sum(axis=0)
    narrow = np.int32 if image.form is np.uint8 else wide.dtype
    sums = np.empty((slices.counts.size, *tile.shape), narrow)
    sum_slices(patch, *slices.places, slices.derived, sums)

    d = slices.pixels
    centres = (2 * totals + d) // (2 * d) if image.exact else totals / d
    centred, centred_squares = np.empty(sums.shape), np.empty(tile.shape)
    about = (slices.channel, slices.derived, slices.counts, d)
    shift_to_centres(sums, totals, squares, centres, *about, centred, centred_squares)
    result = TileSums(
        centred,
        centred_squares,
        np.full(tile.shape, image.scale),
        _means(totals, d, origin, image),
        patch,
        centres.astype(np.float64, copy=False),
        raw,
    )
    if not image.exact:
        rounding = _ROUNDING * sum(slices.shape)
        lost = ~(centred_squares > np.maximum(squares * (rounding / accuracy), _LEAST_SQUARES))
        if lost.any():
            lost &= ~_clear_flat(raw, slices.shape, image.offset, result)
        window_ys, window_xs = np.nonzero(lost)
        sum_again(
            raw, float(image.offset), *slices.places, window_ys, window_xs,
            result.sums, result.squares, result.unit, result.means,
        )  # fmt: skip
    if bad is not None:
        result.squares[_window_sums(bad.astype(np.int64), slices)[0] > 0] = np.nan
    return result


def _means(
    totals: NDArray[Any], d: int, origin: NDArray[np.float64] | int, image: Image
) -> NDArray[np.float64]:
    """Means of the windows in image greys; of exact images the same in any surrounding."""
    if image.exact and d * abs(image.offset) < EXACT_LIMIT:
        return np.asarray((totals + d * image.offset) / d)
    return np.asarray((totals / d + origin) / image.scale + image.offset)


def _clear_flat(
    raw: NDArray[Any], shape: tuple[int, int], offset: int, result: TileSums
) -> NDArray[np.bool_]:
    """Find the windows that are flat also outside the mask, and set their sums right.

    They are the only ones of which there can be very many to sum again.
    """
    height, width = shape
    steps = np.zeros(result.squares.shape, np.int64)
    for differs, size in (
        (raw[:, :, 1:] != raw[:, :, :-1], (height, width - 1)),
        (raw[:, 1:] != raw[:, :-1], (height - 1, width)),
    ):
        if min(size) > 0:
            found = np.empty(result.means.shape, np.int64)
            box_sums(differs.astype(np.int64), *size, found)
            steps += found.sum(axis=0)
    flat = steps == 0
    result.sums[:, flat] = 0
    result.squares[flat] = 0
    result.unit[flat] = 1
    rows, columns = flat.shape
    result.means[:, flat] = raw[:, :rows, :columns][:, flat] + float(offset)
    return np.asarray(flat)


def _about_the_middle(
    raw: NDArray[Any], bad: NDArray[np.uint8] | None, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scale, and subtract the middle of each channel's range; bad pixels become 0.

    Digits that get lost here are missed, and summed again, where they matter.
    """
    good: Any = True if bad is None else bad == 0
    scaled = raw * scale
    low = scaled.min(axis=(1, 2), keepdims=True, where=good, initial=1)
    high = scaled.max(axis=(1, 2), keepdims=True, where=good, initial=-1)
    origin = low / 2 + high / 2
    return (scaled - origin) * good, origin


def _window_sums(planes: NDArray[Any], slices: Slices) -> NDArray[Any]:
    """Sum each plane over the pixels that count."""
    height, width = slices.shape
    rows, columns = planes.shape[1] - height + 1, planes.shape[2] - width + 1
    out = np.empty((len(planes), rows, columns), planes.dtype)
    if slices.full:
        box_sums(planes, height, width, out)
    else:
        # Row by row of the template, so that few terms are added in turn.
        by_rows = slices.rows
        parts = np.empty((by_rows.counts.size, rows, columns), planes.dtype)
        skip = np.zeros(len(parts), np.bool_)
        for c in range(len(planes)):
            sum_slices(planes[c : c + 1], *by_rows.places, skip, parts)
            parts.sum(axis=0, out=out[c])
    return out


@jit
def sum_slices(
    patch: NDArray[Any],
    starts: NDArray[np.int64],
    ys: NDArray[np.int64],
    xs: NDArray[np.int64],
    channel: NDArray[np.int64],
    skip: NDArray[np.bool_],
    sums: NDArray[Any],
) -> None:
    """``sums[k, y, x]`` = sum of ``patch[channel[k], y + ys[p], x + xs[p]]``, p in slice k.

    Whole rows of windows are added at a time, eight pixels of the template in one pass.
    Plain twin: ``naive.slice_sums``.
    """
    slices, rows, columns = sums.shape
    for k in range(slices):
        if skip[k]:
            continue
        plane = patch[channel[k]]
        stop = starts[k + 1]
        for y in range(rows):
            total = sums[k, y]
            for x in range(columns):
                total[x] = 0
            p = starts[k]
            while p + 8 <= stop:
                a = plane[y + ys[p], xs[p] : xs[p] + columns]
                b = plane[y + ys[p + 1], xs[p + 1] : xs[p + 1] + columns]
                c = plane[y + ys[p + 2], xs[p + 2] : xs[p + 2] + columns]
                d = plane[y + ys[p + 3], xs[p + 3] : xs[p + 3] + columns]
                e = plane[y + ys[p + 4], xs[p + 4] : xs[p + 4] + columns]
                f = plane[y + ys[p + 5], xs[p + 5] : xs[p + 5] + columns]
                g = plane[y + ys[p + 6], xs[p + 6] : xs[p + 6] + columns]
                h = plane[y + ys[p + 7], xs[p + 7] : xs[p + 7] + columns]
                for x in range(columns):
                    # One by one, from the wide total on: uint8 + uint8 would wrap.
                    total[x] = total[x] + a[x] + b[x] + c[x] + d[x] + e[x] + f[x] + g[x] + h[x]
                p += 8
            while p < stop:
                a = plane[y + ys[p], xs[p] : xs[p] + columns]
                for x in range(columns):
                    total[x] += a[x]
                p += 1


@jit
def shift_to_centres(
    sums: NDArray[Any],
    totals: NDArray[Any],
    squares: NDArray[Any],
    centres: NDArray[Any],
    channel: NDArray[np.int64],
    derived: NDArray[np.bool_],
    counts: NDArray[np.int64],
    pixels: int,
    centred: NDArray[np.float64],
    centred_squares: NDArray[np.float64],
) -> None:
    """Turn sums of greys into sums of ``grey - centre``, and derive the slices left out.

    Integers stay integers until they are small. Plain twin: ``naive.slice_sums``.
    """
    slices, rows, columns = sums.shape
    for y in range(rows):
        left = totals[:, y].copy()  # of each channel: what its summed slices leave over
        for k in range(slices):
            if not derived[k]:
                rest = left[channel[k]]
                centre = centres[channel[k], y]
                for x in range(columns):
                    rest[x] -= sums[k, y, x]
                    centred[k, y, x] = sums[k, y, x] - counts[k] * centre[x]
        for k in range(slices):
            if derived[k]:
                rest = left[channel[k]]
                centre = centres[channel[k], y]
                for x in range(columns):
                    centred[k, y, x] = rest[x] - counts[k] * centre[x]
        total = squares[y].copy()
        for c in range(totals.shape[0]):
            for x in range(columns):
                total[x] -= centres[c, y, x] * (2 * totals[c, y, x] - pixels * centres[c, y, x])
        for x in range(columns):
            centred_squares[y, x] = total[x]
