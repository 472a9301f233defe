"""Share tiles among threads: one lazily made pool, no ``parallel=True``."""

import contextlib
import functools
import itertools
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAX_THREADS = 256

Part = TypeVar("Part")

_SCRATCH_BYTES_KEPT = 8 * 2**20  # by one array
_ALIGNMENT = 64  # bytes: of a line of the cache, and of the longest vectors


class Tile(NamedTuple):
    """A block of windows: rows ``top:bottom``, columns ``left:right`` of a score map."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of windows."""
        return self.bottom - self.top, self.right - self.left

    @property
    def place(self) -> tuple[slice, slice]:
        """The tile's place in a score map."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    def under(self, window: tuple[int, ...]) -> tuple[slice, slice]:
        """Rows and columns of the image under windows of that height and width."""
        return (
            slice(self.top, self.bottom + window[0] - 1),
            slice(self.left, self.right + window[1] - 1),
        )


def tiles(shape: tuple[int, int], max_rows: int, max_columns: int, lanes: int = 1) -> list[Tile]:
    """Cut a score map into blocks of nearly equal size, row by row.

    All but the last of a row have a multiple of `lanes` columns. The cut depends on the
    arguments alone, so that results do not depend on threads.
    """
    rows, columns = (
        [min(-(-extent // step) * i // parts * step, extent) for i in range(parts + 1)]
        for extent, parts, step in (
            (shape[0], -(-shape[0] // max_rows), 1),
            (shape[1], -(-shape[1] // max_columns), lanes),
        )
    )
    return [
        Tile(top, bottom, left, right)
        for top, bottom in itertools.pairwise(rows)
        for left, right in itertools.pairwise(columns)
    ]


def available_cpus() -> int:
    """CPUs that this process may use by default: never more than it is given time on.

    Bounds are its affinity, what a container's quota pays for (more threads than that are
    halted for a part of each period), and NUMBA_NUM_THREADS in the environment: joblib tells its
    workers their share by it, while OMP_NUM_THREADS is often 1 for the sake of BLAS alone.
    """
    bounds = [_cpus_to_run_on(), *_quotas()]
    with contextlib.suppress(ValueError):
        wanted = int(os.environ.get("NUMBA_NUM_THREADS", ""))
        bounds += [wanted] if wanted > 0 else []
    return min(bounds)


def _cpus_to_run_on() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity
        return os.cpu_count() or 1


@functools.cache
def _quotas(root: Path = Path("/")) -> tuple[int, ...]:
    """CPUs, rounded up, that each quota on this process pays for; none if there is no quota.

    A control group is bound by all groups that it is in. Its path may be that on the host, of
    which the container sees the end or nothing: what is not there has no quota.
    """
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:  # version 2
                mount = root / "sys/fs/cgroup"
            elif "cpu" in controllers.split(","):
                mount = root / "sys/fs/cgroup/cpu"
            else:
                continue
            group = mount / path.lstrip("/")
            for folder in (group, *group.parents):
                if folder.is_relative_to(mount):
                    found += _quota_of(folder)
    return tuple(found)


def _quota_of(group: Path) -> list[int]:
    for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
        with contextlib.suppress(OSError, ValueError):  # not there, or "max"
            text = " ".join((group / name).read_text() for name in names)
            quota, period = map(int, text.split())
            if quota > 0 and period > 0:  # -1: no limit
                return [-(-quota // period)]
    return []


class Scratch(threading.local):
    """Memory of a thread that is used again from tile to tile, and from call to call.

    Fresh memory costs more time than what is done in it: the system clears each page.
    """

    def __init__(self) -> None:
        self._held: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised array, valid until the next one of that name."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        held = self._held.get(name)
        if held is None or held.size < size:
            spare = np.empty(size + _ALIGNMENT - 1, np.uint8)
            held = self._held[name] = spare[-spare.ctypes.data % _ALIGNMENT :]
        return held[:size].view(dtype).reshape(shape)

    def trim(self) -> None:
        """Let go of what is too large to keep from call to call."""
        self._held = {
            name: held for name, held in self._held.items() if held.size <= _SCRATCH_BYTES_KEPT
        }


scratch = Scratch()

_pool: ThreadPoolExecutor | None = None


def _forget_pool() -> None:
    global _pool
    _pool = None


# A forked child inherits the pool object without its threads and would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="nuvmatch")
    return _pool


def run(task: Callable[[Part], None], todo: Sequence[Part], n_threads: int) -> None:
    """Call ``task`` on every part of the work, as tiles are, from at most ``n_threads`` threads.

    The calling thread works too: a single thread or a single part starts no pool, and
    a pool kept busy by others delays nobody. The first exception, one that interrupts
    the calling thread included, stops all and reaches the caller.
    """
    helpers = min(n_threads, len(todo)) - 1
    queue = iter(todo)  # next() on a list iterator is atomic under the GIL
    stopped = False

    def work() -> None:
        nonlocal stopped
        try:
            for part in queue:
                if stopped:
                    return
                task(part)
        except BaseException:
            stopped = True
            raise
        finally:
            scratch.trim()

    futures: list[Future[None]] = []
    try:
        # When the interpreter shuts down, no pool takes work any more: do it alone.
        with contextlib.suppress(RuntimeError):
            for _ in range(helpers):
                futures.append(_get_pool().submit(work))
        work()
    finally:
        # What has not started by now finds the queue empty: no need to wait for it.
        started = [future for future in futures if not future.cancel()]
        errors = [future.exception() for future in started]
    for error in errors:
        if error is not None:
            raise error
