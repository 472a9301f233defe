"""Have dask do tasks, one for each block: with a scheduler if there is one, else here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from dask.callbacks import Callback


class BlockError(RuntimeError):
    """A block of an image could not be searched; says which, and why."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say of which block what went wrong."""
    try:
        yield
    except Exception as error:
        raise BlockError(f"{name}: {type(error).__name__}: {error}") from error


def run(
    tasks: Sequence[Any], names: Sequence[str], done: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Any]]:
    """Do tasks, and yield numbers and results as they come.

    Parameters
    ----------
    tasks : sequence of dask.delayed.Delayed
    names : sequence of str
        Of the blocks.
    done : callable, optional
        Is told the number of each task that is done.

    Raises
    ------
    BlockError
        If one fails: the others are given up.
    """
    client = _client()
    if client is None:
        yield from _run_here(tasks, names, done)
        return
    from distributed import as_completed

    futures = client.compute(list(tasks), optimize_graph=False)
    numbers = {future.key: i for i, future in enumerate(futures)}
    try:
        for future in as_completed(futures):
            i = numbers[future.key]
            try:
                answer = future.result()  # waits again if a worker has died with it
            except Exception as error:
                raise _failure(names[i], error) from error
            future.release()
            yield i, answer
            if done is not None:
                done(i)
    finally:
        client.cancel(futures)


def _client() -> Any:
    """Return the client that is active, if there is one and nothing else was chosen."""
    if dask.config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
        return None
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _run_here(
    tasks: Sequence[Any], names: Sequence[str], done: Callable[[int], None] | None
) -> Iterator[tuple[int, Any]]:
    numbers = {task.key: i for i, task in enumerate(tasks)}
    left = set(numbers)

    said: list[Exception] = []  # by who is told

    class Watch(Callback):  # type: ignore[misc]  # dask has no types
        def _posttask(self, key: Any, *_: Any) -> None:
            if key in left:
                left.discard(key)
                try:
                    (done or _forget)(numbers[key])
                except Exception as error:
                    said.append(error)
                    raise

    try:
        with Watch():
            yield from enumerate(dask.compute(*tasks, optimize_graph=False))
    except Exception as error:
        if isinstance(error, BlockError) or error in said:
            raise
        raise _failure(_which(tasks, names, left), error) from error


def _forget(_: int) -> None:
    """Nobody asks."""


def _which(tasks: Sequence[Any], names: Sequence[str], left: set[Any]) -> str:
    """Find the block that fails, when what it is made of has failed: by trying again."""
    for task, name in zip(tasks, names, strict=True):
        if task.key in left:
            try:
                task.compute(scheduler="synchronous")
            except Exception:
                return name
    return "some block"


def _failure(name: str, error: BaseException | None) -> BaseException:
    if isinstance(error, BlockError) or error is None:
        return error or BlockError(f"{name} was cancelled")
    if type(error).__name__ == "KilledWorker":
        return BlockError(
            f"{name} has cost several workers their lives, of too little memory most likely: give "
            "workers more, or fewer threads"
        )
    return BlockError(f"{name}: {type(error).__name__}: {error}")
