"""Score maps of one image in bands of rows: kept if one band is all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._progress import Progress
from ..engine import Image
from ..finding import (
    Chance,
    Feed,
    PeakRule,
    Peaks,
    Places,
    count_windows,
    feed_bands,
    reach_of_ties,
    take_best,
    take_peaks,
)
from ..finding.suppression import TieBreaker
from ..results import Match
from .base import Scorer
from .sharing import fill_all

# Windows whose scores are held at a time. The rows that two bands share are read twice, so
# bands are not too low; most images are done in one.
WINDOWS_HELD = 2**23

Combine = Callable[[NDArray[Any]], NDArray[Any]]  # bands of several maps to one

Result = TypeVar("Result")
Task = Callable[[tuple[int, int], NDArray[Any]], Result]  # given a part's corner and its scores


class Bands:
    """Score maps of one image, one for each scorer.

    Parameters
    ----------
    scorers : sequence of Scorer
    image : Image
    shape : (int, int)
        Height and width of the template.
    dtype : float32 or float64
        Of the maps.
    n_threads : int
        Most threads to use.

    Attributes
    ----------
    extent : (int, int)
        Rows and columns of the maps; 0 where the image is smaller than the template.
    n_threads : int
        As given.
    """

    def __init__(
        self,
        scorers: Sequence[Scorer],
        image: Image,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        n_threads: int,
    ) -> None:
        self._scorers = scorers
        self.image = image
        self._shape = shape
        self.dtype = dtype
        self.n_threads = n_threads
        rows, columns = image.shape
        self.extent = max(rows - shape[0] + 1, 0), max(columns - shape[1] + 1, 0)
        self._whole: NDArray[Any] | None = None
        self._made: dict[Hashable, ScoreMap] = {}
        self.progress = Progress()

    @property
    def parts(self) -> int:
        """In how many parts a map is made."""
        rows, columns = self.extent
        if rows * columns <= WINDOWS_HELD:
            return 1
        return -(-rows // max(WINDOWS_HELD // columns, 1))

    def __iter__(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield first rows, and bands of shape (scorers, rows, columns), each in turn."""
        rows, columns = self.extent
        if self.parts == 1:
            if self._whole is None:
                self._whole = self.rows(0, rows)
            yield 0, self._whole
            return
        firsts = [rows * i // self.parts for i in range(self.parts + 1)]
        held = np.empty((len(self._scorers), -(-rows // self.parts), columns), self.dtype)
        for first, stop in pairwise(firsts):
            yield first, self._fill(first, held[:, : stop - first])
            self.progress.advance()

    def by(self, scorers: Sequence[Scorer]) -> Bands:
        """Return score maps of the same image by other scorers."""
        return self._like(scorers, self.image)

    def one(self, i: int) -> ScoreMap:
        """Return the map by one of the scorers."""
        return self.made(i, itemgetter(i), self.dtype)

    def made(self, key: Hashable, combine: Combine, dtype: np.dtype[Any]) -> ScoreMap:
        """Return a map that is made of these; the same for the same key."""
        return self._made.setdefault(key, ScoreMap(self, combine, dtype))

    def enlarged(self, windows: int) -> Bands:
        """Return score maps of more of the image, until these have so many windows."""
        image = self.image.around(windows, self._shape)
        return self if image is self.image else self._like(self._scorers, image)

    def _like(self, scorers: Sequence[Scorer], image: Image) -> Bands:
        found = self._made_of(scorers, image)
        found.progress = self.progress
        return found

    def _made_of(self, scorers: Sequence[Scorer], image: Image) -> Bands:
        return Bands(scorers, image, self._shape, self.dtype, self.n_threads)

    def peaks(
        self, scores: ScoreMap, chance: Chance | None, rule: PeakRule, break_ties: TieBreaker
    ) -> Peaks:
        """Take the peaks of a map that is made of these: without it, if one is enough."""
        about = self.extent, self._shape, scores.dtype, rule
        if chance is None and rule.asks_for_the_best_alone:
            lowest = self._lowest(reach_of_ties(self.dtype))
            if lowest is not None:
                return take_best(lowest, *about, break_ties)
        return take_peaks(
            self.feed(scores), *about, scores.rows, chance=chance, break_ties=break_ties
        )

    def feed(self, scores: ScoreMap) -> Feed:
        """Return what gives a map that is made of these."""
        return feed_bands(scores, self.extent[0])

    def over(self, scores: ScoreMap, task: Task[Result]) -> list[Result]:
        """Return what a task makes of each part of a map that is made of these."""
        return [task((first, 0), band) for first, band in scores]

    def _lowest(self, near: float) -> Places | None:
        """Find all places that score no more than the best and `near` more.

        None if there are several maps, or one takes less time.
        """
        find = getattr(self._scorers[0], "lowest", None)
        large = self.extent[0] * self.extent[1] > WINDOWS_HELD  # to be searched in bands
        if len(self._scorers) > 1 or not callable(find) or self._whole is not None or large:
            return None
        found = find(self.image, self.dtype, near, self.n_threads)
        if found is None:
            return None
        return Places(found.rows, found.cols, found.scores.astype(np.float64))

    def rows(self, first: int, stop: int) -> NDArray[Any]:
        """Return some rows of the maps, shape (scorers, rows, columns)."""
        if self._whole is not None:
            return self._whole[:, first:stop]
        shape = (len(self._scorers), stop - first, self.extent[1])
        return self._fill(first, np.empty(shape, self.dtype))

    def gather(self, matches: Sequence[Match]) -> None:
        """Bring near what is asked of some places next: of an image in memory all is."""

    def around(self, row: int, col: int, reach: int = 0) -> NDArray[Any]:
        """Return scores around a place, so many rows and columns of them on each side."""
        top, left, side = row - reach, col - reach, 2 * reach + 1
        if self._whole is not None:
            return self._whole[:, top : top + side, left : left + side]
        height, width = (side - 1 + length for length in self._shape)
        scores = np.empty((len(self._scorers), side, side), self.dtype)
        return self._fill_from(self.image.crop(top, left, height, width), scores)

    def _fill(self, first: int, out: NDArray[Any]) -> NDArray[Any]:
        height = out.shape[1] + self._shape[0] - 1
        return self._fill_from(self.image.crop(first, 0, height, self.image.shape[1]), out)

    def _fill_from(self, under: Image, out: NDArray[Any]) -> NDArray[Any]:
        fill_all(self._scorers, under, list(out), self.n_threads)
        return out


class ScoreMap:
    """One map made of several, as they come.

    Parameters
    ----------
    bands : Bands
    combine : callable
        Makes a band of the map, (rows, columns), of one of `bands`.
    dtype : float32 or float64
        Of the map.
    """

    def __init__(self, bands: Bands, combine: Combine, dtype: np.dtype[Any]) -> None:
        self.bands = bands
        self.combine = combine
        self.dtype = dtype
        self.extent = bands.extent
        self._whole: NDArray[Any] | None = None

    def __iter__(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield first rows, and bands of shape (rows, columns), each in turn."""
        if self._whole is not None:
            yield 0, self._whole
            return
        for first, maps in self.bands:
            band = self.combine(maps)
            if band.shape[-2] == self.extent[0]:
                self._whole = band
            yield first, band

    def rows(self, first: int, stop: int) -> NDArray[Any]:
        """Return some rows of the map."""
        if self._whole is not None:
            return self._whole[first:stop]
        return self.combine(self.bands.rows(first, stop))

    @cached_property
    def windows(self) -> int:
        """How many of the scores are evidence."""
        return sum(self.bands.over(self, _count))

    def lowest(self, task: Task[list[tuple[Places, int]]]) -> list[tuple[Places, int]]:
        """Return the lowest places of each layer, and how many windows give evidence.

        The task finds both in a part of the map.
        """
        parts = self.bands.over(self, task)
        found = []
        for of_layer in zip(*parts, strict=True):
            every = zip(*(places for places, _ in of_layer), strict=True)
            places = Places(*map(np.concatenate, every))
            found.append((places, sum(windows for _, windows in of_layer)))
        self.windows = found[0][1]
        return found


def layers(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the layers of a map: of one it is itself that."""
    return scores if scores.ndim == 3 else scores[None]


def _count(_: tuple[int, int], scores: NDArray[Any]) -> int:
    return count_windows([scores])


class Source(ABC):
    """An image that is not in memory, or not here: `Matcher.locate` takes it for one."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def bands(self, matcher: Any, region: Any) -> tuple[Bands, tuple[int, int], bool]:
        """Return score maps of the part of it that is searched, by a `Matcher`.

        Return also where that part begins, and whether alpha masks some of the image out.
        """

    @abstractmethod
    def space(self, seeker: Any, region: Any) -> tuple[Any, tuple[int, int]]:
        """Return what is searched by one who seeks poses, and where that begins."""


class Sought(NamedTuple):
    """What was searched of an image, and the peaks that were found there."""

    peaks: Peaks
    bands: Bands
    scores: ScoreMap
    corner: tuple[int, int]  # row and column where it begins
