"""Fractions of a pixel out of pixels: known shifts of smooth images, whatever their tones."""

import math

import naive
import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import Matcher, locate
from nuvmatch.measures import bands

SIDE, CORNER = 24, (20, 30)


def shifted(rng, offset, shape=(70, 80), blur=2.5):
    """A periodic smooth image in [0, 1], and itself shifted, by Fourier's theorem."""
    image = ndimage.gaussian_filter(rng.standard_normal(shape), blur, mode="wrap")
    moved = np.fft.ifft2(ndimage.fourier_shift(np.fft.fft2(image), offset)).real
    low, span = image.min() - 0.05, np.ptp(image) + 0.1
    return (image - low) / span, (moved - low) / span


def cut(image):
    return image[CORNER[0] : CORNER[0] + SIDE, CORNER[1] : CORNER[1] + SIDE]


def to_8_bits(greys):
    return np.rint(255 * greys).astype(np.uint8)


def place_of(match):
    return np.array(match.center) - (match.height - 1) / 2


CURVES = {
    "none": lambda t: t,
    "gamma": lambda t: t**0.5,
    "inverted": lambda t: 1 - t**1.5,
    "solarised": lambda t: np.where(t < 0.5, 2 * t, 2 - 2 * t),
}


@pytest.mark.compiled
@pytest.mark.parametrize("curve", CURVES)
def test_a_known_shift_is_found(curve, rng):
    errors = []
    for _ in range(10):
        offset = rng.uniform(-0.5, 0.5, 2)
        image, moved = shifted(rng, offset)
        scene = to_8_bits(CURVES[curve](moved))
        (found,) = locate(scene, to_8_bits(cut(image)), subpixel="precise")
        errors.append(place_of(found) - CORNER - offset)
        assert 0 < found.sigma < 0.2
    assert np.sqrt(np.square(errors).mean()) < 0.03


@pytest.mark.compiled
def test_it_is_more_exact_than_the_map(rng):
    errors = {True: [], "precise": []}
    for _ in range(20):
        offset = rng.uniform(-0.5, 0.5, 2)
        image, moved = shifted(rng, offset, blur=1)
        for subpixel, found in errors.items():
            (match,) = locate(to_8_bits(1 - moved), to_8_bits(cut(image)), subpixel=subpixel)
            found.append(place_of(match) - CORNER - offset)
    rms = {subpixel: np.sqrt(np.square(found).mean()) for subpixel, found in errors.items()}
    assert rms["precise"] < rms[True] / 2


def test_no_place_beside_it_scores_lower(rng):
    image, moved = shifted(rng, (0.3, -0.2))
    template, scene = to_8_bits(cut(image)), to_8_bits(moved**2) + 0.0
    matcher = Matcher(template)
    (found,) = matcher.locate(scene, subpixel="precise")
    labels = matcher.bins[0].labels

    def score_at(row, col):
        window = ndimage.shift(scene, (-row, -col), order=3, mode="mirror")[:SIDE, :SIDE]
        return naive.nuv_window(window, labels)

    place = place_of(found)
    best = score_at(*place)
    for step in (0.05, 0.2):
        for down, across in np.ndindex(3, 3):
            beside = place + step * (np.array([down, across]) - 1)
            assert best <= score_at(*beside) + 1e-9


@pytest.mark.compiled
def test_sigma_is_how_far_places_scatter(rng):
    errors, sigmas = [], []
    for _ in range(60):
        offset = rng.uniform(-0.4, 0.4, 2)
        image, moved = shifted(rng, offset)
        noisy = 1 - moved + 0.04 * rng.standard_normal(moved.shape)
        scene = np.rint(255 * np.clip(noisy, 0, 1)).astype(np.uint8)
        (found,) = locate(scene, to_8_bits(cut(image)), subpixel="precise")
        errors.append(place_of(found) - CORNER - offset)
        sigmas.append(found.sigma)
    assert np.sqrt(np.square(errors).mean()) == pytest.approx(
        np.sqrt(np.square(sigmas).mean()), rel=0.3
    )


@pytest.mark.compiled
@pytest.mark.parametrize("measure", ["ncc", "ncc2", "mi", "nuv_adaptive", "nuv_linear", "auto"])
def test_any_measure_has_it(measure, rng):
    image, moved = shifted(rng, (0.4, -0.3))
    template, scene = to_8_bits(cut(image)), to_8_bits(moved)
    (found,) = locate(scene, template, measure, subpixel="precise")
    assert place_of(found) == pytest.approx((20.4, 29.7), abs=0.05)
    (found,) = locate(scene, template, measure, subpixel=True)
    assert place_of(found) == pytest.approx((20.4, 29.7), abs=0.15)


@pytest.mark.compiled
@pytest.mark.parametrize("measure", ["nuv", "ncc2", "auto"])
def test_a_map_that_is_not_held_whole_tells_the_same(measure, rng, monkeypatch):
    image, moved = shifted(rng, (0.4, -0.3), shape=(120, 130))
    matcher = Matcher(to_8_bits(cut(image)), measure)
    null = matcher.calibrate(to_8_bits(moved))
    for subpixel in (True, "precise"):
        (whole,) = matcher.locate(to_8_bits(moved), subpixel=subpixel, null=null, max_matches=1)
        with monkeypatch.context() as patch:
            patch.setattr(bands, "WINDOWS_HELD", 500)
            (part,) = matcher.locate(to_8_bits(moved), subpixel=subpixel, null=null, max_matches=1)
        assert part == whole


def test_masks_and_colours(rng):
    both = [shifted(rng, (0.25, 0.35)) for _ in range(3)]
    image, moved = (to_8_bits(np.stack(planes, axis=2)) for planes in zip(*both, strict=True))
    mask = np.hypot(*(np.indices((SIDE, SIDE)) - (SIDE - 1) / 2)) < SIDE / 2
    template = cut(image).copy()
    template[~mask] = rng.integers(0, 256, (np.count_nonzero(~mask), 3))
    (found,) = locate(moved, template, mask=mask, subpixel="precise")
    assert place_of(found) == pytest.approx((20.25, 30.35), abs=0.03)


def test_a_region_changes_nothing(rng):
    image, moved = shifted(rng, (0.4, -0.3))
    matcher = Matcher(to_8_bits(cut(image)))
    scene = to_8_bits(moved)
    (whole,) = matcher.locate(scene, subpixel="precise")
    (part,) = matcher.locate(scene, subpixel="precise", region=(10, 20, 45, 45))
    assert part.center == pytest.approx(whole.center, abs=1e-3)
    (edge,) = matcher.locate(scene, subpixel="precise", region=(20, 20, 45, 45))
    assert (edge.offset, edge.sigma) == ((0, 0), math.inf)


@pytest.mark.parametrize("beside", [2, 5])
@pytest.mark.parametrize("bad", ["nan", "mask"])
def test_beside_bad_pixels_the_map_tells(bad, beside, rng):
    image, moved = shifted(rng, (0.2, 0.2))
    matcher = Matcher(to_8_bits(cut(image)))
    scene, options = 255 * moved, {}
    if bad == "nan":
        scene[CORNER[0] - beside, CORNER[1] + 3] = math.nan
    else:
        scene[CORNER[0] - beside, CORNER[1] + 3] = 1e9
        options["image_mask"] = scene < 1e8
    (by_map,) = matcher.locate(scene, subpixel=True, **options)
    (found,) = matcher.locate(scene, subpixel="precise", **options)
    assert found == by_map
    assert 0 < found.sigma < math.inf


@pytest.mark.compiled
@pytest.mark.parametrize(
    "change", [lambda t: 1e280 * t, lambda t: 1e-280 * t, lambda t: t + 1e6, lambda t: -3.0 * t]
)
def test_neither_scale_nor_offset_matters(change, rng):
    image, moved = shifted(rng, (0.4, -0.3))
    (plain,) = locate(moved, cut(image), subpixel="precise")
    (found,) = locate(change(moved), cut(image), subpixel="precise")
    assert found.center == pytest.approx(plain.center, abs=1e-4)
    assert found.sigma == pytest.approx(plain.sigma, rel=1e-2)


def test_whole_numbers_too_large_for_floats_are_told_apart(rng):
    image, moved = (np.rint(1000 * greys).astype(np.uint64) for greys in shifted(rng, (0.4, -0.3)))
    (plain,) = locate(moved, cut(image), subpixel="precise")
    (found,) = locate(moved + 2**60, cut(image) + 2**60, subpixel="precise")
    assert found.center == pytest.approx(plain.center, abs=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize("noise", [1, 8])
def test_along_a_straight_edge_noise_is_no_place(noise, rng):
    """It is where it is by noise alone; across the edge it is not."""
    edge = np.tile(128 + 100 * np.tanh((np.arange(60) - 30) / 2), (60, 1))
    for _ in range(10):
        image, scene = (edge + rng.normal(0, noise, edge.shape) for _ in range(2))
        (found,) = locate(scene, image[14:46, 14:46], region=(6, 6, 48, 48), subpixel="precise")
        assert found.sigma > 1
        assert found.center[1] == pytest.approx(29.5, abs=0.6)


def test_an_exact_copy_is_exact(rng):
    scene = to_8_bits(shifted(rng, (0, 0))[0])
    (found,) = locate(scene, cut(scene), "ncc", subpixel="precise")
    assert (found.center, found.sigma) == ((31.5, 41.5), 0)


def test_what_cannot_be_cut_into_bins_is_placed_by_the_map(rng):
    scene = to_8_bits(shifted(rng, (0, 0))[0])
    (found,) = locate(scene, np.full((6, 6), 100), "ssd", subpixel="precise")
    (by_map,) = locate(scene, np.full((6, 6), 100), "ssd", subpixel=True)
    assert found == by_map


@pytest.mark.parametrize(("value", "error"), [("map", ValueError), (2, TypeError)])
def test_what_is_wrong_is_named(value, error, rng):
    scene = rng.integers(0, 256, (30, 30), dtype=np.uint8)
    with pytest.raises(error, match=r"subpixel is .* True, False or 'precise'"):
        locate(scene, scene[:8, :8], subpixel=value)
