"""Sum of squared differences, the baseline where tones do not change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from .._settings import Settings
from ..engine import Image, Pattern, ProductScore, TileProducts, Wanted, for_each_product
from .base import Scorer
from .template import Template
from .units import Greys, common_unit, unit_of

# Share of themselves by which means of so many pixels may be rounded; of more by the root of
# their number.
_ROUNDING, _PIXELS_OF_ROUNDING = 1e-14, 1e4

# At the ends of the float range sums would overflow, or lose digits: greys of such scales come
# times so much.
_HUGE, _ROOM_ABOVE = 2.0**-900, 2.0**-64
_TINY, _ROOM_BELOW = 2.0**900, 2.0**64

_SMALLEST = 1e-307  # has an inverse


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
        about as large as the other's type allows; or shares, and the other whole numbers of a
        type that tells no white.
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
        score = self._with(image, common_unit(image, self._greys, "SSD"))
        for_each_product(image, [Wanted(self._pattern, score, out)], n_threads)

    def score_in(self, image: Image) -> ProductScore:
        """Return what scores windows of an image, whatever the units are."""
        return self._with(image, unit_of(image, self._greys) or 1.0)

    def _with(self, image: Image, unit: float) -> ProductScore:
        """Return what scores windows of an image whose greys come times the unit."""
        scale = self._pattern.scale
        room = _ROOM_BELOW if scale > _TINY else 1.0
        room *= _ROOM_ABOVE if min(scale, image.scale) < _HUGE else 1.0
        return partial(self._score, unit * room, room)

    def _score(self, unit: float, room: float, tile: TileProducts) -> NDArray[np.float64]:
        """Score a tile; greys of the image come times `unit`, those of the template `room`."""
        pattern, d = self._pattern, self._pixels
        scale = pattern.scale / room
        means = (pattern.means / pattern.scale + self._base) * room
        own = float(np.sqrt(pattern.squares))
        more = max(1.0, float(np.sqrt(pattern.centred.size / _PIXELS_OF_ROUNDING)))
        rounding = more * tile.rounding
        shifts = more * _ROUNDING * abs(means) + rounding * own / scale / np.sqrt(d)
        scores = tile.empty_scores()
        score_ssd(
            tile.means,
            tile.squares,
            tile.covariances,
            tile.residuals,
            tile.unit,
            unit,
            means,
            own,
            scale,
            float(d),
            rounding,
            shifts,
            scores,
        )
        return scores


@jit
def score_ssd(
    means: NDArray[np.float64],
    squares: NDArray[np.float64],
    covariances: NDArray[np.float64],
    residuals: NDArray[np.float64],
    units: NDArray[np.float64],
    unit: float,
    of_template: NDArray[np.float64],
    own: float,
    scale: float,
    pixels: float,
    rounding: float,
    shifts: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Put squared differences together from means and deviations, which lose no digits.

    They are what a straight line leaves, and those of that line from a line of slope 1 through
    the origin.

    Parameters
    ----------
    means : ndarray of shape (channels, rows, >= columns)
        Of each window, to be taken times `unit`.
    squares, covariances, residuals, units : ndarray of shape (rows, >= columns)
        As in `TileProducts`. Where squares are NaN there is no evidence.
    of_template : ndarray of shape (channels,)
        Means of the template.
    own, scale : float
        Root of the sum of squared deviations of the template, whose greys are times the scale.
    pixels : float
        Of a channel.
    rounding, shifts : float, and ndarray of shape (channels,)
        Share of slopes, and differences of means, that are 0.
    out : ndarray of shape (rows, columns), filled
        Scores; NaN is no evidence.

    Plain twin: ``naive.ssd_map``.
    """
    channels = of_template.size
    deviation, share = own / scale, 1 / own if own > 0 else 0.0
    reach = max(deviation, np.abs(of_template).max())
    columns = out.shape[1]
    factors, largest, differences, energies = np.empty((4, columns))
    for y in range(out.shape[0]):
        line, of_line, left = out[y], squares[y], residuals[y]
        products, own_units = covariances[y], units[y]
        # Each window in a unit of its own, so that no square leaves the float range.
        for x in range(columns):
            factors[x] = unit / own_units[x]
            spread = np.sqrt(of_line[x]) * factors[x]
            largest[x] = spread if spread > reach else reach
        for c in range(channels):
            of_channel = means[c, y]
            for x in range(columns):
                level = abs(of_channel[x] * unit)
                largest[x] = level if level > largest[x] else largest[x]
        for x in range(columns):
            own_unit = 1 / max(largest[x], _SMALLEST)
            factor, template = factors[x] * own_unit, deviation * own_unit
            slope = products[x] * share * factor - template
            slope = 0.0 if abs(slope) <= rounding * template else slope
            differences[x] = left[x] * factor * factor + slope * slope
            energies[x] = of_line[x] * factor * factor + template * template
            factors[x] = own_unit
        for c in range(channels):
            of_channel, mean = means[c, y], of_template[c]
            for x in range(columns):
                shift = of_channel[x] * unit - mean
                shift = 0.0 if abs(shift) <= shifts[c] else shift * factors[x]
                window, template = of_channel[x] * unit * factors[x], mean * factors[x]
                differences[x] += pixels * shift * shift
                energies[x] += pixels * (window * window + template * template)
        for x in range(columns):
            nothing = largest[x] == 0 and of_line[x] >= 0  # both are 0 everywhere, and none is bad
            score = 0.0 if nothing else differences[x] / energies[x]
            line[x] = 1.0 if score > 1 else score
