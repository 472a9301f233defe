"""Whether templates are alike, looked at coarsely: what is like a template is no decoy of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from .template import Template

Values = NDArray[np.float64]
Spectrum = NDArray[np.complex128]

# Noise does not count: to so many pixels a template is averaged, and blurred by one in so many.
_SIDE, _BLUR = 32, 5
_REACH = 4  # one side in so many is how far one may lie beside the other
_ALIKE = 0.97  # squared correlation: below it decoys show what else the image repeats
_SHARED = 0.4  # of their pixels, and of the scatter of each, that both must have in common
_LEFT = 1e-3  # share of the pixels' scatter that averages must have to tell anything


def unlike(template: Template, candidates: Iterable[Template]) -> list[Template]:
    """Return those of some templates of one shape that are like neither this nor each other.

    This one, that is, wherever it lies in them: shifted by a quarter at most.
    """
    own, found = Look(template), list[Look]()
    for candidate in map(Look, candidates):
        if not (candidate.is_like(own, _REACH) or any(map(candidate.is_like, found))):
            found.append(candidate)
    return [look.template for look in found]


class Look:
    """A template to be compared with others."""

    def __init__(self, template: Template) -> None:
        self.template = template
        inside = template.inside * template.unit
        self._weights = template.mask.astype(np.float64)
        self._greys = np.zeros(template.greys.shape)
        self._greys[:, template.mask] = inside - inside.mean(axis=1, keepdims=True)

    def is_like(self, other: Look, reach: int | None = None) -> bool:
        """Tell whether it is much like another one, or like its negative.

        Shifted by one side in `reach` at most. Where only fine details tell anything of them they
        are compared as they are.
        """
        one, beside = self._coarse, other._coarse
        if one is None or beside is None:
            one, beside, reach = self._moments, other._moments, None
        return _explained(one, beside, reach) > _ALIKE

    @property
    def _moments(self) -> Values:
        return _moments(self._weights, self._greys)

    @cached_property
    def _coarse(self) -> Values | None:
        """The same of averages over a few pixels; None if these tell nothing."""
        weights, *sums = map(_average, (self._weights, *self._greys))
        if np.square(sums).mean() < _LEFT * np.square(self._greys).mean():
            return None
        return _moments(weights, np.stack(sums) / np.where(weights > 0, weights, 1))


def _average(plane: Values) -> Values:
    width, height = (min(side, _SIDE) for side in plane.shape[::-1])
    small = cv2.resize(plane, (width, height), interpolation=cv2.INTER_AREA)
    size = width // _BLUR | 1, height // _BLUR | 1  # odd
    return np.asarray(cv2.blur(small, size, borderType=cv2.BORDER_CONSTANT))


def _moments(weights: Values, greys: Values) -> Values:
    """Return of each pixel how far it counts, and so much of its greys and of their squares."""
    return np.stack([weights, *weights * greys, *weights * greys**2])


def _explained(one: Values, other: Values, reach: int | None) -> float:
    """Return the largest squared correlation over shifts of one against the other."""
    shape, channels = one.shape[1:], len(one) // 2
    steps = [0 if reach is None else side // reach for side in shape]
    size = [
        fft.next_fast_len(side + step, real=True) for side, step in zip(shape, steps, strict=True)
    ]
    ours, theirs = fft.rfft2(one, size), fft.rfft2(other, size).conj()
    shifts = np.ix_(*(np.arange(-step, step + 1) for step in steps))

    def common_sums(parts: Spectrum, others: Spectrum) -> Values:
        """Sum products over what both have in common, for each shift."""
        return np.asarray(fft.irfft2(parts * others, size)[:, shifts[0], shifts[1]])

    greys, squares = slice(1, channels + 1), slice(channels + 1, None)
    number, x, xx, y, yy, xy = (
        common_sums(ours[some], theirs[others])
        for some, others in (
            (slice(1), slice(1)), (greys, slice(1)), (squares, slice(1)),
            (slice(1), greys), (slice(1), squares), (greys, greys),
        )
    )  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        common, of_one, of_other = (
            (product - left * right / number).sum(axis=0)
            for product, left, right in ((xy, x, y), (xx, x, x), (yy, y, y))
        )
        explained = common**2 / (of_one * of_other)
    telling = number[0] > _SHARED * max(one[0].sum(), other[0].sum())
    telling &= of_one > _SHARED * one[squares].sum()
    telling &= of_other > _SHARED * other[squares].sum()
    return float(explained[telling].max(initial=0.0))
