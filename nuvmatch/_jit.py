"""The one place that decides how kernels are compiled."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Whether kernels are compiled at all: NUMBA_DISABLE_JIT=1 runs them as plain Python.
# (Numba fills its config from the environment, where mypy does not see the names.)
COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]

_warned = False


def jit(function: Kernel) -> Kernel:
    """Compile a kernel: no GIL, cached on disk, NumPy's rules for division.

    A kernel and the kernels that it calls stand in one file, because Numba's cache
    does not notice an edited callee elsewhere. Where no place for the cache is
    writable, the kernel is compiled anew in each process, after one warning.
    """
    try:
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError as error:
        global _warned
        if not _warned:
            _warned = True
            warnings.warn(
                f"kernels are compiled anew in this process, which costs some seconds: {error} "
                "(NUMBA_CACHE_DIR names a writable place)",
                RuntimeWarning,
                stacklevel=2,
            )
        # A second decorator object: the first has refused as a whole.
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(Kernel, compiled)
