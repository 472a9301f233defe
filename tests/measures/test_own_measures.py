"""A measure of one's own: whatever has prepare(template)."""

from dataclasses import dataclass

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import SINGLE_TOLERANCE, all_windows, noise_scene

import nuvmatch
from nuvmatch import Auto, Highest, Lowest
from nuvmatch.binning import kmeans


@dataclass(frozen=True)
class Difference:
    """Mean absolute difference over `most`: nothing of ours is inherited."""

    most: float = 100.0

    def prepare(self, template):
        return DifferenceScorer(template, self.most)


class DifferenceScorer:
    """No more than it must have."""

    def __init__(self, template, most):
        self.template, self.most = template, most

    def fill(self, image, out, n_threads):
        assert n_threads >= 1
        mask = self.template.mask
        view = all_windows(image.planes.astype(float), (len(image.planes), *mask.shape))[0]
        differences = abs(view - self.template.greys)[..., mask]
        out[:] = differences.mean(axis=(-2, -1)) / self.most
        if image.bad is not None:
            out[all_windows(image.bad, mask.shape)[..., mask].any(axis=-1)] = np.nan


class TalkativeDifference(Difference):
    """One that has bins, tone curves and a gain, too."""

    def prepare(self, template):
        scorer = DifferenceScorer(template, self.most)
        scorer.bins = (kmeans(template.planes[0], 2),)
        scorer.tone_curve = lambda window: (nuvmatch.ToneCurve((0.0,), (float(window.max()),)),)
        scorer.gain = lambda window: float(window.shape[1])
        return scorer


def difference_map(image, template, mask, most):
    view = all_windows(image.astype(float), template.shape)
    return abs(view - template)[..., mask].mean(axis=-1) / most


@pytest.fixture
def scene(rng):
    image, template = noise_scene(rng, (20, 22), (5, 6), np.int32)
    return image, template, rng.random((5, 6)) < 0.8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_fills_maps(dtype, scene):
    image, template, mask = scene
    scores = nuvmatch.score_map(image, template, Difference(), mask=mask, dtype=dtype)
    assert scores.dtype == dtype
    expected = difference_map(image, template, mask, 100)
    assert_allclose(scores, expected, atol=SINGLE_TOLERANCE)
    part = nuvmatch.score_map(image, template, Difference(), mask=mask, region=(-3, 4, 19, 12))
    assert_allclose(part, expected[:12, 4:11], atol=SINGLE_TOLERANCE)


def test_its_nan_is_no_evidence(scene):
    image, template, mask = scene
    image_mask = np.ones(image.shape)
    image_mask[9, 9] = 0
    matcher = nuvmatch.Matcher(template, Difference(), mask=mask)
    touched = all_windows(image_mask == 0, mask.shape)[..., mask].any(axis=-1)
    assert touched.any()
    for fill_value in (1.0, 7.0, np.nan):
        scores = matcher.score_map(image, image_mask=image_mask, fill_value=fill_value)
        assert_array_equal(scores[touched], fill_value)
    found = matcher.locate(image, image_mask=image_mask, threshold=np.inf, max_overlap=1)
    expected = naive.find_peaks(scores, template.shape, threshold=np.inf, max_overlap=1)
    assert sorted((match.row, match.col) for match in found) == sorted(expected)


def test_it_locates_and_is_named_as_it_prints(scene):
    image, template, _ = scene
    image[11:16, 8:14] = template
    measure = Difference(most=50)
    match = nuvmatch.locate(image, template, measure)[0]
    assert (match.row, match.col, match.score) == (11, 8, 0)
    assert match.measure == repr(measure)
    assert "Difference(most=50)" in match.measure
    assert (match.tone_curves, match.gain) == ((), None)
    matcher = nuvmatch.Matcher(template, measure)
    assert matcher.measure is measure
    assert matcher.bins == ()
    assert matcher.tone_curve(image, 3, 4) == ()
    assert repr(measure) in repr(matcher)


def test_what_it_can_tell_it_is_asked(scene):
    image, template, _ = scene
    matcher = nuvmatch.Matcher(template, TalkativeDifference())
    assert matcher.bins[0].counts.size == 2
    match = matcher.locate(image)[0]
    window = image[match.row : match.row + 5, match.col : match.col + 6]
    assert match.tone_curves[0].values == (window.max(),)
    assert match.gain == 5
    assert matcher.tone_curve(image, 2, 3)[0].values == (image[2:7, 3:9].max(),)


@pytest.mark.parametrize(("combine", "choose"), [(Lowest, np.minimum), (Highest, np.maximum)])
def test_it_may_be_combined_with_ours(combine, choose, scene):
    image, template, mask = scene
    maps = [
        nuvmatch.score_map(image, template, part, mask=mask, fill_value=np.nan)
        for part in ("nuv", Difference())
    ]
    for measure in (combine("nuv", Difference()), combine(Difference(), "nuv")):
        scores = nuvmatch.score_map(image, template, measure, mask=mask, fill_value=np.nan)
        assert_array_equal(scores, choose(*maps))
    matcher = nuvmatch.Matcher(template, combine(Difference(), "nuv"))
    assert matcher.bins[0].counts.size == 8
    assert len(matcher.locate(image)[0].tone_curves) == 1


def test_in_colour_it_sees_all_planes(rng):
    image, template = rng.integers(0, 99, (9, 10, 3)), rng.integers(0, 99, (4, 5, 3))
    scores = nuvmatch.score_map(image, template, Difference(), dtype=float)
    maps = [
        difference_map(image[..., c], template[..., c], np.ones((4, 5), bool), 100)
        for c in range(3)
    ]
    assert_allclose(scores, np.mean(maps, axis=0))


def test_what_it_raises_reaches_the_caller():
    class Refusing:
        def prepare(self, template):
            raise ValueError(f"no {template.mask.shape}")

    with pytest.raises(ValueError, match=r"no \(4, 4\)"):
        nuvmatch.locate(np.eye(9), np.eye(4), Refusing())


@pytest.mark.parametrize("name", ["planes", "greys", "mask"])
def test_no_part_of_a_combination_can_change_what_others_see(name, rng):
    class Spoiling:
        def prepare(self, template):
            getattr(template, name)[:] = 0

    with pytest.raises(ValueError, match="read-only"):
        nuvmatch.Matcher(rng.integers(0, 9, (5, 6)), Lowest(Spoiling(), "ssd"))


def test_no_measure_can_change_the_image(rng):
    class Spoiling:
        def prepare(self, template):
            return self

        def fill(self, image, out, n_threads):
            image.planes[:] = 0

    image = rng.integers(0, 256, (20, 22)).astype(np.uint8)
    with pytest.raises(ValueError, match="read-only"):
        nuvmatch.locate(image, image[:5, :6], Spoiling())
    assert image.any()
    assert image.flags.writeable


def test_what_cannot_fill_maps_is_no_scorer(rng):
    class Nothing:
        def prepare(self, template):
            return None

    for measure in (Nothing(), Lowest("nuv", Nothing()), Auto("nuv", Highest(Nothing(), "ncc"))):
        with pytest.raises(TypeError, match=r"Nothing object .* has prepared None.*fill"):
            nuvmatch.Matcher(rng.integers(0, 9, (5, 6)), measure)
