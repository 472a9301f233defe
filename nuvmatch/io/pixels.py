"""Channels and sides of pixels that have been read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green, blue: ITU-R BT.601, as OpenCV


def to_grey(image: NDArray[Any]) -> NDArray[Any]:
    """Turn RGB into luminance of the same type.

    Frames of OpenCV are BGR: pass ``frame[..., ::-1]``. Of whole numbers beyond 2^53 the last
    digits are lost.

    Parameters
    ----------
    image : ndarray of shape (H, W), (H, W, 1), (H, W, 2), (H, W, 3) or (H, W, 4)
        Grey, grey and alpha, RGB, or RGB and alpha.

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
    return grey if channels == 3 else np.dstack([grey, image[..., 3]])


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
