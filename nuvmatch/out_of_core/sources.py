"""Anything that holds an image out of memory, as a dask array."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from .. import _checks
from ..io.tiff import MARKS, TiffPages
from ..measures.bands import WINDOWS_HELD

_CHANNELS = ("band", "bands", "channel", "channels", "c")  # of xarray, where they do not come last
_LARGEST_PIECE = 2**30  # bytes, that are read at a time


def as_lazy(image: Any, name: str) -> da.Array:
    """Take an image, wherever it is, as a dask array of known chunks.

    Parameters
    ----------
    image : dask array, zarr array, xarray DataArray, array_like, or path
        A path is that of an ``.npy`` file, a zarr store, or a TIFF file.
    name : str
        What it is called in errors.

    Raises
    ------
    OSError, TypeError, ValueError
        If it is none of these, or cannot be read in parts.
    """
    if isinstance(image, (str, os.PathLike)):
        image = _opened(Path(image), name)
    if hasattr(image, "dims") and hasattr(type(image), "data"):  # of xarray; to look reads it
        image = _of_xarray(image)
    if isinstance(image, np.ndarray) and not isinstance(image, np.ma.MaskedArray):
        image = _MemoryMap.of(image) or image
    if isinstance(image, da.Array):
        _checks.check_unmasked(image, name)
        lazy = image
    elif all(hasattr(image, part) for part in ("chunks", "shape", "dtype")):
        _check_kind(image.dtype, name)
        chunks = _chunks(image.shape, getattr(image, "shards", None) or image.chunks)
        lazy = da.from_array(image, chunks, name=False, asarray=True, meta=_nothing(image))
    else:
        greys = _checks.as_greys(image, name)
        lazy = da.from_array(greys, _chunks(greys.shape, None), name=False)
    if any(math.isnan(side) for side in lazy.shape):
        raise ValueError(
            f"{name} is a dask array of unknown chunk sizes, {lazy.shape}; "
            "array.compute_chunk_sizes() finds them"
        )
    _check_kind(lazy.dtype, name)
    return lazy


def _check_kind(kind: np.dtype[Any], name: str) -> None:
    _checks.as_greys(np.empty((0,), kind), name)


def _nothing(like: Any) -> NDArray[Any]:
    return np.empty((0,) * len(like.shape), like.dtype)


def _chunks(shape: tuple[int, ...], stored: Any) -> tuple[int, ...]:
    """Choose chunks of about a block, of whole pieces as they are stored."""
    if len(shape) not in (2, 3):
        return shape  # no image
    high, wide = (stored or (1, 1))[:2]
    columns = max(math.isqrt(WINDOWS_HELD), WINDOWS_HELD // max(shape[0], 1)) // wide * wide
    columns = min(max(columns, wide), max(shape[1], 1))
    rows = max(WINDOWS_HELD // columns // high, 1) * high
    return (rows, columns, *shape[2:])


def _opened(path: Path, name: str) -> Any:
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if path.is_dir() or path.suffix.lower() in (".zarr", ".zip"):
        return _of_store(path)
    with path.open("rb") as file:
        begins = file.read(6)
    if begins.startswith(MARKS):
        return _TiffFile.of(path)
    if begins == b"\x93NUMPY":
        try:
            return np.load(path, mmap_mode="r")
        except ValueError as error:
            raise ValueError(f"{path} cannot be read in parts: {error}") from error
    raise ValueError(
        f"{name} is {path}; what is read in parts is a TIFF file, an .npy file or a zarr store: "
        "nuvmatch.io.read_image reads others, whole"
    )


def _of_store(path: Path) -> Any:
    import zarr

    try:
        store: Any = str(path)
        if path.is_file():
            store = zarr.storage.ZipStore(path, mode="r")
        found = zarr.open(store, mode="r")
    except Exception as error:  # stores raise all kinds
        raise ValueError(f"{path} cannot be opened as a zarr store: {error}") from error
    if isinstance(found, zarr.Group):
        arrays = ", ".join(sorted(found.array_keys())) or "none"
        raise ValueError(
            f"{path} is a zarr group, whose arrays are {arrays}; what is searched is one: "
            "zarr.open(path)[name]"
        )
    return found


def _of_xarray(image: Any) -> Any:
    """Bring the channels last; what is not in memory is not brought there."""
    for axis, dimension in enumerate(image.dims):
        if image.ndim == 3 and str(dimension).lower() in _CHANNELS and axis < 2:
            rest = [other for other in image.dims if other != dimension]
            image = image[{dimension: 0}] if len(image[dimension]) == 1 else image
            image = image.transpose(*rest, *({dimension} & set(image.dims)))
            break
    if image.chunks is None and not getattr(image, "_in_memory", True):
        image = image.chunk("auto")
    return image.data


@dataclass(frozen=True)
class _MemoryMap:
    """An array in a file that is mapped anew where it is read: what is sent is its name."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]
    chunks: None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @classmethod
    def of(cls, array: NDArray[Any]) -> _MemoryMap | None:
        """Find where in a file an array is; None if it is in none, or not as it is there."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c":
            return None
        path = Path(str(root.filename)).resolve()
        if not path.exists():
            return None
        offset = root.offset + array.ctypes.data - root.ctypes.data
        return cls(str(path), array.shape, array.dtype, offset, array.strides)

    def __getitem__(self, part: Any) -> NDArray[Any]:
        mapped = np.memmap(self.path, np.uint8, "r")
        whole: NDArray[Any] = np.ndarray(
            self.shape, self.dtype, mapped.data, self.offset, self.strides
        )
        return np.array(whole[part])


@dataclass(frozen=True)
class _TiffFile:
    """The image of a TIFF file at full resolution, opened anew where it is read."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @classmethod
    def of(cls, path: Path) -> _TiffFile:
        """Look at a file.

        Raises
        ------
        ImportError, OSError, ValueError
            If it cannot be read in parts as it is.
        """
        with path.open("rb") as file:
            try:
                pages = TiffPages(file, str(path))
            except ImportError as error:
                raise ImportError(
                    f"{path} is a TIFF file: that needs pip install 'nuvmatch[io]'"
                ) from error
            pieces, extent = pages.stored_in, pages.extent
            pixel = pages.read_part(slice(0, 1), slice(0, 1))
        size = math.prod(pieces) * pixel.nbytes
        if size > _LARGEST_PIECE:
            raise ValueError(
                f"{path} is packed in pieces of {pieces} pixels, {size >> 20} MiB each, that are "
                "read whole; write it in tiles"
            )
        channels = pixel.shape[2:]
        chunks = tuple(map(min, pieces, extent))
        return cls(str(path.resolve()), extent + channels, pixel.dtype, chunks + channels)

    def __getitem__(self, part: Any) -> NDArray[Any]:
        rows, columns, *channels = part
        with _checks.silence(), Path(self.path).open("rb") as file:
            pages = TiffPages(file, self.path)
            if pages.extent != self.shape[:2]:
                raise ValueError(f"{self.path} has changed: its shape is now {pages.extent}")
            return pages.read_part(rows, columns)[:, :, *channels]
