"""Look for templates that are not there, that are, and that are many times: a row for each.

A row is one search. Of false matches it has how many are as good as each nominal number of
false alarms asks; of true ones how many were `planted`, how many are among as many `best`
places, and how many are `kept` at a nominal number of 1.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nuvmatch import (
    MI,
    NCC,
    NUV,
    AdaptiveNUV,
    Auto,
    Highest,
    Matcher,
    WindowToPattern,
    find_peaks,
)

from .. import scenes
from ..kinds import KINDS, cut

SIDES = (16, 24, 32, 48, 64)
NOISES = (0.05, 0.15, 0.3)  # shares of the standard deviation of the scene
NOMINAL = (0.1, 1, 10)  # false alarms
SMALL = (96, 160)  # pixels a side of small images
SMALL_SIDE = 24  # of the templates sought there
NEAR = 1  # pixels from the truth that count as found
LEAST_MINIMA = 100  # of a map, or ten of them are too large a share
COPIES, LISTED = 20, 100  # planted, and best places looked at
COPIES_EVERY = 4  # so many trials one has copies, a mirrored template, and thresholds
AUTO_EVERY = 2  # trials: where the template is not; it takes longer than all others together

AUTO, OWN = "auto", "nuv, own minima"
MEASURES = {
    "nuv": NUV(),
    "nuv_adaptive": AdaptiveNUV(),
    "ncc2": NCC(squared=True),
    "mi": MI(),
    "Highest(nuv, wtp)": Highest(NUV(), WindowToPattern()),
    AUTO: Auto(),
}
TOLD = ("nuv", "nuv_adaptive", "ncc2", "mi")  # which threshold lets one false match through
REFUSALS = ("cannot be told", "cannot decide")


def search_all(kind, seed, numbers):
    """Rows of some trials of a kind, each the same whatever else is run."""
    return pd.DataFrame(
        {"kind": kind, "trial": number, **row}
        for number in numbers
        for row in search(make_trial(kind, seed, number))
    )


# Trials.


@dataclass(frozen=True)
class Trial:
    """A template, where it is in one image, and another in which it is not."""

    number: int
    template: np.ndarray
    place: tuple[int, int]
    one: np.ndarray
    other: np.ndarray
    rng: np.random.Generator

    @property
    def side(self):
        return len(self.template)


def make_trial(kind, seed, number):
    rng = np.random.default_rng([seed, list(KINDS).index(kind), number])
    side, found = SIDES[number % len(SIDES)], None
    while found is None:
        one, other = KINDS[kind](rng)
        found = cut(one, side, rng, kind)
    return Trial(number, found[2], found[:2], one, other, rng)


def retone(image, rng, place=slice(None)):
    """Change the tones at random and add noise, so that the place keeps some contrast."""
    for _ in range(scenes.TRIES):
        change = scenes.CHANGES[str(rng.choice(list(scenes.CHANGES)))]
        scene = change(rng)(image / 255)
        if np.ptp(scene) > 0:
            scene = scenes.add_noise(scene, float(rng.choice(NOISES)), rng)
            if scene[place].std() > scenes.LEAST_CONTRAST:
                break
    return scene


def window(place, side):
    return tuple(slice(start, start + side) for start in place)


def plant(image, template, rng):
    """Put copies where they do not overlap, as many as there is room for; return places too."""
    image, side, places = image.copy(), len(template), []
    for _ in range(scenes.TRIES):
        place = rng.integers(0, np.array(image.shape) - side + 1)
        if all(max(abs(place - other)) >= side for other in places):
            image[window(place, side)] = template
            places.append(place)
            if len(places) == COPIES:
                break
    return image, [tuple(map(int, place)) for place in places]


def mirrored(template):
    """Make a template that equals its mirror images."""
    images = [template[::up, ::left].astype(float) for up in (1, -1) for left in (1, -1)]
    return np.rint(sum(images) / 4).astype(np.uint8)


# Searches.


def search(trial):
    """Yield a row for each search of a trial."""
    rng, side = trial.rng, trial.side
    without = {"absent": retone(trial.other, rng)}
    with_it = {"present": (retone(trial.one, rng, window(trial.place, side)), [trial.place])}
    again = trial.number % COPIES_EVERY == 0
    if again:
        planted, places = plant(trial.other, trial.template, rng)
        with_it["copies"] = retone(planted, rng), places
    if side == SMALL_SIDE:
        without |= {f"absent, {small}": crop(without["absent"], small, rng) for small in SMALL}
    minima = {name: count_minima(trial.template, scene) for name, scene in without.items()}
    for name, measure in MEASURES.items():
        matcher = Matcher(trial.template, measure, n_threads=1)
        about = {"measure": name, "side": side}
        seldom = name == AUTO and trial.number % AUTO_EVERY
        for which, scene in without.items():
            if not (seldom and which == "absent"):
                found = count_false(matcher, scene, minima[which])
                yield {**about, "search": which, **found}
        if again and name in TOLD:
            null = heeding(matcher.calibrate, without["absent"])[0]
            score = null.threshold(1) if null.decides else np.nan
            yield {**about, "search": "threshold", "score": score}
        for which, (scene, places) in with_it.items():
            yield {**about, "search": which, **count_true(matcher, scene, places)}
    matcher = Matcher(trial.template, MEASURES["nuv"], n_threads=1)
    about = {"measure": OWN, "side": side}
    for which, scene in without.items():
        found = count_false(matcher, scene, minima[which], by_own_minima)
        yield {**about, "search": which, **found}
    scene, places = with_it["present"]
    yield {**about, "search": "present", **count_true(matcher, scene, places, by_own_minima)}
    if again:
        yield from search_mirrored(trial, without["absent"])


def search_mirrored(trial, absent):
    """Seek a template that equals its mirror images, where it is not and where it is."""
    template, place = mirrored(trial.template), window(trial.place, trial.side)
    if template.std() <= scenes.LEAST_CONTRAST:
        return
    image = trial.one.copy()
    image[place] = template
    scene = retone(image, trial.rng, place)
    matcher = Matcher(template, MEASURES["nuv"], n_threads=1)
    about = {"measure": "nuv", "side": trial.side}
    found = count_false(matcher, absent, count_minima(template, absent))
    yield {**about, "search": "absent, mirrored", **found}
    found = count_true(matcher, scene, [trial.place])
    yield {**about, "search": "present, mirrored", **found}


def crop(image, side, rng):
    row, col = rng.integers(0, np.array(image.shape) - side + 1)
    return np.ascontiguousarray(image[row : row + side, col : col + side])


# Judging.


def locate(matcher, scene, **options):
    """Return matches, and whether a warning says that nothing can be told of them."""
    return heeding(matcher.locate, scene, **options)


def by_own_minima(matcher, scene, **options):
    """The same, but what chance shows is learnt from the map itself, not from decoys."""
    scores = matcher.score_map(scene, fill_value=math.nan)
    return heeding(find_peaks, scores, matcher.shape, **options)


def heeding(function, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments, **options)
    return result, any(words in str(one.message) for one in caught for words in REFUSALS)


def count_minima(template, scene):
    """How many places chance has; by which measure matters little."""
    scores = Matcher(template, "ncc2", n_threads=1).score_map(scene, fill_value=math.nan)
    return len(find_peaks(scores, template.shape, threshold=math.inf))


def count_false(matcher, scene, minima, find=locate):
    """Search where the template is not: how many matches there are at each nominal number."""
    matches, refused = find(matcher, scene, false_alarms=max(NOMINAL))
    alarms = np.array([match.false_alarms for match in matches])
    counts = {str(nominal): int((alarms <= nominal).sum()) for nominal in NOMINAL}
    if minima < LEAST_MINIMA:
        counts["10"] = np.nan
    return {**counts, "minima": minima, "refused": refused, "score": best_score(matches)}


def count_true(matcher, scene, places, find=locate):
    """Search where the template is."""
    number = 1 if len(places) == 1 else LISTED
    matches, refused = find(matcher, scene, false_alarms=math.inf, max_matches=number)
    kept = [match for match in matches if match.false_alarms <= 1]
    best = hits(places, matches[: len(places)])
    found = {"planted": len(places), "best": best, "kept": hits(places, kept)}
    return found | {"refused": refused, "score": best_score(matches)}


def best_score(matches):
    return matches[0].score if matches else np.nan


def hits(places, matches):
    """How many of the places have a match."""
    return sum(
        any(max(abs(match.row - row), abs(match.col - col)) <= NEAR for match in matches)
        for row, col in places
    )
