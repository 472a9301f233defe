"""Run the paper's experiments, and leave its tables and figures beside what it printed.

    python -m benchmarks.paper [--cases 5000] [--seed 0] [--jobs N] [--quick] [--out DIR]

Leaves DIR/paper.md, and in DIR/paper/ all tables as JSON and each figure as SVG. What was scored
is kept in the cache: interrupted, the same command goes on where it was.
"""

import sys
from pathlib import Path

from nuvmatch.timing import environment

from .. import cases
from ..jobs import score_all
from ..reporting import make_parser, write_figures, write_tables, write_text
from . import experiment
from .analysis import tabulate
from .experiment import SETTINGS, score_cases
from .figures import draw
from .page import make_page


def run(number, seed, jobs, cache):
    """Score so many cases of both settings of the paper, and a fifth of that of its variants."""
    groups = {
        setting: number if setting in ("general", "spherical") else -(-number // 5)
        for setting in SETTINGS
    }
    sources = [Path(module.__file__) for module in (cases, experiment)]
    return score_all(score_cases, groups, seed, jobs, cache, sources)


def main(arguments=None):
    options = make_parser("paper", __doc__, 5000, 200, "cases").parse_args(arguments)
    folder = options.out / "paper"
    folder.mkdir(parents=True, exist_ok=True)  # before the work, not after
    try:
        rows = run(options.number, options.seed, options.jobs, options.cache)
    except KeyboardInterrupt:
        sys.exit("interrupted; what was scored is kept, and the same command goes on from there")
    tables = tabulate(rows)
    about = {
        "seed": options.seed,
        "cases": rows.groupby("setting")["case"].nunique().to_dict(),
        "environment": environment(),
    }
    write_tables(folder, tables, about)
    write_figures(folder, draw(tables))
    write_text(options.out / "paper.md", make_page(tables, about))
    print(f"wrote {options.out / 'paper.md'} and {folder}")


if __name__ == "__main__":
    main()
