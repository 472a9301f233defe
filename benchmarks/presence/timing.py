"""What false alarms cost, on a photograph enlarged: times of calls, alternating, in one process."""

import statistics
import time

import pandas as pd

from nuvmatch import Matcher

from ..speed import HD, PLACES, make_image, opencv
from .experiment import AUTO, MEASURES

SIDE = 32
TIMED = ("nuv", "nuv_adaptive", "ncc2", "mi", AUTO)
OPENCV = "OpenCV NCC"
CALLS = {
    "score_map": lambda matcher, image: matcher.score_map(image),
    "locate": lambda matcher, image: matcher.locate(image, false_alarms=1),
    "calibrate": lambda matcher, image: matcher.calibrate(image),
}


def measure_times(shape=HD, rounds=5):
    """Median milliseconds of each call, in score maps of its measure and in OpenCV's NCC."""
    image = make_image(shape)
    row, col = (int(share * length) for share, length in zip(PLACES[1], shape, strict=True))
    template = image[row : row + SIDE, col : col + SIDE].copy()
    calls = {(OPENCV, "score_map"): opencv(image, template)}
    for name in TIMED:
        matcher = Matcher(template, MEASURES[name])
        for call, function in CALLS.items():
            if (name, call) != (AUTO, "calibrate"):
                calls[name, call] = lambda f=function, m=matcher: f(m, image)
    times = time_all(calls, rounds)
    rows = [{"measure": name, "call": call, "ms": ms} for (name, call), ms in times.items()]
    table = pd.DataFrame(rows)
    table["maps"] = [ms / times[name, "score_map"] for (name, _), ms in times.items()]
    table["opencv"] = table["ms"] / times[OPENCV, "score_map"]
    return table


def time_all(calls, rounds):
    """Median milliseconds of each, after one call that compiles and plans."""
    taken = {key: [] for key in calls}
    for number in range(rounds + 1):
        for key, call in calls.items():
            started = time.perf_counter()
            call()
            if number:
                taken[key].append(1000 * (time.perf_counter() - started))
    return {key: statistics.median(values) for key, values in taken.items()}
