"""Non-maximum suppression over matches of several templates, turned and resized as they may be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import Match
from .rules import PeakRule

Values = NDArray[np.float64]

_PARALLEL = 1e-6  # degrees between sides, at most


class Outlines:
    """What matches cover of the image, edges of pixels included.

    Parameters
    ----------
    matches : sequence of Match
    """

    def __init__(self, matches: Sequence[Match]) -> None:
        shapes = [m.template_shape or (m.height, m.width) for m in matches]
        self._sides = np.array(shapes, float).reshape(-1, 2)
        scales = np.array([m.scale for m in matches])
        self._sizes = self._sides * scales[:, None]
        self.centers = np.array([m.center for m in matches]).reshape(-1, 2)
        self._angles = np.array([m.angle for m in matches])
        self._turns = np.radians(self._angles)
        self._radii = np.hypot(*self._sizes.T) / 2

    def near(self, i: int, others: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of some others that may share anything with one."""
        apart = np.hypot(*(self.centers[others] - self.centers[i]).T)
        return np.asarray(others[apart < self._radii[others] + self._radii[i]])

    def overlap(self, i: int, j: int) -> float:
        """Return intersection over union; over the smaller one where they are of unlike size."""
        areas = self._sizes[[i, j]].prod(axis=1)
        shared = self._shared(i, j)
        alike = (self._sizes[i] == self._sizes[j]).all()
        return shared / float(areas.sum() - shared if alike else areas.min())

    def _shared(self, i: int, j: int) -> float:
        turn = self._turns[i]
        cos, sin = round(math.cos(turn), 15), round(math.sin(turn), 15)  # of quarters exactly
        back = np.array([[cos, -sin], [sin, cos]])
        quarters = round((self._angles[j] - self._angles[i]) / 90)
        if abs(self._angles[j] - self._angles[i] - 90 * quarters) > _PARALLEL:
            return _within((self._corners(j) - self.centers[i]) @ back, self._sizes[i] / 2)
        apart = abs((self.centers[j] - self.centers[i]) @ back)
        one, other = self._sizes[i], self._sizes[j][:: -1 if quarters % 2 else 1]
        sides = np.minimum((one + other) / 2 - apart, np.minimum(one, other))
        return float(np.maximum(sides, 0).prod())

    def _corners(self, i: int) -> Values:
        cos, sin = math.cos(self._turns[i]), math.sin(self._turns[i])
        corners = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) * self._sizes[i] / 2
        return np.asarray(self.centers[i] + corners @ np.array([[cos, sin], [-sin, cos]]))


def _within(corners: Values, halves: Values) -> float:
    """Return how much of a polygon is in a box about 0: OpenCV errs where sides touch corners."""
    outline: list[list[float]] = corners.tolist()
    limits: list[float] = halves.tolist()
    for axis, way in ((0, -1), (0, 1), (1, -1), (1, 1)):
        ends, outline = outline, []
        beyond = [way * end[axis] - limits[axis] for end in ends]
        for k, (end, out) in enumerate(zip(ends, beyond, strict=True)):
            last, before = ends[k - 1], beyond[k - 1]
            if before * out < 0:
                part = before / (before - out)
                outline.append([a + part * (b - a) for a, b in zip(last, end, strict=True)])
            if out <= 0:
                outline.append(end)
    crosses = [outline[k - 1][0] * y - outline[k - 1][1] * x for k, (x, y) in enumerate(outline)]
    return abs(sum(crosses)) / 2


def compete(
    matches: Sequence[Match],
    names: Sequence[Any],
    order: NDArray[np.int64],
    rule: PeakRule,
    max_per_name: int | None = None,
    rivals: Collection[Any] = (),
) -> list[int]:
    """Let matches compete for each place: of those too near each other the best is taken.

    Parameters
    ----------
    matches : sequence of Match
    names : sequence
        Of the template of each.
    order : ndarray of shape (n,)
        Of the matches, best first.
    rule : PeakRule
        How near is too near, and how many are taken.
    max_per_name : int, optional
        How many of one name are taken.
    rivals : collection
        Names whose matches keep others away wherever they are, and are neither counted nor
        returned.

    Returns
    -------
    list of int
        Which are taken, best first.
    """
    outlines = Outlines(matches)
    taken: list[int] = []
    of_name: Counter[Any] = Counter()
    for i in order.tolist():
        name = names[i]
        if of_name.total() == rule.max_matches:
            break
        if of_name[name] == max_per_name or _is_near(outlines, i, taken, rule):
            continue
        taken.append(i)
        if name not in rivals:
            of_name[name] += 1
    return [i for i in taken if names[i] not in rivals]


def _is_near(outlines: Outlines, i: int, taken: list[int], rule: PeakRule) -> bool:
    others = np.array(taken, np.int64)
    if rule.min_distance is not None:
        apart = np.hypot(*(outlines.centers[others] - outlines.centers[i]).T)
        return bool((apart < rule.min_distance).any())
    near = outlines.near(i, others).tolist()
    return any(outlines.overlap(i, j) > rule.max_overlap for j in near)
