"""The best windows without a map: those of the map, and nothing is excluded that is as good."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import random_labels
from scipy import ndimage

from nuvmatch import (
    NUV,
    AdaptiveNUV,
    CurvesNUV,
    LinearNUV,
    Matcher,
    MonotoneNUV,
    find_peaks,
)
from nuvmatch.engine import Programs, Slices, Stopping, prepare, stopping, windows

MEASURES = (
    NUV(), NUV(bins=3), NUV(bins=40, binning="equal_width"), NUV(bins=16, binning="equal_width"),
    NUV(adjusted=True), NUV(gain=(0.2, 3)), NUV(polarity="decreasing"), MonotoneNUV(),
    LinearNUV(), CurvesNUV(n_curves=2), AdaptiveNUV(),
)  # fmt: skip


@pytest.fixture
def bounded(monkeypatch):
    """Set what decides whether bounds pay: by default they always do."""

    def choose(**limits):
        always = {
            "_LEAST_HEIGHT": 1,
            "_LOW": 1,
            "_LEAST_WINDOWS": 1,
            "_COARSE": 2**60,
            "_SURE": np.inf,
            "_FOLLOWED": 2**60,
        }
        for name, value in (always | limits).items():
            monkeypatch.setattr(stopping, name, value)

    return choose


def planes_of(image):
    return np.moveaxis(image, -1, 0) if image.ndim == 3 else image[None]


def search_of(image, labels):
    stop = Stopping(Programs(Slices(labels)))
    prepared = prepare(planes_of(image), None, labels[0].size)
    seen = windows.Windows(prepared, stop._slices, stop._pixels, stopping._STEP, 2)
    return stop, seen, stopping._Rows(stop._programs, seen, prepared)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int8])
@pytest.mark.parametrize(("window", "channels"), [((24, 30), 1), ((9, 5), 1), ((17, 12), 2)])
def test_bounds_are_what_slices_leave_open_of_some_rows(dtype, window, channels, rng):
    high = 120 if dtype == np.int8 else 60_000 if dtype == np.uint16 else 250
    image = rng.integers(0, high, (window[0] + 21, window[1] + 40, channels)).astype(dtype)
    image[3 : 6 + window[0], 2 : 9 + window[1]] = 7  # some windows are flat, all or in part
    labels = np.stack([random_labels(rng, window) for _ in range(channels)])
    labels[:, (labels < 0).any(axis=0)] = -1
    stop, seen, of_rows = search_of(image, labels)
    expected, step = 0, stopping._STEP
    for part in stop._parts:
        guesses = of_rows.bound(part)
        expected = expected + naive.row_bounds(image, labels, part.first, step)
        rows, columns = expected.shape
        bounds = of_rows._bounds.reshape(-1, image.shape[1])
        assert_allclose(bounds[:rows, :columns], expected, rtol=2e-6, atol=1e-7)
        assert np.isinf(bounds[rows:]).all()
        assert np.isinf(bounds[:, columns:]).all()
        assert np.isfinite(bounds.ravel()[guesses]).all()
    places, scatter, bounds = of_rows.below(1e9)
    assert places.size == np.isfinite(expected).sum()
    of_all = sum(naive.row_bounds(image, labels, row, step) for row in range(step))
    limit = float(np.median(of_all[np.isfinite(of_all)]))
    rows, cols = seen.at(places)
    assert_array_equal(seen.places_of(rows, cols), places)
    kept = np.isin(places, seen.follow(places, scatter, bounds, limit, first=2))
    clear = abs(of_all[rows, cols] - limit) > 1e-5
    assert_array_equal(kept[clear], (of_all[rows, cols] <= limit)[clear])


@pytest.mark.compiled
def test_what_the_rows_leave_open_is_no_more_than_the_score(rng):
    """For any windows, tone models and bins."""
    image = rng.integers(0, 256, (60, 60)).astype(np.uint8)
    for measure in (NUV(), MonotoneNUV(), LinearNUV(), CurvesNUV(), AdaptiveNUV()):
        matcher = Matcher(image[10:42, 5:30], measure)
        labels = matcher._scorer._slices.labels
        bounds = sum(naive.row_bounds(image, labels, row, 8) for row in (0, 4, 1))
        scores = matcher.score_map(image, fill_value=np.inf)
        assert (bounds <= scores + 1e-6).all()


def draw_case(rng):
    """A template and an image with copies of it, alike or nearly, of many kinds."""
    shape = rng.integers(3, 40), rng.integers(2, 30)
    extent = shape[0] + rng.integers(30, 70), shape[1] + rng.integers(20, 60)
    kind = rng.choice([np.uint8, np.uint16, np.bool_, np.int16, np.int32])
    levels = {np.bool_: 2, np.uint8: 256}.get(kind, 5000)
    levels = int(rng.choice([2, 4, levels])) if levels > 2 else 2
    base = 10**6 if kind == np.int32 else 0  # in a part of the image: digits that sums may lose
    channels = () if rng.random() < 0.8 else (3,)
    template = rng.integers(0, levels, (*shape, *channels))
    smooth = rng.random() < 0.3
    if smooth:
        template = np.sort(template, axis=1)
    image = rng.integers(0, levels, (*extent, *channels))
    if rng.random() < 0.3:
        image[:] = rng.integers(0, levels)  # flat, but for what comes
    for _ in range(rng.integers(0, 4)):
        row, col = (rng.integers(0, b - a + 1) for a, b in zip(shape, extent, strict=True))
        curve = rng.permutation(levels) if rng.random() < 0.5 else np.arange(levels)[::-1]
        copy = curve[template]
        if rng.random() < 0.5:  # a near-tie of a perfect one
            copy[tuple(rng.integers(0, side) for side in copy.shape)] ^= 1
        image[row : row + shape[0], col : col + shape[1]] = np.minimum(copy, levels - 1)
    image[: extent[0] // 2] += base
    mask = None if rng.random() < 0.7 else rng.random(shape) < 0.6
    allowed = None if rng.random() < 0.8 else rng.random(extent) < 0.995
    image = image.astype(kind)
    if allowed is not None and kind != np.bool_:
        image[~allowed] = np.iinfo(kind).min if rng.random() < 0.5 else np.iinfo(kind).max
    if rng.random() < 0.2:
        image = np.asfortranarray(image[::-1, ::-1])[::-1, ::-1]  # a view
    return template.astype(kind), image, mask, allowed


def draw_smooth_case(rng):
    """A template that an image holds under other tones and some noise, both smooth."""
    shape = rng.integers(8, 60, 2)
    extent = shape + rng.integers(20, 90, 2)
    kind, white = [(np.uint8, 255), (np.uint16, 1000), (np.uint16, 65535)][rng.integers(3)]
    greys = ndimage.gaussian_filter(rng.random(extent), rng.uniform(0.5, 9))
    greys = (greys - greys.min()) / np.ptp(greys)
    if rng.random() < 0.4:
        greys = np.maximum(greys, 0.5)  # flat in parts
    row, col = (rng.integers(0, b - a + 1) for a, b in zip(shape, extent, strict=True))
    template = greys[row : row + shape[0], col : col + shape[1]]
    curve = (greys, 1 - greys, greys**0.5, 2 * abs(greys - 0.5))[rng.integers(4)]
    scene = np.clip(curve + rng.normal(0, rng.choice([0, 0.01, 0.05]), extent), 0, 1)
    return (template * white).astype(kind), (scene * white).astype(kind), None, None


def test_an_inverted_copy_is_found_without_a_map(rng, bounded, monkeypatch):
    bounded(_STEP=4, _FOLLOWED=10_000)
    image = rng.integers(0, 256, (40, 50)).astype(np.uint8)
    matcher = Matcher(image[11:23, 20:31])
    expected = matcher.locate(255 - image, threshold=np.inf, max_matches=1)
    monkeypatch.setattr(type(matcher._scorer), "fill", None)  # no map is made
    assert matcher.locate(255 - image) == expected
    assert (expected[0].row, expected[0].col) == (11, 20)


def few_of(cases, *fast):
    """All cases, but only a few of them in the fast lane."""
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("part", few_of(range(30), 2, 5, 8, 15, 23))
def test_the_best_place_is_that_of_the_map(part, bounded):
    rng = np.random.default_rng([4, part])
    followed = (2**60, 2**60, 30_000, 6000)[part % 4 if part < 20 else 0]
    step, guesses = (8, 16)[part // 4 % 2], (24, 1)[part // 8 % 2]
    by_blocks = {"_COARSE": 8, "_FOLLOWED_OF_EACH": 2.0**40, "_SCORED": guesses}
    bounded(_FOLLOWED=followed, _STEP=step, _GUESSES=guesses, **by_blocks if part >= 20 else {})
    done = shortened = 0
    while done < 100:
        draw = draw_smooth_case if part >= 20 and rng.random() < 0.7 else draw_case
        template, image, mask, allowed = draw(rng)
        measure = MEASURES[rng.integers(len(MEASURES))]
        dtype = rng.choice([np.float32, np.float64])
        try:
            matcher = Matcher(template, measure, mask=mask, dtype=dtype, n_threads=2)
        except ValueError:  # flat, or of too few pixels
            continue
        done += 1
        given = {"image_mask": allowed}
        expected = matcher.locate(image, threshold=np.inf, max_matches=1, **given)  # by the map
        assert matcher.locate(image, **given) == expected
        scores = matcher.score_map(image, fill_value=np.nan, **given)
        prepared = prepare(planes_of(image), allowed, template.shape[0] * template.shape[1])
        found = matcher._scorer.lowest(prepared, np.dtype(dtype), 0.01, 1)
        if found is not None:
            shortened += 1
            near = np.zeros(scores.shape, np.bool_)
            near[found.rows, found.cols] = True
            assert near[scores <= np.nanmin(scores) + dtype(0.009)].all()
            assert_array_equal(scores[near], found.scores)
    assert shortened > (30 if followed == 2**60 else 3)


@pytest.mark.compiled
@pytest.mark.parametrize("side", [32, 130])
def test_a_large_image_is_searched_without_a_map(side, rng, monkeypatch):
    image = rng.integers(0, 256, (520, 640)).astype(np.uint8)
    image = (np.cumsum(np.cumsum(image - 127.5, 0), 1) / 40).astype(np.int64) % 256
    image = image.astype(np.uint8)
    template = image[200 : 200 + side, 301 : 301 + side]
    scene = np.rint(255 * (1 - (image / 255) ** 0.6)).astype(np.uint8)
    matcher = Matcher(template)
    expected = matcher.locate(scene, threshold=np.inf, max_matches=1)
    with monkeypatch.context() as patch:
        patch.setattr(type(matcher._scorer), "fill", None)  # no map is made
        assert matcher.locate(scene) == expected
    assert matcher.locate(scene) == expected
    assert (expected[0].row, expected[0].col) == (200, 301)


@pytest.mark.compiled
def test_where_nothing_is_alike_the_map_is_made(rng):
    template, scene = rng.integers(0, 256, (2, 500, 500)).astype(np.uint8)
    matcher = Matcher(template[:32, :32])
    stop = matcher._scorer._stopping
    prepared = prepare(scene[None], None, 32 * 32)
    score = matcher._scorer._score_in(prepared)
    assert stop.lowest(prepared, score, np.dtype(np.float32), 0, 1) is None
    (expected,) = find_peaks(matcher.score_map(scene), (32, 32))
    (match,) = matcher.locate(scene)
    assert (match.row, match.col, match.score) == (expected.row, expected.col, expected.score)


@pytest.mark.compiled
def test_floats_and_small_images_have_a_map(rng):
    scene = rng.random((500, 500))
    matcher = Matcher(scene[40:72, 50:82])
    lowest = matcher._scorer.lowest
    assert lowest(prepare(scene[None], None, 32 * 32), np.dtype(np.float64), 0, 1) is None
    small = np.rint(255 * scene[:200, :200]).astype(np.uint8)
    assert lowest(prepare(small[None], None, 32 * 32), np.dtype(np.float32), 0, 1) is None
