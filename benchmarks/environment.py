"""Where a measurement was taken."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

from nuvmatch.engine import available_cpus

PACKAGES = ("nuvmatch", "numpy", "numba", "scipy", "opencv-python-headless", "scikit-image")


def environment():
    where = {"processor": processor(), "cpus": available_cpus()}
    if hasattr(os, "getloadavg"):
        where["load"] = round(os.getloadavg()[0], 2)
    where["system"] = f"{platform.system()} {platform.machine()}"
    where["python"] = platform.python_version()
    return {**where, **{package: version(package) for package in PACKAGES}}


def processor():
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe(where):
    return ", ".join(f"{key} {value}" for key, value in where.items())
