"""Scorers that share what they ask of an image: several maps in little more time than one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ..engine import Image
from .base import Scorer


class SharingScorer(Scorer):
    """A scorer that may share work with others."""

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        self.fill_together([self], image, [out], n_threads)

    @abstractmethod
    def shares_with(self, other: Scorer) -> bool:
        """Tell whether another, itself included, may be filled together with it."""

    @staticmethod
    @abstractmethod
    def fill_together(
        scorers: Sequence[Any], image: Image, out: Sequence[NDArray[Any]], n_threads: int
    ) -> None:
        """Fill a score map for each of several, of which the first shares with all."""


def fill_all(
    scorers: Sequence[Scorer], image: Image, out: Sequence[NDArray[Any]], n_threads: int
) -> None:
    """Fill a score map for each scorer, for those that share work at once."""
    left = list(range(len(scorers)))
    while left:
        first = scorers[left[0]]
        if isinstance(first, SharingScorer):
            together = [i for i in left if first.shares_with(scorers[i])]
            maps = [out[i] for i in together]
            first.fill_together([scorers[i] for i in together], image, maps, n_threads)
        else:
            together = left[:1]
            first.fill(image, out[left[0]], n_threads)
        left = [i for i in left if i not in together]
