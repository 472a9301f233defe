"""Read image files: which kind it is, how many pages, and whether one was chosen."""

import contextlib
import os
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from numpy.typing import NDArray

from .._checks import as_integer, warn
from .stills import Frames, Still, moves
from .tiff import MARKS, TiffPages, is_plain

File = str | os.PathLike[str] | BinaryIO


class Pages(Protocol):
    """What an opened file holds: its number of pages, and how to read one."""

    @property
    def nodata(self) -> float | None:
        """The grey that the file declares to be none."""

    def __len__(self) -> int: ...

    def read(self, index: int) -> NDArray[Any]:
        """Decode a page, counted from 0."""


def read_image(path: File, *, page: int | None = None) -> NDArray[Any]:
    """Read an image file as it is: type, channels and alpha are kept.

    Palettes become RGB, bits 0 and 255, and greys of which 0 is white are inverted. Marks of how
    a camera was held are obeyed in JPEG, PNG and TIFF files. Alpha is what the file declares to
    be that, or a transparent colour; TIFF colours that are multiplied by alpha are divided by it
    again.

    Parameters
    ----------
    path : path or binary file
        Of PNG, JPEG, TIFF, BMP, WebP, GIF, PPM, or what else OpenCV reads. Most TIFF files,
        GIF and all that has several pages or frames need ``pip install 'nuvmatch[io]'``. So does
        telling a damaged JPEG file from a whole one: without, OpenCV shows grey or garbage
        in place of what is missing. JPEG has no checksums: damage that leaves a valid file is
        seen by nobody.
    page : int, optional
        Which page or frame, from 0. None: the first, with a warning if there are more.

    Returns
    -------
    ndarray of shape (H, W), (H, W, 2), (H, W, 3) or (H, W, 4)
        Grey, grey and alpha, RGB, or RGB and alpha.

    Raises
    ------
    OSError
        If the file cannot be read.
    TypeError
        If `path` is neither a path nor a binary file.
    ValueError
        If it is no image, damaged, or too large; if there is no such page; or a TIFF file
        of neither grey nor RGB, such as CMYK, or of grey with other channels than alpha.

    Warns
    -----
    UserWarning
        If there are more pages than the one that is read and none was chosen; if channels
        beside RGB are left out, as the file does not declare them to be alpha.
    """
    if page is not None:
        page = as_integer(page, "page", 0)
    with _opened(path) as (name, pages):
        count = len(pages)
        if page is None and count > 1:
            warn(
                f"{name} has {count} pages; only the first is read: page=0 to page={count - 1} "
                "choose one, and nuvmatch.io.read_pages reads all"
            )
        if page is not None and page >= count:
            raise ValueError(
                f"{name} has {count} page{'s' if count > 1 else ''}, counted from 0; "
                f"there is no page={page}"
            )
        return pages.read(page or 0)


def read_pages(path: File) -> Iterator[NDArray[Any]]:
    """Read the pages or frames of a file one after the other, each when it is asked for.

    Parameters
    ----------
    path : path or binary file
        As for `read_image`. Reduced copies in a TIFF file are no pages; each plane of a stack is.

    Yields
    ------
    ndarray
        As `read_image` returns it.
    """
    with _opened(path) as (_, pages):
        for index in range(len(pages)):
            yield pages.read(index)


def count_pages(path: File) -> int:
    """Count the pages or frames that `read_pages` would read."""
    with _opened(path) as (_, pages):
        return len(pages)


def nodata_of(path: File) -> float | None:
    """Tell the grey by which a TIFF file says that there are no data (GDAL's tag 42113).

    Parameters
    ----------
    path : path or binary file
        As for `read_image`.

    Returns
    -------
    float or None
        As `nodata=` of a matcher takes it; None if the file has none, or one that no pixel of
        its type can have, or where tifffile is not installed.
    """
    with _opened(path) as (_, pages):
        return pages.nodata


@contextlib.contextmanager
def _opened(path: File) -> Iterator[tuple[str, Pages]]:
    """Open a file, and find out who reads it."""
    if isinstance(path, (str, os.PathLike)):
        with Path(path).open("rb") as file:
            yield str(path), _pages(file, str(path))
    else:
        _check_binary(path)
        path.seek(0)
        name = str(getattr(path, "name", "the file"))
        yield name, _pages(path, name)


def _check_binary(file: Any) -> None:
    """Refuse what is no file, or one of text."""
    if not (hasattr(file, "read") and hasattr(file, "seek")):
        raise TypeError(
            f"path is {reprlib.repr(file)}; it must be a str, a pathlib.Path or a binary file"
        )
    if not isinstance(file.read(0), bytes):
        raise TypeError(f"path is a file of text, {file!r}; it must be opened with mode 'rb'")


def _pages(file: BinaryIO, name: str) -> Pages:
    start = file.read(4)
    file.seek(0)
    needed = ""
    if start in MARKS:
        try:
            return TiffPages(file, name)
        except ImportError:
            needed = "a TIFF file of other than plain grey or RGB on one page, or of a rare packing"
    data = file.read()
    if start in MARKS and is_plain(data):
        return Still(data, name)
    if moves(data):
        try:
            return Frames(data, name)
        except ImportError:
            needed = "a file of several frames"
    if needed:
        raise ValueError(f"{name} is {needed}: that needs pip install 'nuvmatch[io]'")
    return Still(data, name)
