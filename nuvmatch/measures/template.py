"""A template as the measures take it: checked, masked and cut into bins."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks, binning
from ..binning import Binning, Curves
from ..engine.images import unit_scale
from ..tones.cross_product import sample_curves
from ..tones.families import Family, scale_levels, sensor_range

_BINNERS = {
    "optimal": binning.optimal,
    "greedy": binning.greedy,
    "kmeans": binning.kmeans,
    "equal_width": binning.equal_width,
    "equal_frequency": binning.equal_frequency,
}
BINNERS = tuple(_BINNERS)
_BY_CURVES = ("optimal", "greedy")  # these know the expected tone curves
_DEFAULT_BINS = 8
_STRAIGHT = 1e-9  # share of the sensor's range over which no curve can be told from a line


@dataclass(frozen=True)
class Template:
    """Greys, mask and bins of a template.

    For a measure that needs no bins `cuts` is empty, and `image_bins` 0.
    """

    greys: NDArray[np.float64]  # (channels, height, width), less `base`
    base: int  # 0, but for whole numbers too large for floats to tell apart
    mask: NDArray[np.bool_]  # (height, width)
    cuts: tuple[Binning, ...]  # for each channel, of the greys under the mask
    binner: str | None  # that made them; None if the edges were given
    image_bins: int
    value_range: tuple[float, float] | None
    family: Family
    ends: tuple[float, float]  # greys that are the levels 0 and 1 of tone curves

    @property
    def pixels(self) -> int:
        """Pixels of one channel that count."""
        return int(np.count_nonzero(self.mask))

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Bin of each pixel, shape (channels, height, width), -1 where it does not count."""
        return self.spread(self.cuts)

    @cached_property
    def inside(self) -> NDArray[np.float64]:
        """Greys that count, shape (channels, pixels)."""
        return self.greys[:, self.mask]

    def spread(self, cuts: Sequence[Binning]) -> NDArray[np.int64]:
        """Label pixels by cuts of the greys that count, one for each channel."""
        labels = np.full((len(cuts), *self.mask.shape), -1, np.int64)
        for plane, cut in zip(labels, cuts, strict=True):
            plane[self.mask] = cut.labels
        return labels

    def finer(self, times: float, binner: str) -> list[Binning]:
        """Cut each channel into so many times as many slices as it has bins."""
        found = []
        for greys, cut in zip(self.inside, self.cuts, strict=True):
            values = binning.group_values(greys)
            number = math.ceil(times * cut.counts.size)
            cross = self.sample_curves(values) if binner in _BY_CURVES else None
            found.append(_BINNERS[binner](values, number, cross=cross))
        return found

    def means(self, cuts: Sequence[Binning]) -> list[NDArray[np.float64]]:
        """Mean grey of each bin of cuts, one for each channel; but for the base."""
        unit = unit_scale(float(abs(self.inside).max()))  # so that no sum overflows
        return [
            np.bincount(cut.labels, greys * unit) / cut.counts / unit
            for cut, greys in zip(cuts, self.inside, strict=True)
        ]

    def sample_curves(self, values: NDArray[np.float64]) -> Curves | None:
        """Sample the expected tone curves over the levels of values; None if all are straight."""
        return _sample_cross(values, self.ends, self.family)


def prepare_template(
    template: ArrayLike,
    mask: ArrayLike | None,
    *,
    bins: int | str | ArrayLike | None,
    binner: str,
    family: Family,
    value_range: tuple[float, float] | None,
    binned: bool,
    flat_is_fine: bool,
    backwards: bool,
) -> Template:
    """Check a template and cut it into bins; the arguments are those of `Matcher`.

    `backwards`: the image's bins are to explain the template.
    """
    planes, counting = _checks.as_planes(template, "template")
    given = _checks.as_mask(mask, "mask", planes.shape[1:])
    if counting is None:
        counting = np.ones(planes.shape[1:], np.bool_)
    if given is not None:
        counting = counting & given
    inside, base = _checks.as_floats(planes[:, counting])
    _check_greys(inside, planes.shape[1:], flat_is_fine=flat_is_fine)
    greys = np.zeros(planes.shape)
    greys[:, counting] = inside
    shifted = value_range and (value_range[0] - base, value_range[1] - base)
    ends = sensor_range(inside, planes.dtype, shifted)
    if not binned:
        return Template(greys, base, counting, (), binner, 0, value_range, family, ends)
    edges_given = bins is not None and np.ndim(bins) > 0
    sampled = not edges_given and (binner in _BY_CURVES or bins == "auto")
    cuts, wanted = [], []
    for values in inside:
        cross, grouped = None, values
        if sampled:  # with each curve as long as the levels are many
            grouped = binning.group_values(values)
            cross = _sample_cross(grouped, ends, family)
        # The rules by width ask whether greys are whole numbers.
        typed = grouped.astype(np.int64) if planes.dtype.kind in "bui" else grouped
        cut, number = _bin_values(typed, base, bins, binner, cross)
        cut.edges[-1] = max(cut.edges[-1], values.max())
        cuts.append(cut)
        wanted.append(number)
    d, image_bins = inside.shape[1], max(wanted)
    if backwards and bins is None:
        image_bins = min(image_bins, (d + 1) // 2)
    _check_bins(max(cut.counts.size for cut in cuts), d, bins is not None)
    if backwards:
        _check_bins(min(image_bins, d), d, bins is not None)
    return Template(
        greys, base, counting, tuple(cuts), None if edges_given else binner, image_bins,
        value_range, family, ends,
    )  # fmt: skip


def _sample_cross(
    values: NDArray[np.float64], ends: tuple[float, float], family: Family
) -> Curves | None:
    """Sample the tone curves over the levels; None, so k-means, where all are straight."""
    levels, counts = np.unique(values, return_counts=True)
    scaled = scale_levels(levels, ends)
    if scaled[-1] - scaled[0] < _STRAIGHT:
        return None
    return sample_curves(family, scaled, counts)


def _check_bins(most: int, d: int, asked_for: bool) -> None:
    """Refuse bins that make every window match, or none; `most` in any channel."""
    if most < 2:
        raise ValueError(
            f"the template of {d} pixels is left with a single bin, which explains "
            "nothing; it takes at least 3 pixels and bins that separate its greys"
        )
    if most == d:
        raise ValueError(
            f"{most} bins for {d} pixels: each pixel is a bin of its own, so that every "
            f"window would match; ask for at most {(d + 1) // 2}"
        )
    noise = (d - most) / (d - 1)  # expected score of noise: the paper's Proposition 1
    if asked_for and noise < 0.5:
        _checks.warn(
            f"with {most} bins for {d} pixels noise scores {noise:.2f} on average; at most "
            f"{(d + 1) // 2} bins keep it at 0.5 or above"
        )


def _bin_values(
    values: NDArray[np.float64] | NDArray[np.int64],
    base: int,
    bins: int | str | ArrayLike | None,
    binner: str,
    cross: Curves | None,
) -> tuple[binning.Binning, int]:
    """Bin the greys that count; return also how many bins were wanted, for the image."""
    distinct = np.unique(values).size
    if bins is None:
        wanted, number = _DEFAULT_BINS, min(_DEFAULT_BINS, distinct, (values.size + 1) // 2)
    elif isinstance(bins, str):
        if bins not in binning.RULES:
            raise ValueError(
                f"bins is {bins!r}; it must be a number, edges, or one of "
                f"{', '.join(map(repr, binning.RULES))}"
            )
        wanted = number = binning.number_of_bins(values, bins, cross=cross)
    elif np.ndim(bins) > 0:
        edges = _as_edges(bins, values, base)
        return binning.Levels.of(values).cut_by(edges), edges.size - 1
    else:
        wanted = _checks.as_integer(bins, "bins", 2)
        number = min(wanted, distinct)
    return _BINNERS[binner](values, max(number, 1), cross=cross), wanted


def _as_edges(bins: Any, values: NDArray[Any], base: int) -> NDArray[np.float64]:
    edges = _checks.as_greys(bins, "bins").astype(np.float64) - base
    if edges.ndim != 1 or edges.size < 3 or not (np.diff(edges) > 0).all():
        raise ValueError(f"bins is {bins!r}; edges must be 3 or more numbers, strictly ascending")
    if not (edges[0] <= values.min() and values.max() <= edges[-1]):
        raise ValueError(
            f"bin edges reach from {edges[0]:g} to {edges[-1]:g}; they must cover the "
            f"template's {values.min():g} to {values.max():g}"
        )
    return edges


def _check_greys(
    inside: NDArray[np.float64], shape: tuple[int, ...], *, flat_is_fine: bool
) -> None:
    """Refuse greys (channels, pixels that count) that cannot be sought."""
    if inside.size == 0:
        raise ValueError(
            f"the mask of the template of shape {shape} is zero everywhere; some pixel must count"
        )
    bad = np.count_nonzero(~np.isfinite(inside))
    if bad:
        raise ValueError(
            f"the template of shape {shape} has {bad} NaN or infinite greys; mask them out"
        )
    if not flat_is_fine and (inside.min(axis=1) == inside.max(axis=1)).all():
        raise ValueError(
            f"the template of shape {shape} is flat: all {inside.shape[1]} pixels that count are "
            "equal, which says nothing about where it is; it must have at least two grey levels"
        )
