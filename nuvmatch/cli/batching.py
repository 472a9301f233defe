"""Many files: from the command line to a table and a summary."""

import argparse
import json
import os
import sys
from pathlib import Path

from ..batch import Summary, locate_in_files
from ..batch.tables import check_table
from ..scenes import STANDARD_INPUT, read_standard_input
from .commands import measure_of, wanted
from .reporting import BAD_INPUT, FOUND, NOTHING

_KINDS = 3  # of warnings, that are shown


def batch(options: argparse.Namespace) -> int:
    """Seek templates in many scenes, and write where they are as one table."""
    if options.scenes_from not in (None, STANDARD_INPUT):
        check_table(options.out, [options.scenes_from])
    try:
        summary = locate_in_files(
            [*options.scenes, *_paths_from(options.scenes_from)],
            options.templates,
            options.out,
            measure_of(options),
            rivals=options.rival,
            mask=options.mask,
            image_mask=options.image_mask,
            nodata=options.nodata,
            page=options.page,
            region=options.region,
            angles=options.angles,
            scales=options.scales,
            scheduler=options.scheduler,
            n_workers=options.workers,
            retry=options.retry,
            progress=options.progress or None,
            **wanted(options),
        )
    except KeyboardInterrupt:
        print(
            "nuvmatch: interrupted; what is done is kept, and the same command does the rest",
            file=sys.stderr,
        )
        raise
    if options.json:
        print(json.dumps({**summary._asdict(), "out": options.out}))
    else:
        print(_as_text(summary, options.out))
    if summary.failed:
        return BAD_INPUT
    return FOUND if summary.found else NOTHING


def _paths_from(path: str | None) -> list[Path]:
    """Read names of files, a line each; they are no patterns."""
    if path is None:
        return []
    names = read_standard_input() if path == STANDARD_INPUT else Path(path).read_bytes()
    return [Path(os.fsdecode(line)) for line in names.splitlines() if line]


def _as_text(summary: Summary, out: str) -> str:
    known = f", {summary.done_before} of them by an earlier run" if summary.done_before else ""
    failed = ' (column "error")' if summary.failed else ""
    warned = "".join(
        f"\nwarning of {number}: {warning}"
        for warning, number in sorted(summary.warnings.items(), key=lambda kind: -kind[1])[:_KINDS]
    )
    if len(summary.warnings) > _KINDS:
        warned += f'\n{len(summary.warnings) - _KINDS} more kinds of them (column "warning")'
    return (
        f"{summary.scenes} scene{'s'[: summary.scenes != 1]} in {summary.seconds:.1f} s{known}: "
        f"{summary.found} found, {summary.nothing} nothing, {summary.failed} failed{failed}"
        f"{warned}\nwritten to {out}"
    )
