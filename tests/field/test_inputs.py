"""What people who match templates ran into: degenerate data, lost digits, odd arrays.

U.. numbers the public bug reports.
"""

import numpy as np
import pytest
from naive import nuv_map
from numpy.lib.stride_tricks import sliding_window_view
from plants import LAB, T4, best_place, exact_map, noise, places, planted, scene

from nuvmatch import NUV, Matcher, locate, match_template, score, score_map

HOLE = np.pad(np.zeros((4, 4), int), 2, constant_values=1)


# Flat windows and flat templates


@pytest.mark.parametrize(
    ("template", "mask"),
    [
        (np.full((8, 8), 64, np.uint8), None),
        (np.full((3, 5), 0.1), None),
        (np.zeros((4, 4), bool), None),
        (np.full((6, 7, 3), [1, 2, 3]), None),
        (np.full((1, 1), 7), None),
        (T4, LAB == 2),
        (np.dstack([T4, LAB == 2]), LAB == 2),
    ],
)
def test_flat_template_is_refused(template, mask):
    """U01, U05, U24: nothing to look for."""
    image = noise(1, (40, 50, 3) if template.shape[2:] == (3,) else (40, 50))
    shape = "{}, {}".format(*template.shape)
    for find in score_map, locate, match_template:
        with pytest.raises(ValueError, match=rf"\({shape}\) is flat"):
            find(image, template, mask=mask)


@pytest.mark.parametrize("grey", [np.uint8(0), np.uint8(255), 0.1, np.float32(1e30), np.int16(-9)])
def test_blank_screen_is_no_match(grey):
    """U02: neither is a screen that is blank but for one pixel."""
    image = np.full((40, 50), grey)
    matcher = Matcher(T4)
    assert (matcher.score_map(image) == 1).all()
    assert np.isnan(matcher.score_map(image, fill_value=np.nan)).all()
    assert len(matcher.locate(image)) == len(matcher.locate(image, threshold=1)) == 0
    image[20, 20] = 3
    np.testing.assert_allclose(matcher.score_map(image), nuv_map(image, LAB), rtol=0, atol=1e-6)
    assert np.isfinite(matcher.score_map(image, fill_value=np.nan)).sum() == 64


@pytest.mark.parametrize("convert", [np.uint8, np.int16, lambda image: image / 7])
def test_black_band_under_a_mask_scores_one(convert):
    """U05: no NaN, no infinity, and the band is told apart from bad matches."""
    image = noise(1, (40, 50))
    image[:20] = 0
    image, mask = convert(image), 1 - HOLE
    scores = exact_map(image, T4, mask=mask)
    valid = ~np.isnan(exact_map(image, T4, mask=mask, fill_value=np.nan))
    assert np.count_nonzero(~valid) == 15 * 43
    assert (scores[~valid] == 1).all()
    np.testing.assert_allclose(scores, nuv_map(image, LAB, mask), rtol=0, atol=1e-9)
    found = locate(image, T4, mask=mask, threshold=1, max_overlap=1)
    assert valid[found.rows, found.cols].all()
    assert found[0].score == pytest.approx(scores[valid].min())


@pytest.mark.parametrize("nodata", [0, np.nan, -np.inf, -3.4e38, np.finfo(float).max])
def test_masked_out_nodata_does_not_matter(nodata):
    """U05: whatever stands there."""
    image = 0.4 * np.random.default_rng(3).random((25, 30))
    image_mask = np.ones(image.shape)
    image_mask[10, 12] = image_mask[-1, 0] = 0
    expected = nuv_map(image, LAB)
    touched = sliding_window_view(image_mask, LAB.shape).min((2, 3)) == 0
    expected[touched] = 1
    image[image_mask == 0] = nodata
    scores = score_map(image, T4, image_mask=image_mask)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    unfilled = score_map(image, T4, image_mask=image_mask, fill_value=np.nan)
    assert (np.isnan(unfilled) == touched).all()


# Range and lost digits


@pytest.mark.parametrize(
    "size", [pytest.param((100, 25, 30, 40), marks=pytest.mark.compiled), (36, 13, 9, 17)]
)
@pytest.mark.parametrize(
    ("low", "dtype"), [(254, np.uint8), (65534, np.uint16), (-(2**31), np.int32), (1e9, float)]
)
def test_bright_image_finds_itself(size, low, dtype):
    """U10: exactly, where two neighbouring greys make up the whole image."""
    side, extent, row, col = size
    image = np.random.default_rng(11).integers(0, 2, (side, side))
    labels = image[row : row + extent, col : col + extent]
    scores = exact_map((image + low).astype(dtype), (labels + low).astype(dtype))
    assert best_place(scores) == (row, col)
    assert scores[row, col] <= 1e-12
    assert scores.min() >= 0
    assert np.sort(scores, axis=None)[1] > 0.9
    np.testing.assert_allclose(scores, nuv_map(image, labels), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("pedestal", "dtype"),
    [
        (60000, "u2"),
        (65520, "u2"),
        (-32768, "i2"),
        (2**31 - 16, "i4"),
        (2**60, "i8"),
        (2**63, "u8"),
    ],
)
def test_pedestal_changes_nothing(pedestal, dtype):
    """U11: nor need anyone scale sensor data to 8 bits."""
    image = np.random.default_rng(12).integers(0, 16, (40, 48))
    image = planted(image, np.array([9, 2, 14, 5])[LAB], 20, 30)
    sensor = (image.astype(object) + pedestal).astype(dtype)
    expected = nuv_map(image, LAB)
    for template in T4, sensor[20:28, 30:38]:
        scores = exact_map(sensor, template)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
        assert best_place(scores) == (20, 30)
        assert scores[20, 30] == 0


@pytest.mark.parametrize(
    ("pedestal", "dead"), [(0, 2**40), (0, np.iinfo(np.int64).min), (2**60, 0)]
)
def test_dead_pixel_costs_no_digits_elsewhere(pedestal, dead):
    """U11: the map of a crop without it is the crop of the map."""
    image = planted(noise(12, (30, 36)).astype(np.int64), T4, 5, 6)
    expected = nuv_map(image, LAB)[:, :-1]
    sensor = image + pedestal
    sensor[:, -1] = dead
    for part in sensor[:, :-1], sensor:
        scores = exact_map(part, T4)[:, :28]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


# Inputs

DTYPES = [*np.typecodes["AllInteger"], *np.typecodes["Float"], "?", ">i2", ">u8", ">f4", ">f8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_real_type_is_taken(dtype):
    """U15: for image and template, which may differ."""
    image = np.floor(scene([0, 22, 105, 255]) / 2)[:22, 10:40]
    bright = [image > 63, LAB > 1] if dtype == "?" else [image, LAB]
    cast, template = (array.astype(dtype) for array in bright)
    expected = nuv_map(*bright)
    for image_type, template_type in [(dtype, "f4"), (dtype, dtype), ("i8", dtype)]:
        scores = exact_map(cast.astype(image_type), template.astype(template_type))
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    scores = score_map(cast, template)
    wide = cast.dtype.kind == "f" and cast.dtype.itemsize >= 8
    assert scores.dtype == (np.float64 if wide else np.float32)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)


def unaligned(array):
    octets = np.zeros(array.nbytes + 1, np.uint8)[1:]
    copy = octets.view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


LAYOUTS = {
    "upside down": lambda a: a[::-1],
    "mirrored": lambda a: a[:, ::-1],
    "strided": lambda a: a[::2, ::3],
    "transposed": lambda a: a.T,
    "Fortran": np.asfortranarray,
    "channel": lambda a: np.dstack([a[::-1], a, a[:, ::-1]])[..., 1],
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape),
    "unaligned": unaligned,
    "list": np.ndarray.tolist,
}


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layout_does_not_matter(layout, dtype):
    """U17: for image, template and masks alike, read-only ones included."""
    arrays = []
    for seed, shape in enumerate([(40, 42), (10, 12), (10, 12), (40, 42)]):
        array = layout(noise(seed, shape).astype(dtype))
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
        arrays.append(array)
    image, template, mask, image_mask = arrays
    mask, image_mask = np.asarray(mask) > 60, np.asarray(image_mask) > 1
    copies = [np.array(array, dtype, order="C") for array in (image, template)]
    measure = NUV(bins=3, levels_range=(0, 255))
    matcher = Matcher(template, measure, mask=mask, dtype=np.float64)
    plain = Matcher(copies[1], measure, mask=mask.copy(order="C"), dtype=np.float64)
    labels = matcher.bins[0].labels
    assert (labels == plain.bins[0].labels).all()
    scores = matcher.score_map(image, image_mask=image_mask)
    assert (scores == plain.score_map(copies[0], image_mask=image_mask.copy(order="C"))).all()
    usable = sliding_window_view(image_mask, mask.shape)[..., mask].all(-1)
    expected = np.where(usable, nuv_map(copies[0], labels), 1)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    assert (np.asarray(image) == copies[0]).all()
    assert (np.asarray(template) == copies[1]).all()


@pytest.mark.parametrize("shape", [(8, 8), (1, 9), (9, 1), (7, 5)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_template_fills_the_image(shape, dtype):
    """U22: one window is a map too."""
    template = np.random.default_rng(5).permutation(np.arange(np.prod(shape)) % 4).reshape(shape)
    image = (255 * (template / 3) ** 2.2).astype(dtype)
    scores = score_map(image, template)
    assert scores.shape == (1, 1)
    assert scores[0, 0] <= 1e-12
    assert places(locate(image, template)) == [(0, 0)]
    assert score(image, template) <= 1e-12


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_match_is_found_again_in_its_own_box(dtype):
    """U22: with the same score, cut out or as a region."""
    dimmed = scene([9, 60, 100, 130]) + np.random.default_rng(4).integers(0, 20, (40, 50))
    image = dimmed.astype(dtype)
    (match,) = locate(image, T4)
    x, y, w, h = match.box
    (within,) = locate(image[y : y + h, x : x + w], T4)
    (region,) = locate(image, T4, region=match.region)
    assert (match.row, match.col) == (region.row, region.col) == (5, 20)
    for found in within.score, region.score:
        assert found == pytest.approx(match.score, abs=0 if dtype == np.uint8 else 1e-9)
    assert match.score == pytest.approx(nuv_map(image, LAB)[5, 20], abs=1e-6)


@pytest.mark.parametrize(
    ("image", "template", "named"),
    [
        ((25, 15, 13), (3, 3), "25, 15, 13"),
        ((40, 50, 3), (8, 8), "40, 50.*8, 8"),
        ((40, 50), (8, 8, 3), "40, 50.*8, 8"),
        ((40, 50), (8, 8, 5), "8, 8, 5"),
        ((40, 50), (1, 8, 8), "1, 8, 8"),
        ((40,), (8, 8), "40,"),
        ((40, 50), (8,), "8,"),
        ((40, 50, 3, 1), (8, 8, 3), "40, 50, 3, 1"),
        ((40, 50), (41, 3), "41, 3.*40, 50"),
        ((40, 50), (3, 51), "3, 51.*40, 50"),
    ],
)
def test_misfit_is_refused_by_name(image, template, named):
    """U23: before NumPy fails to broadcast."""
    for find in score_map, locate, match_template:
        with pytest.raises(ValueError, match=rf"\({named}"):
            find(noise(1, image), noise(2, template))


def test_channels_give_one_map():
    """U23: alpha is a mask, equal channels count as one, (h, w, 1) is grey."""
    grey, colour = noise(1, (20, 24)), noise(2, (20, 24, 3))
    rgb = np.dstack([T4, T4.T, 255 - T4])
    labels = np.dstack([LAB, LAB.T, 3 - LAB])
    scores = exact_map(colour, np.dstack([rgb, 200 * HOLE]))
    assert scores.shape == (13, 17)
    np.testing.assert_allclose(
        scores, nuv_map(colour, np.where(HOLE[..., None], labels, -1)), rtol=0, atol=1e-9
    )
    alpha = planted(np.ones_like(grey), np.zeros((1, 1)), 19, 23)
    expected = nuv_map(grey, LAB)
    expected[-1, -1] = 1
    for image, template in [
        (np.dstack([*[grey] * 3, alpha]), np.dstack([T4] * 3)),
        (np.dstack([grey, alpha]), T4),
    ]:
        np.testing.assert_allclose(exact_map(image, template), expected, rtol=0, atol=1e-9)
    expected = nuv_map(grey, LAB)
    for image, template in [
        (np.dstack([grey] * 3), np.dstack([T4] * 3)),
        (grey[..., None], T4),
        (grey, T4[..., None]),
    ]:
        np.testing.assert_allclose(exact_map(image, template), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("given", [None, "screen.png", [None], [[1, 2], [3]], 1j * T4, object()])
def test_what_is_no_image_is_named(given):
    """U24: a failed capture is no image."""
    for find in score_map, locate, match_template:
        with pytest.raises(TypeError, match=r"^image is "):
            find(given, T4)
        with pytest.raises(TypeError, match=r"^template is "):
            find(T4, given)
    with pytest.raises(TypeError, match=r"^window is "):
        score(given, T4)


@pytest.mark.parametrize("given", [T4[:0], T4[:, 3:3], np.zeros((0, 0)), np.zeros((5, 0, 3)), []])
def test_empty_arrays_are_refused(given):
    """U24: empty slices too."""
    for find in score_map, locate, match_template:
        with pytest.raises(ValueError, match=r"^image has shape"):
            find(given, T4)
        with pytest.raises(ValueError, match=r"^template has shape"):
            find(T4, given)


FAR_ENDS = {
    "near zero": lambda greys, top: greys,
    "near the top": lambda greys, top: top - greys,
    "at both ends": lambda greys, top: np.where(greys < 5, greys, top - greys),
}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("put", FAR_ENDS.values(), ids=FAR_ENDS)
def test_unsigned_does_not_wrap(dtype, put):
    """U58: neither below zero nor above the type's range."""
    greys = planted(noise(5, (30, 34)) % 10, np.array([7, 1, 9, 0])[LAB], 11, 3)
    top = np.iinfo(dtype).max
    scores = exact_map(put(greys.astype(dtype), dtype(top)), T4)
    expected = nuv_map(put(greys.astype(float), min(top, 2.0**36)), LAB)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    assert best_place(scores) == (11, 3)
    assert scores[11, 3] <= 1e-12
