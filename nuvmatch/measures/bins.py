"""How a measure cuts the greys of a template into bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks, binning, theory
from .._settings import Settings
from ..binning import Binning
from ..tones.families import BROAD, as_family
from ..tones.ranges import sensor_range
from .channel import BINNERS, Channel
from .template import Template

DEFAULT_BINS = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Binned(Settings):
    """A measure that cuts the template's greys into bins; for its options see `NUV`."""

    bins: Any = None
    binning: str = "optimal"
    tones: Any = None
    levels_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._set(binning=_checks.one_of(self.binning, "binning", BINNERS))
        self._set(bins=_as_bins(self.bins))
        if self.tones is not None:
            self._set(tones=as_family(self.tones))
        if self.levels_range is not None:
            self._set(levels_range=_checks.as_range(self.levels_range, "levels_range"))

    @property
    def _edges_given(self) -> bool:
        return isinstance(self.bins, tuple)

    def cut(self, template: Template) -> Cuts:
        """Cut each channel of a template.

        Raises
        ------
        ValueError
            If it is flat, edges do not cover it, or the bins would make every window match,
            or none.
        """
        template.check_contrast()
        inside, base, kind = template.inside, template.base, template.planes.dtype
        shifted = self.levels_range and (self.levels_range[0] - base, self.levels_range[1] - base)
        family = BROAD if self.tones is None else self.tones
        ends = sensor_range(inside, kind, shifted)
        channels = tuple(Channel(values, kind.kind in "bui", family, ends) for values in inside)
        binnings, wanted, asked = [], [], []
        for channel, bins in zip(channels, self._bins_of_channels(len(inside)), strict=True):
            cut, number = _bin_channel(channel, base, bins, self.binning)
            binnings.append(cut)
            wanted.append(number)
            asked.append(max(min(number, channel.most_bins(self.binning)), cut.counts.size))
        most = max(cut.counts.size for cut in binnings)
        if isinstance(self.bins, int) and most > 1:
            most = max(asked)  # though there may be fewer, for want of pixels
        check_number(most, template.pixels, asked_for=self.bins is not None)
        return Cuts(template, tuple(binnings), max(wanted), channels)

    def _bins_of_channels(self, channels: int) -> Sequence[Any]:
        if not self._edges_given or not isinstance(self.bins[0], tuple):
            return [self.bins] * channels
        if channels != len(self.bins):
            raise ValueError(
                f"bins are edges for {len(self.bins)} channels; the template has {channels}"
            )
        return tuple(self.bins)


@dataclass(frozen=True, eq=False)
class Cuts:
    """A template cut into bins, and the tones that are expected of it."""

    template: Template
    binnings: tuple[Binning, ...]  # for each channel, of the greys that count
    wanted: int  # bins asked for: few levels have fewer
    channels: tuple[Channel, ...]

    def finer(self, times: float, binner: str) -> tuple[Binning, ...]:
        """Cut each channel into so many times as many slices as it has bins."""
        return tuple(
            channel.cut(math.ceil(times * cut.counts.size), binner)
            for channel, cut in zip(self.channels, self.binnings, strict=True)
        )


def spread(template: Template, binnings: Sequence[Binning]) -> NDArray[np.int64]:
    """Labels (channels, h, w) of a template's pixels, -1 where they do not count."""
    labels = np.full(template.planes.shape, -1, np.int64)
    for plane, cut in zip(labels, binnings, strict=True):
        plane[template.mask] = cut.labels
    labels.flags.writeable = False  # a matcher shows what its slices are made of
    return labels


def report(
    template: Template, binnings: Sequence[Binning], labels: NDArray[np.int64]
) -> tuple[Binning, ...]:
    """Return bins as a matcher shows them: in the template's own greys, pixel by pixel."""
    return tuple(
        replace(cut, edges=_shifted(cut.edges, template.base, plane[template.mask]), labels=own)
        for cut, own, plane in zip(binnings, labels, template.planes, strict=True)
    )


def _shifted(edges: NDArray[np.float64], base: int, greys: NDArray[Any]) -> NDArray[Any]:
    """Add a base; what floats cannot tell apart becomes whole numbers, which cut alike."""
    if base == 0:
        return edges
    top = int(greys.max())
    inner = [min(math.ceil(edge) + base, top) for edge in edges[:-1].tolist()]
    return np.array([*inner, top], greys.dtype)


def check_number(most: int, d: int, *, asked_for: bool) -> None:
    """Refuse bins that make every window of d pixels match, or none; `most` in any channel."""
    if most < 2:
        raise ValueError(
            f"the template of {d} pixels is left with a single bin, which explains "
            "nothing; it takes at least 3 pixels and bins that separate its greys"
        )
    if most >= d:
        raise ValueError(
            f"{most} bins for {d} pixels: each pixel is a bin of its own, so that every "
            f"window would match; ask for at most {(d + 1) // 2}"
        )
    noise = theory.expected_noise(d, most)
    if asked_for and noise < 0.5:
        _checks.warn(
            f"with {most} bins for {d} pixels noise scores {noise:.2f} on average; at most "
            f"{(d + 1) // 2} bins keep it at 0.5 or above"
        )


def _as_bins(bins: Any) -> int | str | tuple[Any, ...] | None:
    """Take a number of bins, a rule, edges, or edges for each of three channels."""
    if bins is None:
        return None
    if isinstance(bins, str):
        if bins not in binning.RULES:
            raise ValueError(
                f"bins is {bins!r}; it must be a number, edges, or one of "
                f"{', '.join(map(repr, binning.RULES))}"
            )
        return str(bins)
    if not hasattr(bins, "__len__") or getattr(bins, "ndim", 1) == 0:
        return _checks.as_integer(bins, "bins", 2)
    if any(np.ndim(part) > 0 for part in bins):
        if len(bins) != 3:
            raise ValueError(f"bins are edges for {len(bins)} channels; colour has 3")
        return tuple(_as_edges(part, 2) for part in bins)  # a flat channel is one bin
    return _as_edges(bins)


def _as_edges(bins: Any, fewest: int = 3) -> tuple[Any, ...]:
    """Take ascending edges; where the last bin is of one grey, the last two are equal."""
    if isinstance(bins, tuple) and all(type(edge) is int for edge in bins):
        numbers = list(bins)  # an array of these might round them
    else:
        edges = _checks.as_greys(bins, "bins")
        numbers = edges.tolist() if edges.ndim == 1 else []
    rising = [low < high for low, high in pairwise(numbers)]
    if numbers and numbers[-1:] == numbers[-2:-1]:
        rising[-1] = True
    if len(numbers) < fewest or not all(rising):
        raise ValueError(
            f"bins is {bins!r}; edges must be {fewest} or more numbers, strictly ascending but "
            "for the last"
        )
    if max(map(abs, numbers)) > 2**53:
        return tuple(numbers)  # whole numbers that floats could not tell apart
    return tuple(map(float, numbers))


def _bin_channel(
    channel: Channel, base: int, bins: int | str | tuple[Any, ...] | None, binner: str
) -> tuple[Binning, int]:
    """Bin a channel less its base; return also how many bins were wanted."""
    match bins:
        case None:
            wanted, number = DEFAULT_BINS, min(DEFAULT_BINS, (channel.values.size + 1) // 2)
        case str():
            wanted = number = channel.number_by_rule(bins)
        case tuple():
            return channel.cut_by([edge - base for edge in bins]), len(bins) - 1
        case _:
            wanted = number = bins
    return channel.cut(min(number, channel.distinct), binner), wanted
