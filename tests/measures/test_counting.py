"""Measures of joint histograms share them: what each scores is what it scores alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import MI, NCC, WindowToPattern
from nuvmatch.engine import prepare
from nuvmatch.measures import counting, sharing
from nuvmatch.measures.template import Template

JOINED = MI(bins=5, binning="equal_width"), WindowToPattern(bins=5, binned=True)


def parts(rng, channels=1):
    image = rng.integers(0, 200, (channels, 40, 50)).astype(np.uint8)
    template = np.ascontiguousarray(np.moveaxis(image[:, 10:19, 20:28], 0, -1))
    template = template[..., 0] if channels == 1 else template
    return prepare(image, None, 9), Template.of(template, None)


def fill(scorers, image, dtype):
    out = np.empty((len(scorers), 32, 43), dtype)
    sharing.fill_all(scorers, image, list(out), 1)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 3])
def test_they_score_as_alone(dtype, channels, rng):
    image, template = parts(rng, channels)
    measures = *JOINED, NCC(), MI(bins=5), MI(bins=5, binning="equal_width", normalize="both")
    scorers = [measure.prepare(template) for measure in measures]
    found = fill(scorers, image, dtype)
    for scorer, scores in zip(scorers, found, strict=True):
        alone = np.empty_like(scores)
        scorer.fill(image, alone, 1)
        assert_array_equal(scores, alone)


def test_one_that_needs_all_digits_has_them(rng):
    """Then those that would do without them get them too."""
    image, template = parts(rng)
    measures = JOINED[0], MI(bins=5, binning="equal_width", normalize="window")
    scorers = [measure.prepare(template) for measure in measures]
    found = fill(scorers, image, np.float32)
    exact = fill(scorers, image, np.float64)
    assert_array_equal(found, exact.astype(np.float32))
    alone = fill(scorers[:1], image, np.float32)
    assert_allclose(found[:1], alone, rtol=0, atol=1e-6)


def test_pixels_are_counted_once_for_those_alike(rng, monkeypatch):
    image, template = parts(rng)
    filled, count = [], counting.for_each_joint_sum
    monkeypatch.setattr(
        counting, "for_each_joint_sum", lambda *a: filled.append(len(a[6])) or count(*a)
    )
    others = (
        MI(bins=4, binning="equal_width"),
        MI(bins=5, binning="kmeans"),
        MI(bins=5, binning="equal_width", value_range=(0, 99)),
        WindowToPattern(bins=5),
    )
    fill([measure.prepare(template) for measure in (*others, *JOINED)], image, np.float32)
    assert sorted(filled) == [1, 1, 1, 2]
