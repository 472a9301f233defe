"""Poses: how a template may be turned and resized, and where its pixels are then.

Poses are rows of arrays of shape (n, 4): row and column of the template's center in the scene,
angle in degrees, counter-clockwise as the eye sees it, and logarithm of the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks

Values = NDArray[np.float64]

ALL = "all"
_SMALLEST, _LARGEST = 1e-3, 1e3
_LIKE_A_RANGE = 45.0  # degrees: two angles that are nearer to each other
_MANY_TURNS = 1e6  # degrees: of more, fractions of one are lost
_ROOM_STEP = 0.5  # degrees between angles at which there is to be room


@dataclass(frozen=True)
class Axis:
    """Which angles, or logarithms of scales, are searched.

    Attributes
    ----------
    listed : tuple of float
        In ascending order; empty where all between `low` and `high` are.
    low, high : float
    period : float
        After which they begin again; infinite where they do not.
    """

    listed: tuple[float, ...]
    low: float
    high: float
    period: float = math.inf

    @property
    def free(self) -> bool:
        """Whether it may be anything in its range."""
        return not self.listed

    @property
    def fixed(self) -> bool:
        """Whether there is no choice."""
        return len(self.listed) == 1

    @property
    def spacing(self) -> float:
        """The least distance between two that are listed; infinite where there are none."""
        return float(np.diff(self.listed).min(initial=math.inf))

    def grid(self, step: float) -> Values:
        """Choose values so that all that are searched are within half a step of one."""
        if self.free:
            number = max(math.ceil((self.high - self.low) / step - 1e-9), 1)
            shares = (np.arange(number) + 0.5) / number
            return np.asarray(self.low + shares * (self.high - self.low))
        chosen: list[float] = []
        rest = np.array(self.listed)
        while rest.size:
            chosen.append(float(rest[rest <= rest[0] + step / 2][-1]))
            rest = rest[rest > chosen[-1] + step / 2]
        return np.array(chosen)

    def beside(self, values: Values, step: float) -> Values:
        """Return what is searched a step below each value, at it, and a step above: (n, 3)."""
        wanted = values[:, None] + np.array([-step, 0.0, step])
        if self.free:
            cyclic = math.isfinite(self.period)
            return np.asarray(wanted if cyclic else np.clip(wanted, self.low, self.high))
        listed = np.array(self.listed)
        nearest = abs(self.apart(wanted[..., None], listed)).argmin(axis=2)
        return np.asarray(listed[nearest])

    def nearest(self, values: Values) -> Values:
        """Return what is searched nearest to each value."""
        return self.beside(values, 0.0)[:, 1]

    def loosened(self, within: float) -> Axis:
        """Return all between what is listed, if some of that is nearer to each other."""
        return Axis((), self.low, self.high, self.period) if self.spacing < within else self

    def apart(self, one: Any, other: Any) -> Any:
        """Return how far one value is above another."""
        if math.isinf(self.period):
            return one - other
        return (one - other + self.period / 2) % self.period - self.period / 2


def as_angles(angles: Any) -> Axis:
    """Take angles in degrees: "all", one, or several.

    Raises
    ------
    TypeError, ValueError
        If they are none of these.

    Warns
    -----
    UserWarning
        If they are two that may be meant as a range, as those of scales are.
    """
    if isinstance(angles, str):
        if angles != ALL:
            raise ValueError(f"angles is {angles!r}; it must be 'all', or degrees")
        return Axis((), -180.0, 180.0, 360.0)
    found = _as_numbers(angles, "angles", -_MANY_TURNS, _MANY_TURNS)
    listed = tuple(np.unique(found).tolist())
    axis = Axis(listed, listed[0], listed[-1], 360.0)
    turn = axis.apart(listed[-1], listed[0])
    if len(listed) == 2 and 0 < abs(turn) < _LIKE_A_RANGE:
        low = listed[0] if turn > 0 else listed[1]
        every = f"range({math.floor(low)}, {math.ceil(low + abs(turn)) + 1})"
        _checks.warn(
            f"angles are {listed[0]:g} and {listed[1]:g} and none between; {every} is every degree"
        )
    return axis


def as_scales(scales: Any) -> Axis:
    """Take scales: two are a range, one or three and more are those.

    Raises
    ------
    TypeError, ValueError
        If they are none of these.
    """
    found = np.log(_as_numbers(scales, "scales", _SMALLEST, _LARGEST))
    if found.size == 2:
        if found[0] > found[1]:
            raise ValueError(f"scales is {scales!r}; two are a range, the smaller one first")
        if found[0] < found[1]:
            return Axis((), float(found[0]), float(found[1]))
    listed = tuple(np.unique(found).tolist())
    return Axis(listed, listed[0], listed[-1])


def have_room(shape: tuple[int, ...], extent: tuple[int, ...], angles: Axis, scales: Axis) -> bool:
    """Tell whether an image or a region can hold a template in some pose."""
    turned = angles.grid(_ROOM_STEP)
    poses = np.zeros((turned.size, 4))
    poses[:, :2] = (np.array(extent) - 1) / 2
    poses[:, 2], poses[:, 3] = turned, scales.low
    # As it is it lies on whole pixels; else half of one may be beyond the border.
    as_it_is = angles.listed == (0.0,) and scales.listed == (0.0,)
    return bool(inside(poses, shape, extent, 0.0 if as_it_is else 0.5).any())


def _as_numbers(values: Any, name: str, low: float, high: float) -> Values:
    values = [values] if np.ndim(values) == 0 else list(values)
    if not values:
        raise ValueError(f"{name} is empty; there must be one at least")
    return np.array([_checks.as_number(value, f"one of {name}", low, high) for value in values])


def turns(angles: Values, logs: Values) -> Values:
    """Return what takes offsets (rows, columns) within a template to those in a scene.

    Shape (n, 2, 2).
    """
    turn = np.radians(angles)
    cos, sin = np.exp(logs) * np.cos(turn), np.exp(logs) * np.sin(turn)
    found = np.empty((*turn.shape, 2, 2))  # np.stack takes ten times as long for a few
    found[..., 0, 0], found[..., 0, 1], found[..., 1, 0], found[..., 1, 1] = cos, -sin, sin, cos
    return found


def uprights(poses: Values, extent: tuple[int, int]) -> Values:
    """Return height and width of an image turned upright for poses, in pixels of the template."""
    back = np.linalg.inv(turns(poses[:, 2], poses[:, 3]))
    return np.asarray(abs(back) @ np.array(extent))


def reaches(poses: Values, shape: tuple[int, ...]) -> Values:
    """Return how far corner pixels are from the center, along rows and columns: (n, 2)."""
    halves = (np.array(shape) - 1) / 2
    return np.asarray(abs(turns(poses[:, 2], poses[:, 3])) @ halves)


def inside(poses: Values, shape: tuple[int, ...], extent: tuple[int, ...], slack: float) -> Any:
    """Tell which poses have all of the template in an image, but for some slack in pixels.

    Without slack no corner pixel's center is beyond those of the image's own.
    """
    return are_inside(poses[:, :2], reaches(poses, shape) - slack, extent)


def are_inside(centers: Values, least: Values, extent: tuple[int, ...]) -> Any:
    """Tell which centers, shape (.., 2), are at least so far from an image's border."""
    return ((centers >= least) & (centers <= np.array(extent) - 1 - least)).all(axis=-1)
