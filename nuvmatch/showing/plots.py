"""Pictures of results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_planes
from ..binning import Binning
from ..io import write_whole
from ..results import Matches

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHARTS = (".png", ".svg")

_BOX = (255, 60, 0)
_RIM = (0, 0, 0)


def draw_matches(image: ArrayLike, matches: Matches) -> NDArray[np.uint8]:
    """Draw the outlines, names and scores of matches on an image.

    Parameters
    ----------
    image : array_like of shape (H, W), (H, W, 3), or with an alpha channel
        8-bit greys are kept; any other range is stretched to black and white.
    matches : Matches
        The worst are drawn first, so that the best stays visible.

    Returns
    -------
    ndarray of uint8, of shape (H, W, 3)
        RGB.
    """
    planes, _ = as_planes(image, "image")
    colours = np.broadcast_to(_to_8_bits(planes), (3, *planes.shape[1:]))
    canvas = np.array(colours.transpose(1, 2, 0), order="C")
    unit = max(1, round(min(canvas.shape[:2]) / 400))
    font, size = cv2.FONT_HERSHEY_SIMPLEX, 0.45 * unit
    for match in reversed(matches):
        outline = np.rint([(x, y) for y, x in match.corners]).astype(np.int32)
        for colour, thickness in ((_RIM, 3 * unit), (_BOX, unit)):
            cv2.polylines(canvas, [outline], True, colour, thickness)
        text = f"{match.score:.3g}" if match.name is None else f"{match.name} {match.score:.3g}"
        (width, height), _ = cv2.getTextSize(text, font, size, unit)
        gap = 3 * unit
        x = min(match.col, max(canvas.shape[1] - width, 0))
        y = match.row - 2 * gap
        if y - height - gap < 0:
            y = min(match.row + match.height + height + 2 * gap, canvas.shape[0] - 1 - gap)
        plate = (x, y - height - gap), (x + width, y + gap)
        cv2.rectangle(canvas, *plate, _RIM, cv2.FILLED)
        cv2.putText(canvas, text, (x, y), font, size, _BOX, unit, cv2.LINE_AA)
    return canvas


def draw_bins(template: ArrayLike, bins: Sequence[Binning]) -> Figure:
    """Draw the histogram of a template's greys with the cuts between its bins.

    Parameters
    ----------
    template : array_like
        As it was given to the matcher.
    bins : sequence of Binning
        A matcher's `bins`, one for each channel.

    Returns
    -------
    matplotlib.figure.Figure
        One panel for each channel.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there are no bins, as of a matcher by "ncc", or not as many as channels.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("charts need matplotlib: pip install matplotlib") from error
    planes, _ = as_planes(template, "template")
    if len(bins) != len(planes):
        raise ValueError(f"there are bins for {len(bins)} channels; the template has {len(planes)}")
    figure = Figure(figsize=(7, 2.6 * len(planes)), layout="constrained")
    panels = figure.subplots(len(planes), squeeze=False)[:, 0]
    for c, panel in enumerate(panels):
        greys = planes[c][bins[c].labels >= 0].astype(np.float64)
        panel.hist(greys, bins=min(256, np.unique(greys).size), color="0.6")
        for edge in bins[c].edges[1:-1]:
            panel.axvline(edge, color="tab:red", linewidth=1)
        panel.set_ylabel("pixels" if len(planes) == 1 else f"pixels, {'RGB'[c]}")
        panel.margins(x=0.01)
    panels[-1].set_xlabel("grey level")
    return figure


def write_chart(path: str | os.PathLike[str], figure: Figure) -> None:
    """Write a chart whole or not at all, as PNG or SVG by its suffix."""
    buffer = BytesIO()
    figure.savefig(buffer, format=Path(path).suffix[1:].lower(), dpi=150)
    write_whole(path, buffer.getvalue())


def _to_8_bits(planes: NDArray[Any]) -> NDArray[np.uint8]:
    if planes.dtype == np.uint8:
        return planes
    greys = planes.astype(np.float64)
    finite = np.isfinite(greys)
    low = greys.min(where=finite, initial=np.inf)
    high = greys.max(where=finite, initial=-np.inf)
    if not low < high:
        return np.zeros(planes.shape, np.uint8)
    shares = (np.where(finite, greys, low) - low) / (high - low)
    return np.asarray(np.rint(255 * shares).astype(np.uint8))
