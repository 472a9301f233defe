import sys

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.any"


@pytest.fixture
def bare(monkeypatch):
    """Nothing installed but what must be."""
    for name in ("tifffile", "imagecodecs", "PIL", "PIL.Image", "simplejpeg"):
        monkeypatch.setitem(sys.modules, name, None)
