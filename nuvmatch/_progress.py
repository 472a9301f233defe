"""How far a long search is: told to whoever asks, or shown as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Tell = Callable[[int, int], object]  # given the parts that are done, and all of them


class Progress:
    """Counts parts of the work.

    Parameters
    ----------
    tell : callable, optional
        Is called with each part that is done, and at the end with all of them.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell
        self._done = self._all = 0

    def expect(self, parts: int) -> None:
        """There will be so many more."""
        self._all += parts

    def advance(self, _: Any = None) -> None:
        """One is done, as far as they were expected."""
        if self._tell is not None and self._done < self._all - 1:
            self._done += 1
            self._tell(self._done, self._all)

    def finish(self) -> None:
        """All are done, though some may not have been needed."""
        if self._tell is not None:
            self._done = self._all = max(self._all, 1)
            self._tell(self._done, self._all)


@contextmanager
def telling(progress: Any) -> Iterator[Progress]:
    """Count for what `locate` takes as progress: None, True, a callable, or what counts already.

    Raises
    ------
    ImportError
        If a bar is asked for, and tqdm is not installed.
    TypeError
        If it is none of these.
    """
    if isinstance(progress, Progress):
        yield progress
    elif progress is None or progress is False:
        yield Progress()
    elif progress is True:
        with bar() as tell:
            yield from _told(tell)
    elif callable(progress):
        yield from _told(progress)
    else:
        raise TypeError(f"progress is {progress!r}; it must be True, or called with (done, all)")


def _told(tell: Tell) -> Iterator[Progress]:
    progress = Progress(tell)
    yield progress
    progress.finish()


@contextmanager
def bar(**settings: Any) -> Iterator[Tell]:
    """Show a bar by tqdm, which takes the settings.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError("progress bars need tqdm: pip install 'nuvmatch[io]'") from error
    with tqdm(**{"total": 1, "unit": "part", **settings}) as shown:

        def tell(done: int, parts: int) -> None:
            shown.total = parts
            shown.update(done - shown.n)

        yield tell
