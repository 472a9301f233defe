"""TIFF files: by tifffile, or where that is missing by OpenCV, if it reads them right."""

import contextlib
import logging
import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._checks import warn
from .pixels import turned

MARKS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

_WHITE_IS_0, _GREY, _RGB, _PALETTE, _YCBCR = 0, 1, 2, 3, 6
_COLOURS = {_WHITE_IS_0: 1, _GREY: 1, _RGB: 3, _PALETTE: 1, _YCBCR: 3}
_JPEG = (6, 7)  # compressions, of which tifffile returns RGB for YCbCr
_ASSOCIATED, _UNASSOCIATED = 1, 2
_PHOTOMETRIC, _ORIENTATION, _NODATA = 262, 274, 42113
_UNPACKED, _PACKBITS, _LZW, _DEFLATE = 1, 32773, 5, (8, 32946)
_DENSEST = 2000  # bytes of pixels in one of a large file; LZW and deflate do not reach it


class TiffPages:
    """The pages of an open TIFF file; reduced copies of others are none.

    Nor is the mask that may follow a page, as of GeoTIFF files: it is the page's alpha.

    Raises
    ------
    ImportError
        If tifffile is not installed.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        import tifffile

        # What tifffile logs would be printed if nobody listens; what matters is raised here.
        logging.getLogger("tifffile").addHandler(logging.NullHandler())
        self._name = name
        with self._told():
            # Of ScanImage it would make up as many pages as there is room for.
            self._tif = tifffile.TiffFile(file, is_scanimage=False)
            self._pages, self._masks = _with_masks(self._all())
            self._planes = self._count_planes()
        if not self._pages:
            raise ValueError(f"{name} cannot be decoded: it is a TIFF file without a whole page")

    def __len__(self) -> int:
        return self._planes or len(self._pages)

    def _all(self) -> Iterator[Any]:
        """Find the pages; damaged files have some that follow each other in a circle, or lack some.

        Each says where the next one is, and the last that there is none; tifffile stops as quietly
        where there is nothing to be read.
        """
        places: set[int] = set()
        for page in self._tif.pages:
            if page.offset in places:
                raise ValueError(f"page {len(places) + 1} is one of those before it")
            places.add(page.offset)
            yield page
        file, width = self._tif.filehandle, self._tif.tiff.offsetsize
        file.seek(self._tif.pages.next_page_offset or 0)
        if len(self._tif.pages) != len(places) or file.read(width) != bytes(width):
            raise ValueError(
                f"page {len(places) + 1} cannot be read, and it ends after {file.size} bytes"
            )

    def _count_planes(self) -> int:
        """Count those that follow the first page without headers of their own; mostly 0.

        So ImageJ writes stacks of more than 4 GB.
        """
        if len(self._tif.pages) != 1 or not self._pages:
            return 0
        page = self._pages[0]
        self._check_extent(page)  # or what is said of the others is missing
        planes = self._said_planes(page) if page.is_final else 1
        start, size = page.dataoffsets[0], self._tif.filehandle.size
        end = start + planes * page.nbytes
        if planes == 1 or start <= page.offset < end:  # what is said was so of another file
            return 0
        if end > size:
            raise ValueError(f"it ends after {size} bytes, within its {planes} planes")
        return planes

    def _said_planes(self, page: Any) -> int:
        """Return how many planes a file of one page is said to have, at least 1."""
        series, told = self._tif.series[0], self._tif.imagej_metadata
        if told is None or series.kind == "imagej":
            return max(series.size // page.size, 1) if series.dataoffset is not None else 1
        # tifffile takes a stack that lacks some for one image.
        numbers = (told.get(name, 1) for name in ("images", "channels", "slices", "frames"))
        images, channels, slices, frames = (n if isinstance(n, int) else 1 for n in numbers)
        if channels == page.samplesperpixel > 1:  # of each plane
            images = slices * frames
        return max(images, 1)

    @property
    def nodata(self) -> float | None:
        """The grey that the file declares to be none (GDAL's tag), if a pixel can have it."""
        page = self._pages[0]
        text = str(page.tags.valueof(_NODATA)).strip("\0 ")
        if page.photometric not in (_GREY, _RGB) or page.dtype is None:
            return None
        try:
            if page.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    value = float(page.dtype.type(float(text)))  # as the pixels have it
                return None if math.isnan(value) else value
            grey = int(text) if text.lstrip("-").isdecimal() else float(text)
            limits = np.iinfo(page.dtype)
        except ValueError:
            return None
        steps = _steps_of(page)
        low, high = (limits.min, limits.max) if steps == 1 else (0, 255 // steps)
        return grey * steps if low <= grey <= high and grey == int(grey) else None

    def read(self, index: int) -> NDArray[Any]:
        """Read a page: grey or RGB, upright, with the alpha that it declares."""
        page = self._pages[0 if self._planes else index]
        alpha = self._check_kind(page)
        with self._told():
            self._check_extent(page)
            pixels = self._plane(page, index) if self._planes else page.asarray()
            if page.axes.startswith("S"):
                pixels = np.moveaxis(pixels, 0, -1)
            image, mask = _image(page, pixels, alpha), self._masks[self._pages.index(page)]
            if mask is not None:
                self._check_extent(mask)
                image = _masked(image, mask.asarray())
            return _native(turned(image, _orientation(page)))

    @property
    def stored_in(self) -> tuple[int, int]:
        """Rows and columns of the strips or tiles of the first page, or of its pixels at least.

        Raises
        ------
        ValueError
            If there are several pages, or rows and columns of this one are not those shown.
        """
        page = self._pages[0]
        if len(self) > 1:
            raise ValueError(
                f"{self._name} has {len(self)} pages, or images; what is read in parts is one: "
                "zarr.open_array(tifffile.imread(path, key=0, aszarr=True), mode='r') is the first"
            )
        if _orientation(page) != 1:
            raise ValueError(
                f"{self._name} is marked as turned or mirrored (orientation {_orientation(page)}); "
                "nuvmatch.io.read_image turns it, whole"
            )
        if page.is_memmappable:
            return 1, 1
        rows, columns = page.chunks[-2:] if page.axes.startswith("S") else page.chunks[:2]
        return rows, columns

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of the first page."""
        return self._pages[0].imagelength, self._pages[0].imagewidth

    def read_part(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Read a part of the first page, as `read` reads the whole."""
        page, mask = self._pages[0], self._masks[0]
        alpha = self._check_kind(page)
        with self._told():
            image = _image(page, self._part(page, rows, columns), alpha)
            if mask is not None:
                image = _masked(image, self._part(mask, rows, columns))
            return _native(image)

    def _part(self, page: Any, rows: slice, columns: slice) -> NDArray[Any]:
        self._check_extent(page)
        if page.is_memmappable:
            kind = page.dtype.newbyteorder(self._tif.byteorder)
            stored = self._tif.filehandle.memmap_array(kind, page.shape, page.dataoffsets[0])
        else:
            import zarr

            stored = zarr.open_array(page.aszarr(maxworkers=1), mode="r")
        if page.axes.startswith("S"):
            return np.moveaxis(np.asarray(stored[:, rows, columns]), 0, -1)
        return np.asarray(stored[rows, columns])

    def _plane(self, page: Any, index: int) -> NDArray[Any]:
        place = self._tif.series[0].dataoffset or 0
        dtype = page.dtype.newbyteorder(self._tif.byteorder)
        pixels = self._tif.filehandle.read_array(dtype, page.size, place + index * page.nbytes)
        return pixels.reshape(page.shape)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say of which file what went wrong: decoders raise all kinds of errors."""
        try:
            yield
        except (OSError, MemoryError):
            raise
        except Exception as error:
            hint = ""
            if "imagecodecs" in str(error):
                hint = " (pip install 'nuvmatch[io]')"
            raise ValueError(
                f"{self._name} cannot be decoded: it is damaged, or no kind of TIFF file that "
                f"tifffile reads: {error}{hint}"
            ) from error

    def _check_kind(self, page: Any) -> int | None:
        """Refuse what is neither grey nor RGB; return which channel is alpha, if any is."""
        colours = _COLOURS.get(page.photometric, 0)
        what = getattr(page.photometric, "name", page.photometric)
        if page.photometric == _WHITE_IS_0 and _PHOTOMETRIC not in page.tags:
            colours, what = 0, "colours without a name (PhotometricInterpretation)"
        elif page.photometric == _YCBCR and page.compression not in _JPEG:
            colours = 0
        elif "Z" in page.axes:
            colours, what = 0, "volumes"
        kind = getattr(page.dtype, "kind", "u")  # if there is none, tifffile says why
        if not 0 < colours <= page.samplesperpixel or kind not in "buif":
            raise ValueError(
                f"{self._name} is a TIFF file of {what}, of shape {page.shape} and type "
                f"{page.dtype}; it must hold greys, RGB, or a palette of these: convert it"
            )
        if page.photometric == _WHITE_IS_0 and kind not in "bu":
            raise ValueError(
                f"{self._name} holds {page.dtype} of which 0 is white; it must hold whole numbers "
                "without a sign, or 0 must be black"
            )
        return self._alpha(page, page.samplesperpixel, colours)

    def _alpha(self, page: Any, samples: int, colours: int) -> int | None:
        """Find the channel that is declared to be alpha, and say which others there are."""
        marks = [int(mark) for mark in page.extrasamples][: samples - colours]
        declared = [i for i, mark in enumerate(marks) if mark in (_ASSOCIATED, _UNASSOCIATED)]
        others = samples - colours - bool(declared)
        said = f"{self._name} has {others} channel{'s' if others > 1 else ''} beside "
        if others and colours == 1:
            raise ValueError(
                f"{said}grey that the file does not declare to be alpha; choose one: "
                "tifffile.imread(path) is an array of all"
            )
        if others:
            warn(f"{said}RGB that the file does not declare to be alpha: left out")
        return colours + declared[0] if declared else None

    def _check_extent(self, page: Any) -> None:
        """Refuse a file of fewer pixels than it says; decoders would fill up with 0.

        Tiles of no bytes at all are legal: there are no data.
        """
        size, counts = self._tif.filehandle.size, page.databytecounts
        ends = zip(page.dataoffsets, counts, strict=True)
        if max((offset + count for offset, count in ends), default=0) > size:
            raise ValueError(f"it ends after {size} bytes, within its pixels")
        if len(counts) != math.prod(page.chunked):
            raise ValueError(f"it has {len(counts)} strips or tiles of {math.prod(page.chunked)}")
        stored, needed = sum(counts), page.size * np.min(page.bitspersample) // 8
        too_few = page.compression == _UNPACKED and stored < needed and 0 not in counts
        if too_few or (page.nbytes > 2**30 and needed > _DENSEST * stored):
            raise ValueError(f"it has {stored} bytes of pixels, too few for shape {page.shape}")


def _with_masks(all_pages: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Tell pages from reduced ones, and which mask follows each, or None."""
    pages: list[Any] = []
    masks: list[Any] = []
    for page in all_pages:
        if page.is_reduced:
            continue
        if not page.is_mask:
            pages.append(page)
            masks.append(None)
        elif pages and page.shape == (pages[-1].imagelength, pages[-1].imagewidth):
            masks[-1] = page
    return pages, masks


def _orientation(page: Any) -> int:
    return int(page.tags.valueof(_ORIENTATION, 1))


def _native(image: NDArray[Any]) -> NDArray[Any]:
    return image.astype(image.dtype.newbyteorder("="), copy=False)


def _image(page: Any, pixels: NDArray[Any], alpha: int | None) -> NDArray[Any]:
    """Make grey or RGB, and alpha if it is declared, of what a page holds."""
    pixels = pixels if pixels.ndim == 3 else pixels[..., np.newaxis]
    colours = _COLOURS[page.photometric]
    image = _colours(page, pixels[..., :colours])
    if alpha is None:
        return image[..., 0] if image.shape[2] == 1 else image
    opacity = pixels[..., alpha]
    if page.extrasamples[alpha - colours] == _ASSOCIATED:
        image = _divided(image, opacity)
    return np.dstack([image, opacity])


def _masked(image: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
    """Make transparent what a mask leaves out."""
    image = image if image.ndim == 3 else image[..., np.newaxis]
    if image.shape[2] in (1, 3):
        most = np.iinfo(image.dtype).max if image.dtype.kind in "iu" else 1
        image = np.dstack([image, np.full(mask.shape, most, image.dtype)])
    image[..., -1][mask == 0] = 0
    return image


def _colours(page: Any, image: NDArray[Any]) -> NDArray[Any]:
    """Expand a palette and greys of less than 8 bits, and let 0 be black."""
    if page.photometric == _PALETTE:
        palette = np.asarray(page.colormap)
        if palette.max() > 255:  # 16 bits, but in old files 8
            palette = palette >> 8
        return np.moveaxis(palette.astype(np.uint8)[:, image[..., 0].astype(np.intp)], 0, 2)
    bits = page.bitspersample if isinstance(page.bitspersample, int) else 8
    steps = _steps_of(page)
    if steps > 1:
        image, bits = image.astype(np.uint8) * np.uint8(steps), 8
    if page.photometric != _WHITE_IS_0:
        return image
    return np.asarray(image.dtype.type(2**bits - 1) - image)


def _steps_of(page: Any) -> int:
    """Return how far apart greys of less than 8 bits are, spread over 8; 1 of others."""
    bits = page.bitspersample
    few = page.dtype.kind in "bu" and isinstance(bits, int) and bits < 8
    return 255 // (2**bits - 1) if few else 1


def _divided(image: NDArray[Any], opacity: NDArray[Any]) -> NDArray[Any]:
    """Divide colours by the alpha that they are multiplied by."""
    whole = image.dtype.kind == "u"
    most = np.iinfo(image.dtype).max if whole else 1
    shares = np.where(opacity > 0, opacity, most)[..., np.newaxis] / most
    colours = image / shares
    return (np.clip(np.rint(colours), 0, most) if whole else colours).astype(image.dtype)


def is_plain(data: bytes) -> bool:
    """Whether OpenCV reads a TIFF file right: one page of greys or RGB, and nothing else.

    It does not tell what it leaves out, or takes for something else.
    """
    order = "<" if data[:2] == b"II" else ">"
    tags = {}
    try:
        if struct.unpack_from(order + "H", data, 2) != (42,):
            return False
        (page,) = struct.unpack_from(order + "I", data, 4)
        (number,) = struct.unpack_from(order + "H", data, page)
        for entry in range(page + 2, page + 2 + 12 * number, 12):
            tag, _, count, place = struct.unpack_from(order + "HHII", data, entry)
            (tags[tag],) = struct.unpack_from(order + "H", data, entry + 8 if count <= 2 else place)
        (following,) = struct.unpack_from(order + "I", data, page + 2 + 12 * number)
    except struct.error:  # it ends too early
        return False
    bits, kind, samples = (tags.get(tag, 1) for tag in (258, _PHOTOMETRIC, 277))
    orientation, planar, form = (tags.get(tag, 1) for tag in (_ORIENTATION, 284, 339))
    packing, predictor = (tags.get(tag, 1) for tag in (259, 317))
    return (
        following == 0
        and _NODATA not in tags
        and (packing in (_LZW, *_DEFLATE) or (packing in (_UNPACKED, _PACKBITS) and predictor == 1))
        and (kind, samples) in ((_GREY, 1), (_RGB, 3))
        and (bits, form) in ((8, 1), (16, 1), (32, 3), (64, 3))
        and orientation == planar == 1
    )
