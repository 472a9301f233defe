"""Templates turned and resized in an image out of memory: each block is a scene of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import delayed

from .. import _checks
from ..search.posed import Posed
from ..search.poses import Values, reaches
from ..search.space import Found, Space, ordered
from .blocks import Ends, LazyImage, Rect, travelling
from .running import naming, run
from .scene import Known

_SIDE = 2048  # pixels of a block
_AROUND = 8  # pixels around a template, by which it is placed
_TEMPLATES = 4  # that a block is high and wide at least
_BESIDE = 1.0  # pixels at scale 1: where blocks meet, each places a template a little differently


@dataclass
class LazySpace(Space):
    """Which poses of a template are sought in an image out of memory."""

    lazy: LazyImage

    @classmethod
    def for_seeker(cls, seeker: Posed, lazy: LazyImage) -> LazySpace:
        """Make it for who seeks, and a part of the image."""
        kind = seeker.matcher._map_type(lazy.scene.pixels.dtype)
        scene: Any = lazy  # of which only the shape is asked
        return cls(
            scene, seeker._angles, seeker._scales, seeker.matcher.shape, kind,
            seeker.matcher._threads, lazy,
        )  # fmt: skip

    @property
    def _reach(self) -> int:
        """How far pixels of a template may be from its center."""
        return math.ceil(math.hypot(*self.shape) / 2 * math.exp(self.scales.high)) + _AROUND

    @property
    def _cuts(self) -> list[list[int]]:
        """Where blocks begin and end, in which centers of templates are."""
        wanted = max(_SIDE, _TEMPLATES * self._reach)
        cuts = []
        for side in self.lazy.shape:
            number = max(side // wanted, 1)
            cuts.append([side * i // number for i in range(number + 1)])
        return cuts

    @property
    def parts(self) -> int:  # type: ignore[override]  # in memory it is 1
        """How many blocks there are."""
        rows, cols = self._cuts
        return (len(rows) - 1) * (len(cols) - 1)

    def over(self, seeker: Any, task: Callable[[Any, Space], Found]) -> list[Found]:
        """Have a task find poses in each block, those with their centers there or just beside."""
        one = delayed(_do, pure=False)
        shared = travelling(seeker), *(delayed(each, pure=True) for each in (self.lazy.known, task))
        reach = self._reach
        tasks, names = [], []
        for rows, cols, pixels, mask in self.lazy.parts(self._cuts, [(reach, reach)] * 2):
            names.append(self.lazy.name(rows, cols))
            tasks.append(one(pixels, mask, *shared, rows, cols, reach, names[-1]))
        by_number = dict(run(tasks, names, self.progress.advance))
        found = [by_number[i] for i in range(len(tasks))]
        return self._once(found, self.steps(seeker._pyramid.full))

    def _once(self, found: list[Found], steps: tuple[float, float]) -> list[Found]:
        """Keep the better one of what two blocks have found where they meet."""
        every = ordered(*(np.concatenate(part) for part in zip(*found, strict=True)))
        reach = 2 * _BESIDE * np.exp(every.poses[:, 3])
        at_seams = np.zeros(len(reach), np.bool_)
        for ends, centers in zip(self._cuts, every.poses[:, :2].T + 0.5, strict=True):
            before, behind = (np.searchsorted(ends[1:-1], centers + way) for way in (-reach, reach))
            at_seams |= before < behind
        return [every.of(~at_seams), self.apart(every.of(at_seams), _BESIDE, steps)]

    def gather(self, poses: Values) -> None:
        """Read what is about several poses at a time."""
        self.lazy.gather([self._about(pose) for pose in poses])

    def near(self, pose: Values) -> tuple[Space, Values]:
        """Read what is about a pose."""
        rect = self._about(pose)
        there = pose.copy()
        there[:2] -= rect[:2]
        return self.of(self.lazy.crop(*rect)), there

    def _about(self, pose: Values) -> Rect:
        """Return the part of the image that is looked at about a pose."""
        reach = np.ceil(reaches(pose[None], self.shape)[0]).astype(int) + _AROUND
        first = np.maximum(np.floor(pose[:2]).astype(int) - reach, 0)
        stop = np.minimum(np.ceil(pose[:2]).astype(int) + reach + 1, self.lazy.shape)
        sides = stop - first
        return int(first[0]), int(first[1]), int(sides[0]), int(sides[1])

    def most_together(self, found: Found) -> int:
        """Count the poses in the fullest block."""
        blocks = [
            np.searchsorted(ends[1:-1], centers + 0.5, side="right")
            for ends, centers in zip(self._cuts, found.poses[:, :2].T, strict=True)
        ]
        return int(np.unique(blocks, axis=1, return_counts=True)[1].max(initial=0))


def _do(
    pixels: Any, mask: Any, seeker: Posed, known: Known, task: Callable[[Posed, Space], Found],
    rows: Ends, cols: Ends, reach: int, name: str,
) -> Found:  # fmt: skip
    """Find poses in a block, those whose centers are there or, by a hair, beside it."""
    with naming(name), _checks.silence():
        image = known.read(seeker.matcher, pixels, mask)
        found = task(seeker, seeker.space(image))
        poses = found.poses.copy()
        poses[:, :2] += np.maximum(np.array([rows[0], cols[0]]) - reach, 0)
        own, beside = np.ones(len(poses), np.bool_), _BESIDE * np.exp(poses[:, 3])
        for centers, (first, stop) in zip(poses[:, :2].T + 0.5, (rows, cols), strict=True):
            own &= (centers >= first - beside) & (centers < stop + beside)
        return Found(poses, found.scores).of(own)
