"""From window to pattern: how much of the template the window's bins leave open.

Where one grey of the template shows as several in the image, no curve over the template's
greys explains the window, but the window's greys may still explain the template.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from ..engine.fourier import Correlator, error_bound
from ..engine.images import Image
from ..engine.moments import tile_moments
from ..engine.products import Pattern, product_tile
from ..engine.slices import Slices
from ..engine.sums import tolerance
from ..engine.threads import Tile, run, tiles
from .image_bins import bin_image, check_image_bins
from .template import Template

# What rounding alone can leave of the template's squares: that is a perfect match.
_ROUNDING = 1e-12


class Backwards:
    """Share of the template's variance that bins of the window do not explain, in [0, 1].

    ``1 - sum_j (sum of t - mean t where the window is in bin j)^2 / m_j / (d var t)``, m_j
    being the pixels in bin j. Bins have equal width over the value range. `adjusted`: over
    the mean for noise that falls into these bins, ``(d - b) / (d - 1)`` for b of them.
    """

    def __init__(self, template: Template, *, adjusted: bool = False) -> None:
        check_image_bins(template.image_bins)
        self._template = template
        self._pattern = Pattern.from_greys(template.greys, template.mask)
        self._slices = Slices.whole(template.mask, len(template.greys))
        self._adjusted = adjusted
        d = template.pixels
        self._most = (d - 1) / (d - template.image_bins) if adjusted else 1.0

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map."""
        template, pattern = self._template, self._pattern
        bins = bin_image(image, template.value_range, template.image_bins)
        shape = product_tile(template.mask.shape, out.shape, 1)
        patterns = np.concatenate([pattern.planes, template.mask[None].astype(np.float64)])
        correlator = Correlator(patterns, shape)
        accuracy = tolerance(out.dtype)

        def task(tile: Tile) -> None:
            evidence = tile_moments(image, self._slices, tile, accuracy).settle().scatter
            explained, chance = np.zeros((2, *tile.shape))
            for c in range(len(pattern.planes)):
                self._add_channel(bins[c], c, tile, correlator, explained, chance)
            scores = np.maximum(1 - explained / pattern.squares, 0)
            scores[scores < _ROUNDING] = 0
            if self._adjusted:
                scores /= np.maximum(1 - chance / pattern.squares, _ROUNDING)
            out[tile.place] = np.where(evidence > 0, scores, nothing * self._most)

        run(task, tiles(out.shape, *shape), n_threads)

    def _add_channel(
        self,
        bins: NDArray[Any],
        c: int,
        tile: Tile,
        correlator: Correlator,
        explained: NDArray[np.float64],
        chance: NDArray[np.float64],
    ) -> None:
        """Add what the bins of one channel explain, and would of noise.

        Two bins are correlated at a time, as one complex number.
        """
        pattern, pixels = self._pattern, float(self._template.pixels)
        height, width = pattern.mask.shape
        under = bins[tile.top : tile.bottom + height - 1, tile.left : tile.right + width - 1]
        energy = float((pattern.planes[c] ** 2).sum())
        whole = pattern.whole and error_bound(float(under.size), energy) < 0.25
        mean = float(pattern.sums[c]) / pixels
        each = (energy - mean**2 * pixels) / (pixels - 1)  # what a bin explains by chance
        chance -= each  # a single bin explains nothing
        rest = np.stack([np.full(tile.shape, pattern.sums[c]), np.full(tile.shape, pixels)])
        last = self._template.image_bins - 1
        for j in range(0, last, 2):
            second = (under == j + 1) & (j + 1 < last)
            spectrum = correlator.transform(under == j, 0.0, second)
            sums = correlator.correlate(spectrum, c, tile.shape).copy()
            counts = correlator.correlate(spectrum, len(pattern.planes), tile.shape)
            add_bin(sums.real, counts.real, mean, each, whole, explained, chance, rest)
            add_bin(sums.imag, counts.imag, mean, each, whole, explained, chance, rest)
        sums, counts = rest.copy()
        add_bin(sums, counts, mean, each, whole, explained, chance, rest)


@jit
def add_bin(
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    mean: float,
    each: float,
    whole: bool,
    explained: NDArray[np.float64],
    chance: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> None:
    """Add what one bin explains of the template: ``(sum - count * mean)^2 / count``.

    Parameters
    ----------
    sums, counts : ndarray of shape (rows, columns)
        Of the template's greys where the window is in the bin; counts, and sums if `whole`,
        are whole numbers but for rounding.
    mean : float
        Of the template's greys.
    explained : ndarray of shape (rows, columns), added to
    chance : ndarray of shape (rows, columns), to which `each` is added where the bin is used
    rest : ndarray of shape (2, rows, columns), from which sums and counts are taken

    Plain twin: ``naive.backwards_window``.
    """
    rows, columns = counts.shape
    for y in range(rows):
        for x in range(columns):
            count = np.rint(counts[y, x])
            of_bin = np.rint(sums[y, x]) if whole else sums[y, x]
            if count > 0:
                deviation = of_bin - count * mean
                explained[y, x] += deviation * deviation / count
                chance[y, x] += each
            rest[0, y, x] -= of_bin
            rest[1, y, x] -= count


class Smaller:
    """The smaller of two measures' scores; no evidence where either has none."""

    def __init__(self, first: Any, second: Any) -> None:
        self._measures = first, second

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map."""
        first, second = self._measures
        other = np.empty_like(out)
        first.fill(image, out, np.nan, n_threads)
        second.fill(image, other, np.nan, n_threads)
        np.minimum(out, other, out=out)
        out[np.isnan(out)] = nothing
