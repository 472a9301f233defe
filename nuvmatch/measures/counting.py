"""Measures of joint histograms: how many pixels of each slice lie in each bin of the window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Image, JointSums, Programs, Slices, SumUp, Terms, for_each_joint_sum
from .base import Scorer
from .bins import Cuts, report, spread
from .image_bins import bin_image, check_image_bins
from .sharing import SharingScorer


class CountingScorer(SharingScorer):
    """A measure of joint histograms of one template's bins with those of windows."""

    def __init__(self, cuts: Cuts, value_range: tuple[float, float] | None) -> None:
        check_image_bins(cuts.wanted)
        template = self._template = cuts.template
        self._labels = spread(template, cuts.binnings)
        self._image_bins = cuts.wanted
        self._value_range = value_range
        self._mask = Programs(Slices.of_mask(template.mask, len(self._labels)))
        self._slices = [Programs(Slices(plane[None])) for plane in self._labels]
        self.bins = report(template, cuts.binnings, self._labels)

    @abstractmethod
    def terms(self, dtype: np.dtype[Any]) -> Terms:
        """Tell what is to be summed over joint histograms for a map of that type."""

    @abstractmethod
    def score(self, sums: JointSums, sum_up: SumUp | None) -> NDArray[np.float64]:
        """Score the windows of a tile by sums of these terms.

        Where they are in single precision, others can be had by `sum_up`.
        """

    def shares_with(self, other: Scorer) -> bool:
        """Tell whether another counts the same pixels of the same template in the same bins."""
        if not isinstance(other, CountingScorer):
            return False
        bins = self._image_bins, self._value_range
        theirs = other._image_bins, other._value_range
        return (
            bins == theirs
            and self._template is other._template
            and np.array_equal(self._labels, other._labels)
        )

    @staticmethod
    def fill_together(
        scorers: Sequence[CountingScorer],
        image: Image,
        out: Sequence[NDArray[Any]],
        n_threads: int,
    ) -> None:
        """Fill a score map for each of several scorers that count alike."""
        one, every = scorers[0], [scorer.terms(out[0].dtype) for scorer in scorers]
        tables = [terms.n_log_n for terms in every if terms.n_log_n is not None]
        values = [terms.values for terms in every if terms.values]
        table = max(tables, key=np.size, default=None)
        joined = Terms(table, next(iter(values), ()))
        rough = table is not None and table.size == 0

        def score(sum_up: SumUp) -> list[NDArray[np.float64]]:
            sums = sum_up(joined)
            return [scorer.score(sums, sum_up if rough else None) for scorer in scorers]

        number = one._image_bins
        bins = bin_image(image, one._value_range, number)
        for_each_joint_sum(image, bins, number, one._mask, one._slices, score, out, n_threads)
