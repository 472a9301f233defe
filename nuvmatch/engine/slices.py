"""Which pixels of a template belong together, and which additions sum them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .covers import Adder, Cover, cheapest_cover, estimated_cost, plain_cover, search_time
from .fourier import Correlator

Indices = NDArray[np.int64]
Places = tuple[Indices, Indices, Indices, Indices]
Found = TypeVar("Found")

_FEW = 4  # correlators to keep


class Program(NamedTuple):
    """The additions of several planes, as `sum_slices` takes them."""

    axes: Indices  # (planes,): of the running sums
    plane: Indices  # (slices,): which plane a slice reads
    ys: Indices
    xs: Indices
    bounds: Indices
    starts: Indices
    steps: Indices


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices of a template.

    Those of one channel stand together, and every channel has the same pixels. Pixels
    that do not count are one more slice of each channel, its `outside`; these stand last.
    """

    labels: Indices  # (channels, height, width): 0, 1, .. in each channel, all in use, or -1
    _kept: dict[Hashable, Any] = field(default_factory=dict)  # what has been found
    _correlators: dict[tuple[str, Hashable], Correlator] = field(default_factory=dict)
    _windows: dict[Adder, int] = field(default_factory=dict)  # how many have been summed

    @classmethod
    def whole(cls, mask: NDArray[np.bool_], channels: int) -> "Slices":
        """Take all pixels under a mask (height, width) as one slice of each channel."""
        return cls(np.tile(np.where(mask, 0, -1), (channels, 1, 1)))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.labels.shape[1], self.labels.shape[2]

    @property
    def channels(self) -> int:
        """Number of planes."""
        return len(self.labels)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Where pixels count."""
        return np.asarray(self.labels[0] >= 0)

    @cached_property
    def inside(self) -> Indices:
        """(height, width): 0 where pixels count, -1 elsewhere."""
        return np.where(self.mask, 0, -1)

    @cached_property
    def pixels(self) -> int:
        """Pixels of one channel that count."""
        return int(np.count_nonzero(self.mask))

    @property
    def full(self) -> bool:
        """Whether every pixel of the template counts."""
        return self.pixels == self.mask.size

    @cached_property
    def of_channels(self) -> list[int]:
        """Number of slices of each channel."""
        return [int(plane.max()) + 1 for plane in self.labels]

    @cached_property
    def channel(self) -> Indices:
        """Plane that each slice reads."""
        return np.repeat(np.arange(self.channels), self.of_channels)

    @cached_property
    def counts(self) -> Indices:
        """Pixels of each slice."""
        return np.diff(self.places[0])

    @cached_property
    def places(self) -> Places:
        """Where each slice starts in lists of rows and columns; the lists; its channel."""
        counts, ys, xs = [], [], []
        for plane in self.labels:
            order = np.argsort(plane, axis=None, kind="stable")
            order = order[np.count_nonzero(plane < 0) :]
            counts.append(np.bincount(plane.ravel()[order]))
            ys.append(order // plane.shape[1])
            xs.append(order % plane.shape[1])
        starts = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
        return starts, np.concatenate(ys), np.concatenate(xs), self.channel

    def program(self, adder: Adder, largest: int, *, searched: bool = True) -> Program:
        """Find the cheapest additions for all slices, those outside included.

        Parameters
        ----------
        largest : int
            Of the numbers that are added up.
        searched : bool
            If False, pixels are added one by one, which needs no search.
        """
        limit = adder.limit(largest)
        find = cheapest_cover if searched else plain_cover

        def merged() -> Program:
            covers = [
                find(plane, number, limit, adder)
                for plane, number in zip(self.labels, self.of_channels, strict=True)
            ]
            return _merge(covers, self.of_channels, outside=not self.full)

        return self._once(("slices", limit, adder, searched), merged)

    def worth_a_search(self, adder: Adder, windows: int, *, exact: bool) -> bool:
        """Whether pixel by pixel so many windows would take longer than a search.

        A search for one map serves all others: what it has to be worth is counted from map
        to map, but only where all ways lead to the same bits.
        """
        if exact:
            self._windows[adder] = windows = self._windows.get(adder, 0) + windows
        added = self.labels.size - sum(int(self.counts[k]) for k in self.largest)
        return windows * added * adder.pixel / 32 > search_time(self.shape, self.counts.size)

    def estimated_cost(self, adder: Adder, largest: int) -> int:
        """Estimate the price of `program`, searched."""
        limit = adder.limit(largest)
        planes = list(zip(self.labels, self.of_channels, strict=True))
        return self._once(
            ("price", limit, adder),
            lambda: sum(estimated_cost(plane, n, limit, adder) for plane, n in planes),
        )

    def outside_program(self, adder: Adder, largest: int, planes: int) -> Program:
        """Find the cheapest additions for what is outside, in each of some planes."""
        limit = adder.limit(largest)
        return self._once(
            ("outside", limit, adder, planes),
            lambda: _repeat(cheapest_cover(self.inside, 1, limit, adder, 0), 1, planes),
        )

    def inside_program(self, adder: Adder, planes: int) -> Program:
        """Find the additions, pixel by pixel, for all that counts in each of some planes."""
        limit = adder.limit(0)
        return self._once(
            ("inside", adder, planes),
            lambda: _repeat(plain_cover(self.inside, 1, limit, adder, 1), 0, planes),
        )

    def outside_cost(self, adder: Adder, largest: int) -> float:
        """Picoseconds a window to sum numbers, and both halves of their squares, outside."""
        limit = adder.limit(largest)
        price = self._once(
            ("price outside", limit, adder),
            lambda: estimated_cost(self.inside, 1, limit, adder, 0),
        )
        return 3 * price / 32

    @cached_property
    def summed(self) -> list[int]:
        """All slices but the largest of each channel, which the others leave over."""
        return [k for k in range(self.counts.size) if k not in self.largest]

    @cached_property
    def largest(self) -> list[int]:
        """The largest slice of each channel."""
        slices = [np.flatnonzero(self.channel == c) for c in range(self.channels)]
        return [int(own[np.argmax(self.counts[own])]) for own in slices]

    def correlator(self, windows: tuple[int, int], precision: type[Any]) -> Correlator:
        """Return what correlates patches of so many windows with the slices to be summed."""
        firsts = np.cumsum([0, *self.of_channels])

        def make() -> Correlator:
            patterns = [
                self.labels[c] == k - firsts[c] for k in self.summed for c in [self.channel[k]]
            ]
            return Correlator(np.array(patterns).reshape(-1, *self.shape), windows, precision)

        return self._correlator(("slices", (windows, precision)), make)

    def mask_correlator(self, windows: tuple[int, int]) -> Correlator:
        """Return what correlates tiles of so many windows with the mask."""
        mask = self.mask[None].astype(np.float64)
        return self._correlator(("mask", windows), lambda: Correlator(mask, windows))

    def _correlator(self, key: tuple[str, Hashable], make: Callable[[], Correlator]) -> Correlator:
        found = self._correlators.get(key)
        if found is None:
            found = make()
            if len(self._correlators) >= _FEW:  # they are large
                self._correlators.clear()
            self._correlators[key] = found
        return found

    def _once(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Find what has not been found yet. Two threads may both do so, and find the same."""
        if key not in self._kept:
            self._kept[key] = find()
        return cast(Found, self._kept[key])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is found again."""
        return {"labels": self.labels, "_kept": {}, "_correlators": {}, "_windows": {}}


def _repeat(cover: Cover, k: int, planes: int) -> Program:
    """Sum one slice of a cover, that is not its root, in several planes."""
    own = cover.bounds[cover.starts[k] : cover.starts[k + 1]]
    first, end = (own[0, 0], own[-1, -1]) if len(own) else (0, 0)
    shifts = (end - first) * np.arange(planes)[:, None, None] - first
    return Program(
        np.full(planes, cover.axis),
        np.arange(planes),
        np.tile(cover.ys[first:end], planes),
        np.tile(cover.xs[first:end], planes),
        (own[None] + shifts).reshape(-1, 5),
        len(own) * np.arange(planes + 1),
        np.zeros((0, 2), np.int64),
    )


def _merge(covers: list[Cover], numbers: list[int], *, outside: bool) -> Program:
    """Put the covers of several planes behind each other, what is outside at the end."""
    planes = len(covers)
    firsts = np.cumsum([0, *numbers])
    plane = np.repeat(np.arange(planes), numbers)
    of_slices = [(covers[c], k) for c, number in enumerate(numbers) for k in range(number)]
    if outside:
        plane = np.append(plane, np.arange(planes))
        of_slices += [(cover, number) for cover, number in zip(covers, numbers, strict=True)]
    places, bounds, starts, steps = [], [], [0], []
    shift = 0
    for cover, k in of_slices:
        own = cover.bounds[cover.starts[k] : cover.starts[k + 1]]
        if len(own):
            first, end = own[0, 0], own[-1, -1]
            places.append(np.stack([cover.ys[first:end], cover.xs[first:end]]))
            bounds.append(own - first + shift)
            shift += end - first
        starts.append(starts[-1] + len(own))
    for c, cover in enumerate(covers):
        names = np.append(np.arange(firsts[c], firsts[c + 1]), firsts[-1] + c)
        steps.append(names[cover.steps])
    ys, xs = np.concatenate([np.zeros((2, 0), np.int64), *places], axis=1)
    return Program(
        np.array([cover.axis for cover in covers]),
        plane,
        np.ascontiguousarray(ys),
        np.ascontiguousarray(xs),
        np.concatenate([np.zeros((0, 5), np.int64), *bounds]),
        np.array(starts),
        np.ascontiguousarray(np.concatenate(steps)),
    )
