"""How fast maps and places are here, beside OpenCV's NCC in the same rounds."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .engine import available_cpus
from .matcher import Matcher
from .measures import as_measure, name_of

BASE = "OpenCV NCC"
HD = (1080, 1920)

# Where the C library lets one say so, memory is kept by the process: otherwise OpenCV gives its
# pages back and fetches them anew in each call, which makes it slower, and us look better.
FAST_HEAP = {
    "MALLOC_MMAP_THRESHOLD_": str(2**32),
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
    "MALLOC_TOP_PAD_": str(2**28),
}

_OPENCV = ("opencv-python-headless", "opencv-python")  # either will do
_PACKAGES = ("nuvmatch", "numpy", "numba", "scipy", *_OPENCV, "scikit-image")

Calls = Mapping[str, Callable[[], Any]]


def environment() -> dict[str, Any]:
    """Tell where a measurement is taken: processor, load, system, versions."""
    where: dict[str, Any] = {"processor": _processor(), "cpus": available_cpus()}
    if hasattr(os, "getloadavg"):
        where["load"] = round(os.getloadavg()[0], 2)
    where["system"] = f"{platform.system()} {platform.machine()}"
    where["python"] = platform.python_version()
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            where[package] = version(package)
    return where


def describe(where: Mapping[str, Any]) -> str:
    """Put an environment into one line."""
    return ", ".join(f"{key} {value}" for key, value in where.items())


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def measure_rounds(calls: Calls, rounds: int) -> dict[str, list[float]]:
    """Return the seconds that each of some calls takes, in rounds in which all take part."""
    for call in calls.values():
        call()
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return times


def summarise(times: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Any]]:
    """Return median milliseconds, and the median ratio to OpenCV's NCC with its quartiles."""
    summary = {}
    for name, seconds in times.items():
        ratios = [a / b for a, b in zip(seconds, times[BASE], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        summary[name] = {
            "milliseconds": 1000 * statistics.median(seconds),
            "ratio": middle,
            "ratio_quartiles": [low, high],
        }
    return summary


def opencv(image: NDArray[Any], template: NDArray[Any]) -> Callable[[], Any]:
    """Return what makes OpenCV's NCC map."""
    return lambda: cv2.matchTemplate(image, template, cv2.TM_CCOEFF_NORMED)


def speed_here(
    measures: Sequence[Any], sides: Sequence[int], rounds: int
) -> dict[str, dict[str, dict[str, Any]]]:
    """Time maps and the best place of an image of 1080 x 1920 pixels of 8 bits, warm.

    Parameters
    ----------
    measures : sequence of Measure or str
    sides : sequence of int
        Of the templates, in pixels.
    rounds : int
        In which all take part; medians are of them.

    Returns
    -------
    dict of dict of dict
        By template and by what is timed, as `summarise` has it.
    """
    image = _scene()
    found = {}
    for side in sides:
        top, left = min(360, HD[0] - side), min(960, HD[1] - side)  # as large as asked for
        template = image[top : top + side, left : left + side].copy()
        calls = {BASE: opencv(image, template)}
        for measure in map(as_measure, measures):
            matcher = Matcher(template, measure)
            calls[f"{name_of(measure)} map"] = partial(matcher.score_map, image)
            calls[f"{name_of(measure)} locate"] = partial(matcher.locate, image)
        found[f"{side} x {side}"] = summarise(measure_rounds(calls, rounds))
    return found


def speed(measures: Sequence[str], sides: Sequence[int], rounds: int) -> dict[str, Any]:
    """Do the same in a fresh process that keeps its memory; tell also where.

    Returns
    -------
    dict
        ``environment`` and ``speed``.
    """
    asked = json.dumps({"measures": list(measures), "sides": list(sides), "rounds": rounds})
    said = subprocess.run(
        [sys.executable, "-m", __name__, asked], env={**os.environ, **FAST_HEAP}, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return {"environment": environment(), "speed": json.loads(said.stdout)}


def as_table(found: Mapping[str, Any]) -> str:
    """Put `speed` into Markdown: times, and ratios to OpenCV's NCC in brackets."""
    names = list(next(iter(found["speed"].values())))
    lines = [f"| template | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for case, row in found["speed"].items():
        cells = [f"{cell['milliseconds']:.1f} ms ({cell['ratio']:.2f})" for cell in row.values()]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Measured on: {describe(found['environment'])}."])


def _scene() -> NDArray[np.uint8]:
    """Make an image as busy as a photograph: noise whose spectrum falls as 1 / f."""
    rng = np.random.default_rng(0)
    across, down = np.fft.rfftfreq(HD[1]), np.fft.fftfreq(HD[0])[:, None]
    frequency = np.hypot(across, down)
    frequency[0, 0] = np.inf
    greys = np.fft.irfft2(np.fft.rfft2(rng.standard_normal(HD)) / frequency, HD)
    low, high = np.percentile(greys, (0.5, 99.5))
    shares = np.clip((greys - low) / (high - low), 0, 1)
    return np.asarray(np.rint(255 * shares).astype(np.uint8))


if __name__ == "__main__":
    print(json.dumps(speed_here(**json.loads(sys.argv[1]))))  # noqa: T201  # to `speed`
