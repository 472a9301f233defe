"""The same task for many items: on this machine's CPUs, or on the workers of a dask scheduler."""

import contextlib
import itertools
import logging
import os
import signal
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from .._version import __version__
from ..engine import available_cpus

Item = TypeVar("Item")
Result = TypeVar("Result")

# For each thread: one in work and one at hand when it is done, and others that travel together.
_AT_HAND, _IN_FLIGHT = 2, 4
_SECONDS_TO_CONNECT, _SECONDS_FOR_WORKERS = 10, 60


def spread(
    task: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    scheduler: str | None = None,
    n_workers: int | None = None,
) -> Generator[tuple[Item, Result | Exception]]:
    """Call a task on each item, and yield what comes of it as it comes.

    However many items there are, few are on their way at once. Close the iterator, or interrupt
    it, and what is left is dropped.

    Parameters
    ----------
    task : callable of one item
        Picklable. It travels once to each worker, with all that it holds.
    items : sequence
    scheduler : str, optional
        Address of a dask scheduler, whose workers are to have this package. None: processes of
        this machine, started for this call; or, for one item or by one CPU, this process.
    n_workers : int, optional
        How many of these processes at most; as many as there are CPUs by default.

    Yields
    ------
    item
    result or Exception
        What the task returned or raised; ChildProcessError if its process died of it again when
        nothing else was at work.

    Raises
    ------
    ImportError
        If dask or distributed is not installed, and needed.
    OSError
        If there is no such scheduler, it has no workers, or it has gone.
    """
    if not items:
        return
    if scheduler is None:
        n_workers = min(n_workers or available_cpus(), len(items))
        if n_workers <= 1:
            for item in items:
                yield item, _outcome(task, item)
            return
    try:
        import distributed
        from distributed.utils import silence_logging_cmgr
    except ImportError as error:
        raise ImportError(
            "several processes need dask: pip install 'nuvmatch[dask]', or do with one worker"
        ) from error
    with contextlib.ExitStack() as stack:
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # what matters is raised
        where = scheduler or stack.enter_context(_local_cluster(n_workers))
        with _deaf_to_interrupts():  # a client that is half made would be waited for at the end
            client = distributed.Client(where, set_as_default=False, timeout=_SECONDS_TO_CONNECT)
        stack.enter_context(client)
        client.wait_for_workers(1, timeout=_SECONDS_FOR_WORKERS)
        call = _Call(f"nuvmatch-{uuid.uuid4().hex}")
        client.register_plugin(_carrier(task, own=scheduler is None), call.name)
        if scheduler is not None:
            stack.callback(client.unregister_worker_plugin, call.name)
        suspects = []
        for item, outcome in _as_completed(client, call, items):
            if isinstance(outcome, distributed.KilledWorker):
                suspects.append(item)
            else:
                yield item, outcome
        # What died with its worker may only have been beside what killed it: each alone.
        for item in suspects:
            for _, outcome in _as_completed(client, call, [item]):
                if isinstance(outcome, distributed.KilledWorker):
                    outcome = ChildProcessError("the process at work on it died, twice")
                yield item, outcome


def _outcome(task: Callable[[Item], Result], item: Item) -> Result | Exception:
    try:
        return task(item)
    except Exception as error:
        return error


def _local_cluster(n_workers: int | None) -> Any:
    """Start processes of one thread each, seen by this machine alone."""
    import distributed

    # Ctrl-C reaches all processes of a terminal. Those that the cluster's thread starts, now or
    # later, inherit that they do not hear it: this one ends them.
    with _deaf_to_interrupts():
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=None,  # a worker over its share would be halted, or killed
            dashboard_address="127.0.0.1:0",  # None: one port that others may have
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": 0, "dashboard": False},
            env={"NUMBA_NUM_THREADS": "1"},
        )


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # where a thread starts it, that thread hears again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _carrier(task: Callable[..., Any], *, own: bool) -> Any:
    """Return what takes the task to each worker there is, and to each that comes."""
    import distributed

    class Carrier(distributed.WorkerPlugin):  # type: ignore[misc]  # untyped
        def __init__(self) -> None:
            self.task = task
            self.version = __version__

        def setup(self, worker: Any) -> None:
            from nuvmatch._version import __version__ as its_version  # the worker's own

            if its_version != self.version:
                raise ImportError(f"a worker has nuvmatch {its_version}; here it is {self.version}")

        def teardown(self, worker: Any) -> None:
            if own:
                os._exit(0)  # else it would first finish what nobody waits for

    return Carrier()


class _Call:
    """Calls, on a worker, the task that came there by this name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, item: Any) -> Any:
        from distributed import get_worker

        carrier: Any = get_worker().plugins[self.name]
        return _outcome(carrier.task, item)


def _as_completed(client: Any, call: Any, items: Sequence[Item]) -> Iterator[tuple[Item, Any]]:
    """Keep all workers busy, and no more than that on its way."""
    from distributed import CancelledError, as_completed

    left = iter(items)
    item_of: dict[Any, Item] = {}
    # Without results: with them it waits for ever for what fails after its result was lost.
    completed = as_completed(loop=client.loop)

    def feed() -> int:
        """Send what there is room for, and return how few are left when it is time again."""
        threads: int = sum(client.nthreads().values())
        some = list(itertools.islice(left, max(_IN_FLIGHT * threads - len(item_of), 1)))
        futures = client.map(call, some, pure=False)
        item_of.update(zip(futures, some, strict=True))
        completed.update(futures)
        return _AT_HAND * threads

    few = feed()
    for future in completed:
        item = item_of.pop(future)
        try:
            outcome = future.result()
        except CancelledError:
            raise ConnectionError("the dask scheduler has gone, or dropped what it did") from None
        except Exception as error:
            outcome = error
        if len(item_of) <= few:
            few = feed()
        yield item, outcome
