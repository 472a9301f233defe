"""Shifts of chips: known fields, inverted tones, what is unlike its neighbours."""

import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import NUV, Matcher, shifts

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def fixed():
    rng = np.random.default_rng(3)
    image = ndimage.gaussian_filter(rng.standard_normal((240, 260)), 1.5)
    return np.rint(255 * (image - image.min()) / np.ptp(image)).astype(np.uint8)


def field(shape):
    """A smooth shift in rows and columns at each pixel of what is moved."""
    rows, cols = np.indices(shape)
    return 1.5 * np.sin(cols / 160) + 0.3, -1.2 * np.cos(rows / 150)


def move(image, down, across):
    rows, cols = np.indices(image.shape)
    return ndimage.map_coordinates(image / 255, [rows - down, cols - across], order=3, mode="wrap")


def tones(moved, rng):
    """Other tones in two halves, inverted in one; with noise."""
    left = np.indices(moved.shape)[1] < moved.shape[1] // 2
    moved = np.clip(moved, 0, 1)
    changed = np.where(left, 1 - moved**0.7, moved**1.5)
    noisy = changed + 0.02 * rng.standard_normal(moved.shape)
    return np.rint(255 * np.clip(noisy, 0, 1)).astype(np.uint8)


def errors_of(found, down, across):
    places = [found["row"] + found["shift_row"], found["col"] + found["shift_col"]]
    truth = [ndimage.map_coordinates(part, places, order=1) for part in (down, across)]
    return np.hypot(found["shift_row"] - truth[0], found["shift_col"] - truth[1])


def test_a_smooth_field_is_found_whatever_the_tones(fixed, rng):
    down, across = field(fixed.shape)
    moving = tones(move(fixed, down, across), rng)
    found = shifts(fixed, moving, grid=(8, 9), size=32, search=6)
    assert found.shape == (8, 9)
    errors = errors_of(found, down, across)
    assert np.median(errors) < 0.08
    sure = found["false_alarms"] < 0.01
    assert sure.mean() > 0.9
    assert (errors[sure] > 1).mean() <= 0.02
    assert np.median(found["sigma"]) < 0.05
    whole = shifts(fixed, moving, grid=(8, 9), size=32, search=6, subpixel=False)
    assert (whole["shift_row"] == np.rint(whole["shift_row"])).all()
    assert np.isnan(whole["sigma"]).all()


@pytest.mark.parametrize(("measure", "dtype"), [(NUV(bins=5), np.uint8), ("mi", np.float32)])
def test_each_chip_is_what_a_search_of_its_region_finds(measure, dtype, fixed, rng):
    """In the whole image, whose range of greys some measures go by."""
    moving = tones(move(fixed, *field(fixed.shape)), rng).astype(dtype)
    if dtype == np.float32:
        moving[:40, :50] = np.nan
        moving[120:, 130:] *= 3
    found = shifts(fixed, moving, measure, grid=7, size=24, search=5)
    for chip in found.ravel()[::6]:
        top, left = (int(chip[name] - 11.5) for name in ("row", "col"))
        template = fixed[top : top + 24, left : left + 24]
        region = (top - 5, left - 5, 34, 34)
        matches = Matcher(template, measure).locate(moving, region=region, subpixel="precise")
        if not matches:
            assert np.isnan(chip["score"])
            continue
        (match,) = matches
        expected = np.array(match.center) - (chip["row"], chip["col"])
        assert (chip["shift_row"], chip["shift_col"]) == tuple(expected)
        assert chip["score"] == match.score
    first, last = found[0, 0], found[-1, -1]
    assert (first["row"], first["col"]) == (5 + 11.5, 5 + 11.5)
    assert (last["row"], last["col"]) == (240 - 5 - 12.5, 260 - 5 - 12.5)


def test_what_is_not_there_is_no_sure_match(fixed, rng):
    moving = rng.permutation(fixed.ravel()).reshape(fixed.shape)
    found = shifts(fixed, moving, grid=8, size=24, search=6)
    assert (found["false_alarms"] > 0.01).all()


def test_what_is_unlike_its_neighbours_is_an_outlier(fixed):
    moved = np.roll(fixed, (2, 1), (0, 1))
    moved[90:130, 100:140] = np.roll(fixed, (-3, 4), (0, 1))[90:130, 100:140]
    found = shifts(fixed, moved, grid=8, size=24, search=8)
    expected = (abs(found["row"] - 110) < 12) & (abs(found["col"] - 120) < 12)
    assert expected.any()
    assert found["outlier"][expected].all()
    far = (abs(found["row"] - 110) > 50) | (abs(found["col"] - 120) > 50)
    assert not found["outlier"][far].any()


@pytest.mark.filterwarnings("ignore:false alarms cannot be told")  # from so few chips
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("moved", [0, 1, 8, 15])
def test_of_a_single_row_or_column_what_is_unlike_others_is_an_outlier(moved, across):
    ground = np.random.default_rng(6).standard_normal((72, 960))
    image = np.rint(30 * ndimage.gaussian_filter(ground, 1.5)).astype(np.int16)
    other = image.copy()
    part = np.s_[:, moved * 60 : moved * 60 + 60]
    other[part] = np.roll(image[part], 4, axis=0)
    images = (image, other) if across else (image.T, other.T)
    found = shifts(*images, grid=(1, 16) if across else (16, 1), size=32, search=8).ravel()
    assert np.flatnonzero(found["outlier"]).tolist() == [moved]


def test_what_lies_on_the_border_of_the_search_is_an_outlier(fixed):
    found = shifts(fixed, np.roll(fixed, 5, axis=0), grid=7, size=24, search=5)
    on_border = found["shift_row"] == 5
    assert on_border.mean() > 0.9
    assert found["outlier"][on_border].all()
    assert np.isinf(found["false_alarms"][on_border]).all()


@pytest.mark.parametrize("subpixel", ["precise", True, False])
def test_along_a_straight_edge_no_shift_is_told(subpixel, fixed, rng):
    scene = fixed.astype(float)
    scene[:, :90] = np.where(np.arange(90) < 45, 40, 190)
    one, other = (
        np.clip(scene + rng.normal(0, 2, scene.shape), 0, 255).astype(np.uint8) for _ in range(2)
    )
    found = shifts(one, other, grid=(8, 9), size=32, search=6, subpixel=subpixel)
    told = np.isfinite(found["false_alarms"])
    at_edge = abs(found["col"] - 44.5) < 14
    assert np.count_nonzero(at_edge) == 8
    assert not told[at_edge].any()  # though noise makes some scores look like a place's
    assert told[found["col"] > 120].all()


def test_flat_chips_are_left_out(fixed):
    image = fixed.copy()
    image[:60, :80] = 9
    found = shifts(image, image, grid=8, size=24, search=4)
    flat = np.isnan(found["score"])
    assert flat.any()
    assert (found["row"][flat] < 60).all()
    assert (found["col"][flat] < 80).all()
    assert np.isnan(found["false_alarms"][flat]).all()
    assert not found["outlier"][flat].any()
    assert found["shift_row"][~flat] == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("hole", [np.nan, -9999.0])
def test_chips_that_are_mostly_no_data_are_left_out_and_spoil_nothing(hole, fixed, rng):
    moving = tones(move(fixed, 1, 2), rng)
    options = {"grid": 8, "size": 24, "search": 4, "nodata": -9999}
    whole = shifts(fixed.astype(float), moving, **options)
    left = whole[0, 3]["col"] - 11.5
    holed = fixed.astype(float)
    holed[:, int(left) : int(left) + 21] = hole  # of the fourth column of chips three are left
    found = shifts(holed, moving, **options)
    others = [0, 1, 5, 6, 7]
    assert np.isnan(found[:, 3]["score"]).all()
    assert (found[:, others]["score"] == whole[:, others]["score"]).all()
    assert (whole["false_alarms"] < 0.01).all()
    assert (found[:, others]["false_alarms"] < 0.01).all()


def test_chips_that_are_mostly_transparent_are_left_out(fixed, rng):
    """By the highest alpha of the whole image, not of each chip."""
    moving, alpha = tones(move(fixed, 1, 2), rng), np.full(fixed.shape, 255, np.uint8)
    options = {"grid": 8, "size": 24, "search": 4}
    alpha[:, :40], alpha[:, 40:60] = 0, 60
    found = shifts(np.dstack([fixed, alpha]), moving, **options)
    as_nan = shifts(np.where(alpha < 128, np.nan, fixed), moving, **options)
    assert np.isnan(found["score"]).any(axis=0).tolist() == [True] * 2 + [False] * 6
    assert (np.isnan(found["score"]) == np.isnan(as_nan["score"])).all()


def test_no_data_of_whole_numbers_may_be_named(fixed, rng):
    moving = tones(move(fixed, 1, 2), rng)
    one, other = np.clip(fixed, 1, None), np.clip(moving, 1, None)
    one[100:108, 90:200] = other[30:50, 60:80] = 0
    options = {"grid": 8, "size": 24, "search": 4, "subpixel": False}
    named = shifts(one, other, "ncc2", nodata=0, **options)
    as_nan = [np.where(part == 0, np.nan, part) for part in (one, other)]
    expected = shifts(*as_nan, "ncc2", **options)
    for name in ("shift_row", "shift_col", "score"):
        np.testing.assert_allclose(named[name], expected[name], atol=1e-6)
    with pytest.raises(ValueError, match="half of each chip's pixels or more are no data"):
        shifts(np.where(np.indices(one.shape)[0] % 3, 0, one), other, size=24, search=4, nodata=0)


def test_a_few_chips_cannot_tell_false_alarms(fixed):
    with pytest.warns(UserWarning, match="cannot be told"):
        found = shifts(fixed, fixed, grid=2, size=24)
    assert np.isinf(found["false_alarms"]).all()


@pytest.mark.parametrize(("grid", "side"), [(1, 100), (3, 50)])
def test_chips_that_overlap_cannot_tell_false_alarms(grid, side, fixed):
    with pytest.warns(UserWarning, match="no two are apart"):
        found = shifts(fixed[:side, :side], fixed[:side, :side], grid=grid, size=24)
    assert np.isinf(found["false_alarms"]).all()
    assert found["shift_row"] == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("grid", [(1, 50), (1, 49), (50, 1), (2, 25)])
def test_chips_of_few_rows_learn_from_far_away(grid):
    """From what they score at the place of another chip: half a row, or a column, away."""
    ground = np.random.default_rng(5).standard_normal((140, 2800))
    image = np.rint(30 * ndimage.gaussian_filter(ground, 1.5)).astype(np.int16)
    image = image.T if grid[1] == 1 else image
    found = shifts(image, 255 - image, grid=grid, size=32, search=6)
    assert (found["false_alarms"] < 1e-3).all()


def test_colours(fixed):
    colour = np.stack([fixed, fixed[::-1], fixed.T[:240, :240].repeat(2, axis=1)[:, :260]], axis=2)
    found = shifts(colour, 255 - np.roll(colour, 2, axis=1), grid=7, size=24, search=4)
    assert np.median(found["shift_col"]) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"grid": 0}, ValueError, "grid"),
        ({"grid": (3, 2.5)}, TypeError, "grid"),
        ({"grid": "ab"}, TypeError, "grid"),
        ({"size": 1}, ValueError, "size"),
        ({"search": 0}, ValueError, "search"),
        ({"size": 230}, ValueError, "too small"),
        ({"fixed": np.full((240, 260), 7)}, ValueError, "flat"),
        ({"measure": "auto"}, ValueError, "auto"),
        ({"measure": "nothing"}, ValueError, "nothing"),
        ({"subpixel": 3}, TypeError, "subpixel"),
        ({"moving": np.zeros((240, 261))}, ValueError, "equal size"),
        ({"moving": np.zeros((240, 260, 3))}, ValueError, "colour"),
        ({"fixed": None}, TypeError, "fixed is None"),
    ],
)
def test_what_is_wrong_is_named(options, error, message, fixed):
    given = {"fixed": fixed, "moving": fixed, **options}
    with pytest.raises(error, match=message):
        shifts(**given)
