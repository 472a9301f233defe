"""Run the paper's experiments, and leave its tables and figures beside what it printed.

    python -m benchmarks.paper [--cases 5000] [--seed 0] [--jobs N] [--quick] [--out DIR]

Leaves DIR/paper.md, and in DIR/paper/ each table as Markdown and CSV, all of them as JSON,
and each figure as PNG and SVG. What was scored is kept in the cache: interrupted, the same
command goes on where it was.
"""

import argparse
import sys
from pathlib import Path

from nuvmatch.engine.threads import available_cpus

from .analysis import tabulate
from .report import write
from .run import run

QUICK_CASES = 200


def at_least(least):
    def number(text):
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)

    return number


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=at_least(1), default=5000, help="of each setting")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CASES} cases")
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--jobs", type=at_least(1), default=available_cpus(), help="processes")
    parser.add_argument("--out", type=Path, default=Path("build"), metavar="DIR")
    parser.add_argument("--cache", type=Path, default=Path(".paper_cache"), metavar="DIR")
    options = parser.parse_args(arguments)
    cases = QUICK_CASES if options.quick else options.cases
    (options.out / "paper").mkdir(parents=True, exist_ok=True)  # before the work, not after
    try:
        rows = run(cases, options.seed, options.jobs, options.cache)
    except KeyboardInterrupt:
        sys.exit("interrupted; what was scored is kept, and the same command goes on from there")
    page = write(options.out, rows, tabulate(rows), options.seed)
    print(f"wrote {page} and {options.out / 'paper'}")


if __name__ == "__main__":
    main()
