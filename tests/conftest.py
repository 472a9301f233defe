import os
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import settings

collect_ignore = ["typing/user_code.py"]  # read by type checkers, run by nobody

settings.register_profile("nightly", deadline=None, max_examples=2000)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci")

UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def pytest_addoption(parser):
    parser.addoption("--cases", type=int, metavar="N", help="of each test, N cases at most")


def pytest_collection_modifyitems(config, items):
    chosen = items
    if UNCOMPILED:
        chosen = [item for item in chosen if not item.get_closest_marker("compiled")]
    if config.getoption("--cases") is not None:
        chosen = some_of_each(chosen, config.getoption("--cases"))
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def some_of_each(items, number):
    """From the first to the last case of each test, evenly spaced."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    return [
        of_one[i]
        for of_one in cases.values()
        for i in sorted({round(share * (len(of_one) - 1)) for share in np.linspace(0, 1, number)})
    ]


@pytest.fixture
def rng():
    return np.random.default_rng(20261127)


def pytest_configure(config):
    if UNCOMPILED:
        # Kernels divide by zero, and let integers wrap, as compiled code does in silence.
        for warning in (
            "overflow encountered in scalar",
            "divide by zero encountered in scalar",
            "invalid value encountered in scalar",
        ):
            config.addinivalue_line("filterwarnings", f"ignore:{warning}:RuntimeWarning")
