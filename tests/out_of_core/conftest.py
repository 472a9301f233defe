import dask
import numpy as np
import pytest

from nuvmatch.out_of_core import blocks, sources


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of some 40 windows a side, one after the other: small images have many."""
    for module in (blocks, sources):
        monkeypatch.setattr(module, "WINDOWS_HELD", 1600)
    monkeypatch.setattr(blocks, "_WINDOWS", 1)
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def scene(rng):
    """Greys of a few pixels' correlation; of 90 x 120 there are six blocks and more."""
    coarse = rng.integers(0, 200, (31, 41))
    return (
        np.kron(coarse, np.ones((3, 3), int))[:90, :120] + rng.integers(0, 56, (90, 120))
    ).astype(np.uint8)
