"""Floats that are whole numbers in disguise: greys that lie on a lattice of few steps.

Most float images were whole numbers once: divided by 255, by 65535 or by their maximum,
brought between 0 and 1, less their mean. Counted in steps from their lowest grey they are
that again, and what does not change with gain and offset can be summed exactly.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import jit

_STEPS = 65535  # of a lattice, at most
_SAMPLE = 2**14  # pixels that show how long a step is
_PIXELS_AT_ONCE = 2**16

# A grey may have been rounded several times, and so may the lowest, from which it is counted.
_ROUNDINGS = 4
_FARTHEST = 0.1  # steps from the lattice: where roundings reach as far, none can be told

# Steps by which a grey may be off, for scores in single and in double precision: as shares of
# white are, or less. Where an offset has cost more digits greys are what they are.
_OFF = float(np.finfo(np.float32).eps)
_WHITE = 255
_OFF_IN_DOUBLE, _OFF_OF_MANY = 1e-11, float(np.finfo(np.float64).eps)

# Between these no length of a step leaves the range of floats.
_SHORTEST, _LONGEST = 1e-280, 1e280

_NEAR = 8  # steps apart: gaps of which each tells the length of a step well

# Few greys in low precision are on some fine lattice by chance: of so many, less than one.
_BY_CHANCE = 0.1


class Spacing(NamedTuple):
    """Where the greys of a lattice are: ``low + steps * length``."""

    low: float
    length: float  # of a step, in greys
    number: int  # of steps from the lowest to the highest
    double: bool = False  # whether scores in double precision may be those of the steps

    def no_greys(self) -> NDArray[np.float64]:
        """Return room for the grey of each step, none of which is known."""
        return np.full(self.number + 1, np.nan)

    def steps_of(
        self,
        planes: NDArray[np.floating],
        bad: NDArray[np.bool_] | None,
        greys_of_steps: NDArray[np.float64],
    ) -> NDArray[Any] | None:
        """Count greys in steps, while all of one step are one grey: None if they are not.

        Parameters
        ----------
        planes : ndarray of shape (channels, height, width)
        bad : ndarray of shape (height, width), or None
            Pixels that do not count, and come as 0.
        greys_of_steps : ndarray, changed
            The grey of each step that has been found so far; NaN for the others.
        """
        steps = np.empty(planes.shape, np.uint8 if self.number <= 255 else np.uint16)
        rows = max(1, _PIXELS_AT_ONCE // planes.shape[2])
        kind = np.float32 if planes.dtype.itemsize <= 4 else np.float64
        for plane, out in zip(planes, steps, strict=True):
            for top in range(0, len(plane), rows):
                place = slice(top, top + rows)
                greys: NDArray[np.floating] = np.ascontiguousarray(plane[place], kind)
                if bad is not None:
                    greys = np.where(bad[place], kind(self.low), greys)
                found = np.empty(greys.shape, np.uint16)
                if not count_steps(greys, self.low, 1 / self.length, greys_of_steps, found):
                    return None
                out[place] = found
        return steps

    def checked(self, greys_of_steps: NDArray[np.float64]) -> "Spacing | None":
        """Tell for which scores it serves; None if greys are too far from their steps for any."""
        known = np.flatnonzero(~np.isnan(greys_of_steps))
        off = float(np.ptp((greys_of_steps[known] - self.low) / self.length - known)) / 2
        if off > _OFF * max(self.number, _WHITE):
            return None
        return self._replace(double=off <= max(_OFF_IN_DOUBLE, _OFF_OF_MANY * self.number))


class Lattice(NamedTuple):
    """Greys in steps of a lattice."""

    steps: NDArray[Any]  # (channels, height, width), uint8 or uint16; 0 where bad
    spacing: Spacing

    def serves(self, dtype: np.dtype[Any]) -> bool:
        """Whether scores of that type may be those of the steps."""
        return self.spacing.double or dtype == np.float32


def find_lattice(
    planes: NDArray[np.floating], bad: NDArray[np.bool_] | None, low: float, high: float
) -> Lattice | None:
    """Count greys in steps, if all good ones are on a lattice, but for rounding.

    And if all of one step are one grey: whatever is smaller than rounding may be what is sought.

    Parameters
    ----------
    planes : ndarray of shape (channels, height, width)
    bad : ndarray of shape (height, width), or None
        Pixels that do not count.
    low, high : float
        Lowest and highest good grey.
    """
    step = sample_step(planes.size)
    greys = planes[:, ::step, ::step]
    good = greys.ravel() if bad is None else greys[:, ~bad[::step, ::step]].ravel()
    spacing = find_spacing(good.astype(np.float64), planes.dtype, low, high)
    if spacing is None:
        return None
    greys_of_steps = spacing.no_greys()
    steps = spacing.steps_of(planes, bad, greys_of_steps)
    spacing = None if steps is None else spacing.checked(greys_of_steps)
    return None if steps is None or spacing is None else Lattice(steps, spacing)


def sample_step(pixels: int) -> int:
    """Return of how many rows, and columns, one is enough to tell the length of a step."""
    return int(np.sqrt(pixels / _SAMPLE)) | 1  # odd: no mosaic's colour is left out


def find_spacing(
    sample: NDArray[np.float64], dtype: np.dtype[Any], low: float, high: float
) -> Spacing | None:
    """Find where greys lie, if a sample of those of that type looks like a lattice."""
    if not _SHORTEST < high - low < _LONGEST:
        return None
    precision = max(np.finfo(kind).eps for kind in (dtype, np.float64))
    rounding = _ROUNDINGS * float(precision) * max(-low, high)
    number = _number_of_steps(sample, low, high, rounding)
    return None if number is None else Spacing(low, (high - low) / number, number)


def _number_of_steps(
    greys: NDArray[np.float64], low: float, high: float, rounding: float
) -> int | None:
    """Count the steps from the lowest to the highest grey; None if there are too many.

    By Euclid's algorithm on the gaps between greys: the shortest is a step, unless others are
    no multiples of it; then what these leave over is shorter.
    """
    distinct = np.unique(np.concatenate([greys, [low, high]]))
    gaps = parts = np.diff(distinct)
    shortest = max((high - low) / _STEPS - 2 * rounding, rounding / _FARTHEST)
    while True:
        step = float(parts.min())
        if step < shortest:
            return None
        numbers = np.rint(parts / step)
        rests = abs(parts - numbers * step)
        left = rests > rounding * (1 + numbers)
        if not left.any():
            break
        parts = np.append(rests[left], step)
    numbers = np.rint(gaps / step)
    near = numbers <= max(_NEAR, numbers.min())
    step = float(gaps[near].sum() / numbers[near].sum())
    number = int(np.rint(gaps / step).sum())
    share = 2 * rounding / (high - low) * number  # of greys that are near a step by chance
    by_chance = (number - 1) * share ** (distinct.size - 2)
    return number if number <= _STEPS and by_chance < _BY_CHANCE else None


@jit
def count_steps(
    greys: NDArray[np.floating],
    low: float,
    per_grey: float,
    greys_of_steps: NDArray[np.float64],
    out: NDArray[np.uint16],
) -> bool:
    """Count greys in steps from the lowest, while all of one step are one grey.

    Parameters
    ----------
    greys : ndarray of shape (rows, columns)
    low : float
    per_grey : float
        Steps in a grey level.
    greys_of_steps : ndarray, changed
        The grey of each step that has been found so far; NaN for the others.
    out : ndarray of shape (rows, columns), filled

    Plain twin: ``naive.lattice``.
    """
    for y in range(greys.shape[0]):
        line, steps = greys[y], out[y]
        for x in range(line.size):
            steps[x] = np.int32(np.rint((np.float64(line[x]) - low) * per_grey))
        for x in range(line.size):
            known = greys_of_steps[steps[x]]
            if known != line[x]:
                if not np.isnan(known):
                    return False
                greys_of_steps[steps[x]] = line[x]
    return True
