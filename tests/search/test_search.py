"""Many templates: they compete for each place, turned and resized as they may be."""

import math
import pickle
import warnings
from functools import cache
from pathlib import Path

import cv2
import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage

import nuvmatch as nv
from nuvmatch import Search
from nuvmatch.measures.template import Template

pytestmark = pytest.mark.compiled  # poses are hundreds of maps; test_small_poses.py has few


def noise(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@cache
def pattern(side=96, blur=2.0):
    """Smooth, as what is turned must be: between its pixels nothing is invented."""
    greys = ndimage.gaussian_filter(np.random.default_rng(7).normal(size=(side, side)), blur)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


def turned(image, angle, scale):
    """Turn an image about its center by a library of its own: and where a place is then."""
    turn = math.radians(angle)
    back = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]) / scale
    middle = (np.array(image.shape) - 1) / 2
    made = ndimage.affine_transform(
        image.astype(float), back, middle - back @ middle, order=3, mode="reflect"
    )
    forth = np.linalg.inv(back)
    return made.clip(0, 255), lambda place: middle + forth @ (np.array(place) - middle)


# As they are


def test_one_template_as_it_is_is_found_as_by_its_matcher():
    image, template = noise(60, 70), noise(60, 70)[20:32, 30:44]
    for settings in (
        {},
        {"max_matches": 4},
        {"threshold": 0.9},
        {"max_matches": 3, "subpixel": True},
    ):
        expected = nv.locate(image, template, **settings)
        assert Search(template).locate(image, **settings) == expected


@pytest.mark.parametrize("overlap", [0.0, 0.25, 0.8])
def test_templates_compete_for_each_place(overlap):
    """All local minima of all maps, best first, each unless it is near a better one."""
    image = noise(40, 50)
    parts = {"a": image[4:12, 5:13], "b": image[6:14, 7:17], "c": noise(9, 7, seed=1)}
    found = Search(parts).locate(image, max_matches=12, max_overlap=overlap)
    maps = {name: nv.score_map(image, part) for name, part in parts.items()}
    floors = {name: 1 - 7 / (part.size - 1) for name, part in parts.items()}
    shapes = {name: part.shape for name, part in parts.items()}
    expected = naive.compete(maps, shapes, floors, overlap)[:12]
    assert [(m.name, m.row, m.col) for m in found] == expected


@pytest.mark.parametrize("number", [1, 2, 7])
def test_rivals_take_places_and_are_neither_returned_nor_counted(number):
    image = noise(40, 50)
    parts = {"a": image[4:12, 5:13], "b": image[6:14, 7:17], "c": noise(9, 7, seed=1)}
    parts["d"] = image[5:13, 6:14]
    floors = {name: 1 - 7 / (part.size - 1) for name, part in parts.items()}
    shapes = {name: part.shape for name, part in parts.items()}
    for rivals in (["b"], ["a", "d"], ["c", "b", "d"]):
        search = Search(parts, rivals=rivals)
        assert search.rivals == tuple(rivals)
        found = search.locate(image, max_matches=number)
        maps = {name: nv.score_map(image, part) for name, part in parts.items()}
        places = naive.compete(maps, shapes, floors, 0.25)
        expected = [place for place in places if place[0] not in rivals][:number]
        assert [(m.name, m.row, m.col) for m in found] == expected


def test_a_rival_keeps_all_its_places_however_few_are_asked_for():
    image = noise(60, 70)
    like = noise(10, 10, seed=2)
    sought = like.copy()
    sought[3:6, 3:6] = 255 - sought[3:6, 3:6]
    for row, col in ((5, 5), (5, 40), (30, 20)):
        image[row : row + 10, col : col + 10] = like
    limits = {"max_per_name": 1, "threshold": 0.6}
    parts = {"it": sought, "like": like}
    assert [m.name for m in Search({"it": sought}).locate(image, **limits)] == ["it"]
    search = Search(parts, rivals=["like"])
    assert not search.locate(image, **limits)
    assert not search.locate(image, threshold=0.6, max_matches=1)
    image[45:55, 50:60] = sought
    (found,) = search.locate(image, **limits, false_alarms=0.01)
    assert (found.row, found.col) == (45, 50)
    alone = nv.locate(image, sought, false_alarms=math.inf, max_matches=1)[0]
    assert found.false_alarms == alone.false_alarms  # no rival is a false match


@pytest.mark.parametrize(
    ("rivals", "error", "message"),
    [
        (["x"], ValueError, "no template has that name: 'a', 'b'"),
        (["a", "b"], ValueError, "all templates are rivals"),
        ("a", TypeError, "a sequence of names"),
    ],
)
def test_rivals_that_cannot_be_are_told(rivals, error, message):
    parts = {"a": noise(8, 8), "b": noise(8, 8, seed=1)}
    with pytest.raises(error, match=message):
        Search(parts, rivals=rivals)


def test_many_peaks_in_one_place_hide_no_better_place():
    """Stripes match themselves, shifted, many times before the other template's best place."""
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (80, 120)).astype(np.uint8)
    first = image[5:21, 90:106].copy()
    image[5:21, 90:106] = np.clip(first + rng.normal(0, 40, first.shape), 0, 255)
    for row, col, blur in ((5, 5, 5), (50, 60, 7)):
        stripes = np.tile([40, 210], (20, 20)) + rng.normal(0, blur, (20, 40))
        image[row : row + 20, col : col + 40] = np.clip(stripes, 0, 255)
    parts = {"a": first, "b": image[7:23, 15:31]}
    maps = {name: nv.score_map(image, part, "ncc") for name, part in parts.items()}
    shapes = {name: part.shape for name, part in parts.items()}
    expected = naive.compete(maps, shapes, {"a": 1, "b": 1}, 0.25)
    for number in (1, 2, 4, 6):
        found = Search(parts, "ncc").locate(image, max_matches=number)
        assert {(m.name, m.row, m.col) for m in found} == set(expected[:number])


def test_what_passes_is_not_lost_by_rounding():
    for seed in (24, 66, 81, 83):  # of a score over what noise would score, and back
        image = np.random.default_rng(seed).normal(size=(40, 40))
        part = image[9:19, 12:22] + np.random.default_rng(99).normal(0, 0.05, (10, 10))
        other = np.random.default_rng(seed + 500).normal(size=(10, 10))
        (found,) = Search([part, other]).locate(image, false_alarms=1e-4)
        assert (found.name, found.row, found.col) == (0, 9, 12)


def test_what_a_lost_place_would_have_kept_away_is_found():
    """The best place of one goes to another: that beside it, which it had beaten, stays."""
    image = noise(30, 60)
    first, second = image[10:18, 10:18], image[10:18, 13:21]
    image[10:18, 13:21] = second
    scores = nv.score_map(image, first)
    scores[...] = 1
    names = [m.name for m in Search([first, second]).locate(image, max_per_name=1, max_overlap=0.1)]
    assert sorted(names) == [0, 1]


def test_names_are_keys_positions_or_nothing():
    image = noise(40, 40)
    parts = [image[:8, :8], image[20:30, 20:30]]
    assert {m.name for m in Search(parts).locate(image, max_per_name=1)} == {0, 1}
    assert Search(parts[0].tolist()).locate(image)[0].name is None
    named = Search({"x": parts[0], "y": parts[1]})
    assert named.names == ("x", "y")
    assert {m.name: m.row for m in named.locate(image, threshold=0.2)} == {"x": 0, "y": 20}


def test_how_many_of_each_name():
    image = noise(50, 50)
    template = image[5:13, 5:13]
    image[30:38, 20:28] = image[20:28, 35:43] = template
    search = Search({"it": template, "other": noise(8, 8, seed=3)})
    found = search.locate(image, max_per_name=2)
    assert [m.name for m in found] == ["it", "it", "other", "other"]
    assert [m.name for m in search.locate(image, max_matches=3)] == ["it"] * 3
    assert [m.name for m in search.locate(image, threshold=0.3, max_per_name=1)] == ["it"]


def test_false_alarms_count_all_templates():
    image = noise(80, 80)
    parts = [image[10:26, 10:26], noise(16, 16, seed=5), noise(16, 16, seed=6)]
    alone = nv.locate(image, parts[0], false_alarms=np.inf, max_matches=1)[0]
    (found,) = Search(parts).locate(image, false_alarms=0.01)
    assert (found.name, found.row, found.col) == (0, 10, 10)
    assert found.false_alarms == pytest.approx(3 * alone.false_alarms)


@pytest.mark.parametrize(("angles", "side"), [(0, 40), ((0, 50), 18)])
def test_of_several_templates_it_is_said_which_one_a_warning_is_of(angles, side):
    image = noise(side, side)
    search = Search({"a": image[:14, :14], "b": image[-14:, -14:]}, angles=angles)
    for call in (
        lambda: search.locate(image, false_alarms=1),
        lambda: search.calibrate(image),
    ):
        with pytest.warns(UserWarning, match="cannot be told") as said:
            call()
        told = [str(one.message) for one in said]
        assert [text[-14:] for text in told] == ["(template 'a')", "(template 'b')"]
        assert not any("Matcher" in text for text in told)
    with pytest.warns(UserWarning, match=r"^with 6 bins for 9 pixels .* \(template 1\)$"):
        Search([image[:9, :9], image[:3, :3]], nv.NUV(bins=6))
    unused = np.dstack([image] * 3 + [np.zeros_like(image)])  # of the image: of none of them
    with pytest.warns(UserWarning, match="of the image is 0 everywhere; .* for unused$"):
        Search([image[:9, :9, None].repeat(3, 2)] * 2).locate(unused)


def test_by_auto_the_right_one_gets_each_place():
    image = pattern(200)
    parts = {"a": image[20:52, 30:62], "b": image[110:142, 120:152]}
    scene = 255 - image
    found = Search(parts, "auto").locate(scene, false_alarms=1e-3)
    assert [(m.name, m.row, m.col) for m in sorted(found, key=lambda m: m.row)] == [
        ("a", 20, 30), ("b", 110, 120),
    ]  # fmt: skip


# Turned and resized


@pytest.mark.parametrize("shape", [(12, 12), (11, 16), (9, 7)])
@pytest.mark.parametrize("quarters", range(4))
def test_quarter_turns_are_exact(shape, quarters):
    """A place turned by quarters scores what the turned template scores there."""
    image = noise(40, 50)
    part = image[8 : 8 + shape[0], 21 : 21 + shape[1]]
    template = np.rot90(part, -quarters)
    (found,) = Search(template, angles=(0, 90, 180, 270)).locate(image)
    assert (found.angle, found.box) == (90 * quarters, (21, 8, shape[1], shape[0]))
    # Of noise, what is smoothed by interpolation may score a little lower than the very copy.
    middle = 8 + (shape[0] - 1) / 2, 21 + (shape[1] - 1) / 2
    assert found.center == pytest.approx(middle, abs=0.1)
    assert found.score <= nv.score(part, part) + 1e-6
    first = np.array(
        [(8, 21), (7 + shape[0], 21), (7 + shape[0], 20 + shape[1]), (8, 20 + shape[1])]
    )
    assert found.corners[0] == pytest.approx(first[quarters], abs=0.1)  # its own top left


@pytest.mark.parametrize(
    ("angle", "scale", "tones"),
    [(33, 1.1, None), (-140, 0.85, lambda x: 255 - x), (5, 1.2, lambda x: (x / 255) ** 0.4)],
)
def test_any_pose_is_found(angle, scale, tones):
    image, place = turned(pattern(), angle, scale)
    image = image if tones is None else tones(image)
    template = pattern()[38:66, 30:62]
    (found,) = Search(template, angles="all", scales=(0.8, 1.25)).locate(image, subpixel=True)
    assert_allclose(found.center, place((51.5, 45.5)), atol=0.1)
    assert (found.angle, found.scale) == (
        pytest.approx(angle, abs=0.2),
        pytest.approx(scale, abs=0.005),
    )
    for corner, own in zip(found.corners, [(38, 30), (38, 61), (65, 61), (65, 30)], strict=True):
        assert_allclose(corner, place(own), atol=0.25)
    assert 0 < found.sigma < 0.3


def test_scales_alone_and_angles_alone():
    template = pattern()[30:60, 30:60]
    image, place = turned(pattern(), 0, 1.5)
    (found,) = Search(template, scales=(1, 2)).locate(image)
    assert (found.angle, found.scale) == (0, pytest.approx(1.5, abs=0.01))
    assert_allclose(found.center, place((44.5, 44.5)), atol=0.15)
    image, place = turned(pattern(), 25, 1)
    (found,) = Search(template, angles=np.arange(0, 50, 5)).locate(image)
    assert (found.angle, found.scale) == (25, 1)
    assert_allclose(found.center, place((44.5, 44.5)), atol=0.15)


@pytest.mark.parametrize(("true", "scales", "end"), [(1.02, (0.7, 1), 1), (0.98, (1, 1.5), 1)])
def test_no_scale_beyond_the_range_is_told_nor_scored(true, scales, end):
    image, place = turned(pattern(), 0, true)
    template = pattern()[30:60, 30:60]
    (found,) = Search(template, scales=scales).locate(image)
    assert found.scale == end
    assert_allclose(found.center, place((44.5, 44.5)), atol=0.15)
    (free,) = Search(template, scales=(0.7, 1.5)).locate(image)
    (as_it_is,) = nv.locate(image, template)
    assert free.score < found.score < as_it_is.score + 1e-4  # a whole pixel is no better place


def test_coarse_to_fine_finds_what_every_pose_at_full_resolution_does():
    image, _ = turned(pattern(), 70, 0.9)
    noisy = image + np.random.default_rng(1).normal(0, 10, image.shape)
    template = pattern()[40:60, 34:58]
    best, quick = (
        Search(template, angles="all", scales=(0.9,), exact=exact).locate(noisy)[0]
        for exact in (True, False)
    )
    assert_allclose(quick.center, best.center, atol=0.05)
    assert quick.score == pytest.approx(best.score, abs=1e-3)


def test_listed_poses_may_be_finer_than_a_pixel():
    image = noise(60, 60)
    template = image[20:44, 14:38]
    (found,) = Search(template, angles=np.arange(-3, 4, 0.5)).locate(image)
    assert (found.angle, found.box) == (0, (14, 20, 24, 24))
    (found,) = Search(template, scales=(0.96, 0.98, 1, 1.02)).locate(image)
    assert (found.scale, found.box) == (1, (14, 20, 24, 24))


def test_several_copies_turned_each_its_own_way():
    image = np.full((150, 150), 90.0)
    places = {20: (40, 40), 110: (40, 105), 200: (105, 45), 290: (105, 105)}
    template = pattern()[20:44, 20:44]
    for angle, (row, col) in places.items():
        part, _ = turned(pattern()[4:60, 4:60], angle, 1)
        image[row - 17 : row + 18, col - 17 : col + 18] = part[10:45, 10:45]
    image += np.random.default_rng(2).normal(0, 3, image.shape)
    found = Search(template, angles="all").locate(image, threshold=0.1)
    assert len(found) == 4
    for match in found:
        angle = min(places, key=lambda a: abs((match.angle - a + 180) % 360 - 180))
        assert abs((match.angle - angle + 180) % 360 - 180) < 1.5
        assert_allclose(match.center, places[angle], atol=1.1)


def test_colour_and_grey_are_refused_as_they_were_given():
    search = Search(noise(8, 9), angles="all")
    with pytest.raises(ValueError, match=r"colour, \(40, 40\), and the template grey, \(8, 9\)"):
        search.locate(np.dstack([noise(40, 40)] * 3))


def test_colour_masks_and_alpha_turn_as_well():
    planes = np.dstack([pattern(), pattern().T, pattern()[::-1]])
    image = np.dstack([turned(plane, 40, 1)[0] for plane in np.moveaxis(planes, 2, 0)])
    _, place = turned(pattern(), 40, 1)
    template = planes[36:64, 30:58]
    disc = np.hypot(*(np.indices((28, 28)) - 13.5)) < 13.5
    for given in (
        {"templates": template},
        {"templates": template, "masks": disc},
        {"templates": np.dstack([template, 255 * disc.astype(np.uint8)])},
    ):
        (found,) = Search(**given, angles="all").locate(image)
        assert_allclose(found.center, place((49.5, 43.5)), atol=0.15)
        assert found.angle == pytest.approx(40, abs=0.3)
        assert len(found.tone_curves) == 3


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32, np.float64])
def test_greys_of_any_type(dtype):
    image, place = turned(pattern(), 40, 1)
    (found,) = Search((pattern()[36:64, 30:58] * 100.0).astype(dtype), angles="all").locate(
        (image * 100).astype(dtype)
    )
    assert_allclose(found.center, place((49.5, 43.5)), atol=0.1)


def test_what_must_not_be_used_is_not():
    image, place = turned(pattern(), 40, 1)
    template = pattern()[36:64, 30:58]
    row, col = place((49.5, 43.5))
    search = Search(template, angles="all")
    masked = np.ones(image.shape, bool)
    masked[round(row), round(col)] = False
    broken = np.where(masked, image, np.nan)
    for given in ({"image": image, "image_mask": masked}, {"image": broken}):
        for match in search.locate(**given, max_matches=3):
            assert math.dist(match.center, (row, col)) > 10
    region = (round(row) - 22, round(col) - 22, 44, 44)
    (found,) = search.locate(image, region=region)
    assert_allclose(found.center, (row, col), atol=0.1)
    assert not search.locate(image, region=(90, 90, 40, 40))
    for kind in (image, image.astype(np.int64)):
        assert not search.locate(kind, region=(200, 90, 40, 40))  # beside the image


def test_false_alarms_tell_what_is_there_from_what_is_not():
    image, place = turned(pattern(200), 40, 1)
    search = Search(pattern(200)[86:114, 80:108], angles="all")
    (there,) = search.locate(image, false_alarms=0.01)
    assert_allclose(there.center, place((99.5, 93.5)), atol=0.1)
    other = ndimage.gaussian_filter(np.random.default_rng(3).normal(size=(200, 200)), 2)
    assert not search.locate(other, false_alarms=0.01)
    (best,) = search.locate(other, false_alarms=math.inf, max_matches=1)
    assert 0.02 < best.false_alarms < 50


@pytest.mark.parametrize("measure", ["nuv", "mi"])
def test_what_is_fine_as_noise_is_believed_at_any_angle(measure):
    """Mirrored twice it is itself, turned by half: that is no decoy, it would be found as well."""
    image = noise(90, 100)
    (found,) = Search(image[30:50, 40:60], measure, angles=(0, 90, 180, 270)).locate(
        np.rot90(image, 2) // 2, false_alarms=1e-6
    )
    assert (found.row, found.col, found.angle % 360) == (40, 40, 180)


def test_an_edge_is_not_told_by_shifts_of_it():
    """They are no edges, or elsewhere: images have many more edges than chance shows of these."""
    across = np.linspace(-3, 3, 24)
    edge = np.rint(127 * (1 + np.tanh(across)))[:, None].repeat(24, axis=1).astype(np.uint8)
    search = Search(edge + noise(24, 24) // 64, angles="all")
    with pytest.warns(UserWarning, match="is like its mirror images"):
        search.locate(pattern(260), false_alarms=1)


def test_what_stands_out_is_looked_for_once_and_what_is_not_there_twice():
    image = pattern(200)
    search = Search(image[80:130, 70:120], angles="all")
    other = ndimage.gaussian_filter(np.random.default_rng(3).normal(size=(200, 200)), 2)
    for scene, looks in ((image, 1), (other, 2)):
        told = []
        search.locate(scene, progress=lambda *parts, told=told: told.append(parts))
        assert told[-1] == (looks, looks)


def test_what_does_not_stand_out_is_looked_for_more_closely():
    """Of tones solarised averages are not the tones of averages: small it looks like nothing."""
    scenes = Path(__file__).parents[2] / "samples" / "scenes"
    scene = nv.io.read_image(scenes / "camera_solarised.png")
    template = nv.io.read_image(scenes.parent / "templates" / "camera.png")
    search = Search(template, angles="all")
    (best,) = search.locate(scene)
    assert (best.row, best.col) == (130, 254)
    assert abs(best.angle) < 1
    (believed,) = search.locate(scene, false_alarms=1e-6)
    assert_allclose(believed.center, best.center, atol=0.1)
    null = search.calibrate(scene)
    (again,) = search.locate(scene, null=null, false_alarms=1e-6)
    assert_allclose(again.center, best.center, atol=0.1)


@pytest.mark.parametrize("side", [14, 30])
@pytest.mark.parametrize(
    "poses",
    [
        {"angles": (0, 1, 2, 90)},
        {"angles": range(-5, 6)},
        {"angles": range(360)},
        {"scales": (1, 1.02, 1.04)},
        {"angles": range(-2, 3), "scales": (0.98, 1, 1.02)},
        {"angles": (0, 1, 2), "exact": True},
        {"angles": "all"},
    ],
    ids=str,
)
def test_nothing_is_worse_than_a_copy_as_drawn_however_finely_poses_are_listed(poses, side):
    """That it lies on whole pixels is worth more than a degree that moves corners by a part."""
    photo = nv.io.read_image(Path(__file__).parents[2] / "samples" / "photos" / "coins.png")
    for row, col in ((20, 30), (47, 121), (90, 201)):
        template = photo[row : row + side, col : col + side]
        image = photo[max(row - 40, 0) : row + side + 40, col - 30 : col + side + 30]
        top, left = min(row, 40), 30
        (best,) = Search(template, **poses).locate(image)
        (copy,) = nv.locate(image, template)
        assert (copy.row, copy.col) == (top, left)
        assert best.score <= copy.score * (1 + 1e-6)
        corner = side / math.sqrt(2)
        assert math.radians(abs(best.angle)) * corner < 0.5  # pixels
        assert abs(best.scale - 1) * corner < 0.5
        assert_allclose(best.center, copy.center, atol=0.6)  # what is smooth scores less


@pytest.mark.parametrize("angle", [3, -4])
def test_of_angles_listed_finely_the_nearest_is_found(angle):
    image, place = turned(pattern(), angle + 0.2, 1.0)
    template = pattern()[30:62, 28:64]
    (best,) = Search(template, angles=range(-5, 6)).locate(image)
    assert best.angle == angle
    assert_allclose(best.center, place((45.5, 45.5)), atol=0.1)


STROKES = {"6": "afgedc", "8": "abcdefg"}


def digit(name):
    """A seven-segment digit, dark on light, with a margin."""
    image = np.full((27, 19), 220, np.uint8)
    ends = {
        "a": (3, 3, 6, 16), "g": (12, 3, 15, 16), "d": (21, 3, 24, 16), "f": (3, 3, 15, 6),
        "b": (3, 13, 15, 16), "e": (12, 3, 24, 6), "c": (12, 13, 24, 16),
    }  # fmt: skip
    for stroke in STROKES[name]:
        top, left, bottom, right = ends[stroke]
        image[top:bottom, left:right] = 40
    return image


@pytest.mark.filterwarnings("ignore:the template equals its mirror images")
def test_a_look_alike_does_not_get_the_place_of_what_chance_shows_more_of():
    """An 8 has no mirror images of its own, so that it is believed sooner than a 6."""
    scene = np.full((120, 160), 60.0)
    for name, (row, col) in {"6": (20, 30), "8": (70, 100)}.items():
        scene[row : row + 27, col : col + 19] = 255 - digit(name)
    scene += np.random.default_rng(0).normal(0, 12, scene.shape)
    found = Search({name: digit(name) for name in "68"}).locate(scene, false_alarms=1)
    assert ("8", 70, 100) in [(m.name, m.row, m.col) for m in found]
    assert all(m.name == "6" for m in found if (m.row, m.col) == (20, 30))


@pytest.mark.parametrize("shifted", [True, False])
def test_false_alarms_of_what_is_symmetric(shifted, monkeypatch):
    """Its mirror image is itself turned: shifts of it tell what chance shows, or other places."""
    cog = 12 + 2 * (np.arctan2(*(np.indices((33, 33)) - 16)) * 6 / math.pi % 2 < 1)
    radius = np.hypot(*(np.indices((33, 33)) - 16))
    template = np.where((radius < cog) & (radius > 5), 200, 60).astype(np.uint8)
    rng = np.random.default_rng(0)
    scene = 60 + 360 * ndimage.gaussian_filter(rng.normal(size=(200, 200)), 2)
    scene[80:113, 90:123] = template
    scene += rng.normal(0, 6, scene.shape)
    search = Search(template, angles="all")
    if shifted:
        found = search.locate(scene, false_alarms=0.01)
    else:
        monkeypatch.setattr(Template, "shifted_images", Template.mirror_images)
        with pytest.warns(UserWarning, match="is like its mirror images turned"):
            found = search.locate(scene, false_alarms=0.01)
    assert [tuple(np.round(match.center)) for match in found] == [(96, 106)]


@pytest.mark.parametrize(
    "measure", [pytest.param("nuv_adaptive", marks=pytest.mark.slow), "ncc", "nuv"]
)
def test_what_is_there_is_claimed_beside_its_mirror_image(measure, rng):
    """Turned or not, as the arrow back beside the arrow is; and neither beside nothing."""
    ground = ndimage.gaussian_filter(rng.normal(size=(240, 320)), 2)
    arrow = np.rint(ndimage.gaussian_filter(rng.normal(size=(24, 32)), 2) * 600)
    image = np.rint(ground * 500)
    image[150:174, 20:52] = arrow[:, ::-1]
    search = Search(arrow, measure, angles=range(-10, 11, 2))
    with warnings.catch_warnings(action="ignore"):  # decoys may score 0
        assert not search.locate(image, false_alarms=1e-2)
    image[80:104, 60:92] = arrow
    for found in (
        search.locate(image, false_alarms=1e-6),
        search.locate(image, false_alarms=1e-6, null=search.calibrate(image, image[::-1].copy())),
    ):
        assert [(match.row, match.col, match.angle) for match in found] == [(80, 60, 0)]


def test_of_places_that_match_equally_an_exact_copy_comes_first_beside_others():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        image = rng.normal(100, 30, (60, 70)).astype(np.float32)
        parts = [rng.normal(100, 30, shape).astype(np.float32) for shape in ((12, 14), (13, 12))]
        image[5:17, 5:19] = np.float32(77.7) - np.float32(0.37) * parts[0]
        image[30:42, 40:54], image[45:58, 20:32] = parts
        places = [(m.name, m.row, m.col) for m in Search(parts).locate(image, max_per_name=1)]
        assert sorted(places) == [(0, 30, 40), (1, 45, 20)]


def test_greys_and_thresholds_of_any_size_are_taken():
    image = pattern(60).astype(float)
    search = Search(image[20:34, 10:26], angles=(0, 180))
    for scale in (1, 1e303, 1e-300):
        (found,) = search.locate(image * scale, threshold=1e300, max_matches=1)
        assert (found.row, found.col, found.angle) == (20, 10, 0)


def test_masks_of_a_list_of_templates_may_be_of_some():
    image = noise(40, 50)
    parts, mask = [image[5:17, 6:20], image[20:32, 30:42]], np.ones((12, 12), np.uint8)
    mask[:4] = 0
    expected = Search(parts, masks=[None, mask]).locate(255 - image, max_per_name=1)
    assert Search(parts, masks={1: mask}).locate(255 - image, max_per_name=1) == expected
    with pytest.raises(ValueError, match="masks has 2; no template has that name"):
        Search(parts, masks={2: mask})


@pytest.mark.parametrize(
    "make",
    [
        lambda image: np.zeros_like(image),
        lambda image: np.full(image.shape, np.nan),
        lambda image: np.where(np.indices(image.shape)[0] % 2 == 0, image, np.nan),
    ],
)
def test_nothing_is_found_where_nothing_can_be(make):
    image = noise(40, 40).astype(float)
    search = Search(noise(8, 8, seed=1), angles="all", scales=(0.8, 1.25))
    assert len(search.locate(make(image), max_matches=3)) == 0


@pytest.mark.parametrize(
    ("factor", "offset", "dtype"),
    [
        (2**54, 2**63, np.uint64), (2**40, -(2**60), np.int64), (1, -128, np.int8),
        (1e300, 0, np.float64), (1e-300, 0, np.float64), (1, 1e6, np.float32),
        (0.25, 0, np.float16), (100, 0, ">u2"), (1, 0, np.longdouble),
    ],
)  # fmt: skip
def test_greys_of_any_size(factor, offset, dtype):
    image, place = turned(pattern(), 40, 1)
    image, template = (
        (np.rint(part / 2).astype(object) * int(factor) + int(offset)).astype(dtype)
        if factor >= 1 and factor < 1e300
        else (part * factor + offset).astype(dtype)
        for part in (image, pattern()[36:64, 30:58].astype(float))
    )
    (found,) = Search(template, angles="all").locate(image)
    assert_allclose(found.center, place((49.5, 43.5)), atol=0.2)


def test_layouts_do_not_matter():
    image = np.rint(turned(pattern(), 40, 1)[0]).astype(np.uint8)
    wide = np.zeros((2 * image.shape[0], 3 * image.shape[1]), np.uint8)
    wide[::2, ::3] = image
    fixed = image.copy()
    fixed.flags.writeable = False
    search = Search(pattern()[36:64, 30:58], angles="all")
    expected = search.locate(image)
    for layout in (wide[::2, ::3], np.asfortranarray(image), fixed, image[::-1][::-1]):
        assert search.locate(layout) == expected


def test_a_template_as_large_as_the_image_or_a_single_row():
    image = noise(24, 30)
    (found,) = Search(image, angles=(0, 180)).locate(image[::-1, ::-1])
    assert (found.angle, found.box) == (180, (0, 0, 30, 24))
    (row,) = Search(image[7:8], angles=(0, 90)).locate(np.rot90(image))
    assert (row.angle, row.box) == (90, (7, 0, 1, 30))


def test_booleans_turn():
    image = pattern() > 120
    turned_image, place = turned(image.astype(np.uint8) * 255, 40, 1)
    (found,) = Search(image[36:64, 30:58], angles="all").locate(turned_image > 127)
    assert_allclose(found.center, place((49.5, 43.5)), atol=0.3)


def test_it_can_be_pickled():
    image, _ = turned(pattern(), 40, 1)
    search = Search({"it": pattern()[36:64, 30:58]}, angles="all")
    again = pickle.loads(pickle.dumps(search))
    assert again.locate(image) == search.locate(image)


def test_threads_do_not_change_what_is_found():
    image, _ = turned(pattern(), 40, 1)
    template = pattern()[36:64, 30:58]
    one, four = (Search(template, angles="all", n_threads=n).locate(image) for n in (1, 4))
    assert one == four


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"templates": []}, ValueError, "no template"),
        ({"templates": {}}, ValueError, "no template"),
        ({"templates": {"x": np.zeros((8, 8))}}, ValueError, "template 'x'.*flat"),
        ({"templates": [noise(8, 8), None]}, TypeError, "template 1.*None"),
        ({"templates": None}, TypeError, "template is None"),
        ({"templates": {"x": noise(8, 8)}, "masks": {"y": None}}, ValueError, "'y'"),
        ({"templates": {"x": noise(8, 8)}, "masks": [None]}, TypeError, "a dict"),
        ({"templates": [noise(8, 8)], "masks": []}, ValueError, "1 templates and 0 masks"),
        ({"templates": noise(8, 8), "angles": "all", "measure": "auto"}, ValueError, "auto"),
        ({"templates": noise(8, 8), "exact": 1}, TypeError, "exact"),
        ({"templates": noise(8, 8), "scales": (2, 1)}, ValueError, "scales"),
        ({"templates": noise(8, 8), "scales": (0.1, 1)}, ValueError, "leaves 0.64 pixels"),
    ],
)
def test_bad_arguments_are_told(given, error, message):
    with pytest.raises(error, match=message):
        Search(**given)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"max_per_name": 0}, ValueError, "max_per_name"),
        ({"max_matches": 0}, ValueError, "max_matches"),
        ({"image": noise(5, 30)}, ValueError, "larger than the image"),
        ({"image": noise(30, 30, 3)}, ValueError, "grey"),
        ({"region": (0, 0, 5, 5)}, ValueError, "region"),
    ],
)
@pytest.mark.parametrize("angles", [0.0, "all"])
def test_bad_calls_are_told(given, error, message, angles):
    with pytest.raises(error, match=message):
        Search(noise(8, 8), angles=angles).locate(**{"image": noise(30, 30)} | given)


def test_bits_do_not_depend_on_the_call():
    image, _ = turned(pattern(), 40, 1)
    search = Search(pattern()[36:64, 30:58], angles="all")
    first = search.locate(image, max_matches=3)
    assert_array_equal(first.scores, search.locate(image, max_matches=3).scores)


@pytest.mark.parametrize("turned", [{}, {"angles": (0, 180)}, {"angles": (0, 180), "exact": True}])
def test_all_places_of_what_repeats_itself_are_found(turned, rng):
    """Dies of a wafer: a template of 2 x 2 of them is at every die."""
    die = 200 * rng.random((12, 12))
    wafer = np.tile(die, (10, 10)) + rng.normal(0, 4, (120, 120))
    found = Search(np.tile(die, (2, 2)), **turned).locate(wafer, threshold=0.1, max_overlap=1)
    assert {(match.row, match.col) for match in found} == {
        (12 * row, 12 * col) for row in range(9) for col in range(9)
    }


@pytest.mark.parametrize("base", [0, 2**60, 2**62, -(2**62)])
@pytest.mark.parametrize("measure", ["nuv", "ssd"])
def test_wide_whole_numbers_are_found_in_any_pose(base, measure, rng):
    smooth = ndimage.gaussian_filter(rng.normal(size=(120, 140)), 3)
    greys = np.rint(1000 * smooth).astype(np.int64) + base
    match = Search(greys[60:92, 80:120], measure, angles=(0, 45, 90)).locate(greys)[0]
    assert (match.region, match.angle) == ((60, 80, 32, 40), 0)
    assert match.score < 0.1


@pytest.mark.parametrize("order", [1, -1])
def test_of_look_alikes_that_auto_is_sure_of_the_better_one_wins(order):
    """Both have fewer false alarms than a float can tell."""
    image = noise(80, 80)
    exact = image[20:44, 30:54].copy()
    change = np.random.default_rng(1).integers(-20, 21, exact.shape)
    noisy = np.clip(exact + change, 0, 255).astype(np.uint8)
    search = Search(dict([("noisy", noisy), ("exact", exact)][::order]), "auto")
    for options in ({}, {"false_alarms": 1}):
        (best,) = search.locate(image, **options)
        assert (best.name, best.row, best.col) == ("exact", 20, 30)


@pytest.mark.parametrize("order", [1, -1])
def test_where_auto_cannot_decide_ncc_orders_all_templates(order):
    image = noise(24, 24)
    other = np.random.default_rng(3).integers(0, 256, (12, 12), dtype=np.uint8)
    given = [("a", other), ("b", image[5:17, 7:19].copy())][::order]
    with warnings.catch_warnings(action="ignore"):
        (best,) = Search(dict(given), "auto").locate(image)
    assert (best.name, best.row, best.col) == ("b", 5, 7)


def test_what_chance_shows_of_other_poses_is_refused():
    image = noise(60, 70)
    template = image[10:24, 10:24]
    few, many = (Search(template, angles=range(0, 360, by)) for by in (90, 45))
    with warnings.catch_warnings(action="ignore"):
        known, upright = few.calibrate(image), nv.Matcher(template).calibrate(image)
    few.locate(image, null=known)
    for search, null in ((many, known), (many, upright), (nv.Matcher(template), known[None])):
        with pytest.raises(ValueError, match=r"null is of another template .* or of other poses"):
            search.locate(image, null=null)


@pytest.mark.parametrize("dtype", [np.uint64, np.int64])
def test_the_highest_whole_numbers_are_right_in_all_poses(dtype):
    small = noise(60, 60)
    steps = np.iinfo(dtype).max // 255
    image = (small.astype(object) * steps).astype(dtype)
    turned = np.ascontiguousarray(np.rot90(image[10:34, 20:40], -1))
    (best,) = Search(turned, "ncc", angles=(0, 90)).locate(image)
    assert (best.row, best.col, best.angle) == (10, 20, 90)
    assert_allclose(best.score, 0, atol=1e-6)


def test_a_threshold_is_compared_as_scores_are():
    image = noise(60, 70)
    template = image[10:24, 10:24]
    score = Search(template, angles=(0, 90)).locate(image)[0].score
    below = float(np.nextafter(score, 0))  # the same in single precision
    for search in (Search(template, angles=(0, 90)), nv.Matcher(template)):
        assert len(search.locate(image, threshold=below)) == 1


def test_a_scale_is_told_as_it_was_given():
    image = pattern(120)
    small = cv2.resize(image[40:100, 40:100], (20, 20), interpolation=cv2.INTER_AREA)
    assert Search(small, scales=3).locate(image)[0].scale == 3


def test_images_too_small_for_every_pose_teach_nothing():
    template = noise(10, 10)
    with pytest.raises(ValueError, match=r"larger than the image of shape \(5, 5\)"):
        Search(template, angles=range(0, 360, 15)).calibrate(noise(5, 5))


def test_alpha_that_leaves_no_window_is_told_of_in_all_poses():
    image = np.dstack([noise(60, 60), np.full((60, 60), 255, np.uint8)])
    image[::9, ::9, 1] = 0
    for options in ({}, {"angles": (0, 90)}):
        with pytest.warns(UserWarning, match="alpha leaves no window"):
            assert not Search(noise(12, 12), **options).locate(image)
