"""The command line: ``nuvmatch locate SCENE TEMPLATE``, ``nuvmatch batch``, ``nuvmatch bins``."""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from .options import parser
from .reporting import BAD_INPUT, ERRORS, FOUND, say_error

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0 found, 1 nothing found, 2 bad input, 130 interrupted.
    """
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
