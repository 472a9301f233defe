"""The one place that decides how kernels are compiled, and kept on disk."""

import contextlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.core.sigutils import normalize_signature

from ._version import __version__

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Whether kernels are compiled at all: NUMBA_DISABLE_JIT=1 runs them as plain Python.
# (Numba fills its config from the environment, where mypy does not see the names.)
COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # set at run time

_folders: set[Path] = set()
_warned = False


class _Cache(FunctionCache):
    """Numba's cache of one kernel; but what is wrong with it never ends a call.

    What was written by another version, is damaged, or of another signature (which two
    processes that write at once can leave) is compiled anew, and written again.

    Nor does a kernel that is found there have Numba load all that it compiles with, SciPy's
    linear algebra among it: half of the time of a first call. What compiles does so itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for a signature, or None."""
        try:
            rtsys.initialize(target_context)  # the memory of arrays, which compiled kernels ask for
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
        except Exception as error:  # of any type: damaged pickles raise what they like
            _warn(f"cannot be read ({error!r})")
            with contextlib.suppress(OSError):
                self.flush()
            return None
        wanted, _ = normalize_signature(sig)
        return found if found is not None and found.signature.args == wanted else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled kernel for a signature."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _warn(f"cannot be written ({error!r})")

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), __version__)


def jit(function: Kernel) -> Kernel:
    """Compile a kernel: no GIL, cached on disk, NumPy's rules for division.

    A kernel and the kernels that it calls stand in one file, because Numba's cache
    does not notice an edited callee elsewhere. Where no place for the cache is
    writable, the kernel is compiled anew in each process, after one warning.
    """
    kernel: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if COMPILED:
        try:
            kernel._cache = _Cache(function)
            _folders.add(Path(kernel._cache.cache_path))
        except RuntimeError as error:
            _warn(f"has no place ({error})")
    return cast(Kernel, kernel)


def clear_cache() -> None:
    """Delete what is kept on disk of compiled kernels: the next process compiles anew.

    Raises
    ------
    OSError
        If a file cannot be deleted.
    """
    for folder in _folders:
        for path in [*folder.glob("*.nbi"), *folder.glob("*.nbc")]:
            path.unlink(missing_ok=True)


def _warn(what: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"the cache of compiled kernels {what}: they are compiled anew, which costs some "
            "seconds (NUMBA_CACHE_DIR names a writable place, nuvmatch.clear_cache() empties it)",
            RuntimeWarning,
            stacklevel=3,
        )
