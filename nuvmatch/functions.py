"""One call for one template and one image, by way of a `Matcher`."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _checks
from .matcher import Matcher
from .results import Matches


def score_map(
    image: ArrayLike,
    template: ArrayLike,
    *,
    measure: str = "nuv",
    bins: int | str | ArrayLike | None = None,
    binning: str = "optimal",
    tones: Any = None,
    direction: str = "ptw",
    polarity: str | None = None,
    gain: tuple[float, float] | None = None,
    n_curves: int | None = None,
    adjusted: bool = False,
    mask: ArrayLike | None = None,
    image_mask: ArrayLike | None = None,
    value_range: tuple[float, float] | None = None,
    n_threads: int | None = None,
    dtype: DTypeLike | None = None,
) -> NDArray[Any]:
    """Compute the dissimilarity of a template to every window of an image.

    Parameters
    ----------
    image, image_mask
        As for `Matcher.score_map`.
    template, measure, bins, binning, tones, direction, polarity, gain, n_curves, adjusted
        As for `Matcher`.
    mask, value_range, n_threads, dtype
        As for `Matcher`.

    Returns
    -------
    ndarray of shape (H - h + 1, W - w + 1), float32 or float64
        Indexed by the window's top-left pixel; 0 is perfect, lower is better; 1 where a
        window gives no evidence (see `Matcher.score_map`).

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
    matcher = _matcher_for(
        image, template, measure=measure, bins=bins, binning=binning, tones=tones,
        direction=direction, polarity=polarity, gain=gain, n_curves=n_curves,
        adjusted=adjusted, mask=mask, value_range=value_range,
        n_threads=n_threads, dtype=dtype,
    )  # fmt: skip
    return matcher.score_map(image, image_mask=image_mask)


def locate(
    image: ArrayLike,
    template: ArrayLike,
    *,
    threshold: float | None = None,
    max_matches: int | None = None,
    min_distance: float | None = None,
    max_overlap: float = 0.25,
    roi: tuple[int, int, int, int] | None = None,
    measure: str = "nuv",
    bins: int | str | ArrayLike | None = None,
    binning: str = "optimal",
    tones: Any = None,
    direction: str = "ptw",
    polarity: str | None = None,
    gain: tuple[float, float] | None = None,
    n_curves: int | None = None,
    adjusted: bool = False,
    mask: ArrayLike | None = None,
    image_mask: ArrayLike | None = None,
    value_range: tuple[float, float] | None = None,
    n_threads: int | None = None,
    dtype: DTypeLike | None = None,
) -> Matches:
    """Find the places of an image where a template matches best.

    Parameters
    ----------
    image, image_mask, threshold, max_matches, min_distance, max_overlap, roi
        As for `Matcher.locate`.
    template, measure, bins, binning, tones, direction, polarity, gain, n_curves, adjusted
        As for `Matcher`.
    mask, value_range, n_threads, dtype
        As for `Matcher`.

    Returns
    -------
    Matches
        Best first; the single best place, unless a threshold or a number is given;
        empty when nothing passes.

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
    matcher = _matcher_for(
        image, template, measure=measure, bins=bins, binning=binning, tones=tones,
        direction=direction, polarity=polarity, gain=gain, n_curves=n_curves,
        adjusted=adjusted, mask=mask, value_range=value_range,
        n_threads=n_threads, dtype=dtype,
    )  # fmt: skip
    return matcher.locate(
        image, image_mask=image_mask, threshold=threshold, max_matches=max_matches,
        min_distance=min_distance, max_overlap=max_overlap, roi=roi,
    )  # fmt: skip


def match_template(
    image: ArrayLike, template: ArrayLike, *, pad_input: bool = False, **options: Any
) -> NDArray[Any]:
    """Compute similarities as ``skimage.feature.match_template`` lays them out.

    Parameters
    ----------
    image, template
        As for `score_map`.
    pad_input : bool
        If True, the result has the image's shape and is indexed by the window's pixel
        ``(h // 2, w // 2)`` instead of its top-left one. Places whose window leaves the
        image are 0.
    **options
        As for `score_map`.

    Returns
    -------
    ndarray of shape (H - h + 1, W - w + 1) or (H, W), float32 or float64
        ``1 - score``: 1 is perfect, higher is better; 0 where there is no evidence. It
        feeds ``skimage.feature.peak_local_max``.

    Raises
    ------
    TypeError, ValueError
        As `score_map`.
    """
    if not isinstance(pad_input, (bool, np.bool_)):
        raise TypeError(f"pad_input is {pad_input!r}; it must be True or False")
    similarity = 1 - score_map(image, template, **options)
    if not pad_input:
        return np.asarray(similarity)
    padded = np.zeros(np.shape(image)[:2], similarity.dtype)
    row, column = np.shape(template)[0] // 2, np.shape(template)[1] // 2
    padded[row : row + similarity.shape[0], column : column + similarity.shape[1]] = similarity
    return padded


def nuv(
    template: ArrayLike,
    window: ArrayLike,
    *,
    bins: int | str | ArrayLike | None = None,
    binning: str = "optimal",
    tones: Any = None,
    direction: str = "ptw",
) -> float:
    """Compute PWC nUV of one window: how much of its variance the template leaves open.

    Parameters
    ----------
    template, window : array_like of equal shapes
        Of any dimension, taken as flat vectors of real numbers.
    bins, binning, tones, direction
        As for `Matcher`.

    Returns
    -------
    float
        In [0, 1]; 1 if the window is flat or holds a non-finite value.

    Raises
    ------
    TypeError, ValueError
        As `Matcher`, and if the shapes differ.

    Examples
    --------
    >>> nuv([2, 0, 5], [8, 2, 2], bins=[0, 3, 6])
    0.75
    """
    greys, of_window = _checks.as_greys(template, "template"), _checks.as_greys(window, "window")
    if greys.shape != of_window.shape or greys.size == 0:
        raise ValueError(
            f"the template has shape {greys.shape}, the window {of_window.shape}; "
            "they must be equal, and not empty"
        )
    scores = score_map(
        of_window.reshape(1, -1), greys.reshape(1, -1), bins=bins, binning=binning,
        tones=tones, direction=direction, n_threads=1, dtype=np.float64,
    )  # fmt: skip
    return float(scores[0, 0])


def _matcher_for(image: ArrayLike, template: ArrayLike, **options: Any) -> Matcher:
    """Make a matcher, once it is clear that the template fits the image."""
    shapes = [
        _checks.as_greys(array, name).shape
        for array, name in ((image, "image"), (template, "template"))
    ]
    planes, _ = _checks.as_planes(image, "image", f"; the template has shape {shapes[1]}")
    pattern, _ = _checks.as_planes(template, "template", f"; the image has shape {shapes[0]}")
    _checks.check_fit(planes, pattern)
    return Matcher(template, **options)
