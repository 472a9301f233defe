"""Write image files; an output is written whole or not at all."""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import cv2
import numpy as np
from numpy.typing import NDArray

from .pixels import swap_red_and_blue

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
MAPS = (".npy", ".tif", ".tiff", ".png")


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
    target = path.resolve()  # what a link points to
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} is a link to {target}, whose folder is missing")
    if not all(os.access(one, os.W_OK) for one in (target, target.parent) if one.exists()):
        raise PermissionError(f"{path} cannot be written: it or its folder is read-only")


def check_outputs(
    outputs: Iterable[tuple[str | os.PathLike[str] | None, tuple[str, ...]]],
    inputs: Iterable[str | os.PathLike[str]],
) -> None:
    """Refuse what cannot be written, and what would overwrite an input or another output.

    Parameters
    ----------
    outputs : iterable of (str or path-like or None, tuple of str)
        Each with the suffixes that it may have; None is not written.
    inputs : iterable of str or path-like

    Raises
    ------
    OSError, ValueError
        As `check_output`, or if a file is named twice.
    """
    taken = {Path(path).resolve() for path in inputs}
    for path, suffixes in outputs:
        if path is None:
            continue
        check_output(path, suffixes)
        if Path(path).resolve() in taken:
            raise ValueError(f"{path} is named twice; an output must be a file of its own")
        taken.add(Path(path).resolve())


def write_picture(path: str | os.PathLike[str], image: NDArray[Any]) -> None:
    """Write a picture in the format that the suffix names.

    Parameters
    ----------
    path : str or path-like
        With one of the suffixes in `PICTURES`.
    image : ndarray of uint8 or uint16
        Grey, RGB, or RGB and alpha: the last as PNG, or with tifffile as TIFF. JPEG has 8 bits.
    """
    if image.dtype not in (np.uint8, np.uint16):
        raise TypeError(f"a picture of type {image.dtype} cannot be written; uint8 or uint16 can")
    check_output(path, PICTURES)
    write_whole(path, _encode(Path(path), image))


def write_map(path: str | os.PathLike[str], scores: NDArray[Any]) -> None:
    """Write a score map: as it is (.npy), as float32 (.tif), or as a grey picture (.png).

    In the picture 0, a perfect match, is black, and 1 or more is white, as is NaN.
    """
    check_output(path, MAPS)
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        buffer = BytesIO()
        np.save(buffer, scores)
        write_whole(path, buffer.getvalue())
    elif suffix == ".png":
        shown = np.clip(np.nan_to_num(scores, nan=1.0), 0, 1)
        write_whole(path, _encode(path, np.rint(255 * shown).astype(np.uint8)))
    else:
        write_whole(path, _encode(path, scores.astype(np.float32)))


def _encode(path: Path, image: NDArray[Any]) -> bytes:
    suffix = path.suffix.lower()
    if image.shape[2:] == (4,) and suffix in (".tif", ".tiff"):
        return _tiff_with_alpha(image)
    # Alpha is dropped from a JPEG without a word.
    possible = image.ndim == 2 or image.shape[2:] == (3,)
    if not possible and (image.shape[2:], suffix) != ((4,), ".png"):
        raise ValueError(f"{path}: an image of shape {image.shape} cannot be encoded")
    if suffix in (".jpg", ".jpeg") and image.dtype != np.uint8:
        raise ValueError(f"{path}: JPEG has 8 bits a channel, PNG those of {image.dtype} as well")
    done, data = cv2.imencode(suffix, swap_red_and_blue(image))
    if not done:
        raise ValueError(f"{path}: an image of shape {image.shape} cannot be encoded")
    return data.tobytes()


def _tiff_with_alpha(image: NDArray[Any]) -> bytes:
    """Write what OpenCV would write without saying that it is alpha."""
    try:
        import tifffile
    except ImportError as error:
        raise ImportError(
            "TIFF files with alpha need tifffile: pip install 'nuvmatch[io]'"
        ) from error
    buffer = BytesIO()
    tifffile.imwrite(buffer, image, photometric="rgb", extrasamples=["unassalpha"])
    return buffer.getvalue()


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that no half of it is ever seen."""
    with written_whole(path) as file:
        file.write(data)


def _mode_of(path: Path) -> int:
    """Return who may read and write a file: as it is, or as the process makes new ones."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside this one, and move it into its place once all is written.

    Parameters
    ----------
    path : str or path-like
        What it is to be; left as it is if writing fails.

    Yields
    ------
    binary file
    """
    path = Path(path).resolve()  # what a link points to
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".nuvmatch-")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        temporary.chmod(_mode_of(path))  # mkstemp lets only the owner read
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
