import os

import numpy as np
import pytest
from hypothesis import settings

collect_ignore = ["typing/user_code.py"]  # read by type checkers, run by nobody

settings.register_profile("nightly", deadline=None, max_examples=2000)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci")

UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def pytest_collection_modifyitems(config, items):
    if UNCOMPILED:
        chosen = [item for item in items if not item.get_closest_marker("compiled")]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


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
