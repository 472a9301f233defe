"""Share tiles among threads: one lazily made pool, no ``parallel=True``."""

import contextlib
import itertools
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAX_THREADS = 256

_SCRATCH_BYTES_KEPT = 8 * 2**20  # by one array


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
    """CPUs that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity
        return os.cpu_count() or 1


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
            held = self._held[name] = np.empty(size, np.uint8)
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


def run(task: Callable[[Tile], None], todo: Sequence[Tile], n_threads: int) -> None:
    """Call ``task`` on every tile, from at most ``n_threads`` threads.

    The calling thread works too: a single thread or a single tile starts no pool, and
    a pool kept busy by others delays nobody. The first exception, one that interrupts
    the calling thread included, stops all and reaches the caller.
    """
    helpers = min(n_threads, len(todo)) - 1
    queue = iter(todo)  # next() on a list iterator is atomic under the GIL
    stopped = False

    def work() -> None:
        nonlocal stopped
        try:
            for tile in queue:
                if stopped:
                    return
                task(tile)
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
