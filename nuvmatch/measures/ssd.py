"""Sum of squared differences, the baseline where tones do not change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._settings import Settings
from ..engine import Image, Pattern, TileProducts, for_each_product
from .base import Scorer
from .template import Template
from .units import Greys, common_unit, unit_of

# Share of themselves by which means of so many pixels may be rounded; of more by the root of
# their number.
_ROUNDING, _PIXELS_OF_ROUNDING = 1e-14, 1e4


@dataclass(frozen=True, kw_only=True, repr=False)
class SSD(Settings):
    """``sum (w - t)² / (sum w² + sum t²)``, cut at 1; 0 where both are 0 throughout.

    Flat templates and windows count as any other. Where image and template are of types of
    unlike range, uint8, uint16, or floats inside [0, 1], both are taken as shares of white.
    By name: "ssd".

    Raises
    ------
    ValueError
        By what searches, if one of the two has floats that are neither shares of white, nor
        about as large as the other's type allows.
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
        self._greys = Greys.of_template(template)

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        score = partial(self._score, unit=common_unit(image, self._greys, "SSD"))
        for_each_product(image, self._pattern, score, out, n_threads)

    def score_in(self, image: Image) -> Callable[[TileProducts], NDArray[np.float64]]:
        """Return what scores windows of an image, whatever the units are."""
        return partial(self._score, unit=unit_of(image, self._greys) or 1.0)

    def _score(self, tile: TileProducts, unit: float) -> NDArray[np.float64]:
        """Put the sums together from means and deviations, which lose no digits.

        Squared differences are what a straight line leaves, and those of that line from a
        line of slope 1 through the origin. Greys of the image come times the unit.
        """
        pattern, d = self._pattern, self._pixels
        with np.errstate(all="ignore"):  # what over- or underflows here is negligible
            of_template = (pattern.means / pattern.scale + self._base)[:, None, None]
            means = tile.means * unit
            scale = tile.unit / unit
            own = np.sqrt(pattern.squares) / pattern.scale
            # Each window in a unit of its own, so that no square leaves the float range.
            largest = np.maximum(abs(means).max(axis=0), np.sqrt(tile.squares) / scale)
            largest = np.maximum(largest, max(abs(of_template).max(), own))
            scale *= largest
            along = tile.covariances / scale / (np.sqrt(pattern.squares) or 1.0)
            slopes = along - own / largest
            more = max(1.0, np.sqrt(pattern.centred.size / _PIXELS_OF_ROUNDING))
            slopes[abs(slopes) <= more * tile.rounding * own / largest] = 0
            shifts = means - of_template
            rounding = _ROUNDING * abs(of_template) + tile.rounding * own / np.sqrt(d)
            shifts[abs(shifts) <= more * rounding] = 0
            differences = tile.residuals / scale**2 + slopes**2
            differences += d * ((shifts / largest) ** 2).sum(axis=0)
            energies = tile.squares / scale**2 + (own / largest) ** 2
            energies += d * ((means / largest) ** 2 + (of_template / largest) ** 2).sum(axis=0)
            scores = differences / energies
        return np.where(largest == 0, 0.0, np.minimum(scores, 1))
