"""Whether templates are alike: what is like a template is no decoy of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from .template import Template

Values = NDArray[np.float64]
Spectrum = NDArray[np.complex128]

_SIDE = 32  # pixels that a template is averaged to
_REACH = 4  # one side in so many is how far one may lie beside the other
_ALIKE = 0.97  # squared correlation, but for noise: below it decoys show what else there is
_NOISE = 0.2  # share of the scatter that may be noise
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
        noise = np.array([[[_noise_of(plane, weights)]] for plane in averages])
        # Of each pixel how far it counts, and so much of its greys and of their squares but noise.
        squares = averages**2
        noise = np.minimum(noise, _NOISE * squares.mean(axis=(1, 2), keepdims=True))
        self._moments = np.stack([weights, *weights * averages, *weights * (squares - noise)])

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
    return np.asarray(cv2.resize(plane, (width, height), interpolation=cv2.INTER_AREA))


def _noise_of(plane: Values, weights: Values) -> float:
    """Estimate the variance of white noise, by the median of what no plane explains in 3 x 3."""
    if min(plane.shape) < 3:
        return 0.0
    second = np.diff(np.diff(plane, 2, axis=0), 2, axis=1)  # its variance is 36 times that of noise
    known = weights[1:-1, 1:-1] >= 1
    return float(np.median(abs(second[known])) / 0.6745 / 6) ** 2 if known.any() else 0.0


def _explained(one: Values, other: Values) -> Values:
    """Return the squared correlation for shifts of one against the other; 0 where none is told."""
    channels, steps = len(one) // 2, [side // _REACH for side in one.shape[1:]]
    size = [cv2.getOptimalDFTSize(side + side // _REACH) for side in one.shape[1:]]
    ours, theirs = np.fft.rfft2(one, size), np.fft.rfft2(other, size).conj()
    shifts = np.ix_(*(np.arange(-step, step + 1) for step in steps))

    def common_sums(parts: Spectrum, others: Spectrum) -> Values:
        """Sum products over what both have in common, for each shift."""
        return np.asarray(np.fft.irfft2(parts * others, size)[:, shifts[0], shifts[1]])

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
