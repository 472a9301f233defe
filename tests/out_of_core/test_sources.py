"""Whatever holds an image out of memory: read as it is, in parts, or refused in words."""

import mmap
import pickle
import tracemalloc
import zlib

import dask
import dask.array as da
import numpy as np
import pytest
import tifffile
import xarray as xr
import zarr
from numpy.testing import assert_array_equal

from nuvmatch import Matcher, Search, out_of_core
from nuvmatch.io import read_image
from nuvmatch.measures.bands import WINDOWS_HELD
from nuvmatch.out_of_core import blocks, sources
from nuvmatch.out_of_core.sources import as_lazy

pytestmark = [pytest.mark.usefixtures("small_blocks"), pytest.mark.compiled]

GIB = 2**30


def lazy(image):
    found = as_lazy(image, "image")
    assert isinstance(found, da.Array)
    assert not any(np.isnan(side) for side in found.shape)
    return found


def check(image, expected):
    """That it is lazily what it is, by its parts too, and can be sent to where it is read."""
    found = pickle.loads(pickle.dumps(lazy(image)))
    assert (found.shape, found.dtype.newbyteorder("=")) == (
        expected.shape,
        expected.dtype.newbyteorder("="),
    )
    assert_array_equal(found, expected)
    part = slice(3, 20), slice(5, 9)
    assert_array_equal(found[part], expected[part])
    return found


def small(found, limit=20_000):
    """That no pixels travel with what is sent."""
    assert len(pickle.dumps(found)) < limit
    return found


# Memory maps and .npy files.


@pytest.fixture
def large_blocks(monkeypatch):
    """As they are but for other tests: what is small is not so for want of chunks."""
    for module in (blocks, sources):
        monkeypatch.setattr(module, "WINDOWS_HELD", WINDOWS_HELD)


@pytest.fixture
def npy(tmp_path, scene):
    path = tmp_path / "scene.npy"
    np.save(path, np.tile(scene, (2, 2)).astype(">u2"))
    return path


PARTS = {
    "whole": lambda a: a,
    "rows": lambda a: a[7:],
    "rows and columns": lambda a: a[7:50, 11:99],
    "a part of a part": lambda a: a[7:90][3:60, 5:],
    "steps": lambda a: a[::3, 1::2],
    "backwards": lambda a: a[::-1, ::-2],
    "columns first": lambda a: a.T,
    "a plain array": np.asarray,
    "a plain part": lambda a: np.asarray(a)[5:70, 9:],
    "bytes": lambda a: a.view(np.uint8),
    "one channel": lambda a: a[..., None],
    "repeated": lambda a: np.broadcast_to(a[0], (30, a.shape[1])),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_of_memory_maps_are_read_where_they_are(part, order, npy):
    whole = np.load(npy)
    np.save(npy, np.asarray(whole, order=order))
    mapped = np.load(npy, mmap_mode="r")
    if part == "bytes" and order == "F":
        mapped, whole = mapped.T, np.ascontiguousarray(whole.T)
    small(check(PARTS[part](mapped), PARTS[part](np.asarray(whole))))


@pytest.mark.parametrize("mode", ["r", "r+", "w+"])
def test_raw_files_with_headers(mode, tmp_path, scene):
    path = tmp_path / "raw.bin"
    path.write_bytes(b"header.." + scene.tobytes())
    mapped = np.memmap(path, np.uint8, mode, 8, scene.shape)
    if mode == "w+":
        mapped[:] = scene
    small(check(mapped, scene))


def test_what_was_changed_in_memory_only_is_not_read_from_the_file(npy, scene):
    """Copy on write, copies, and what is computed."""
    mapped = np.load(npy, mmap_mode="c")
    mapped[5, 7] = 1234
    check(mapped, np.asarray(mapped))
    mapped = np.load(npy, mmap_mode="r")
    check(mapped + np.uint16(1), np.asarray(mapped) + np.uint16(1))
    check(mapped.copy(), np.asarray(mapped))
    check(mapped[[3] * 30], np.asarray(mapped)[[3] * 30])


def test_what_is_written_into_a_map_is_read(npy):
    mapped = np.load(npy, mmap_mode="r+")
    found = lazy(mapped)
    mapped[5, 7] = 77
    assert found[5, 7].compute() == 77


def test_maps_of_no_file_are_arrays(tmp_path, scene):
    raw = mmap.mmap(-1, scene.size)
    array = np.frombuffer(raw, np.uint8).reshape(scene.shape)
    array[:] = scene
    check(array, scene)
    path = tmp_path / "gone.bin"
    path.write_bytes(scene.tobytes())
    mapped = np.memmap(path, np.uint8, "r", 0, scene.shape)
    path.unlink()
    check(mapped, scene)


def test_masked_arrays_are_refused_mapped_or_not(npy):
    mapped = np.load(npy, mmap_mode="r")
    with pytest.raises(TypeError, match="masked array"):
        lazy(np.ma.masked_equal(mapped, 3))


def test_masked_chunks_are_refused_in_memory_and_out_of_it(scene):
    """Before any is read where dask knows that they are; else at the first."""
    matcher = Matcher(scene[20:36, 30:50])
    masked = da.from_array(np.ma.masked_greater(scene, 100), chunks=50)
    secret = da.map_blocks(
        lambda block: np.ma.masked_greater(block, 100), da.from_array(scene, chunks=50),
        dtype=scene.dtype, meta=np.empty((0, 0), scene.dtype),
    )  # fmt: skip
    for image in (masked, secret, xr.DataArray(secret, dims=("y", "x"))):
        with pytest.raises(TypeError, match=r"^image is a masked array: .* as image_mask"):
            matcher.locate(image)
        with pytest.raises(TypeError, match=r"^template is a masked array: .* as mask"):
            Matcher(image)
        with pytest.raises(TypeError, match=r"^image_mask is a masked array"):
            matcher.locate(scene, image_mask=image)
        for seeker in (matcher, Search(scene[20:36, 30:50], angles=(0, 90))):
            with pytest.raises(
                (TypeError, out_of_core.BlockError), match="image is a masked array"
            ):
                out_of_core.locate(image, seeker)
        with pytest.raises((TypeError, out_of_core.BlockError), match="mask is a masked array"):
            out_of_core.locate(scene, matcher, image_mask=image)
    with pytest.raises(TypeError, match=r"dask\.array\.ma\.getdata\(image\)"):
        out_of_core.score_map(masked, matcher)
    with pytest.raises(out_of_core.BlockError, match="image is a masked array"):
        out_of_core.score_map(secret, matcher).compute()
    parts = da.ma.getdata(masked), ~da.ma.getmaskarray(masked)  # as the error says
    found = out_of_core.score_map(parts[0], matcher, image_mask=parts[1])
    assert_array_equal(found, matcher.score_map(scene, image_mask=scene <= 100))


def test_npy_files_by_name(npy, tmp_path):
    small(check(npy, np.load(npy)))
    small(check(str(npy), np.load(npy)))
    other = tmp_path / "named_otherwise.dat"
    npy.rename(other)
    check(other, np.load(other))


def test_a_large_file_is_not_read_to_be_opened(large_blocks, tmp_path):
    """A file of holes: of 4 GiB nothing is in memory, and nothing is sent."""
    path = tmp_path / "large.npy"
    mapped = np.lib.format.open_memmap(path, "w+", np.uint16, (40_000, 50_000))
    mapped[20_000:20_010, 30_000:30_010] = np.arange(100).reshape(10, 10)
    tracemalloc.start()
    found = small(lazy(path), 50_000)
    small(lazy(mapped[5:, 7:]), 50_000)
    assert max(map(max, found.chunks)) <= 10_000
    part = found[20_000:20_010, 30_000:30_010].compute()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_array_equal(part, np.arange(100).reshape(10, 10))
    assert peak < 100e6


@pytest.mark.parametrize("damage", ["short", "header", "objects"])
def test_damaged_npy_files_are_refused(damage, npy):
    data = npy.read_bytes()
    if damage == "short":
        npy.write_bytes(data[:-50])
    elif damage == "header":
        npy.write_bytes(data[:20])
    else:
        np.save(npy, np.array([[None]], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"scene.npy cannot be read in parts"):
        lazy(npy)


def test_a_file_that_is_cut_off_later_is_an_error_that_names_the_block(npy, scene):
    found = lazy(npy)
    npy.write_bytes(npy.read_bytes()[:5000])
    with pytest.raises(out_of_core.BlockError, match=r"rows 0 to"):
        out_of_core.locate(found, Matcher(scene[:9, :9].astype("u2")))


# zarr.


@pytest.mark.parametrize("kind", ["folder", "zip", "memory", "sharded"])
def test_zarr_arrays(kind, tmp_path, scene):
    image = np.tile(scene, (3, 3))
    store = tmp_path / "a.zarr"
    if kind == "zip":
        store = zarr.storage.ZipStore(tmp_path / "a.zip", mode="w")
    elif kind == "memory":
        store = zarr.storage.MemoryStore()
    shards = (60, 60) if kind == "sharded" else None
    array = zarr.create_array(store, shape=image.shape, chunks=(20, 30), shards=shards, dtype="u1")
    array[:] = image
    if kind == "zip":
        store.close()
        check(tmp_path / "a.zip", image)
    else:
        assert_array_equal(lazy(array), image)
        assert all(size % (shards or (20, 30))[0] == 0 for size in lazy(array).chunks[0][:-1])
    if kind in ("folder", "sharded"):
        small(check(tmp_path / "a.zarr", image))
        small(check(str(tmp_path / "a.zarr"), image))


def test_chunks_are_many_pieces_of_what_is_stored_in_small_ones(large_blocks, tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(10**6, 10**6), chunks=(64, 128), dtype="u2")
    chunks = lazy(array).chunks
    assert np.prod([len(sizes) for sizes in chunks]) < 130_000
    assert all(sizes[0] % piece == 0 for sizes, piece in zip(chunks, (64, 128), strict=True))


def test_a_group_is_refused_and_names_its_arrays(tmp_path):
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("red", shape=(30, 30), dtype="u1")
    group.create_array("nir", shape=(30, 30), dtype="u1")
    with pytest.raises(ValueError, match="group, whose arrays are nir, red"):
        lazy(tmp_path / "g.zarr")
    with pytest.raises(TypeError, match="image"):
        lazy(group)
    check(tmp_path / "g.zarr" / "red", np.zeros((30, 30), np.uint8))


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot be opened as a zarr store"):
        lazy(tmp_path)


# xarray.


@pytest.mark.parametrize("inside", ["numpy", "dask", "map"])
@pytest.mark.parametrize("dims", [("band", "y", "x"), ("y", "x", "band"), ("y", "band", "x")])
@pytest.mark.parametrize("bands", [1, 3])
def test_bands_of_xarray_may_come_first(inside, dims, bands, scene, tmp_path):
    image = np.stack([scene, 255 - scene, scene // 2][:bands], axis=2)
    data = np.moveaxis(image, 2, dims.index("band")).copy()
    if inside == "dask":
        data = da.from_array(data, chunks=50)
    elif inside == "map":
        np.save(tmp_path / "a.npy", data)
        data = np.load(tmp_path / "a.npy", mmap_mode="r")
    array = xr.DataArray(data, dims=dims)
    found = check(array, image if bands > 1 or dims[-1] == "band" else image[..., 0])
    if inside == "map":
        small(found)


def test_xarray_without_bands_and_masks_of_it(scene):
    array = xr.DataArray(scene, dims=("y", "x")).where(lambda a: a > 20)  # NaN elsewhere
    matcher = Matcher(scene[40:50, 60:70].copy())
    mask = xr.DataArray(scene > 5, dims=("y", "x"))
    found = out_of_core.score_map(array, matcher, image_mask=mask)
    assert_array_equal(found, matcher.score_map(array.values, image_mask=mask.values))


def test_xarray_of_a_file_is_not_brought_into_memory(tmp_path, scene):
    xr.Dataset({"red": (("y", "x"), scene)}).to_zarr(tmp_path / "x.zarr", consolidated=False)
    opened = xr.open_dataset(tmp_path / "x.zarr", engine="zarr", chunks=None, consolidated=False)
    found = lazy(opened["red"])
    assert not opened["red"]._in_memory
    assert_array_equal(found, scene)


# TIFF.


def rgb(scene):
    return np.stack([scene, 255 - scene, scene // 2], axis=2)


TIFFS = {
    "strips": lambda s: (s, {"rowsperstrip": 7}),
    "one strip": lambda s: (s, {}),
    "tiles": lambda s: (s, {"tile": (16, 32)}),
    "bigtiff": lambda s: (s, {"tile": (32, 16), "bigtiff": True, "compression": "deflate"}),
    "big endian": lambda s: (s.astype("u2") * 200, {"byteorder": ">"}),
    "big endian, packed": lambda s: (
        s.astype("u2") * 200, {"byteorder": ">", "compression": "lzw", "predictor": 2}),
    "floats": lambda s: (s.astype("f4") / 7, {"tile": (16, 16), "predictor": 3, "compression": 8}),
    "signed": lambda s: (s.astype("i2") - 99, {"tile": (16, 16)}),
    "bits": lambda s: (s > 99, {"photometric": "minisblack"}),
    "white is 0": lambda s: (s, {"photometric": "miniswhite", "tile": (16, 16)}),
    "palette": lambda s: (s, {"photometric": "palette", "tile": (16, 16),
                              "colormap": np.arange(0, 2 * 768, 2, "u2").reshape(3, 256) * 41}),
    "rgb": lambda s: (rgb(s), {"photometric": "rgb", "tile": (16, 16)}),
    "rgb in strips": lambda s: (rgb(s), {"photometric": "rgb", "rowsperstrip": 5}),
    "planes": lambda s: (np.moveaxis(rgb(s), 2, 0).copy(),
                         {"photometric": "rgb", "planarconfig": "separate", "tile": (16, 16)}),
    "planes in strips": lambda s: (np.moveaxis(rgb(s), 2, 0).copy(),
                                   {"photometric": "rgb", "planarconfig": "separate"}),
    "jpeg": lambda s: (rgb(s), {"photometric": "rgb", "tile": (16, 16), "compression": "jpeg"}),
    "ycbcr": lambda s: (rgb(s), {"photometric": "ycbcr", "tile": (16, 16), "compression": "jpeg",
                                 "subsampling": (1, 1)}),
    "alpha": lambda s: (np.dstack([rgb(s), s]), {"photometric": "rgb", "tile": (16, 16),
                                                 "extrasamples": ["unassalpha"]}),
    "associated": lambda s: (np.dstack([rgb(s) // 2, s // 2 + 128]),
                             {"photometric": "rgb", "extrasamples": ["assocalpha"]}),
    "grey and alpha": lambda s: (np.dstack([s, s]), {"photometric": "minisblack", "tile": (16, 16),
                                                     "extrasamples": ["unassalpha"],
                                                     "planarconfig": "contig"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", TIFFS)
def test_tiff_files_are_read_in_parts_as_they_are_whole(kind, tmp_path, scene):
    pixels, options = TIFFS[kind](scene)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels, **options)
    small(check(path, read_image(path)))


def test_undeclared_channels_are_left_out_with_one_warning(tmp_path, scene):
    path = tmp_path / "a.tif"
    tifffile.imwrite(
        path, np.dstack([rgb(scene), scene]), photometric="rgb", extrasamples=["unspecified"]
    )
    with pytest.warns(UserWarning, match="left out") as told:
        found = lazy(path).compute()
    assert len(told) == 1
    assert_array_equal(found, rgb(scene))


def test_tiff_files_without_their_suffix(tmp_path, scene):
    path = tmp_path / "scan.bin"
    tifffile.imwrite(path, scene)
    check(path, scene)


def test_of_a_pyramid_the_full_resolution_is_read(tmp_path, scene):
    for subifds in (0, 1):
        path = tmp_path / f"pyramid{subifds}.tif"
        with tifffile.TiffWriter(path) as file:
            file.write(scene, tile=(16, 16), subifds=subifds)
            file.write(scene[::2, ::2], tile=(16, 16), subfiletype=1)
        check(path, scene)


def test_tiles_without_data_are_as_in_memory(tmp_path, scene):
    for nodata in ("-9999", None):
        path = tmp_path / f"sparse{nodata}.tif"
        tags = [(42113, "s", 0, nodata, True)] if nodata else []
        tiles = (None if i % 3 == 1 else np.full((16, 16), i, np.int16) for i in range(48))
        tifffile.imwrite(
            path, tiles, shape=(90, 120), dtype=np.int16, tile=(16, 16), extratags=tags
        )
        check(path, read_image(path))


def refuse(path, says):
    with pytest.raises(ValueError, match=says) as raised:
        lazy(path)
    assert path.name in str(raised.value)


def test_tiff_files_that_are_not_one_upright_image_are_refused(tmp_path, scene):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.stack([scene] * 3), photometric="minisblack")
    refuse(path, "has 3 pages")
    with tifffile.TiffWriter(path) as file:
        file.write(scene)
        file.write(scene[:50])
    refuse(path, "has 2 pages")
    tifffile.imwrite(path, scene, extratags=[(274, "H", 1, 6, True)])
    refuse(path, "marked as turned or mirrored")
    tifffile.imwrite(path, scene.astype(np.complex64))
    refuse(path, "complex64")
    tifffile.imwrite(path, np.dstack([scene] * 4), photometric="separated")
    refuse(path, "SEPARATED")
    tifffile.imwrite(path, np.dstack([scene] * 5), photometric="minisblack", planarconfig="contig")
    refuse(path, "4 channels beside grey")


@pytest.mark.parametrize("options", [{}, {"tile": (16, 16)}, {"compression": "lzw"}], ids=str)
def test_truncated_tiff_files_are_refused(options, tmp_path, scene):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, scene, **options)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])
    refuse(path, "cannot be decoded")
    path.write_bytes(data[:6])
    refuse(path, "cannot be decoded")


def test_a_damaged_tile_is_an_error_that_names_the_block(tmp_path, scene):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, scene, tile=(32, 32), compression="deflate")
    with tifffile.TiffFile(path) as file:
        place = file.pages[0].dataoffsets[5]
    data = bytearray(path.read_bytes())
    data[place : place + 50] = bytes(50)
    path.write_bytes(data)
    with pytest.raises(out_of_core.BlockError, match="the block of rows"):
        out_of_core.locate(path, Matcher(scene[40:50, 60:70].copy()))


def test_strips_of_more_than_a_gib_are_read_where_they_are_not_packed(large_blocks, tmp_path):
    """A file of one strip, of holes; packed it would have to be read whole each time."""
    path = tmp_path / "large.tif"
    mapped = tifffile.memmap(path, shape=(40_000, 30_000), dtype=np.uint8)
    mapped[39_990:, 29_990:] = np.arange(100).reshape(10, 10)
    mapped.flush()
    found = small(lazy(path), 50_000)
    tracemalloc.start()
    part = found[39_990:, 29_990:].compute()
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    assert_array_equal(part, np.arange(100).reshape(10, 10))
    packed = tmp_path / "packed.tif"
    tifffile.imwrite(
        packed, iter([zlib.compress(bytes(1200))]), shape=(40_000, 30_000), dtype=np.uint8,
        compression="deflate", rowsperstrip=40_000,
    )  # fmt: skip
    with pytest.raises(ValueError, match="packed"):
        lazy(packed)


def test_a_file_of_another_shape_by_now_is_an_error(tmp_path, scene):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, scene, tile=(16, 16))
    found = lazy(path)
    tifffile.imwrite(path, scene[:50], tile=(16, 16))
    with pytest.raises(ValueError, match="has changed"):
        found.compute()
    tifffile.imwrite(path, 255 - scene, tile=(16, 16))
    assert_array_equal(found, 255 - scene)


# What is no image.


@pytest.mark.parametrize(
    ("image", "error", "says"),
    [
        (None, TypeError, "image is None"),
        (np.array([["a"]]), TypeError, "image is of type <U1"),
        (np.array([[None]]), TypeError, "of type object"),
        (np.ones((5, 5), complex), TypeError, "complex"),
        (np.zeros((5, 5), "M8[s]"), TypeError, "datetime"),
        (np.zeros((5, 5), "i4,f4"), TypeError, "of type"),
        ([[1, 2], [3]], TypeError, "no array of numbers"),
        ("no such file.tif", FileNotFoundError, "there is no such file"),
        (__file__, ValueError, "nuvmatch.io.read_image reads others"),
    ],
)
def test_what_is_no_image_is_refused(image, error, says):
    with pytest.raises(error, match=says):
        lazy(image)


def test_lists_are_images(scene):
    check(scene.tolist(), scene.astype(int))


def test_images_of_odd_shapes_are_refused(scene):
    matcher = Matcher(scene[:9, :9].copy())
    for image in (scene[0], scene[:0], np.dstack([scene] * 5), scene[None, None], np.float64(3)):
        with pytest.raises(ValueError, match="has shape"):
            out_of_core.locate(image, matcher)


class Counting:
    """An array-like of chunks that tells how much is asked of it at a time, and in all."""

    chunks = (50, 64)

    def __init__(self, image):
        self.image, self.shape, self.dtype, self.ndim = image, image.shape, image.dtype, 2
        self.asked = []

    def __getitem__(self, part):
        found = self.image[part]
        self.asked.append(found.size)
        return found


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_an_image_is_read_in_parts_and_seldom_twice(kind, rng):
    image = rng.integers(0, 256, (500, 640)).astype(kind)
    counting = Counting(image)
    matcher = Matcher(image[200:210, 300:312].copy())
    with dask.config.set(scheduler="synchronous"):
        found = out_of_core.locate(counting, matcher)
    assert found == matcher.locate(image)
    most, total = max(counting.asked), sum(counting.asked)
    assert most <= image.size / 20
    # Once to learn the range of its greys if need be, once to search it, and a few windows.
    assert total <= ((kind != np.uint8) + 1.2) * image.size
