"""One call for one image and one template: as a matcher has it, and as other libraries do."""

import naive
import numpy as np
import pytest
import skimage.feature
from numpy.testing import assert_array_equal
from patterns import MEASURES, name_of_measure, noise_scene

import nuvmatch
from nuvmatch import NUV, Matcher

every_measure = pytest.mark.parametrize("measure", MEASURES, ids=name_of_measure)


@every_measure
def test_functions_are_a_matchers_methods(measure, rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.uint8)
    mask, image_mask = rng.random((5, 6)) < 0.8, rng.random((20, 22)) < 0.98
    matcher = Matcher(template, measure, mask=mask, dtype=np.float64, n_threads=2)
    given = {"image_mask": image_mask, "region": (2, 3, 15, 17)}
    scores = nuvmatch.score_map(
        image, template, measure, mask=mask, fill_value=-1, dtype=np.float64, **given
    )
    assert_array_equal(scores, matcher.score_map(image, fill_value=-1, **given))
    single = Matcher(template, measure, mask=mask)
    chosen = {"threshold": 0.99, "max_matches": 4, "min_distance": 2.5, "max_overlap": 0.1}
    found = nuvmatch.locate(image, template, measure, mask=mask, n_threads=1, **given, **chosen)
    assert found == single.locate(image, **given, **chosen)


@pytest.mark.parametrize("shape", [(7, 9), (6, 9), (8, 4)])
def test_match_template_has_the_layout_of_scikit_image(shape, rng):
    image = rng.random((30, 41))
    template = image[5 : 5 + shape[0], 33 - 4 : 33 - 4 + shape[1]]
    for pad in (False, True):
        ours = nuvmatch.match_template(image, template, "ncc", pad_input=pad)
        theirs = skimage.feature.match_template(image, template, pad_input=pad)
        assert ours.shape == theirs.shape
        assert np.argmax(ours) == np.argmax(theirs)
        peaks = skimage.feature.peak_local_max(ours, threshold_abs=0.99)
        assert peaks.tolist() == skimage.feature.peak_local_max(theirs, threshold_abs=0.99).tolist()
    row, col = shape[0] // 2, shape[1] // 2
    inner = nuvmatch.match_template(image, template, "ncc")
    assert_array_equal(ours[row : row + inner.shape[0], col : col + inner.shape[1]], inner)
    assert np.count_nonzero(ours) <= inner.size


@every_measure
def test_similarities_are_1_less_the_score_and_0_without_evidence(measure, rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.float32)
    similarities = nuvmatch.match_template(image, template, measure)
    assert_array_equal(similarities, 1 - nuvmatch.score_map(image, template, measure))
    marked = nuvmatch.score_map(image, template, measure, fill_value=np.nan)
    assert (similarities[np.isnan(marked)] == 0).all()


def test_match_template_takes_what_score_map_takes(rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.uint8)
    options = {"mask": rng.random((5, 6)) < 0.8, "dtype": np.float64, "n_threads": 1}
    similarities = nuvmatch.match_template(image, template, NUV(bins=3), **options)
    expected = 1 - nuvmatch.score_map(image, template, NUV(bins=3), **options)
    assert_array_equal(similarities, expected)
    with pytest.raises(TypeError, match="pad_input is 1"):
        nuvmatch.match_template(image, template, pad_input=1)
    with pytest.raises(TypeError, match="treshold"):
        nuvmatch.match_template(image, template, treshold=1)


# One window.


@every_measure
@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 1), (5, 6, 3), (6, 8, 4), (6, 8, 2)], ids=str)
def test_the_score_of_one_window_is_that_of_its_map(measure, shape, rng):
    window, template = rng.integers(0, 256, (2, *shape)).astype(np.uint8)
    if shape[-1] in (2, 4):  # alpha
        window[..., -1], template[..., -1] = 255, 255 * (rng.random(shape[:2]) < 0.8)
    expected = nuvmatch.score_map(window, template, measure, dtype=np.float64)
    found = nuvmatch.score(window, template, measure)
    assert isinstance(found, float)
    assert found == expected.item()


@pytest.mark.parametrize("shape", [(30,), (2, 3, 5), (2, 3, 4, 5), (30, 2, 9), (1, 2, 7)])
@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "ssd"])
def test_vectors_of_any_other_shape_are_taken_flat(measure, shape, rng):
    window, template = 9 * rng.random(shape), rng.integers(0, 9, shape)
    mask = rng.random(shape) < 0.8
    flat = (array.reshape(1, -1) for array in (window, template, mask))
    expected = nuvmatch.score(*list(flat)[:2], measure)
    assert nuvmatch.score(window, template, measure) == expected
    expected = nuvmatch.score(
        window.reshape(1, -1), template.reshape(1, -1), measure, mask=mask.reshape(1, -1)
    )
    assert nuvmatch.score(window, template, measure, mask=mask) == expected


def test_the_score_of_a_volume_is_that_of_the_loop(rng):
    template, window = rng.integers(0, 9, (3, 4, 5)), rng.random((3, 4, 5))
    cut = nuvmatch.binning.kmeans(template, 4)
    expected = naive.nuv_window(window.reshape(1, -1), cut.labels.reshape(1, -1))
    found = nuvmatch.score(window, template, NUV(bins=4, binning="kmeans"))
    assert found == pytest.approx(expected, abs=1e-12)
    mask = rng.random((3, 4, 5)) < 0.7
    labels = np.where(mask, -1, -1)
    labels[mask] = nuvmatch.binning.kmeans(template[mask], 4).labels
    expected = naive.nuv_window(window.reshape(1, -1), labels.reshape(1, -1))
    found = nuvmatch.score(window, template, NUV(bins=4, binning="kmeans"), mask=mask)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_window_without_evidence_scores_1(rng):
    template = rng.integers(0, 9, (5, 6))
    assert nuvmatch.score(np.ones((5, 6)), template) == 1
    assert nuvmatch.score(np.full((5, 6), np.nan), template) == 1
    assert nuvmatch.score(9 - template, template, NUV(polarity="increasing")) == 1
    assert nuvmatch.score(9 - template, template) == 0


def test_lists_are_taken_as_arrays():
    assert nuvmatch.score([8, 2, 2], [2, 0, 5], NUV(bins=[0, 3, 6])) == 0.75
    assert nuvmatch.score([[8, 2, 2]], [[2, 0, 5]], NUV(bins=[0, 3, 6])) == 0.75


@pytest.mark.parametrize(
    ("window", "template", "options", "error", "message"),
    [
        ([1, 2, 3], [1, 2, 3, 4], {}, ValueError, r"\(3,\).*\(4,\)"),
        (np.eye(4), np.eye(3), {}, ValueError, r"\(4, 4\).*\(3, 3\)"),
        (np.eye(3)[..., None], np.eye(3), {}, ValueError, r"\(3, 3, 1\).*\(3, 3\)"),
        ([], [], {}, ValueError, "not empty"),
        (3, 4, {}, ValueError, "flat"),
        (None, [1, 2], {}, TypeError, "window is None"),
        ([1, 2], "ab", {}, TypeError, "template is"),
        ([1, 2, 3], [1, 2, 3], {"mask": [1, 1]}, ValueError, "mask"),
        ([1, 2, 3], [1, 2, 3], {"measure": "sad"}, ValueError, "measure is 'sad'"),
        ([1, 2, 3], [1, 2, 3], {"bins": 2}, TypeError, "bins"),
        ([1, 2, 3], [7, 7, 7], {}, ValueError, "flat"),
    ],
)
def test_what_has_no_score_is_refused(window, template, options, error, message):
    with pytest.raises(error, match=message):
        nuvmatch.score(window, template, **options)


@pytest.mark.parametrize("region", [(8, 15, 12, 14), (-3, 4, 20, 30), (10, 20, 99, 99)])
def test_padded_similarities_of_a_region_lie_where_the_image_has_them(region, rng):
    image = rng.integers(0, 256, (30, 40)).astype(np.uint8)
    template = image[11:18, 21:27]
    everywhere = nuvmatch.match_template(image, template, pad_input=True)
    padded = nuvmatch.match_template(image, template, pad_input=True, region=region)
    assert padded.shape == image.shape
    searched = padded != 0
    assert searched.any()
    assert_array_equal(padded[searched], everywhere[searched])
    if region[0] == 8:
        assert np.unravel_index(padded.argmax(), padded.shape) == (11 + 3, 21 + 3)


def test_a_mask_of_another_shape_is_named_as_it_was_given():
    vectors = np.arange(12.0).reshape(2, 1, 6)
    with pytest.raises(ValueError, match=r"\(12,\).*\(2, 1, 6\)"):
        nuvmatch.score(vectors, vectors, mask=np.ones(12))


def test_files_and_pictures_are_there_when_they_are_asked_for():
    assert nuvmatch.io.read_image
    assert nuvmatch.showing.draw_matches
    with pytest.raises(AttributeError, match="sounds"):
        nuvmatch.sounds()


class ReadOnce:
    """An array as lazy libraries have it: each reading costs, and is counted."""

    def __init__(self, array):
        self.array, self.readings = array, 0

    def __array__(self, dtype=None, copy=None):
        self.readings += 1
        return np.array(self.array, dtype)


@pytest.mark.parametrize(
    "call",
    [
        lambda image, template, **masks: nuvmatch.locate(image, template, **masks),
        lambda image, template, **masks: nuvmatch.score_map(image, template, **masks),
        lambda image, template, **masks: nuvmatch.match_template(image, template, **masks),
        lambda image, template, **masks: nuvmatch.match_template(
            image, template, pad_input=True, **masks
        ),
        lambda image, template, mask, image_mask: nuvmatch.Matcher(template, mask=mask).locate(
            image, image_mask=image_mask, region=(0, 0, 20, 20), max_matches=3
        ),
    ],
)
def test_array_likes_are_read_once(call, rng):
    image = ReadOnce(rng.integers(0, 256, (30, 40)).astype(np.uint8))
    template = ReadOnce(image.array[5:15, 6:17])
    mask, image_mask = ReadOnce(np.ones((10, 11))), ReadOnce(np.ones((30, 40)))
    call(image, template, mask=mask, image_mask=image_mask)
    assert [one.readings for one in (image, template, mask, image_mask)] == [1, 1, 1, 1]


def test_what_match_template_does_not_take_is_its_own_error():
    with pytest.raises(TypeError, match=r"match_template\(\) got an unexpected keyword .*'mode'"):
        nuvmatch.match_template(np.eye(9), np.eye(3), mode="reflect")
