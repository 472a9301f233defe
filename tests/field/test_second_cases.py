"""What went wrong for real users, second set: reduced to small inputs with right values.

Each stands for its whole kind; sources are issues of the projects named.
"""

import contextlib
import pickle

import numpy as np
import pytest
import scipy.ndimage
from numpy.testing import assert_array_equal
from PIL import Image

import nuvmatch
from nuvmatch import MI, NUV, AdaptiveNUV, LinearNUV, Matcher, MonotoneNUV, locate
from nuvmatch.measures import NAMED

pytestmark = pytest.mark.compiled  # many maps

y, x = np.mgrid[:21, :21] - 10.0
MADE = {
    "dark spot": -np.exp(-(x * x + y * y) / 2.88),
    "bright spot": np.exp(-(x * x + y * y) / 2.88),
    "LoG": (x * x + y * y - 8) * np.exp(-(x * x + y * y) / 8),
    "Gabor": np.exp(-(x * x + y * y) / 30) * np.cos(x / 2 + y / 3),
}


def place(image, template, *args, **options):
    (match,) = locate(image, template, *args, **options)
    return match.row, match.col


# Floats whose greys nearly coincide (janpipek/physt#79).


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("measure", [*NAMED, NUV(bins="auto"), NUV(binning="greedy")], ids=str)
@pytest.mark.parametrize("kind", MADE)
def test_made_templates_are_found(kind, measure, dtype):
    template = MADE[kind].astype(dtype)
    scene = np.random.default_rng(0).normal(0, 0.02, (60, 70))
    scene[17:38, 30:51] += 3 * template
    few = measure == "auto"  # places, to learn from
    with pytest.warns(match="no measure can tell") if few else contextlib.nullcontext():
        assert place(scene.astype(dtype), template, measure) == (17, 30)


FILTERS = {
    "resampled": lambda t: scipy.ndimage.zoom(t, 1.25, order=1),
    "turned": lambda t: scipy.ndimage.rotate(t, 30, reshape=False, order=1),
    "averaged": lambda t: (t + t[::-1] + t[:, ::-1]) / 3,
    "box-filtered": lambda t: scipy.ndimage.uniform_filter(t, 3),
    "Gaussian": lambda t: scipy.ndimage.gaussian_filter(t, 2),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("change", FILTERS)
def test_no_filtered_template_is_refused(change, dtype, rng):
    for _ in range(20):
        template = FILTERS[change](rng.integers(0, 256, (16, 18)).astype(dtype)).astype(dtype)
        scene = rng.normal(128, 9, (50, 60)).astype(dtype)
        height, width = template.shape
        scene[5 : 5 + height, 7 : 7 + width] = template
        assert place(scene, template) == place(scene, template, "ncc") == (5, 7)
        for measure in (LinearNUV(), AdaptiveNUV(), MI(), NUV(binning="greedy"), NUV(bins="auto")):
            Matcher(template, measure)


@pytest.mark.parametrize("tiny", [1e-20, 5e-324, -1e-300])
def test_greys_that_are_one_after_scaling_are_one_level(tiny):
    template = [[-1, 0, tiny, 1], [2, 3, tiny, 5], [0, 1, 2, 3.0]]
    (cut,) = Matcher(template, NUV(bins=5)).bins
    assert cut.counts.sum() == 12
    labels = cut.labels[[0, 0, 1], [1, 2, 2]]
    assert len(set(labels.tolist())) == 1


def test_whole_numbers_beyond_2_to_the_63(rng):
    low = rng.integers(0, 2**64 - 1, (9, 9), np.uint64)
    low[0, 0], low[0, 1] = 0, 2**64 - 1
    scene = rng.integers(0, 2**64 - 1, (30, 30), np.uint64)
    scene[4:13, 8:17] = low
    for measure in ("nuv", "nuv_linear", "nuv_adaptive", "mi", NUV(bins="fd"), NUV(bins="auto")):
        assert place(scene, low, measure) == (4, 8)


@pytest.mark.parametrize("lowest", [-(2**63), -(2**62), -10, 2**53 + 1])
def test_whole_numbers_of_both_signs_beyond_2_to_the_63(lowest):
    template = np.array([[lowest, 0, 5, 7], [7, 9, 2**62, 2**63 - 1]], np.int64)
    matcher = Matcher(template)
    (cut,) = matcher.bins
    assert cut.edges[0] == template.min()
    assert cut.edges[-1] == template.max()
    again = Matcher(template, NUV(bins=cut.edges))
    assert_array_equal(again.bins[0].labels, cut.labels)
    assert eval(repr(again.measure), vars(nuvmatch)) == again.measure


def test_edges_on_both_sides_of_2_to_the_63_are_kept():
    measure = NUV(bins=np.array([2**63 - 9, 2**63 + 5, 2**64 - 1], np.uint64))
    assert eval(repr(measure), vars(nuvmatch)) == measure


# A hot pixel beats the star (EranOfek/AstroPack#675, #708).


@pytest.mark.parametrize("measure", ["nuv", "nuv_linear", "nuv_monotone", "nuv_adaptive", "ncc"])
@pytest.mark.parametrize("hot", [[], [(90, 30, 40000), (20, 120, 20000)], [(90, 30, 3000)]])
def test_a_hot_pixel_does_not_beat_the_star(measure, hot):
    rows, cols = np.mgrid[:11, :11] - 5
    star = 3000 * np.exp(-(rows * rows + cols * cols) / 5.12)
    sky = np.random.default_rng(0).normal(1000, 12, (120, 160))
    sky[40:51, 60:71] += star
    for row, col, more in hot:
        sky[row, col] += more
    template = np.rint(1000 + star).astype(np.uint16)
    assert place(np.rint(sky).astype(np.uint16), template, measure) == (40, 60)


@pytest.mark.parametrize("model", [NUV, MonotoneNUV, LinearNUV, AdaptiveNUV, MI])
@pytest.mark.parametrize("binning", ["optimal", "greedy", "kmeans", "equal_width"])
def test_bins_that_a_measure_places_hold_two_pixels(model, binning, rng):
    for side in (4, 8, 12, 16):
        template = rng.integers(0, 256, (side, side)).astype(np.uint8)
        template[0, 0], template[1, 1] = 255, 0
        (cut,) = Matcher(template, model(binning=binning)).bins
        assert cut.counts.min() >= 2
        assert cut.counts.size >= 2


# What a matcher says of itself is accepted.


@pytest.mark.parametrize(
    "measure", ["nuv", "nuv_linear", "nuv_monotone", "nuv_curves", "nuv_adaptive"]
)
@pytest.mark.parametrize("kind", ["bool", "uint8", "float", "large", "colour", "flat channel"])
def test_edges_that_a_matcher_reports_are_its_bins(measure, kind, rng):
    size = (12, 13, 3) if kind in ("colour", "flat channel") else (12, 13)
    template = rng.integers(0, 200, size)
    scene = rng.integers(0, 200, (40, 50, *size[2:]))
    if kind == "flat channel":
        template[..., 1] = 7
    scene[3:15, 4:17] = template
    convert = {
        "bool": lambda a: a > 99,
        "float": lambda a: a / 7,
        "large": lambda a: a + 2**60,
    }.get(kind, lambda a: a.astype(np.uint8))
    template, scene = convert(template), convert(scene)
    matcher = Matcher(template, measure)
    edges = tuple(cut.edges for cut in matcher.bins)
    again = Matcher(template, type(matcher.measure)(bins=edges if len(edges) > 1 else edges[0]))
    for mine, theirs in zip(matcher.bins, again.bins, strict=True):
        assert_array_equal(mine.labels, theirs.labels)
        assert_array_equal(mine.edges, theirs.edges)
    assert_array_equal(matcher.score_map(scene), again.score_map(scene))
    assert eval(repr(again.measure), vars(nuvmatch)) == again.measure


# 12 bits in 16 (ver228/tierpsy-tracker#2, raspberrypi/picamera2#311).


@pytest.mark.parametrize("bits", [8, 10, 12, 14])
@pytest.mark.parametrize("measure", [NUV, nuvmatch.CurvesNUV, AdaptiveNUV])
def test_bits_may_stand_left_or_right(bits, measure):
    ramp = np.add.outer(np.linspace(0, 1, 24) ** 2, np.linspace(0, 1, 24)) / 2
    right = np.rint((2**bits - 1) * ramp).astype(np.uint16)
    left = right << (16 - bits)
    said = measure(levels_range=(0, 2**bits - 1))
    counts = [
        Matcher(template, chosen).bins[0].counts.tolist()
        for template, chosen in [
            (right, measure()),
            (left, measure()),
            (right, said),
            (right.astype(np.int32), said),
        ]
    ]
    assert counts[1:] == counts[:-1]


# Screen captures with an unused fourth byte (BoboTiG/python-mss#151).


def test_alpha_that_is_0_everywhere_is_no_alpha(rng):
    screen = rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)
    capture = np.dstack([screen, np.zeros((60, 80), np.uint8)])
    with pytest.warns(UserWarning, match="alpha channel of the image is 0 everywhere"):
        assert place(capture, screen[20:36, 30:50]) == (20, 30)
    with pytest.warns(UserWarning, match="alpha channel of the template is 0 everywhere"):
        assert place(screen, capture[20:36, 30:50]) == (20, 30)


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("value", [-1.0, np.nan, 1.5, 255.0])
def test_what_cannot_be_alpha_is_not_taken_for_it(channels, value, rng):
    image = rng.random((30, 30, channels))
    image[3, 4, -1] = value
    with pytest.raises(ValueError, match=rf"channel {channels} is alpha.*leave it out"):
        locate(image, rng.random((5, 5) if channels == 2 else (5, 5, 3)))


def test_alpha_that_leaves_no_window_is_named(rng):
    image = rng.integers(0, 256, (30, 30, 2), dtype=np.uint8)
    image[..., 1] = np.where(np.arange(30) % 3, 255, 0)
    template = image[:6, :6, 0]
    with pytest.warns(UserWarning, match="alpha leaves no window"):
        assert not locate(image, template)
    with pytest.warns(UserWarning, match="alpha leaves no window"):
        assert (nuvmatch.score_map(image, template) == 1).all()


# Pillow images (chaiNNer-org/chaiNNer#2881, python-pillow/Pillow#7045).


@pytest.mark.parametrize("mode", ["RGB", "L", "LA", "RGBA", "1", "F"])
def test_pillow_images_are_taken_as_they_are(mode, rng):
    screen = Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)).convert(mode)
    assert place(screen, screen.crop((30, 20, 50, 36))) == (20, 30)


@pytest.mark.parametrize("mode", ["P", "CMYK", "HSV", "LAB", "YCbCr"])
def test_pillow_images_of_no_greys_are_refused_by_name(mode, rng):
    screen = Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8))
    screen = Image.new("LAB", (80, 60)) if mode == "LAB" else screen.convert(mode)
    with pytest.raises(ValueError, match=f"image is a Pillow image of mode '{mode}'.*convert"):
        locate(screen, screen.crop((30, 20, 50, 36)))


# Soft edges and shadows (aiselp/AutoX#161).


def soft_icon(ground, rng):
    """A scene with an icon that has a soft edge and a shadow, and the icon."""
    rows, cols = np.mgrid[:24, :24] - 12
    body = np.clip(9.5 - np.hypot(cols, rows), 0, 1)
    shadow = 0.4 * np.clip(1 - np.hypot(cols - 1, rows - 1) / 13, 0, 1)
    alpha = np.maximum(body, shadow)
    colour = np.where(abs(cols) < 3, 60.0, 200) * (body > 0)
    icon = np.dstack([colour, colour, colour, 255 * alpha]).round().astype(np.uint8)
    scene = {
        "busy": rng.integers(0, 256, (20, 30, 3)).repeat(8, 0).repeat(8, 1).astype(float),
        "dark": np.full((160, 240, 3), 30.0) + rng.integers(0, 9, (160, 240, 1)),
        "white": np.full((160, 240, 3), 250.0) - rng.integers(0, 9, (160, 240, 1)),
    }[ground]
    weight = alpha[..., None]
    under = scene[50:74, 100:124]
    scene[50:74, 100:124] = weight * colour[..., None] + (1 - weight) * under
    return scene.round().astype(np.uint8), icon


@pytest.mark.parametrize("ground", ["busy", "dark", "white"])
def test_an_icon_with_soft_edges_scores_alike_on_any_ground(ground, rng):
    scene, icon = soft_icon(ground, rng)
    hard = icon.copy()
    hard[..., 3] = np.where(icon[..., 3] > 250, 255, 0)
    (match,), (opaque,) = locate(scene, icon), locate(scene, hard)
    assert (match.row, match.col) == (50, 100)
    assert match.score < opaque.score + 0.1


@pytest.mark.parametrize("ground", [20, 245])
@pytest.mark.parametrize("ink", [0, 255, 90])
def test_an_icon_of_one_colour_is_sought_by_its_alpha(ground, ink, rng):
    rows, cols = np.mgrid[:18, :18] - 8.5
    alpha = np.clip(3 - abs(np.hypot(rows, cols) - 6), 0, 1)
    icon = np.dstack([*[np.full((18, 18), ink)] * 3, 255 * alpha]).round().astype(np.uint8)
    scene = np.full((80, 90, 3), float(ground))
    scene[50:60, 10:60] = 128  # a bar
    under = scene[20:38, 40:58]
    scene[20:38, 40:58] = alpha[..., None] * ink + (1 - alpha[..., None]) * under
    scene = (scene + rng.integers(0, 3, scene.shape)).round().clip(0, 255).astype(np.uint8)
    for image, template in [(scene, icon), (scene[..., 0], icon[..., [0, 3]])]:
        with pytest.warns(UserWarning, match="alpha itself is sought"):
            assert place(image, template) == (20, 40)


# Only a perfect copy (mozarkai/optics-framework#471).


@pytest.mark.parametrize("measure", ["ncc", "ncc2", "ssd"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, np.float64])
def test_a_copy_scores_0(measure, dtype):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scene = rng.integers(0, 256, (120, 130)).astype(dtype)
        if np.dtype(dtype).kind == "f":
            scene /= 255
        template = scene[40 : 48 + seed, 50 : 59 + 2 * seed]
        assert place(scene, template, measure, threshold=0) == (40, 50)


# No-data (GlacioHack/xdem#195).


@pytest.mark.parametrize("measure", ["nuv", "nuv_adaptive", "ncc2", "mi"])
@pytest.mark.parametrize("hole", [-9999.0, np.nan, -3.4028234663852886e38])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nodata_counts_nowhere(measure, hole, dtype):
    rng = np.random.default_rng(8)
    height = np.cumsum(np.cumsum(rng.normal(0, 1, (140, 160)), 0), 1)
    height = 1000 + 100 * (height - height.mean()) / height.std()
    scene = (300 + 0.4 * (height - 1000) + 0.0006 * (height - 1000) ** 2).astype(dtype)
    template = height[50:82, 60:92].astype(dtype)
    template[:, :10] = scene[:30] = scene[:, 130:] = hole
    nodata = None if np.isnan(hole) else hole
    assert place(scene, template, measure, nodata=nodata) == (50, 60)
    masked = Matcher(template, measure, mask=~(np.isnan(template) | (template == hole)))
    expected = masked.score_map(scene, image_mask=~(np.isnan(scene) | (scene == dtype(hole))))
    assert_array_equal(nuvmatch.score_map(scene, template, measure, nodata=nodata), expected)


@pytest.mark.parametrize("nodata", [2**64, -(2**70), 1e300, 0.5, -np.inf])
def test_nodata_that_no_pixel_can_have_is_no_matter(nodata, rng):
    image = rng.integers(0, 200, (30, 40), dtype=np.uint8)
    assert place(image, image[5:12, 6:13], nodata=nodata) == (5, 6)


@pytest.mark.parametrize("nodata", [0, 255, 50])
def test_a_matcher_of_alpha_with_nodata_is_the_same_after_pickling(nodata, rng):
    icon = np.full((12, 12, 4), 50, np.uint8)
    icon[..., 3] = 0
    icon[3:9, 3:9, 3] = np.linspace(120, 255, 36).reshape(6, 6)
    with pytest.warns(UserWarning, match="alpha itself"):
        matcher = Matcher(icon, nodata=None if nodata == 50 else nodata)
    image = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
    image[:4] = nodata
    again = pickle.loads(pickle.dumps(matcher))
    assert_array_equal(again.score_map(image), matcher.score_map(image))


def test_nodata_is_of_all_channels_and_may_be_several_greys(rng):
    image = rng.integers(1, 200, (30, 40, 3), dtype=np.uint8)
    image[10, 10] = 0  # a hole
    image[12, 30] = 255  # another
    image[20, 20, 1] = 0  # a colour
    template = image[5:10, 5:10]
    evidence = ~np.isnan(
        nuvmatch.score_map(image, template, nodata=[0, 255, -9999], fill_value=np.nan)
    )
    expected = np.ones((26, 36), bool)
    expected[6:11, 6:11] = expected[8:13, 26:31] = False
    assert_array_equal(evidence, expected)
    with pytest.raises(TypeError, match="nodata is 'none'"):
        Matcher(template, nodata="none")


# The best place on the edge of the search region (USGS-Astrogeology/autocnet#487).


def test_a_place_on_the_edge_of_the_region_says_so():
    scene = np.random.default_rng(18).integers(0, 256, (100, 120), dtype=np.uint8)
    template = scene[3:23, 5:25]
    for region, on_edge in [
        (None, False),
        ((0, 0, 30, 40), False),
        ((3, 0, 30, 40), True),
        ((0, 0, 30, 25), True),
        ((-2, -4, 40, 60), False),
    ]:
        (match,) = locate(scene, template, region=region)
        assert ((match.row, match.col), match.on_edge) == ((3, 5), on_edge)


# An exact copy first (corrmatch's distractors, stb-tester's action panel).


@pytest.mark.parametrize("measure", ["nuv", "nuv_adaptive", "ncc"])
def test_of_near_ties_the_exact_copy_comes_first(measure, rng):
    template = rng.integers(20, 120, (16, 16)).astype(np.uint8)
    scene = rng.integers(0, 256, (80, 90)).astype(np.uint8)
    scene[4:20, 4:20] = 2 * template  # the same by any measure that forgives tones
    scene[40:56, 50:66] = template
    scene[60:76, 10:26] = 255 - template
    found = locate(scene, template, measure, max_matches=2)
    assert (found[0].row, found[0].col) == (40, 50)
    assert found[1].score <= found[0].score + 1e-6


@pytest.mark.parametrize(
    ("image", "first", "stop", "expected"),
    [
        ([1, 0, 4, 0, 2, 4, 0, 2, 1, 1], 6, 10, [1, 6]),
        ([1, 0, 4, 4, 4, 2, 0, 0, 1, 3, 0, 0, 2], 8, 12, [8]),
    ],
)
def test_an_exact_copy_stands_beside_what_ties_with_its_neighbours(image, first, stop, expected):
    image = np.array([image], np.uint8)
    found = locate(image, image[:, first:stop], threshold=1.0)
    assert set(expected) <= set(found.cols.tolist())


# Units (stb-tester's uint16.png).


@pytest.mark.parametrize("spoilt", [np.nan, 255])
def test_the_unit_is_that_of_the_good_pixels(spoilt, rng):
    template = rng.integers(0, 2, (9, 9)).astype(np.uint8)
    image = rng.integers(0, 2, (40, 40)).astype(float)
    image[5:14, 6:15] = template
    image[30, 30] = spoilt
    good = np.ones(image.shape)
    good[30, 30] = 0
    (match,) = locate(image, template, "ssd", image_mask=good)
    assert (match.row, match.col, match.score) == (5, 6, 0)
    assert place(image, template, NUV(gain=(0.9, 1.1)), image_mask=good) == (5, 6)
