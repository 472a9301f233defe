"""Icons of a screen at several magnifications, and how long searches take."""

import time

import cv2
import numpy as np
import pandas as pd

from nuvmatch import Search

from .. import icons, screens
from .experiment import photograph

MAGNIFICATIONS = (100, 110, 125, 150, 200)  # per cent
SIDE = 24  # pixels of an icon at 100 %
NAMES = (
    "save", "open", "search", "undo", "settings", "mail", "bell", "print", "delete", "user",
    "calendar", "chart",
)  # fmt: skip
MEASURES = ("nuv", "nuv_adaptive", "ncc")
REPEATS = 3


def seek_icons(seed):
    """How many of a dozen icons, drawn for 100 %, are found in screens of each magnification."""
    rows = []
    drawn = {name: icons.draw_icon(name, SIDE, "light") for name in NAMES}
    for percent in MAGNIFICATIONS:
        side = round(SIDE * percent / 100)
        screen = screens.draw_screen(np.random.default_rng(seed), "light", NAMES, side)
        row = {"magnification": f"{percent} %"}
        for measure in MEASURES:
            found = Search(drawn, measure, scales=(1, 2)).locate(screen.image, max_per_name=1)
            right = sum(is_there(match, *screen.places[match.name]) for match in found)
            row[measure] = f"{right} of {len(NAMES)}"
        rows.append(row)
    return pd.DataFrame(rows)


def is_there(match, row, col):
    return max(abs(match.row - row), abs(match.col - col)) <= 2


def measure_times():
    """Seconds of whole searches, templates made ready beforehand: the median of some."""
    small = cv2.resize(photograph("astronaut"), (512, 512))
    other = cv2.resize(photograph("coffee"), (512, 512))
    large = cv2.resize(photograph("astronaut"), (1920, 1080))
    part = small[200:248, 210:258]
    parts = [large[100 + i * 100 :, 200 + i * 150 :][:48, :48] for i in range(5)]
    few = {"angles": np.linspace(-22.5, 22.5, 10), "scales": np.geomspace(0.8, 1.25, 9)}
    any_angle, listed = {"angles": "all"}, {"angles": range(360)}
    told = {"false_alarms": 1}
    return pd.DataFrame(
        {"searched": name, "threads": threads, "s": median_time(*how, threads, poses, asked)}
        for name, *how, threads, poses, asked in (
            ("any angle, 512 x 512", part, small, 1, any_angle, {}),
            ("the same where it is not", part, other, 1, any_angle, {}),
            ("any angle, 512 x 512, false alarms", part, small, 1, any_angle, told),
            ("the same where it is not", part, other, 1, any_angle, told),
            ("360 angles, 512 x 512", part, small, 1, listed, {}),
            ("any angle, scales .8-1.25, 512 x 512", part, small, 1,
             any_angle | {"scales": (0.8, 1.25)}, {}),
            ("10 angles x 9 scales x 5 templates, 1080 x 1920", parts, large, 2, few, {}),
        )
    )  # fmt: skip


def median_time(sought, image, threads, poses, asked):
    cv2.setNumThreads(threads)
    search = Search(sought, n_threads=threads, **poses)
    search.locate(image, **asked)  # plans
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        search.locate(image, **asked)
        times.append(time.perf_counter() - started)
    return float(np.median(times))
