"""What was found, as one page that opens in any browser."""

from __future__ import annotations

import base64
import csv
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import io
from .._checks import as_greys, as_opaque, as_planes, silence
from .._version import __version__
from ..results import Match, ToneCurve
from .pixels import as_matches, as_picture, as_png, cut_out, fitted, outline, range_of

PAGES = (".html", ".htm")

_HERE = Path(__file__).parent
_SHOWN = 2000  # matches, the best
_SIDE = 4096  # pixels of a picture of the image or the map, at most
_SCENE, _MAP, _PATTERNS, _CUT_OUTS = 4.5e6, 1.5e6, 1e6, 7e6  # bytes of pictures, at most
_LARGEST, _SMALLEST = 256, 16  # pixels a side of a cut-out or template
_PLOT = (32.0, 6.0, 84.0, 60.0)  # left, top, width and height within the picture of a curve
_WHERE = ("row", "col", "height", "width", "score")
_FORMATS = {"center_row": ".2f", "center_col": ".2f", "angle": ".2f", "scale": ".3f"}
_PLAIN = Match(0, 0, 1, 1, 0.0).to_record()


def report(
    path: str | os.PathLike[str],
    image: ArrayLike,
    template: Any,
    matches: Sequence[Match],
    score_map: ArrayLike | None = None,
    *,
    title: str = "Matches",
) -> None:
    """Write a page that shows matches: one file, which needs no network.

    It has the image with numbered boxes, and of each match its cut-out beside the template, seen
    through the fitted tone curve too, that curve, and all that is known of it. A slider hides
    what scores, or has false alarms, above a limit; the list is sorted by any column and saved
    as CSV.

    Parameters
    ----------
    path : str or path-like
        Ends in .html or .htm; written whole or not at all.
    image : array_like of shape (H, W), (H, W, 3), or with an alpha channel
        In which they were found. A large one is shown reduced.
    template : array_like, sequence or dict
        The one that was sought, or several as `Search` takes them: in a sequence by position, in
        a dict by name.
    matches : Matches
        Of more than 2000 the best are shown.
    score_map : array_like of shape (H - h + 1, W - w + 1), optional
        Of the whole image, for one of the templates as it is.
    title : str
        What stands above.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    OSError, TypeError, ValueError
        If the file cannot be written, an array is none of these, or a match is of a template
        that is not given.
    """
    check_report(path)
    script = (_HERE / "report.js").read_text("utf-8")
    digest = hashlib.sha256(script.encode()).digest()
    page = render(
        "report.html.jinja",
        title=title,
        version=__version__,
        script=script,
        script_hash=base64.b64encode(digest).decode(),
        style=(_HERE / "report.css").read_text("utf-8"),
        **_contents(image, template, as_matches(matches), score_map),
    )
    # Names of files may hold bytes that are no text.
    io.write_whole(path, page.encode(errors="replace"))


def render(template: str, **values: Any) -> str:
    """Fill in the template of a page, whatever stands in the values."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE, encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def check_report(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work is done, a report that could not be written.

    Parameters
    ----------
    path : str or path-like

    Raises
    ------
    ImportError, OSError, ValueError
        If jinja2 is not installed, or the file could not be written.
    """
    if find_spec("jinja2") is None:
        raise ImportError("reports need jinja2: pip install 'nuvmatch[report]'")
    io.check_output(path, PAGES)


def _contents(
    image: ArrayLike, template: Any, matches: list[Match], score_map: ArrayLike | None
) -> dict[str, Any]:
    """Collect what the page shows."""
    planes, _ = as_planes(image, "image")
    patterns = {
        name: _Pattern(number, name, given)
        for number, (name, given) in enumerate(_named(template).items())
    }
    for pattern in patterns.values():
        pattern.draw(_side(_PATTERNS, len(patterns) * len(pattern.planes)))
    shown = matches[:_SHOWN]
    of_each = [_pattern_of(match, patterns) for match in shown]
    columns = _columns(shown)
    side = _side(_CUT_OUTS, 2 * len(shown) * len(planes))
    return {
        "scene": _shown_as(as_picture(image, "image"), _SCENE),
        "map": None if score_map is None else _map(score_map, planes, shown, of_each, patterns),
        "patterns": list(patterns.values()),
        "columns": columns,
        "rows": [
            _row(number, match, pattern, planes, columns, side)
            for number, (match, pattern) in enumerate(zip(shown, of_each, strict=True), 1)
        ],
        "left_out": len(matches) - len(shown),
        "csv": _csv(shown),
    }


def _named(template: Any) -> dict[Any, Any]:
    """Take one template, whose name is None, or several."""
    if isinstance(template, Mapping):
        return dict(template)
    if isinstance(template, Sequence) and len(template) and np.ndim(template[0]) != 1:
        return dict(enumerate(template))
    return {None: template}


def _pattern_of(match: Match, patterns: dict[Any, _Pattern]) -> _Pattern:
    if match.name is None and len(patterns) == 1:  # whatever it is called here
        return next(iter(patterns.values()))
    if match.name not in patterns:
        raise ValueError(
            f"a match is of the template {match.name!r}; given are {', '.join(map(repr, patterns))}"
        )
    return patterns[match.name]


class _Pattern:
    """A template, and how it looks."""

    def __init__(self, number: int, name: Any, given: ArrayLike) -> None:
        self.number = number
        self.name = "the template" if name is None else str(name)
        self.greys = as_greys(given, "template")
        self.planes, alpha = as_planes(self.greys, "template")
        self.height, self.width = self.planes.shape[1:]
        self.uri = ""
        with silence():
            self._opaque = as_opaque(alpha, "template")
        self._sought = self.planes
        if alpha is not None and self._opaque is not None:
            seen = self.planes[:, self._opaque]
            if (seen.max(axis=1) == seen.min(axis=1)).all():  # an icon is sought by its alpha
                self._sought = np.repeat(alpha[np.newaxis], len(self.planes), axis=0)
                self._opaque = None

    def draw(self, side: int) -> None:
        self.uri = _uri(fitted(as_picture(self.greys, "template"), side))

    def through(self, curves: tuple[ToneCurve, ...]) -> NDArray[np.float64]:
        """Return what the curves make of it."""
        planes = self._sought
        if len(curves) < len(planes):  # it was sought by its luminance
            planes = io.to_grey(np.dstack(list(planes)))[np.newaxis]
        shown = np.stack([curve(plane) for curve, plane in zip(curves, planes, strict=True)])
        if self._opaque is not None:
            shown[:, ~self._opaque] = np.nan
        return shown


def _side(limit: float, pictures: int) -> int:
    """Return how long the sides of so many grey pictures may be."""
    return min(max(math.isqrt(int(limit / max(pictures, 1))), _SMALLEST), _LARGEST)


def _uri(picture: NDArray[np.uint8]) -> str:
    return "data:image/png;base64," + base64.b64encode(as_png(picture)).decode()


def _shown_as(picture: NDArray[np.uint8], limit: float) -> dict[str, Any]:
    """Return a large picture, reduced until its file is small enough."""
    height, width = picture.shape[:2]
    small = fitted(picture, _SIDE)
    while (size := len(as_png(small))) > limit:
        small = fitted(small, int(max(small.shape[:2]) * min(math.sqrt(limit / size), 0.95)))
    return {
        "uri": _uri(small),
        "height": height,
        "width": width,
        "factor": max(height, width) / max(small.shape[:2]),
    }


def _map(
    score_map: ArrayLike,
    planes: NDArray[Any],
    shown: list[Match],
    of_each: list[_Pattern],
    patterns: dict[Any, _Pattern],
) -> dict[str, Any]:
    """Show a score map in colours, and where on it the matches are."""
    scores = as_greys(score_map, "score_map")
    rows, cols = planes.shape[1:]
    shapes: dict[tuple[int, ...], list[_Pattern]] = {}
    for p in patterns.values():
        shapes.setdefault((rows - p.height + 1, cols - p.width + 1), []).append(p)
    if scores.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ValueError(f"score_map has shape {scores.shape}; it must be {wanted}")
    known = scores[np.isfinite(scores)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    grey = as_picture(scores, "score_map", (low, high))
    levels, *opacity = (grey,) if grey.ndim == 2 else (grey[..., 0].copy(), grey[..., 3])
    picture = np.dstack([cv2.applyColorMap(levels, cv2.COLORMAP_VIRIDIS)[..., ::-1], *opacity])
    may_be = shapes[scores.shape]  # of several, scores tell which one's map it is
    dots = [
        (number, match.col + 0.5, match.row + 0.5)
        for number, (match, pattern) in enumerate(zip(shown, of_each, strict=True), 1)
        if match.template_shape is None
        and pattern in may_be
        and (len(may_be) == 1 or _shows(scores, match))
    ]
    return {
        **_shown_as(np.ascontiguousarray(picture, np.uint8), _MAP),
        "low": f"{low:.3g}",
        "high": f"{high:.3g}",
        "dots": dots,
    }


def _shows(scores: NDArray[Any], match: Match) -> bool:
    """Whether a map has the score of a match where that is."""
    on_map = 0 <= match.row < scores.shape[0] and 0 <= match.col < scores.shape[1]
    return on_map and bool(np.isclose(scores[match.row, match.col], match.score, atol=1e-6))


def _columns(shown: list[Match]) -> list[str]:
    """Return what differs from match to match, or is worth saying of each."""
    records = [match.to_record() for match in shown]
    centers = any(match.sigma is not None for match in shown)
    return [
        key
        for key, plain in _PLAIN.items()
        if not key.startswith("click")  # of which centers tell
        if key in _WHERE
        or (centers if key.startswith("center") else any(r[key] != plain for r in records))
    ]


def _row(
    number: int,
    match: Match,
    pattern: _Pattern,
    planes: NDArray[Any],
    columns: list[str],
    side: int,
) -> dict[str, Any]:
    """Return what the page shows of a match."""
    record = match.to_record()
    cut = cut_out(planes, match)
    ends = range_of(cut)
    pictures = [("cut-out", cut)]
    if match.tone_curves:
        pictures.insert(0, ("template through the tone curve", pattern.through(match.tone_curves)))
    corners = outline(match)
    return {
        "number": number,
        "pattern": pattern,
        "points": " ".join(f"{x:.2f},{y:.2f}" for x, y in corners),
        "label": corners[0],
        "score": _sortable(match.score),
        "false_alarms": _sortable(match.false_alarms),
        "cells": [(_sortable(record[key]), _readable(record[key], key)) for key in columns],
        "pictures": [
            (name, _uri(fitted(as_picture(np.dstack(list(shown)), name, ends), side)))
            for name, shown in pictures
        ],
        "size": cut.shape[1:],
        "curves": _plot(match.tone_curves) if match.tone_curves else None,
    }


def _sortable(value: Any) -> str:
    """Return a number as JavaScript reads it, or a name."""
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value is None or value != value:
        return ""
    return str(int(value) if isinstance(value, (bool, np.bool_)) else value)


def _readable(value: Any, key: str) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else ""
    if isinstance(value, (float, np.floating)):
        return "cannot be told" if math.isinf(value) else format(value, _FORMATS.get(key, ".4g"))
    return str(value)


def _plot(curves: tuple[ToneCurve, ...]) -> dict[str, Any]:
    """Lay out tone curves as lines: levels to the right, greys upwards."""
    levels = np.concatenate([curve.levels for curve in curves])
    values = np.concatenate([curve.values for curve in curves])
    x_ends, y_ends = (levels.min(), levels.max()), (values.min(), values.max())
    left, top, width, height = _PLOT
    lines = []
    for curve in curves:
        x = left + width * (np.array(curve.levels) - x_ends[0]) / (np.ptp(x_ends) or 1.0)
        y = top + height * (y_ends[1] - np.array(curve.values)) / (np.ptp(y_ends) or 1.0)
        lines.append(" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)))
    texts = [f"{end:.0f}" if 1e3 <= abs(end) < 1e5 else f"{end:.3g}" for end in (*x_ends, *y_ends)]
    return {"lines": lines, "x": texts[:2], "y": texts[2:]}


def _csv(shown: list[Match]) -> list[str]:
    """Return the lines of a table: what the columns are, then one for each match."""
    lines = []
    for cells in (_PLAIN, *(match.to_record().values() for match in shown)):
        text = StringIO(newline="")
        csv.writer(text).writerow(cells)
        lines.append(text.getvalue())
    return lines
