"""Photographs turned, resized and re-toned: is the template found, and if not, by whose fault."""

import math
import time
from functools import cache
from typing import NamedTuple

import cv2
import numpy as np
import pandas as pd
from scipy import ndimage

from nuvmatch import Matcher, Search

from .. import scenes

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "coins", "grass", "text", "retina")
SIDE = 400  # pixels, of the longer side of a photograph
CHANGES = ("gamma", "inverted gamma", "monotone", "smooth", "solarised")
NOISES = (0.05, 0.15)  # shares of the standard deviation, from and to
SCALES = (0.8, 1.25)
SIZES = (64, 48, 32)
LEAST_CONTRAST = 0.5  # of the photograph's
PLACE, ANGLE, SCALE = 2.0, 1.5, 0.02  # how far from the truth is still right: pixels, degrees, log
NEARLY = 1.03  # times the score of the truth: as good


class Pose(NamedTuple):
    """Row and column of the center, degrees counter-clockwise, scale."""

    row: float
    col: float
    angle: float
    scale: float

    def is_right(self, other):
        turned = abs((self.angle - other.angle + 180) % 360 - 180)
        resized = abs(math.log(self.scale / other.scale))
        return self.apart(other) <= PLACE and turned <= ANGLE and resized <= SCALE

    def apart(self, other):
        return math.hypot(self.row - other.row, self.col - other.col)

    def back(self):
        """What takes offsets (rows, columns) in the scene to those in the template."""
        cos, sin = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        return np.array([[cos, sin], [-sin, cos]]) / self.scale


class Trial(NamedTuple):
    template: np.ndarray
    scene: np.ndarray
    truth: Pose
    change: str


@cache
def photograph(name):
    image = scenes.grey(scenes.load(name))
    factor = SIDE / max(image.shape)
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return cv2.resize(image, None, fx=factor, fy=factor, interpolation=how)


def make_trial(side, number, seed, changes=CHANGES, scales=SCALES):
    """Cut a template, turn and resize the photograph about its middle, change its tones."""
    rng = np.random.default_rng([seed, side, number])
    image = photograph(PHOTOGRAPHS[number % len(PHOTOGRAPHS)])
    change = changes[number // len(PHOTOGRAPHS) % len(changes)]
    middle, limits = (np.array(image.shape) - 1) / 2, np.array(image.shape)
    while True:
        scale = math.exp(rng.uniform(*np.log(scales)))
        place = Pose(*middle, rng.uniform(-180, 180), scale)
        corner = rng.integers(0, limits - side + 1)
        template = image[corner[0] : corner[0] + side, corner[1] : corner[1] + side]
        center = middle + np.linalg.inv(place.back()) @ (corner + (side - 1) / 2 - middle)
        margin = scale * side / math.sqrt(2) + 2
        inside = (center > margin).all() and (center < limits - margin).all()
        if inside and template.std() >= LEAST_CONTRAST * image.std():
            break
    back = place.back()
    turned = ndimage.affine_transform(
        image / 255, back, middle - back @ middle, order=3, mode="reflect"
    )
    toned = scenes.CHANGES[change](rng)(turned.clip(0, 1))
    scene = scenes.add_noise(toned, rng.uniform(*NOISES), rng)
    return Trial(np.ascontiguousarray(template), scene, Pose(*center, *place[2:]), change)


def upright(trial):
    """The scene turned upright for the true pose, and where the template is then."""
    side, back = trial.template.shape[0], trial.truth.back()
    radius = int(math.hypot(*trial.scene.shape) / 2 / trial.truth.scale)
    length = 2 * radius + side % 2
    forth = np.linalg.inv(back)
    corner = np.array(trial.truth[:2]) - forth @ np.full(2, (length - 1) / 2)
    cut = ndimage.affine_transform(
        trial.scene.astype(float), forth, corner, (length, length), order=1
    )
    counts = ndimage.affine_transform(
        np.ones(trial.scene.shape), forth, corner, (length, length), order=1
    )
    return np.rint(cut).astype(np.uint8), counts > 0.99, (length - side) / 2


def is_found_upright(trial):
    """Whether the truth is the best place of the map at the true pose: no search does better."""
    image, counts, place = upright(trial)
    found = Matcher(trial.template, n_threads=1).locate(image, image_mask=counts)
    return bool(found) and math.dist((found[0].row, found[0].col), (place, place)) <= PLACE


def score_of(trial, scales):
    """The best score within a pixel of the truth, by a search of nothing else."""
    reach = math.degrees(math.sqrt(2) / trial.template.shape[0])
    angle, scale = trial.truth[2:]
    angles = np.linspace(angle - reach, angle + reach, 9)
    sizes = scale * np.exp(np.linspace(-1, 1, 5) * math.radians(reach)) if scales != (1, 1) else 1.0
    side = math.ceil(trial.template.shape[0] * scale * math.sqrt(2)) + 6
    region = (round(trial.truth.row - side / 2), round(trial.truth.col - side / 2), side, side)
    search = Search(trial.template, angles=angles, scales=sizes, exact=True, n_threads=1)
    return min((match.score for match in search.locate(trial.scene, region=region)), default=1.0)


def pose_of(match):
    return Pose(*match.center, match.angle, match.scale)


def seek(trial, scales=SCALES, **settings):
    """The best pose, its score, and how long that took."""
    search = Search(trial.template, angles="all", scales=scales, n_threads=1, **settings)
    started = time.perf_counter()
    (found,) = search.locate(trial.scene)
    return pose_of(found), found.score, time.perf_counter() - started


def search_all(name, seed, numbers):
    """Rows of trials of one size."""
    cv2.setNumThreads(1)
    return pd.DataFrame(search_one(int(name), number, seed) for number in numbers)


def search_one(side, number, seed):
    trial = make_trial(side, number, seed)
    pose, score, seconds = seek(trial)
    truth = score_of(trial, SCALES)
    right = pose.is_right(trial.truth)
    best_wrong = math.inf if right else score
    if not right and score >= truth:  # is it the search that failed, or the measure?
        other, least, _ = seek(trial, exact=True)
        best_wrong = math.inf if other.is_right(trial.truth) else least
    return {
        "size": side,
        "tones": trial.change,
        "right": right,
        "fair": best_wrong >= truth,
        "as good": right or score <= NEARLY * truth + 1e-4,
        "upright": is_found_upright(trial),
        "place": pose.apart(trial.truth),
        "angle": abs((pose.angle - trial.truth.angle + 180) % 360 - 180),
        "scale": abs(math.log(pose.scale / trial.truth.scale)),
        "ms": 1000 * seconds,
    }
