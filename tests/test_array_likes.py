"""Arrays as people have them: right, or refused by name in one error."""

import array
import warnings

import cv2
import numpy as np
import PIL.Image
import pytest
import scipy.sparse
from naive import nuv_map
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch
from nuvmatch import Matcher, compat

IMAGE = np.random.default_rng(5).integers(0, 255, (30, 34)).astype(np.uint8)
TEMPLATE = IMAGE[12:19, 9:17].copy()


class OnlyDLPack:
    """An array of a library that knows NumPy by DLPack alone."""

    def __init__(self, greys):
        self.greys = greys

    def __dlpack__(self, **options):
        return self.greys.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.greys.__dlpack_device__()


class OnAnotherDevice(OnlyDLPack):
    def __dlpack__(self, **options):
        raise BufferError("the array is on device 2")


class OfCuda:
    """As CuPy's arrays and PyTorch's tensors on a GPU answer."""

    def __init__(self, greys):
        pass

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy, use Tensor.cpu()")


class WithGradient(OfCuda):
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("can't call numpy() on Tensor that requires grad, use detach()")


class UMatOfOpenCV:
    def __new__(cls, greys):
        return cv2.UMat(greys)


def _from(package, make):
    """An array of a package that may be missing."""
    return lambda greys: make(pytest.importorskip(package), greys)


READ = {
    "matrix": lambda greys: greys.view(np.matrix),
    "memory": memoryview,
    "lists": np.ndarray.tolist,
    "list of arrays": list,
    "scalars": lambda greys: [[*map(np.uint8, row)] for row in greys],
    "Pillow": PIL.Image.fromarray,
    "DLPack": OnlyDLPack,
    "dask": _from("dask.array", lambda da, greys: da.from_array(greys, chunks=16)),
    "zarr": _from("zarr", lambda zarr, greys: zarr.array(greys, chunks=(16, 16))),
    "xarray": _from("xarray", lambda xarray, greys: xarray.DataArray(greys)),
    "xarray of dask": _from("xarray", lambda xarray, greys: xarray.DataArray(greys).chunk()),
    "pandas": _from("pandas", lambda pandas, greys: pandas.DataFrame(greys)),
    "torch": _from("torch", lambda torch, greys: torch.from_numpy(greys.copy())),
}


@pytest.mark.parametrize("kind", READ.values(), ids=READ)
def test_arrays_of_other_libraries_are_read(kind):
    image, template = kind(IMAGE), kind(TEMPLATE)
    matcher = Matcher(template)
    expected = nuv_map(IMAGE, matcher.bins[0].labels)
    assert_allclose(matcher.score_map(image), expected, rtol=0, atol=1e-6)
    assert_allclose(nuvmatch.score_map(image, template), expected, rtol=0, atol=1e-6)
    assert nuvmatch.locate(image, template)[0].box == (9, 12, 8, 7)
    scores = compat.matchTemplate(image, template, compat.TM_NUV)
    assert_allclose(scores, expected, rtol=0, atol=1e-6)
    similarities = compat.match_template(image, template)
    assert_allclose(similarities, 1 - expected, rtol=0, atol=1e-6)


REFUSED = {
    "GPU": (OfCuda, r"Tensor\.cpu\(\)"),
    "with gradient": (WithGradient, r"detach\(\)"),
    "DLPack of a GPU": (OnAnotherDevice, "device 2"),
    "UMat": (UMatOfOpenCV, r"of type UMat.*\.get\)"),
    "sparse": (scipy.sparse.csr_array, r"of type csr_array.*\.toarray\)"),
    "masked": (np.ma.array, "masked array"),
    "objects": (lambda greys: greys.astype(object), "of type object"),
    "octets": (np.ndarray.tobytes, "of type |S"),
    "nullable": (
        _from("pandas", lambda pandas, greys: pandas.DataFrame(greys).astype("UInt8")),
        r"of type DataFrame \(UInt8\), which NumPy reads as objects.*\.to_numpy\)",
    ),
    "xarray of several": (
        _from("xarray", lambda xarray, greys: xarray.Dataset({"a": (("y", "x"), greys)})),
        "DataArray",
    ),
}


@pytest.mark.parametrize(("kind", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize(
    "call",
    [
        nuvmatch.locate,
        nuvmatch.score_map,
        compat.match_template,
        lambda image, template: compat.matchTemplate(image, template, compat.TM_NUV),
        lambda image, template: compat.locate_on(image, template),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(call, kind, message):
    with pytest.raises(TypeError, match=f"^image is .*{message}"):
        call(kind(IMAGE), TEMPLATE)
    with pytest.raises(TypeError, match=f"^template is .*{message}"):
        call(IMAGE, kind(TEMPLATE))


def test_flat_memory_is_refused_by_its_shape():
    flat = array.array("B", IMAGE.tobytes())
    in_chunks = pytest.importorskip("pyarrow").chunked_array([IMAGE.ravel()])
    for given in (flat, in_chunks):
        with pytest.raises(ValueError, match=r"image has shape \(1020,\)"):
            nuvmatch.locate(given, TEMPLATE)


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_that_come_first_are_told_where_they_belong(channels):
    with pytest.raises(ValueError, match=r"pass np\.moveaxis\(image, 0, -1\)"):
        nuvmatch.locate(np.stack([IMAGE] * channels), TEMPLATE)


class InChunks:
    """A lazy array: reading it is what must not happen."""

    chunks = ((1024,), (1024,))

    def __init__(self, nbytes):
        self.nbytes, self.read = nbytes, False

    def __array__(self, dtype=None, copy=None):
        self.read = True
        return IMAGE


@pytest.mark.parametrize("call", [nuvmatch.locate, nuvmatch.score_map, compat.match_template])
def test_large_lazy_arrays_are_not_read_whole_unasked(call):
    large, modest = InChunks(2**31 + 1), InChunks(2**31)
    with pytest.raises(ValueError, match=r"InChunks in chunks, of 2\.0 GiB.*out_of_core"):
        call(large, TEMPLATE)
    assert not large.read
    call(modest, TEMPLATE)
    assert modest.read


@pytest.mark.parametrize("package", ["dask.array", "zarr"])
def test_large_arrays_of_dask_and_zarr_are_sent_out_of_core(package):
    library = pytest.importorskip(package)
    large = library.zeros((2**17, 2**16), chunks=(2**11, 2**11), dtype=np.float32)
    with pytest.raises(ValueError, match=r"Array in chunks, of 32\.0 GiB.*out_of_core"):
        nuvmatch.locate(large, TEMPLATE)


def test_nullable_numbers_are_read_the_way_the_error_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(IMAGE).astype("UInt8")
    table.iloc[0, 0] = pandas.NA
    scores = nuvmatch.score_map(table.to_numpy(float, na_value=np.nan), TEMPLATE)
    expected = nuvmatch.score_map(IMAGE, TEMPLATE)
    assert scores[0, 0] == 1
    assert_allclose(scores[1:], expected[1:], rtol=0, atol=1e-6)


def test_reading_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(
            nuvmatch.score_map(OnlyDLPack(IMAGE), OnlyDLPack(TEMPLATE)),
            nuvmatch.score_map(IMAGE, TEMPLATE),
        )
