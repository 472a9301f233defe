"""Score maps in blocks, each of which a task of dask makes, uses and forgets."""

from __future__ import annotations

import copy
import math
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import cloudpickle
import dask.array as da
import numpy as np
from dask.array.overlap import overlap
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .. import _checks
from ..engine import Image, ends_around
from ..finding import Feed, Places
from ..finding.suppression import Block, Suppression
from ..matcher import Matcher
from ..measures.bands import WINDOWS_HELD, Bands, Combine, Result, ScoreMap, Task
from ..measures.base import Scorer
from ..measures.precise import MARGIN
from ..results import Match
from .running import BlockError, run
from .scene import Known, Scene, name_of_block

# Windows of a template high and wide is a block at least, so that few pixels are read twice.
_WINDOWS = 8

Rect = tuple[int, int, int, int]  # row, column, height and width


class LazyImage:
    """A part of an image out of memory, of which single windows are read here.

    Parameters
    ----------
    scene : Scene
    known : Known
    matcher : Matcher
    rect : (int, int, int, int)
    """

    def __init__(self, scene: Scene, known: Known, matcher: Matcher, rect: Rect) -> None:
        self.scene, self.known, self.matcher = scene, known, matcher
        self.rect = rect
        self.shape = rect[2:]
        self._near: deque[tuple[Rect, Image]] = deque()

    def crop(self, row: int, column: int, height: int, width: int) -> Image:
        """Read a part of it, as the whole would be read."""
        for _ in range(len(self._near)):  # what is asked for next is near what was found last
            (top, left, rows, columns), image = self._near[0]
            down, across = row - top, column - left
            if min(down, across) >= 0 and down + height <= rows and across + width <= columns:
                return image.crop(down, across, height, width)
            self._near.rotate(-1)
        return self._read([(row, column, height, width)])[0]

    def around(self, windows: int, shape: tuple[int, int]) -> LazyImage:
        """Return this and what is around it, until it has so many windows, or is the whole."""
        rect = ends_around(self.rect, self.scene.shape, windows, shape)
        if rect == self.rect:
            return self
        return LazyImage(self.scene, self.known, self.matcher, rect)

    def gather(self, rects: Sequence[Rect]) -> None:
        """Read several parts at a time, for what is asked of them next."""
        within = []
        for row, column, height, width in rects:
            top, left = max(row, 0), max(column, 0)
            bottom, right = min(row + height, self.shape[0]), min(column + width, self.shape[1])
            within.append((top, left, bottom - top, right - left))
        self._near = deque(zip(within, self._read(within), strict=True))

    def beside_each_other(
        self, rows: NDArray[np.int64], cols: NDArray[np.int64], shape: tuple[int, int]
    ) -> tuple[Image, NDArray[np.int64], NDArray[np.int64]]:
        """Return an image of some windows only, and where they are in it."""
        rects = [(row, col, *shape) for row, col in zip(rows.tolist(), cols.tolist(), strict=True)]
        pixels, masks = zip(*self._fetch(rects), strict=True)
        mask = None if self.scene.mask is None else np.concatenate(masks, axis=1)
        image = self.known.read(self.matcher, np.concatenate(pixels, axis=1), mask)
        return image, np.zeros_like(rows), np.arange(len(rects)) * shape[1]

    def _read(self, rects: Sequence[Rect]) -> list[Image]:
        return [self.known.read(self.matcher, *one) for one in self._fetch(rects)]

    def _fetch(self, rects: Sequence[Rect]) -> list[tuple[Any, Any]]:
        """Return pixels and mask of parts: those near each other are cut out by one task."""
        if not rects:
            return []
        corners = np.array(rects)[:, :2] + self.rect[:2]
        ends = corners + np.array(rects)[:, 2:]
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, cell in enumerate((corners // math.isqrt(WINDOWS_HELD)).tolist()):
            groups.setdefault(tuple(cell), []).append(i)
        tasks, names = [], []
        for group in groups.values():
            top, left = corners[group].min(axis=0).tolist()
            bottom, right = ends[group].max(axis=0).tolist()
            under = slice(top, bottom), slice(left, right)
            mask = None if self.scene.mask is None else self.scene.mask[under]
            names.append(name_of_block((top, left), (bottom, right)))
            parts = np.hstack([corners[group], ends[group]]) - [top, left, top, left]
            task = delayed(_cut_out, pure=False)
            tasks.append(task(self.scene.pixels[under], mask, parts, names[-1]))
        found: list[Any] = [None] * len(rects)
        of_task = list(groups.values())
        for i, cut_out in run(tasks, names):
            for k, one in zip(of_task[i], cut_out, strict=True):
                found[k] = one
        return found


class Blocks(Bands):
    """Score maps of an image out of memory, one for each scorer."""

    @classmethod
    def of(cls, scene: Scene, known: Known, matcher: Matcher, rect: Rect) -> Blocks:
        """Make them for a matcher, and a part of the image."""
        image = LazyImage(scene, known, matcher, rect)
        return cls._by(matcher._panel.scorers, image)

    @classmethod
    def _by(cls, scorers: Sequence[Scorer], lazy: LazyImage) -> Blocks:
        image: Any = lazy  # all that is asked of an image here
        kind = lazy.matcher._map_type(lazy.scene.pixels.dtype)
        blocks = cls(scorers, image, lazy.matcher.shape, kind, lazy.matcher._threads)
        blocks._lazy = lazy
        return blocks

    _lazy: LazyImage

    def _like(self, scorers: Sequence[Scorer], image: Any) -> Blocks:
        return self._by(scorers, image)

    def _lowest(self, near: float) -> Places | None:
        return None  # bounds would be of a block only

    def gather(self, matches: Sequence[Match]) -> None:
        """Read the windows of matches at a time."""
        m = MARGIN
        self._lazy.gather(
            [(one.row - m, one.col - m, one.height + 2 * m, one.width + 2 * m) for one in matches]
        )

    def over(self, scores: ScoreMap, task: Task[Result]) -> list[Result]:
        """Return what a task makes of each block of a map that is made of these."""
        return [answer for _, answer in self._each(partial(_made, scores.combine, task))]

    def feed(self, scores: ScoreMap) -> Feed:
        """Return what gives a map that is made of these: candidates of each block."""

        def feed(search: Suppression, compared: bool) -> NDArray[np.floating]:
            rows_lowest = np.full(self.extent[0], np.nan, scores.dtype)
            task = partial(_found, scores.combine, search.without_ties())
            for block, (places, lowest, of_rows) in self._each(task):
                search.add_found(places, lowest)
                own = rows_lowest[slice(*block.rows)]
                np.fmin(own, of_rows, out=own)
            return rows_lowest if compared else np.empty(0)

        return feed

    def lazily(self, finish: Combine, kind: np.dtype[Any]) -> da.Array:
        """Return a map that is made of these, as a dask array."""
        tasks = self._tasks(partial(_whole, finish))
        lines: dict[Any, list[da.Array]] = {}
        for block, task in tasks:
            shape = tuple(stop - first for first, stop in (block.rows, block.cols))
            lines.setdefault(block.rows, []).append(da.from_delayed(task, shape, kind))
        return da.block(list(lines.values()))

    def _each(self, work: Callable[..., Result]) -> Iterator[tuple[Block, Result]]:
        """Have a piece of work done for each block."""
        blocks, tasks = zip(*self._tasks(work), strict=True)
        for i, answer in run(tasks, [self._name(block) for block in blocks]):
            yield blocks[i], answer

    def _tasks(self, work: Callable[..., Any]) -> list[tuple[Block, Delayed]]:
        """Return blocks, and tasks that get the pixels under each and a row and column around."""
        top, left, height, width = self._lazy.rect
        part = slice(top, top + height), slice(left, left + width)
        pixels, mask = self._lazy.scene.pixels[part], self._lazy.scene.mask
        cuts = [
            _cuts(*sides)
            for sides in zip(
                self.extent, self.extent[::-1], self._shape, pixels.chunks[:2], strict=True
            )
        ]
        under = _with_margins(pixels, cuts, self._shape)
        masks = None if mask is None else _with_margins(mask[part], cuts, self._shape)
        matcher, scorers = self._travelling()
        known, ready = delayed(self._lazy.known, pure=True), delayed(work, pure=True)
        name = f"nuvmatch-{uuid.uuid4().hex}"
        tasks = []
        for i, j in np.ndindex(*under.shape[:2]):
            rows, cols = ((cut[k], cut[k + 1]) for cut, k in zip(cuts, (i, j), strict=True))
            block = Block(rows, cols, self.extent)
            task = delayed(_do, pure=False)(
                under[i, j], None if masks is None else masks[i, j], matcher, scorers, known, ready,
                block, self.dtype, self._name(block), dask_key_name=f"{name}-{i}-{j}",
            )  # fmt: skip
            tasks.append((block, task))
        return tasks

    def _travelling(self) -> tuple[Any, Any]:
        """Return the matcher, which is made ready once by each worker, and its scorers."""
        alone = copy.copy(self._lazy.matcher)
        alone._n_threads = 1
        own = self._scorers is self._lazy.matcher._panel.scorers
        return _packed(alone), None if own else _packed(list(self._scorers))

    def _name(self, block: Block) -> str:
        """Say which windows a block has."""
        top, left = self._lazy.rect[:2]
        corner = block.rows[0] + top, block.cols[0] + left
        return name_of_block(corner, (block.rows[1] + top, block.cols[1] + left))


def _packed(made: Any) -> Delayed:
    """Return what unpacks it where it is needed: of a script's own classes too."""
    return delayed(cloudpickle.loads, pure=True)(cloudpickle.dumps(made))


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say of which block what went wrong."""
    try:
        yield
    except Exception as error:
        raise BlockError(f"{name}: {type(error).__name__}: {error}") from error


def _cut_out(pixels: Any, mask: Any, parts: Any, name: str) -> list[tuple[Any, Any]]:
    """Copy some parts of pixels and mask, so that these can be forgotten."""
    with naming(name):
        pixels = np.asarray(pixels)
        slices = [(slice(top, end), slice(left, right)) for top, left, end, right in parts]
        return [
            (pixels[part].copy(), None if mask is None else np.array(mask[part])) for part in slices
        ]


def _with_margins(
    array: da.Array, cuts: Sequence[Sequence[int]], window: tuple[int, int]
) -> NDArray[Any]:
    """Return the pixels under each block, and under a row and a column around it: (rows, columns).

    Parameters
    ----------
    array : dask array
    cuts : sequence of sequence of int
        Where blocks of windows begin and end, in rows and in columns.
    window : (int, int)
        Height and width of the windows.
    """
    sizes = [np.diff(ends) for ends in cuts]
    for own, side in zip(sizes, window, strict=True):
        own[-1] += side - 1
    chunks = {axis: tuple(own.tolist()) for axis, own in enumerate(sizes)}
    depth = {axis: (1, side) for axis, side in enumerate(window)}
    parts = np.asarray(overlap(array.rechunk(chunks), depth, "none").to_delayed())
    return parts if parts.ndim == 2 else parts[:, :, 0]


def _cuts(own: int, other: int, window: int, chunks: Sequence[int]) -> list[int]:
    """Cut one side of a map into blocks, along chunks of the image where that fits.

    Parameters
    ----------
    own, other : int
        This side of the map, and the other.
    window : int
        This side of the windows.
    chunks : sequence of int
        Sizes of the image's along this side.
    """
    wanted = max(math.isqrt(WINDOWS_HELD), WINDOWS_HELD // other, _WINDOWS * window)
    chunk = max(chunks)
    several, part = wanted // chunk * chunk, -(-chunk // -(-chunk // wanted))
    step = several or part
    return [*range(0, own, step), own]


def _do(
    pixels: Any, mask: Any, matcher: Matcher, scorers: Sequence[Scorer] | None, known: Known,
    work: Callable[..., Result], block: Block, dtype: np.dtype[Any], name: str,
) -> Result:  # fmt: skip
    """Make all maps of a block and of what is around it, and do the work."""
    with naming(name), _checks.silence():
        image = known.read(matcher, np.asarray(pixels), mask)
        extent = [
            side - window + 1 for side, window in zip(image.shape, matcher.shape, strict=True)
        ]
        chosen = matcher._panel.scorers if scorers is None else scorers
        maps = np.empty((len(chosen), *extent), np.dtype(dtype))
        for scorer, scores in zip(chosen, maps, strict=True):
            scorer.fill(image, scores, 1)
        return work(maps, block)


def _made(combine: Any, task: Any, maps: NDArray[Any], block: Block) -> Any:
    return task((block.rows[0], block.cols[0]), combine(_own(maps, block)))


def _whole(combine: Any, maps: NDArray[Any], block: Block) -> Any:
    return combine(_own(maps, block))


def _found(combine: Any, search: Suppression, maps: NDArray[Any], block: Block) -> Any:
    """Return candidates of a block, its lowest score, and that of each row."""
    scores = combine(maps)
    places, lowest = search.of_block(scores, block)
    return places, lowest, np.fmin.reduce(scores[block.inside], axis=1)


def _own(maps: NDArray[Any], block: Block) -> NDArray[Any]:
    return np.ascontiguousarray(maps[:, *block.inside])
