"""OpenCV's matchTemplate, with the measures of this package beside its six methods."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from cv2 import (
    TM_CCOEFF,
    TM_CCOEFF_NORMED,
    TM_CCORR,
    TM_CCORR_NORMED,
    TM_SQDIFF,
    TM_SQDIFF_NORMED,
)
from numpy.typing import NDArray

from .. import _checks
from .._checks import Picture
from ..matcher import Matcher
from ..measures import MeasureLike

__all__ = [
    "TM_CCOEFF",
    "TM_CCOEFF_NORMED",
    "TM_CCORR",
    "TM_CCORR_NORMED",
    "TM_SQDIFF",
    "TM_SQDIFF_NORMED",
    "matchTemplate",
]

# Far from OpenCV's own, which are 0 to 5.
TM_NUV = 1000
TM_NUV_LINEAR = 1001
TM_NUV_MONOTONE = 1002
TM_NUV_CURVES = 1003
TM_NUV_ADAPTIVE = 1004
TM_NCC_EXACT = 1005
TM_NCC2 = 1006
TM_MI = 1007
TM_NMI = 1008
TM_SSD = 1009
TM_AUTO = 1010

_MEASURES = {
    TM_NUV: "nuv",
    TM_NUV_LINEAR: "nuv_linear",
    TM_NUV_MONOTONE: "nuv_monotone",
    TM_NUV_CURVES: "nuv_curves",
    TM_NUV_ADAPTIVE: "nuv_adaptive",
    TM_NCC_EXACT: "ncc",
    TM_NCC2: "ncc2",
    TM_MI: "mi",
    TM_NMI: "nmi",
    TM_SSD: "ssd",
    TM_AUTO: "auto",
}


def matchTemplate(
    image: Picture,
    templ: Picture,
    method: int | MeasureLike,
    result: NDArray[np.float32] | None = None,
    mask: Picture | None = None,
) -> NDArray[np.float32]:
    """Compare a template with every window of an image, as ``cv2.matchTemplate`` is called.

    Parameters
    ----------
    image, templ : array_like
        As for `nuvmatch.score_map`, of any type, and of unlike types. Channels are compared each
        with its own, so that BGR and RGB are alike if both are one of them; a fourth is alpha.
    method : int, str or Measure
        One of OpenCV's six, from TM_SQDIFF to TM_CCOEFF_NORMED, which is handed to OpenCV with all
        else as it is; or TM_NUV, TM_NUV_LINEAR, TM_NUV_MONOTONE, TM_NUV_CURVES, TM_NUV_ADAPTIVE,
        TM_NCC_EXACT, TM_NCC2, TM_MI, TM_NMI, TM_SSD or TM_AUTO, for the measures of these names,
        whole numbers from 1000 on; or a measure such as ``NUV(bins=16)``, or its name.
    result : ndarray of float32, of shape (H - h + 1, W - w + 1), optional
        Is filled and returned; an array of another type or shape is left alone.
    mask : array_like of shape (h, w), optional
        Non-zero where a pixel of the template counts, of floats 0 or 1; or of shape (h, w, 3), if
        all channels are equal.

    Returns
    -------
    ndarray of float32, of shape (H - h + 1, W - w + 1)
        By our measures dissimilarities: the minimum is best, as of TM_SQDIFF, 0 is perfect, and 1
        stands for no evidence. ``cv2.minMaxLoc`` tells its place as (x, y).

    Raises
    ------
    cv2.error
        By OpenCV's methods, and for a number that is no method.
    TypeError, ValueError
        As `nuvmatch.score_map`; if the mask has channels that differ, or weights between 0 and 1.

    Examples
    --------
    >>> import cv2
    >>> import numpy as np
    >>> from nuvmatch.compat import TM_NUV, matchTemplate
    >>> image = np.random.default_rng(0).integers(0, 256, (60, 80), dtype=np.uint8)
    >>> scores = matchTemplate(255 - image, image[20:36, 30:46], TM_NUV)
    >>> _, _, best, _ = cv2.minMaxLoc(scores)
    >>> best
    (30, 20)
    """
    measure: Any = method
    if isinstance(method, (int, np.integer)):
        if method not in _MEASURES:
            handed: Any = image, templ, method, result, mask
            found: NDArray[np.float32] = cv2.matchTemplate(*handed)
            return found
        measure = _MEASURES[int(method)]
    pixels, template = _checks.as_greys(image, "image"), _checks.as_greys(templ, "template")
    _checks.check_pair(pixels, template)
    matcher = Matcher(template, measure, mask=_as_mask(mask), dtype=np.float32)
    (height, width), (rows, columns) = pixels.shape[:2], matcher.shape
    shape = height - rows + 1, width - columns + 1
    if result is not None and not isinstance(result, np.ndarray):
        raise TypeError(f"result is of type {type(result).__name__}; it must be a NumPy array")
    if result is not None and (result.shape != shape or result.dtype != np.float32):
        result = None
    return np.asarray(matcher.score_map(pixels, out=result), np.float32)


def _as_mask(mask: Picture | None) -> NDArray[Any] | None:
    """Take a mask that says yes or no of all channels together."""
    if mask is None:
        return None
    weights = _checks.as_greys(mask, "mask")
    if weights.ndim == 3 and weights.shape[2] > 1:
        if (weights != weights[..., :1]).any():
            raise ValueError(
                f"mask has shape {weights.shape}, with channels that differ; our measures have one "
                "mask for all channels, of shape (h, w)"
            )
        weights = weights[..., 0]
    if weights.dtype.kind == "f" and not np.isin(weights, (0, 1)).all():
        raise ValueError(
            "mask holds weights other than 0 and 1; by our measures a pixel counts or does not: "
            "pass mask > 0.5, or whichever count"
        )
    return weights
