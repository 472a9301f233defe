"""What a matcher accepts, refuses and promises."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import noise_scene

import nuvmatch
from nuvmatch import MI, NUV, Matcher, WindowToPattern, score_map, tones

IMAGE = np.random.default_rng(1).integers(0, 256, (30, 34)).astype(np.uint8)
TEMPLATE = IMAGE[10:17, 12:20]


def alpha(grey, opaque):
    return np.dstack([*np.atleast_3d(grey).transpose(2, 0, 1), opaque])


@pytest.mark.parametrize(
    ("image", "template"),
    [
        (IMAGE[..., None], TEMPLATE),
        (IMAGE, TEMPLATE[..., None]),
        (IMAGE.tolist(), TEMPLATE.tolist()),
        (alpha(IMAGE, np.full(IMAGE.shape, 255, np.uint8)), TEMPLATE),
        (IMAGE, alpha(TEMPLATE, np.full(TEMPLATE.shape, 255, np.uint8))),
    ],
)
def test_grey_comes_in_many_shapes(image, template):
    measure = NUV(binning="kmeans")  # tone curves go by the type's range, and a list has none
    expected = nuvmatch.score_map(IMAGE, TEMPLATE, measure)
    assert_array_equal(nuvmatch.score_map(image, template, measure), expected)


@pytest.mark.parametrize("colours", [1, 3])
def test_alpha_of_the_template_is_its_mask_and_alpha_of_the_image_masks_it(colours, rng):
    image = rng.integers(0, 256, (20, 22, colours)).astype(np.uint8)
    template, mask = image[4:9, 5:11], rng.random((5, 6)) < 0.7
    also, image_mask = rng.random((5, 6)) < 0.8, rng.random((20, 22)) < 0.97
    by_masks = nuvmatch.score_map(image, template, mask=mask & also, image_mask=image_mask)
    by_alpha = nuvmatch.score_map(
        alpha(image, 255 * image_mask.astype(np.uint8)),
        alpha(template, 255 * mask.astype(np.uint8)),
        mask=also,
    )
    assert_array_equal(by_alpha, by_masks)


# Bins.


def test_bins_tell_how_the_template_is_cut():
    mask = np.ones(TEMPLATE.shape)
    mask[2] = 0
    matcher = Matcher(TEMPLATE, NUV(bins=5), mask=mask)
    (cut,) = matcher.bins
    assert matcher.shape == cut.labels.shape == TEMPLATE.shape
    assert (cut.labels[2] == -1).all()
    assert_array_equal(np.bincount(cut.labels[mask > 0]), cut.counts)
    assert_array_equal(np.histogram(TEMPLATE[mask > 0], cut.edges)[0], cut.counts)
    assert matcher.measure == NUV(bins=5)


@pytest.mark.parametrize("measure", ["ncc", "ncc2", "ssd", WindowToPattern()], ids=str)
def test_measures_without_bins_of_the_template_show_none(measure):
    assert Matcher(TEMPLATE, measure).bins == ()


def test_colour_has_bins_for_each_channel(rng):
    template = rng.integers(0, 256, (5, 6, 3)).astype(np.uint8)
    template[..., 2] = 4
    matcher = Matcher(template, NUV(bins=4))
    assert matcher.shape == (5, 6)
    assert [cut.labels.shape for cut in matcher.bins] == [(5, 6)] * 3
    assert [len(cut.edges) for cut in matcher.bins] == [5, 5, 2]
    assert [len(cut.counts) for cut in matcher.bins] == [4, 4, 1]


def test_the_default_number_of_bins_yields_to_small_templates():
    for pixels, levels, bins in [(64, 64, 8), (64, 5, 5), (9, 9, 4), (3, 3, 2)]:
        template = np.arange(pixels).reshape(1, -1) % levels
        assert Matcher(template).bins[0].counts.size == bins


def number_of_bins(bins, template=TEMPLATE):
    return Matcher(template, NUV(bins=bins)).bins[0].counts.size


def test_bins_take_numbers_rules_and_edges():
    assert number_of_bins(np.int64(3)) == 3
    assert number_of_bins("sturges") == nuvmatch.binning.number_of_bins(TEMPLATE, "sturges")
    assert number_of_bins([0, 100, 255]) == 2
    assert number_of_bins(np.array([-5.0, 100, 300, 400])) == 2  # the last bin is empty
    assert number_of_bins(8, np.arange(99).reshape(9, 11) % 3) == 3


def test_edges_cut_more_levels_than_binners_tell_apart(rng):
    template, edges = rng.random((100, 100)), [0, 0.2, 0.5, 1]
    labels = Matcher(template, NUV(bins=edges)).bins[0].labels
    assert_array_equal(labels, np.digitize(template, edges) - 1)


@pytest.mark.parametrize("rule", ["scott", "fd"])
def test_rules_by_width_know_whole_numbers(rule, rng):
    template = rng.integers(0, 4, (100, 100)).astype(np.uint8)
    expected = nuvmatch.binning.number_of_bins(template, rule)
    assert expected == 3  # from 0 to 3, none narrower than 1
    assert number_of_bins(rule, template) == expected


def test_levels_of_tones_are_those_of_the_range_that_is_given(rng):
    """It wins over the type: bins for a gamma of 16 bits are those of the same in 8."""
    grey = rng.integers(0, 40, (12, 13))
    measure = NUV(tones=nuvmatch.tones.Sigmoid(), levels_range=(0, 40))
    cuts = [Matcher(grey.astype(kind), measure).bins[0] for kind in (np.uint8, np.uint16, float)]
    for cut in cuts:
        assert_array_equal(cut.labels, cuts[0].labels)
    free = Matcher(grey.astype(np.uint16), NUV(tones=nuvmatch.tones.Sigmoid())).bins[0]
    assert (free.labels != cuts[0].labels).any()


def test_too_many_bins_warn_and_as_many_as_pixels_are_refused():
    template = np.arange(20).reshape(4, 5)
    with pytest.warns(UserWarning, match=r"12 bins for 20 pixels noise scores 0.42"):
        Matcher(template, NUV(bins=12))
    with pytest.warns(UserWarning, match="12 bins") as caught:
        nuvmatch.score_map(IMAGE, template, NUV(bins=12))
    assert caught[0].filename == __file__  # it names the caller's line, not one of ours
    for bins in (20, 99, np.arange(21) - 0.5):
        with pytest.raises(ValueError, match="20 bins for 20 pixels"):
            Matcher(template, NUV(bins=bins))


# What is refused.


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"template": None}, TypeError, "template is None"),
        ({"image": None}, TypeError, "image is None"),
        ({"image": IMAGE.astype(complex)}, TypeError, "image is of type complex128"),
        ({"image": IMAGE.astype(object)}, TypeError, "image is of type object"),
        ({"image": IMAGE.astype(str)}, TypeError, "image is of type <U3"),
        ({"image": [[1, 2], [3]]}, TypeError, "image is no array"),
        ({"image": np.ma.masked_less(IMAGE, 9)}, TypeError, "image is a masked array"),
        ({"image": IMAGE[0]}, ValueError, r"image has shape \(34,\)"),
        ({"image": IMAGE[:0]}, ValueError, r"\(0, 34\); it must not be empty"),
        ({"template": np.zeros((3, 0))}, ValueError, "empty"),
        ({"image": np.zeros((9, 9, 5))}, ValueError, r"\(9, 9, 5\)"),
        (
            {"image": np.dstack([IMAGE] * 3)},
            ValueError,
            r"image is colour, \(30, 34\).*grey, \(7, 8\)",
        ),
        ({"template": np.dstack([TEMPLATE] * 3)}, ValueError, "image is grey.*template colour"),
        ({"template": np.eye(31)}, ValueError, r"\(31, 31\) is larger.*\(30, 34\)"),
        ({"template": np.full((4, 4), 7)}, ValueError, r"\(4, 4\) is flat"),
        ({"template": np.eye(1)}, ValueError, "is flat"),
        ({"template": np.eye(2)[:1]}, ValueError, "2 pixels is left with a single bin"),
        ({"template": np.full((4, 4), np.nan)}, ValueError, "16 NaN or infinite"),
        ({"mask": np.zeros((7, 8))}, ValueError, "zero everywhere"),
        ({"mask": np.ones((8, 7))}, ValueError, r"mask has shape \(8, 7\).*\(7, 8\)"),
        ({"mask": np.full((7, 8), np.nan)}, ValueError, "mask holds NaN"),
        ({"image_mask": np.ones((3, 3))}, ValueError, r"image_mask has shape \(3, 3\).*\(30, 34\)"),
        ({"n_threads": 0}, ValueError, "n_threads is 0"),
        ({"n_threads": 1.5}, TypeError, r"n_threads is 1\.5"),
        ({"threshold": np.nan}, ValueError, "threshold is NaN"),
        ({"threshold": "x"}, TypeError, "threshold"),
        ({"max_matches": 0}, ValueError, "max_matches is 0"),
        ({"max_overlap": 2}, ValueError, "max_overlap is 2"),
        ({"image": "scene.png"}, TypeError, "read_image"),
        ({"region": (0, 0, 5, 9)}, ValueError, r"\(7, 8\) is larger than the region"),
        ({"region": (-9, 0, 6, 9)}, ValueError, r"\(7, 8\) is larger than the region.*\(6, 9\)"),
        ({"region": (0, 0, 0, 9)}, ValueError, "the region's height is 0"),
        ({"region": (0, 0, 5)}, TypeError, "the region is"),
        ({"region": 9}, TypeError, "the region is 9"),
        ({"region": (0.5, 0, 9, 9)}, TypeError, r"the region's row is 0\.5"),
        ({"roi": (0, 0, 9, 9)}, TypeError, "roi"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    arguments = {"image": IMAGE, "template": TEMPLATE, **change}
    with pytest.raises(error, match=message):
        nuvmatch.locate(**arguments)


@pytest.mark.parametrize(
    ("dtype", "error", "message"),
    [(np.int32, ValueError, "dtype is int32"), ("short float", TypeError, "'short float'")],
)
def test_maps_are_of_floats(dtype, error, message):
    with pytest.raises(error, match=message):
        Matcher(TEMPLATE, dtype=dtype)


# Maps.


@pytest.mark.parametrize(
    ("image_type", "asked", "given_type"),
    [
        (np.uint8, None, np.float32),
        (np.int64, None, np.float32),
        (np.float32, None, np.float32),
        (np.float64, None, np.float64),
        (np.uint8, np.float64, np.float64),
        (np.float64, "float32", np.float32),
    ],
)
def test_the_type_of_the_map(image_type, asked, given_type):
    assert nuvmatch.score_map(IMAGE.astype(image_type), TEMPLATE, dtype=asked).dtype == given_type


@pytest.mark.parametrize("fill_value", [1, 0.25, -3.0, np.nan, np.inf, -np.inf, np.float32(7)])
def test_no_evidence_is_what_one_likes(fill_value, rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.uint8)
    matcher = Matcher(template)
    flat = np.isnan(matcher.score_map(image, fill_value=np.nan))
    assert flat.any()
    assert not flat.all()
    scores = matcher.score_map(image, fill_value=fill_value)
    assert_array_equal(scores[flat], np.float32(fill_value))
    assert_array_equal(scores[~flat], matcher.score_map(image)[~flat])
    out = np.empty(scores.shape)
    exact = nuvmatch.score_map(image, template, fill_value=fill_value, dtype=float)
    assert_array_equal(matcher.score_map(image, fill_value=fill_value, out=out), exact)


@pytest.mark.parametrize("fill_value", [None, "nan", True, 1j, [1.0], np.array([1.0])])
def test_no_evidence_is_a_number(fill_value):
    with pytest.raises(TypeError, match="fill_value"):
        Matcher(TEMPLATE).score_map(IMAGE, fill_value=fill_value)


REGIONS = {
    (0, 0, 30, 34): np.s_[:, :],
    (8, 3, 20, 28): np.s_[8:22, 3:24],
    (10, 12, 7, 8): np.s_[10:11, 12:13],
    (23, 20, 7, 14): np.s_[23:, 20:],
    (-5, -4, 20, 30): np.s_[:9, :19],
    (15, 20, 40, 90): np.s_[15:, 20:],
    (-99, -99, 999, 999): np.s_[:, :],
    (25, 3, 20, 28): np.s_[:0, 3:24],
    (3, -5, 20, 12): np.s_[3:17, :0],
    (30, 34, 7, 8): np.s_[:0, :0],
    (500, -600, 9, 9): np.s_[:0, :0],
}


@pytest.mark.parametrize("measure", ["nuv", "mi", "ssd"])
@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_a_region_is_a_part_of_the_whole_less_what_sticks_out(measure, region):
    """Also where greys are binned by the range of the image given."""
    image = IMAGE.astype(np.int32) * 7
    matcher = Matcher(TEMPLATE, measure)
    whole = matcher.score_map(image)
    expected = whole[REGIONS[region]]
    part = matcher.score_map(image, region=region)
    assert_array_equal(part, expected)
    assert part.dtype == whole.dtype
    found = matcher.locate(image, region=region, threshold=np.inf)
    assert (len(found) == 0) == (expected.size == 0)
    for match in found:
        assert match.score == whole[match.row, match.col]
    if expected.size:
        row, col = np.unravel_index(expected.argmin(), expected.shape)
        assert (found[0].row, found[0].col) == (row + max(region[0], 0), col + max(region[1], 0))
        out = np.empty(expected.shape, whole.dtype)
        assert matcher.score_map(image, region=region, out=out) is out
        assert_array_equal(out, expected)


def test_a_match_is_found_again_in_the_region_around_it():
    best = nuvmatch.locate(IMAGE, TEMPLATE)[0]
    for margin in (0, 1, 12, 999):
        assert nuvmatch.locate(IMAGE, TEMPLATE, region=best.region_around(margin))[0] == best
    assert nuvmatch.score_map(IMAGE, TEMPLATE, region=best.region).shape == (1, 1)


def test_non_finite_and_masked_out_pixels_add_up_also_in_a_region(rng):
    image, image_mask = rng.random((20, 22)), np.ones((20, 22))
    image[8, 8], image_mask[12, 14] = np.nan, 0
    matcher = Matcher(image[2:6, 2:7])
    evidence = ~np.isnan(matcher.score_map(image, image_mask=image_mask, fill_value=np.nan))
    for row, col in [(8, 8), (12, 14)]:
        assert not evidence[row - 3 : row + 1, col - 4 : col + 1].any()
    assert np.count_nonzero(~evidence) == 40
    part = matcher.score_map(image, image_mask=image_mask, region=(5, 4, 12, 14), fill_value=np.nan)
    assert_array_equal(np.isnan(part), ~evidence[5:14, 4:14])


def test_a_map_may_be_put_over_its_image(rng):
    image = rng.random((100, 100)).astype(np.float32)
    matcher = Matcher(image[5:14, 6:18])
    expected = matcher.score_map(image)
    assert_array_equal(matcher.score_map(image, out=image[:92, :89]), expected)


def test_maps_of_one_matcher_are_independent(rng):
    image = rng.integers(0, 256, (30, 40)).astype(np.uint8)
    matcher = Matcher(image[5:12, 6:15])
    first = matcher.score_map(image)
    kept = first.copy()
    matcher.score_map(image[::-1])
    assert_array_equal(first, kept)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        ([[0.0]], TypeError, "list"),
        (np.ma.zeros((24, 32)), TypeError, "MaskedArray"),
        (np.empty((24, 31), np.float32), ValueError, r"\(24, 31\).*\(24, 32\)"),
        (np.empty((24, 32), np.float16), ValueError, "float16"),
        (np.empty((24, 32), ">f4"), ValueError, ">f4"),
        (np.empty((24, 32), np.float32), ValueError, "float64"),
        (np.broadcast_to(np.float64(0), (24, 32)), ValueError, "read-only"),
    ],
)
def test_an_unsuitable_place_for_a_map_is_refused(out, error, words, rng):
    image = rng.integers(0, 256, (30, 40)).astype(np.uint8)
    matcher = Matcher(image[5:12, 6:15], dtype=np.float64)
    with pytest.raises(error, match=words):
        matcher.score_map(image, out=out)


# Tone curves and gains.


def test_the_tone_curve_tells_what_the_image_shows_for_each_level():
    template = np.arange(64).reshape(8, 8) % 4 * 85
    image = np.full((20, 20), 50.0)
    image[3:11, 6:14] = np.array([200, 10, 30, 250])[template // 85]
    match = nuvmatch.locate(image, template)[0]
    (curve,) = match.tone_curves
    assert curve.levels == (0, 85, 170, 255)
    assert curve.values == (200, 10, 30, 250)
    assert_array_equal(curve(template), image[3:11, 6:14])
    slope = np.polyfit(template.ravel(), image[3:11, 6:14].ravel(), 1)[0]
    assert match.gain == pytest.approx(slope)
    assert nuvmatch.locate(image, template, "ncc")[0].tone_curves == ()


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.int64])
def test_tone_curves_are_known_at_any_place(kind, rng):
    image, template = noise_scene(rng, (15, 17), (5, 6), kind)
    mask = rng.random((5, 6)) < 0.8
    matcher = Matcher(template, NUV(bins=3), mask=mask)
    labels = matcher.bins[0].labels
    for row, col in [(0, 0), (7, 3), (10, 11)]:  # the first is flat
        (curve,) = matcher.tone_curve(image, row, np.int64(col))
        window = image[row : row + 5, col : col + 6].astype(float)
        assert_allclose(curve.levels, [template[labels == j].mean() for j in range(3)], rtol=1e-6)
        assert_allclose(curve.values, [window[labels == j].mean() for j in range(3)], rtol=1e-6)
    found = matcher.locate(image)[0]
    assert matcher.tone_curve(image, found.row, found.col) == found.tone_curves
    assert Matcher(template, "ssd").tone_curve(image, 0, 0) == ()
    assert Matcher(template, MI()).tone_curve(image, 0, 0) == ()


def test_colour_has_a_tone_curve_for_each_channel(rng):
    image, template = rng.random((12, 13, 3)), rng.integers(0, 256, (5, 6, 3)).astype(np.uint8)
    image[2:7, 4:10] = template * (0.1, -0.2, 0.3) + 60
    match = nuvmatch.locate(image, template, NUV(bins=4))[0]
    assert (match.row, match.col) == (2, 4)
    assert len(match.tone_curves) == 3
    for curve, gain in zip(match.tone_curves, (0.1, -0.2, 0.3), strict=True):
        assert_allclose(curve.values, gain * np.array(curve.levels) + 60)


@pytest.mark.parametrize(
    ("image", "row", "col", "error", "message"),
    [
        (IMAGE, 24, 0, ValueError, r"\(24, 0\).*\(7, 8\) leaves the image.*\(30, 34\)"),
        (IMAGE, 0, 27, ValueError, r"\(0, 27\)"),
        (IMAGE, 99, 99, ValueError, r"\(99, 99\)"),
        (IMAGE, -1, 0, ValueError, "row is -1"),
        (IMAGE, 0, -1, ValueError, "col is -1"),
        (IMAGE, 0.5, 0, TypeError, r"row is 0\.5"),
        (IMAGE, 0, None, TypeError, "col is None"),
        (np.where(IMAGE == 42, np.nan, IMAGE), 2, 3, ValueError, "holds NaN"),
        (np.where(IMAGE == 42, -np.inf, IMAGE), 2, 3, ValueError, "infinity"),
        (np.dstack([IMAGE] * 3), 0, 0, ValueError, "image is colour"),
        (IMAGE[:5], 0, 0, ValueError, "is larger"),
        (None, 0, 0, TypeError, "image is None"),
    ],
)
def test_there_is_no_tone_curve_where_there_is_no_window(image, row, col, error, message):
    with pytest.raises(error, match=message):
        Matcher(TEMPLATE).tone_curve(image, row, col)


def test_a_pixel_that_does_not_count_may_be_anything():
    image, mask = IMAGE.astype(float), np.ones(TEMPLATE.shape)
    image[5, 5] = np.nan
    mask[3, 2] = 0
    matcher = Matcher(TEMPLATE, mask=mask)
    (curve,) = matcher.tone_curve(image, 2, 3)
    assert np.isfinite(curve.values).all()
    assert not np.isnan(matcher.score_map(image, fill_value=np.nan)[2, 3])


# Copies.


@pytest.mark.compiled
def test_a_matcher_can_be_pickled_and_used_again(rng):
    template = rng.integers(0, 256, (64, 64)).astype(np.uint8)
    image = rng.integers(0, 256, (70, 75)).astype(np.uint8)
    mask = rng.random((64, 64)) < 0.5
    for options, most in (({}, 6000), ({"mask": mask}, 12_000), ({"dtype": float}, 6000)):
        matcher = Matcher(template, n_threads=1, **options)
        expected = matcher.score_map(image)
        written = pickle.dumps(matcher)  # with all that a map has left behind
        assert len(written) <= most
        again = pickle.loads(written)
        assert_array_equal(again.score_map(image), expected)
        assert repr(again) == repr(matcher) == "<Matcher for a template of 64 x 64 by nuv>"
        assert again.shape == matcher.shape
        for a, b in zip(again.bins, matcher.bins, strict=True):
            assert_array_equal(a.labels, b.labels)
            assert_array_equal(a.edges, b.edges)


def test_a_matcher_that_warned_is_read_in_silence(recwarn):
    with pytest.warns(UserWarning, match="12 bins"):
        matcher = Matcher(np.arange(20).reshape(4, 5), NUV(bins=12))
    again = pickle.loads(pickle.dumps(matcher))
    assert not recwarn
    assert again.measure == NUV(bins=12)


def test_a_colour_template_of_floats_and_alpha_is_pickled_as_it_was(rng):
    template = rng.random((5, 6, 4)).astype(np.float32)
    template[..., 3] = rng.random((5, 6)) < 0.8
    template[..., 3].flat[:2] = 1, 0
    image = rng.random((12, 13, 3)).astype(np.float32)
    matcher = Matcher(template, MI(bins=3))
    expected = matcher.score_map(image)
    assert_array_equal(pickle.loads(pickle.dumps(matcher)).score_map(image), expected)


def test_what_does_not_count_may_be_overwritten(rng):
    """Where the mask is zero neither bins nor scores see the template."""
    image, template = noise_scene(rng, (14, 15), (5, 6), np.float64)
    mask = rng.random((5, 6)) < 0.8
    expected = Matcher(template, mask=mask).score_map(image)
    template[~mask] = np.nan
    matcher = Matcher(template, mask=mask)
    assert_array_equal(matcher.score_map(image), expected)
    nuv = naive.nuv_map(image, matcher.bins[0].labels)
    assert_allclose(expected, nuv, atol=1e-9)


@pytest.mark.compiled
def test_reading_matchers_in_threads_silences_no_others(rng):
    template = rng.permutation(60).reshape(6, 10)
    with pytest.warns(UserWarning, match="40 bins"):
        kept = pickle.dumps(Matcher(template, NUV(bins=40)))
    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):
            pool.submit(pickle.loads, kept)
    with pytest.warns(UserWarning, match="40 bins"):
        Matcher(template, NUV(bins=40))


def test_what_chance_shows_is_of_one_template_and_measure_to_the_last_digit():
    image = np.random.default_rng(0).integers(0, 256, (60, 60), dtype=np.uint8)
    template = image[10:24, 10:24].copy()
    edges = tuple(range(0, 250, 4))  # names are cut before they differ
    one, other = (nuvmatch.NUV(bins=(*edges[:-1], last, 255)) for last in (248, 249))
    null = Matcher(template, one).calibrate(image)
    with pytest.raises(ValueError, match="null is of"):
        Matcher(template, other).locate(image, null=null)
    base = np.uint64(2**62)
    high = Matcher(template + base, "ssd").calibrate(image + base)
    with pytest.raises(ValueError, match="null is of another template"):
        Matcher(template + 2 * base, "ssd").locate(image + 2 * base, null=high)


def test_what_chance_shows_is_of_one_range_of_greys_and_of_the_tones_learnt():
    """Which of these are black and white decides where a template is cut."""
    image = np.random.default_rng(0).integers(0, 256, (60, 60), dtype=np.uint8)
    template = image[10:24, 10:24] // 2
    null = Matcher(template).calibrate(image)
    assert np.any(score_map(image, template) != score_map(image, template.astype(float)))
    with pytest.raises(
        ValueError, match="null is of another template of this shape, of another type"
    ):
        Matcher(template.astype(float)).locate(image, null=null)
    Matcher(template.astype(np.uint16)).locate(image, null=null)
    pairs = [tones.FromPairs([(image, shown)]) for shown in (image, 255 - image // 2)]
    one, other = (Matcher(template, nuvmatch.NUV(tones=of)) for of in pairs)
    with pytest.raises(ValueError, match="null is of"):
        other.locate(image, null=one.calibrate(image))
