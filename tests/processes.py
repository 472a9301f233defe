"""Scripts run by a process of their own, where nothing has been compiled or loaded before."""

import os
import subprocess
import sys

# Places of peaks need one kernel only, so that compiling it anew takes a second.
SCRIPT = """
import numpy as np, nuvmatch
scores = np.ones((20, 30))
scores[3, 4], scores[4, 5], scores[15, 20] = 0.25, 0.5, 0
print([(m.row, m.col) for m in nuvmatch.find_peaks(scores, (8, 8), threshold=0.6)])
"""
ANSWER = "[(15, 20), (3, 4)]\n"


def start(script, *flags, cwd=None, **environment):
    """Start a script with Python's flags, and what is to be different in the environment."""
    return subprocess.Popen(
        [sys.executable, *flags, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=os.environ | {name: str(value) for name, value in environment.items()},
    )


def run_alone(script, *flags, timeout=300, **settings):
    """What a script says, and what it complains of; it must end well."""
    process = start(script, *flags, **settings)
    try:
        said, errors = process.communicate(timeout=timeout)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return said, errors
