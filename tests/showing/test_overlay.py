"""Matches drawn into pixels."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nuvmatch import Match, Matches
from nuvmatch.showing import draw_matches, report

RED = np.zeros((4, 5, 3), np.uint8)
RED[..., 0] = 200


@pytest.mark.parametrize(
    "image",
    [
        RED,
        RED[..., 0],
        np.dstack([RED, RED[..., :1]]),
        RED.astype(np.uint16) * 257,
        np.full((4, 5), np.nan),
        np.float64([[0, np.inf], [1, 2]]),
        RED.astype(bool),
    ],
)
def test_any_image_becomes_a_picture_with_boxes(image):
    picture = draw_matches(image, Matches([Match(0, 0, 2, 2, 0.1)]))
    assert picture.shape == (*image.shape[:2], 3)
    assert picture.dtype == np.uint8
    untouched = image.copy()
    draw_matches(image, Matches())
    assert_array_equal(image, untouched)


def test_a_box_is_drawn_around_the_match():
    picture = draw_matches(np.zeros((200, 200), np.uint8), Matches([Match(100, 50, 40, 60, 0.1)]))
    ys, xs = np.nonzero(picture[..., 0])
    inside = picture[102:138, 52:108]
    assert (xs.min(), xs.max(), ys.max()) == (50, 109, 139)
    assert ys.min() < 100  # the score stands above
    assert not inside.any()


def test_a_turned_box_is_drawn_along_its_corners():
    match = Match(60, 50, 80, 90, 0.1, angle=30.0, template_shape=(50, 70))
    picture = draw_matches(np.zeros((200, 200), np.uint8), [match], labels="none")
    drawn = np.argwhere(picture[..., 0] == 255)
    ends = np.array([*match.corners, match.corners[0]])
    near = np.full(len(drawn), np.inf)
    for first, second in pairwise(ends):
        shares = np.linspace(0, 1, 200)[:, None]
        side = first + shares * (second - first)
        distances = np.hypot(*(drawn[:, None] - side).transpose(2, 0, 1))
        assert distances.min(axis=0).max() < 1.5  # all of the side is drawn
        near = np.minimum(near, distances.min(axis=1))
    assert near.max() < 1.5  # and nothing else


def test_labels_say_the_score_or_the_number_or_nothing():
    image = np.zeros((200, 300), np.uint8)
    matches = Matches([Match(100, 50, 40, 60, 0.1, name="a"), Match(100, 200, 40, 60, 0.25)])
    above = np.s_[60:96]
    none = draw_matches(image, matches, labels="none")
    assert not none[above].any()
    widths = {}
    for labels in ("number", "score"):
        picture = draw_matches(image, matches, labels=labels)
        assert_array_equal(picture[102:138], none[102:138])
        written = np.nonzero(picture[above][:, :190].any(axis=(0, 2)))[0]
        widths[labels] = np.ptp(written)
    assert 0 < widths["number"] < 10 < 20 < widths["score"]
    with pytest.raises(ValueError, match="'score' or 'number' or 'none'"):
        draw_matches(image, matches, labels="names")


@pytest.mark.parametrize(
    ("matches", "message"),
    [
        (Match(1, 2, 3, 4, 0.5), r"matches is Match\(.*sequence"),
        (None, "matches is None"),
        ([Match(1, 2, 3, 4, 0.5), None], r"matches\[1\] is None"),
    ],
)
def test_what_are_no_matches_is_named(matches, message, tmp_path):
    image = np.zeros((20, 30), np.uint8)
    with pytest.raises(TypeError, match=message):
        draw_matches(image, matches)
    with pytest.raises(TypeError, match=message):
        report(tmp_path / "found.html", image, image[:3, :4], matches)


def test_a_name_that_is_no_text_is_escaped():
    """OpenCV would end the process."""
    image = np.zeros((60, 200), np.uint8)
    drawn, told = (
        draw_matches(image, [Match(30, 20, 9, 9, 0.5, name=name)])
        for name in ("t\udcff", "t\\udcff")
    )
    assert_array_equal(drawn, told)
