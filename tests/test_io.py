"""Image files in and out."""

import struct
import zlib
from io import BytesIO

import cv2
import numpy as np
import PIL.Image
import pytest
import tifffile
from numpy.testing import assert_array_equal

from nuvmatch import io

RED = np.zeros((4, 5, 3), np.uint8)
RED[..., 0] = 200


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [".png", ".tif"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [(), (3,), (4,)])
def test_what_is_written_is_read_again(suffix, dtype, channels, tmp_path, rng):
    image = rng.integers(0, np.iinfo(dtype).max, (6, 7, *channels)).astype(dtype)
    path = tmp_path / f"ein bild ü{suffix}"
    io.write_picture(path, image)
    assert_array_equal(io.read_image(path), image)
    assert files(tmp_path) == [path.name]


def test_channels_are_red_green_blue(tmp_path):
    io.write_picture(tmp_path / "red.png", RED)
    assert_array_equal(cv2.imread(str(tmp_path / "red.png"))[0, 0], [0, 0, 200])
    io.write_picture(tmp_path / "red.jpg", RED)
    assert abs(io.read_image(tmp_path / "red.jpg").astype(int) - RED).max() < 9


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif"])
def test_half_a_file_is_refused(suffix, tmp_path, rng, capfd):
    path = tmp_path / f"image{suffix}"
    io.write_picture(path, rng.integers(0, 256, (64, 64, 3)).astype(np.uint8))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ValueError, match=rf"image{suffix} cannot be decoded"):
        io.read_image(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("content", [b"", b"text", b"\xff\xd8", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image_is_refused(content, tmp_path):
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.png cannot be decoded"):
        io.read_image(tmp_path / "x.png")


def png_header(width, height):
    """A file that says it is so large, and holds nothing."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@pytest.mark.parametrize("given", [None, b"x.png", 3, ["x.png"], np.zeros((3, 3))], ids=str)
def test_what_is_neither_a_path_nor_a_file_is_refused(given):
    for ask in (
        io.read_image,
        io.count_pages,
        io.nodata_of,
        lambda path: next(io.read_pages(path)),
    ):
        with pytest.raises(
            TypeError, match=r"^path is .*; it must be a str, a pathlib\.Path or a b"
        ):
            ask(given)


def test_a_file_of_text_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text("text")
    with (tmp_path / "x.txt").open() as file, pytest.raises(TypeError, match=r"opened with .*'rb'"):
        io.read_image(file)


@pytest.mark.parametrize("size", [(10**5, 10**5), (2**31 - 1, 2**31 - 1), (2**21, 3)])
def test_huge_pictures_are_refused_before_memory_is_taken(size, tmp_path):
    (tmp_path / "huge.png").write_bytes(png_header(*size))
    with pytest.raises(ValueError, match=r"huge\.png cannot be decoded: .* 2\^30 in all"):
        io.read_image(tmp_path / "huge.png")


def pictures(rng):
    """Files of many kinds, with what they hold; None if they are to be refused."""
    grey = rng.integers(0, 256, (20, 30), np.uint8)
    colour = rng.integers(0, 256, (20, 30, 3), np.uint8)
    alpha = np.dstack([colour, grey])
    palette = PIL.Image.fromarray(colour).quantize(16)
    both = np.dstack([grey, grey // 2])
    return {
        "grey 16.png": (grey.astype(np.uint16) * 257, {}, grey.astype(np.uint16) * 257),
        "palette.png": (palette, {}, np.asarray(palette.convert("RGB"))),
        "see-through palette.png": (palette, {"transparency": 3}, "seen"),
        "alpha only.png": (np.dstack([colour * 0, grey]), {}, np.dstack([colour * 0, grey])),
        "grey and alpha.png": (both, {}, both),
        "bits.png": (grey > 99, {}, np.where(grey > 99, 255, 0)),
        "packed.tif": (colour, {"compression": "tiff_lzw"}, colour),
        "fax.tif": (grey > 99, {"compression": "group4"}, np.where(grey > 99, 255, 0)),
        "floats.tif": (grey / np.float32(7), {}, grey / np.float32(7)),
        "alpha.tif": (alpha, {}, alpha),
        "Größe und 大きさ.png": (colour, {}, colour),
        "cmyk.tif": (PIL.Image.fromarray(alpha, "CMYK"), {}, None),
        "grey and alpha.tif": (both, {}, both),
    }  # fmt: skip


def test_pictures_of_all_kinds_are_read_as_they_are_or_refused(tmp_path, rng):
    for name, (content, options, expected) in pictures(rng).items():
        picture = content if isinstance(content, PIL.Image.Image) else PIL.Image.fromarray(content)
        picture.save(tmp_path / name, **options)
        if expected is None:
            with pytest.raises(ValueError, match="of SEPARATED"):
                io.read_image(tmp_path / name)
            continue
        found = io.read_image(tmp_path / name)
        if isinstance(expected, str):  # what shows through has any colour
            expected = np.asarray(PIL.Image.open(tmp_path / name).convert("RGBA"))
            found = np.where(found[..., 3:] > 0, found, 0)
            expected = np.where(expected[..., 3:] > 0, expected, 0)
        assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
@pytest.mark.parametrize("samples", [1, 3])
def test_plain_tiff_files_are_read_as_they_are(samples, dtype, byteorder, bigtiff, tmp_path, rng):
    pixels = rng.integers(0, 256, (20, 30, 3)).astype(dtype)
    pixels = pixels[..., 0] if samples == 1 else pixels
    photometric = "minisblack" if samples == 1 else "rgb"
    path = tmp_path / "x.tif"
    tifffile.imwrite(path, pixels, bigtiff=bigtiff, byteorder=byteorder, photometric=photometric)
    assert_array_equal(io.read_image(path), pixels)


def test_cmyk_photographs_become_rgb(tmp_path):
    cmyk = np.zeros((40, 40, 4), np.uint8)
    cmyk[..., 1] = 255  # magenta
    PIL.Image.fromarray(cmyk, "CMYK").save(tmp_path / "magenta.jpg", quality=95)
    found = io.read_image(tmp_path / "magenta.jpg")
    assert found.shape == (40, 40, 3)
    assert (found[..., 1] < 60).all()
    assert (found[..., [0, 2]] > 120).all()


def test_the_suffix_of_a_file_that_is_read_does_not_matter(tmp_path):
    io.write_picture(tmp_path / "red.png", RED)
    (tmp_path / "red.png").rename(tmp_path / "red.jpg")
    assert_array_equal(io.read_image(tmp_path / "red.jpg"), RED)


def test_luminance_keeps_type_and_alpha():
    grey = np.arange(20, dtype=np.uint16).reshape(4, 5)
    assert_array_equal(io.to_grey(grey), grey)
    assert_array_equal(io.to_grey(np.dstack([grey] * 3)), grey)
    assert_array_equal(io.to_grey(np.dstack([grey] * 4)), np.dstack([grey] * 2))
    assert (io.to_grey(RED) == round(0.299 * 200)).all()
    assert io.to_grey(RED).dtype == np.uint8
    bits = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T > 0
    brighter_than_half = [0.299 * r + 0.587 * g + 0.114 * b > 0.5 for r, g, b in bits]
    assert_array_equal(io.to_grey(bits[None])[0], brighter_than_half)
    opencv = cv2.cvtColor(np.float32([[[0.2, 0.5, 0.9]]]), cv2.COLOR_RGB2GRAY)
    assert io.to_grey(np.float32([[[0.2, 0.5, 0.9]]])) == pytest.approx(opencv, abs=1e-6)


def test_maps_are_written_in_three_formats(tmp_path):
    scores = np.array([[0, 0.5, 1, 1.7]], np.float32)
    for suffix in io.MAPS:
        io.write_map(tmp_path / f"map{suffix}", scores)
    assert_array_equal(np.load(tmp_path / "map.npy"), scores)
    assert_array_equal(io.read_image(tmp_path / "map.tif"), scores)
    assert_array_equal(io.read_image(tmp_path / "map.png"), [[0, 128, 255, 255]])


def test_an_output_that_cannot_be_written_is_refused_beforehand(tmp_path):
    (tmp_path / "folder.png").mkdir()
    for path, error, message in [
        (tmp_path / "x.gif", ValueError, "x.gif has no known suffix"),
        (tmp_path / "x", ValueError, "no known suffix"),
        (tmp_path / "folder.png", ValueError, "is not a file"),
        (tmp_path / "missing" / "x.png", FileNotFoundError, "missing is no folder"),
    ]:
        with pytest.raises(error, match=message):
            io.check_output(path, io.PICTURES)
    io.check_output(tmp_path / "X.PNG", io.PICTURES)


def test_what_no_file_can_hold_is_refused(tmp_path):
    with pytest.raises(TypeError, match="float64 cannot be written"):
        io.write_picture(tmp_path / "x.png", RED / 255)
    with pytest.raises(ValueError, match="no known suffix"):
        io.write_picture(tmp_path / "x.xyz", RED)
    with pytest.raises(ValueError, match="no known suffix"):
        io.write_map(tmp_path / "x.jpg", np.ones((2, 2)))
    assert files(tmp_path) == []


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link.png").symlink_to(tmp_path / "real.png")
    io.write_picture(tmp_path / "link.png", RED)
    assert (tmp_path / "link.png").is_symlink()
    assert_array_equal(io.read_image(tmp_path / "real.png"), RED)


def test_a_failed_write_leaves_nothing_and_spoils_nothing(tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    io.write_picture(path, RED)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="No space"):
        io.write_picture(path, RED + 1)
    assert path.read_bytes() == before
    assert files(tmp_path) == ["x.png"]


def test_nodata_stays_nodata_as_luminance_and_nothing_else_becomes_it():
    rgb = np.full((2, 3, 3), 90, np.uint8)
    rgb[0, 0], rgb[0, 1], rgb[1, 0], rgb[1, 1] = 0, (0, 0, 3), 255, (255, 255, 252)
    grey = io.to_grey(rgb, [0, 255])
    assert grey.tolist() == [[0, 1, 90], [255, 254, 90]]
    for other in (-9999, 300, 0.5, np.nan, np.inf):  # greys that the type has not
        assert_array_equal(io.to_grey(rgb, [other]), io.to_grey(rgb))
    none = np.full((1, 2, 3), -32768.0)
    none[0, 1] = 7
    assert io.to_grey(none, [-32768]).tolist() == [[-32768, pytest.approx(7)]]


def test_what_is_no_evidence_is_not_drawn_as_a_perfect_match(tmp_path):
    io.write_map(tmp_path / "map.png", np.array([[0, np.nan, 0.5]]))
    assert io.read_image(tmp_path / "map.png").tolist() == [[0, 255, 128]]


def test_16_bits_are_not_cut_down_to_a_jpeg(tmp_path):
    with pytest.raises(ValueError, match="JPEG has 8 bits a channel"):
        io.write_picture(tmp_path / "x.jpg", np.full((9, 9), 40000, np.uint16))
    assert not list(tmp_path.iterdir())


def test_who_may_read_an_output_stays_as_it_was_and_its_name_may_be_long(tmp_path):
    path = tmp_path / ("x" * 250 + ".png")
    path.touch(mode=0o600)
    io.write_picture(path, np.zeros((3, 3), np.uint8))
    assert path.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link.png"
    link.symlink_to(tmp_path / "missing" / "x.png")
    with pytest.raises(FileNotFoundError, match="whose folder is missing"):
        io.write_picture(link, np.zeros((3, 3), np.uint8))


@pytest.mark.parametrize(
    "data",
    [
        b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n123",
        b"\x89PNG\r\n\x1a\nacTLx",
    ],
)
def test_what_would_be_read_wrong_is_refused(data):
    with pytest.raises(ValueError, match="cannot be decoded"):
        io.read_image(BytesIO(data))


@pytest.mark.parametrize("kind", [b"tRNS", b"eXIf"])
def test_damage_to_what_a_png_says_of_its_pixels_is_told(kind, tmp_path):
    """Without it they would be read as opaque, or lie on their side."""
    path = tmp_path / "image.png"
    image = PIL.Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8))
    exif = PIL.Image.Exif()
    exif[274] = 6
    image.save(path, **({"transparency": 3} if kind == b"tRNS" else {"exif": exif}))
    data = bytearray(path.read_bytes())
    data[data.index(kind) + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is damaged"):
        io.read_image(path)


def test_palettes_of_one_bit_are_read(tmp_path):
    path = tmp_path / "image.tif"
    bits = np.arange(64).reshape(8, 8) % 3 == 0
    palette = struct.pack("<6H", 0, 65535, 0, 128 * 257, 257, 0)
    tags = [
        (256, 8), (257, 8), (258, 1), (259, 1), (262, 3), (273, 146), (277, 1), (278, 8), (279, 8),
    ]  # fmt: skip
    header = struct.pack("<2sHIH", b"II", 42, 8, len(tags) + 1)
    entries = b"".join(struct.pack("<HHIHH", tag, 3, 1, value, 0) for tag, value in tags)
    entries += struct.pack("<HHII", 320, 3, 6, 134) + bytes(4)
    path.write_bytes(header + entries + palette + np.packbits(bits).tobytes())
    expected = np.where(bits[..., None], [255, 128, 0], [0, 0, 1])
    assert_array_equal(io.read_image(path), expected)
