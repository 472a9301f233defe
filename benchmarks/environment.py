"""Where a measurement was taken."""

import contextlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nuvmatch.engine import available_cpus

OPENCV = ("opencv-python-headless", "opencv-python")  # either will do
PACKAGES = ("nuvmatch", "numpy", "numba", "scipy", *OPENCV, "scikit-image")


def environment():
    where = {"processor": processor(), "cpus": available_cpus()}
    if hasattr(os, "getloadavg"):
        where["load"] = round(os.getloadavg()[0], 2)
    where["system"] = f"{platform.system()} {platform.machine()}"
    where["python"] = platform.python_version()
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            where[package] = version(package)
    return where


def processor():
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe(where):
    return ", ".join(f"{key} {value}" for key, value in where.items())
