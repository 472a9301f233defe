"""How long a fresh process needs: to import, and to its first answer.

    python -m benchmarks.startup [--rounds 5]

Medians over child processes. The first answer: one template of 16 x 16 located in 512 x 512
bytes, imports included; with a warm cache of compiled kernels, and with an empty one.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from nuvmatch.timing import describe, environment

LIBRARIES = """
import time; start = time.perf_counter()
import numba, cv2; print(time.perf_counter() - start)
"""
IMPORT = """
import numba, cv2, time; start = time.perf_counter()
import nuvmatch; print(time.perf_counter() - start)
"""
FIRST_ANSWER = """
import time; start = time.perf_counter()
import numpy, nuvmatch
image = numpy.random.default_rng(0).integers(0, 256, (512, 512)).astype(numpy.uint8)
nuvmatch.locate(image, image[100:116, 200:216])
print(time.perf_counter() - start)
"""


def seconds(code, cache):
    """What the code prints in a fresh process with that folder for compiled kernels."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        # Python's own compiled files as installed ones are: kept, here beside the kernels.
        env=os.environ
        | {
            "NUMBA_CACHE_DIR": cache,
            "PYTHONPYCACHEPREFIX": cache,
            "PYTHONDONTWRITEBYTECODE": "",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = range(parser.parse_args(arguments).rounds)
    print(describe(environment()))
    with tempfile.TemporaryDirectory() as cache:
        cold = [seconds(FIRST_ANSWER, tempfile.mkdtemp(dir=cache)) for _ in rounds]
        seconds(FIRST_ANSWER, cache)
        rows = {
            "import of numba and cv2": [seconds(LIBRARIES, cache) for _ in rounds],
            "import of nuvmatch, beyond these": [seconds(IMPORT, cache) for _ in rounds],
            "first answer, warm cache": [seconds(FIRST_ANSWER, cache) for _ in rounds],
            "first answer, cold cache": cold,
        }
    for name, times in rows.items():
        print(f"{name:35} {statistics.median(times):6.3f} s")


if __name__ == "__main__":
    main()
