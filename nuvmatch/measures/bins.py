"""How a measure cuts the greys of a template into bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks, binning, theory
from .._settings import Settings
from ..binning import Binning, Curves
from ..tones.cross_product import sample_curves
from ..tones.families import BROAD, Family, as_family, scale_levels, sensor_range
from .template import Template

_BINNERS = {
    "optimal": binning.optimal,
    "greedy": binning.greedy,
    "kmeans": binning.kmeans,
    "equal_width": binning.equal_width,
    "equal_frequency": binning.equal_frequency,
}
BINNERS = tuple(_BINNERS)
_BY_CURVES = ("optimal", "greedy")  # these know the expected tone curves
DEFAULT_BINS = 8
_STRAIGHT = 1e-9  # share of the sensor's range over which no curve can be told from a line


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
        sampled = not self._edges_given and (self.binning in _BY_CURVES or self.bins == "auto")
        binnings, wanted = [], []
        for values, bins in zip(inside, self._bins_of_channels(len(inside)), strict=True):
            cross, grouped = None, values
            if sampled:  # with each curve as long as the levels are many
                grouped = binning.group_values(values)
                cross = _sample(grouped, family, ends)
            # The rules by width ask whether greys are whole numbers.
            typed = grouped.astype(np.int64) if kind.kind in "bui" else grouped
            cut, number = _bin_values(typed, base, bins, self.binning, cross)
            cut.edges[-1] = max(cut.edges[-1], values.max())  # a group goes by its lowest level
            binnings.append(cut)
            wanted.append(number)
        most = max(cut.counts.size for cut in binnings)
        check_number(most, template.pixels, asked_for=self.bins is not None)
        return Cuts(template, tuple(binnings), max(wanted), family, ends)

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
    family: Family
    ends: tuple[float, float]  # greys that are the levels 0 and 1 of tone curves

    def finer(self, times: float, binner: str) -> tuple[Binning, ...]:
        """Cut each channel into so many times as many slices as it has bins."""
        found = []
        for greys, cut in zip(self.template.inside, self.binnings, strict=True):
            values = binning.group_values(greys)
            cross = self.sample_curves(values) if binner in _BY_CURVES else None
            found.append(_cut(values, math.ceil(times * cut.counts.size), binner, cross))
        return tuple(found)

    def sample_curves(self, values: NDArray[np.float64]) -> Curves | None:
        """Sample the tone curves over the levels of values; None, so k-means, if all straight."""
        return _sample(values, self.family, self.ends)


def _sample(
    values: NDArray[np.float64], family: Family, ends: tuple[float, float]
) -> Curves | None:
    levels, counts = np.unique(values, return_counts=True)
    scaled = scale_levels(levels, ends)
    if scaled[-1] - scaled[0] < _STRAIGHT:
        return None
    return sample_curves(family, scaled, counts)


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
        replace(cut, edges=cut.edges + template.base, labels=plane)
        for cut, plane in zip(binnings, labels, strict=True)
    )


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
        return tuple(_as_edges(part) for part in bins)
    return _as_edges(bins)


def _as_edges(bins: Any) -> tuple[float, ...]:
    edges = _checks.as_greys(bins, "bins").astype(np.float64)
    if edges.ndim != 1 or edges.size < 3 or not (np.diff(edges) > 0).all():
        raise ValueError(f"bins is {bins!r}; edges must be 3 or more numbers, strictly ascending")
    return tuple(edges.tolist())


def _bin_values(
    values: NDArray[np.float64] | NDArray[np.int64],
    base: int,
    bins: int | str | tuple[float, ...] | None,
    binner: str,
    cross: Curves | None,
) -> tuple[Binning, int]:
    """Bin the greys of a channel that count; return also how many bins were wanted."""
    distinct = np.unique(values).size
    match bins:
        case None:
            wanted, number = DEFAULT_BINS, min(DEFAULT_BINS, distinct, (values.size + 1) // 2)
        case str():
            wanted = number = binning.number_of_bins(values, bins, cross=cross)
        case tuple():
            edges = np.array(bins) - base
            if not (edges[0] <= values.min() and values.max() <= edges[-1]):
                raise ValueError(
                    f"bin edges reach from {edges[0]:g} to {edges[-1]:g}; they must cover the "
                    f"template's {values.min():g} to {values.max():g}"
                )
            return binning.Levels.of(values).cut_by(edges), edges.size - 1
        case _:
            wanted, number = bins, min(bins, distinct)
    return _cut(values, max(number, 1), binner, cross), wanted


def _cut(values: NDArray[Any], number: int, binner: str, cross: Curves | None) -> Binning:
    given = {"cross": cross} if binner in _BY_CURVES else {}
    return _BINNERS[binner](values, number, **given)
