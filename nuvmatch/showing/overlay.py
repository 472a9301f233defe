"""Matches drawn into the pixels of an image."""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_planes, one_of
from ..results import Match
from .pixels import as_matches, to_8_bits

LABELS = ("score", "number", "none")

_BOX = (255, 60, 0)
_RIM = (0, 0, 0)


def draw_matches(
    image: ArrayLike, matches: Sequence[Match], *, labels: str = "score"
) -> NDArray[np.uint8]:
    """Draw the outlines, names and scores of matches on an image.

    Parameters
    ----------
    image : array_like of shape (H, W), (H, W, 3), or with an alpha channel
        8-bit greys are kept; of any other range all but a few are between black and white.
    matches : Matches
        The worst are drawn first, so that the best stays visible.
    labels : {"score", "number", "none"}
        What stands at each: name and score, its place in the list from 1, or nothing, which hides
        no neighbours.

    Returns
    -------
    ndarray of uint8, of shape (H, W, 3)
        RGB.
    """
    one_of(labels, "labels", LABELS)
    shown = as_matches(matches)
    planes, _ = as_planes(image, "image")
    colours = np.broadcast_to(to_8_bits(planes), (3, *planes.shape[1:]))
    canvas = np.array(colours.transpose(1, 2, 0), order="C")
    unit = max(1, round(min(canvas.shape[:2]) / 400))
    font, size = cv2.FONT_HERSHEY_SIMPLEX, 0.45 * unit
    for number, match in reversed(list(enumerate(shown, 1))):
        outline = np.rint([(x, y) for y, x in match.corners]).astype(np.int32)
        for colour, thickness in ((_RIM, 3 * unit), (_BOX, unit)):
            cv2.polylines(canvas, [outline], True, colour, thickness)
        # OpenCV draws ASCII alone, and ends the process at what is no text.
        text = label_of(number, match, labels).encode("ascii", "backslashreplace").decode()
        if not text:
            continue
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


def label_of(number: int, match: Match, labels: str) -> str:
    """Return what stands at a match."""
    if labels == "score":
        return f"{'' if match.name is None else f'{match.name} '}{match.score:.3g}"
    return str(number) if labels == "number" else ""
