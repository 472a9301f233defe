"""The command line: ``nuvmatch locate SCENE TEMPLATE``, ``nuvmatch batch``, ``nuvmatch bins``."""

import contextlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from .options import parser
from .reporting import BAD_INPUT, ERRORS, FOUND, say_error

__all__ = ["main"]

INTERRUPTED, UNFORESEEN = 130, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0 found, 1 nothing found, 2 bad input, 3 a fault of the program, 130
        interrupted.
    """
    with contextlib.redirect_stderr(_StandardError(sys.stderr)):
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    _print_whatever()
    command_line = parser()
    options = command_line.parse_args(arguments)
    if options.command is None:
        command_line.error(
            "there is no COMMAND; usage: nuvmatch locate SCENE TEMPLATE, nuvmatch bins TEMPLATE; "
            "--help tells more, as after each COMMAND"
        )
    status = FOUND
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _say_warning
            status = int(options.run(options))
            _flush()
            return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads on, as in "| head"
        _drop_unprinted()
        return status
    except ERRORS as error:
        say_error(error)
        _drop_unprinted()
        return BAD_INPUT
    except Exception:  # not Python's own status, which says that nothing was found
        traceback.print_exc()
        _drop_unprinted()
        return UNFORESEEN


class _StandardError(io.TextIOBase):
    """Standard error: if it is closed, or nobody reads it, what is said is lost, and no more."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, AttributeError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self._stream.flush()

    def isatty(self) -> bool:
        return self._stream is not None and bool(self._stream.isatty())

    def fileno(self) -> int:
        return int(io.TextIOBase.fileno(self) if self._stream is None else self._stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read, never set
        return str(getattr(self._stream, "encoding", None) or "utf-8")


def _print_whatever() -> None:
    """Escape what standard output cannot encode, as bytes in a file's name that are no text."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flush() -> None:
    if sys.stdout is not None:  # closed by whoever called: what is printed goes nowhere
        sys.stdout.flush()


def _drop_unprinted() -> None:
    """Drop what cannot be printed: the end of the process would try again, and fail."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"nuvmatch: warning: {message}", file=sys.stderr)
