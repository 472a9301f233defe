"""Fractions of a pixel from the pixels: Gauss-Newton, the tone curve projected out.

What is minimised is D = S / V of the window resampled between pixels: S its sum of squares
within the template's bins, V its scatter. Means of bins are linear in the window, so that they
are eliminated (variable projection [1]_): with P the projection off them, a step solves
J' P J s = D J' w0 - J' P w, where w0 is the window less its mean.

How exact the place is, residuals and slopes tell together, summed over blocks of pixels whose
errors may go together (the sandwich estimate of covariances [2]_): what the bins leave over is
not only noise but the template's own tones within a bin. Noise in the slopes is taken off.

References
----------
.. [1] G. Golub, V. Pereyra, *Separable nonlinear least squares: the variable projection method
   and its applications*, Inverse Problems 19 (2003).
.. [2] H. White, *A heteroskedasticity-consistent covariance matrix estimator and a direct test
   for heteroskedasticity*, Econometrica 48 (1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .._checks import as_floats
from ..binning import Binning
from ..engine import Image, unit_scale
from ..finding import Fraction

Values = NDArray[np.float64]

_ROUNDS, _ENOUGH = 8, 0.002  # steps at most; shorter ones are not worth another, in pixels
_LONGEST, _FARTHEST = 0.7, 1.0  # a step, and all of them, in pixels
MARGIN = 6  # pixels around a window that a cubic spline is made of
_SLOPE = 0.7  # pixels: slopes are of a Gaussian, or their noise passes for pattern
AROUND = 3  # pixels on either side that it takes
_NOISE = 1 / (8 * math.pi * _SLOPE**4)  # variance of a slope, of white noise of variance 1
_DOUBT = 4.0  # what is taken off n slopes for noise is right to 4 / sqrt(n) of it: slopes overlap
_SINGULAR = 1e8  # condition of the equations beyond which nothing tells along some direction

_SHIFTS = np.eye(2)[:, :, None]  # steps down and across

# Errors of neighbouring pixels go together: those of blocks of so many a side do not, nearly.
_BLOCK, _LEAST_BLOCKS = 4, 4


class Look(NamedTuple):
    """How well a window is explained, and the step that would do best."""

    score: float
    step: Values
    of_blocks: Values  # what residuals and slopes have in common, summed over blocks: (k, blocks)
    normal: Values  # products of slopes, noise taken off: (k, k)
    doubt: Values  # how far off that may be, by chance

    @property
    def sigma(self) -> float:
        """Standard deviation of the place, along rows and along columns; infinite if not told."""
        blocks = self.of_blocks.shape[1]
        least = np.linalg.eigvalsh(self.normal - self.doubt)[0]  # 0 along a straight edge
        if blocks < _LEAST_BLOCKS or least <= 0:
            return math.inf
        parts = np.linalg.inv(self.normal) @ self.of_blocks
        covariance = parts @ parts.T * blocks / (blocks - 1)
        return math.sqrt(np.trace(covariance[:2, :2]) / 2)


class Precise:
    """Places windows of images to a fraction of a pixel.

    Parameters
    ----------
    bins : tuple of Binning
        How the template's greys are cut, one for each channel.
    """

    def __init__(self, bins: tuple[Binning, ...]) -> None:
        labels = [cut.labels for cut in bins]
        self._mask = labels[0] >= 0
        self._labels = [label[self._mask] for label in labels]
        self._counts = [np.bincount(label).astype(float) for label in self._labels]
        rows, cols = np.nonzero(self._mask)
        across = self._mask.shape[1] // _BLOCK + 1
        _, self._blocks = np.unique(rows // _BLOCK * across + cols // _BLOCK, return_inverse=True)

    def place(
        self, image: Image, row: int, col: int, start: tuple[float, float]
    ) -> Fraction | None:
        """Find the lowest score beside a window.

        Parameters
        ----------
        image : Image
        row, col : int
            Top-left pixel of the window.
        start : (float, float)
            Rows and columns beside it, to begin at.

        Returns
        -------
        Fraction or None
            None where a pixel beside the window is bad, or there are too few to tell. Sigma is
            infinite where slopes may be noise alone: along a straight edge.
        """
        height, width = self._mask.shape
        top, left = max(row - MARGIN, 0), max(col - MARGIN, 0)
        bottom, right = (
            min(first + side + MARGIN, end)
            for first, side, end in zip((row, col), (height, width), image.shape, strict=True)
        )
        under = image.crop(top, left, bottom - top, right - left)
        if under.bad is not None and under.bad.any():
            return None
        greys, _ = as_floats(under.planes)
        if not np.isfinite(greys).all():
            return None
        splines = [_spline(plane) for plane in unit_scale(float(abs(greys).max())) * greys]
        corner = np.array([row - top, col - left])
        at, best = np.array(start), None
        for _ in range(_ROUNDS):
            windows = [self._resample(spline, corner + at) for spline in splines]
            found = self.look(windows, _SHIFTS)
            if found is None:
                break
            if best is None or found.score < best[1].score:
                best = at, found
            step = found.step * min(1.0, _LONGEST / max(float(abs(found.step).max()), 1e-9))
            at = at + step
            if abs(step).max() < _ENOUGH or abs(at).max() > _FARTHEST:
                break
        if best is None or best[1].of_blocks.shape[1] < _LEAST_BLOCKS:
            return None
        return Fraction((float(best[0][0]), float(best[0][1])), best[1].sigma)

    def count(self, window: Values) -> Values:
        """Return the greys that count of planes of a window, shape (.., pixels)."""
        return np.asarray(window[..., self._mask])

    def look(self, windows: Sequence[Values], moves: Values) -> Look | None:
        """Linearise how well a window is explained: None if that tells nothing.

        Parameters
        ----------
        windows : sequence of ndarray of shape (3, pixels)
            Greys that count of each channel, and their slopes down and across.
        moves : ndarray of shape (k, 2, 1) or (k, 2, pixels)
            How far each of k steps moves a pixel, down and across; shifts come first.
        """
        scatter, slope = 0.0, np.zeros(len(moves))
        left = []
        for channel, labels, counts in zip(windows, self._labels, self._counts, strict=True):
            window = np.concatenate([channel[:1], (moves * channel[1:]).sum(axis=1)])
            rest = window[0] - window[0].mean()
            scatter += rest @ rest
            slope += window[1:] @ rest
            left.append(_off_bins(window, labels, counts))
        residuals, gradients = np.split(np.stack(left, axis=1), [1])  # (1 or k, channels, pixels)
        within = float((residuals**2).sum())
        normal = _products(gradients)
        if scatter == 0 or not np.linalg.cond(normal) < _SINGULAR:  # nor NaN
            return None
        score, inverse = within / scatter, np.linalg.inv(normal)
        each = (residuals * gradients).sum(axis=1)
        step = inverse @ (score * slope - each.sum(axis=1))
        noise = _NOISE * within / moves.shape[2] * _products(moves)
        of_blocks = np.array([np.bincount(self._blocks, one) for one in each], float)
        doubt = _DOUBT / math.sqrt(residuals.size) * noise
        return Look(score, step, of_blocks, normal - noise, doubt)

    def _resample(self, spline: Values, at: Values) -> Values:
        """Return greys that count, and their slopes down and across: shape (3, pixels)."""
        height, width = (side + 2 * AROUND for side in self._mask.shape)
        return self.count(with_slopes(_between(spline, at - AROUND, (height, width))))


def with_slopes(plane: Values) -> Values:
    """Return a plane without what is around it, and its slopes down and across: (3, h, w)."""
    inner = np.s_[AROUND:-AROUND, AROUND:-AROUND]
    down = cv2.sepFilter2D(plane, cv2.CV_64F, _SMOOTHING, _DERIVATIVE)
    across = cv2.sepFilter2D(plane, cv2.CV_64F, _DERIVATIVE, _SMOOTHING)
    return np.stack([plane[inner], down[inner], across[inner]])


def _gaussian() -> tuple[Values, Values]:
    """Return a Gaussian's taps, and those times what makes it a derivative."""
    x = np.arange(-AROUND, AROUND + 1.0)
    smooth = np.exp(-(x**2) / (2 * _SLOPE**2))
    smooth /= smooth.sum()
    return smooth, x * smooth / _SLOPE**2


_SMOOTHING, _DERIVATIVE = _gaussian()


def _products(rows: Values) -> Values:
    """Return the scalar products of rows, whatever their shape, with each other."""
    flat = rows.reshape(len(rows), -1)
    return np.asarray(flat @ flat.T)


def _off_bins(values: Values, labels: NDArray[np.int64], counts: Values) -> Values:
    """Take the mean of each bin off rows of values."""
    sums = np.array([np.bincount(labels, row) for row in values])
    return np.asarray(values - (sums / counts)[:, labels])


def _spline(plane: Values) -> Values:
    """Make the coefficients of a cubic spline through a plane, less its mean, and around it."""
    from scipy import ndimage  # slow to import

    inner = ndimage.spline_filter(plane - plane.mean(), order=3, mode="mirror")
    return np.pad(inner, MARGIN, mode="reflect")


def _between(spline: Values, at: Values, shape: tuple[int, int]) -> Values:
    """Take a plane's values at a fraction of a pixel, and on from there pixel by pixel."""
    first = np.floor(at).astype(int)
    down, across = (_taps(part) for part in at - first)
    top, left = first + MARGIN - 1
    under = spline[top : top + shape[0] + 3, left : left + shape[1] + 3]
    sampled = cv2.sepFilter2D(under, cv2.CV_64F, across, down)  # in its middle: taps are even
    return np.asarray(sampled[2:-1, 2:-1], float)


def _taps(part: float) -> Values:
    """Weigh the four coefficients around a place by the cubic B-spline."""
    rest = 1 - part
    inner = [4 - 6 * x**2 + 3 * x**3 for x in (part, rest)]
    return np.array([rest**3, *inner, part**3]) / 6
