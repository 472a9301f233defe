"""Smooth fields of shifts between photographs of unlike tones, and how well they are told."""

import time

import numpy as np
import pandas as pd
from scipy import ndimage

from nuvmatch import shifts

from . import scenes

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "coins", "grass", "rocket", "brick", "gravel")
CHANGES = ("gamma", "solarised", "monotone", "smooth")
LARGEST = 1.5  # pixels, of a shift
NOISES = (0.02, 0.1)  # shares of the standard deviation, from and to
GRID, SIZE, SEARCH = 20, 48, 8


def draw_field(shape, rng):
    """Shifts down or across at each pixel: half a wave over the image at most."""
    rows, cols = np.indices(shape)
    waves = rng.uniform(-0.5, 0.5) * rows / shape[0] + rng.uniform(-0.5, 0.5) * cols / shape[1]
    return LARGEST * np.cos(2 * np.pi * (waves + rng.random()))


def make_pair(name, rng):
    """A photograph; the same moved, re-toned and in places inverted; and its field of shifts."""
    fixed = scenes.grey(scenes.load(name))
    field = draw_field(fixed.shape, rng), draw_field(fixed.shape, rng)
    rows, cols = np.indices(fixed.shape)
    places = [rows - field[0], cols - field[1]]
    moved = ndimage.map_coordinates(fixed / 255, places, order=3, mode="reflect").clip(0, 1)
    toned = scenes.CHANGES[CHANGES[rng.integers(len(CHANGES))]](rng)(moved)
    toned = (toned - toned.min()) / np.ptp(toned)
    turned = ndimage.gaussian_filter(rng.standard_normal(fixed.shape), 80) > 0
    scene = scenes.add_noise(np.where(turned, 1 - toned, toned), rng.uniform(*NOISES), rng)
    return fixed, scene, field


def measure_field(name, seed):
    """A row for each chip: its error, and what is said of it."""
    rng = np.random.default_rng([seed, PHOTOGRAPHS.index(name)])
    fixed, moving, field = make_pair(name, rng)
    started = time.perf_counter()
    found = shifts(fixed, moving, grid=GRID, size=SIZE, search=SEARCH).ravel()
    taken = time.perf_counter() - started
    found = found[~np.isnan(found["shift_row"])]
    told = np.stack([found["shift_row"], found["shift_col"]])
    places = np.stack([found["row"], found["col"]]) + told
    truth = [ndimage.map_coordinates(part, places, order=1, mode="nearest") for part in field]
    return pd.DataFrame(
        {
            "photograph": name,
            "error": np.hypot(*(told - truth)),
            "false alarms": found["false_alarms"],
            "outlier": found["outlier"],
            "seconds": taken,
        }
    )


def tabulate(chips):
    """A row for each photograph, and one for all."""
    rows = []
    for name, group in [*chips.groupby("photograph", sort=False), ("all", chips)]:
        sure = group[group["false alarms"] < 0.01]
        rows.append(
            {
                "photograph": name,
                "chips": f"{len(group)}",
                "sure": f"{len(sure) / len(group):.2f}",
                "of these: median error": f"{sure['error'].median():.3f}",
                "wrong by a pixel": f"{(sure['error'] > 1).mean():.3f}",
                "and no outlier": f"{(sure[~sure['outlier']]['error'] > 1).mean():.3f}",
                "seconds": f"{group['seconds'].unique().mean():.1f}",
            }
        )
    return pd.DataFrame(rows)


def measure_all(seed):
    return pd.concat([measure_field(name, seed) for name in PHOTOGRAPHS], ignore_index=True)
