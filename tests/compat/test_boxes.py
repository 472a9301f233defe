"""Matches as Multi-Template-Matching and supervision take them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch
from nuvmatch import compat
from nuvmatch.io import read_image


@pytest.fixture(scope="module")
def coins():
    """The photograph and the two coins of its tutorial."""
    image = read_image("samples/photos/coins.png")
    templates = {"small": image[37:75, 80:121].copy(), "big": image[14:73, 302:367].copy()}
    return image, templates, nuvmatch.Search(templates, "ncc")


@pytest.mark.compiled
def test_coins_are_hits_that_do_not_overlap(coins):
    image, templates, search = coins
    hits = compat.as_hits(search.locate(image, threshold=0.4, max_overlap=0))
    assert hits[:2] == [("small", (80, 37, 41, 38), 1.0), ("big", (302, 14, 65, 59), 1.0)]
    assert len(hits) == 13  # as many as there
    covered = np.zeros(image.shape, int)
    for label, (x, y, width, height), score in hits:
        assert (height, width) == templates[label].shape
        window = image[y : y + height, x : x + width].astype(float)
        correlation = np.corrcoef(window.ravel(), templates[label].ravel())[0, 1]
        assert score == pytest.approx(correlation, abs=2e-6)
        assert score >= 0.6
        covered[y : y + height, x : x + width] += 1
    assert covered.max() == 1
    assert [hit[2] for hit in hits] == sorted((hit[2] for hit in hits), reverse=True)


@pytest.mark.compiled
def test_one_object_is_the_best_hit_of_each_template(coins):
    image, _, search = coins
    hits = compat.as_hits(search.locate(image, max_per_name=1))
    assert sorted(hits) == [("big", (302, 14, 65, 59), 1.0), ("small", (80, 37, 41, 38), 1.0)]


@pytest.mark.compiled
def test_strips_of_the_whole_height_or_width_and_the_whole_are_found(coins):
    """Of which the map is one line, or one place."""
    image = coins[0]
    for part in (np.s_[:, 10:50], np.s_[50:70, :], np.s_[:, :]):
        (hit,) = compat.as_hits(nuvmatch.locate(image, image[part], "ncc"))
        top, left = (sides.start or 0 for sides in part)
        height, width = image[part].shape
        assert hit == ("", (left, top, width, height), 1.0)


def test_what_is_sought_in_part_of_an_image_must_fit_there(coins):
    image, templates, search = coins
    (best,) = search.locate(image, region=(30, 70, 60, 65), max_matches=1)
    assert compat.as_hits([best]) == [("small", (80, 37, 41, 38), 1.0)]
    with pytest.raises(ValueError, match="larger than the region"):
        nuvmatch.locate(image, templates["big"], "ncc", region=(30, 70, 20, 20))
    with pytest.raises(ValueError, match="must not be empty"):
        nuvmatch.locate(image, image[:0], "ncc")
    with pytest.raises(ValueError, match=r"max_overlap is 1\.5"):
        search.locate(image, max_overlap=1.5)


@pytest.mark.compiled
def test_coins_are_detections_whose_class_is_the_place_of_their_name(coins):
    image, templates, search = coins
    found = search.locate(image, threshold=0.4, max_overlap=0)
    detections = compat.as_detections(found, list(templates))
    assert detections["xyxy"].dtype == detections["confidence"].dtype == np.float32
    assert_array_equal(detections["xyxy"][1], [302, 14, 302 + 65, 14 + 59])
    assert_array_equal(detections["xyxy"][:, 2] - detections["xyxy"][:, 0],
                       [match.width for match in found])  # fmt: skip
    assert_allclose(detections["confidence"], 1 - found.scores, atol=1e-7)
    names = detections["data"]["class_name"]
    assert_array_equal(detections["class_id"], names == "big")
    only_big = [match for match in found if match.name == "big"]
    assert set(compat.as_detections(only_big, ["small", "big"])["class_id"]) == {1}
    with pytest.raises(ValueError, match="name 'small'; names is None"):
        compat.as_detections(found)
    with pytest.raises(ValueError, match=r"name 'small'; names is \['big'\]"):
        compat.as_detections(found, ["big"])


def test_matches_without_names_and_no_matches_are_detections_too(rng):
    image = rng.integers(0, 256, (30, 40), np.uint8)
    found = nuvmatch.locate(image, image[5:12, 8:17])
    detections = compat.as_detections(found)
    assert detections["class_id"].tolist() == [0]
    assert detections["data"]["class_name"].tolist() == [""]
    assert compat.as_hits(found) == [("", (8, 5, 9, 7), found[0].similarity)]
    several = nuvmatch.Search([image[5:12, 8:17], image[15:25, 20:35]]).locate(image, max_matches=2)
    assert sorted(compat.as_detections(several)["class_id"]) == [0, 1]
    nothing = compat.as_detections(nuvmatch.Matches())
    shapes = [nothing[key].shape for key in ("xyxy", "confidence", "class_id")]
    assert shapes == [(0, 4), (0,), (0,)]
    assert compat.as_hits(nuvmatch.Matches()) == []


def test_it_is_imported_when_it_is_asked_for():
    assert nuvmatch.compat.matchTemplate
