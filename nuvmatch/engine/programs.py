"""The additions and the spectra that sum slices: found once for a template, and kept."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .additions import sum_slices
from .covers import (
    ACCUMULATORS,
    Accumulator,
    Cover,
    cheapest_cover,
    estimated_cost,
    plain_cover,
    search_time,
)
from .fourier import Correlator, transform_sides
from .slices import Indices, Slices
from .threads import scratch

Found = TypeVar("Found")

_CORRELATORS_KEPT = 4  # they are large


class Program(NamedTuple):
    """The additions of several planes, as `sum_slices` takes them."""

    axes: Indices  # (planes,): of the running sums
    plane: Indices  # (slices,): which plane a slice reads
    ys: Indices
    xs: Indices
    bounds: Indices
    starts: Indices
    steps: Indices


def add_up(
    planes: NDArray[Any], program: Program, window_sums: NDArray[Any], sums: NDArray[Any]
) -> None:
    """Sum slices over all windows of a tile; arguments are those of `sum_slices`."""
    shape = (len(planes), planes.shape[1] + 1, planes.shape[2] + 1)
    runs = scratch.array("runs", shape, ACCUMULATORS[planes.dtype].narrow)
    sum_slices(planes, runs, *program, window_sums, sums)


class Programs:
    """What sums the slices of a template, in any number of images.

    Two threads may find the same at once; it is the same.
    """

    def __init__(self, slices: Slices) -> None:
        self.slices = slices
        self._kept: dict[Hashable, Any] = {}
        self._correlators: dict[Hashable, Correlator] = {}
        self._windows: dict[Accumulator, int] = {}  # how many have been summed

    def additions(self, accumulator: Accumulator, magnitude: int, *, searched: bool) -> Program:
        """Find the cheapest additions for all slices, those outside included.

        Parameters
        ----------
        magnitude : int
            Of the numbers that are added up, at most.
        searched : bool
            If False, pixels are added one by one, which needs no search.
        """
        limit, slices = accumulator.limit(magnitude), self.slices
        find = cheapest_cover if searched else plain_cover

        def merged() -> Program:
            covers = [find(*plane, limit, accumulator) for plane in self._planes()]
            return _merge(covers, slices.slices_per_channel, outside=not slices.full)

        return self._once(("slices", limit, accumulator, searched), merged)

    def worth_a_search(self, accumulator: Accumulator, windows: int, *, exact: bool) -> bool:
        """Whether so many windows, pixel by pixel, would take longer than a search.

        One search serves all maps, so the windows of all maps so far count; but only where
        both ways lead to the same bits.
        """
        if exact:
            self._windows[accumulator] = windows = self._windows.get(accumulator, 0) + windows
        slices = self.slices
        added = slices.labels.size - sum(int(slices.counts[k]) for k in slices.left_over)
        pixel_by_pixel = windows * added * accumulator.prices.pixel / 32
        return pixel_by_pixel > search_time(slices.shape, slices.counts.size)

    def estimated_cost(self, accumulator: Accumulator, magnitude: int) -> int:
        """Estimate the price of `additions`, searched."""
        limit = accumulator.limit(magnitude)
        return self._once(
            ("price", limit, accumulator),
            lambda: sum(estimated_cost(*plane, limit, accumulator) for plane in self._planes()),
        )

    def additions_outside(self, accumulator: Accumulator, magnitude: int, planes: int) -> Program:
        """Find the cheapest additions for what is outside, in each of some planes."""
        limit = accumulator.limit(magnitude)
        return self._once(
            ("outside", limit, accumulator, planes),
            lambda: _repeat(cheapest_cover(self._mask_labels, 1, limit, accumulator, 0), 1, planes),
        )

    def additions_inside(self, accumulator: Accumulator, planes: int) -> Program:
        """Find the additions, pixel by pixel, for all that counts in each of some planes."""
        limit = accumulator.limit(0)
        return self._once(
            ("inside", accumulator, planes),
            lambda: _repeat(plain_cover(self._mask_labels, 1, limit, accumulator, 1), 0, planes),
        )

    def outside_cost(self, accumulator: Accumulator, magnitude: int) -> float:
        """Picoseconds a window to sum numbers, and both halves of their squares, outside."""
        limit = accumulator.limit(magnitude)
        price = self._once(
            ("price outside", limit, accumulator),
            lambda: estimated_cost(self._mask_labels, 1, limit, accumulator, 0),
        )
        return 3 * price / 32

    def packs(self, radix: float) -> list[Indices]:
        """Put slices of a channel together that are summed at once: two, or each by itself."""
        slices, size = self.slices, 2 if radix else 1
        summed = np.array(slices.summed, np.int64)
        own = [summed[slices.channel_of_slice[summed] == c] for c in range(slices.channels)]
        return [part[i : i + size] for part in own for i in range(0, part.size, size)]

    def correlator(self, windows: tuple[int, int], radix: float) -> Correlator:
        """Return what correlates patches of so many windows with the slices to be summed.

        With those that come together one after the other; the second is times the radix.
        """
        slices = self.slices
        firsts = np.cumsum([0, *slices.slices_per_channel])

        def pattern(pack: Indices) -> NDArray[np.float64]:
            c = slices.channel_of_slice[pack[0]]
            worth = zip(pack - firsts[c], (1.0, radix), strict=False)
            return np.asarray(sum(one * (slices.labels[c] == k) for k, one in worth))

        def make() -> Correlator:
            patterns = [pattern(pack) for pack in self.packs(radix)]
            return Correlator(np.array(patterns).reshape(-1, *slices.shape), windows)

        return self.keep_correlator(("slices", windows, radix), make)

    def mask_correlator(self, windows: tuple[int, int]) -> Correlator:
        """Return what correlates tiles of so many windows with the mask."""
        mask = self.slices.mask[None].astype(np.float64)
        sides = transform_sides(windows, self.slices.shape)  # tiles of nearly one size share it
        return self.keep_correlator(("mask", sides), lambda: Correlator(mask, windows))

    def keep_correlator(self, key: Hashable, make: Callable[[], Correlator]) -> Correlator:
        """Make a correlator, or return the one of that key."""
        found = self._correlators.get(key)
        if found is None:
            found = make()
            # A list first: other threads may add some meanwhile.
            for oldest in list(self._correlators)[: 1 - _CORRELATORS_KEPT]:
                self._correlators.pop(oldest, None)
            self._correlators[key] = found
        return found

    @property
    def _mask_labels(self) -> Indices:
        """(height, width): 0 where pixels count, -1 elsewhere."""
        return np.asarray(self.slices.merged.labels[0])

    def _planes(self) -> list[tuple[Indices, int]]:
        """Labels of each channel, and how many slices they are."""
        return list(zip(self.slices.labels, self.slices.slices_per_channel, strict=True))

    def _once(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Find what has not been found yet."""
        if key not in self._kept:
            self._kept[key] = find()
        return cast(Found, self._kept[key])


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
