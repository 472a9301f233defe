"""What stands in for scikit-image does what it promises: the cases are those of its tests."""

import naive
import numpy as np
import pytest
import skimage.data
import skimage.feature
from numpy.testing import assert_allclose, assert_array_equal
from skimage.morphology import diamond

import nuvmatch
from nuvmatch import compat
from nuvmatch.io import read_image

SHAPES = [(7, 9), (6, 9), (8, 4), (1, 5), (5, 1), (2, 2), (21, 24)]
MODES = [("constant", 0), ("constant", 0.5), ("constant", 300), ("constant", "mean")]
MODES += [(mode, 0) for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp")]
MODES += [(mode, 0) for mode in ("mean", "median", "maximum", "minimum")]


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i8", "?", "f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_match_template_is_scikit_images(shape, dtype, rng):
    greys = 200 * rng.random((21, 24))
    image = greys > 100 if dtype == "?" else greys.astype(dtype)
    top, left = (21 - shape[0]) // 3, (24 - shape[1]) // 2
    template = image[top : top + shape[0], left : left + shape[1]].copy()
    if template.min() == template.max():
        template.flat[0] = ~template.flat[0]
    # Of float32 they sum in float32, and are wrong in the fourth digit.
    precise = [array.astype(float) for array in (image, template)]
    for mode, constant in MODES:
        value = float(image.mean()) if constant == "mean" else constant
        for pad in (False, True):
            ours = compat.match_template(image, template, pad, mode, value, measure="ncc")
            theirs = skimage.feature.match_template(*precise, pad, mode, value)
            assert ours.shape == theirs.shape == (image.shape if pad else ours.shape)
            atol = 2e-6 if dtype == "f4" else 1e-7
            assert_allclose(ours, theirs, rtol=0, atol=atol, err_msg=mode)
    assert ours.dtype == skimage.feature.match_template(image, template).dtype


def test_options_of_padding_are_scikit_images_in_name_and_order(rng):
    image, template = rng.random((20, 21)), rng.random((4, 5))

    def framed(vector, width, axis, options):
        vector[: width[0]], vector[vector.size - width[1] :] = 7, 9

    ours = compat.match_template(
        image=image, template=template, pad_input=True, mode=framed, measure="ncc"
    )
    theirs = skimage.feature.match_template(image, template, pad_input=True, mode=framed)
    assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="mode 'sideways' is not supported"):
        compat.match_template(image, template, True, "sideways")
    with pytest.raises(TypeError, match="pad_input is 'reflect'"):
        compat.match_template(image, template, "reflect")


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "ssd"])
@pytest.mark.parametrize("channels", [(), (3,), (4,)], ids=str)
def test_what_is_padded_is_the_image(measure, channels, rng):
    """By any measure, in colour, and with the types that scores depend on."""
    image = rng.integers(0, 256, (14, 17, *channels), np.uint8)
    template = rng.integers(0, 256, (6, 5, *channels), np.uint8)
    if channels == (4,):
        image[..., 3], template[..., 3] = 255, 255 * (rng.random((6, 5)) < 0.8)
    padded = np.pad(image, [(3, 2), (2, 2), (0, 0)][: image.ndim], "reflect")
    expected = 1 - nuvmatch.score_map(padded, template, measure, dtype=np.float64)
    found = compat.match_template(image, template, True, "reflect", measure=measure)
    assert found.shape == image.shape[:2]
    assert_array_equal(found, expected)


def test_large_whole_numbers_keep_their_digits_when_padded(rng):
    image = 2**60 + rng.integers(0, 9, (12, 13))
    template = image[3:8, 4:8]
    for mode, options in (("edge", {}), ("constant", {"constant_values": 2**60 + 3})):
        padded = np.pad(image, [(2, 2), (2, 1)], mode, **options)
        expected = 1 - naive.ncc_map(padded - 2**60, template - 2**60)
        found = compat.match_template(image, template, True, mode, measure="ncc", **options)
        assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("measure", ["ncc", "nuv"])
def test_two_targets_under_noise_are_the_two_peaks(dtype, measure):
    rng = np.random.default_rng(1)
    target = 0.1 * (np.tri(50) + np.tri(50)[::-1]).astype(dtype)
    image = np.full((200, 200), 0.5, dtype)
    for row, col in ((25, 25), (100, 100)):
        image[row : row + 50, col : col + 50] = target
    image += 0.1 * rng.random(image.shape, dtype)
    result = compat.match_template(image, target, measure=measure)
    assert result.dtype == dtype
    peaks = skimage.feature.peak_local_max(result, min_distance=5, num_peaks=2)
    assert sorted(peaks.tolist()) == [[25, 25], [100, 100]]


def test_a_bright_square_is_1_and_a_dark_one_minus_1():
    image, template = np.full((20, 20), 0.5), np.zeros((7, 7))
    image[2:7, 3:8], image[12:17, 11:16], template[1:6, 1:6] = 1, 0, 1
    result = compat.match_template(image, template, measure="ncc")
    assert np.unravel_index(result.argmax(), result.shape) == (1, 2)
    assert np.unravel_index(result.argmin(), result.shape) == (11, 10)
    assert result.max() == pytest.approx(1)
    assert result.min() == pytest.approx(-1)


def test_nothing_is_nan_where_greys_hardly_differ():
    image = 0.5 + 1e-9 * np.random.default_rng(1).normal(size=(20, 20))
    template = np.ones((6, 6))
    template[:3] = 0
    for measure in ("ncc", "nuv"):
        assert np.isfinite(compat.match_template(image, template, measure=measure)).all()


def test_halves_of_templates_at_the_border_come_second():
    template = 0.5 * diamond(2)
    image = np.full((9, 19), 0.5)
    image[2:7, :3] -= template[:, -3:]
    image[2:7, 4:9] += template
    image[2:7, -9:-4] -= template
    image[2:7, -3:] += template[:, :3]
    result = compat.match_template(
        image, template, pad_input=True, constant_values=image.mean(), measure="ncc"
    )
    columns = np.argsort(result, axis=None) % 19
    assert columns[:2].tolist() == [12, 0]
    assert columns[-2:].tolist() == [18, 6]


def test_half_a_template_is_whole_once_it_is_reflected():
    image, template = np.zeros((10, 10)), diamond(2)
    image[2:7, :3] = template[:, -3:]
    for measure in ("ncc", "nuv"):
        result = compat.match_template(
            image, template, pad_input=True, mode="reflect", measure=measure
        )
        assert np.unravel_index(result.argmax(), result.shape) == (4, 0)
        assert result.max() == pytest.approx(1)


def test_similarities_stay_within_bounds(rng):
    image = read_image("samples/photos/coins.png") / 255
    template = np.zeros((3, 3))
    template[1, 1] = 1
    result = compat.match_template(image, template, measure="ncc")
    assert -1 <= result.min() < result.max() <= 1


@pytest.mark.parametrize(
    ("image", "template", "message"),
    [
        ((3, 3), (5, 5), "larger than the image"),
        ((3, 3), (5, 5, 1), "larger than the image"),
        ((3, 3, 2), (5, 5), "larger than the image"),
        ((5, 5), (3, 3, 3), "grey.*colour"),
        ((5, 5, 3, 3), (3, 3, 2), r"image has shape \(5, 5, 3, 3\)"),
        ((12, 12, 12), (3, 3, 3), r"image has shape \(12, 12, 12\)"),
        ((12, 12), (3,), r"template has shape \(3,\)"),
    ],
)
def test_shapes_that_do_not_go_together_are_refused(image, template, message, rng):
    """Volumes, which scikit-image takes, among them."""
    with pytest.raises(ValueError, match=message):
        compat.match_template(rng.random(image), rng.random(template))
