"""What a search returns: matches, best first."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


class ToneCurve(NamedTuple):
    """What grey the image shows where the template has which: one point for each bin.

    For colours, `levels` and `values` hold one tuple for each channel.
    """

    levels: tuple[Any, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Match:
    """One place of a template in an image.

    Attributes
    ----------
    row, col : int
        The window's top-left pixel.
    height, width : int
        The window's size in pixels.
    score : float
        Dissimilarity: 0 is perfect, lower is better.
    tone_curve : ToneCurve or None
        Mean template level and mean window grey of each bin; None for measures
        without bins of tones ("ncc", "ncc2", "mi", "nmi", "ssd").
    angle, scale : float
        How the template was turned and resized to match: 0.0 and 1.0.
    name : str or None
        Name of the template, where several were sought.
    """

    row: int
    col: int
    height: int
    width: int
    score: float
    tone_curve: ToneCurve | None = None
    angle: float = 0.0
    scale: float = 1.0
    name: str | None = None

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
    def center(self) -> tuple[float, float]:
        """``(row, col)`` of the window's middle, between two pixels for even sizes."""
        return self.row + (self.height - 1) / 2, self.col + (self.width - 1) / 2

    def to_record(self) -> dict[str, Any]:
        """Return all of the above by name, ready for JSON."""
        return {
            "name": self.name,
            "row": self.row,
            "col": self.col,
            "height": self.height,
            "width": self.width,
            "score": self.score,
            "similarity": self.similarity,
            "x": self.x,
            "y": self.y,
            "box": self.box,
            "center": self.center,
            "angle": self.angle,
            "scale": self.scale,
            "tone_curve": None if self.tone_curve is None else self.tone_curve._asdict(),
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
    def __getitem__(self, index: slice) -> "Matches": ...
    def __getitem__(self, index: int | slice) -> "Match | Matches":
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
        """Return a dictionary for each match, ready for JSON."""
        return [m.to_record() for m in self._matches]

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a table with a row for each match.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install pandas") from error
        columns = list(Match(0, 0, 1, 1, 0.0).to_record())
        return pd.DataFrame(self.to_records(), columns=columns)
