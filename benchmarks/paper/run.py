"""Score many cases on all processors, and keep what is done for a later run to go on with."""

from importlib.metadata import version
from pathlib import Path

import joblib
import pandas as pd
from tqdm import tqdm

from .experiment import SETTINGS, score_cases

ROOT = Path(__file__).resolve().parents[2]
CASES_AT_ONCE = 25


def run(cases, seed, jobs, cache):
    """Score so many cases of both settings of the paper, and a fifth of that of its variants."""
    numbers = {
        setting: cases if setting in ("general", "spherical") else -(-cases // 5)
        for setting in SETTINGS
    }
    tasks = [
        (setting, seed, range(first, min(first + CASES_AT_ONCE, number)))
        for setting, number in numbers.items()
        for first in range(0, number, CASES_AT_ONCE)
    ]
    keep = joblib.Memory(cache / fingerprint(), verbose=0).cache(score_cases)
    scored = joblib.Parallel(jobs, return_as="generator")(
        joblib.delayed(keep)(*task) for task in tasks
    )
    parts = []
    with tqdm(total=sum(numbers.values()), unit=" cases", disable=None) as progress:
        for task, part in zip(tasks, scored, strict=True):
            parts.append(part)
            progress.update(len(task[-1]))
    return pd.concat(parts, ignore_index=True)


def fingerprint():
    """What scores depend on beside the seed: the sources, and the libraries' versions."""
    sources = [*(ROOT / "nuvmatch").rglob("*.py"), ROOT / "benchmarks" / "cases.py"]
    sources.append(Path(__file__).with_name("experiment.py"))
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(sources)}
    return joblib.hash([texts, [version(name) for name in ("numpy", "scipy", "numba")]])
