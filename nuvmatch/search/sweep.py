"""The coarse maps of all poses, the scene turned upright for each."""

from __future__ import annotations

import math

import numpy as np

from ..engine import run
from ..finding.suppression import minima
from .poses import Values, reaches, turns, uprights
from .pyramid import TURNED_SIDE, Level, Sized
from .space import NOTHING, Found, Space, ordered


def sweep(level: Level, space: Space, enough: int) -> Found:
    """Find the lowest places of a map for each pose, the scene turned upright for it.

    What was found before in this space is not sought again.
    """
    key = level, enough
    if key not in space.swept:
        space.swept[key] = _sweep(level, space, enough)
    return space.swept[key]


def _sweep(level: Level, space: Space, enough: int) -> Found:
    poses = poses_of(space, level.radius)
    parts: list[Found] = [NOTHING] * len(poses)
    sizes = space.scene.sizes(level.pitch, poses[:, 3]).tolist()
    for size in set(sizes):
        space.scene.at(size)  # before threads want it

    def look(i: int) -> None:
        parts[i] = _sweep_one(level, space, space.scene.at(sizes[i]), poses[i : i + 1], enough)

    run(look, range(len(poses)), space.n_threads)
    return ordered(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def poses_of(space: Space, radius: float) -> Values:
    """Return poses of the scene's middle, a pixel at the corner of a template apart."""
    angles, logs = space.angles.grid(math.degrees(1 / radius)), space.scales.grid(1 / radius)
    poses = np.empty((logs.size * angles.size, 4))
    poses[:, :2] = (np.array(space.scene.shape) - 1) / 2
    poses[:, 2], poses[:, 3] = np.tile(angles, logs.size), np.repeat(logs, angles.size)
    return poses


def _sweep_one(level: Level, space: Space, sized: Sized, middle: Values, enough: int) -> Found:
    shape, pitch = level.shape, level.pitch
    (sides,) = uprights(middle, space.scene.shape) / pitch
    extent = max(int(sides[0] + 1e-6), shape[0]), max(int(sides[1] + 1e-6), shape[1])
    if max(extent) > TURNED_SIDE:
        raise ValueError(
            f"a scale of {math.exp(middle[0, 3]):.3g} makes the image of shape {space.scene.shape} "
            f"larger than {TURNED_SIDE} pixels a side: it is too small to be searched"
        )
    pixels, bad = sized.upright(middle, pitch, extent)
    scores = np.empty((extent[0] - shape[0] + 1, extent[1] - shape[1] + 1), space.dtype)
    level.scorer.fill(space.scene.image_of(pixels, bad), scores, 1)
    (turn,) = turns(middle[:, 2], middle[:, 3])
    down, across = (
        step * (np.arange(n) - (n - 1) / 2) for n, step in zip(scores.shape, pitch, strict=True)
    )
    # One coarse pixel beyond the border may be within it when it is looked at closely.
    margin = reaches(middle, space.shape)[0] - pitch.max() * math.exp(middle[0, 3])
    for most, (by_row, by_col) in zip(middle[0, :2] - margin, turn, strict=True):
        # What lies farther out is made up, and must not take places from what is within.
        scores[abs(by_row * down[:, None] + by_col * across) > most] = np.nan
    rows, cols, lows = minima(scores, math.inf)
    best = np.argsort(lows, kind="stable")[:enough]
    centers = middle[0, :2] + np.stack([down[rows], across[cols]], 1) @ turn.T
    poses = np.repeat(middle, best.size, axis=0)
    poses[:, :2] = centers[best]
    return Found(poses, lows[best])
