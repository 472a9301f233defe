"""Drawn screens and their icons, and kinds of images: that they are what they are said to be."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("nilearn", reason="the experiments need what nuvmatch[bench] brings")

from benchmarks.icons import ICONS, LOOK_ALIKES, THEMES, compose, draw_icon
from benchmarks.kinds import KINDS, PHOTOGRAPHS, STARS, cut, star_places
from benchmarks.screens import SIDES, draw_screen, make_case

pytestmark = [pytest.mark.bench, pytest.mark.compiled]

SEEDS = range(12)


def equal(one, other):
    return one.shape == other.shape and (one == other).all()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ICONS)
def test_an_icon_has_a_few_tones_on_transparent_ground(name, theme):
    for side in SIDES:
        icon = draw_icon(name, side, theme)
        assert icon.shape == (side, side, 4)
        assert icon.dtype == np.uint8
        assert icon[0, 0, 3] == 0
        assert 0.15 < (icon[..., 3] > 127).mean() < 0.95
    tones, counts = np.unique(icon[icon[..., 3] == 255], axis=0, return_counts=True)
    assert (counts >= 10).sum() >= 2, tones


@pytest.mark.parametrize("name", ICONS)
def test_an_icon_has_look_alikes_that_differ_in_a_part(name):
    assert LOOK_ALIKES[name]
    for other in LOOK_ALIKES[name]:
        assert name in LOOK_ALIKES[other]
        for side in SIDES:
            icons = [draw_icon(which, side, "light").astype(int) for which in (name, other)]
            differ = (abs(icons[0] - icons[1]).max(-1) > 32).mean()
            assert 0.005 < differ < 0.5


def test_icons_of_a_theme_and_of_the_other_differ():
    for name in ICONS:
        assert not equal(draw_icon(name, 24, "light"), draw_icon(name, 24, "dark"))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_screen_shows_its_icons_at_their_places(theme, seed):
    rng = np.random.default_rng(seed)
    side, icons = int(rng.choice(SIDES)), rng.permutation(list(ICONS))[:12].tolist()
    screen = draw_screen(rng, theme, icons, side)
    assert screen.image.shape == (480, 640, 3)
    assert screen.image.dtype == np.uint8
    assert set(screen.places) == set(icons)
    for name, (row, col) in screen.places.items():
        ground = screen.image[row - 1, col - 1]
        shown = screen.image[row : row + side, col : col + side]
        np.testing.assert_array_equal(shown, compose(draw_icon(name, side, theme), ground))


def test_an_icon_is_laid_over_the_ground_by_its_opacity():
    icon = np.array([[[200, 100, 0, 255], [9, 9, 9, 0], [100, 0, 50, 51]]], np.uint8)
    np.testing.assert_array_equal(
        compose(icon, (50, 100, 150)), [[[200, 100, 0], [50, 100, 150], [60, 80, 130]]]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_cases_keep_their_promise(seed):
    for kind in ("there", "absent", "look-alike"):
        case = make_case(np.random.default_rng(seed), kind)
        places = case.screen.places
        alike = set(places) & set(LOOK_ALIKES[case.name])
        assert 8 <= len(places) <= 12
        assert (case.name in places) == (kind == "there")
        assert bool(alike) == (kind == "look-alike")
        assert case.place == places.get(case.name)
        assert equal(case.template, draw_icon(case.name, len(case.template), case.theme))


def test_themes_of_cases_are_the_same_about_as_often_as_not():
    cases = [make_case(np.random.default_rng(seed), "there") for seed in range(60)]
    assert 15 < sum(case.theme == case.screen.theme for case in cases) < 45


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_draws_two_that_differ_and_other_ones_the_next_time(kind):
    drawn = []
    for seed in SEEDS:
        pair = KINDS[kind](np.random.default_rng(seed))
        again = KINDS[kind](np.random.default_rng(seed))
        for one, other in zip(pair, again, strict=True):
            assert one.dtype == np.uint8
            assert one.ndim == 2
            assert min(one.shape) >= 300
            assert max(one.shape) <= 512
            assert equal(one, other)
        assert not equal(*pair)
        drawn.append(pair)
    if kind != "photographs":  # of which there are but so many
        assert not any(equal(a[0], b[0]) for a, b in pairwise(drawn))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_cut_has_contrast_and_is_not_in_the_other(kind):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        one, other = KINDS[kind](rng)
        found = cut(one, 24, rng, kind)
        if found is None:
            continue
        row, col, template = found
        assert equal(template, one[row : row + 24, col : col + 24])
        assert template.std() > 8
        windows = np.lib.stride_tricks.sliding_window_view(other, (24, 24))
        corners = (windows[..., 0, 0] == template[0, 0]) & (
            windows[..., -1, -1] == template[-1, -1]
        )
        assert not (windows[corners] == template).all((1, 2)).any()


def test_a_patch_of_sky_is_a_constellation():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        one, _ = KINDS["skies"](rng)
        found = cut(one, 32, rng, "skies")
        assert found is not None
        row, col, _ = found
        assert star_places(one)[row : row + 32, col : col + 32].sum() >= STARS


def test_stars_are_counted_where_they_were_put(rng):
    sky = np.rint(np.clip(rng.normal(30, 3, (96, 96)), 0, 255))
    places = [(10, 20), (40, 41), (70, 15), (80, 80), (30, 75)]
    rows, columns = np.indices(sky.shape)
    for row, col in places:
        sky += 150 * np.exp(-((rows - row) ** 2 + (columns - col) ** 2) / 4)
    found = np.argwhere(star_places(sky.astype(np.uint8)))
    assert sorted(map(tuple, found.tolist())) == sorted(places)


def test_a_bare_sky_has_no_constellation(rng):
    assert cut(np.full((64, 64), 40, np.uint8), 24, rng, "skies") is None


def test_the_photographs_of_a_pair_are_of_different_subjects():
    assert len(set(PHOTOGRAPHS)) == len(PHOTOGRAPHS) >= 8
