"""Following a template through frames: against a search of each whole frame, and planted truth."""

import math
import warnings

import cv2
import numpy as np
import pytest

import nuvmatch
from nuvmatch import Matcher, track
from nuvmatch.io import read_image

pytestmark = pytest.mark.compiled

SHAPE, SIDE = (110, 130), 16


@pytest.fixture(scope="module")
def ground():
    rng = np.random.default_rng(5)
    return rng.integers(0, 256, SHAPE, dtype=np.uint8)


@pytest.fixture(scope="module")
def template():
    return np.random.default_rng(6).integers(0, 256, (SIDE, SIDE), dtype=np.uint8)


def show(ground, template, place, tone=lambda t: t):
    """A frame in which the template is at a place, or nowhere."""
    frame = tone(ground.astype(float))
    if place is not None:
        row, col = place
        frame[row : row + SIDE, col : col + SIDE] = tone(template.astype(float))
    return np.rint(frame).astype(np.uint8)


def places_of(matches):
    return [None if match is None else (match.row, match.col) for match in matches]


PATH = [(20 + 2 * step, 30 + 5 * step) for step in range(8)]


def test_it_is_found_in_each_frame_whatever_its_tones(ground, template):
    frames = [
        show(ground, template, place, lambda t, s=step: 255 - 255 * (t / 255) ** (1 + 0.2 * s))
        for step, place in enumerate(PATH)
    ]
    assert places_of(track(frames, template)) == PATH
    assert places_of(track(np.stack(frames), template)) == PATH
    for match in track(frames, template, "nuv_adaptive"):
        assert match.false_alarms < 0.01
        assert match.sigma is None


def test_it_is_lost_and_found_again_anywhere(ground, template):
    path = [(20, 30), None, None, (80, 100), (82, 99), None, (10, 10)]
    frames = [show(ground, template, place) for place in path]
    assert places_of(track(frames, template)) == path


def test_it_may_jump_out_of_its_region(ground, template):
    path = [(50, 50), (50, 70), (51, 75), (90, 20), (0, 0), (94, 114)]
    frames = [show(ground, template, place) for place in path]
    assert places_of(track(frames, template, margin=4)) == path


def test_what_is_on_the_border_of_the_region_is_sought_everywhere(ground):
    scene = np.cumsum(ground, axis=1) % 256  # nothing repeats itself
    smooth = np.indices(SHAPE).sum(axis=0) / 2.0
    bump = 120 * np.exp(-(((np.indices((SIDE, SIDE)) - 7.5) / 6) ** 2).sum(axis=0))
    frames = []
    for col in (20, 25):
        frame = smooth + scene / 50
        frame[40 : 40 + SIDE, col : col + SIDE] += bump
        frames.append(frame)
    template = frames[0][40 : 40 + SIDE, 20 : 20 + SIDE].copy()
    found = list(track(frames, template, "ncc", margin=2))  # it moves by 5
    assert places_of(found) == [(40, 20), (40, 25)]


def test_only_a_region_is_searched_while_it_is_there(ground, template, monkeypatch):
    searched = []
    seek = Matcher._seek

    def watched(self, image, mask, region, *rest):
        searched.append(region)
        return seek(self, image, mask, region, *rest)

    monkeypatch.setattr(Matcher, "_seek", watched)
    frames = [show(ground, template, place) for place in [(20, 30), (25, 33), None, None, (5, 6)]]
    list(track(frames, template, margin=10))
    around = [(10, 20, 36, 36), (15, 23, 36, 36)]
    assert searched == [None, around[0], around[1], None, around[1], None, None]


def test_frames_are_asked_for_one_by_one(ground, template):
    asked = []

    def endless():
        while True:
            asked.append(len(asked))
            yield show(ground, template, (20, 30 + len(asked)))

    found = track(endless(), template)
    assert asked == []
    assert places_of([next(found), next(found)]) == [(20, 31), (20, 32)]
    assert len(asked) == 2


def test_a_calibration_of_ones_own(ground, template):
    null = Matcher(template).calibrate(ground)
    frames = [show(ground, template, place) for place in PATH]
    frames = [frame[: 40 + 2 * step, :90] for step, frame in enumerate(frames)]  # too small
    assert places_of(track(frames, template, null=null)) == PATH


def test_frames_that_cannot_tell_are_not_believed_but_on_wish(ground, template, recwarn):
    small = show(ground, template, (2, 3))[:24, :24]
    large = show(ground, template, (30, 40))
    assert places_of(track([small * 0, small, small], template)) == [None, None, None]
    (warned,) = recwarn
    assert "of shape (24, 24) does not show what chance does" in str(warned.message)
    recwarn.clear()
    assert places_of(track([large, small], template)) == [(30, 40), None]
    assert places_of(track([large * 0] * 3, template)) == [None, None, None]
    assert not recwarn
    with pytest.warns(UserWarning, match="cannot be told"):
        found = list(track([small] * 2, template, false_alarms=math.inf))
    assert places_of(found) == [(2, 3), (2, 3)]


def test_a_frame_is_judged_by_what_it_shows_itself(ground):
    """Not by what a dark one, or one of noise, showed before: a photograph shows more."""
    photo = read_image("samples/photos/coins.png")
    pattern = read_image("samples/templates/camera.png")
    rng = np.random.default_rng(0)
    dark = rng.integers(0, 2, photo.shape, np.uint8)
    noise = rng.integers(0, 256, photo.shape, np.uint8)
    shown, below = photo.copy(), noise.copy()
    for frame, row, col in ((shown, 100, 130), (below, 90, 140)):
        frame[row : row + pattern.shape[0], col : col + pattern.shape[1]] = pattern
    black, here, there = photo * 0, (100, 130), (90, 140)
    for first in (dark, noise, black):
        found = track([first, photo, photo, shown, photo], pattern)
        assert places_of(found) == [None, None, None, here, None]
        found = track([shown, shown, first, photo, shown, shown, shown], pattern, renew=2)
        assert places_of(found) == [here, here, None, None, here, here, here]
    assert places_of(track([below, photo, black, shown], pattern)) == [there, None, None, here]


def test_a_region_of_a_frame_that_shows_more_is_no_proof(template):
    """Around its last place in noise, a scene of broad stripes shows what noise never does."""
    rng = np.random.default_rng(4)
    noise = rng.integers(0, 256, SHAPE, dtype=np.uint8)
    bars = np.tile(np.repeat(rng.integers(0, 256, 22), 6)[: SHAPE[1]], (SHAPE[0], 1))
    bars = (bars + rng.integers(0, 9, SHAPE)).astype(float)
    pattern = np.rint(bars[:SIDE, 40 : 40 + SIDE] * 0.7 + rng.uniform(0, 60, (SIDE, SIDE)))
    null = Matcher(pattern).calibrate(noise)
    assert places_of(track([show(noise, pattern, (50, 60)), bars], pattern, null=null))[1]
    found = places_of(track([show(noise, pattern, (50, 60)), bars], pattern))
    assert found == [(50, 60), None]


def test_exposures_may_change_from_frame_to_frame():
    photo = read_image("samples/photos/coins.png").astype(float)
    pattern = read_image("samples/templates/camera.png").astype(float)
    tones = [lambda t: t, lambda t: 255 * (t / 255) ** 0.5, lambda t: 255 - t]
    tones += [lambda t: 255 * (t / 255) ** 2, lambda t: 255 - 255 * (t / 255) ** 2, lambda t: t / 9]
    path = [(60 + 4 * step, 70 + 7 * step) for step in range(6)]
    frames = []
    for (row, col), tone in zip(path, tones, strict=True):
        frame = photo.copy()
        frame[row : row + pattern.shape[0], col : col + pattern.shape[1]] = pattern
        frames.append(np.rint(tone(frame)).astype(np.uint8))
    assert places_of(track(frames, pattern)) == path


def test_renewed_it_follows_what_changes(ground, template):
    rng = np.random.default_rng(8)
    shown, frames = template.astype(float), []
    for step in range(12):
        shown = shown + 0.35 * (rng.uniform(0, 255, template.shape) - shown)
        frames.append(show(ground, shown, (20 + step, 30 + step)))
    path = [(20 + step, 30 + step) for step in range(12)]
    assert places_of(track(frames, template, renew=1)) == path
    assert None in places_of(track(frames, template))


def test_fractions_of_a_pixel(ground, template):
    frames = [show(ground, template, place) for place in PATH]
    expected = [nuvmatch.locate(frame, template, subpixel=True)[0].center for frame in frames]
    assert [match.center for match in track(frames, template, subpixel=True)] == expected


def test_masks_and_nodata(ground, template):
    mask = np.ones((SIDE, SIDE), bool)
    mask[:4, :5] = False
    hidden = template.copy()
    hidden[~mask] = 7
    frames = [show(ground, template, place).astype(np.int16) for place in PATH]
    for frame in frames:
        frame[100:, 120:] = -9
    assert places_of(track(frames, hidden, mask=mask, nodata=-9, renew=3)) == PATH


@pytest.mark.parametrize("most", [1, 3, math.inf])
@pytest.mark.parametrize("seed", range(3))
def test_a_place_that_may_be_chance_is_left_for_a_better_one(most, seed):
    rng = np.random.default_rng(seed)
    template = rng.integers(0, 256, (12, 12), dtype=np.uint8)
    frames = [rng.integers(0, 256, (80, 100), dtype=np.uint8) for _ in range(3)]
    frames[2][60:72, 8:20] = template
    assert places_of(track(frames, template, false_alarms=most))[2] == (60, 8)


@pytest.mark.parametrize("hide", ["mask", "nan", "alpha"])
def test_renewed_it_keeps_what_does_not_count(hide, template):
    """The ground beside it changes in each frame."""
    counts = np.hypot(*(np.indices((SIDE, SIDE)) - 7.5)) < 7
    options, pattern = {}, template.astype(float)
    if hide == "mask":
        options = {"mask": counts}
    elif hide == "nan":
        pattern[~counts] = np.nan
    else:
        pattern = np.dstack([template] * 3 + [255 * counts.astype(np.uint8)])
    frames = []
    for step, (row, col) in enumerate(PATH):
        frame = np.random.default_rng(step).integers(0, 256, SHAPE, dtype=np.uint8)
        frame[row : row + SIDE, col : col + SIDE][counts] = template[counts]
        frames.append(np.dstack([frame] * 3) if hide == "alpha" else frame)
    found = list(track(frames, pattern, renew=1, **options))
    assert places_of(found) == PATH
    assert max(match.score for match in found) < 0.05


def test_where_frames_are_too_small_to_tell_it_is_not_renewed(ground, template):
    """What was learnt elsewhere is of the template as it was given."""
    null = Matcher(template).calibrate(ground)
    frames = [show(ground, template, (5, 5))[:30, :34]] * 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert places_of(track(frames, template, null=null, renew=2)) == [(5, 5)] * 6


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((5, None), {}, TypeError, "frames is 5"),
        (("v.avi", None), {}, TypeError, "'v.avi'; .*recipe"),
        ((cv2.VideoCapture(), None), {}, TypeError, "VideoCapture.*frame by frame"),
        ((np.zeros((30, 30)), None), {}, ValueError, "single image"),
        ((np.zeros((30, 30, 3)), None), {}, ValueError, "single image"),
        ((np.zeros((30, 30, 4)), np.eye(5)[..., None].repeat(3, 2)), {}, ValueError, "single"),
        (([], None), {"margin": 0}, ValueError, "margin"),
        (([], None), {"renew": 1.5}, TypeError, "renew"),
        (([], None), {"false_alarms": -1}, ValueError, "false_alarms"),
        (([], None), {"false_alarms": None}, TypeError, "false_alarms is None"),
        (([], None), {"null": 3}, TypeError, "null is 3"),
        (([], None), {"subpixel": "yes"}, ValueError, "subpixel"),
        (([], np.zeros((5, 5))), {}, ValueError, "flat"),
    ],
)
def test_what_is_wrong_is_named_before_any_frame_is_asked_for(
    arguments, options, error, message, template
):
    frames, pattern = arguments
    with pytest.raises(error, match=message):
        track(frames, template if pattern is None else pattern, **options)


def test_a_frame_that_is_too_small_is_named(ground, template):
    with pytest.raises(ValueError, match="larger"):
        next(track([ground[:10]], template))


def test_what_the_measure_refuses_to_renew_is_followed_as_it_was(rng):
    image = rng.integers(20, 200, (110, 120)).astype(np.uint8)
    frames = [image, image + 5, image + 40, image + 40]  # beyond the highest edge
    measure = nuvmatch.NUV(bins=(20, 60, 100, 150, 200))
    found = list(nuvmatch.track(frames, image[10:30, 10:30], measure, renew=2))
    assert [(match.row, match.col) for match in found] == [(10, 10)] * 4
