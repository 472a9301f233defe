"""One call for one template and one image, by way of a `Matcher`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _checks
from ._progress import Tell
from .finding import Null
from .matcher import Matcher
from .measures import Auto, MeasureLike, as_measure
from .results import Matches


def score_map(
    image: ArrayLike,
    template: ArrayLike,
    measure: MeasureLike = "nuv",
    *,
    mask: ArrayLike | None = None,
    image_mask: ArrayLike | None = None,
    nodata: float | Sequence[float] | None = None,
    region: tuple[int, int, int, int] | None = None,
    fill_value: float = 1.0,
    n_threads: int | None = None,
    dtype: DTypeLike | None = None,
) -> NDArray[np.float32 | np.float64]:
    """Compute the dissimilarity of a template to every window of an image.

    Parameters
    ----------
    image, image_mask, region, fill_value
        As for `Matcher.score_map`.
    template, measure, mask, nodata, n_threads, dtype
        As for `Matcher`.

    Returns
    -------
    ndarray of shape (H - h + 1, W - w + 1), float32 or float64
        Indexed by the window's top-left pixel; 0 is perfect, lower is better; `fill_value`
        where a window gives no evidence (see `Matcher.score_map`).

    Raises
    ------
    TypeError, ValueError
        As `Matcher` and `Matcher.score_map`.

    Examples
    --------
    >>> image = [[1, 2, 3], [4, 6, 8], [9, 7, 5]]
    >>> score_map(image, [[0, 0], [255, 255]]).round(4)
    array([[0.1695, 0.1099],
           [0.3077, 0.8   ]], dtype=float32)
    """
    pixels, pattern = _read(image, template)
    matcher = Matcher(pattern, measure, mask=mask, nodata=nodata, n_threads=n_threads, dtype=dtype)
    return matcher.score_map(pixels, image_mask=image_mask, region=region, fill_value=fill_value)


def locate(
    image: ArrayLike,
    template: ArrayLike,
    measure: MeasureLike = "nuv",
    *,
    mask: ArrayLike | None = None,
    image_mask: ArrayLike | None = None,
    nodata: float | Sequence[float] | None = None,
    region: tuple[int, int, int, int] | None = None,
    threshold: float | None = None,
    false_alarms: float | None = None,
    null: Null | None = None,
    max_matches: int | None = None,
    min_distance: float | None = None,
    max_overlap: float = 0.25,
    subpixel: bool | str = False,
    progress: bool | Tell | None = None,
    n_threads: int | None = None,
) -> Matches:
    """Find the places of an image where a template matches best.

    Parameters
    ----------
    image, image_mask, region
        As for `Matcher.locate`.
    threshold, false_alarms, null, max_matches, min_distance, max_overlap, subpixel, progress
        As for `Matcher.locate`.
    template, measure, mask, nodata, n_threads
        As for `Matcher`.

    Returns
    -------
    Matches
        Best first; the single best place, unless a threshold, false alarms or a number is
        given; empty when nothing passes.

    Raises
    ------
    TypeError, ValueError
        As `Matcher` and `Matcher.locate`.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (60, 80), dtype=np.uint8)
    >>> template = image[20:36, 30:46]
    >>> locate(255 - image, template)[0].box
    (30, 20, 16, 16)
    """
    pixels, pattern = _read(image, template)
    matcher = Matcher(pattern, measure, mask=mask, nodata=nodata, n_threads=n_threads)
    return matcher.locate(
        pixels, image_mask=image_mask, region=region, threshold=threshold,
        false_alarms=false_alarms, null=null, max_matches=max_matches,
        min_distance=min_distance, max_overlap=max_overlap, subpixel=subpixel, progress=progress,
    )  # fmt: skip


def match_template(
    image: ArrayLike,
    template: ArrayLike,
    measure: MeasureLike = "nuv",
    *,
    pad_input: bool = False,
    mask: ArrayLike | None = None,
    image_mask: ArrayLike | None = None,
    nodata: float | Sequence[float] | None = None,
    region: tuple[int, int, int, int] | None = None,
    fill_value: float = 1.0,
    n_threads: int | None = None,
    dtype: DTypeLike | None = None,
) -> NDArray[np.float32 | np.float64]:
    """Compute similarities as ``skimage.feature.match_template`` lays them out.

    Parameters
    ----------
    image, template, measure
        As for `score_map`.
    pad_input : bool
        If True, the result has the image's shape and is indexed by the window's pixel
        ``(h // 2, w // 2)`` instead of its top-left one. Places whose window leaves the
        image, or the region, are 0; `nuvmatch.compat.match_template` pads the image instead.
    mask, image_mask, nodata, region, fill_value, n_threads, dtype
        As for `score_map`.

    Returns
    -------
    ndarray of shape (H - h + 1, W - w + 1) or (H, W), float32 or float64
        ``1 - score``: 1 is perfect, higher is better; ``1 - fill_value``, 0 by default,
        where there is no evidence. It feeds ``skimage.feature.peak_local_max``.

    Raises
    ------
    TypeError, ValueError
        As `score_map`.
    """
    pad_input = _checks.as_flag(pad_input, "pad_input")
    pixels, pattern = _read(image, template)
    similarity = 1 - score_map(
        pixels, pattern, measure, mask=mask, image_mask=image_mask, nodata=nodata, region=region,
        fill_value=fill_value, n_threads=n_threads, dtype=dtype,
    )  # fmt: skip
    if not pad_input:
        return np.asarray(similarity)
    rows, columns = pixels.shape[:2]
    padded = np.zeros((rows, columns), similarity.dtype)
    row, column = pattern.shape[0] // 2, pattern.shape[1] // 2
    if region is not None:
        top, left, _, _ = _checks.as_region(region, (rows, columns), pattern.shape)
        row, column = row + top, column + left
    padded[row : row + similarity.shape[0], column : column + similarity.shape[1]] = similarity
    return padded


def score(
    window: ArrayLike,
    template: ArrayLike,
    measure: MeasureLike = "nuv",
    *,
    mask: ArrayLike | None = None,
) -> float:
    """Compute the dissimilarity of one window to a template of its shape.

    Parameters
    ----------
    window, template : array_like of equal shapes
        What `score_map` takes as image and template is taken so; numbers of any other
        shape are taken as flat vectors.
    measure, mask
        As for `Matcher`; the mask is of the template's shape.

    Returns
    -------
    float
        0 is perfect, lower is better; 1 if the window gives no evidence.

    Raises
    ------
    TypeError, ValueError
        As `Matcher`, and if the shapes differ.

    Examples
    --------
    >>> from nuvmatch import NUV
    >>> score([8, 2, 2], [2, 0, 5], NUV(bins=[0, 3, 6]))
    0.75
    """
    if isinstance(as_measure(measure), Auto):
        raise ValueError(
            'measure is "auto", which needs a whole image to tell what chance shows; a single '
            'window is scored by a measure such as "nuv_adaptive"'
        )
    greys, pattern = _checks.as_greys(window, "window"), _checks.as_greys(template, "template")
    if greys.shape != pattern.shape or greys.size == 0:
        raise ValueError(
            f"the window has shape {greys.shape}, the template {pattern.shape}; "
            "they must be equal, and not empty"
        )
    if greys.ndim not in (2, 3) or (greys.ndim == 3 and greys.shape[2] > 4):
        counting = _checks.as_mask(mask, "mask", pattern.shape)
        mask = None if counting is None else counting.reshape(1, -1)
        greys, pattern = greys.reshape(1, -1), pattern.reshape(1, -1)
    scores = score_map(greys, pattern, measure, mask=mask, n_threads=1, dtype=np.float64)
    return float(scores[0, 0])


def _read(image: ArrayLike, template: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Take both as arrays, once it is clear that the template fits the image."""
    pixels, pattern = _checks.as_greys(image, "image"), _checks.as_greys(template, "template")
    _checks.check_pair(pixels, pattern)
    return pixels, pattern
