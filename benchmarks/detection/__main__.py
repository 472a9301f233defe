"""Look for templates in real images of other tones, by every measure, and make the table.

    python -m benchmarks.detection [--trials 240] [--seed 0] [--jobs N] [--quick] [--out DIR]
    python -m benchmarks.detection --tune [--trials 60]

Leaves DIR/detection.md, and in DIR/detection/ all tables as JSON and each figure as SVG. What was
done is kept in the cache: interrupted, the same command goes on where it was. With --tune it
prints, for photographs that the table is not made of, location rates of "nuv_adaptive" by the
penalty of a curve, and of measures by the pixels that a bin holds at least.
"""

import sys
from pathlib import Path

from nuvmatch.timing import environment

from .. import icons, scenes, screens
from ..jobs import score_all
from ..reporting import make_parser, write_figures, write_tables, write_text
from . import experiment, joined, on_screens
from .analysis import tabulate
from .experiment import CELLS, find_all, tune_all, tune_bins_of_all
from .figures import draw
from .on_screens import find_icons
from .page import make_page

SOURCES = [Path(module.__file__) for module in (scenes, experiment, joined)]
OF_SCREENS = [Path(module.__file__) for module in (icons, screens, on_screens)]


def run(function, cells, options, sources=SOURCES):
    groups = dict.fromkeys(cells, options.number)
    return score_all(function, groups, options.seed, options.jobs, options.cache, sources)


def main(arguments=None):
    parser = make_parser("detection", __doc__, 240, 3, "trials")
    parser.add_argument(
        "--tune", action="store_true", help="only print rates by penalty and by bins"
    )
    options = parser.parse_args(arguments)
    folder = options.out / "detection"
    try:
        if options.tune:
            cells = [cell for cell, (name, _) in CELLS.items() if name in scenes.CHANGES]
            print_penalties(run(tune_all, cells, options))
            rows = run(tune_bins_of_all, cells, options)
            rates = rows.pivot_table(index=["measure", "least"], columns="side", values="found")
            print(rates.round(4).to_string())
            return
        folder.mkdir(parents=True, exist_ok=True)  # before the work, not after
        rows = run(find_all, CELLS, options)
        icons_found = run(find_icons, ["there"], options, SOURCES + OF_SCREENS)
    except KeyboardInterrupt:
        sys.exit("interrupted; what was done is kept, and the same command goes on from there")
    tables = tabulate(rows, icons_found)
    about = {"seed": options.seed, "trials": options.number, "environment": environment()}
    write_tables(folder, tables, about)
    write_figures(folder, draw(tables))
    write_text(options.out / "detection.md", make_page(tables, about))
    print(f"wrote {options.out / 'detection.md'} and {folder}")


def print_penalties(rows):
    """Mean over cells, and the largest distance below the best baseline of a cell."""
    rates = rows.pivot_table(index="cell", columns="penalty", values="found")
    best = rates[list(experiment.BASELINES)].max(axis=1)
    for penalty in rates:
        short = (rates[penalty] - best).min()
        print(f"{penalty!s:>6}: mean {rates[penalty].mean():.4f}, least margin {short:+.3f}")


if __name__ == "__main__":
    main()
