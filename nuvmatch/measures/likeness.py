"""Whether templates are alike: what is like a template is no decoy of it."""

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
_ELSEWHERE = 0.5  # squared correlation with itself that far away, of what stands out
_SHARED = 0.4  # of their pixels, and of the scatter of each, that both must have in common
_LEFT = 1e-3  # share of the pixels' scatter that averages must have to tell anything


def unlike(template: Template, candidates: Iterable[Template]) -> list[Template]:
    """Return those of some templates of one shape that equal neither this nor each other.

    And are not much like it, if it stands out as a disc does: lines and edges are as like what lies
    beside them, and many images are full of them.
    """
    own, found = Look(template), list[Template]()
    for candidate in candidates:
        equal = any(are_equal(candidate, one) for one in (template, *found))
        if not (equal or (own.stands_out and Look(candidate).is_like(own))):
            found.append(candidate)
    return found


def are_equal(one: Template, other: Template) -> bool:
    """Tell whether all that counts is the same, or the same inverted."""
    if not np.array_equal(one.mask, other.mask):
        return False
    ends = one.inside.min(axis=1, keepdims=True) + one.inside.max(axis=1, keepdims=True)
    return any(np.array_equal(part, other.inside) for part in (one.inside, ends - one.inside))


class Look:
    """A template as it is seen from afar."""

    def __init__(self, template: Template) -> None:
        inside = template.inside * template.unit
        greys = np.zeros(template.greys.shape)
        greys[:, template.mask] = inside - inside.mean(axis=1, keepdims=True)
        weights, *sums = map(_average, (template.mask.astype(np.float64), *greys))
        self._tells = bool(np.square(sums).mean() > _LEFT * np.square(greys).mean())
        averages = np.stack(sums) / np.where(weights > 0, weights, 1)
        # Of each pixel how far it counts, and so much of its greys and of their squares.
        self._moments = np.stack([weights, *weights * averages, *weights * averages**2])

    def is_like(self, other: Look) -> bool:
        """Tell whether it is much like another one, or its negative, shifted by a quarter or less.

        What averages say nothing of is like nothing.
        """
        if not (self._tells and other._tells):
            return False
        return bool((_explained(self._moments, other._moments) > _ALIKE).any())

    @cached_property
    def stands_out(self) -> bool:
        """Whether shifted by a quarter it is another: it is no line, edge or gradient."""
        own = _explained(self._moments, self._moments)
        own[1:-1, 1:-1] = 0
        return self._tells and bool((own < _ELSEWHERE).all())


def _average(plane: Values) -> Values:
    width, height = (min(side, _SIDE) for side in plane.shape[::-1])
    small = cv2.resize(plane, (width, height), interpolation=cv2.INTER_AREA)
    size = width // _BLUR | 1, height // _BLUR | 1  # odd
    return np.asarray(cv2.blur(small, size, borderType=cv2.BORDER_CONSTANT))


def _explained(one: Values, other: Values) -> Values:
    """Return the squared correlation for shifts of one against the other; 0 where none is told."""
    channels, steps = len(one) // 2, [side // _REACH for side in one.shape[1:]]
    size = [fft.next_fast_len(side + side // _REACH, real=True) for side in one.shape[1:]]
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
    return np.where(telling, explained, 0.0)
