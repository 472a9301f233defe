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
REPEATS = 3


def seek_icons(seed):
    """How many of a dozen icons, drawn for 100 %, are found in screens of each magnification."""
    rows = []
    for percent in MAGNIFICATIONS:
        side = round(SIDE * percent / 100)
        screen = screens.draw_screen(np.random.default_rng(seed), "light", NAMES, side)
        drawn = {name: icons.draw_icon(name, SIDE, "light") for name in NAMES}
        started = time.perf_counter()
        found = Search(drawn, scales=(1, 2)).locate(screen.image, max_per_name=1)
        taken = time.perf_counter() - started
        right = sum(
            abs(match.row - screen.places[match.name][0]) <= 2
            and abs(match.col - screen.places[match.name][1]) <= 2
            for match in found
        )
        rows.append(
            {"magnification": f"{percent} %", "found": f"{right} of {len(NAMES)}", "s": taken}
        )
    return pd.DataFrame(rows)


def measure_times():
    """Seconds of whole searches, templates made ready beforehand: the median of some."""
    small = cv2.resize(photograph("astronaut"), (512, 512))
    large = cv2.resize(photograph("astronaut"), (1920, 1080))
    part = small[200:248, 210:258]
    parts = [large[100 + i * 100 :, 200 + i * 150 :][:48, :48] for i in range(5)]
    few = {"angles": np.linspace(-22.5, 22.5, 10), "scales": np.geomspace(0.8, 1.25, 9)}
    return pd.DataFrame(
        {"searched": name, "threads": threads, "s": median_time(sought, image, threads, poses)}
        for name, sought, image, threads, poses in (
            ("any angle, 512 x 512", part, small, 1, {"angles": "all"}),
            ("360 angles, 512 x 512", part, small, 1, {"angles": range(360)}),
            ("any angle, scales .8-1.25, 512 x 512", part, small, 1,
             {"angles": "all", "scales": (0.8, 1.25)}),
            ("10 angles x 9 scales x 5 templates, 1080 x 1920", parts, large, 2, few),
        )
    )  # fmt: skip


def median_time(sought, image, threads, poses):
    cv2.setNumThreads(threads)
    search = Search(sought, n_threads=threads, **poses)
    search.locate(image)  # plans
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        search.locate(image)
        times.append(time.perf_counter() - started)
    return float(np.median(times))
