"""Look for templates that are not there, that are, and that are many times: a row for each."""

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
from nuvmatch.evaluation import PresenceTrial, check_presence

from .. import scenes
from ..kinds import KINDS, cut

SIDES = (16, 24, 32, 48, 64)
NOISES = (0.05, 0.15, 0.3)  # shares of the standard deviation of the scene
NOMINAL = (0.1, 1, 10)  # false alarms
SMALL = (96, 160)  # pixels a side of small images
SMALL_SIDE = 24  # of the templates sought there
NEAR = 1  # pixels from the truth that count as found
LEAST_MINIMA = 100  # of a map, or ten of them are too large a share
COPIES = 20  # planted
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


def search_all(kind, seed, numbers):
    """Rows of some trials of a kind, each the same whatever else is run."""
    return pd.DataFrame(
        {**row, "kind": kind, "trial": number}
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
    asked = MEASURES | {OWN: own_map}
    left_out = {"absent": AUTO if trial.number % AUTO_EVERY else None, "copies": OWN}
    for one in plan(trial):
        measures = {m: asked[m] for m in asked if m != left_out.get(one.name)}
        if "mirrored" in one.name:
            measures = {"nuv": MEASURES["nuv"]}
        few = not one.places and count_minima(one) < LEAST_MINIMA
        for row in seek([one], measures):
            yield row | {"false at 10": np.nan} if few else row
        if one.name == "absent" and trial.number % COPIES_EVERY == 0:
            yield from tell_thresholds(one)


def plan(trial):
    """Yield the searches of a trial: where the template is not, and where it is."""
    rng, template = trial.rng, trial.template
    absent = retone(trial.other, rng)
    present = retone(trial.one, rng, window(trial.place, trial.side))
    yield PresenceTrial(absent, template, name="absent")
    yield PresenceTrial(present, template, [trial.place], "present")
    again = trial.number % COPIES_EVERY == 0
    if again:
        planted, places = plant(trial.other, template, rng)
        yield PresenceTrial(retone(planted, rng), template, places, "copies")
    if trial.side == SMALL_SIDE:
        for small in SMALL:
            yield PresenceTrial(crop(absent, small, rng), template, name=f"absent, {small}")
    template, place = mirrored(template), window(trial.place, trial.side)
    if again and template.std() > scenes.LEAST_CONTRAST:
        image = trial.one.copy()
        image[place] = template
        yield PresenceTrial(absent, template, name="absent, mirrored")
        scene = retone(image, rng, place)
        yield PresenceTrial(scene, template, [trial.place], "present, mirrored")


def crop(image, side, rng):
    row, col = rng.integers(0, np.array(image.shape) - side + 1)
    return np.ascontiguousarray(image[row : row + side, col : col + side])


def own_map(image, template):
    """Map of which what chance shows is learnt from the map itself, not from decoys."""
    return Matcher(template, MEASURES["nuv"], n_threads=1).score_map(image, fill_value=math.nan)


def seek(trials, measures):
    """Yield what `check_presence` tells of each search."""
    with warnings.catch_warnings(action="ignore"):  # rows say what was refused
        found = check_presence(trials, measures, nominal=NOMINAL, near=NEAR, n_threads=1)
    for row in found.rows:
        side = len(trials[row["trial"]].template)
        row |= {"search": row["name"], "side": side, "refused": row["refused"] != ""}
        if row["planted"] == 1:
            row["kept at 1"] = min(row["kept at 1"], row["best"])  # found, and at the best place
        yield row


def count_minima(trial):
    """How many places chance has; by which measure matters little."""
    scores = Matcher(trial.template, "ncc2", n_threads=1).score_map(trial.image, fill_value=np.nan)
    return len(find_peaks(scores, trial.template.shape, threshold=math.inf))


def tell_thresholds(trial):
    """Yield up to which score one false match is to be expected."""
    for name in TOLD:
        with warnings.catch_warnings(action="ignore"):  # a null that does not decide says it too
            null = Matcher(trial.template, MEASURES[name], n_threads=1).calibrate(trial.image)
        score = null.threshold(1) if null.decides else np.nan
        side = len(trial.template)
        yield {"measure": name, "side": side, "search": "threshold", "score": score}
