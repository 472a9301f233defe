"""Sum of squared differences, the baseline where tones do not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._settings import Settings
from ..engine import Image, Pattern, TileProducts, for_each_product
from .base import Scorer
from .template import Template


@dataclass(frozen=True, kw_only=True, repr=False)
class SSD(Settings):
    """``sum (w - t)² / (sum w² + sum t²)``, cut at 1; 0 where both are 0 throughout.

    Flat templates and windows count as any other. By name: "ssd".
    """

    def prepare(self, template: Template) -> SSDScorer:
        """Centre the template."""
        return SSDScorer(template)


class SSDScorer(Scorer):
    """Squared differences from one template."""

    def __init__(self, template: Template) -> None:
        self._pattern = Pattern.from_greys(template.greys, template.mask)
        self._base = template.base
        self._pixels = template.pixels

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        for_each_product(image, self._pattern, self._score, out, n_threads)

    def _score(self, tile: TileProducts) -> NDArray[np.float64]:
        """Put the sums together from means and deviations, which lose no digits."""
        pattern, d = self._pattern, self._pixels
        with np.errstate(all="ignore"):  # what over- or underflows here is negligible
            means = pattern.means[:, None, None] / pattern.scale + self._base
            # Each window in a unit of its own, so that no square leaves the float range.
            largest = np.maximum(abs(tile.means).max(axis=0), np.sqrt(tile.squares) / tile.unit)
            largest = np.maximum(largest, abs(means).max())
            largest = np.maximum(largest, np.sqrt(pattern.squares) / pattern.scale)
            between = tile.squares / (tile.unit * largest) ** 2
            between += pattern.squares / (pattern.scale * largest) ** 2
            products = tile.covariances / (tile.unit * largest) / (pattern.scale * largest)
            differences = (((tile.means - means) / largest) ** 2).sum(axis=0)
            energies = ((tile.means / largest) ** 2 + (means / largest) ** 2).sum(axis=0)
            scores = (between - 2 * products + d * differences) / (between + d * energies)
        return np.where(largest == 0, 0.0, np.clip(scores, 0, 1))
