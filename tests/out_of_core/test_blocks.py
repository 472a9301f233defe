"""Maps and places by blocks are those of the whole image in memory, whatever it is made of."""

import warnings
from dataclasses import dataclass

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from patterns import MEASURES, name_of_measure

from nuvmatch import MI, NCC, NUV, Highest, Lowest, Matcher, Search, WindowToPattern, out_of_core
from nuvmatch.out_of_core import blocks

pytestmark = [pytest.mark.usefixtures("small_blocks"), pytest.mark.compiled]

SINGLE, DOUBLE = 2e-6, 1e-9  # of maps whose sums are rounded

every_measure = pytest.mark.parametrize("measure", [*MEASURES, "auto"], ids=name_of_measure)


def cut(image, row=40, col=60, height=9, width=11):
    return image[row : row + height, col : col + width].copy()


def lazily(image, chunks=(30, 50)):
    return da.from_array(image, chunks=(*chunks, -1)[: image.ndim])


def said(call, *arguments, **options):
    """What a call returns, and what it warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = call(*arguments, **options)
    return found, [str(one.message) for one in told]


def check_maps(matcher, image, chunks=(30, 50), *, exact=True, **options):
    """That the map by blocks is that in memory; returns it."""
    options["fill_value"] = np.nan
    whole, warned = said(matcher.score_map, image, **options)
    lazy, too = said(out_of_core.score_map, lazily(image, chunks), matcher, **options)
    found = lazy.compute()
    assert too == warned
    assert (lazy.shape, lazy.dtype) == (whole.shape, whole.dtype) == (found.shape, found.dtype)
    if exact:
        assert_array_equal(found, whole)
    else:
        tolerance = SINGLE if whole.dtype == np.float32 else DOUBLE
        np.testing.assert_allclose(found, whole, rtol=0, atol=tolerance)
    return lazy


def check_places(seeker, image, chunks=(30, 50), **options):
    """That places by blocks, and all that is told of them, are those in memory."""
    whole, warned = said(seeker.locate, image, **options)
    found, too = said(out_of_core.locate, lazily(image, chunks), seeker, **options)
    assert found == whole
    assert too == warned
    return found


# What the image is made of.


@every_measure
def test_maps_by_every_measure_are_those_in_memory(measure, scene):
    matcher = Matcher(cut(scene), measure)
    lazy = check_maps(matcher, scene)
    assert lazy.npartitions >= 6


@every_measure
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_matches": 7},
        {"threshold": 0.9},
        {"false_alarms": np.inf, "max_matches": 4},
        {"max_matches": 3, "subpixel": True},
        {"max_matches": 2, "subpixel": "precise"},
    ],
    ids=str,
)
def test_places_by_every_measure_are_those_in_memory(measure, options, scene):
    scene[10:30, 70:90] = 255 - scene[40:60, 60:80]
    found = check_places(Matcher(cut(scene), measure), scene, **options)
    if "threshold" not in options:
        assert len(found) > 0


INTEGERS = "?bBhHiIlLqQ"


@pytest.mark.parametrize("kind", [*INTEGERS, ">u2", ">i4"])
@pytest.mark.parametrize("measure", ["nuv", "ncc", MI(bins=4), "ssd"], ids=name_of_measure)
def test_whole_numbers_of_every_type(kind, measure, scene):
    image = scene.astype(int) // 128 if kind == "?" else scene.astype(int) // 2
    image = image.astype(kind)
    if np.dtype(kind).kind == "i":
        image -= image.dtype.type(60)
    matcher = Matcher(cut(image), measure)
    check_maps(matcher, image)
    check_places(matcher, image, max_matches=5)


@pytest.mark.parametrize("kind", [np.uint64, np.int64])
def test_whole_numbers_beyond_what_floats_tell_apart(kind, scene):
    image = scene.astype(kind) + kind(2**62)
    image[70, 3] = 0  # the range of the whole is that of no other block
    matcher = Matcher(cut(image))
    check_maps(matcher, image, exact=False)
    check_places(matcher, image, max_matches=5)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", "g"])
@pytest.mark.parametrize("divisor", [1, 255], ids=["whole", "shares"])
@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi"])
def test_floats_on_a_lattice_are_exact(kind, divisor, measure, scene):
    image = (scene.astype(kind) / divisor).astype(kind)
    image[30, 40:44] = np.nan, np.inf, -np.inf, 0
    matcher = Matcher(cut(image), measure)
    check_maps(matcher, image)
    check_places(matcher, image, max_matches=5)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "ssd", "nuv_adaptive"])
def test_other_floats_are_as_exact_as_in_memory(kind, measure, scene, rng):
    image = (rng.standard_normal(scene.shape) + scene / 50).astype(kind)
    image[70, 100] = np.nan
    image[5, 5] = 300  # what is rounded is rounded by the largest grey of all
    matcher = Matcher(cut(image), measure)
    check_maps(matcher, image, exact=False)
    found, whole = (
        out_of_core.locate(lazily(image), matcher, max_matches=5),
        matcher.locate(image, max_matches=5),
    )
    assert_array_equal([found.rows, found.cols], [whole.rows, whole.cols])
    np.testing.assert_allclose(found.scores, whole.scores, rtol=0, atol=SINGLE)


def test_floats_that_are_a_lattice_in_each_block_only(scene):
    image = scene / 255
    image[60:, :] += 1e-3  # greys of one step differ between blocks
    matcher = Matcher(cut(image))
    check_maps(matcher, image, exact=False)


@pytest.mark.parametrize("measure", ["mi", WindowToPattern(), Lowest("nuv", WindowToPattern())])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_the_usual_range_is_that_of_the_whole(measure, kind, scene):
    image = scene.astype(kind)
    image[scene > 120] = 100
    image[3, 110], image[80, 2] = (255, 255) if kind == np.uint8 else (60000, 50000)
    matcher = Matcher(cut(image), measure)
    check_maps(matcher, image)
    check_places(matcher, image, max_matches=4)


def test_where_all_of_a_block_is_bad(scene):
    image = scene.astype(np.float32)
    image[:50, :70] = np.nan
    matcher = Matcher(cut(image, 55, 75))
    check_maps(matcher, image)
    check_places(matcher, image, max_matches=4)
    image[:] = np.nan
    check_maps(matcher, image)
    assert len(check_places(matcher, image)) == 0


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("measure", ["nuv", "mi"])
def test_nodata(kind, measure, scene):
    image = scene.astype(kind)
    image[:20, :50] = 255
    image[60:62, 90:] = 0
    matcher = Matcher(cut(image), measure, nodata=(255, 0))
    check_maps(matcher, image)
    check_places(matcher, image, max_matches=4)


# Colour and alpha.


def coloured(scene, rng, alpha=None):
    image = np.stack([scene, 255 - scene, scene[::-1]], axis=2)
    return image if alpha is None else np.dstack([image, alpha])


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "auto"])
def test_colour(measure, scene, rng):
    image = coloured(scene, rng)
    matcher = Matcher(cut(image), measure)
    check_maps(matcher, image)
    check_places(matcher, image, (17, 50), max_matches=3, subpixel=True)


def test_channels_may_be_in_chunks(scene, rng):
    image = coloured(scene, rng)
    matcher = Matcher(cut(image))
    lazy = da.from_array(image, chunks=(40, 40, 1))
    assert_array_equal(out_of_core.score_map(lazy, matcher), matcher.score_map(image))


def test_one_channel_is_grey(scene):
    matcher = Matcher(cut(scene))
    lazy = lazily(scene[..., None])
    assert_array_equal(out_of_core.score_map(lazy, matcher), matcher.score_map(scene))


@pytest.mark.parametrize("highest", [255, 200, 100, 1])
@pytest.mark.parametrize("channels", [1, 3])
def test_alpha_counts_from_half_of_white_of_the_whole(highest, channels, scene, rng):
    alpha = np.full(scene.shape, highest, np.uint8)
    alpha[:25, :45] = highest // 3
    alpha[:, 100:] = highest // 2 + 1
    image = coloured(scene, rng, alpha)[..., -1 - channels :]
    template = cut(image)[..., :-1]
    matcher = Matcher(template)
    check_maps(matcher, image)
    check_places(matcher, image, max_matches=3)


def test_alpha_of_0_everywhere_is_unused_and_told_once(scene):
    image = np.dstack([scene, np.zeros_like(scene)])
    matcher = Matcher(cut(scene))
    with pytest.warns(UserWarning, match="is 0 everywhere; it is taken for unused"):
        found = out_of_core.score_map(lazily(image), matcher)
    with pytest.warns(UserWarning, match="is 0 everywhere"):
        assert_array_equal(found, matcher.score_map(image))
    found, warned = said(out_of_core.locate, lazily(image), matcher, max_matches=2)
    with pytest.warns(UserWarning, match="is 0 everywhere"):
        assert found == matcher.locate(image, max_matches=2)
    assert len(warned) == 1


def test_alpha_that_leaves_no_window_is_warned_of(scene):
    alpha = np.zeros_like(scene)
    alpha[::4] = 255
    matcher = Matcher(cut(scene))
    found, warned = said(out_of_core.locate, lazily(np.dstack([scene, alpha])), matcher)
    assert len(found) == 0
    assert warned == said(matcher.locate, np.dstack([scene, alpha]))[1]
    assert "alpha" in warned[0]


def test_a_channel_that_is_no_alpha_is_refused(scene):
    image = np.dstack([scene, scene]).astype(float)
    image[80, 100, 1] = 300
    for call in (
        lambda: out_of_core.locate(lazily(image), Matcher(cut(scene))),
        lambda: out_of_core.score_map(lazily(image), Matcher(cut(scene))),
    ):
        with pytest.raises((ValueError, out_of_core.BlockError), match="alpha"):
            call()


# Masks, regions, chunks.


@pytest.mark.parametrize("kind", [bool, np.uint8, float])
@pytest.mark.parametrize("chunks", [(90, 120), (7, 120), (13, 29)])
def test_masks_may_be_lazy_and_in_other_chunks(kind, chunks, scene, rng):
    mask = np.ones(scene.shape, kind)
    mask[25:33, 40:90] = 0
    mask[70, 5] = 0
    matcher = Matcher(cut(scene), mask=rng.random((9, 11)) < 0.8)
    expected = matcher.score_map(scene, image_mask=mask)
    whole = matcher.locate(scene, image_mask=mask, max_matches=4)
    for given in (mask, mask[..., None], da.from_array(mask, chunks=chunks)):
        found = out_of_core.score_map(lazily(scene), matcher, image_mask=given)
        assert_array_equal(found, expected)
        found = out_of_core.locate(lazily(scene), matcher, image_mask=given, max_matches=4)
        assert found == whole


@pytest.mark.parametrize("measure", ["nuv", "auto"])
def test_a_mask_of_nothing_finds_nothing(measure, scene):
    matcher = Matcher(cut(scene), measure)
    check_maps(matcher, scene, image_mask=np.zeros(scene.shape))
    assert len(check_places(matcher, scene, image_mask=np.zeros(scene.shape))) == 0


@pytest.mark.parametrize("measure", ["nuv", "mi", "auto"])
@pytest.mark.parametrize(
    "region",
    [(0, 0, 90, 120), (20, 30, 50, 60), (-15, -9, 70, 200), (70, 100, 99, 99), (40, 60, 9, 11)],
)
def test_regions(measure, region, scene):
    matcher = Matcher(cut(scene), measure)
    check_maps(matcher, scene, region=region)
    check_places(matcher, scene, region=region, max_matches=4, subpixel=True)
    if measure != "auto":
        check_places(matcher, scene, region=region, false_alarms=np.inf, max_matches=2)


@pytest.mark.parametrize("region", [(500, 500, 20, 20), (85, 0, 20, 20), (0, -15, 20, 20)])
def test_what_is_left_of_a_region_may_be_too_little(region, scene):
    matcher = Matcher(cut(scene))
    assert out_of_core.score_map(lazily(scene), matcher, region=region).size == 0
    assert len(check_places(matcher, scene, region=region, max_matches=3)) == 0


@pytest.mark.parametrize("chunks", [(1, 1), (1, 120), (90, 1), (90, 120), (7, 13), (89, 119)])
def test_chunks_of_any_size(chunks, scene):
    image = scene[:40, :50] if chunks == (1, 1) else scene
    matcher = Matcher(image[20:31, 30:37].copy())
    check_maps(matcher, image, chunks)
    check_places(matcher, image, chunks, max_matches=5)


def test_chunks_of_unlike_sizes(scene):
    matcher = Matcher(cut(scene))
    lazy = da.from_array(scene, chunks=((1, 60, 4, 25), (100, 3, 17)))
    assert_array_equal(out_of_core.score_map(lazy, matcher), matcher.score_map(scene))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 1), (12, 15), (90, 15), (12, 120)])
def test_images_as_small_as_the_template(shape, scene):
    image = scene[: shape[0], : shape[1]]
    template = image[: max(shape[0] // 2, 1), : max(shape[1] // 2, 1)]
    if template.size > 1:
        for part in (template, image):
            matcher = Matcher(part, "ncc")
            check_maps(matcher, image)
            check_places(matcher, image, max_matches=3)
    check_maps(Matcher(image[:1, :1], "ssd"), image)


# Ties, plateaus, seams.


def tiled(rng, kind):
    """Images of few values, in which places score alike across all seams."""
    tile = rng.integers(0, 256, (15, 20)).astype(np.uint8)
    image = np.tile(tile, (6, 6))
    match kind:
        case "inverted":
            image[:, 60:] = 255 - image[:, 60:]
        case "nearly":
            image[45:] = np.rint(image[45:] * 0.5)
        case "stripes":
            image[:] = np.arange(120)[None] // 3 % 5 * 40
        case "few":
            image = rng.integers(0, 2, (90, 120)).astype(np.uint8)
    return image


@pytest.mark.parametrize("kind", ["repeated", "inverted", "nearly", "stripes", "few"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_matches": 1, "min_distance": 0},
        {"max_matches": 9},
        {"threshold": 0.5},
        {"threshold": np.inf, "min_distance": 0},
        {"threshold": np.inf, "min_distance": 33.3},
        {"threshold": np.inf, "min_distance": 1000},
        {"threshold": 0.9, "max_overlap": 0},
        {"threshold": 0.9, "max_overlap": 1},
        {"max_matches": 40, "max_overlap": 0.5},
        {"threshold": 0},
    ],
    ids=str,
)
def test_ties_are_broken_as_in_memory(kind, options, rng):
    image = tiled(rng, kind)
    check_places(Matcher(cut(image, 32, 43, 8, 10)), image, **options)


def test_scores_that_overflow_a_band_of_candidates(rng):
    """More candidates than a band has room for at first."""
    image = rng.integers(0, 256, (90, 120)).astype(np.uint8)
    matcher = Matcher(cut(image, 3, 4, 2, 3), "ncc")
    found = check_places(matcher, image, threshold=np.inf, max_overlap=1)
    assert len(found) > 500


# False alarms, several templates.


def test_false_alarms_are_those_of_the_whole(scene):
    matcher = Matcher(cut(scene))
    for options in ({"false_alarms": 1}, {"false_alarms": np.inf, "max_matches": 5}):
        found = check_places(matcher, scene, **options)
        assert found[0].false_alarms < 1e-3
    null = matcher.calibrate(scene)
    check_places(matcher, scene, null=null, false_alarms=1)
    check_places(matcher, scene, null=null, max_matches=3)


def test_a_template_that_equals_its_mirror_images_is_warned_of_as_in_memory(scene):
    half = scene[:6, :6].astype(int)
    template = (half + half[::-1] + half[:, ::-1] + half[::-1, ::-1]) // 4
    check_places(Matcher(template.astype(np.uint8)), scene, false_alarms=np.inf, max_matches=3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_matches": 4},
        {"max_per_name": 2},
        {"false_alarms": 1},
        {"threshold": 0.6, "min_distance": 5},
        {"max_matches": 3, "subpixel": "precise"},
    ],
    ids=str,
)
@pytest.mark.parametrize("measure", ["nuv", "ncc", "auto"])
def test_several_templates_compete_as_in_memory(options, measure, scene):
    search = Search({"a": cut(scene), "b": cut(scene, 10, 10), "c": cut(scene, 41, 61)}, measure)
    check_places(search, scene, **options)


def test_an_option_of_the_other_seeker_is_refused(scene):
    lazy, matcher = lazily(scene), Matcher(cut(scene))
    with pytest.raises(TypeError, match="max_per_name is an option of Search"):
        out_of_core.locate(lazy, matcher, max_per_name=1)


def test_what_chance_shows_may_be_known(scene):
    search = Search({"one": cut(scene), "other": cut(scene, 41, 61)})
    options = {"null": search.calibrate(scene), "max_matches": 3}
    assert out_of_core.locate(lazily(scene), search, **options) == search.locate(scene, **options)


# Measures with conditions, and of a user's own.


@pytest.mark.parametrize(
    "measure",
    [
        NUV(polarity="decreasing"), NUV(gain=(0.5, 1.5)), NCC(squared=True),
        Highest("nuv", WindowToPattern()), MI(value_range=(0, 300)), NUV(bins=3),
    ],
    ids=name_of_measure,
)  # fmt: skip
def test_conditions(measure, scene):
    scene[10:30, 70:90] = 255 - scene[40:60, 60:80]
    matcher = Matcher(cut(scene), measure)
    check_maps(matcher, scene)
    check_places(matcher, scene, max_matches=3)


@dataclass(frozen=True)
class MeanDifference:
    """Mean difference over the usual range of the image: one that blocks do not have."""

    def prepare(self, template):
        return Differences(template)


class Differences:
    bins = ()

    def __init__(self, template):
        self._template = template

    def fill(self, image, out, n_threads):
        low, high = image.usual_range
        (pixels,), (greys,) = image.planes.astype(float), self._template.greys
        windows = np.lib.stride_tricks.sliding_window_view(pixels, greys.shape)
        out[:] = abs(windows - greys).mean((2, 3)) / (high - low)


def test_a_measure_of_ones_own_gets_the_range_of_the_whole(scene):
    image = scene.astype(np.uint16)
    image[5:9, 5:9] = 700
    matcher = Matcher(cut(image), MeanDifference())
    check_maps(matcher, image)
    check_places(matcher, image, max_matches=3)


@pytest.mark.parametrize("fill_value", [1.0, 0.5, np.inf, np.nan])
@pytest.mark.parametrize("measure", ["nuv", "auto"])
def test_fill_values(fill_value, measure, scene):
    scene[20:40, 20:50] = 7
    matcher = Matcher(cut(scene), measure)
    found = out_of_core.score_map(lazily(scene), matcher, fill_value=fill_value)
    assert_array_equal(found, matcher.score_map(scene, fill_value=fill_value))


def test_maps_are_of_the_matchers_type(scene):
    check_maps(Matcher(cut(scene), dtype=np.float64), scene)


def test_maps_can_be_sliced_before_they_are_made(scene):
    matcher = Matcher(cut(scene))
    lazy = out_of_core.score_map(lazily(scene), matcher)
    part = lazy[30:50, 10:80]
    assert_array_equal(part, matcher.score_map(scene)[30:50, 10:80])


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_schedulers_of_one_process(scheduler, scene):
    matcher = Matcher(cut(scene), n_threads=2)
    with dask.config.set(scheduler=scheduler):
        check_maps(matcher, scene)
        check_places(matcher, scene, max_matches=5, subpixel=True)


# Bad input.


def test_bad_input_is_refused_before_any_pixel_is_read(scene):
    def read(block):
        raise AssertionError

    lazy = da.map_blocks(read, lazily(scene), dtype=np.uint8, meta=np.empty((0, 0), np.uint8))
    matcher = Matcher(cut(scene))
    colour = Matcher(np.dstack([cut(scene)] * 3))
    unknown = lazy[:, 0][lazy[:, 0] > 3][:, None]
    for image, seeker, options, error, says in [
        (lazy, colour, {}, ValueError, "the image is grey"),
        (lazy[:5], matcher, {}, ValueError, "larger than the image of shape"),
        (lazy, matcher, {"region": (0, 0, 5, 50)}, ValueError, "larger than the region"),
        (lazy, matcher, {"region": 3}, TypeError, "region"),
        (lazy, matcher, {"image_mask": np.ones((3, 3))}, ValueError, "image_mask has shape"),
        (unknown, matcher, {}, ValueError, "unknown chunk sizes"),
        (lazy.astype(object), matcher, {}, TypeError, "of type object"),
        (lazy.astype(complex), matcher, {}, TypeError, "of type complex"),
        (lazy.astype("M8[s]"), matcher, {}, TypeError, "datetime"),
        (lazy[0], matcher, {}, ValueError, "has shape"),
        (lazy[:0], matcher, {}, ValueError, "must not be empty"),
        (da.stack([lazy] * 5, axis=2), matcher, {}, ValueError, "has shape"),
        (None, matcher, {}, TypeError, "image is None"),
        (lazy, "nuv", {}, TypeError, "must be a Matcher"),
    ]:
        for call in (out_of_core.score_map, out_of_core.locate):
            with pytest.raises(error, match=says):
                call(image, seeker, **options)
    with pytest.raises(TypeError, match="fill_value"):
        out_of_core.score_map(lazy, matcher, fill_value="a")
    for options in ({"threshold": "a"}, {"max_matches": 0}, {"subpixel": "some"}):
        with pytest.raises((TypeError, ValueError)):
            out_of_core.locate(lazy, matcher, **options)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_empty_maps_are_of_their_type_too(kind, scene):
    matcher = Matcher(cut(scene), dtype=kind)
    found = out_of_core.score_map(lazily(scene), matcher, region=(500, 500, 40, 40))
    assert (found.shape, found.dtype, found.compute().dtype) == ((0, 0), kind, kind)


def test_masks_with_nan_are_refused(scene):
    mask = np.ones(scene.shape)
    mask[70, 100] = np.nan
    with pytest.raises((ValueError, out_of_core.BlockError), match="holds NaN"):
        out_of_core.locate(lazily(scene), Matcher(cut(scene)), image_mask=mask)


def test_a_block_that_raises_is_named(scene):
    def read(block, block_info=None):
        if block_info[0]["chunk-location"] == (2, 1):
            raise OSError("the disk is gone")
        return block

    for kind in (np.uint8, np.uint16):  # of which the latter is surveyed first
        lazy = lazily(scene.astype(kind)).map_blocks(read, dtype=kind)
        with pytest.raises(out_of_core.BlockError, match=r"rows \d+ to 9?\d.*the disk is gone"):
            out_of_core.locate(lazy, Matcher(cut(scene).astype(kind)))


def test_blocks_are_of_the_size_they_are_said_to_be(monkeypatch):
    """Along chunks of the image where that fits, and never smaller than some templates."""
    monkeypatch.setattr(blocks, "WINDOWS_HELD", 100 * 100)
    monkeypatch.setattr(blocks, "_WINDOWS", 8)
    assert blocks._cuts(1000, 1000, 5, [50] * 20) == [*range(0, 1000, 100), 1000]
    assert blocks._cuts(1000, 1000, 5, [1000]) == [*range(0, 1000, 100), 1000]
    assert blocks._cuts(1000, 1000, 5, [150] * 7) == [*range(0, 1000, 150), 1000]
    assert blocks._cuts(1000, 1000, 50, [1]) == [0, 400, 800, 1000]
    assert blocks._cuts(1000, 10, 1, [1000]) == [0, 1000]


def test_where_auto_cannot_decide_ncc_orders_blocks_too():
    steps = np.random.default_rng(2).integers(0, 6, (17, 20))
    image = np.kron(steps, np.ones((3, 3))).astype(np.uint8) * 40
    template = image[6:11, 9:17].copy()
    image[33:38, 36:44] = 240 - template
    matcher = Matcher(template, "auto")
    asked = {"false_alarms": np.inf, "max_matches": 4}
    with warnings.catch_warnings(action="ignore"):  # it says that it cannot
        assert out_of_core.locate(image, matcher, **asked) == matcher.locate(image, **asked)
