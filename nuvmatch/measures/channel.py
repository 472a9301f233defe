"""The greys of one channel of a template, as binners take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binning
from ..binning import Binning, Curves, Levels
from ..tones.cross_product import sample_curves
from ..tones.families import Family
from ..tones.ranges import scale_levels

_BINNERS = {
    "optimal": binning.optimal,
    "greedy": binning.greedy,
    "kmeans": binning.kmeans,
    "equal_width": binning.equal_width,
    "equal_frequency": binning.equal_frequency,
}
BINNERS = tuple(_BINNERS)
_BY_CURVES = ("optimal", "greedy")  # these know the expected tone curves
_BY_GROUPS = (*_BY_CURVES, "kmeans")  # these take long for many levels

# Pixels that each bin holds at least. Under a bin of n of d pixels an odd pixel that outshines
# all others scores (1 - 1/n) / (1 - 1/d): a hot pixel would match the one brightest pixel of
# a star perfectly. More than two cost templates of 8 x 8 what these cannot spare
# (`benchmarks.detection --tune`).
LEAST_PIXELS = 2

_STRAIGHT = 1e-9  # share of the sensor's range over which no curve can be told from a line


@dataclass(frozen=True, eq=False)
class Channel:
    """The greys of a channel that count, and the tones that are expected of them.

    Attributes
    ----------
    values : ndarray of float64, of shape (d,)
    integral : bool
        Whether they are of a type of whole numbers.
    family : Family
        Of tone curves.
    ends : (float, float)
        Greys that are the levels 0 and 1 of tone curves.
    """

    values: NDArray[np.float64]
    integral: bool
    family: Family
    ends: tuple[float, float]

    @cached_property
    def levels(self) -> Levels:
        """The greys, sorted."""
        return Levels.of(self.values)

    @property
    def distinct(self) -> int:
        """How many greys differ."""
        return self.levels.levels.size

    @cached_property
    def grouped(self) -> Levels:
        """The greys, those of one group by its lowest.

        Greys that no tone curve can tell apart are one level, and of many levels there are
        as many groups as binning can use.
        """
        told_apart = np.diff(scale_levels(self.levels.levels, self.ends)) > 0
        return self.levels.joined(np.concatenate(([True], told_apart))).grouped()

    @cached_property
    def curves(self) -> Curves | None:
        """Tone curves sampled over the levels of `grouped`; None if all would be straight."""
        scaled = scale_levels(self.grouped.levels, self.ends)
        if scaled[-1] - scaled[0] < _STRAIGHT:
            return None
        return sample_curves(self.family, scaled, self.grouped.counts)

    def number_by_rule(self, rule: str) -> int:
        """Choose the number of bins by a rule of `nuvmatch.binning`."""
        about = (self.grouped, rule, self.curves) if rule == "auto" else (self.levels, rule, None)
        return binning.number_by_rule(*about, integral=self.integral)

    def cut(self, number: int, binner: str) -> Binning:
        """Cut by a binner into so many bins at most, each of two pixels or more.

        Only where that leaves a single bin they may have a single pixel.
        """
        values = self._levels_for(binner)
        given: dict[str, Any] = {"cross": self.curves} if binner in _BY_CURVES else {}
        cut: Binning = _BINNERS[binner](values, number, least=LEAST_PIXELS, **given)
        if cut.counts.size < min(number, 2):
            cut = _BINNERS[binner](values, number, **given)
        cut.edges[-1] = self.values.max()  # a group goes by its lowest grey
        return cut

    def most_bins(self, binner: str) -> int:
        """Return how many bins of the greys there can be at most."""
        return self._levels_for(binner).levels.size

    def _levels_for(self, binner: str) -> Levels:
        return self.grouped if binner in _BY_GROUPS else self.levels

    def cut_by(self, edges: Sequence[Any]) -> Binning:
        """Cut by edges.

        Raises
        ------
        ValueError
            If they do not cover the greys.
        """
        low, high = self.values.min(), self.values.max()
        if not (edges[0] <= low and high <= edges[-1]):
            raise ValueError(
                f"bin edges reach from {edges[0]:g} to {edges[-1]:g}; they must cover the "
                f"template's {low:g} to {high:g}"
            )
        return self.levels.cut_by(np.array(edges, np.float64))

    def curves_over(self, cut: Binning) -> tuple[Curves, NDArray[np.int64], NDArray[np.int64]]:
        """Return tone curves over what is of one group and one bin.

        Returns
        -------
        curves : Curves
            Over the pairs of a group and a bin that occur, ascending.
        bins, counts : ndarray of int, of the pairs' number
            The bin of each pair, and how many pixels are of it.
        """
        levels = self.grouped.levels
        both = Levels.of(cut.labels * levels.size + self.grouped.index)
        pairs, counts = both.levels.astype(np.int64), both.counts
        samples = levels[None] if self.curves is None else self.curves.samples
        return Curves(samples[:, pairs % levels.size]), pairs // levels.size, counts
