"""What curves over a template's slices explain of every window: one transform for each.

A curve has one value for each slice. Laid over the template it is a pattern, and the square of
its correlation with a window is what it explains. Where curves are fewer than slices, so are
transforms.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .fourier import Correlator, error_bound
from .moments import Moments
from .programs import Programs

# Share of a tile's windows up to which these are done again one by one.
_SHARE_AGAIN = 1 / 64


class TileProjections(NamedTuple):
    """Correlations of curves with each window of a tile."""

    each: Iterator[NDArray[np.complex128]]  # of one curve after the other, with each channel by
    #     turns: (half of the rows, columns), of the upper windows and, as imaginary part, of the
    #     lower ones; overwritten by the next
    channels: int
    scatter: NDArray[np.float64]  # (rows, >= columns), as in `TileSums`
    error: float  # of what all explain, at most: times the root of the scatter
    least: float  # scatter below which a score is not as exact as it is to be


# Returns the scores of a tile, and marks windows that are to be done again: those with less than
# the least scatter, or of whose scatter no more is left than errors may be. Counts these, too.
ProjectionScore = Callable[[TileProjections, NDArray[np.bool_]], tuple[NDArray[np.float64], int]]


@dataclass(frozen=True, eq=False)
class Projections:
    """Curves over the slices of a template, and how windows are scored by them.

    Attributes
    ----------
    programs : Programs
        Of the slices.
    curves : ndarray of shape (n, slices)
        Orthonormal on the template, and without mean, in each channel.
    score : callable
    """

    programs: Programs
    curves: NDArray[np.float64]
    score: ProjectionScore

    @property
    def number(self) -> int:
        """Number of patterns: each curve is one in each channel."""
        return len(self.curves) * self.programs.slices.channels

    @cached_property
    def _patterns(self) -> NDArray[np.float64]:
        slices = self.programs.slices
        firsts = np.cumsum([0, *slices.slices_per_channel])[:-1, None, None]
        places = np.where(slices.mask, slices.labels + firsts, 0)
        patterns = np.where(slices.mask, self.curves[:, places], 0)
        return patterns.reshape(self.number, *slices.shape)

    def fill(
        self, moments: Moments, windows: tuple[int, int], accuracy: float, out: NDArray[Any]
    ) -> NDArray[np.bool_] | None:
        """Score a tile, and mark the windows that are to be done again; None: too many.

        Parameters
        ----------
        moments : Moments
        windows : (int, int)
            Rows and columns of the tile, at most.
        accuracy : float
            Of scores.
        out : ndarray
            The score map.
        """
        rows, columns = moments.tile.shape
        half = -(-windows[0] // 2), windows[1]
        correlator = self.programs.keep_correlator(
            ("curves", half), lambda: Correlator(self._patterns, half)
        )
        spectra, energies = moments.spectra(correlator)
        error = 2 * math.sqrt(self.number) * error_bound(max(energies), 1.0)
        part = -(-rows // 2), columns
        each = (
            correlator.correlate(spectra[i % len(spectra)], i, part) for i in range(self.number)
        )
        least = (error / accuracy) ** 2
        again = np.empty((rows, columns), np.bool_)
        found = TileProjections(each, len(spectra), moments.scatter, error, least)
        out[moments.tile.place], number = self.score(found, again)
        if moments.inexact is not None:
            again |= moments.inexact
            number = int(np.count_nonzero(again))
        return again if number <= _SHARE_AGAIN * again.size else None
