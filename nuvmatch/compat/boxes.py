"""Matches as other libraries take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..results import Match


def as_detections(matches: Iterable[Match], names: Sequence[Any] | None = None) -> dict[str, Any]:
    """Give matches as supervision has them: ``supervision.Detections(**as_detections(matches))``.

    Parameters
    ----------
    matches : iterable of Match
        `nuvmatch.Matches`, or any of them.
    names : sequence, optional
        The names of all templates that were sought, as the keys of what `nuvmatch.Search` was
        given: a class is the place in it, whichever are found. None: for one template, or for
        several that have no names but their positions.

    Returns
    -------
    dict
        "xyxy", float32 of shape (n, 4), left, top, and right and bottom behind the last pixel;
        "confidence", `Match.similarity`, float32 of shape (n,); "class_id", int of shape (n,);
        "data" with "class_name", str of shape (n,).

    Raises
    ------
    ValueError
        If a match has a name that is not among these.
    """
    found = list(matches)
    xyxy = [(m.col, m.row, m.col + m.width, m.row + m.height) for m in found]
    return {
        "xyxy": np.array(xyxy, np.float32).reshape(-1, 4),
        "confidence": np.array([m.similarity for m in found], np.float32),
        "class_id": np.array([_class_of(m, names) for m in found], np.int64),
        "data": {"class_name": np.array([_label(m) for m in found], np.str_)},
    }


def as_hits(matches: Iterable[Match]) -> list[tuple[str, tuple[int, int, int, int], float]]:
    """Give matches as Multi-Template-Matching has them, for its ``NMS`` and ``drawBoxesOnRGB``.

    Parameters
    ----------
    matches : iterable of Match
        `nuvmatch.Matches`, or any of them.

    Returns
    -------
    list of (str, (int, int, int, int), float)
        The template's name, "" if it has none; ``(x, y, width, height)``; `Match.similarity`.
    """
    return [(_label(m), m.box, m.similarity) for m in matches]


def _class_of(match: Match, names: Sequence[Any] | None) -> int:
    if names is None and not isinstance(match.name, str):
        return match.name or 0
    known = list(names or ())
    if match.name not in known:
        raise ValueError(
            f"a match has the name {match.name!r}; names is {names!r}, and must hold those of all "
            "templates that were sought, so that each is always the same class"
        )
    return known.index(match.name)


def _label(match: Match) -> str:
    return "" if match.name is None else str(match.name)
