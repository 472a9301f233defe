"""Sum of squared differences, the baseline where tones do not change."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.images import Image
from ..engine.products import Pattern, TileProducts, for_each_product
from .template import Template


class SSD:
    """``sum (w - t)^2 / (sum w^2 + sum t^2)``, cut at 1; 0 where both are 0 throughout."""

    def __init__(self, template: Template) -> None:
        self._pattern = Pattern.from_greys(template.greys, template.mask)
        self._base = template.base
        self._pixels = template.pixels

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map."""
        for_each_product(image, self._pattern, self._score, out, nothing, n_threads)

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
