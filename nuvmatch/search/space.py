"""What is searched: a scene in all poses of a template; and what is found there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._progress import Progress
from ..engine import Image
from .poses import Axis, Values
from .pyramid import Level, Scene, Sized


class Found(NamedTuple):
    """Poses, best first, shape (n, 4), and their scores."""

    poses: Values
    scores: Values

    def of(self, which: Any) -> Found:
        """Return some of them."""
        return Found(self.poses[which], self.scores[which])


NOTHING = Found(np.empty((0, 4)), np.empty(0))

_FINE = 4  # pixels at a template's corner between what is listed
WHATEVER_POSE = (math.inf, math.inf)  # steps: places alone are to be apart


@dataclass
class Space:
    """Which poses of a template are sought in a scene, and how: by what score, in what threads."""

    scene: Scene
    angles: Axis
    scales: Axis
    shape: tuple[int, int]  # of the full template
    dtype: np.dtype[Any]  # of scores
    n_threads: int
    swept: dict[Any, Found] = field(default_factory=dict, init=False, repr=False)  # by `sweep`

    progress = Progress()  # of whoever asks; no field
    parts = 1  # in which it is searched

    def of(self, image: Image) -> Space:
        """Return the same of a part of the scene."""
        return Space(Scene(image), self.angles, self.scales, self.shape, self.dtype, self.n_threads)

    def over(self, seeker: Any, task: Callable[[Any, Space], Found]) -> list[Found]:
        """Have a task find poses, given who seeks and where: in one piece."""
        found = [task(seeker, self)]
        self.progress.advance()
        return found

    def gather(self, poses: Values) -> None:
        """Bring near what is asked of some poses next: of a scene in memory all is."""

    def near(self, pose: Values) -> tuple[Space, Values]:
        """Return where a pose can be looked at closely, and the pose there."""
        return self, pose

    def most_together(self, found: Found) -> int:
        """Count the poses that one task has found, or may have."""
        return len(found.scores)

    def steps(self, level: Level) -> tuple[float, float]:
        """Degrees, and logarithms of scale, that move a template's corner by a pixel."""
        return math.degrees(1 / level.radius), 1 / level.radius

    def loosened(self, level: Level) -> Space:
        """Return the same with all between what is listed too finely to be told apart at once."""
        angles, scales = (
            axis.loosened(_FINE * step)
            for axis, step in zip((self.angles, self.scales), self.steps(level), strict=True)
        )
        if (angles, scales) == (self.angles, self.scales):
            return self
        return Space(self.scene, angles, scales, self.shape, self.dtype, self.n_threads)

    def listed(self, poses: Values) -> Values:
        """Return the nearest poses that are searched."""
        angles, logs = self.angles.nearest(poses[:, 2]), self.scales.nearest(poses[:, 3])
        return np.column_stack([poses[:, :2], angles, logs])

    def sized(self, level: Level, log: float) -> Sized:
        """Return the scene as it is looked at for templates of a scale."""
        return self.scene.at(int(self.scene.sizes(level.pitch, np.array([log]))[0]))

    def apart(
        self, found: Found, pixels: float, steps: tuple[float, float], enough: int | None = None
    ) -> Found:
        """Keep the best of what is near each other in place, angle and scale.

        Parameters
        ----------
        found : Found
        pixels : float
            How near in rows and in columns, of templates of scale 1.
        steps : (float, float)
            How near in degrees, and in logarithms of scale.
        enough : int, optional
            How many to keep.
        """
        kept: list[int] = []
        left, (rows, cols, angles, logs) = np.arange(len(found.scores)), found.poses.T.copy()
        while left.size and len(kept) != enough:
            row, col, angle, log = found.poses[left[0]]
            kept.append(left[0])
            reach = pixels * math.exp(log)
            near = np.flatnonzero((abs(rows - row) <= reach) & (abs(cols - col) <= reach))
            near = near[abs(self.angles.apart(angles[near], angle)) <= steps[0] * 1.01]
            near = near[abs(logs[near] - log) <= steps[1] * 1.01]
            left, rows, cols, angles, logs = (
                np.delete(one, near) for one in (left, rows, cols, angles, logs)
            )
        return found.of(np.array(kept, np.int64))


def ordered(poses: Values, scores: Values) -> Found:
    """Put the best first."""
    order = np.argsort(scores, kind="stable")
    return Found(poses[order], scores[order])
