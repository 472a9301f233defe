"""What stands in for PyScreeze does what it promises: the cases are those of its tests."""

import pickle
import sys
import types

import cv2
import naive
import numpy as np
import PIL.Image
import pytest
import skimage.data
import skimage.feature
from numpy.testing import assert_array_equal

import nuvmatch
from nuvmatch import NUV
from nuvmatch.compat import Box, ImageNotFoundException, locate_all_on, locate_on


def slash(colour):
    """A thin diagonal of 4 x 4 pixels."""
    shape = (4, 4, 3) if colour else (4, 4)
    icon = np.full(shape, 255, np.uint8)
    icon[range(4), range(3, -1, -1)] = (200, 40, 0) if colour else 0
    return icon


def haystack(*places, colour):
    screen = np.full((30, 40, 3) if colour else (30, 40), 255, np.uint8)
    for left in places:
        screen[left : left + 4, left : left + 4] = np.minimum(
            screen[left : left + 4, left : left + 4], slash(colour)
        )
    return screen


WAYS = {
    "arrays": lambda array, path: array if array.ndim == 2 else array[..., ::-1],
    "Pillow": lambda array, path: PIL.Image.fromarray(array),
    "palette": lambda array, path: PIL.Image.fromarray(array).convert("P"),
    "files": lambda array, path: PIL.Image.fromarray(array).save(path) or path,
    "names": lambda array, path: PIL.Image.fromarray(array).save(path) or str(path),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("colour", "options"),
    [(False, {}), (True, {}), (True, {"grayscale": True}), (True, {"measure": "ssd"})],
    ids=str,
)
def test_icons_are_found_on_screens(way, colour, options, tmp_path, rng):
    icon = way(slash(colour), tmp_path / "slash.png")
    one = way(haystack(19, colour=colour), tmp_path / "one.png")
    noise = rng.integers(0, 256, (30, 40, 3)[: 3 if colour else 2], np.uint8)
    noise = way(noise, tmp_path / "noise.png")
    box = locate_on(one, icon, **options)
    assert isinstance(box, Box)
    assert box == (19, 19, 4, 4)
    assert locate_all_on(one, icon, **options) == [(19, 19, 4, 4)]
    assert locate_all_on(noise, icon, **options) == []
    with pytest.raises(ImageNotFoundException, match=r"as 0\.999; the best place has 0\."):
        locate_on(noise, icon, **options)


def test_places_that_overlap_are_kept_if_that_is_allowed():
    screen, icon = np.full((30, 40), 255, np.uint8), np.full((4, 4), 255, np.uint8)
    icon[range(4), range(4)] = 0  # it repeats itself one pixel farther
    screen[range(18, 24), range(18, 24)] = 0
    boxes = locate_all_on(screen, icon, max_overlap=1)
    assert boxes == [(18, 18, 4, 4), (19, 19, 4, 4), (20, 20, 4, 4)]
    assert locate_on(screen, icon) == boxes[0]
    assert locate_all_on(screen, icon, max_overlap=1, limit=2) == boxes[:2]
    assert locate_all_on(screen, icon) == boxes[:1] + boxes[2:]  # an IoU of 1/7


def test_a_region_is_left_top_width_height(rng):
    screen = rng.integers(0, 256, (60, 90), np.uint8)
    screen[40:50, 70:82] = screen[10:20, 20:32]
    icon = screen[10:20, 20:32].copy()
    assert sorted(locate_all_on(screen, icon)) == [(20, 10, 12, 10), (70, 40, 12, 10)]
    assert locate_all_on(screen, icon, region=(60, 30, 25, 30)) == [(70, 40, 12, 10)]
    assert locate_on(screen, icon, region=(70, 40, 12, 10)) == (70, 40, 12, 10)
    with pytest.raises(ImageNotFoundException, match="the best place has"):
        locate_on(screen, icon, region=(71, 0, 19, 60))
    with pytest.raises(ValueError, match="larger than the region"):
        locate_on(screen, icon, region=(0, 0, 11, 60))
    with pytest.raises(TypeError, match=r"must be \(left, top, width, height\)"):
        locate_on(screen, icon, region=(0, 0))


@pytest.mark.parametrize(
    ("box", "center"),
    [
        ((0, 0, 20, 20), (10, 10)),
        ((5, 5, 10, 10), (10, 10)),
        ((50, 50, 100, 100), (100, 100)),
        ((10, 10, 6, 8), (13, 14)),
        ((10, 10, 7, 9), (13, 14)),
        ((10, 10, 8, 10), (14, 15)),
    ],
)
def test_the_center_of_a_box_is_where_to_click(box, center):
    assert Box(*box).center == center


def test_confidence_is_the_correlation_that_the_best_place_has(rng):
    icon = rng.integers(0, 256, (12, 14), np.uint8)
    noisy = np.clip(icon + rng.normal(0, 40, icon.shape), 0, 255).astype(np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    screen[20:32, 30:44] = noisy
    correlation = np.corrcoef(noisy.ravel(), icon.ravel())[0, 1]
    assert 0.8 < correlation < 0.95
    for below in (1e-5, 0.01, 0.3):
        assert locate_on(screen, icon, confidence=correlation - below) == (30, 20, 14, 12)
    with pytest.raises(ImageNotFoundException, match=f"{correlation:.3f}"):
        locate_on(screen, icon, confidence=correlation + 1e-5)
    assert locate_on(screen, icon, confidence=0.6, measure="nuv") == (30, 20, 14, 12)


def test_chances_are_no_similarities(rng):
    screen = rng.integers(0, 256, (60, 70), dtype=np.uint8)
    for locate in locate_on, locate_all_on:
        with pytest.raises(ValueError, match='"auto", whose scores are no similarities'):
            locate(screen, screen[20:32, 20:34], measure="auto")


def test_a_screen_without_any_contrast_shows_nothing(rng):
    icon = rng.integers(0, 256, (12, 14), np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    with pytest.raises(ImageNotFoundException, match="no window does"):
        locate_on(screen, icon, confidence=-1)
    assert locate_all_on(screen, icon, confidence=-1) == []


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["camera", "moon"])
@pytest.mark.parametrize("measure", ["nuv", "nuv_monotone", "nuv_curves", "nuv_adaptive"])
def test_an_exact_copy_has_all_confidence_though_bins_leave_some_open(name, measure):
    photo = getattr(skimage.data, name)()
    for top, left, side in ((100, 200, 30), (300, 120, 16), (200, 310, 48)):
        icon = photo[top : top + side, left : left + side]
        for confidence in (1, 0.99):
            box = locate_on(photo, icon, confidence=confidence, measure=measure)
            window = photo[box.top : box.top + side, box.left : box.left + side]
            assert_array_equal(window, icon)
            assert (left, top, side, side) in locate_all_on(
                photo, icon, confidence=confidence, measure=measure, max_overlap=1
            )


def test_confidence_is_what_is_explained_of_what_can_be(rng):
    """By few bins, which leave much open even of an exact copy: a loop tells how much."""
    icon = rng.integers(0, 256, (20, 22), np.uint8)
    noisy = np.clip(icon + rng.normal(0, 20, icon.shape), 0, 255).astype(np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    screen[20:40, 30:52] = noisy
    measure = NUV(bins=3)
    labels = nuvmatch.Matcher(icon, measure).bins[0].labels
    explained = 1 - naive.nuv_window(noisy, labels)
    expected = explained / (1 - naive.nuv_window(icon, labels))
    assert expected - explained > 0.05
    place = (30, 20, 22, 20)
    assert locate_on(screen, icon, confidence=expected - 1e-5, measure=measure) == place
    with pytest.raises(ImageNotFoundException, match=f"the best place has {expected:.3f}"):
        locate_on(screen, icon, confidence=expected + 1e-5, measure=measure)


@pytest.mark.parametrize("derived", [False, True])
@pytest.mark.parametrize("names", [(), ("pyscreeze",), ("pyautogui",), ("pyautogui", "pyscreeze")])
def test_what_is_not_found_is_caught_as_in_pyscreeze(names, derived, monkeypatch):
    """PyAutoGUI's exception may be one of its own, or PyScreeze's, or derived from that."""
    of_pyscreeze = type("ImageNotFoundException", (Exception,), {})
    of_pyautogui = type("ImageNotFoundException", (of_pyscreeze if derived else Exception,), {})
    theirs = {"pyscreeze": of_pyscreeze, "pyautogui": of_pyautogui}
    for name in ("pyscreeze", "pyautogui"):
        module = types.ModuleType(name)
        module.ImageNotFoundException = theirs[name]
        monkeypatch.setitem(sys.modules, name, module if name in names else None)
    with pytest.raises(ImageNotFoundException, match="no window does") as caught:
        locate_on(np.zeros((30, 40)), slash(False))
    for name in names:
        assert isinstance(caught.value, theirs[name])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again).__mro__[1:], str(again)) == (
        type(caught.value).__mro__[1:],
        str(caught.value),
    )


def test_an_inverted_icon_is_found_by_nuv_alone(rng):
    icon = rng.integers(0, 256, (12, 14), np.uint8)
    screen = np.full((50, 60), 128, np.uint8)
    screen[20:32, 30:44] = 255 - icon
    with pytest.raises(ImageNotFoundException):
        locate_on(screen, icon, confidence=0.8)
    assert locate_on(screen, icon, confidence=0.8, measure="nuv") == (30, 20, 14, 12)


def test_files_and_pillow_images_go_with_arrays_of_opencv(tmp_path, rng):
    """Which have their colours the other way round."""
    screen = rng.integers(0, 256, (40, 50, 3), np.uint8)  # RGB
    icon = screen[10:20, 12:30]
    PIL.Image.fromarray(icon).save(tmp_path / "icon.png")
    as_read = cv2.imread(str(tmp_path / "icon.png"))
    for pattern in (as_read, tmp_path / "icon.png", PIL.Image.fromarray(icon)):
        assert locate_on(PIL.Image.fromarray(screen), pattern) == (12, 10, 18, 10)
        assert locate_on(screen[..., ::-1], pattern) == (12, 10, 18, 10)
    grey = cv2.imread(str(tmp_path / "icon.png"), cv2.IMREAD_GRAYSCALE)
    assert locate_on(screen[..., ::-1], grey, confidence=0.99) == (12, 10, 18, 10)
    assert locate_on(PIL.Image.fromarray(screen).convert("L"), as_read, confidence=0.99)


def test_what_is_transparent_in_an_icon_does_not_count_and_of_a_screen_all_does(rng):
    screen = np.dstack([rng.integers(0, 256, (40, 50, 3), np.uint8), np.zeros((40, 50), np.uint8)])
    icon = screen[10:20, 12:30].copy()
    icon[..., 3] = 255
    icon[:5, :9] = 77, 88, 99, 0
    assert locate_on(screen, icon) == (12, 10, 18, 10)
    icon[..., 3] = 255
    with pytest.raises(ImageNotFoundException):
        locate_on(screen, icon)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence": 90}, ValueError, "confidence is 90"),
        ({"confidence": "0.9"}, TypeError, "confidence is '0.9'"),
        ({"grayscale": 1}, TypeError, "grayscale is 1"),
        ({"measure": "sad"}, ValueError, "measure is 'sad'"),
        ({"step": 2}, TypeError, "step"),
    ],
)
def test_options_of_screens_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        locate_on(haystack(19, colour=False), slash(False), **options)


@pytest.mark.parametrize("shape", [(30, 40, 5), (30, 40, 1, 1), (30,), (), (0, 40)])
def test_what_is_no_screen_is_refused_by_its_shape(shape):
    with pytest.raises(ValueError, match=r"^image has shape \("):
        locate_on(np.ones(shape), slash(False))
    with pytest.raises(ValueError, match=r"^template has shape \("):
        locate_on(haystack(19, colour=True), np.ones(shape))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(OSError, match=r"nowhere\.png"):
        locate_on(haystack(19, colour=False), "nowhere.png")
