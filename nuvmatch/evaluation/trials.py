"""Trials: a template, an image that it is in, and where; and how a score map does in one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from .. import _checks
from ..tones.families import Family, as_family
from .pictures import NoData, Picture, is_grey, spread

# What is cut from an image must have something to be found by: a share of the image's own
# standard deviation, and so many greys, or all that the image has.
_LEAST_CONTRAST, _LEAST_LEVELS = 0.1, 4
_TRIES = 200
_NAMELESS = "an image"


@dataclass(frozen=True, eq=False)
class Trial:
    """A template, an image that it is in, and where.

    Attributes
    ----------
    image : array_like
        As `nuvmatch.locate` takes it.
    template : array_like
    row, col : int
        Top-left pixel of the window that is right.
    name : str
        Of the pair that it is of.
    nodata : float or sequence of float, optional
        As for `nuvmatch.locate`. None: what `compare` is given.
    """

    image: ArrayLike
    template: ArrayLike
    row: int
    col: int
    name: str = ""
    nodata: NoData = None


@dataclass(frozen=True)
class Judgement:
    """How a score map does.

    Attributes
    ----------
    found : bool
        Whether the best place is right.
    rank : int
        Of the right place among all windows that are not, from 1.
    auc : float
        Share of the windows that share no pixel with the right one which score worse than it,
        each by the best place near it; NaN where there are none.
    """

    found: bool
    rank: int
    auc: float


def judge(
    score_map: ArrayLike, row: int, col: int, shape: tuple[int, int], *, near: int = 1
) -> Judgement:
    """Judge a score map by where the template is.

    Parameters
    ----------
    score_map : array_like of shape (M, N)
        Dissimilarities; NaN is no evidence, and worse than any.
    row, col : int
        Top-left pixel of the window that is right.
    shape : (int, int)
        Height and width of the template.
    near : int
        Pixels from it, in rows and columns, that count as right.

    Returns
    -------
    Judgement
        Of equal scores all others come first; for `auc` they count half.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above.
    """
    scores = _checks.as_greys(score_map, "score_map").astype(np.float64)
    near = _checks.as_integer(near, "near", 0)
    if scores.ndim != 2 or not (0 <= row < scores.shape[0] and 0 <= col < scores.shape[1]):
        raise ValueError(f"row {row}, col {col} is no place of a score map of shape {scores.shape}")
    scores = np.where(np.isnan(scores), np.inf, scores)
    rows, columns = (abs(np.arange(n) - at) for n, at in zip(scores.shape, (row, col), strict=True))
    right = (rows[:, None] <= near) & (columns[None, :] <= near)
    apart = (rows[:, None] >= shape[0]) | (columns[None, :] >= shape[1])
    around = 2 * min(near, max(scores.shape)) + 1
    lowest = ndimage.minimum_filter(scores, around, mode="constant", cval=np.inf)
    truth = lowest[row, col]
    better = int((scores[~right] <= truth).sum())
    others = lowest[apart]  # as the right one is judged, or knowing nothing would be rewarded
    auc = (others > truth).mean() + (others == truth).mean() / 2 if others.size else np.nan
    return Judgement(better == 0 and bool(truth < np.inf), 1 + better, float(auc))


def cut_trials(
    pair: Any,
    number: int,
    side: int,
    rng: np.random.Generator,
    *,
    noise: float = 0.0,
    nodata: NoData = None,
) -> Iterator[Trial]:
    """Cut templates from one image of a pair, to be found in the other.

    Parameters
    ----------
    pair : Trial, or (image, image), or (image, family)
        Images are array_like, or paths of files; two are of one shape, and show the same at the
        same place. Of a grey one and one in colour the luminance of the latter is taken. A family
        of tone curves, as `nuvmatch.NUV` takes them, changes the image, by another curve for each
        template.
    number : int
        How many; of a trial there is but one.
    side : int
        Height and width of the templates, in pixels.
    rng : numpy.random.Generator
    noise : float
        That is added to the image that is searched, as a share of its standard deviation.
    nodata : float or sequence of float, optional
        Greys that count in neither, as NaN and what is transparent do not: templates are cut where
        every pixel counts in both, and noise and tones change nothing else, nor alpha. None: what
        TIFF files say themselves.

    Yields
    ------
    Trial
        Fewer where the image has no place with contrast.

    Raises
    ------
    OSError, TypeError, ValueError
        If the pair is not of the form above, a curve of the family is none, or an image is smaller
        than the template.
    """
    if isinstance(pair, Trial):
        yield pair if pair.nodata is not None else replace(pair, nodata=nodata)
        return
    image, other, name = _read_pair(pair, nodata)
    if min(image.shape) < side:
        raise ValueError(
            f"templates of {side} pixels cannot be cut from {name or _NAMELESS}: "
            f"{image.pixels.shape}"
        )
    counts = image.counts & other.counts if isinstance(other, Picture) else image.counts
    whole = _where_whole(counts, side)
    places = np.flatnonzero(whole)
    for _ in range(number if places.size else 0):
        scene = other if isinstance(other, Picture) else image.retoned(other, rng)
        scene = scene.with_noise(noise, rng)
        for start in rng.choice(places, _TRIES).tolist():
            row, col = divmod(start, whole.shape[1])
            window = slice(row, row + side), slice(col, col + side)
            if _has_contrast(image, window) and _has_contrast(scene, window):
                template = image.pixels[window].copy()
                yield Trial(scene.pixels, template, row, col, name, image.nodata)
                break


def _read_pair(pair: Any, nodata: NoData) -> tuple[Picture, Picture | Family, str]:
    try:
        first, second = pair
    except (TypeError, ValueError):
        number = f"{len(pair)} of them" if isinstance(pair, (tuple, list)) else type(pair).__name__
        raise TypeError(
            "a pair is a Trial, or two: an image and another, or an image and a family of tones; "
            f"this one is {number}"
        ) from None
    image, name, said = _read(first)
    given = None if nodata is None else _checks.as_nodata(nodata)
    if isinstance(second, Family) or callable(second):
        greys = said if given is None else given
        return Picture.of(image, name or _NAMELESS, greys), as_family(second), name
    other, beside, said_beside = _read(second)
    if other.shape[:2] != image.shape[:2]:
        raise ValueError(
            f"images of a pair show the same at the same place; {name or _NAMELESS} has shape "
            f"{image.shape}, {beside or _NAMELESS} {other.shape}"
        )
    greys = said + said_beside if given is None else given
    if is_grey(image) != is_grey(other):
        from ..io import to_grey

        image, other = to_grey(image, greys), to_grey(other, greys)
    return (
        Picture.of(image, name or _NAMELESS, greys),
        Picture.of(other, beside or _NAMELESS, greys),
        name,
    )


def _read(image: Any) -> tuple[NDArray[Any], str, tuple[float, ...]]:
    """Return an image, the name of its file, and which grey that says is none."""
    if isinstance(image, (str, os.PathLike)):
        from ..io import nodata_of, read_image  # brings codecs that others need not wait for

        return read_image(image), str(image), _checks.as_nodata(nodata_of(image))
    return _checks.as_greys(image, "an image of a pair"), "", ()


def _where_whole(counts: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """Tell which windows have every pixel count, by their top-left one."""
    least = cv2.erode(counts.astype(np.uint8), np.ones((side, side), np.uint8), anchor=(0, 0))
    return np.asarray(least[: len(counts) - side + 1, : counts.shape[1] - side + 1] > 0)


def _has_contrast(image: Picture, window: tuple[slice, slice]) -> bool:
    inside = image.colours[window]
    if not spread(inside) > _LEAST_CONTRAST * image.contrast:
        return False
    levels = np.unique(inside).size
    return levels >= _LEAST_LEVELS or levels == image.levels
