"""Kernels compile where their cache has no place to be written."""

import numba
import pytest

from nuvmatch import _jit


def test_without_a_place_for_the_cache_kernels_run_after_one_warning(monkeypatch):
    real = numba.njit

    def njit(*functions, **options):
        if functions:  # Numba's own use
            return real(*functions, **options)

        def decorate(function):
            if options.get("cache"):
                raise RuntimeError("no locator available")
            return real(**options)(function)

        return decorate

    monkeypatch.setattr(numba, "njit", njit)
    monkeypatch.setattr(_jit, "_warned", False)

    def double(x):
        return 2 * x

    with pytest.warns(RuntimeWarning, match=r"no locator available.*NUMBA_CACHE_DIR") as caught:
        kernels = [_jit.jit(double), _jit.jit(double)]
    assert len(caught) == 1
    assert [kernel(4) for kernel in kernels] == [8, 8]
