"""``nuvmatch bench``: how fast it is here, beside this machine's OpenCV."""

import argparse
import json
from typing import Any

from ..measures import NAMED
from ..timing import as_table, speed
from .reporting import FOUND


def add_bench(commands: Any) -> None:
    """Add the command to those of the program."""
    parser = commands.add_parser(
        "bench",
        help="show how fast maps and places are here, beside OpenCV's NCC",
        allow_abbrev=False,
        description="Time maps and the best place of an image of 1080 x 1920 pixels of 8 bits, and "
        "OpenCV's NCC in the same rounds: medians, and ratios to that in brackets. Kernels are "
        "compiled first, which may take a minute.",
    )
    parser.add_argument(
        "--measures", nargs="+", choices=NAMED, default=["nuv", "ncc"], metavar="NAME",
        help=f"one of {', '.join(NAMED)} (default nuv ncc)",
    )  # fmt: skip
    parser.add_argument(
        "--sides", nargs="+", type=_between(2, 1080), default=[16, 32, 64, 128], metavar="N",
        help="height and width of templates in pixels (default 16 32 64 128)",
    )  # fmt: skip
    parser.add_argument("--rounds", type=_between(2, 10_000), default=9, metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=bench)


def bench(options: argparse.Namespace) -> int:
    """Time, and print a table."""
    found = speed(options.measures, options.sides, options.rounds)
    print(json.dumps(found, indent=2) if options.json else as_table(found))
    return FOUND


def _between(least: int, most: int) -> Any:
    def number(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}; it must be from {least} to {most}")
        return value

    return number
