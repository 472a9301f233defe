"""Checks of arguments: each raises one error that says what was given and what is right."""

import math
import operator
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

# Modes of Pillow images whose numbers are neither greys nor red, green and blue.
_NO_GREYS = {
    "P": "places in a palette",
    "PA": "places in a palette, and alpha",
    "CMYK": "inks",
    "HSV": "hue, saturation and value",
    "LAB": "lightness and two differences of colour",
    "YCbCr": "luminance and two differences of colour",
    "RGBX": "red, green, blue and nothing",
    "RGBa": "colours multiplied by alpha",
    "La": "greys multiplied by alpha",
}

# What other libraries call the way from theirs to an array in memory.
_WAYS_OUT = ("toarray", "download", "to_numpy", "get")
_LARGEST_READ = 2**31  # bytes of an array in chunks, which is perhaps larger than memory


class HoldsArray(Protocol):
    """What NumPy reads as an array though its own types do not say so, as Pillow's images."""

    @property
    def __array_interface__(self) -> Any:
        """Where the numbers are, and of which type."""


Picture: TypeAlias = ArrayLike | HoldsArray


def as_greys(array: Picture, name: str) -> NDArray[Any]:
    """Take anything that holds real numbers as an array of native byte order.

    Floats wider than float64 are rounded to it.

    Raises
    ------
    TypeError
        If it is None or masked, or holds complex numbers, objects, strings or dates, or is not
        in memory that NumPy can read.
    ValueError
        If it is a Pillow image whose numbers are no greys, nor red, green and blue, or in chunks
        of more than 2 GiB together.
    """
    mode = getattr(array, "mode", None)
    if isinstance(mode, str) and mode in _NO_GREYS and hasattr(array, "getbands"):
        raise ValueError(
            f"{name} is a Pillow image of mode {mode!r}, whose numbers are {_NO_GREYS[mode]}; "
            f"convert it to greys or colours (RGB, L, RGBA, LA)"
        )
    check_unmasked(array, name)
    greys = _as_array(array, name)
    if greys.dtype.kind not in "buif":
        raise TypeError(
            f"{name} is {_described(array, greys)}; it must hold booleans, integers or floats"
            f"{_hint(array, name)}"
        )
    if greys.dtype.kind == "f" and greys.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # to infinity, which counts as no grey
            return greys.astype(np.float64)
    return greys if greys.dtype.isnative else greys.astype(greys.dtype.newbyteorder("="))


def check_unmasked(array: Any, name: str) -> None:
    """Refuse a masked array, and one of dask whose chunks are such, unread."""
    if isinstance(getattr(array, "_meta", array), np.ma.MaskedArray):
        library = "np" if isinstance(array, np.ndarray) else "dask.array"
        pixels = "its .data" if library == "np" else f"dask.array.ma.getdata({name})"
        raise TypeError(
            f"{name} is a masked array: pass {pixels}, and ~{library}.ma.getmaskarray({name}) as "
            f"{'image_mask' if name == 'image' else 'mask'}"
        )


def _as_array(array: Any, name: str) -> NDArray[Any]:
    """Read what holds an array, by whatever protocol, if it is in memory or of a modest size."""
    if not isinstance(array, np.ndarray) and getattr(array, "chunks", None):
        octets = getattr(array, "nbytes", 0)
        if octets > _LARGEST_READ:
            raise ValueError(
                f"{name} is a {type(array).__name__} in chunks, of {octets / 2**30:.1f} GiB, all "
                f"of which would be read: nuvmatch.out_of_core searches images block by block; "
                f"pass np.asarray({name}) if it is to be held in memory"
            )
        if hasattr(type(array), "data") and hasattr(array, "dims"):
            array = array.data  # of xarray, which holds one of dask
    alone = hasattr(array, "__dlpack__") and not hasattr(array, "__array__")
    try:
        if hasattr(array, "__dask_graph__") and hasattr(array, "chunks"):
            array = array.compute()  # which keeps a mask, as what NumPy makes of it does not
        greys = np.from_dlpack(array) if alone else np.asanyarray(array)
    # Lists of unequal lengths, and what lies on another device or has gradients.
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{name} is no array of numbers in memory: {error}") from error
    check_unmasked(greys, name)  # some are known to be masked when they are read
    return np.asarray(greys)


def _described(array: Any, greys: NDArray[Any]) -> str:
    """Say what was given that holds no real numbers."""
    if array is None:
        return "None"
    whose = type(array)
    if greys.dtype != object or whose.__module__ in ("builtins", "numpy"):
        return f"of type {greys.dtype}"
    kinds = ", ".join(dict.fromkeys(map(str, np.ravel(getattr(array, "dtypes", ())))))
    return f"of type {whose.__name__}{kinds and f' ({kinds})'}, which NumPy reads as objects"


def _hint(array: Any, name: str) -> str:
    """Name a way from what was given to an array of numbers, if there may be one."""
    if isinstance(array, str):
        return " (nuvmatch.io.read_image reads a file)"
    way = next((way for way in _WAYS_OUT if hasattr(array, way)), None)
    return "" if way is None or isinstance(array, dict) else f" (see {name}.{way})"


def as_floats(greys: NDArray[Any]) -> tuple[NDArray[np.float64], int]:
    """Turn checked greys into float64, less the integer returned beside them.

    That is 0, but for whole numbers beyond 2^53, which floats could not tell apart.
    """
    if greys.dtype.kind in "iu" and greys.dtype.itemsize == 8 and greys.size:
        low, high = int(greys.min()), int(greys.max())
        if max(-low, high) > 2**53:
            # Modular arithmetic, in which no difference overflows.
            return (greys.view(np.uint64) - np.uint64(low % 2**64)).astype(np.float64), low
    return greys.astype(np.float64), 0


def as_planes(
    array: ArrayLike, name: str, beside: str = ""
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Split an image into planes (1 or 3, height, width) and alpha (height, width).

    Raises
    ------
    TypeError, ValueError
        If it holds no real numbers, is empty, or is not of a known shape, or its last
        channel cannot be alpha; the message ends with what stands `beside` it.
    """
    greys = as_greys(array, name)
    channels = greys.shape[2] if greys.ndim == 3 else 1
    if greys.ndim not in (2, 3) or channels not in (1, 2, 3, 4):
        raise ValueError(
            f"{name} has shape {greys.shape}; it must be (rows, columns), or (rows, columns, n) "
            "with n 1 for grey, 2 for grey and alpha, 3 for colour, 4 for colour and alpha"
            f"{_channels_first(greys, name)}{beside}"
        )
    if greys.size == 0:
        raise ValueError(f"{name} has shape {greys.shape}; it must not be empty{beside}")
    planes = greys[np.newaxis] if greys.ndim == 2 else np.moveaxis(greys, 2, 0)
    if channels in (1, 3):
        return planes, None
    alpha = planes[-1]
    # What is no share of anything: NaN fails both comparisons.
    if not (alpha.min() >= 0 and (alpha.dtype.kind != "f" or alpha.max() <= 1)):
        raise ValueError(
            f"{name} has shape {greys.shape}, so that channel {channels} is alpha; it reaches "
            f"from {alpha.min():g} to {alpha.max():g}, and alpha is at least 0, of floats at "
            f"most 1: leave it out ({name}[..., :{channels - 1}]), or scale it{beside}"
        )
    return planes[:-1], alpha


def _channels_first(greys: NDArray[Any], name: str) -> str:
    """Tell how channels that may come first are moved behind rows and columns."""
    first = greys.ndim == 3 and greys.shape[0] in (1, 2, 3, 4)
    return f"; if channels come first, pass np.moveaxis({name}, 0, -1)" if first else ""


def as_opaque(alpha: NDArray[Any] | None, name: str) -> NDArray[np.bool_] | None:
    """Tell where pixels count by their alpha: at least half of white, or of its maximum.

    What is half transparent shows as much of what is behind it.

    Warns
    -----
    UserWarning
        If it is 0 everywhere: then it is no alpha, as the unused fourth byte of many a
        screen capture.
    """
    if alpha is None:
        return None
    highest = alpha.max()
    if not highest:
        say = _warn if name == "image" else warn
        say(f"the alpha channel of the {name} is 0 everywhere; it is taken for unused")
        return None
    return np.asarray(alpha >= least_opaque(highest))


def least_opaque(highest: Any) -> float:
    """Return the least alpha that counts, given the highest of an image, above 0."""
    white, kind = 1.0, np.asarray(highest).dtype
    if kind.kind in "iu":
        ends = (255, 65535, int(highest)) if kind.itemsize > 2 else ()
        white = next((end for end in ends if highest <= end), np.iinfo(kind).max)
    return (white if highest >= white / 2 else float(highest)) / 2


def as_nodata(nodata: Any) -> tuple[float, ...]:
    """Take the greys that count nowhere: None, one, or several."""
    if nodata is None:
        return ()
    found = []
    for grey in nodata if np.ndim(nodata) else [nodata]:
        if isinstance(grey, (float, np.floating)) and np.isnan(grey):
            continue  # raster files may name it; it counts nowhere anyway
        number = as_number(grey, "nodata")
        found.append(int(grey) if isinstance(grey, (int, np.integer)) else number)
    return tuple(found)


def where_data(planes: NDArray[Any], nodata: tuple[float, ...]) -> NDArray[np.bool_] | None:
    """Tell where pixels of planes are none of these greys, in all channels; None: everywhere."""
    found = None
    for grey in nodata:
        kind = planes.dtype
        if kind.kind == "f":
            with np.errstate(over="ignore"):
                grey = kind.type(grey)  # as the file's type has it
        elif not float(grey).is_integer() or not (
            0 <= grey <= 1 if kind.kind == "b" else np.iinfo(kind).min <= grey <= np.iinfo(kind).max
        ):
            continue
        data = (planes != grey).any(axis=0)
        found = data if found is None else found & data
    return found


def check_pair(image: NDArray[Any], template: NDArray[Any]) -> None:
    """Refuse an image and a template, checked by `as_greys`, that do not go together."""
    planes, _ = as_planes(image, "image", f"; the template has shape {template.shape}")
    pattern, _ = as_planes(template, "template", f"; the image has shape {image.shape}")
    check_fit(planes, pattern)


def check_fit(
    image: NDArray[Any], template: NDArray[Any], least: tuple[int, int] | None = None
) -> None:
    """Refuse planes of a template that cannot lie in those of an image, all or `least` of them."""
    if len(image) != len(template):
        names = {1: "grey", 3: "colour"}
        given, sought = (
            f"{names[len(planes)]}, {planes.shape[1:]}" for planes in (image, template)
        )
        raise ValueError(
            f"the image is {given}, and the template {sought}: both must be grey or both colour "
            "(nuvmatch.io.to_grey makes grey of colour)"
        )
    height, width = least or template.shape[1:]
    if image.shape[1] < height or image.shape[2] < width:
        raise ValueError(
            f"the template of shape {template.shape[1:]} is larger than the image of shape "
            f"{image.shape[1:]}; it must fit in both directions"
        )


def as_region(
    region: Any, image: tuple[int, int], template: tuple[int, ...]
) -> tuple[int, int, int, int]:
    """Take (row, col, height, width), less what sticks out of the image.

    Raises
    ------
    TypeError, ValueError
        If it is not four whole numbers, or too small for the template as it is given.
    """
    try:
        row, column, height, width = region
    except (TypeError, ValueError):
        raise TypeError(f"the region is {region!r}; it must be (row, col, height, width)") from None
    row, column = (as_integer(row, "the region's row"), as_integer(column, "the region's col"))
    height = as_integer(height, "the region's height", 1)
    width = as_integer(width, "the region's width", 1)
    if height < template[0] or width < template[1]:
        raise ValueError(
            f"the template of shape {template} is larger than the region of shape {(height, width)}"
        )
    top, left = min(max(row, 0), image[0]), min(max(column, 0), image[1])
    bottom, right = min(row + height, image[0]), min(column + width, image[1])
    return top, left, max(bottom - top, 0), max(right - left, 0)


def as_map_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Take the type of a score map."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype is {dtype!r}; score maps are float32 or float64") from None
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype is {kind}; score maps are float32 or float64")
    return kind


def as_output(array: object, shape: tuple[int, int], wanted: np.dtype[Any] | None) -> np.dtype[Any]:
    """Take an array for a score map, and return its type.

    Raises
    ------
    TypeError, ValueError
        If it is no array of that shape that may be written to, of a type of score maps.
    """
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"out is of type {type(array).__name__}; it must be a NumPy array")
    if array.shape != shape:
        raise ValueError(f"out has shape {array.shape}; the score map has {shape}")
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        raise ValueError(f"out has type {array.dtype}; score maps are float32 or float64")
    if wanted is not None and array.dtype != wanted:
        raise ValueError(f"out has type {array.dtype}; this matcher's dtype is {wanted}")
    if not array.flags.writeable:
        raise ValueError("out is read-only")
    return np.dtype(array.dtype)


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


def as_flag(value: Any, name: str, choices: str = "True or False") -> bool:
    """Take True or False; what else may be chosen has been taken."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; it must be {choices}")
    return bool(value)


def as_integer(value: Any, name: str, least: int | None = None) -> int:
    """Take a whole number that is at least `least`."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; it must be a whole number")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    if least is not None and number < least:
        raise ValueError(f"{name} is {number}; it must be at least {least}")
    return number


def as_number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Take a real number within [low, high]."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, np.number)):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} is a number of more than 308 digits") from None
    if math.isnan(number):
        raise ValueError(f"{name} is NaN; it must be a number")
    if not low <= number <= high:
        raise ValueError(f"{name} is {number:g}; it must be within [{low:g}, {high:g}]")
    return number


def as_fill_value(value: Any) -> float:
    """Take any real number, NaN and infinity too."""
    if isinstance(value, (float, np.floating)):
        return float(value)
    return as_number(value, "fill_value")


def as_range(value: Any, name: str, *, finite: bool = True) -> tuple[float, float]:
    """Take two numbers, the first below the second."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it must be two numbers (low, high)") from None
    try:
        low, high = as_number(low, name), as_number(high, name)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be two numbers (low, high)") from None
    if not low < high or (finite and not math.isfinite(high - low)):
        wanted = "finite, low below high" if finite else "low below high"
        raise ValueError(f"{name} is ({low:g}, {high:g}); it must be {wanted}")
    return low, high


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Take one of the named choices."""
    if not isinstance(value, str) or value not in choices:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} is {value!r}; it must be {' or '.join(map(repr, choices))}")
    return str(value)


_unsaid: ContextVar[list[str] | None] = ContextVar("unsaid", default=None)
_template: ContextVar[str] = ContextVar("template", default="")


@contextmanager
def silence() -> Iterator[list[str]]:
    """Let this thread, and no other, go without our warnings for a while; they are listed."""
    unsaid: list[str] = []
    token = _unsaid.set(unsaid)
    try:
        yield unsaid
    finally:
        _unsaid.reset(token)


@contextmanager
def naming(template: Any) -> Iterator[None]:
    """Let warnings of this thread say which of several templates they are about; None: the one."""
    token = _template.set("" if template is None else f" (template {template!r})")
    try:
        yield
    finally:
        _template.reset(token)


def warn(message: str) -> None:
    """Warn about the line that called into this package."""
    _warn(message + _template.get())  # behind it: filters go by how a message begins


def _warn(message: str) -> None:
    """Warn of what is the same for all templates, as of the image."""
    unsaid = _unsaid.get()
    if unsaid is not None:
        unsaid.append(message)
        return
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=depth)


def warn_of_alpha() -> None:
    """Warn that an image is transparent wherever a window might be."""
    _warn("the image's alpha leaves no window to search: in each some pixel is transparent")
