"""Checks of arguments: each raises one error that says what was given and what is right."""

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


def as_greys(array: ArrayLike, name: str) -> NDArray[Any]:
    """Take anything that holds real numbers as an array of native byte order.

    Floats wider than float64 are rounded to it.

    Raises
    ------
    TypeError
        If it is None or masked, or holds complex numbers, objects, strings or dates.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array: pass its .data, and ~np.ma.getmaskarray({name}) as the mask"
        )
    try:
        greys = np.asarray(array)
    except ValueError as error:  # nested lists of unequal lengths
        raise TypeError(f"{name} is no array of numbers: {error}") from None
    if greys.dtype.kind not in "buif":
        given = type(array).__name__ if greys.dtype.kind == "O" else f"of type {greys.dtype}"
        raise TypeError(f"{name} is {given}; it must hold booleans, integers or floats")
    if greys.dtype.kind == "f" and greys.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # to infinity, which counts as no grey
            return greys.astype(np.float64)
    return greys if greys.dtype.isnative else greys.astype(greys.dtype.newbyteorder("="))


def as_floats(greys: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Turn checked greys into float64, if that holds them exactly.

    Raises
    ------
    ValueError
        If they are whole numbers beyond 2^53, which float64 cannot tell apart.
    """
    if greys.dtype.kind in "iu" and greys.dtype.itemsize == 8 and greys.size:
        low, high = int(greys.min()), int(greys.max())
        if max(-low, high) > 2**53:
            raise ValueError(
                f"{name} holds whole numbers from {low} to {high}, which float64 cannot tell "
                "apart; subtract an offset, or mask out what is no grey"
            )
    return greys.astype(np.float64)


def as_planes(array: ArrayLike, name: str) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Split an image into planes (1 or 3, height, width) and whether alpha is above 0.

    Raises
    ------
    TypeError, ValueError
        If it holds no real numbers, is empty, or is not of a known shape.
    """
    greys = as_greys(array, name)
    channels = greys.shape[2] if greys.ndim == 3 else 1
    if greys.ndim not in (2, 3) or channels not in (1, 2, 3, 4):
        raise ValueError(
            f"{name} has shape {greys.shape}; it must be (rows, columns), or (rows, columns, n) "
            "with n 1 for grey, 2 for grey and alpha, 3 for colour, 4 for colour and alpha"
        )
    if greys.size == 0:
        raise ValueError(f"{name} has shape {greys.shape}; it must not be empty")
    planes = greys[np.newaxis] if greys.ndim == 2 else np.moveaxis(greys, 2, 0)
    if channels in (2, 4):
        return planes[:-1], planes[-1] > 0
    return planes, None


def as_map_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Take the type of a score map."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype is {kind}; score maps are float32 or float64")
    return kind


def as_mask(array: ArrayLike | None, name: str, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Take a mask: non-zero counts.

    Raises
    ------
    TypeError, ValueError
        If it holds no numbers, is not of the given shape, or holds NaN.
    """
    if array is None:
        return None
    mask = as_greys(array, name)
    if mask.shape == (*shape, 1):
        mask = mask[..., 0]
    if mask.shape != shape:
        raise ValueError(f"{name} has shape {mask.shape}; it must be {shape}, as what it masks")
    if mask.dtype.kind == "f" and np.isnan(mask).any():
        raise ValueError(f"{name} holds NaN; it must be zero or non-zero everywhere")
    return np.asarray(mask != 0)


def as_integer(value: Any, name: str, least: int) -> int:
    """Take a whole number that is at least `least`."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; it must be a whole number")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    if number < least:
        raise ValueError(f"{name} is {number}; it must be at least {least}")
    return number


def as_number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Take a real number within [low, high]."""
    if isinstance(value, (bool, np.bool_, str)) or value is None:
        raise TypeError(f"{name} is {value!r}; it must be a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it must be a number") from None
    if not low <= number <= high:  # NaN fails too
        raise ValueError(f"{name} is {number:g}; it must be within [{low:g}, {high:g}]")
    return number


def as_range(value: Any, name: str) -> tuple[float, float]:
    """Take two finite numbers, the first below the second."""
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it must be two numbers (low, high)") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"{name} is ({low:g}, {high:g}); it must be finite, low below high")
    return low, high


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Take one of the named choices."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")
    return value
