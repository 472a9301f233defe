"""Files as people have them: damaged, turned, transparent, of many pages, of other colours.

F.. numbers the public bug reports.
"""

import struct
import zlib
from io import BytesIO

import numpy as np
import PIL.Image
import pytest
import tifffile
from files import GREY, PHOTO, RGB, encoded, read, tiff
from numpy.testing import assert_array_equal

from nuvmatch import io

# JPEG


def damages(data):
    n = len(data)
    return {
        "60 % and end mark": data[: n * 6 // 10] + b"\xff\xd9",
        "the last 20 bytes": data[:-22] + b"\xff\xd9",
        "300 bytes lost": data[: n // 2] + data[n // 2 + 300 :],
        "zeros": data[: n // 2] + bytes(200) + data[n // 2 + 200 :],
        "cut": data[: n * 6 // 10],
        "cut in the header": data[:100],
        "start alone": data[:2],
    }


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("damage", damages(b""))
def test_damaged_photographs_are_refused(damage, progressive, path, capfd):
    """F13."""
    data = encoded(PHOTO, "jpeg", quality=85, progressive=progressive)
    with pytest.raises(ValueError, match=r"x\.any cannot be decoded"):
        read(damages(data)[damage], path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("progressive", [False, True])
def test_whole_photographs_are_read_however_they_end(progressive, colour, path, capfd):
    """F13: without end mark, padded before it, or with more behind it."""
    image = np.dstack([PHOTO, PHOTO.T[:256, :300].repeat(2, 1)[:256, :300], PHOTO])
    for size in range(200, 216):  # the last byte may be any
        picture = (image if colour else PHOTO)[:size]
        data = encoded(picture, "jpeg", quality=85, progressive=progressive)
        expected = np.asarray(PIL.Image.open(BytesIO(data)))
        whole = [data, data[:-2], data[:-2] + bytes(3) + data[-2:], data + b"more"]
        for content in whole:
            assert_array_equal(read(content, path), expected)
    assert capfd.readouterr().err == ""


def test_photographs_of_rare_kinds_are_read(path):
    cmyk = np.zeros((40, 40, 4), np.uint8)
    cmyk[..., 1] = 255
    buffer = BytesIO()
    PIL.Image.fromarray(cmyk, "CMYK").save(buffer, "jpeg", quality=95)
    assert read(buffer.getvalue(), path).shape == (40, 40, 3)
    plain = read(encoded(PHOTO, "jpeg"), path)
    assert_array_equal(read(encoded(PHOTO, "jpeg", restart_marker_blocks=3), path), plain)


def odd(data):
    """Headers as some cameras write them, of whole pictures, with what decoders take them for."""
    scan = data.index(b"\xff\xda")
    end = scan + 2 + int.from_bytes(data[scan + 2 : scan + 4], "big")
    adobe = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0"
    return {
        "end of spectrum 0": data[: end - 2] + b"\0" + data[end - 1 :],
        "JFIF 2": data[:11] + b"\2" + data[12:],
        "Adobe 7": data[:2] + adobe + b"\7" + data[2:],
        "all": data[:11] + b"\2" + data[12:20] + adobe + b"\7" + data[20 : end - 2] + b"\0"
        + data[end - 1 :],
    }  # fmt: skip


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("kind", ["end of spectrum 0", "JFIF 2", "Adobe 7", "all"])
def test_odd_headers_are_read_but_hide_no_damage(kind, colour, path, capfd):
    plain = encoded(np.dstack([PHOTO, PHOTO[::-1], PHOTO]) if colour else PHOTO, "jpeg")
    data = odd(plain)[kind]
    assert_array_equal(read(data, path), read(plain, path))
    for damage in (data[: len(data) // 2], data[: len(data) // 2] + b"\xff" * 20 + data[-3000:]):
        with pytest.raises(ValueError, match=r"x\.any cannot be decoded"):
            read(damage, path)
    assert capfd.readouterr().err == ""


# Other damages


@pytest.mark.parametrize(
    "kind", ["png", "bmp", "tiff", "lzw", "jpeg in tiff", "gif", "ppm", "webp"]
)
def test_files_that_end_too_early_are_refused(kind, path, capfd):
    options = {
        "lzw": {"compression": "tiff_lzw"},
        "jpeg in tiff": {"compression": "jpeg"},
        "webp": {"lossless": True},
    }.get(kind, {})
    data = encoded(
        PHOTO, kind if kind in ("png", "bmp", "gif", "ppm", "webp") else "tiff", **options
    )
    read(data, path)
    ends = (9, 100, len(data) // 2, len(data) * 9 // 10, len(data) - 20)
    for end in ends:
        with pytest.raises(ValueError, match="cannot be decoded"):
            read(data[:end], path)
    assert capfd.readouterr().err == ""


def test_a_changed_bit_of_png_is_seen(path):
    data = bytearray(encoded(PHOTO, "png"))
    data[len(data) // 2] ^= 4
    with pytest.raises(ValueError, match="cannot be decoded"):
        read(bytes(data), path)


def test_folders_and_missing_files_are_errors_of_the_system(tmp_path):
    with pytest.raises(OSError, match="directory"):
        io.read_image(tmp_path)
    with pytest.raises(FileNotFoundError):
        io.read_image(tmp_path / "nope.png")


def test_a_binary_file_will_do(path):
    assert_array_equal(io.read_image(BytesIO(encoded(RGB, "png"))), RGB)
    with pytest.raises(ValueError, match="the file cannot be decoded"):
        io.read_image(BytesIO(b"text"))
    path.write_bytes(tiff(GREY))
    with path.open("rb") as file:
        assert_array_equal(io.read_image(file), GREY)
        assert not file.closed


# Turned and transparent


def exif(mark):
    return b"MM\0*\0\0\0\x08" + struct.pack(">HHHIHHI", 1, 274, 3, 1, mark, 0, 0)


def png(rows, bits, kind, *chunks):
    """A PNG file of rows of bytes, with chunks before the pixels."""
    width = len(rows[0]) * 8 // bits // {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    header = struct.pack(">IIBBBBB", width, len(rows), bits, kind, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    parts = [(b"IHDR", header), *chunks, (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def as_png(image, *chunks):
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[1 if image.ndim == 2 else image.shape[2]]
    rows = [row.astype(image.dtype.newbyteorder(">")).tobytes() for row in image]
    return png(rows, 8 * image.itemsize, kind, *chunks)


UPRIGHT = {
    1: lambda a: a,
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.rot90(a, 2).swapaxes(0, 1),
    8: np.rot90,
}


@pytest.mark.parametrize("mark", UPRIGHT)
def test_files_are_turned_as_they_say(mark, path):
    images = [GREY, RGB, np.dstack([GREY, 255 - GREY]), np.dstack([RGB, GREY])]
    single = np.dstack([GREY * 0 + 9, GREY])  # an icon of one colour
    for image in [*images, single, images[3] * np.uint16(257)]:
        expected = UPRIGHT[mark](image)
        assert_array_equal(read(as_png(image, (b"eXIf", exif(mark))), path), expected)
        photometric = "rgb" if image.shape[2:] in ((3,), (4,)) else "minisblack"
        tags = [(274, "H", 1, mark, True)]
        extra = ["unassalpha"] if image.shape[2:] in ((2,), (4,)) else None
        data = tiff(
            image,
            photometric=photometric,
            planarconfig="contig",
            extrasamples=extra,
            extratags=tags,
        )
        assert_array_equal(read(data, path), expected)
    flat = encoded(PHOTO[:64, :96], "jpeg", quality=95)
    turned = encoded(PHOTO[:64, :96], "jpeg", quality=95, exif=b"Exif\0\0" + exif(mark))
    assert_array_equal(read(turned, path), UPRIGHT[mark](read(flat, path)))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_alpha_of_grey_and_transparent_greys_make_two_channels(dtype, path):
    grey = GREY.astype(dtype) * dtype(np.iinfo(dtype).max // 255)
    both = np.dstack([grey, grey[::-1]])
    assert_array_equal(read(as_png(both), path), both)
    key = int(grey[3, 4])
    found = read(as_png(grey, (b"tRNS", struct.pack(">H", key))), path)
    assert_array_equal(found[..., 0], grey)
    assert_array_equal(found[..., 1], np.where(grey == key, 0, np.iinfo(dtype).max))
    colour = np.dstack([grey, grey.T.reshape(grey.shape), grey[::-1]])
    keys = struct.pack(">HHH", *map(int, colour[3, 4]))
    found = read(as_png(colour, (b"tRNS", keys)), path)
    assert_array_equal(found[..., :3], colour)
    opaque = (colour != colour[3, 4]).any(axis=2)
    assert_array_equal(found[..., 3], np.where(opaque, np.iinfo(dtype).max, 0))


def test_bits_have_transparent_greys_too(path):
    """Two bits: 0, 1, 2, 3 are 0, 85, 170, 255."""
    found = read(png([b"\x1b"], 2, 0, (b"tRNS", b"\0\1")), path)
    assert_array_equal(found, [[[0, 255], [85, 0], [170, 255], [255, 255]]])
    found = read(png([b"\xaa"], 1, 0, (b"tRNS", b"\0\0")), path)
    assert_array_equal(found[0, :3], [[255, 255], [0, 0], [255, 255]])
    palette = (b"PLTE", bytes(range(12)))
    found = read(png([b"\x1b"], 2, 3, palette, (b"tRNS", b"\xff\x07")), path)
    assert_array_equal(found[0, :, 3], [255, 7, 255, 255])
    assert_array_equal(found[0, :, :3], np.arange(12).reshape(4, 3))


def test_marks_that_are_none_turn_nothing(path):
    cut = exif(6)[:16]
    beside = b"II*\0\x08\0\0\0" + struct.pack("<HHHIHH", 1, 271, 3, 1, 6, 0)
    for mark in (exif(0), exif(9), b"", b"II*\0", b"II*\0" + b"\xff" * 40, cut, beside):
        assert_array_equal(read(as_png(RGB, (b"eXIf", mark)), path), RGB)


def test_parts_of_png_that_draw_nothing_are_not_heard_of(path, capfd):
    odd = [(b"iCCP", b"x\0\0"), (b"eXIf", b"II*"), (b"gAMA", b"\0"), (b"tEXt", b"a\0bc")]
    data = as_png(RGB, *odd)
    place = data.index(b"tEXt")
    wrong = data[: place + 8] + bytes(4) + data[place + 12 :]  # its checksum
    for content in (data, wrong):
        assert_array_equal(read(content, path), RGB)
    assert capfd.readouterr().err == ""


# Pages


def test_of_several_pages_the_first_is_read_with_a_word(path):
    """F26."""
    pages = np.stack([GREY, 255 - GREY, GREY // 2])
    with pytest.warns(UserWarning, match=r"x\.any has 3 pages; only the first is read: page=0"):
        assert_array_equal(read(tiff(pages), path), GREY)
    for k in range(3):
        assert_array_equal(io.read_image(path, page=k), pages[k])
    assert_array_equal(list(io.read_pages(path)), pages)
    assert io.count_pages(path) == 3
    with pytest.raises(ValueError, match=r"has 3 pages, counted from 0; there is no page=3"):
        io.read_image(path, page=3)
    with pytest.raises(ValueError, match=r"page is -1"):
        io.read_image(path, page=-1)
    with pytest.raises(TypeError, match=r"page is 'all'"):
        io.read_image(path, page="all")
    with pytest.raises(ValueError, match=r"has 1 page, counted from 0; there is no page=1"):
        read(encoded(GREY, "png"), path, page=1)


def test_pages_are_read_when_they_are_asked_for(path):
    data = tiff(np.stack([GREY, 255 - GREY]), compression="zlib")
    with tifffile.TiffFile(BytesIO(data)) as file:
        place = file.pages[1].dataoffsets[0]
    path.write_bytes(data[:place] + bytes(30) + data[place + 30 :])
    pages = io.read_pages(path)
    assert_array_equal(next(pages), GREY)
    with pytest.raises(ValueError, match="cannot be decoded"):
        next(pages)


def test_reduced_copies_are_no_pages(path):
    with tifffile.TiffWriter(path) as file:
        file.write(GREY, subifds=1, photometric="minisblack")
        file.write(GREY[::2, ::2], subfiletype=1, photometric="minisblack")
        file.write(GREY[::4, ::4], subfiletype=1, photometric="minisblack")
    assert io.count_pages(path) == 1
    assert_array_equal(io.read_image(path), GREY)


@pytest.mark.parametrize("form", [{"imagej": True}, {"ome": True}, {"truncate": True}, {}], ids=str)
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_each_plane_of_a_stack_is_a_page(form, byteorder, path):
    if "imagej" in form and byteorder == "<":
        byteorder = ">"
    stack = np.random.default_rng(2).integers(0, 2**16, (3, 2, 8, 9)).astype(np.uint16)
    metadata = {"axes": "TCYX"}
    data = tiff(stack, metadata=metadata, byteorder=byteorder, **form)
    path.write_bytes(data)
    found = list(io.read_pages(path))
    assert_array_equal(found, stack.reshape(6, 8, 9))
    assert_array_equal(io.read_image(path, page=4), stack.reshape(6, 8, 9)[4])
    assert found[0].dtype.isnative


@pytest.mark.parametrize("kind", ["gif", "webp", "png"])
def test_frames_are_pages(kind, path):
    frames = [np.full((20, 30, 3), grey, np.uint8) for grey in (30, 90, 200)]
    for k, frame in enumerate(frames):
        frame[3 * k : 3 * k + 3, 4:9] = (255, 0, 0)
    options = {"lossless": True} if kind == "webp" else {}
    more = [PIL.Image.fromarray(frame) for frame in frames[1:]]
    data = encoded(frames[0], kind, save_all=True, append_images=more, **options)
    with pytest.warns(UserWarning, match="3 pages"):
        assert_array_equal(read(data, path)[..., :3], frames[0])
    assert_array_equal([page[..., :3] for page in io.read_pages(path)], frames)


def test_frames_keep_their_bits_or_are_refused(path):
    more = {"save_all": True, "append_images": [PIL.Image.fromarray(GREY[::-1])]}
    found = read(encoded(GREY, "png", transparency=int(GREY[3, 4]), **more), path, page=0)
    assert_array_equal(found, np.dstack([GREY, np.where(GREY[3, 4] == GREY, 0, 255)]))
    control = (b"acTL", struct.pack(">II", 1, 0))
    frame = (b"fcTL", struct.pack(">IIIIIHHBB", 0, 30, 20, 0, 0, 1, 1, 0, 0))
    assert_array_equal(read(as_png(RGB, control, frame), path), RGB)
    for deep in (GREY * np.uint16(257), RGB * np.uint16(257)):
        with pytest.raises(ValueError, match="animated PNG file of 16 bits a channel"):
            read(as_png(deep, control, frame), path)


def test_a_still_gif_has_alpha_where_it_is_transparent(path):
    indices = PIL.Image.fromarray((GREY // 64).astype(np.uint8), "P")
    indices.putpalette(bytes(range(10, 22)))
    buffer = BytesIO()
    indices.save(buffer, "gif", transparency=2)
    found = read(buffer.getvalue(), path)
    assert_array_equal(found[..., 3], np.where(GREY // 64 == 2, 0, 255))
    indices.save(buffer := BytesIO(), "gif")
    assert read(buffer.getvalue(), path).shape == (20, 30, 3)


# With what must be installed alone


PLAIN = {
    "grey": GREY,
    "grey 16": GREY * np.uint16(257),
    "floats": GREY / np.float32(7),
    "doubles": GREY / 7,
    "rgb": RGB,
    "rgb 16": RGB * np.uint16(257),
}
PACKED = {
    "packbits": {"compression": "packbits"},
    "lzw": {"compression": "lzw", "predictor": True},
    "deflate": {"compression": "zlib", "predictor": True},
    "old deflate": {"compression": "deflate"},
}


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("kind", PLAIN)
def test_plain_tiff_files_need_nothing_more(kind, byteorder, path, request):
    image = PLAIN[kind]
    data = tiff(image, photometric="rgb" if image.ndim == 3 else "minisblack", byteorder=byteorder)
    request.getfixturevalue("bare")
    found = read(data, path)
    assert_array_equal(found, image)
    assert found.dtype == image.dtype
    assert io.count_pages(path) == 1
    assert io.nodata_of(path) is None


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("kind", ["grey", "rgb 16", "floats"])
def test_tiff_files_of_usual_packings_need_nothing_more(kind, packing, path, request):
    image = PLAIN[kind]
    photometric = "rgb" if image.ndim == 3 else "minisblack"
    data = tiff(image, photometric=photometric, **PACKED[packing])
    request.getfixturevalue("bare")
    assert_array_equal(read(data, path), image)


def misread():
    """What OpenCV makes something else of, or may."""
    planes = np.moveaxis(RGB, 2, 0).copy()
    four = np.dstack([RGB, GREY])
    return {
        "cmyk": tiff(four, photometric="separated"),
        "alpha": tiff(four, photometric="rgb", extrasamples=["unassalpha"]),
        "four": tiff(four, photometric="rgb"),
        "two greys": tiff(RGB[..., :2], planarconfig="contig"),
        "three greys": tiff(RGB, planarconfig="contig"),
        "planes": tiff(planes, photometric="rgb", planarconfig="separate"),
        "white is 0": tiff(GREY * np.uint16(9), photometric="miniswhite"),
        "pages": tiff(np.stack([GREY, GREY])),
        "signs": tiff(GREY.astype(np.int16)),
        "signed colours": tiff(RGB.astype(np.int16), photometric="rgb"),
        "turned": tiff(GREY, extratags=[(274, "H", 1, 6, True)]),
        "palette": tiff(GREY, photometric="palette", colormap=np.zeros((3, 256), np.uint16)),
        "big": tiff(GREY, bigtiff=True),
        "cut": tiff(GREY)[:100],
        "no data": tiff(GREY, extratags=[(42113, "s", 0, "0", True)]),
        "zstd": tiff(GREY, compression="zstd"),
        "png in tiff": tiff(GREY, compression="png"),
        "packbits of differences": tiff(GREY, compression="packbits", predictor=2),
        "gif": encoded(GREY, "gif"),
        "frames": encoded(
            GREY, "png", save_all=True, append_images=[PIL.Image.fromarray(255 - GREY)]
        ),
    }


@pytest.mark.parametrize("kind", misread())
def test_what_opencv_may_misread_is_refused_with_the_way_out(kind, path, request):
    data = misread()[kind]
    request.getfixturevalue("bare")
    with pytest.raises(ValueError, match=r"x\.any is .*pip install 'nuvmatch\[io\]'"):
        read(data, path)


def test_png_and_jpeg_need_nothing_more(path, request):
    files = {
        "png": (as_png(np.dstack([GREY, 255 - GREY])), np.dstack([GREY, 255 - GREY])),
        "turned": (as_png(np.dstack([RGB, GREY]), (b"eXIf", exif(6))), None),
        "jpeg": (encoded(PHOTO, "jpeg"), None),
    }
    expected = {name: read(data, path) for name, (data, _) in files.items()}
    request.getfixturevalue("bare")
    for name, (data, image) in files.items():
        assert_array_equal(read(data, path), expected[name] if image is None else image)
    with pytest.raises(ImportError, match=r"pip install 'nuvmatch\[io\]'"):
        io.write_picture(path.with_suffix(".tif"), np.dstack([RGB, GREY]))


def test_a_missing_codec_is_named(path, monkeypatch):
    data = tiff(GREY, compression="lzw")
    monkeypatch.setattr(
        tifffile.TiffPage,
        "asarray",
        lambda *_: (_ for _ in ()).throw(
            ValueError("<COMPRESSION.LZW: 5> requires the 'imagecodecs' package")
        ),
    )
    with pytest.raises(ValueError, match=r"LZW.*pip install 'nuvmatch\[io\]'"):
        read(data, path)


def test_pictures_with_alpha_declare_it(tmp_path):
    image = np.dstack([RGB, GREY])
    for suffix in (".tif", ".png"):
        io.write_picture(tmp_path / f"x{suffix}", image)
        assert_array_equal(io.read_image(tmp_path / f"x{suffix}"), image)
    with tifffile.TiffFile(tmp_path / "x.tif") as file:
        assert [int(mark) for mark in file.pages[0].extrasamples] == [2]
    with pytest.raises(ValueError, match=r"x\.jpg: an image of shape \(20, 30, 4\)"):
        io.write_picture(tmp_path / "x.jpg", image)
