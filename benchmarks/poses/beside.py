"""Beside corrmatch, tuned: turned templates, tones untouched and changed."""

import time

import corrmatch
import cv2
import pandas as pd

from .experiment import CHANGES, Pose, make_trial, seek

TONES = {"untouched": ("none",), "changed": CHANGES}
LEVELS, BEAM, EACH = 3, 64, 10  # of its pyramid, kept at each, and kept of an angle


def by_corrmatch(trial):
    """Its best pose; with fewer levels where it finds the template too flat for so many."""
    for levels in range(LEVELS, 0, -1):
        how = corrmatch.CompileConfig(max_levels=levels)
        kept = corrmatch.MatchConfig(
            rotation="enabled", beam_width=BEAM, per_angle_topk=EACH, max_image_levels=levels
        )
        try:
            matcher = corrmatch.Template(trial.template).compile(how).matcher(kept)
            started = time.perf_counter()
            found = matcher.match_image(trial.scene)
        except (RuntimeError, ValueError):
            continue
        middle = (trial.template.shape[0] - 1) / 2
        pose = Pose(found.y + middle, found.x + middle, -found.angle_deg, 1.0)  # clockwise
        return pose, time.perf_counter() - started
    return Pose(-99, -99, 0, 1.0), float("nan")


def by_search(trial):
    pose, _, seconds = seek(trial, scales=1.0)
    return pose, seconds


WAYS = {"corrmatch": by_corrmatch, "nuvmatch": by_search}


def compare_all(name, seed, numbers):
    """Rows of trials of one size, and tones untouched or changed."""
    cv2.setNumThreads(1)
    tones, side = name.split()
    rows = []
    for number in numbers:
        trial = make_trial(int(side), number, seed, TONES[tones], (1, 1))
        for way, seek_by in WAYS.items():
            pose, seconds = seek_by(trial)
            right = pose.is_right(trial.truth)
            rows.append(
                {
                    "size": int(side),
                    "tones": tones,
                    "way": way,
                    "right": right,
                    "ms": 1000 * seconds,
                }
            )
    return pd.DataFrame(rows)
