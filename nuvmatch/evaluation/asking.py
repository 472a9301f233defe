"""What is asked of trials: measures by name, or callables; and the rows that come of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _checks
from ..measures import MeasureLike, as_measure, name_of
from ..results import as_dataframe

# A measure, the name of one, or what makes a map, lower is better, of an image and a template.
Asked = MeasureLike | Callable[[Any, Any], Any]


@dataclass(frozen=True)
class ByMeasure(ABC):
    """Rows of trials, each by a measure, and a table of them."""

    rows: tuple[dict[str, Any], ...]

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order in which they were asked for."""
        return list(dict.fromkeys(row["measure"] for row in self.rows))

    def of(self, measure: str) -> list[dict[str, Any]]:
        """Return the rows of one measure."""
        return [row for row in self.rows if row["measure"] == measure]

    @abstractmethod
    def table(self) -> list[dict[str, Any]]:
        """Return what the rows come to."""

    def to_dataframe(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return as_dataframe(self.table())


def as_measures(measures: Any) -> dict[str, Any]:
    """Take measures by names: those of their own, or those given."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise TypeError(f"measures is {measures!r}; it must be a sequence of measures, or a dict")
    given = measures.items() if isinstance(measures, Mapping) else [(None, m) for m in measures]
    named: dict[str, Any] = {}
    for name, measure in given:
        own = measure
        if isinstance(measure, str) or hasattr(measure, "prepare"):
            own = as_measure(measure)
        elif not callable(measure):
            raise TypeError(
                f"{measure!r} is no measure; it must be one, the name of one, or a callable that "
                "makes a map of an image and a template"
            )
        if name is None:
            name = name_of(own) if hasattr(own, "prepare") else getattr(own, "__name__", str(own))
        if name in named:
            raise ValueError(f"{name} is there twice; a dict gives measures names of their own")
        named[name] = own
    if not named:
        raise ValueError("there is no measure to compare")
    return named


def windows_of(image: ArrayLike, template: ArrayLike) -> tuple[int, int]:
    """Return the shape of a score map."""
    shapes = np.shape(image)[:2], np.shape(template)[:2]
    rows, columns = (of_image - of_one + 1 for of_image, of_one in zip(*shapes, strict=True))
    return rows, columns


def check_trial(trial: Any, name: str) -> tuple[int, int]:
    """Refuse an image and a template that do not go together; return the shape of a score map."""
    image = _checks.as_greys(trial.image, f"the image of {name}")
    template = _checks.as_greys(trial.template, f"the template of {name}")
    try:
        _checks.check_pair(image, template)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return windows_of(image, template)


def as_place(row: Any, col: Any, windows: tuple[int, int], name: str) -> tuple[int, int]:
    """Take a place of a score map of that shape."""
    at = _checks.as_integer(row, "a row"), _checks.as_integer(col, "a column")
    if not (0 <= at[0] < windows[0] and 0 <= at[1] < windows[1]):
        raise ValueError(
            f"a place of {name} is {at}; it must be one of a score map of shape {windows}"
        )
    return at


def check_map(name: str, scores: Any, windows: tuple[int, int]) -> None:
    """Refuse what a callable has made that is no map of these windows."""
    shape = _checks.as_greys(scores, f"the map that {name} has made").shape
    if shape != windows:
        raise ValueError(f"{name} has made a map of shape {shape}; it must be {windows}")


def refusal(error: ValueError) -> str:
    """Say what a measure refuses a template or an image with: something, in any case."""
    return str(error) or type(error).__name__
