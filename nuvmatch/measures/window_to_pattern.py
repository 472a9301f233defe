"""From window to pattern: how much of the template the window's bins leave open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._jit import jit
from .._settings import Settings
from ..engine import BinSums, Image, JointSums, Pattern, Shape, SumUp, Terms, for_each_bin_sum
from .base import Scorer
from .bins import DEFAULT_BINS, Binned, Cuts, check_number
from .counting import CountingScorer
from .image_bins import bin_image, check_image_bins
from .template import Template

# What rounding alone can leave of the template's squares: that is a perfect match.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, repr=False)
class WindowToPattern(Settings):
    """The share of the template's variance that the window's bins do not explain, in [0, 1].

    ``1 - sum_j (sum of t - mean t where the window is in bin j)² / m_j / (d var t)``, m_j
    being the pixels in bin j. Where one grey of the template shows as several in the image,
    no curve over the template's greys explains the window, but the window's greys may still
    explain the template. ``Lowest(NUV(), WindowToPattern())`` goes both ways. A window whose
    pixels are all in one bin, in each channel, gives no evidence.

    Parameters
    ----------
    bins : int, optional
        Bins of equal width of the image's greys. None: 8, or fewer where the template has
        less than twice as many pixels.
    value_range : (float, float), optional
        As for `MI`.
    adjusted : bool
        Divide scores by their mean for noise that falls into these bins, which is
        ``(d - b) / (d - 1)`` for b of them.
    binned : bool
        Take each grey of the template for the mean of its bin, of as many bins of equal width
        as the window has: then it is counted how many pixels of each lie in which, as by `MI`,
        which takes less time for small templates. Never with adjusted=True.
    """

    bins: int | None = None
    value_range: tuple[float, float] | None = None
    adjusted: bool = False
    binned: bool = False

    def __post_init__(self) -> None:
        if self.bins is not None:
            self._set(bins=_checks.as_integer(self.bins, "bins", 2))
            check_image_bins(self.bins)
        if self.value_range is not None:
            self._set(value_range=_checks.as_range(self.value_range, "value_range"))
        self._set(adjusted=_checks.as_flag(self.adjusted, "adjusted"))
        self._set(binned=_checks.as_flag(self.binned, "binned"))
        if self.adjusted and self.binned:
            raise ValueError("WindowToPattern is adjusted, or binned; it was asked for both")

    def prepare(self, template: Template) -> Scorer:
        """Centre the template, or cut it into bins."""
        template.check_contrast()
        d = template.pixels
        bins = self.bins or min(DEFAULT_BINS, (d + 1) // 2)
        check_number(bins, d, asked_for=self.bins is not None and not self.binned)  # or told twice
        if self.binned:
            cuts = Binned(bins=bins, binning="equal_width").cut(template)
            return BinnedToPatternScorer(cuts, self.value_range)
        return WindowToPatternScorer(template, bins, self)


class WindowToPatternScorer(Scorer):
    """What bins of windows explain of one template."""

    def __init__(self, template: Template, image_bins: int, measure: WindowToPattern) -> None:
        self._pattern = Pattern.from_greys(template.greys, template.mask)
        self._pixels = template.pixels
        self._image_bins = image_bins
        self._measure = measure

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        bins = bin_image(image, self._measure.value_range, self._image_bins)
        for_each_bin_sum(image, bins, self._image_bins, self._pattern, self._score, out, n_threads)

    def _score(self, shape: Shape, sums_of: Callable[[int], BinSums]) -> NDArray[np.float64]:
        """Add up what the bins of each channel explain, and would of noise."""
        pattern, pixels = self._pattern, float(self._pixels)
        explained, chance = np.zeros((2, *shape))
        flat = np.ones(shape, np.bool_)
        for c, plane in enumerate(pattern.planes):
            mean = float(pattern.sums[c]) / pixels
            squares = float((plane**2).sum()) - mean**2 * pixels
            by_chance = squares / (pixels - 1)  # what a bin explains by chance
            chance -= by_chance  # a single bin explains nothing
            most = np.zeros(shape)
            for sums, counts in sums_of(c):
                add_bin(sums, counts, mean, explained, most)
                if self._measure.adjusted:
                    chance += by_chance * (counts > 0)
            flat &= most == pixels
        scores = np.maximum(1 - explained / pattern.squares, 0)
        scores[scores < _ROUNDING] = 0
        if self._measure.adjusted:
            scores /= np.maximum(1 - chance / pattern.squares, _ROUNDING)
        scores[flat] = np.nan
        return scores


class BinnedToPatternScorer(CountingScorer):
    """What bins of windows explain of the bins of one template."""

    def __init__(self, cuts: Cuts, value_range: tuple[float, float] | None) -> None:
        super().__init__(cuts, value_range)
        self._pixels = cuts.template.pixels
        self._means = []
        for cut, greys in zip(cuts.binnings, cuts.template.inside, strict=True):
            unit = cuts.template.unit
            sums = np.bincount(cut.labels, (greys - greys.min()) * unit)
            self._means.append(sums / cut.counts - sums.sum() / greys.size)
        self._squares = sum(
            float(cut.counts @ means**2)
            for cut, means in zip(cuts.binnings, self._means, strict=True)
        )

    def terms(self, dtype: np.dtype[Any]) -> Terms:
        """Sum the means of slices."""
        return Terms(None, self._means)

    def score(self, sums: JointSums, sum_up: SumUp | None) -> NDArray[np.float64]:
        """Add up what the bins of each channel explain."""
        scores: NDArray[np.float64] = np.maximum(1 - sums.explained.sum(axis=0) / self._squares, 0)
        scores[scores < _ROUNDING] = 0
        scores[(sums.largest == self._pixels).all(axis=0)] = np.nan
        return scores


@jit
def add_bin(
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    mean: float,
    explained: NDArray[np.float64],
    most: NDArray[np.float64],
) -> None:
    """Add what one bin explains of the template: ``(sum - count * mean)^2 / count``.

    Parameters
    ----------
    sums, counts : ndarray of shape (rows, columns)
        Of the template's greys where the window is in the bin.
    mean : float
        Of the template's greys.
    explained : ndarray of shape (rows, columns), added to
    most : ndarray of shape (rows, columns)
        The largest of the counts so far: is raised.

    Plain twin: ``naive.window_to_pattern``.
    """
    rows, columns = counts.shape
    for y in range(rows):
        for x in range(columns):
            count = counts[y, x]
            deviation = sums[y, x] - count * mean
            explained[y, x] += deviation * deviation / count if count > 0 else 0.0
            most[y, x] = max(most[y, x], count)
