"""Share work among processors, and keep what is done for a later run to go on with."""

from importlib.metadata import version
from pathlib import Path

import joblib
import pandas as pd
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]


def score_all(function, groups, seed, jobs, cache, sources, at_once=25):
    """Call ``function(name, seed, numbers)`` for all numbers of each group.

    Parameters
    ----------
    function : callable
        Returns a DataFrame; the same for a number whatever else is asked for.
    groups : dict of str to int
        How many numbers each group has.
    jobs : int
        Processes.
    cache : Path
        Folder for what is done.
    sources : sequence of Path
        Files beside nuvmatch on which the results depend.

    Returns
    -------
    DataFrame
    """
    tasks = [
        (name, seed, range(first, min(first + at_once, number)))
        for name, number in groups.items()
        for first in range(0, number, at_once)
    ]
    keep = joblib.Memory(cache / fingerprint(sources), verbose=0).cache(function)
    found = joblib.Parallel(jobs, return_as="generator")(
        joblib.delayed(keep)(*task) for task in tasks
    )
    parts = []
    with tqdm(total=sum(groups.values()), disable=None) as progress:
        for task, part in zip(tasks, found, strict=True):
            parts.append(part)
            progress.update(len(task[-1]))
    return pd.concat(parts, ignore_index=True)


def fingerprint(sources):
    """What results depend on: the sources, and the libraries' versions."""
    files = sorted([*(ROOT / "nuvmatch").rglob("*.py"), *sources])
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files}
    return joblib.hash([texts, [version(name) for name in ("numpy", "scipy", "numba")]])
