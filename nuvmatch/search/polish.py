"""The last fractions of a pixel, a degree, a scale: Gauss-Newton, the tone curve projected out."""

from __future__ import annotations

import math

import numpy as np

from ..measures.precise import AROUND, Look, Precise, with_slopes
from .poses import Values, turns
from .pyramid import Level
from .space import Space

Effort = tuple[int, float]  # steps at most; a shorter one is the last, in pixels at the corner

ON_THE_WAY, AT_THE_END = (5, 0.03), (6, 0.003)
_LONGEST, _FARTHEST = 1.5, 3.0  # a step, and all of them, in pixels at the corner


def polish_all(level: Level, space: Space, poses: Values, effort: Effort = AT_THE_END) -> Values:
    """Move poses to where Gauss-Newton has them."""
    placer = level.placer()
    if placer is None:
        return poses
    moved = [polish(level, space, placer, pose, effort)[0] for pose in poses]
    return np.array(moved).reshape(-1, 4)


def polish(
    level: Level, space: Space, placer: Precise, pose: Values, effort: Effort = AT_THE_END
) -> tuple[Values, Look | None]:
    """Place a pose by Gauss-Newton, and tell how exact it is: in place, and what is free."""
    sized = space.sized(level, float(pose[3]))
    moves = placer.count(_moves(level, space))
    lengths = np.array([1.0, 1.0] + [level.radius] * (len(moves) - 2))
    around = level.shape[0] + 2 * AROUND, level.shape[1] + 2 * AROUND
    best: tuple[Values, Look] | None = None
    at = pose
    for _ in range(effort[0]):
        planes = sized.smooth(at, level.pitch, around)
        look = placer.look([placer.count(with_slopes(plane)) for plane in planes], moves)
        if look is None:
            break
        if best is None or look.score < best[1].score:
            best = at, look
        longest = float((abs(look.step) * lengths).max())
        at = _moved(at, look.step * min(1.0, _LONGEST / max(longest, 1e-9)), level, space)
        if longest < effort[1]:
            break
    if best is None:
        return pose, None
    return (pose, best[1]) if _is_far(best[0], pose, level, space) else best


def _moves(level: Level, space: Space) -> Values:
    """Return how far steps of one move pixels, down and across: shape (k, 2, height, width)."""
    middle = (np.array(level.shape) - 1) / 2
    down, across = np.indices(level.shape) - middle[:, None, None]
    one, none = np.ones(level.shape), np.zeros(level.shape)
    moves = [[one, none], [none, one]]
    if space.angles.free:
        moves.append([-across, down])
    if space.scales.free:
        moves.append([down, across])
    return np.array(moves)


def _moved(pose: Values, step: Values, level: Level, space: Space) -> Values:
    """Take a step: in the template's own rows and columns, and in what is free, in its range."""
    at = pose.copy()
    (turn,) = turns(at[2:3], at[3:4])
    at[:2] += turn @ (step[:2] * level.pitch)
    if space.angles.free:
        at[2] += math.degrees(step[2])
    if space.scales.free:
        at[3] = np.clip(at[3] + step[-1], space.scales.low, space.scales.high)
    return at


def _is_far(moved: Values, pose: Values, level: Level, space: Space) -> bool:
    """Whether it went astray."""
    angle, log = space.steps(level)
    pixel = level.pitch * math.exp(pose[3])
    reach = _FARTHEST * np.array([*pixel, angle, log])
    return bool((abs(moved - pose) > reach).any())
