"""Bins of the image: which range of greys they divide, and what falls into one of them."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import planted_scene

import nuvmatch
from nuvmatch import MI, Lowest, Matcher, WindowToPattern
from nuvmatch.engine import prepare
from nuvmatch.measures.image_bins import bin_image

MEASURES = [
    MI(), MI(normalize="window"), WindowToPattern(), WindowToPattern(adjusted=True),
    Lowest("nuv", WindowToPattern()),
]  # fmt: skip


def bins_of(image, number, value_range=None, good=None):
    planes = image[None] if image.ndim == 2 else np.moveaxis(image, 2, 0)
    return bin_image(prepare(planes, good, 4), value_range, number)


@pytest.mark.parametrize("number", [2, 7, 8, 16, 101, 102, 300])
@pytest.mark.parametrize("dtype", [bool, "u1", "i1", ">u2", "i4", "u8", "f2", "f4", ">f8", "g"])
def test_labels_are_those_of_equal_widths(dtype, number, rng):
    image = (rng.random((17, 19)) * 100).astype(dtype)
    ends = naive.usual_range(image)
    assert_array_equal(bins_of(image, number)[0], naive.image_bins(image, number, ends))
    assert_array_equal(
        bins_of(image[::2, ::-3], number, (20, 70.5))[0],
        naive.image_bins(image[::2, ::-3], number, (20, 70.5)),
    )


def test_greys_on_an_edge_are_in_the_bin_above():
    image = np.arange(9.0).reshape(3, 3)
    assert_array_equal(bins_of(image, 4)[0].ravel(), [0, 0, 1, 1, 2, 2, 3, 3, 3])
    assert_array_equal(bins_of(image, 4, (2, 6))[0].ravel(), [0, 0, 0, 1, 2, 3, 3, 3, 3])


def test_many_rows_are_binned_as_few(rng):
    image = rng.random((90, 1100))
    edges = np.linspace(image.min(), image.max(), 9)[1:-1]
    assert_array_equal(bins_of(image, 8)[0], np.searchsorted(edges, image, side="right"))


def test_colours_have_one_range(rng):
    image = rng.integers(0, 200, (20, 21, 3))
    image[..., 1] //= 4
    ends = image.min(), image.max()
    for c, plane in enumerate(bins_of(image, 5)):
        assert_array_equal(plane, naive.image_bins(image[..., c], 5, ends))


def test_pixels_that_are_bad_decide_nothing(rng):
    image, good = rng.random((20, 21)).astype(np.float32), np.ones((20, 21), bool)
    image[:4], image[7, :3] = -9999, (np.nan, np.inf, -np.inf)
    good[:4] = False
    rest = good & np.isfinite(image)
    expected = naive.image_bins(image, 6, naive.usual_range(image, rest))
    assert_array_equal(bins_of(image, 6, good=good)[0][rest], expected[rest])
    nothing = np.zeros((20, 21), bool)
    assert np.isnan(
        nuvmatch.score_map(image, image[8:15, 4:9], "mi", image_mask=nothing, fill_value=np.nan)
    ).all()


def test_finite_greys_too_far_apart_for_floats_are_refused():
    image = np.array([[-1.7e308, 0.0, 1.7e308, 1.0]])
    with pytest.raises(ValueError, match="farther than floats"):
        bins_of(image, 8)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_labels_and_dark_photographs_are_told_apart(measure, rng):
    """Of 8 bins of 0..255 they would all be in one."""
    for top in (6, 21):
        ground = np.kron(rng.integers(0, top + 1, (12, 12)), np.ones((4, 4), int))
        image = np.where(rng.random(ground.shape) < 0.1, 0, ground).astype(np.uint8)
        template = (3 * (top - ground[10:26, 14:30])).astype(np.uint8)
        match = nuvmatch.locate(image, template, measure)[0]
        assert (match.row, match.col) == (10, 14)
        assert match.score < 0.4


# A few outliers.


def stained_pair():
    """Two stains of one tissue, as wsireg has them: smooth, in 16 bits, mostly below 200."""
    rng = np.random.default_rng(3)
    ground = np.abs(np.cumsum(np.cumsum(rng.normal(0, 1, (90, 110)), 0), 1))
    ground /= ground.max()
    first = np.rint(60 + 120 * ground)
    second = 20 + 300 * abs(ground - 0.45) + rng.normal(0, 4, ground.shape)
    return first.astype(np.uint16), np.clip(second, 0, 200).astype(np.uint16)


OUTLIERS = {
    "bright": [12000, 45000, 23000],
    "no data": [-9999, -9999, -9999],
    "metal": [3000, -1500, 30000],
    "hot": [500, 500, 500],
}


@pytest.mark.compiled
@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize(
    ("dtype", "outliers"),
    [
        (dtype, outliers)
        for dtype in (np.uint16, np.int32, np.float32, np.float64)
        for outliers in OUTLIERS
        if dtype != np.uint16 or min(OUTLIERS[outliers]) > 0
    ],
)
def test_a_few_outliers_change_no_score_where_they_are_not(measure, dtype, outliers):
    first, second = stained_pair()
    matcher = Matcher(first[30:54, 40:64], measure)
    image = second.astype(dtype)
    spoilt, rows, columns = image.copy(), [5, 40, 80], [100, 10, 60]
    spoilt[rows, columns] = OUTLIERS[outliers]
    away = np.ones((90 - 23, 110 - 23), bool)
    for row, column in zip(rows, columns, strict=True):
        away[max(row - 23, 0) : row + 1, max(column - 23, 0) : column + 1] = False
    before, after = matcher.score_map(image), matcher.score_map(spoilt)
    assert_allclose(after[away], before[away], rtol=0, atol=1e-6)
    for found in (matcher.locate(image)[0], matcher.locate(spoilt)[0]):
        assert (found.row, found.col) == (30, 40)


@pytest.mark.compiled
@pytest.mark.parametrize("share", [0.002, 0.009])
def test_tens_of_hot_pixels_do_not_blind(share, rng):
    first, second = stained_pair()
    spoilt = second.copy()
    hot = rng.choice(spoilt.size, int(share * spoilt.size), replace=False)
    spoilt.flat[hot] = rng.integers(1000, 65536, hot.size)
    for measure in MEASURES:
        match = nuvmatch.locate(spoilt, first[30:54, 40:64], measure)[0]
        assert (match.row, match.col) == (30, 40)


@pytest.mark.compiled
def test_a_value_range_wins():
    first, second = stained_pair()
    template = first[30:54, 40:64]
    own = nuvmatch.score_map(second, template, MI(value_range=(second.min(), second.max())))
    assert_array_equal(nuvmatch.score_map(second, template, MI()), own)
    spoilt = second.copy()
    spoilt[0, 0] = 60000
    wide = nuvmatch.score_map(spoilt, template, MI(value_range=(0, 60000)), fill_value=np.nan)
    assert np.isnan(wide.ravel()[1:]).all()  # the first bin ends at 7500


# Parts of an image.


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_a_region_is_binned_as_the_whole(measure, channels, dtype, rng):
    image, template = planted_scene(rng, (30, 31), (7, 8), dtype, channels=channels)
    image[5:20, 6:25] //= 3  # so that the region has a range of its own
    mask = rng.random((30, 31)) < 0.995
    whole = nuvmatch.score_map(image, template, measure, image_mask=mask)
    part = nuvmatch.score_map(image, template, measure, image_mask=mask, region=(5, 6, 15, 19))
    inexact = dtype == np.float64 and isinstance(measure, Lowest)  # NUV sums floats
    assert_allclose(part, whole[5:14, 6:18], rtol=0, atol=1e-9 if inexact else 0)


# Windows that are flat once binned.


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_windows_in_one_bin_give_no_evidence(measure, channels, dtype, rng):
    image, template = planted_scene(rng, (30, 31), (7, 6), dtype, channels=channels)
    image[8:22, 5:24] = image.min() + 0.01 * rng.integers(0, 99, image[8:22, 5:24].shape)
    if channels:
        image[8:22, 20:31, 1] = image[:14, :11, 1]  # flat in two of three
    mask = rng.random((7, 6)) < 0.7
    planes = naive.as_channels(image)
    binned = [naive.image_bins(p, 8, naive.usual_range(image)) for p in planes]
    flat = np.ones((24, 26), bool)
    for plane in binned:
        for place, window in naive.windows(plane, (7, 6)):
            flat[place] &= np.ptp(window[mask]) == 0
    assert flat.any()
    matcher = Matcher(template, measure, mask=mask)
    scores = matcher.score_map(image, fill_value=np.nan)
    assert_array_equal(np.isnan(scores), flat)
    found = matcher.locate(image, threshold=np.inf, max_overlap=1)
    assert not any(flat[match.row, match.col] for match in found)


def test_nothing_is_found_where_all_is_one_bin():
    image = np.full((20, 20), 100, np.uint8)
    image[::2] += 1
    image[0, 0], template = 255, np.arange(36, dtype=np.uint8).reshape(6, 6)
    for measure in (MI(value_range=(0, 255)), WindowToPattern(value_range=(0, 255))):
        assert len(nuvmatch.locate(image, template, measure, region=(1, 1, 19, 19))) == 0
        scores = nuvmatch.score_map(image, template, measure, fill_value=np.nan)
        assert np.isnan(scores.ravel()[1:]).all()
        assert not np.isnan(scores[0, 0])
