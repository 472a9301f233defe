"""``nuvmatch compare``: which measure finds templates of one's own images."""

import argparse
import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from .. import io
from ..evaluation import Comparison, compare
from ..measures import NAMED
from ..scenes import expand
from ..showing import (
    check_report,
    plot_location_roc,
    plot_rates,
    write_chart,
    write_comparison,
)
from ..showing.plots import new_axes
from ..tones.families import NAMED as FAMILIES
from .reporting import FOUND

_DEFAULT = ("ncc", "ncc2", "mi", "nuv", "nuv_adaptive")


def add_compare(commands: Any, count: Any, share: Any, number: Any) -> None:
    """Add the command to those of the program, given what takes numbers."""
    parser = commands.add_parser(
        "compare",
        help="show which measure finds templates in images of one's own",
        allow_abbrev=False,
        description="Cut templates from each IMAGE, and seek them in its partner, which shows the "
        "same at the same place by another sensor, light or band; or, without --against, in the "
        "image itself under random tone curves. DIR gets table.csv, trials.csv, rates.svg, "
        "roc.svg and index.html (nuvmatch[plot,report]).",
        epilog="Example: nuvmatch compare bands/red*.tif --against bands/nir*.tif --out compared",
    )
    parser.add_argument("images", nargs="+", metavar="IMAGE", help="files, folders or patterns")
    parser.add_argument(
        "--against", nargs="+", action="extend", metavar="IMAGE",
        help="the partners, as many, in the same order",
    )  # fmt: skip
    parser.add_argument(
        "--tones", choices=FAMILIES, default="broad", help="without partners (default broad)"
    )
    parser.add_argument(
        "--measures", nargs="+", choices=NAMED, default=_DEFAULT, metavar="NAME",
        help=f"one of {', '.join(NAMED)} (default {' '.join(_DEFAULT)})",
    )  # fmt: skip
    parser.add_argument(
        "--sides", nargs="+", type=count, default=[24], metavar="N",
        help="height and width of templates in pixels (default 24)",
    )  # fmt: skip
    parser.add_argument(
        "--trials", type=count, default=20, metavar="N", help="of each image and side (default 20)"
    )
    parser.add_argument(
        "--noise", type=share, default=0.0, metavar="SHARE",
        help="to add, as a share of the standard deviation of the image (default 0)",
    )  # fmt: skip
    parser.add_argument(
        "--nodata", type=number, action="append", metavar="GREY",
        help="a grey that counts in neither of two partners, as often as there are such greys: "
        "no template has it, and it stays as it is (default: what TIFF files say themselves)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--threads", type=count, metavar="N", help="as many at most")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.set_defaults(run=run_compare)


def run_compare(options: argparse.Namespace) -> int:
    """Compare, write all, and print the table."""
    images = expand(options.images)
    against: Sequence[Any] = [FAMILIES[options.tones]] * len(images)
    partners = f"{options.tones} tone curves"
    if options.against is not None:
        against = expand(options.against)
        partners = "their partners"
        if len(against) != len(images):
            raise ValueError(
                f"{len(images)} images have {len(against)} partners by --against; each has one"
            )
    new_axes(None)  # or it is said, before the work and not after, what must be installed
    with _folder(options.out):
        check_report(options.out / "index.html")
        found = compare(
            list(zip(images, against, strict=True)), options.measures, trials=options.trials,
            sides=options.sides, noise=options.noise, nodata=options.nodata, seed=options.seed,
            n_threads=options.threads,
        )  # fmt: skip
    table = found.table()
    curves = {name: found.roc(name) for name in found.measures}
    write = io.write_whole
    write(options.out / "table.csv", _as_csv(table))
    write(options.out / "trials.csv", _as_csv(found.rows))
    write_chart(options.out / "rates.svg", plot_rates(table))
    write_chart(options.out / "roc.svg", plot_location_roc(curves))
    about = (
        f"Templates of {', '.join(map(str, options.sides))} pixels a side from {len(images)} "
        f"image{'s'[: len(images) != 1]}, sought under {partners}"
        f"{f', noise {options.noise:g}' if options.noise else ''}; seed {options.seed}."
    )
    write_comparison(options.out / "index.html", table, curves, about=about)
    print(_as_text(found, table))
    print(f"written to {options.out}")
    return FOUND


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make a folder, before the work; if that fails it goes, unless it was there before."""
    known = path.exists()
    if known and not path.is_dir():
        raise ValueError(f"--out {path} is a file; it must be a folder, there or not")
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if not known:
            path.rmdir()
        raise


def _as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    text = StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _as_text(found: Comparison, table: Sequence[dict[str, Any]]) -> str:
    width = max(len(name) for name in (*found.measures, "measure"))
    lines = [f"{'measure':{width}} trials  found  from    to  rank     AUC       ms"]
    for row in table:
        lines.append(
            f"{row['measure']:{width}} {row['trials']:6} {row['rate']:6.3f} {row['low']:5.3f} "
            f"{row['high']:5.3f} {row['rank']:5g} {row['auc']:7.4f} {row['ms']:8.1f}"
        )
    return "\n".join(lines)
