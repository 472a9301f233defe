"""TIFF files as people have them: damaged, of many packings, of other channels, without data."""

import struct
import tracemalloc
import warnings
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import PIL.Image
import pytest
import tifffile
from files import GREY, RGB, encoded, read, tiff
from numpy.testing import assert_array_equal

from nuvmatch import io
from nuvmatch.io.tiff import TiffPages


def fields(data):
    """Where a TIFF file says what it is: places of its header's bytes; and of each tag's value."""
    with tifffile.TiffFile(BytesIO(data)) as file:
        (page,) = file.pages
        values = {tag.code: (tag.valueoffset, tag.valuebytecount) for tag in page.tags}
        places = {*range(8), *range(page.offset, page.offset + 6 + 12 * len(page.tags))}
    for place, size in values.values():
        places |= set(range(place, place + min(size, 40)))
    return sorted(places), values


def changed(data, tag, number):
    """The same TIFF file, but for one number in its header."""
    place, size = fields(data)[1][tag]
    return data[:place] + number.to_bytes(size, "little") + data[place + size :]


@pytest.mark.parametrize("kind", ["raw", "lzw", "tiles", "palette", "alpha", "jpeg"])
def test_any_byte_of_a_tiff_header_may_be_wrong(kind, path):
    """An array or a ValueError."""
    data = {
        "raw": lambda: tiff(RGB, photometric="rgb"),
        "lzw": lambda: tiff(GREY * np.uint16(99), compression="lzw", predictor=2, rowsperstrip=7),
        "tiles": lambda: tiff(GREY, tile=(16, 16)),
        "palette": lambda: tiff(
            GREY, photometric="palette", colormap=np.arange(768, dtype="u2").reshape(3, 256)
        ),
        "alpha": lambda: tiff(
            np.dstack([RGB, GREY]), photometric="rgb", extrasamples=["assocalpha"]
        ),
        "jpeg": lambda: tiff(RGB, photometric="rgb", compression="jpeg"),
    }[kind]()
    refused = 0
    for place in fields(data)[0]:
        for byte in {0, 255, data[place] ^ 1} - {data[place]}:
            try:
                with warnings.catch_warnings(action="ignore"):
                    read(data[:place] + bytes([byte]) + data[place + 1 :], path)
            except ValueError:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "packed", [{}, {"rowsperstrip": 4}, {"tile": (16, 16)}, {"compression": "zlib"}], ids=str
)
def test_strips_and_tiles_that_are_missing_are_not_made_up(packed, path):
    data = tiff(GREY, **packed)
    for tag, number in (257, 40), (256, 60), (257, 20000), (256, 20000):
        with pytest.raises(ValueError, match="cannot be decoded"):
            read(changed(data, tag, number), path)


@pytest.mark.parametrize(
    "packed", [{}, {"rowsperstrip": 4}, {"tile": (16, 16)}, {"compression": "zlib"}], ids=str
)
def test_no_number_in_a_small_file_reserves_large_memory(packed, path):
    data = tiff(GREY, **packed)
    tracemalloc.start()
    for tag in {256, 257, 277, 278, 322, 323} & set(fields(data)[1]):
        size = fields(data)[1][tag][1]
        for bit in range(8, 8 * size):
            try:
                read(changed(data, tag, 2**bit), path)
            except ValueError:
                continue
            assert tag == 278  # a strip of more rows than the image
    # 4 GB, all of them said to be in one strip.
    if "tile" not in packed:
        whole = changed(changed(changed(data, 256, 65000), 257, 65000), 278, 65000)
        with pytest.raises(ValueError, match=r"too few for shape|strips or tiles"):
            read(whole, path)
    assert tracemalloc.get_traced_memory()[1] < 2**31
    tracemalloc.stop()


def test_pages_in_a_circle_are_refused(path):
    data = tiff(np.stack([GREY, 255 - GREY]))
    with tifffile.TiffFile(BytesIO(data)) as file:
        places = [page.offset for page in file.pages]
    following = struct.pack("<I", places[1])
    assert data.count(following) == 1
    path.write_bytes(data.replace(following, struct.pack("<I", places[0])))
    for function in (io.read_image, io.count_pages, io.nodata_of):
        with pytest.raises(ValueError, match="page 2 is one of those before it"):
            function(path)


STACK = np.random.default_rng(28).integers(0, 256, (4, 7, 9), np.uint8)


def written(images, *, subifds=0, of_file=None, **options):
    """A TIFF file of several pages, each with reduced copies if these are wanted."""
    buffer = BytesIO()
    with tifffile.TiffWriter(buffer, **(of_file or {})) as file:
        for image in images:
            file.write(image, **{"photometric": "minisblack", **options}, subifds=subifds)
            for _ in range(subifds):
                file.write(image[::2, ::2], subfiletype=1, metadata=None)
    return buffer.getvalue()


def by_pillow(**options):
    first, *others = map(PIL.Image.fromarray, STACK)
    buffer = BytesIO()
    first.save(buffer, "tiff", save_all=True, append_images=others, **options)
    return buffer.getvalue()


def by_opencv():
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.tiff")
        assert cv2.imwritemulti(str(path), list(STACK))  # to memory, from version 4.11 on only
        return path.read_bytes()


def by_imagej(stack, /, **said):
    """One page and what is said of others, which follow without headers."""
    description = "\n".join(["ImageJ=1.53t", *(f"{name}={n}" for name, n in said.items())])
    return tiff(stack, description=description, metadata=None, software=None, truncate=True)


IMAGEJ = {"metadata": {"axes": "TCYX"}, "imagej": True}
STACKS = {
    "Pillow": by_pillow(),
    "Pillow, LZW": by_pillow(compression="tiff_lzw"),
    "Pillow, BigTIFF": by_pillow(big_tiff=True),
    "OpenCV": by_opencv(),
    "contiguous": tiff(STACK),
    "one header": tiff(STACK, truncate=True),
    "one header, BigTIFF": tiff(STACK, truncate=True, bigtiff=True, byteorder=">"),
    "strips, one header": tiff(STACK, truncate=True, rowsperstrip=3),
    "BigTIFF": tiff(STACK, bigtiff=True, byteorder=">"),
    "deflate": tiff(STACK, compression="zlib"),
    "ImageJ": tiff(STACK, imagej=True),
    "ImageJ, one header": tiff(STACK, imagej=True, truncate=True),
    "ImageJ, of two axes": tiff(STACK.reshape(2, 2, 7, 9), truncate=True, **IMAGEJ),
    "ImageJ by hand": by_imagej(STACK, images=4, slices=4),
    "OME": tiff(STACK, ome=True),
    "OME, BigTIFF": tiff(STACK, ome=True, bigtiff=True),
    "several series": written([STACK[:2], STACK[2], STACK[3]]),
    "pyramids": written(STACK, subifds=2),
    "reduced copies between": written(STACK, metadata=None, of_file={"bigtiff": True}, subifds=1),
    "ScanImage": written(STACK, metadata=None, software="SI.2015"),
}


@pytest.mark.parametrize("kind", STACKS)
def test_wherever_a_stack_is_cut_off_no_page_is_lost_without_a_word(kind):
    """What is behind the last page, as a description in OME, may be missing."""
    data, refused = STACKS[kind], []
    assert io.count_pages(BytesIO(data)) == 4
    assert_array_equal(list(io.read_pages(BytesIO(data))), STACK)
    ends = {*range(8, len(data), len(data) // 150 + 1), *range(len(data) - 9, len(data))}
    for end in sorted(ends):
        cut = BytesIO(data[:end])
        try:
            assert io.count_pages(cut) == 4
            assert_array_equal(list(io.read_pages(cut)), STACK)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 0.4 * len(ends)
    assert all("cannot be decoded" in said for said in refused)


@pytest.mark.parametrize("kind", ["Pillow, LZW", "OpenCV", "ImageJ", "ImageJ, one header"])
def test_half_a_stack_is_refused_whatever_is_asked_of_it(kind, path):
    path.write_bytes(STACKS[kind][: len(STACKS[kind]) // 2])
    pages = io.read_pages(path)
    for ask in (io.count_pages, io.read_image, io.nodata_of, lambda _: next(pages)):
        with pytest.raises(ValueError, match=r"x\.any cannot be decoded"):
            ask(path)


@pytest.mark.parametrize("end", [1, 2, 3])
def test_of_planes_without_headers_whole_ones_may_be_missing(end, path):
    for whole in (STACKS["ImageJ by hand"], STACKS["one header"]):
        data = whole[: len(whole) - (4 - end) * STACK[0].size]
        with pytest.raises(ValueError, match=f"ends after {len(data)} bytes, within its 4 planes"):
            read(data, path)


def test_what_a_page_tells_of_the_stack_that_it_was_taken_from_is_not_heard(path):
    """Libraries copy its description, and put the header behind the pixels."""
    data = by_imagej(GREY, images=5, slices=5)
    with tifffile.TiffFile(BytesIO(data)) as file:
        (page,) = file.pages
        place, start = page.offset, page.dataoffsets[0]
    header, pixels = bytearray(data[place:start]), data[start:]
    moved = 8 + len(pixels) - place
    for entry in range(2, 2 + 12 * int.from_bytes(header[:2], "little"), 12):
        tag, kind, count, value = struct.unpack_from("<HHII", header, entry)
        if tag == 273:
            struct.pack_into("<I", header, entry + 8, 8)
        elif {2: 1, 3: 2, 4: 4, 5: 8}[kind] * count > 4:
            struct.pack_into("<I", header, entry + 8, value + moved)
    turned = data[:4] + struct.pack("<I", 8 + len(pixels)) + pixels + header
    assert_array_equal(read(turned, path), GREY)
    assert io.count_pages(path) == 1


def test_channels_that_imagej_names_are_no_planes(path):
    said = {"images": 3, "channels": 3, "slices": 1, "frames": 1}
    description = "\n".join(["ImageJ=", *(f"{name}={n}" for name, n in said.items())])
    data = tiff(RGB, photometric="rgb", description=description, metadata=None)
    assert_array_equal(read(data, path), RGB)
    assert io.count_pages(path) == 1


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_tiles_without_any_data_are_legal(compression, path):
    """So GDAL writes sparse files."""
    data = tiff(GREY, tile=(16, 16), compression=compression)
    tables = fields(data)[1]
    for tag in (324, 325):  # the second of 2 x 2 tiles
        place, size = tables[tag]
        data = data[: place + size // 4] + bytes(size // 4) + data[place + size // 2 :]
    expected = GREY.copy()
    expected[:16, 16:] = 0
    assert_array_equal(read(data, path), expected)


# TIFF: what its channels are


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize(
    "packed",
    [
        {},
        {"tile": (16, 16)},
        {"rowsperstrip": 7},
        {"compression": "lzw", "predictor": True},
        {"compression": "deflate", "tile": (16, 16)},
        {"compression": "packbits"},
        {"compression": "zstd"},
        {"planarconfig": "separate"},
        {"planarconfig": "separate", "compression": "lzw"},
    ],
    ids=str,
)
def test_tiff_files_are_read_however_they_are_packed(packed, bigtiff, byteorder, path):
    """F26: separate planes too."""
    for image in (RGB, RGB * np.uint16(257), RGB / np.float32(7)):
        stored = np.moveaxis(image, 2, 0).copy() if "planarconfig" in packed else image
        if image.dtype.kind == "f" and packed.get("predictor"):
            packed = {**packed, "predictor": 3}
        data = tiff(stored, photometric="rgb", bigtiff=bigtiff, byteorder=byteorder, **packed)
        found = read(data, path)
        assert_array_equal(found, image)
        assert found.dtype == image.dtype


def test_photographs_in_tiff_become_rgb(path):
    small = np.random.default_rng(6).integers(0, 256, (8, 8, 3), np.uint8)
    smooth = cv2.resize(small, (128, 96), interpolation=cv2.INTER_CUBIC)
    in_ycbcr = BytesIO()
    PIL.Image.fromarray(smooth).convert("YCbCr").save(in_ycbcr, "tiff", compression="jpeg")
    for data in (
        encoded(smooth, "tiff", compression="jpeg", quality=95),
        tiff(smooth, photometric="rgb", compression="jpeg", compressionargs={"level": 95}),
        in_ycbcr.getvalue(),
    ):
        assert abs(read(data, path).astype(int) - smooth).mean() < 4
    with pytest.raises(ValueError, match="of YCBCR"):
        read(tiff(smooth, photometric="ycbcr", subsampling=(1, 1)), path)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_white_is_0_is_inverted(dtype, path):
    grey = GREY.astype(dtype)
    found = read(tiff(grey, photometric="miniswhite"), path)
    assert_array_equal(found, np.iinfo(dtype).max - grey)
    with pytest.raises(ValueError, match="0 is white"):
        read(tiff(GREY / np.float32(9), photometric="miniswhite"), path)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_greys_of_few_bits_are_0_to_255(bits, path):
    grey = GREY >> (8 - bits)
    expected = grey * (255 // (2**bits - 1))
    for photometric, right in ("minisblack", expected), ("miniswhite", 255 - expected):
        data = tiff(grey, photometric=photometric, bitspersample=bits)
        assert_array_equal(read(data, path), right)
    none = [(42113, "s", 0, "1", True)]
    path.write_bytes(tiff(grey, photometric="minisblack", bitspersample=bits, extratags=none))
    assert io.nodata_of(path) == (None if bits == 1 else expected[grey == 1][0])
    fax = encoded(GREY > 99, "tiff", compression="group4")
    assert_array_equal(read(fax, path), np.where(GREY > 99, 255, 0))


def test_palettes_become_rgb(path):
    palette = np.random.default_rng(4).integers(0, 256, (3, 256)).astype(np.uint16)
    for scaled in (palette * 257, palette * 256, palette):
        data = tiff(GREY, photometric="palette", colormap=scaled)
        assert_array_equal(read(data, path), np.moveaxis(palette[:, GREY], 0, 2))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("colours", [1, 3])
def test_alpha_is_what_a_file_declares_to_be_that(colours, dtype, path):
    photometric = "minisblack" if colours == 1 else "rgb"
    most = np.iinfo(dtype).max
    alpha = np.where(GREY < 9, 0, GREY).astype(dtype) * dtype(most // 255)
    image = RGB[..., :colours].astype(dtype) * dtype(most // 255)
    options = {"photometric": photometric, "planarconfig": "contig"}
    whole = np.dstack([image, alpha])
    assert_array_equal(read(tiff(whole, extrasamples=["unassalpha"], **options), path), whole)
    times = np.rint(image * (alpha[..., None] / most)).astype(dtype)
    data = tiff(np.dstack([times, alpha]), extrasamples=["assocalpha"], **options)
    found = read(data, path)
    assert_array_equal(found[..., colours], alpha)
    # What is divided by alpha has the rounding of the product, larger by as much.
    error = abs(found[..., :colours].astype(float) - image)
    within = 0.5 * most / np.maximum(alpha, 1) + 0.5
    assert (error <= within[..., None])[alpha > 0].all()


def test_other_channels_are_not_taken_for_alpha(path):
    four = np.dstack([RGB, GREY])
    data = tiff(four, photometric="rgb", extrasamples=["unspecified"])
    undeclared = cv2.imencode(".tif", four[..., [2, 1, 0, 3]])[1].tobytes()
    for content in (data, undeclared):
        with pytest.warns(UserWarning, match="1 channel beside RGB .* left out"):
            assert_array_equal(read(content, path), RGB)
    five = np.dstack([RGB, GREY, 255 - GREY])
    with pytest.warns(UserWarning, match="1 channel beside RGB"):
        found = read(
            tiff(five, photometric="rgb", extrasamples=["unspecified", "unassalpha"]), path
        )
    assert_array_equal(found, five[..., [0, 1, 2, 4]])
    for bands in (2, 3, 5):
        with pytest.raises(ValueError, match=f"{bands - 1} channels? beside grey .* tifffile"):
            read(tiff(five[..., :bands], planarconfig="contig"), path)


def test_what_a_tiff_file_is_not_is_named(path):
    volume = np.stack([GREY[:16, :16]] * 16)
    with pytest.raises(ValueError, match=r"of volumes, of shape \(16, 16, 16\)"):
        read(tiff(volume, volumetric=True, tile=(16, 16, 16)), path)
    place = struct.pack("<HHI", 262, 3, 1)
    for image, photometric in (GREY, "minisblack"), (RGB, "rgb"):
        nameless = tiff(image, photometric=photometric).replace(
            place, struct.pack("<HHI", 261, 3, 1)
        )
        with pytest.raises(ValueError, match=r"colours without a name \(PhotometricInter"):
            read(nameless, path)


@pytest.mark.parametrize("kind", ["separated", "cielab", "complex"])
def test_what_is_neither_grey_nor_rgb_is_refused_by_name(kind, path):
    if kind == "complex":
        data = tiff(GREY.astype(np.complex64))
    else:
        channels = np.dstack([RGB, GREY]) if kind == "separated" else RGB
        data = tiff(channels, photometric=kind)
    with pytest.raises(ValueError, match=rf"(?i){kind}.* must hold greys, RGB"):
        read(data, path)


# No data


@pytest.mark.parametrize(
    ("dtype", "text", "grey"),
    [
        (np.float32, "-9999", -9999.0),
        (np.float32, "-3.4028234663852886e+38", float(np.finfo(np.float32).min)),
        (np.float32, "0.1", float(np.float32(0.1))),
        (np.int16, " -32768 ", -32768.0),
        (np.uint8, "0", 0.0),
        (np.uint8, "-9999", None),
        (np.uint8, "1.5", None),
        (np.uint8, "2e1", 20.0),
        (np.uint8, "inf", None),
        (np.uint64, "18446744073709551615", 2**64 - 1),
        (np.uint64, "18446744073709551616", None),
        (np.int64, "-9223372036854775807", -(2**63) + 1),
        (np.float32, "1" * 400, np.inf),
        (np.float32, "nan", None),
        (np.float32, "none", None),
    ],
)
def test_the_tag_of_no_data_is_told(dtype, text, grey, path):
    path.write_bytes(tiff(GREY.astype(dtype), extratags=[(42113, "s", 0, text, True)]))
    assert io.nodata_of(path) == grey


def test_files_without_a_tag_have_no_such_grey(path):
    for data in (tiff(GREY), encoded(GREY, "png"), encoded(GREY, "jpeg"), encoded(GREY, "gif")):
        path.write_bytes(data)
        assert io.nodata_of(path) is None


@pytest.mark.parametrize("packing", [{}, {"tile": (16, 16)}, {"compression": "deflate"}])
@pytest.mark.parametrize("pixels", [GREY, RGB, GREY * np.uint16(200), GREY.astype("f4")])
def test_the_mask_behind_a_page_is_its_alpha(pixels, packing, tmp_path):
    """As GDAL writes it: behind the page, and those of reduced copies behind these."""
    path, mask = tmp_path / "masked.tif", np.zeros(GREY.shape, np.bool_)
    mask[3:-4, 2:-5] = True
    kind = {"photometric": "rgb" if pixels.ndim == 3 else "minisblack", **packing}
    with tifffile.TiffWriter(path) as file:
        file.write(pixels, **kind)
        file.write(mask, photometric="mask", subfiletype=4)
        file.write(pixels[::2, ::2], subfiletype=1, **kind)
        file.write(~mask[::2, ::2], photometric="mask", subfiletype=5)
    image = io.read_image(path)
    assert image.dtype == pixels.dtype
    assert_array_equal(image[..., :-1], pixels.reshape(*GREY.shape, -1))
    most = 1 if pixels.dtype.kind == "f" else np.iinfo(pixels.dtype).max
    assert_array_equal(image[..., -1], np.where(mask, most, 0))
    with path.open("rb") as file:
        part = TiffPages(file, path.name).read_part(slice(1, 9), slice(0, 7))
    assert_array_equal(part, image[1:9, :7])


def test_a_mask_and_alpha_leave_out_what_either_does(tmp_path):
    path, mask = tmp_path / "masked.tif", np.ones(GREY.shape, np.bool_)
    mask[:5] = False
    opacity = np.full(GREY.shape, 255, np.uint8)
    opacity[:, :5] = 0
    with tifffile.TiffWriter(path) as file:
        file.write(np.dstack([GREY, opacity]), photometric="minisblack", extrasamples=[2])
        file.write(mask, photometric="mask", subfiletype=4)
        file.write(GREY, photometric="minisblack")
    assert io.count_pages(path) == 2
    first, second = io.read_pages(path)
    assert_array_equal(first[..., 0], GREY)
    assert_array_equal(first[..., 1], np.where(mask, opacity, 0))
    assert_array_equal(second, GREY)


@pytest.mark.slow
def test_a_large_mask_of_ones_is_not_too_dense(tmp_path):
    """Of 2^30 pixels and more, which take a byte each when they are read, and a bit in the file."""
    path, tile = tmp_path / "mask.tif", np.ones((2048, 2048), np.bool_)
    options = {"photometric": "minisblack", "compression": "deflate", "tile": tile.shape}
    with tifffile.TiffWriter(path, bigtiff=True) as file:
        file.write((tile for _ in range(17**2)), shape=(17 * 2048,) * 2, dtype=np.bool_, **options)
    with path.open("rb") as file:
        part = TiffPages(file, path.name).read_part(slice(9, 12), slice(0, 5))
    assert_array_equal(part, np.full((3, 5), 255))
