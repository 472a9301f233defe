"""Score maps in blocks, each of which a task of dask makes, uses and forgets."""

from __future__ import annotations

import copy
import math
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import cloudpickle
import dask.array as da
import numpy as np
from dask.array.overlap import overlap
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from .. import _checks
from ..engine import Image, ends_around
from ..finding import Feed, Places
from ..finding.suppression import Block, Suppression
from ..matcher import Matcher
from ..measures.bands import WINDOWS_HELD, Bands, Combine, Result, ScoreMap, Task
from ..measures.base import Scorer
from ..measures.precise import MARGIN
from ..measures.sharing import fill_all
from ..results import Match
from .running import naming, run
from .scene import Known, Scene, name_of_block

# Windows of a template high and wide is a block at least, so that few pixels are read twice.
_WINDOWS = 8
_LARGER = 1.5  # times as high or wide may a chunk be that stays whole

Rect = tuple[int, int, int, int]  # row, column, height and width
Ends = tuple[int, int]  # the first, and the one behind the last


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

    @property
    def chunks(self) -> tuple[Sequence[int], ...]:
        """Sizes of its chunks, in rows and in columns."""
        return tuple(self._within(self.scene.pixels).chunks[:2])

    def parts(
        self, cuts: Sequence[Sequence[int]], margins: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Ends, Ends, Delayed, Delayed | None]]:
        """Cut it into parts, and return pixels and mask of each with what is around it.

        Parameters
        ----------
        cuts : sequence of sequence of int
            Where parts begin and end, in rows and in columns; the last has all that is left.
        margins : sequence of (int, int)
            Pixels before and behind each part, where there are so many.
        """
        chunks = [np.diff([*ends[:-1], side]) for ends, side in zip(cuts, self.shape, strict=True)]
        depth = {
            axis: around if len(chunks[axis]) > 1 else 0 for axis, around in enumerate(margins)
        }

        def cut(array: da.Array) -> NDArray[Any]:
            sizes = {axis: tuple(own.tolist()) for axis, own in enumerate(chunks)}
            whole = self._within(array).rechunk(sizes)
            found: NDArray[Any] = overlap(whole, depth, "none").to_delayed()
            return found if found.ndim == 2 else found[:, :, 0]

        pixels, mask = cut(self.scene.pixels), self.scene.mask
        masks = None if mask is None else cut(mask)
        for i, j in np.ndindex(*pixels.shape):
            rows, cols = ((ends[k], ends[k + 1]) for ends, k in zip(cuts, (i, j), strict=True))
            yield rows, cols, pixels[i, j], None if masks is None else masks[i, j]

    def _within(self, array: da.Array) -> da.Array:
        row, column, height, width = self.rect
        return array[row : row + height, column : column + width]

    def name(self, rows: Ends, cols: Ends) -> str:
        """Say which rows and columns of the whole image these are."""
        row, column = self.rect[:2]
        return name_of_block((rows[0] + row, cols[0] + column), (rows[1] + row, cols[1] + column))

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
    def by_scorers(cls, scorers: Sequence[Scorer], lazy: LazyImage) -> Blocks:
        """Make them for scorers, and a part of an image."""
        image: Any = lazy  # all that is asked of an image here
        kind = lazy.matcher._map_type(lazy.scene.pixels.dtype)
        blocks = cls(scorers, image, lazy.matcher.shape, kind, lazy.matcher._threads)
        blocks._lazy = lazy
        return blocks

    _lazy: LazyImage

    def _made_of(self, scorers: Sequence[Scorer], image: Any) -> Blocks:
        return self.by_scorers(scorers, image)

    @property
    def parts(self) -> int:
        """How many blocks there are."""
        rows, cols = self._cuts
        return (len(rows) - 1) * (len(cols) - 1)

    @property
    def _cuts(self) -> list[list[int]]:
        sides = self.extent, self.extent[::-1], self._shape, self._lazy.chunks
        return [_cuts(*each) for each in zip(*sides, strict=True)]

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
            own_blocks = cast(Blocks, scores.bands)  # of the measures that make the map
            for block, (places, lowest, of_rows) in own_blocks._each(task):
                search.add_found(places, lowest)
                own = rows_lowest[slice(*block.rows)]
                np.fmin(own, of_rows, out=own)
            return rows_lowest if compared else np.empty(0)

        return feed

    def lazily(self, finish: Combine, kind: np.dtype[Any]) -> da.Array:
        """Return a map that is made of these, as a dask array."""
        _, tasks = zip(*self._tasks(partial(_whole, finish)), strict=True)
        chunks = tuple(tuple(np.diff(ends).tolist()) for ends in self._cuts)
        name = f"nuvmatch-map-{uuid.uuid4().hex}"
        places = np.ndindex(*map(len, chunks))
        blocks = {(name, *at): task.key for at, task in zip(places, tasks, strict=True)}
        graph = HighLevelGraph.from_collections(name, blocks, dependencies=tasks)
        return da.Array(graph, name, chunks, kind)

    def _each(self, work: Callable[..., Result]) -> Iterator[tuple[Block, Result]]:
        """Have a piece of work done for each block."""
        blocks, tasks = zip(*self._tasks(work), strict=True)
        names = [self._lazy.name(block.rows, block.cols) for block in blocks]
        for i, answer in run(tasks, names, self.progress.advance):
            yield blocks[i], answer

    def _tasks(self, work: Callable[..., Any]) -> list[tuple[Block, Delayed]]:
        """Return blocks, and tasks that get the pixels under each and a row and column around."""
        own = self._scorers is self._lazy.matcher._panel.scorers
        shared = [travelling(self._lazy.matcher), None if own else _packed(list(self._scorers))]
        shared += [delayed(one, pure=True) for one in (self._lazy.known, work)]
        tasks = []
        margins = [(1, side) for side in self._shape]
        for rows, cols, pixels, mask in self._lazy.parts(self._cuts, margins):
            block = Block(rows, cols, self.extent)
            task = delayed(_do, pure=False)(
                pixels, mask, *shared, block, self.dtype, self._lazy.name(block.rows, block.cols)
            )
            tasks.append((block, task))
        return tasks


def travelling(seeker: Any) -> Delayed:
    """Return a matcher, or who seeks by one, to be made ready once by each worker.

    It takes one thread there: there are as many tasks at a time as threads.
    """
    alone = copy.copy(seeker)
    if not isinstance(seeker, Matcher):
        alone.matcher = copy.copy(seeker.matcher)
    (alone if isinstance(alone, Matcher) else alone.matcher)._n_threads = 1
    return _packed(alone)


def _packed(made: Any) -> Delayed:
    """Return what unpacks it where it is needed: of a script's own classes too."""
    return delayed(cloudpickle.loads, pure=True)(cloudpickle.dumps(made))


def _cut_out(pixels: Any, mask: Any, parts: Any, name: str) -> list[tuple[Any, Any]]:
    """Copy some parts of pixels and mask, so that these can be forgotten."""
    with naming(name):
        pixels = _checks.as_greys(pixels, "image")
        slices = [(slice(top, end), slice(left, right)) for top, left, end, right in parts]
        return [
            (pixels[part].copy(), None if mask is None else np.array(mask[part])) for part in slices
        ]


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
    step = several or (chunk if chunk <= _LARGER * wanted else part)
    return [*range(0, own, step), own]


def _do(
    pixels: Any, mask: Any, matcher: Matcher, scorers: Sequence[Scorer] | None, known: Known,
    work: Callable[..., Result], block: Block, dtype: np.dtype[Any], name: str,
) -> Result:  # fmt: skip
    """Make all maps of a block and of what is around it, and do the work."""
    with naming(name), _checks.silence():
        image = known.read(matcher, pixels, mask)
        extent = [
            side - window + 1 for side, window in zip(image.shape, matcher.shape, strict=True)
        ]
        chosen = matcher._panel.scorers if scorers is None else scorers
        maps = np.empty((len(chosen), *extent), np.dtype(dtype))
        fill_all(chosen, image, list(maps), 1)
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
