"""scikit-image's match_template, by any measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._checks import Picture
from ..matcher import Matcher
from ..measures import MeasureLike


def match_template(
    image: Picture,
    template: Picture,
    pad_input: bool = False,
    mode: str | Callable[..., Any] = "constant",
    constant_values: Any = 0,
    *,
    measure: MeasureLike = "nuv",
    mask: ArrayLike | None = None,
) -> NDArray[Any]:
    """Compute similarities, as ``skimage.feature.match_template`` is called.

    With ``measure="ncc"`` it returns the same, but for what is not sought: a flat template is an
    error. With `pad_input` what is around the image counts; `nuvmatch.match_template` has 0 there.

    Parameters
    ----------
    image, template : array_like
        As for `nuvmatch.score_map`: a third axis is of 3 colours, or of alpha, not of a volume.
    pad_input : bool
        If True, pad the image, so that the result has its shape and is indexed by the window's
        pixel ``(h // 2, w // 2)``; else by its top-left one.
    mode, constant_values
        As for ``numpy.pad``.
    measure, mask
        As for `Matcher`.

    Returns
    -------
    ndarray of shape (H - h + 1, W - w + 1) or (H, W)
        ``1 - score``: 1 is perfect, higher is better, 0 where there is no evidence, by most
        measures. It feeds ``skimage.feature.peak_local_max``. float32 for float32 and float16
        images, else float64.

    Raises
    ------
    TypeError, ValueError
        As `nuvmatch.score_map`, and as ``numpy.pad``.
    """
    pad_input = _checks.as_flag(pad_input, "pad_input")
    pixels, pattern = _checks.as_greys(image, "image"), _checks.as_greys(template, "template")
    _checks.check_pair(pixels, pattern)
    single = pixels.dtype.kind == "f" and pixels.dtype.itemsize < 8
    dtype = np.float32 if single else np.float64
    matcher = Matcher(pattern, measure, mask=mask, dtype=dtype)
    if pad_input:
        options = {"constant_values": constant_values} if mode == "constant" else {}
        pixels = _pad(pixels, matcher.shape, mode, options)
    return np.asarray(1 - matcher.score_map(pixels))


def _pad(
    pixels: NDArray[Any], shape: tuple[int, int], mode: Any, options: dict[str, Any]
) -> NDArray[Any]:
    """Pad an image so that each pixel is that of index (h // 2, w // 2) of some window.

    It is padded as floats, as there: a border may be a mean, or one half. The type is kept where
    it holds what came of that, because units and exact sums depend on it.
    """
    sides = [(side, side) for side in shape] + [(0, 0)] * (pixels.ndim - 2)
    floats, base = _checks.as_floats(pixels)
    wide = pixels if base or pixels.dtype.kind == "f" else floats  # base: floats lose digits
    # By the whole template, and cut: the ramps of numpy.pad depend on how wide they are.
    padded = np.pad(wide, sides, mode, **options)
    with np.errstate(invalid="ignore"):
        kept = padded.astype(pixels.dtype)
    (height, width), (rows, columns) = shape, pixels.shape[:2]
    kept[height : height + rows, width : width + columns] = pixels
    whole = kept if np.array_equal(kept, padded, equal_nan=padded.dtype.kind == "f") else padded
    top, left = height - height // 2, width - width // 2
    return whole[top : top + rows + height - 1, left : left + columns + width - 1]
