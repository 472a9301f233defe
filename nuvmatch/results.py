"""What a search returns: matches, best first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import as_greys, as_integer

if TYPE_CHECKING:
    import pandas as pd

Region = tuple[int, int, int, int]  # row, col, height, width


class ToneCurve(NamedTuple):
    """What grey one channel of a window shows where the template has which.

    Called with greys of the template it returns those of the window: straight between the
    points, and level beyond the first and the last.
    """

    levels: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, greys: ArrayLike) -> Any:
        """Return what the window shows for greys of the template, in their shape."""
        shown = np.interp(as_greys(greys, "greys"), self.levels, self.values)
        return float(shown) if np.ndim(shown) == 0 else shown


@dataclass(frozen=True)
class Match:
    """One place of a template in an image.

    Attributes
    ----------
    row, col : int
        The window's top-left pixel; of a template that is turned or resized, that of the upright
        box around it.
    height, width : int
        The window's size, or the box's, in pixels.
    score : float
        Dissimilarity: 0 is perfect, lower is better.
    tone_curves : tuple of ToneCurve
        Mean template level and fitted window grey of each slice, one curve a channel; empty
        for measures without ("ncc", "mi", ..).
    gain : float or None
        Slope of the straight line through window greys over template greys, of unlike types
        (uint8, uint16, floats in [0, 1]) over shares of white; None for measures without tone
        curves.
    angle, scale : float
        How the template was turned, in degrees counter-clockwise as the eye sees it, and
        resized to match.
    name : str, int or None
        Name of the template, where several were sought: its key, or its position.
    on_edge : bool
        Whether it lies on the border of what was searched: the image or its `region` may end
        before the better place.
    measure : str or None
        By which measure it was found, "auto (ncc2, MI)" being the two that spoke for it; None
        for a score map from anywhere.
    false_alarms : float or None
        How many matches as good as this one, or better, chance shows in an image like this (the
        a-contrario NFA); infinite where that cannot be told, None unless asked for. Below 0.01
        it is an extrapolation. It speaks of chance, and not of things that look alike.
    margin : float or None
        The lowest score of all windows that share no pixel with this one, minus its own: negative
        if another is better; by "auto" a difference of chances. None unless false alarms or
        several matches are asked for, or if there is no such window. Of what may be turned or
        resized always, and over the poses that were kept.
    offset : (float, float)
        How far beside the window's the center is, in rows and columns: zeros unless a fraction
        of a pixel was asked for.
    sigma : float or None
        Standard deviation of the center, along rows and along columns, in pixels: infinite where
        that cannot be told (at the border, on a plateau), None unless it was asked for.
    template_shape : (int, int) or None
        Height and width of the template, where it is turned or resized; None: the window's.
    """

    row: int
    col: int
    height: int
    width: int
    score: float
    tone_curves: tuple[ToneCurve, ...] = ()
    gain: float | None = None
    angle: float = 0.0
    scale: float = 1.0
    name: str | int | None = None
    measure: str | None = None
    false_alarms: float | None = None
    margin: float | None = None
    offset: tuple[float, float] = (0.0, 0.0)
    sigma: float | None = None
    on_edge: bool = False
    template_shape: tuple[int, int] | None = None

    @property
    def similarity(self) -> float:
        """``1 - score``: higher is better."""
        return 1 - self.score

    @property
    def x(self) -> int:
        """The column, by its other name."""
        return self.col

    @property
    def y(self) -> int:
        """The row, by its other name."""
        return self.row

    @property
    def box(self) -> tuple[int, int, int, int]:
        """``(x, y, width, height)``, as OpenCV has rectangles."""
        return self.col, self.row, self.width, self.height

    @property
    def region(self) -> Region:
        """``(row, col, height, width)``, as `region=` takes it."""
        return self.row, self.col, self.height, self.width

    def region_around(self, margin: int) -> Region:
        """Return the region with so many pixels more on each side.

        It may stick out of the image: `region=` cuts that off.
        """
        margin = as_integer(margin, "margin", 0)
        row, col, height, width = self.region
        return row - margin, col - margin, height + 2 * margin, width + 2 * margin

    @property
    def center(self) -> tuple[float, float]:
        """``(row, col)`` of its middle: of the window's, between two pixels for even sizes.

        To a fraction of a pixel where that was asked for (`offset`).
        """
        row, col = self.row + (self.height - 1) / 2, self.col + (self.width - 1) / 2
        return row + self.offset[0], col + self.offset[1]

    @property
    def click(self) -> tuple[int, int]:
        """``(x, y)`` of the pixel in the window's middle, as programs that click take it."""
        return self.col + self.width // 2, self.row + self.height // 2

    @property
    def corners(self) -> tuple[tuple[float, float], ...]:
        """``(row, col)`` of the corner pixels, clockwise from the template's top left.

        They are turned with it: the first may be anywhere in the image.
        """
        height, width = self.template_shape or (self.height, self.width)
        down, across = (height - 1) / 2 * self.scale, (width - 1) / 2 * self.scale
        turn = math.radians(self.angle)
        row, col = self.center
        first, second, third, fourth = (
            (
                row + math.cos(turn) * dr - math.sin(turn) * dc,
                col + math.sin(turn) * dr + math.cos(turn) * dc,
            )
            for dr, dc in ((-down, -across), (-down, across), (down, across), (down, -across))
        )
        return first, second, third, fourth

    def to_record(self) -> dict[str, Any]:
        """Return what a table needs, each once: numbers and names by column."""
        center_row, center_col = self.center
        return {
            "name": self.name,
            "measure": self.measure,
            "row": self.row,
            "col": self.col,
            "height": self.height,
            "width": self.width,
            "center_row": center_row,
            "center_col": center_col,
            "click_x": self.click[0],
            "click_y": self.click[1],
            "sigma": self.sigma,
            "angle": self.angle,
            "scale": self.scale,
            "score": self.score,
            "false_alarms": self.false_alarms,
            "margin": self.margin,
            "gain": self.gain,
            "on_edge": self.on_edge,
        }


class Matches(Sequence[Match]):
    """Matches, best first; empty when nothing was found.

    Parameters
    ----------
    matches : iterable of Match
        In the order to keep.
    """

    def __init__(self, matches: Iterable[Match] = ()) -> None:
        self._matches = tuple(matches)

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> Matches: ...
    def __getitem__(self, index: int | slice) -> Match | Matches:
        if isinstance(index, slice):
            return Matches(self._matches[index])
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} matches, and no number {index}")
        return self._matches[index]

    def __len__(self) -> int:
        return len(self._matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self._matches)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matches) and self._matches == other._matches

    def __hash__(self) -> int:
        return hash(self._matches)

    def __repr__(self) -> str:
        places = ", ".join(f"({m.row}, {m.col}): {m.score:.4g}" for m in self._matches[:5])
        more = ", ..." if len(self) > 5 else ""
        count = f"{len(self)} match{'' if len(self) == 1 else 'es'}"
        return f"<{count}{': ' if places else ''}{places}{more}>"

    @property
    def rows(self) -> NDArray[np.int64]:
        """Top rows, shape (n,)."""
        return np.array([m.row for m in self._matches], np.int64)

    @property
    def cols(self) -> NDArray[np.int64]:
        """Left columns, shape (n,)."""
        return np.array([m.col for m in self._matches], np.int64)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Dissimilarities, shape (n,), ascending."""
        return np.array([m.score for m in self._matches], np.float64)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dictionary of scalars for each match, ready for JSON."""
        return [m.to_record() for m in self._matches]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for each match.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns = list(Match(0, 0, 1, 1, 0.0).to_record())
        return as_dataframe(self.to_records(), columns)


def as_dataframe(rows: Sequence[dict[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """Return rows as a pandas DataFrame, or say what must be installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("tables need pandas: pip install pandas") from error
    return pd.DataFrame(rows, columns=columns)
