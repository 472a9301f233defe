"""Image files in and out; an output is written whole or not at all."""

import contextlib
import os
import struct
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
MAPS = (".npy", ".tif", ".tiff", ".png")

# Of TIFF files: the mark of those with 64-bit places, tags, a type of these, what they may say.
_BIG, _TAGS_LIMIT = 43, 2**16
_PHOTOMETRIC, _SAMPLES, _PLANAR, _EXTRA_SAMPLES = 262, 277, 284, 338
_SHORT, _WHITE_IS_0, _CMYK, _SEPARATE, _UNASSOCIATED = 3, 0, 5, 2, 2

_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green, blue: ITU-R BT.601, as OpenCV


def read_image(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read an image file as it is: type, channels and alpha are kept.

    Parameters
    ----------
    path : path
        A PNG, JPEG or TIFF file of 8 or 16 bits, or a TIFF file of floats. Of several
        pages or frames the first is read.

    Returns
    -------
    ndarray of shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB, or RGB and alpha.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no image, not whole, or too large; or a TIFF file that OpenCV misreads, such
        as of CMYK, of grey and alpha, or of 8-bit colours not multiplied by alpha.
    """
    data = np.frombuffer(Path(path).read_bytes(), np.uint8)
    # A JPEG is turned as its camera was held, which "unchanged" would not do.
    is_jpeg = data[:2].tobytes() == b"\xff\xd8"
    flags = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH if is_jpeg else cv2.IMREAD_UNCHANGED
    image: NDArray[Any] | None = None
    if data.size:
        with _quiet_opencv(), contextlib.suppress(cv2.error):
            image = cv2.imdecode(data, flags)
    if image is None:
        raise ValueError(
            f"{path} cannot be decoded: it must be a whole PNG, JPEG or TIFF file, of at most "
            "2^20 pixels a side and 2^30 in all"
        )
    misread = _misread(_tiff_tags(data.tobytes()), image)
    if misread:
        raise ValueError(
            f"{path} is a TIFF file of {misread}, which OpenCV would misread; save it as a PNG "
            "file, or a TIFF file of plain grey, RGB, or RGBA of 16 bits"
        )
    return _swap_red_and_blue(image)


def _misread(tags: dict[int, int], image: NDArray[Any]) -> str | None:
    """Name what a TIFF file holds, if it is not what OpenCV makes of it."""
    photometric, samples = tags.get(_PHOTOMETRIC), tags.get(_SAMPLES, 1)
    if photometric == _CMYK:
        return "CMYK"
    if samples > 1 and image.ndim == 2:
        return "channels that are no colours"
    if samples > 1 and tags.get(_PLANAR) == _SEPARATE:
        return "colours in separate planes"
    if photometric == _WHITE_IS_0 and image.dtype != np.uint8:
        return "greys of more than 8 bits of which 0 is white"
    if tags.get(_EXTRA_SAMPLES) == _UNASSOCIATED and image.dtype == np.uint8:
        return "8-bit colours not multiplied by alpha"
    return None


def _tiff_tags(data: bytes) -> dict[int, int]:
    """Read the numbers that the first page of a TIFF file is described by; none of others.

    OpenCV does not tell what the channels are.
    """
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    tags: dict[int, int] = {}
    if order is None:
        return tags

    def read(form: str, place: int) -> tuple[int, ...]:
        return struct.unpack_from(order + form, data, place)

    with contextlib.suppress(struct.error):  # where the file ends too early
        big = read("H", 2) == (_BIG,)
        (page,) = read("Q", 8) if big else read("I", 4)
        (number,) = read("Q" if big else "H", page)
        first, size, value = (page + 8, 20, 12) if big else (page + 2, 12, 8)
        for entry in range(first, first + size * min(number, _TAGS_LIMIT), size):
            tag, kind = read("HH", entry)
            (tags[tag],) = read("H" if kind == _SHORT else "I", entry + value)
    return tags


def to_grey(image: NDArray[Any]) -> NDArray[Any]:
    """Turn colours into luminance of the same type, (H, W) or with alpha (H, W, 2)."""
    if image.ndim == 2:
        return image
    grey = image[..., :3] @ np.array(_LUMINANCE)
    if image.dtype.kind in "ui":
        grey = np.rint(grey)
    grey = grey.astype(image.dtype)
    return grey if image.shape[2] == 3 else np.dstack([grey, image[..., 3]])


def check_output(path: str | os.PathLike[str], suffixes: tuple[str, ...]) -> None:
    """Refuse, before any work is done, a file that could not be written.

    Parameters
    ----------
    path : str or path-like
    suffixes : tuple of str
        Those that may be written, each with its dot.

    Raises
    ------
    OSError, ValueError
        If the suffix is not one of those given, or the folder is missing or read-only.
    """
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} has no known suffix: a name with {', '.join(suffixes)} is needed")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder to write {path.name} into")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: it or its folder is read-only")


def write_picture(path: str | os.PathLike[str], image: NDArray[Any]) -> None:
    """Write a picture, grey or RGB, of 8 or 16 bits, in the format that the suffix names."""
    if image.dtype not in (np.uint8, np.uint16):
        raise TypeError(f"a picture of type {image.dtype} cannot be written; uint8 or uint16 can")
    check_output(path, PICTURES)
    write_whole(Path(path), _encode(Path(path), image))


def write_map(path: str | os.PathLike[str], scores: NDArray[Any]) -> None:
    """Write a score map: as it is (.npy), as float32 (.tif), or as a grey picture (.png).

    In the picture 0, a perfect match, is black, and 1 or more is white.
    """
    check_output(path, MAPS)
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        buffer = BytesIO()
        np.save(buffer, scores)
        write_whole(path, buffer.getvalue())
    elif suffix == ".png":
        write_whole(path, _encode(path, np.rint(255 * np.clip(scores, 0, 1)).astype(np.uint8)))
    else:
        write_whole(path, _encode(path, scores.astype(np.float32)))


def _encode(path: Path, image: NDArray[Any]) -> bytes:
    done, data = cv2.imencode(path.suffix.lower(), _swap_red_and_blue(image))
    if not done:
        raise ValueError(f"{path}: an image of shape {image.shape} cannot be encoded")
    return data.tobytes()


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the file and move into its place, so that no half file is ever seen."""
    path = Path(path).resolve()  # what a link points to
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp lets only the owner read
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _swap_red_and_blue(image: NDArray[Any]) -> NDArray[Any]:
    """Swap between OpenCV's order of channels and everybody else's."""
    if image.ndim == 2:
        return image
    order = [2, 1, 0, 3][: image.shape[2]]
    return np.ascontiguousarray(image[..., order])


@contextlib.contextmanager
def _quiet_opencv() -> Iterator[None]:
    """Keep OpenCV from writing to the terminal what the caller says in one line."""
    log = cv2.utils.logging
    level = log.getLogLevel()
    log.setLogLevel(log.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        log.setLogLevel(level)
