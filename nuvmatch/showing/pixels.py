"""Images as pictures: any type in 8 bits, matches cut out and turned upright."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_planes
from ..io.pixels import swap_red_and_blue
from ..results import Match

_TAIL = 0.1  # percent of greys that may be beyond black, or white: hot pixels, not a sky
_SAMPLE = 1_000_000  # pixels that tell which greys there are
_ROWS = 256  # made into a picture at once: of large images floats would take the memory


def as_matches(matches: Any) -> list[Match]:
    """Take matches that are to be shown: a list of them, and nothing else in it."""
    if isinstance(matches, Match) or not isinstance(matches, Iterable):
        raise TypeError(f"matches is {matches!r}; it must be a sequence of them: [match, ..]")
    taken = list(matches)
    for number, match in enumerate(taken):
        if not isinstance(match, Match):
            raise TypeError(f"matches[{number}] is {match!r}; all must be matches")
    return taken


def range_of(planes: NDArray[Any]) -> tuple[float, float]:
    """Return which greys are shown black and white: those of bytes, else but for a few all."""
    if planes.dtype == np.uint8:
        return 0.0, 255.0
    step = max(1, math.isqrt(planes.size // _SAMPLE))
    greys = planes[:, ::step, ::step].astype(np.float64)
    greys = greys[np.isfinite(greys)]
    if not greys.size:
        return 0.0, 1.0
    low, high = 2 * np.percentile(greys / 2, (_TAIL, 100 - _TAIL))  # no difference overflows
    if not low < high:
        low, high = greys.min(), greys.max()
    return float(low), float(high)


def to_8_bits(planes: NDArray[Any], ends: tuple[float, float] | None = None) -> NDArray[np.uint8]:
    """Stretch greys between two `ends` from black to white; what is not finite is black."""
    if planes.dtype == np.uint8 and ends is None:
        return planes
    if ends is None and planes.dtype.kind in "iu" and planes.itemsize == 8 and planes.size:
        # Floats would round the largest away; what wraps around twice is right again.
        planes = planes.astype(np.uint64) - planes.min().astype(np.uint64)
    low, high = range_of(planes) if ends is None else ends
    shown = np.zeros(planes.shape, np.uint8)
    if low < high:
        for first in range(0, planes.shape[1], _ROWS):
            greys = planes[:, first : first + _ROWS].astype(np.float64)
            greys = np.where(np.isfinite(greys), greys, low).clip(low, high)
            shown[:, first : first + _ROWS] = np.rint(
                255 * ((greys / 2 - low / 2) / (high / 2 - low / 2))
            )
    return shown


def as_picture(
    image: ArrayLike, name: str, ends: tuple[float, float] | None = None
) -> NDArray[np.uint8]:
    """Return an image in 8 bits: grey, RGB, or with alpha where something is transparent.

    Pixels that are not finite are.
    """
    planes, alpha = as_planes(image, name)
    shown = to_8_bits(planes, ends)
    opacity = np.full(planes.shape[1:], 255, np.uint8)
    if alpha is not None and alpha.max() > 0:
        ends = None if alpha.dtype == np.uint8 else (0.0, float(alpha.max()))
        (opacity,) = to_8_bits(alpha[np.newaxis], ends)
    if planes.dtype.kind == "f":
        opacity = np.where(np.isfinite(planes).all(axis=0), opacity, 0).astype(np.uint8)
    if opacity.min() < 255:
        return np.dstack([*np.broadcast_to(shown, (3, *shown.shape[1:])), opacity])
    return shown[0] if len(shown) == 1 else np.dstack(list(shown))


def fitted(picture: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Return a picture made smaller, if need be, so that no side is longer."""
    height, width = picture.shape[:2]
    if max(height, width) <= side:
        return picture
    share = side / max(height, width)
    size = max(1, round(width * share)), max(1, round(height * share))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def as_png(picture: NDArray[np.uint8]) -> bytes:
    """Encode a picture as `as_picture` makes it."""
    done, data = cv2.imencode(".png", swap_red_and_blue(picture))
    if not done:
        raise ValueError(f"a picture of shape {picture.shape} cannot be encoded")
    return data.tobytes()


def outline(match: Match) -> NDArray[np.float64]:
    """Return (x, y) of a match's four corners, turned with it, as edges of pixels: (4, 2).

    The top-left pixel of an image reaches from 0 to 1.
    """
    height, width = match.template_shape or (match.height, match.width)
    corners = np.array([(-width, -height), (width, -height), (width, height), (-width, height)])
    row, col = match.center
    return np.asarray(corners / 2 @ _turn(match).T + (col + 0.5, row + 0.5))


def cut_out(planes: NDArray[Any], match: Match) -> NDArray[np.float64]:
    """Return what planes show of a match, turned upright; NaN outside of the image."""
    if match.template_shape is None:
        return _crop(planes, match.region)
    row, col, height, width = match.region_around(2)
    found = _crop(planes, (row, col, height, width))
    size = match.template_shape[::-1]
    place = np.array(match.center[::-1]) - (col, row)
    turn = _turn(match)
    back = np.column_stack([turn, place - turn @ (np.array(size) - 1) / 2])

    def upright(values: NDArray[np.float64]) -> NDArray[np.float64]:
        how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return np.asarray(cv2.warpAffine(values, back, size, flags=how), np.float64)

    turned = np.full((len(planes), *match.template_shape), np.nan)
    for plane, shown in zip(found, turned, strict=True):
        known = np.isfinite(plane)
        weight = upright(known.astype(np.float64))
        np.divide(upright(np.where(known, plane, 0.0)), weight, out=shown, where=weight > 0.5)
    return turned


def _turn(match: Match) -> NDArray[np.float64]:
    """Return what takes offsets (x, y) within the template to those in the image."""
    turn = math.radians(match.angle)
    cos, sin = math.cos(turn), math.sin(turn)
    return match.scale * np.array([[cos, sin], [-sin, cos]])


def _crop(planes: NDArray[Any], region: tuple[int, int, int, int]) -> NDArray[np.float64]:
    row, col, height, width = region
    found = np.full((len(planes), height, width), np.nan)
    top, left = max(row, 0), max(col, 0)
    inside = planes[:, top : max(row + height, 0), left : max(col + width, 0)]
    found[:, top - row :, left - col :][:, : inside.shape[1], : inside.shape[2]] = inside
    return found
