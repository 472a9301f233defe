"""Pictures of results."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import as_planes
from .results import Matches

_BOX = (255, 60, 0)
_RIM = (0, 0, 0)


def draw_matches(image: ArrayLike, matches: Matches) -> NDArray[np.uint8]:
    """Draw the boxes and scores of matches on an image.

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
        corner = (match.col + match.width - 1, match.row + match.height - 1)
        for colour, thickness in ((_RIM, 3 * unit), (_BOX, unit)):
            cv2.rectangle(canvas, (match.col, match.row), corner, colour, thickness)
    for match in reversed(matches):
        text = f"{match.score:.3g}"
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
