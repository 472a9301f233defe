"""Anything that holds an image out of memory, as a dask array."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from .. import _checks

_CHANNELS = ("band", "bands", "channel", "channels", "c")  # of xarray, where they come first
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
    if hasattr(image, "dims") and hasattr(image, "data"):  # xarray
        image = _of_xarray(image)
    if isinstance(image, da.Array):
        lazy = image
    elif isinstance(image, np.memmap) and image.filename is not None and image.base is not None:
        lazy = _of_memory_map(image)
    elif hasattr(image, "chunks") and hasattr(image, "shape") and hasattr(image, "dtype"):
        lazy = da.from_array(image, chunks=getattr(image, "shards", None) or image.chunks)
    else:
        lazy = da.from_array(_checks.as_greys(image, name))
    if any(math.isnan(side) for side in lazy.shape):
        raise ValueError(
            f"{name} is a dask array of unknown chunk sizes, {lazy.shape}; "
            "array.compute_chunk_sizes() finds them"
        )
    _checks.as_greys(np.empty((0,), lazy.dtype), name)
    return lazy


def _opened(path: Path, name: str) -> Any:
    if path.suffix.lower() in (".tif", ".tiff", ".btf", ".svs", ".ndpi"):
        return _TiffFile.of(path)
    if path.suffix.lower() == ".npy":
        return np.load(path, mmap_mode="r")
    if path.is_dir() or path.suffix.lower() in (".zarr", ".zip"):
        import zarr

        return zarr.open_array(str(path), mode="r")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    raise ValueError(
        f"{name} is {path}; what is read in parts is a TIFF file, an .npy file or a zarr store: "
        "nuvmatch.io.read_image reads others, whole"
    )


def _of_xarray(image: Any) -> Any:
    data = image.data
    first = str(image.dims[0]).lower() if image.ndim == 3 else ""
    if first in _CHANNELS:
        return da.moveaxis(da.asarray(data), 0, -1) if image.shape[0] > 1 else data[0]
    return data


class _MemoryMap(NamedTuple):
    """A file that is mapped anew where it is read: what is sent is its name."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    order: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, part: Any) -> NDArray[Any]:  # type: ignore[override]
        mapped = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)  # type: ignore[call-overload]
        return np.array(mapped[part])


def _of_memory_map(image: np.memmap[Any, Any]) -> da.Array:
    whole = image.base
    plain = not isinstance(whole, np.ndarray)  # no part of another map, whose offset it has
    if not plain or not (image.flags.c_contiguous or image.flags.f_contiguous):
        return da.from_array(np.asarray(image))
    order = "C" if image.flags.c_contiguous else "F"
    path = str(Path(str(image.filename)).resolve())
    mapped = _MemoryMap(path, image.dtype, image.shape, image.offset, order)
    return da.from_array(mapped, chunks="auto", name=False, asarray=True, meta=_nothing(image))


def _nothing(like: Any) -> NDArray[Any]:
    return np.empty((0,) * len(like.shape), like.dtype)


class _TiffFile(NamedTuple):
    """The first image of a TIFF file at full resolution, opened anew where it is read."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    planar: bool  # whether channels come first in the file

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
        try:
            import tifffile
        except ImportError as error:
            raise ImportError(
                f"{path} is a TIFF file: that needs pip install 'nuvmatch[io]'"
            ) from error
        try:
            with tifffile.TiffFile(path) as file:
                series = file.series[0]
                page, axes = series.keyframe, series.levels[0].axes
        except OSError:
            raise
        except Exception as error:  # decoders raise all kinds
            raise ValueError(f"{path} cannot be decoded: {error}") from error
        photometric = int(page.photometric)
        if axes not in ("YX", "YXS", "SYX") or photometric not in (1, 2, 6):
            raise ValueError(
                f"{path} holds axes {axes} of kind {page.photometric.name}; what is read in parts "
                "is one grey or RGB image: nuvmatch.io.read_pages reads others"
            )
        if int(page.tags.valueof(274, 1)) != 1:
            raise ValueError(f"{path} is marked as turned; nuvmatch.io.read_image reads it, whole")
        whole = _opened_tiff(str(path.resolve()))
        shape, chunks = tuple(whole.shape), tuple(whole.chunks)
        if math.prod(chunks) * whole.dtype.itemsize > _LARGEST_PIECE:
            raise ValueError(
                f"{path} is in pieces of {chunks} pixels, of which one is more than "
                f"{_LARGEST_PIECE >> 30} GiB: write it in tiles"
            )
        planar = axes == "SYX"
        if planar:
            shape, chunks = (*shape[1:], shape[0]), (*chunks[1:], chunks[0])
        return cls(str(path.resolve()), shape, np.dtype(whole.dtype), chunks, planar)

    def __getitem__(self, part: Any) -> NDArray[Any]:  # type: ignore[override]
        whole = _opened_tiff(self.path)
        if not self.planar:
            return np.asarray(whole[part])
        rows, columns, channels = (*part, slice(None))[:3]
        return np.moveaxis(np.asarray(whole[channels, rows, columns]), 0, -1)


@lru_cache(maxsize=8)
def _opened_tiff(path: str) -> Any:
    import tifffile
    import zarr

    return zarr.open_array(tifffile.imread(path, aszarr=True, level=0, series=0), mode="r")
