"""Files of all kinds but TIFF: by OpenCV, and those that move by Pillow."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .pixels import swap_red_and_blue, turned

if TYPE_CHECKING:
    import PIL.Image

FORMATS = "PNG, JPEG, TIFF, BMP, WebP, GIF or PPM"

_PNG, _PAM = b"\x89PNG\r\n\x1a\n", b"P7"
_JPEG, _JPEG_END = b"\xff\xd8", b"\xff\xd9"
_DRAWN = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # what PNG's pixels are made of
_HEARD = (b"tRNS", b"eXIf")  # of chunks that a PNG may have: what is transparent, what is up
_ORIENTATION = 274  # a tag of EXIF
# What some cameras write: how a decoder complains of it, where it stands, and what it takes it for.
_ODDITIES = {
    "Warning: unknown JFIF": (rb"(JFIF\0).", b"\1"),
    "Unknown Adobe color transform": (rb"(\xff\xee..Adobe.{6}).", b"\1"),
    "Invalid SOS parameters": (
        rb"(\xff\xda\0(?:\x08\x01.{2}|\x0a\x02.{4}|\x0c\x03.{6}|\x0e\x04.{8})).{3}",
        b"\0\x3f\0",
    ),
}
_GREY, _PALETTE, _GREY_AND_ALPHA = 0, 3, 4  # of PNG's types of colour; 2, 6: RGB, and with alpha
_UPRIGHT = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH  # turned by its mark, without alpha


class Still:
    """A file of one picture."""

    nodata = None

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name = data, name

    def __len__(self) -> int:
        return 1

    def read(self, index: int) -> NDArray[Any]:
        """Decode the picture: grey or RGB, upright, with its alpha."""
        if self._data.startswith(_JPEG):
            return _decoded(_whole_jpeg(self._data, self._name), self._name, _UPRIGHT)
        if self._data.startswith(_PNG):
            return _png(self._data, self._name)
        return _decoded(self._data, self._name)


class Frames:
    """A file of pictures that follow each other: GIF, animated WebP or PNG.

    Raises
    ------
    ImportError
        If Pillow is not installed.
    ValueError
        If it cannot be decoded, or Pillow would not keep its bits.
    """

    nodata = None

    def __init__(self, data: bytes, name: str) -> None:
        import PIL.Image

        self._name = name
        bits, colours = (*data[24:26], 8, _PALETTE)[:2]  # of a PNG file, if it is that long
        if data.startswith(_PNG) and colours != _PALETTE and bits != 8:
            raise ValueError(
                f"{name} is an animated PNG file of {bits} bits a channel; 8 can be read"
            )
        with self._told():
            self._file = PIL.Image.open(BytesIO(data))
            self._count = int(getattr(self._file, "n_frames", 1))

    def __len__(self) -> int:
        return self._count

    def read(self, index: int) -> NDArray[Any]:
        """Decode a frame, drawn over those before it."""
        with self._told():
            self._file.seek(index)
            frame: PIL.Image.Image = self._file
            mode = "L" if frame.mode in ("L", "LA") else "RGB"
            mode += "A" * frame.has_transparency_data
            return np.array(frame if frame.mode == mode else frame.convert(mode))

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:  # decoders raise all kinds, OSError for what is cut
            raise ValueError(f"{self._name} cannot be decoded: {error}") from error


def moves(data: bytes) -> bool:
    """Whether a file may hold several frames."""
    if data.startswith(b"GIF8"):
        return True
    if data.startswith(_PNG):
        return b"acTL" in data[: data.find(b"IDAT")]
    return data[8:16] == b"WEBPVP8X" and len(data) > 20 and bool(data[20] & 2)


def _decoded(data: bytes, name: str, flags: int = cv2.IMREAD_UNCHANGED) -> NDArray[Any]:
    """Let OpenCV decode a file."""
    image: NDArray[Any] | None = None
    if data and not data.startswith(_PAM):  # whose channels OpenCV leaves in another order
        with _quiet_opencv(), contextlib.suppress(cv2.error):
            image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if image is None:
        raise ValueError(
            f"{name} cannot be decoded: it must be a whole file of {FORMATS}, of at most 2^20 "
            "pixels a side and 2^30 in all"
        )
    return swap_red_and_blue(image)


def _whole_jpeg(data: bytes, name: str) -> bytes:
    """Refuse a damaged JPEG file, and complete one of which only the end mark is missing.

    OpenCV would fill up with grey what is missing, and go on in the wrong place behind what is
    damaged. simplejpeg is strict; where it is not installed, the file is taken as it is.
    """
    if importlib.util.find_spec("simplejpeg") is None:
        return data
    if not data.endswith(_JPEG_END):
        data += _JPEG_END
    said = _complaint(data)
    for start, (odd, usual) in _ODDITIES.items():
        if said.startswith(start):
            data = re.sub(odd, rb"\1" + usual, data, count=1, flags=re.DOTALL)
            said = _complaint(data)
    # Some cameras fill up with 0 before the end mark.
    padded = data[: data.rfind(_JPEG_END)].rstrip(b"\0") + _JPEG_END
    if said and _complaint(padded):
        raise ValueError(f"{name} cannot be decoded: it is damaged, or of a rare kind: {said}")
    return padded if said else data


def _complaint(data: bytes) -> str:
    """Ask a strict decoder what is wrong with a JPEG file; nothing is with one that is whole."""
    from simplejpeg import decode_jpeg

    try:
        decode_jpeg(data, strict=True, min_height=1, min_width=1)  # an eighth: quick
    except ValueError as error:
        return str(error)
    return ""


def _png(data: bytes, name: str) -> NDArray[Any]:
    """Decode a PNG file, of which OpenCV alone would change some.

    It makes four channels of grey and alpha, forgets the grey that is transparent, and turns
    only what has no alpha. Of what is not needed for the pixels it would tell on the terminal.
    """
    chunks = _chunks(data, name)
    image = _decoded(_PNG + b"".join(chunk for kind, chunk in chunks if kind in _DRAWN), name)
    contents = {kind: chunk[8:-4] for kind, chunk in chunks}
    bits, colours = contents[b"IHDR"][8:10]
    if colours == _GREY_AND_ALPHA and image.ndim == 3:
        image = image[..., [0, 3]]
    elif colours == _GREY and b"tRNS" in contents and image.ndim == 2:
        key = int.from_bytes(contents[b"tRNS"][:2], "big") % 2**bits
        most = np.iinfo(image.dtype).max
        scale = 1 if bits >= 8 else 255 // (2**bits - 1)
        image = np.dstack([image, np.where(image == key * scale, 0, most).astype(image.dtype)])
    return turned(image, _orientation(contents.get(b"eXIf", b"")))


def _chunks(data: bytes, name: str) -> list[tuple[bytes, bytes]]:
    """Cut a PNG file into its chunks, each with its kind; their contents are ``chunk[8:-4]``.

    OpenCV would tell of damage by lines on the terminal.
    """
    chunks, place, kinds = [], len(_PNG), {b""}
    while place + 12 <= len(data) and b"IEND" not in kinds:
        length, kind = struct.unpack_from(">I4s", data, place)
        end = place + length + 12
        if data[end - 4 : end] == struct.pack(">I", zlib.crc32(data[place + 4 : end - 4])):
            chunks.append((kind, data[place:end]))
            kinds.add(kind)
        elif kind[:1].isupper() or kind in _HEARD:  # one that must be understood
            break
        place = end
    if not kinds >= {b"IHDR", b"IEND"}:
        raise ValueError(f"{name} cannot be decoded: it is damaged, or not a whole PNG file")
    return chunks


def _orientation(exif: bytes) -> int:
    """Read the mark from 1 to 8; 1, upright, if there is none."""
    order = ">" if exif[:2] == b"MM" else "<"
    with contextlib.suppress(struct.error):  # it ends too early
        (place,) = struct.unpack_from(order + "I", exif, 4)
        (number,) = struct.unpack_from(order + "H", exif, place)
        for entry in range(place + 2, place + 2 + 12 * number, 12):
            tag, _, _, mark = struct.unpack_from(order + "HHIH", exif, entry)
            if tag == _ORIENTATION and 1 <= mark <= 8:
                return int(mark)
    return 1


@contextlib.contextmanager
def _quiet_opencv() -> Iterator[None]:
    """Keep OpenCV from writing to the terminal what the caller says in one line."""
    log: Any = getattr(cv2.utils, "logging", cv2)  # where it is from OpenCV 5 on
    level = log.getLogLevel()
    log.setLogLevel(0)
    try:
        yield
    finally:
        log.setLogLevel(level)
