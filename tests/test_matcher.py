"""What the public functions accept, refuse and promise."""

import pickle

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import nuvmatch

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
        (alpha(IMAGE, np.full(IMAGE.shape, 9, np.uint8)), TEMPLATE),
        (IMAGE, alpha(TEMPLATE, np.full(TEMPLATE.shape, 9, np.uint8))),
    ],
)
def test_grey_comes_in_many_shapes(image, template):
    options = {"binning": "kmeans"}  # tone curves go by the type's range, and a list has none
    scores = nuvmatch.score_map(image, template, **options)
    assert_array_equal(scores, nuvmatch.score_map(IMAGE, TEMPLATE, **options))


@pytest.mark.parametrize("colours", [1, 3])
def test_alpha_of_the_template_is_its_mask_and_alpha_of_the_image_masks_it(colours, rng):
    image = rng.integers(0, 256, (20, 22, colours)).astype(np.uint8)
    template, mask = image[4:9, 5:11], rng.random((5, 6)) < 0.7
    also, image_mask = rng.random((5, 6)) < 0.8, rng.random((20, 22)) < 0.97
    by_masks = nuvmatch.score_map(image, template, mask=mask & also, image_mask=image_mask)
    by_alpha = nuvmatch.score_map(
        alpha(image, image_mask.astype(np.uint8)), alpha(template, mask.astype(np.uint8)), mask=also
    )
    assert_array_equal(by_alpha, by_masks)


def test_labels_edges_and_counts_describe_the_binning():
    mask = np.ones(TEMPLATE.shape)
    mask[2] = 0
    matcher = nuvmatch.Matcher(TEMPLATE, bins=5, mask=mask)
    assert matcher.labels.shape == TEMPLATE.shape
    assert (matcher.labels[2] == -1).all()
    assert_array_equal(np.bincount(matcher.labels[mask > 0]), matcher.counts)
    inside = TEMPLATE[mask > 0]
    assert_array_equal(np.histogram(inside, matcher.bin_edges)[0], matcher.counts)
    assert nuvmatch.Matcher(TEMPLATE, measure="ncc").labels is None


def test_colour_has_labels_edges_and_counts_for_each_channel(rng):
    template = rng.integers(0, 256, (5, 6, 3)).astype(np.uint8)
    template[..., 2] = 4
    matcher = nuvmatch.Matcher(template, bins=4)
    assert matcher.labels.shape == (5, 6, 3)
    assert [len(edges) for edges in matcher.bin_edges] == [5, 5, 2]
    assert [len(counts) for counts in matcher.counts] == [4, 4, 1]


def test_the_default_number_of_bins_yields_to_small_templates():
    for pixels, levels, bins in [(64, 64, 8), (64, 5, 5), (9, 9, 5), (3, 3, 2)]:
        template = np.arange(pixels).reshape(1, -1) % levels
        assert nuvmatch.Matcher(template).counts.size == bins


def test_bins_take_numbers_rules_and_edges():
    def bins(**options):
        return nuvmatch.Matcher(TEMPLATE, **options).counts.size

    assert bins(bins=np.int64(3)) == 3
    assert bins(bins="sturges") == nuvmatch.binning.number_of_bins(TEMPLATE, "sturges")
    assert bins(bins=[0, 100, 255]) == 2
    assert bins(bins=np.array([-5.0, 100, 300, 400])) == 2  # the last bin is empty
    assert nuvmatch.Matcher(np.arange(99).reshape(9, 11) % 3, bins=8).counts.size == 3


def test_edges_cut_more_levels_than_binners_tell_apart(rng):
    template, edges = rng.random((100, 100)), [0, 0.2, 0.5, 1]
    labels = nuvmatch.Matcher(template, bins=edges).labels
    assert_array_equal(labels, np.digitize(template, edges) - 1)


@pytest.mark.parametrize("rule", ["scott", "fd"])
def test_rules_by_width_know_whole_numbers(rule, rng):
    template = rng.integers(0, 4, (100, 100)).astype(np.uint8)
    expected = nuvmatch.binning.number_of_bins(template, rule)
    assert expected == np.histogram_bin_edges(template, rule).size - 1
    assert nuvmatch.Matcher(template, bins=rule).counts.size == expected


def test_too_many_bins_warn_and_as_many_as_pixels_are_refused():
    template = np.arange(20).reshape(4, 5)
    with pytest.warns(UserWarning, match=r"12 bins for 20 pixels noise scores 0.42"):
        nuvmatch.Matcher(template, bins=12)
    with pytest.warns(UserWarning, match="12 bins") as caught:
        nuvmatch.score_map(IMAGE, template, bins=12)
    assert caught[0].filename == __file__  # it names the caller's line, not one of ours
    for bins in (20, 99, np.arange(21) - 0.5):
        with pytest.raises(ValueError, match="20 bins for 20 pixels"):
            nuvmatch.Matcher(template, bins=bins)


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
        ({"measure": "sad"}, ValueError, "measure is 'sad'.*'nuv'"),
        ({"measure": 3}, TypeError, "measure is 3"),
        ({"binning": "magic"}, ValueError, "binning is 'magic'.*'kmeans'"),
        ({"direction": "up"}, ValueError, "direction is 'up'"),
        ({"tones": "gamma"}, TypeError, "tones is 'gamma'"),
        ({"bins": 1}, ValueError, "bins is 1; it must be at least 2"),
        ({"bins": 2.0}, TypeError, "bins is 2.0"),
        ({"bins": True}, TypeError, "bins is True"),
        ({"bins": "doane"}, ValueError, "'doane'"),
        ({"bins": [0, 10, 20]}, ValueError, "cover the template"),
        ({"bins": [0, 300]}, ValueError, "3 or more"),
        ({"bins": [0, 300, 200]}, ValueError, "ascending"),
        ({"bins": [-9, -8, 300]}, ValueError, "single bin"),
        ({"value_range": (3, 3)}, ValueError, "value_range"),
        ({"value_range": 3}, TypeError, "value_range"),
        ({"n_threads": 0}, ValueError, "n_threads is 0"),
        ({"n_threads": 1.5}, TypeError, "n_threads is 1.5"),
        ({"dtype": np.int32}, ValueError, "dtype is int32"),
        ({"dtype": "short float"}, TypeError, "dtype is 'short float'"),
        ({"threshold": np.nan}, ValueError, "threshold is NaN"),
        ({"image": "scene.png"}, TypeError, "read_image"),
        ({"roi": (0, 0, 31, 5)}, ValueError, r"region \(0, 0, 31, 5\) leaves"),
        ({"roi": (-1, 0, 9, 9)}, ValueError, "the region's row is -1"),
        ({"roi": (0, 0, 5, 9)}, ValueError, r"\(7, 8\) is larger than the region"),
        ({"roi": (0, 0, 5)}, TypeError, "the region is"),
        ({"threshold": "x"}, TypeError, "threshold"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    arguments = {"image": IMAGE, "template": TEMPLATE, **change}
    with pytest.raises(error, match=message):
        nuvmatch.locate(**arguments)


def test_mi_refuses_more_image_bins_than_labels_can_tell():
    with pytest.raises(ValueError, match="65536"):
        nuvmatch.Matcher(np.arange(99).reshape(9, 11) % 5, measure="mi", bins=10**6)


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


@pytest.mark.parametrize("measure", ["nuv", "mi", "ssd"])
def test_a_region_is_searched_as_part_of_the_whole(measure):
    """Also where greys are binned by the range of the image given."""
    image = IMAGE.astype(np.int32) * 7
    matcher = nuvmatch.Matcher(TEMPLATE, measure=measure)
    found = matcher.locate(image, roi=(8, 3, 20, 28), threshold=np.inf)
    scores = matcher.score_map(image)
    for match in found:
        assert 8 <= match.row <= 8 + 20 - 7
        assert 3 <= match.col <= 3 + 28 - 8
        assert match.score == scores[match.row, match.col]
    inside = scores[8:22, 3:24]
    assert (found[0].row - 8, found[0].col - 3) == np.unravel_index(inside.argmin(), inside.shape)


def test_value_range_sets_the_image_bins(rng):
    image = rng.integers(0, 200, (12, 13)).astype(np.int16)
    matcher = nuvmatch.Matcher(
        image[2:7, 3:8], measure="mi", bins=4, value_range=(50, 120), dtype=np.float64
    )
    expected = naive.mutual_information_map(image, matcher.labels, 4, (50, 120), "template")
    np.testing.assert_allclose(matcher.score_map(image), expected, atol=1e-12)


def test_the_tone_curve_tells_what_the_image_shows_for_each_level():
    template = np.arange(64).reshape(8, 8) % 4 * 85
    image = np.full((20, 20), 50.0)
    image[3:11, 6:14] = np.array([200, 10, 30, 250])[template // 85]
    match = nuvmatch.locate(image, template)[0]
    assert match.tone_curve.levels == (0, 85, 170, 255)
    assert match.tone_curve.values == (200, 10, 30, 250)
    assert nuvmatch.locate(image, template, measure="ncc")[0].tone_curve is None


def test_a_matcher_can_be_pickled_and_used_again():
    matcher = pickle.loads(pickle.dumps(nuvmatch.Matcher(TEMPLATE)))
    assert_array_equal(matcher.score_map(IMAGE), nuvmatch.score_map(IMAGE, TEMPLATE))
    assert matcher.locate(255 - IMAGE)[0].box == (12, 10, 8, 7)
    assert repr(matcher) == "<Matcher 'nuv' for a template of 7 x 8>"


def test_nuv_takes_vectors_of_any_dimension(rng):
    template, window = rng.integers(0, 9, (3, 4, 5)), rng.random((3, 4, 5))
    cut = nuvmatch.binning.kmeans(template, 4)
    expected = naive.nuv_window(window.reshape(1, -1), cut.labels.reshape(1, -1))
    assert nuvmatch.nuv(template, window, bins=4, binning="kmeans") == pytest.approx(
        expected, abs=1e-12
    )
    assert nuvmatch.nuv(template, np.ones((3, 4, 5))) == 1
    with pytest.raises(ValueError, match=r"\(3,\).*\(4,\)"):
        nuvmatch.nuv([1, 2, 3], [1, 2, 3, 4])


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "ssd"])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_a_map_can_be_put_where_one_likes(measure, layout, rng):
    image = rng.integers(0, 256, (30, 40)).astype(np.uint8)
    matcher = nuvmatch.Matcher(image[5:12, 6:15], measure=measure)
    space = np.full((48, 64), np.nan, np.float32, order="F" if layout == "F" else "C")
    out = space[::2, ::2] if layout == "strided" else space[:24, :32]
    if layout == "C":
        out = np.ascontiguousarray(out)
    assert matcher.score_map(image, out=out) is out
    assert_array_equal(out, matcher.score_map(image))
    precise = np.empty(out.shape)
    matcher.score_map(image, out=precise)
    assert_array_equal(
        precise,
        nuvmatch.score_map(image, image[5:12, 6:15], measure=measure, dtype=np.float64),
    )


def test_a_map_may_be_put_over_its_image(rng):
    image = rng.random((100, 100)).astype(np.float32)
    matcher = nuvmatch.Matcher(image[5:14, 6:18].copy())
    expected = matcher.score_map(image)
    out = image[:92, :89]
    assert_array_equal(matcher.score_map(image, out=out), expected)


def test_maps_of_one_matcher_are_independent(rng):
    image = rng.integers(0, 256, (30, 40)).astype(np.uint8)
    matcher = nuvmatch.Matcher(image[5:12, 6:15])
    first = matcher.score_map(image)
    kept = first.copy()
    matcher.score_map(image[::-1])
    assert_array_equal(first, kept)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        ([[0.0]], TypeError, "list"),
        (np.empty((24, 31), np.float32), ValueError, r"\(24, 31\).*\(24, 32\)"),
        (np.empty((24, 32), np.float16), ValueError, "float16"),
        (np.empty((24, 32), ">f4"), ValueError, ">f4"),
        (np.empty((24, 32), np.float32), ValueError, "float64"),
        (np.broadcast_to(np.float64(0), (24, 32)), ValueError, "read-only"),
    ],
)
def test_an_unsuitable_place_for_a_map_is_refused(out, error, words, rng):
    image = rng.integers(0, 256, (30, 40)).astype(np.uint8)
    matcher = nuvmatch.Matcher(image[5:12, 6:15], dtype=np.float64)
    with pytest.raises(error, match=words):
        matcher.score_map(image, out=out)
