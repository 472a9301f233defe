"""Trials: a template, an image that it is in, and where; and how a score map does in one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from ..tones.families import Family, as_family
from ..tones.ranges import scale_levels, sensor_range

# What is cut from an image must have something to be found by: a share of the image's own
# standard deviation, and so many greys.
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
    """

    image: ArrayLike
    template: ArrayLike
    row: int
    col: int
    name: str = ""


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
        Share of the windows that share no pixel with the right one which score worse than it;
        NaN where there are none.
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
    truth = scores[right].min()
    better = int((scores[~right] <= truth).sum())
    others = scores[apart]
    auc = (others > truth).mean() + (others == truth).mean() / 2 if others.size else np.nan
    return Judgement(better == 0, 1 + better, float(auc))


def cut_trials(
    pair: Any, number: int, side: int, rng: np.random.Generator, *, noise: float = 0.0
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

    Yields
    ------
    Trial
        Fewer where the image has no place with contrast.

    Raises
    ------
    OSError, TypeError, ValueError
        If the pair is not of the form above, or an image is smaller than the template.
    """
    if isinstance(pair, Trial):
        yield pair
        return
    image, other, name = _read_pair(pair)
    if min(image.shape[:2]) < side:
        raise ValueError(
            f"templates of {side} pixels cannot be cut from {name or _NAMELESS}: {image.shape}"
        )
    for _ in range(number):
        scene = other if isinstance(other, np.ndarray) else _retone(image, other, rng)
        scene = _with_noise(scene, noise, rng)
        place = _choose(image, scene, side, rng)
        if place is not None:
            window = tuple(slice(first, first + side) for first in place)
            yield Trial(scene, image[window].copy(), *place, name)


def _read_pair(pair: Any) -> tuple[NDArray[Any], NDArray[Any] | Family, str]:
    try:
        first, second = pair
    except (TypeError, ValueError):
        number = f"{len(pair)} of them" if isinstance(pair, (tuple, list)) else type(pair).__name__
        raise TypeError(
            "a pair is a Trial, or two: an image and another, or an image and a family of tones; "
            f"this one is {number}"
        ) from None
    image, name = _read(first)
    if not (isinstance(second, Family) or callable(second)):
        other, beside = _read(second)
        if other.shape[:2] != image.shape[:2]:
            raise ValueError(
                f"images of a pair show the same at the same place; {name or _NAMELESS} has shape "
                f"{image.shape}, {beside or _NAMELESS} {other.shape}"
            )
        if (image.ndim == 3) != (other.ndim == 3):
            from ..io import to_grey

            image, other = to_grey(image), to_grey(other)
        return image, other, name
    return image, as_family(second), name


def _read(image: Any) -> tuple[NDArray[Any], str]:
    if isinstance(image, (str, os.PathLike)):
        from ..io import read_image  # brings codecs that others need not wait for

        return read_image(image), str(image)
    return _checks.as_greys(image, "an image of a pair"), ""


def _retone(image: NDArray[Any], family: Family, rng: np.random.Generator) -> NDArray[Any]:
    """Change the greys of an image by a curve of a family; whole numbers stay that."""
    greys, index = np.unique(image, return_inverse=True)
    levels = scale_levels(greys, sensor_range(greys, image.dtype, None))
    curve = family.sample(levels, 1, rng)[0]
    return _as_type_of(image, curve[index].reshape(image.shape))


def _with_noise(image: NDArray[Any], noise: float, rng: np.random.Generator) -> NDArray[Any]:
    if noise == 0:
        return image
    changed = image + noise * image.std() * rng.standard_normal(image.shape)
    return _as_type_of(image, changed)


def _as_type_of(image: NDArray[Any], values: NDArray[np.float64]) -> NDArray[Any]:
    """Bring values into the range of an image's whole numbers; floats stay as they are."""
    if image.dtype.kind == "f":
        return np.asarray(values.astype(image.dtype))
    white = 255 if image.dtype.itemsize == 1 else 65535
    low, high = values.min(), values.max()
    shares = (values - low) / ((high - low) or 1.0)
    whole = np.rint(white * shares)
    return np.asarray(whole.astype(np.uint8 if white == 255 else np.uint16))


def _choose(
    image: NDArray[Any], scene: NDArray[Any], side: int, rng: np.random.Generator
) -> tuple[int, int] | None:
    """Choose a place where both images have some contrast; None where that is rare."""
    least = _LEAST_CONTRAST * image.std(), _LEAST_CONTRAST * scene.std()
    for _ in range(_TRIES):
        row, col = rng.integers(0, np.array(image.shape[:2]) - side + 1).tolist()
        place = slice(row, row + side), slice(col, col + side)
        windows = image[place], scene[place]
        contrasts = [window.std() > one for window, one in zip(windows, least, strict=True)]
        if all(contrasts) and all(np.unique(w).size >= _LEAST_LEVELS for w in windows):
            return row, col
    return None
