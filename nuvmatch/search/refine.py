"""From the coarse maps of all poses to the best few at full resolution."""

from __future__ import annotations

import numpy as np

from .polish import AT_THE_END, ON_THE_WAY, Effort, polish_all
from .poses import Values, are_inside, inside, reaches, turns
from .pyramid import Level
from .space import WHATEVER_POSE, Found, Space, ordered
from .sweep import sweep

# At each level: pixels that windows are shifted by, and rounds of looking at poses beside. From
# the coarse level on so many candidates are kept, more of them at a closer look as far as the
# coarse maps have them, and some for each match that is wanted.
_SHIFTS, _ROUNDS = 2, (2, 3)
_KEPT, _KEPT_CLOSER, _KEPT_EACH = (100, 30, 8), (800, 120, 16), (6, 3, 1.5)
_A_POSE = 16  # candidates of one pose, and of each match that is wanted

_SLACK = 0.5  # pixels beyond the border
_EXACT = 1e-9  # degrees, and logarithms of scale
_APART = 2.0  # coarse pixels between candidates of poses that are a step apart or less
_AT_ONCE = 2**21  # pixels of windows that are turned upright at a time


def seek(
    levels: list[Level],
    space: Space,
    wanted: int,
    *,
    closer: bool = False,
    apart: float | None = None,
) -> Found:
    """Find the best poses of a template in a scene, coarse to fine.

    Parameters
    ----------
    levels : list of Level
        The coarsest first.
    space : Space
    wanted : int
        How many matches there may be.
    closer : bool
        Whether to look at more candidates: at what looks like nothing while it is small.
    apart : float, optional
        Pixels between their places, whatever their poses. None: several poses of one are tried.
    """
    least = _KEPT_CLOSER if closer else _KEPT
    kept = [round(own + each * wanted) for own, each in zip(least, _KEPT_EACH, strict=True)]
    coarse, full = levels[0], levels[-1]
    found = sweep(coarse, space, _A_POSE + wanted)
    pixels = _APART * float(coarse.pitch.max())
    if apart is None:
        found = space.apart(found, pixels, space.steps(coarse), kept[0])
    else:
        found = space.apart(found, apart, WHATEVER_POSE, kept[0])
    middle = levels[min(1, len(levels) - 1)]
    found = _climb(middle, space, found, space.steps(coarse), _ROUNDS[0])
    found = _distinct(middle, space, found, kept[1])
    if middle is not full:
        found = _best_shifts(full, space, _polished(middle, space, found, ON_THE_WAY))
    found = _distinct(full, space, found, kept[2])
    step, log_step = space.steps(full)
    found = _climb(full, space, found, (2 * step, 2 * log_step), _ROUNDS[1])
    found = _placed(full, space, found)
    return found.of(inside(found.poses, space.shape, space.scene.shape, _SLACK))


def _distinct(level: Level, space: Space, found: Found, enough: int) -> Found:
    """Keep the best of what is all but the same pose at a level."""
    step, log_step = space.steps(level)
    found = ordered(*found.of(np.isfinite(found.scores)))
    return space.apart(found, float(level.pitch.max()), (step, log_step), enough)


def _best_shifts(level: Level, space: Space, found: Found) -> Found:
    """Score poses at a level, each where it is best within some pixels."""
    return ordered(*_look(level, space, found.poses, _SHIFTS))


def _climb(
    level: Level, space: Space, found: Found, steps: tuple[float, float], rounds: int
) -> Found:
    """Move poses to the best of those half a step beside them, until none is better."""
    poses, scores = found.poses.copy(), np.full(len(found.scores), np.inf)
    moving = np.arange(len(scores))
    for _ in range(rounds):
        angles = space.angles.beside(poses[moving, 2], steps[0] / 2)
        logs = space.scales.beside(poses[moving, 3], steps[1] / 2)
        around = np.repeat(poses[moving, None], 9, axis=1)
        around[..., 2] = np.repeat(angles, 3, axis=1)
        around[..., 3] = np.tile(logs, (1, 3))
        each, index = np.unique(around.reshape(-1, 4), axis=0, return_inverse=True)
        best, value = _look(level, space, each, _SHIFTS)
        value = value[index].reshape(-1, 9)
        which = value.argmin(axis=1)
        lowest = value[np.arange(len(moving)), which]
        better = lowest < scores[moving]
        chosen = best[index].reshape(-1, 9, 4)[np.arange(len(moving)), which]
        poses[moving[better]], scores[moving[better]] = chosen[better], lowest[better]
        moving = moving[better & (which != 4)]
        if not moving.size:
            break
    return Found(poses, scores)


def _look(level: Level, space: Space, poses: Values, reach: int) -> tuple[Values, Values]:
    """Return, for each pose, the best place within some pixels, and its score."""
    poses, scores = poses.copy(), np.full(len(poses), np.inf)
    side = 2 * reach + 1
    shape = level.shape[0] + side - 1, level.shape[1] + side - 1
    sizes = space.scene.sizes(level.pitch, poses[:, 3])
    batch = max(_AT_ONCE // (shape[0] * shape[1]), 1)
    for size in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == size)
        for first in range(0, len(members), batch):
            which = members[first : first + batch]
            pixels, bad = space.scene.at(size).upright(poses[which], level.pitch, shape)
            out = np.empty((side, pixels.shape[1] - level.shape[1] + 1), space.dtype)
            level.scorer.fill(space.scene.image_of(pixels, bad), out, space.n_threads)
            maps = np.stack([out[:, i * shape[1] :][:, :side].ravel() for i in range(len(which))])
            centers, within = _shifted(level, space, poses[which], reach)
            maps = np.where(np.isnan(maps) | np.logical_not(within), np.inf, maps)
            best = maps.argmin(axis=1)
            scores[which] = maps[np.arange(len(which)), best]
            poses[which, :2] = centers[np.arange(len(which)), best]
    return poses, scores


def _shifted(level: Level, space: Space, poses: Values, reach: int) -> tuple[Values, Values]:
    """Return where centers are when windows are shifted, shape (n, shifts, 2), and which may be.

    Beyond the border there are no pixels, but such as are made up of those within.
    """
    shifts = np.arange(-reach, reach + 1)
    every = np.stack(np.meshgrid(shifts, shifts, indexing="ij"), axis=-1).reshape(-1, 2)
    gone = np.einsum("nij,kj->nki", turns(poses[:, 2], poses[:, 3]), every * level.pitch)
    centers = poses[:, None, :2] + gone
    slack = _SLACK + (level.pitch.max() - 1) / 2 * np.exp(poses[:, 3])  # half a pixel of the level
    least = reaches(poses, space.shape) - slack[:, None]
    return centers, are_inside(centers, least[:, None], space.scene.shape)


def _placed(level: Level, space: Space, found: Found) -> Found:
    """Polish poses to the end, and choose of what is listed more finely than a pixel shows.

    That a place is off by half a pixel weighs more than to be a pixel beside at the corner, so
    that places are polished first as if all between were listed, too.
    """
    loosened = space.loosened(level)
    if loosened is not space:
        poses = space.listed(polish_all(level, loosened, found.poses, ON_THE_WAY))
        found = _better_of(_scored(level, space, poses), found)
    return ordered(*_on_pixels(level, space, _moved(level, space, found, AT_THE_END)))


def _on_pixels(level: Level, space: Space, found: Found) -> Found:
    """Take poses as drawn, turned by quarters and not resized, where these score better.

    They lie on whole pixels, between which nothing needs to be interpolated.
    """
    quarters, square = np.rint(found.poses[:, 2] / 90), np.array(level.shape)
    shapes = np.where(quarters[:, None] % 2 == 1, square[::-1], square)
    centers = np.rint(found.poses[:, :2] - (shapes - 1) / 2) + (shapes - 1) / 2
    drawn = np.column_stack([centers, 90 * quarters, np.zeros(len(centers))])
    poses = space.listed(drawn)
    off = abs(np.stack([space.angles.apart(poses[:, 2], drawn[:, 2]), poses[:, 3]]))
    step, log_step = space.steps(level)
    gone = abs(drawn - found.poses)
    sought = (off < _EXACT).all(axis=0) & (gone[:, 2] <= step) & (gone[:, 3] <= log_step)
    scores = np.full(len(poses), np.inf)
    poses[sought], scores[sought] = _look(level, space, poses[sought], 1)
    return _better_of(Found(poses, scores), found)


def _polished(level: Level, space: Space, found: Found, effort: Effort) -> Found:
    """Move poses by Gauss-Newton where they score no worse then."""
    return ordered(*_moved(level, space, found, effort))


def _moved(level: Level, space: Space, found: Found, effort: Effort) -> Found:
    moved = polish_all(level, space, found.poses, effort)
    return _better_of(_scored(level, space, moved), found)


def _scored(level: Level, space: Space, poses: Values) -> Found:
    return Found(poses, _look(level, space, poses, 0)[1])


def _better_of(one: Found, other: Found) -> Found:
    """Take the better one of each two poses, the first of equals."""
    worse = one.scores > other.scores
    poses = np.where(worse[:, None], other.poses, one.poses)
    return Found(poses, np.where(worse, other.scores, one.scores))
