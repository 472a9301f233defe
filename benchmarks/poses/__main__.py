"""Find turned, resized and re-toned templates, beside corrmatch, and make the page.

    python -m benchmarks.poses [--trials 200] [--seed 0] [--jobs N] [--quick] [--out DIR]

Leaves DIR/poses.md, and in DIR/poses/ all tables as JSON.
What was done is kept in the cache: interrupted, the same command goes on where it was. Times of
whole searches are taken at the end, by this process alone.
"""

from pathlib import Path

from nuvmatch.timing import environment

from .. import icons, kinds, scenes, screens
from ..jobs import score_all
from ..presence import experiment as presence
from ..reporting import make_parser, write_tables, write_text
from . import beside, chance, experiment, others
from .page import make_page, tabulate

SOURCES = [Path(module.__file__) for module in (scenes, icons, screens, experiment, beside)]
OF_CHANCE = [Path(module.__file__) for module in (scenes, kinds, presence, chance)]
CHANCE_EVERY = 10  # trials of poses: one of each kind of image, which takes ten times as long


def main(arguments=None):
    options = make_parser("poses", __doc__, 200, 4, "trials").parse_args(arguments)
    folder = options.out / "poses"
    folder.mkdir(parents=True, exist_ok=True)  # before the work, not after

    def score(function, names, number=options.number, sources=SOURCES, **how):
        groups = dict.fromkeys(names, number)
        seed, jobs, cache = options.seed, options.jobs, options.cache
        return score_all(function, groups, seed, jobs, cache, sources, **how)

    sizes = [str(size) for size in experiment.SIZES]
    trials = score(experiment.search_all, sizes)
    compared = score(beside.compare_all, [f"{t} {s}" for s in sizes for t in beside.TONES])
    some = -(-options.number // CHANCE_EVERY)
    counted = score(chance.count_all, chance.NAMES, some, OF_CHANCE, at_once=5)
    tables = tabulate(trials, compared, counted)
    tables |= {"icons": others.seek_icons(options.seed), "times": others.measure_times()}
    about = {"seed": options.seed, "trials": options.number, "environment": environment()}
    write_tables(folder, tables, about)
    write_text(options.out / "poses.md", make_page(tables, about))
    print(f"wrote {options.out / 'poses.md'} and {folder}")


if __name__ == "__main__":
    main()
