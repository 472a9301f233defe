"""See whether false alarms told are those seen, and whether what is there is kept: two pages.

    python -m benchmarks.presence [--trials 400] [--seed 0] [--jobs N] [--quick] [--out DIR]

Leaves DIR/presence.md and DIR/threshold.md, and in DIR/presence/ all tables as JSON and each
figure as SVG. What was done is kept in the cache: interrupted, the same command goes on where it
was. Times are taken at the end, by this process alone; --times takes them anew, and leaves all
else as it is in DIR.
"""

import sys
import time
from pathlib import Path

from nuvmatch.timing import environment

from .. import icons, kinds, scenes, screens
from ..jobs import score_all
from ..reporting import make_parser, read_tables, write_figures, write_tables, write_text
from . import experiment, on_screens, timing
from .analysis import tabulate
from .experiment import search_all
from .figures import draw
from .on_screens import CASES, decide_all
from .page import make_page

SOURCES = [Path(m.__file__) for m in (scenes, kinds, icons, screens, experiment, on_screens)]
QUICK = 5  # trials: one of each side
SMALLER = (270, 480)  # pixels, of what quick runs time


def run(options):
    """Rows of all searches, and of all icons sought: 5 of each sort for 8 trials."""

    def score(function, names, number):
        groups = dict.fromkeys(names, number)
        return score_all(function, groups, options.seed, options.jobs, options.cache, SOURCES)

    searches = score(search_all, kinds.KINDS, options.number)
    return searches, score(decide_all, CASES, -(-5 * options.number // 8))


def main(arguments=None):
    started = time.monotonic()
    parser = make_parser("presence", __doc__, 400, QUICK, "trials")
    parser.add_argument("--times", action="store_true", help="times only")
    options = parser.parse_args(arguments)
    folder = options.out / "presence"
    shape, rounds = (SMALLER, 1) if options.number <= QUICK else (timing.HD, 5)
    try:
        folder.mkdir(parents=True, exist_ok=True)  # before the work, not after
        if options.times:
            tables, about = read_tables(folder)
        else:
            done = run(options)
            about = {"seed": options.seed, "trials": options.number}
        times = timing.measure_times(shape, rounds)
    except KeyboardInterrupt:
        sys.exit("interrupted; what was done is kept, and the same command goes on from there")
    if options.times:
        tables["times"] = times
    else:
        tables = tabulate(*done, times)
        write_figures(folder, draw(tables))
    about.update(environment=environment(), timed=list(shape))
    write_tables(folder, tables, about)
    write_text(options.out / "presence.md", make_page(tables, about))
    write_text(options.out / "threshold.md", make_page(tables, about, "threshold"))
    taken = (time.monotonic() - started) / 60
    print(f"wrote {options.out / 'presence.md'} and {folder} in {taken:.1f} minutes")


if __name__ == "__main__":
    main()
