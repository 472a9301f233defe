"""Channels and sides of pixels that have been read."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green, blue: ITU-R BT.601, as OpenCV


def to_grey(image: NDArray[Any], nodata: Iterable[float] = ()) -> NDArray[Any]:
    """Turn RGB into luminance of the same type.

    Frames of OpenCV are BGR: pass ``frame[..., ::-1]``. Of whole numbers beyond 2^53 the last
    digits are lost.

    Parameters
    ----------
    image : ndarray of shape (H, W), (H, W, 1), (H, W, 2), (H, W, 3) or (H, W, 4)
        Grey, grey and alpha, RGB, or RGB and alpha.
    nodata : iterable of float
        Greys that are none: no colour but that of three such channels becomes one of them.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, 2)
        Grey, or grey and the alpha that was given.
    """
    channels = 1 if image.ndim == 2 else image.shape[2]
    if channels < 3:
        return image[..., 0] if image.ndim == 3 and channels == 1 else image
    grey = image[..., :3] @ np.array(_LUMINANCE)
    if image.dtype.kind in "uib":
        grey = np.rint(grey)
    grey = grey.astype(image.dtype)
    for value in nodata:
        none = (image[..., :3] == value).all(axis=2)
        if none.any():
            grey[none] = value
        become = (grey == value) & ~none
        if become.any():  # or it may be none that the type can have
            grey[become] = _beside(value, image.dtype)
    return grey if channels == 3 else np.dstack([grey, image[..., 3]])


def _beside(value: float, dtype: np.dtype[Any]) -> Any:
    """Return the next grey that a type has, towards the middle of all."""
    if dtype.kind not in "iu":
        return np.nextafter(dtype.type(value), dtype.type(1))
    limits = np.iinfo(dtype)
    return int(value) + (1 if value < (limits.min + limits.max) // 2 else -1)


def swap_red_and_blue(image: NDArray[Any]) -> NDArray[Any]:
    """Swap between OpenCV's order of channels and everybody else's."""
    if image.ndim == 2:
        return image
    order = [2, 1, 0, 3][: image.shape[2]]
    return np.ascontiguousarray(image[..., order])


def turned(image: NDArray[Any], mark: int) -> NDArray[Any]:
    """Turn an image upright, by the mark from 1 to 8 that TIFF and EXIF have for it."""
    if mark >= 5:
        image = image.swapaxes(0, 1)
    if mark in (3, 4, 7, 8):
        image = image[::-1]
    if mark in (2, 3, 6, 7):
        image = image[:, ::-1]
    return np.ascontiguousarray(image)
