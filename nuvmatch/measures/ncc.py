"""Normalised cross-correlation, the baseline where tones change linearly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._settings import Settings
from ..engine import Image, Pattern, TileProducts, for_each_product
from .base import Scorer
from .template import Template


@dataclass(frozen=True, kw_only=True, repr=False)
class NCC(Settings):
    """``1 - NCC`` in [0, 2], or ``1 - NCC²`` in [0, 1]; colours are pooled.

    By name: "ncc", and "ncc2" with squared=True.

    Parameters
    ----------
    squared : bool
        Whether an inverted window matches too.
    """

    squared: bool = False

    def __post_init__(self) -> None:
        self._set(squared=_checks.as_flag(self.squared, "squared"))

    def prepare(self, template: Template) -> NCCScorer:
        """Centre the template."""
        template.check_contrast()
        return NCCScorer(Pattern.from_greys(template.greys, template.mask), self.squared)


class NCCScorer(Scorer):
    """NCC with one template."""

    def __init__(self, pattern: Pattern, squared: bool) -> None:
        self._pattern = pattern
        self._squared = squared

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        for_each_product(image, self._pattern, self.score, out, n_threads)

    def score(self, tile: TileProducts) -> NDArray[np.float64]:
        """Score by what a straight line leaves: near 0, 1 - NCC itself would be rounding."""
        with np.errstate(all="ignore"):  # of flat windows, which come out as NaN
            share = tile.residuals / tile.squares
            if self._squared:
                return np.asarray(share)
            ncc = tile.covariances / np.sqrt(tile.squares)
            ncc /= np.sqrt(self._pattern.squares)
            share /= 1 + ncc
            return np.minimum(np.where(ncc > 0, share, 1 - ncc), 2)
