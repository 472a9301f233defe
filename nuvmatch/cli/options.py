"""What may be said on the command line, and help."""

import argparse
import math
import re
from functools import partial
from typing import Any, NoReturn

from .. import __version__, io
from ..batch import TABLES
from ..binning.rules import RULES
from ..finding import PRECISE
from ..measures import BINNERS, NAMED
from ..showing import LABELS, PAGES
from ..tones.families import NAMED as FAMILIES
from .batching import batch
from .benching import add_bench
from .commands import locate, show_bins
from .comparing import add_compare
from .reporting import BAD_INPUT

_ANGLES_ALLOWED = 100_000


_FILES = (
    "files, folders of them, or quoted patterns as 'scans/*.png', of all folders below "
    f"'scans/**/*.png'; {io.FORMATS}, or what else OpenCV reads"
)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; what begins like a negative number is no option."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf)", re.IGNORECASE)

    def error(self, message: str) -> NoReturn:
        if re.search(r"expected \d+ arguments", message):
            message += ", each after a space and none after '='"
        self.exit(BAD_INPUT, f"{self.prog}: error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Make the parser of all commands; each has `run`, which returns the exit status."""
    whole = _Parser(
        prog="nuvmatch",
        allow_abbrev=False,
        description="Find a template in an image although its tones have changed.",
    )
    whole.add_argument("--version", action="version", version=f"nuvmatch {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND")
    seek = commands.add_parser(
        "locate",
        help="say where a template lies in a scene",
        allow_abbrev=False,
        usage="nuvmatch locate SCENE.. TEMPLATE [--template FILE ..] [options]",
        description="Say where TEMPLATE lies in SCENE: the single best place, unless a "
        "threshold, false alarms or a number of matches is given; without these that counts as "
        "found, however bad it is. Scores are dissimilarities: 0 is perfect. False alarms: how "
        "many places as good, or better, chance shows in a scene like this; with --threshold "
        "alone they are not told, which saves time. "
        "Where one of the two is grey, the luminance of the other is taken. "
        "Exit status: 0 found, 1 nothing found, 2 bad input, 3 a fault of the program, 130 "
        "interrupted; of several "
        "scenes one that cannot be read is reported, the others are searched, and the status is "
        "2.",
        epilog="Example: nuvmatch locate screen.png icon.png --measure auto --false-alarms 0.01",
    )
    _add_images(seek)
    _add_pixels(seek)
    _add_measure(seek)
    _add_binning(seek)
    _add_search(seek)
    _add_poses(seek)
    _add_progress(seek)
    _add_outputs(
        seek,
        f"draw the matches on the scene: {', '.join(io.PICTURES)}; into a folder, or NAME/, one "
        "picture of each scene and page",
        f"save the whole scene's score map: {', '.join(io.MAPS)}; PNG: 0 is black, 1 white; or "
        "into a folder likewise",
    )
    seek.add_argument("--threads", type=_count, metavar="N", help="as many at most")
    seek.set_defaults(run=locate)
    _add_batch(commands)
    bins = commands.add_parser(
        "bins",
        help="show how a template's greys are cut into bins",
        allow_abbrev=False,
        description="Show how the greys of TEMPLATE are cut into bins, channel by channel.",
    )
    bins.add_argument("template", metavar="TEMPLATE", help=f"{io.FORMATS}; - is standard input")
    _add_binning(bins)
    _add_outputs(bins, "draw the histogram with the cuts, PNG or SVG (needs nuvmatch[plot])")
    bins.set_defaults(run=show_bins)
    add_compare(commands, _count, _share, _number)
    add_bench(commands)
    return whole


def _add_batch(commands: Any) -> None:
    many = commands.add_parser(
        "batch",
        help="seek templates in many files",
        allow_abbrev=False,
        usage="nuvmatch batch SCENE.. --templates FILE.. --out TABLE [options]",
        description="Seek templates in any number of scenes, by several processes, and write what "
        "was found as one table: a row for each match; one without a place for each page in which "
        "nothing was found; one with the error for each scene that cannot be searched. Without a "
        "threshold, false alarms or a number of matches the best place of each page is its match. "
        "What is done is kept in TABLE.journal: the same command again does what is missing, new "
        "or changed. Exit status: 0 found, 1 nothing found, 2 bad input, or a scene failed, 130 "
        "interrupted.",
        epilog="Example: nuvmatch batch scans --templates stamp.png --false-alarms 0.01 "
        "--out found.parquet",
    )
    many.add_argument("scenes", nargs="*", metavar="SCENE", help=f"images to search: {_FILES}")
    many.add_argument(
        "--scenes-from", metavar="FILE", help="more of them, a path a line; - is standard input"
    )
    many.add_argument(
        "--templates",
        nargs="+",
        action="extend",
        required=True,
        metavar="FILE",
        help="images to find, named likewise: they compete for each place",
    )
    _add_rivals(many)
    many.add_argument(
        "--out",
        required=True,
        metavar="TABLE",
        help=f"the table: {', '.join(TABLES)}; .parquet needs nuvmatch[io]",
    )
    many.add_argument(
        "--workers",
        type=_count,
        metavar="N",
        help="as many processes at most; needs nuvmatch[dask]",
    )
    many.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a dask scheduler, as tcp://host:8786, whose workers see the same files",
    )
    many.add_argument(
        "--retry", action="store_true", help="search again what failed, though it has not changed"
    )
    many.add_argument("--json", action="store_true", help="print the summary as JSON")
    _add_progress(many)
    _add_pixels(many)
    _add_measure(many)
    _add_binning(many)
    _add_search(many)
    _add_poses(many)
    many.set_defaults(run=batch)


def _add_images(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "images",
        nargs="+",
        metavar="SCENE.. TEMPLATE",
        help=f"images to search, and behind them the image to find: {_FILES}; - is "
        "standard input. Of a template's pixels those count that are at least half opaque; an "
        "icon of a single colour is sought by its alpha",
    )
    parser.add_argument(
        "--template",
        action="append",
        default=[],
        metavar="FILE",
        help="another template, as often as there are: they compete for each place",
    )
    _add_rivals(parser)


def _add_rivals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rival",
        action="append",
        default=[],
        metavar="FILE",
        help="a look-alike that is not sought, as often as there are: it competes for each place, "
        "and is neither reported nor counted",
    )


def _add_pixels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--page",
        type=_page,
        metavar="N|all",
        help="which page or frame of SCENE to search, from 1, or each by itself",
    )
    counts = "a pixel counts where any colour is above 0, and alpha too"
    parser.add_argument("--mask", metavar="FILE", help=f"image of TEMPLATE's size: {counts}")
    parser.add_argument("--image-mask", metavar="FILE", help=f"image of SCENE's size: {counts}")
    parser.add_argument(
        "--nodata",
        type=_number,
        action="append",
        metavar="GREY",
        help="a grey that counts in neither, as often as there are such greys (default: what TIFF "
        "files say themselves)",
    )


def _add_measure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--measure",
        choices=NAMED,
        default="nuv",
        metavar="NAME",
        help="nuv for any change of tones (default); auto: several of these at once, "
        "which takes far longer; nuv_adaptive, of few curves, where it may "
        "also be simple, nuv_monotone, nuv_linear, nuv_curves; ncc where tones change linearly "
        "if at all; ncc2: that or inverted; mi, nmi: mutual information; ssd: squared "
        f"differences. One of {', '.join(NAMED)}",
    )
    parser.add_argument(
        "--direction",
        choices=("ptw", "wtp", "both", "mutual"),
        default="ptw",
        help="ptw: the template's greys explain the scene, as the measure has it (default); wtp: "
        "the scene's, in --bins of equal width, explain the template, for one grey that shows as "
        "several; both: the better of these; mutual: the worse: each must explain the other, so "
        "that on screens and drawings nothing passes that shows less than the template",
    )
    parser.add_argument(
        "--polarity",
        choices=("increasing", "decreasing"),
        help="refuse places where bright and dark are swapped, or where they are not",
    )
    parser.add_argument(
        "--gain",
        type=_number,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="refuse places with less or more contrast than this many times the template's",
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threshold", type=_score, metavar="SCORE", help="all places that score at most this"
    )
    parser.add_argument(
        "--false-alarms",
        type=_alarms,
        metavar="N",
        help="all places as good as which, or better, chance shows at most N in a scene like this",
    )
    parser.add_argument(
        "--max-matches",
        type=_count,
        metavar="N",
        help="the best N places at most: without a threshold by false alarms, if templates compete",
    )
    parser.add_argument(
        "--max-per-name", type=_count, metavar="N", help="the best N of each template at most"
    )
    parser.add_argument(
        "--all", action="store_true", help="all places that do not overlap a better one too much"
    )
    parser.add_argument(
        "--max-overlap",
        type=_number,
        default=0.25,
        metavar="SHARE",
        help="drop what shares more with a better place, as intersection over union (default .25)",
    )
    parser.add_argument(
        "--min-distance",
        type=_number,
        metavar="PIXELS",
        help="drop what is closer to a better place, instead of going by overlap",
    )
    parser.add_argument(
        "--region",
        type=int,
        nargs=4,
        metavar=("ROW", "COL", "HEIGHT", "WIDTH"),
        help="search only this part of the scene",
    )
    parser.add_argument(
        "--subpixel",
        nargs="?",
        choices=("map", PRECISE),
        const="map",
        metavar="precise",
        help="tell centers to a fraction of a pixel, with their standard deviation: by scores, or "
        "precisely by pixels",
    )


def _add_progress(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--progress",
        action="store_true",
        help="show how far it is, as it is where a person looks on and it takes its time",
    )


def _add_poses(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--angles",
        type=_angles,
        default=[0.0],
        metavar="A,B,..|A:B:STEP|all",
        help="by how many degrees templates may be turned, counter-clockwise; --angles=-5:5:1 "
        "where the first is negative",
    )
    parser.add_argument(
        "--scales",
        type=_numbers,
        default=[1.0],
        metavar="LOW,HIGH|A,B,C,..",
        help="by how much they may be resized: two numbers are a range, others are the scales",
    )


def _add_outputs(parser: argparse.ArgumentParser, picture: str, score_map: str = "") -> None:
    how = parser.add_mutually_exclusive_group()
    form = ": an object for one SCENE named as a file, else a list" if score_map else ""
    how.add_argument("--json", action="store_true", help=f"print JSON instead of a table{form}")
    if score_map:
        how.add_argument("--quiet", action="store_true", help="print nothing: exit status only")
    parser.add_argument("--out", metavar="FILE|FOLDER" if score_map else "FILE", help=picture)
    if score_map:
        parser.add_argument("--map", metavar="FILE|FOLDER", help=score_map)
        parser.add_argument(
            "--csv", metavar="FILE", help="save all matches of all scenes as one table"
        )
        parser.add_argument(
            "--report",
            metavar="FILE|FOLDER",
            help="show all that is known of the matches on one page for a browser: "
            f"{', '.join(PAGES)} (needs nuvmatch[report]); or into a folder likewise",
        )
        parser.add_argument(
            "--labels",
            choices=LABELS,
            default=LABELS[0],
            help="what stands at each match in the picture of --out (default score)",
        )


def _add_binning(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bins",
        type=_bins,
        metavar="N|RULE",
        help=f"number of bins of the template's greys (default 8), or {', '.join(RULES)}",
    )
    parser.add_argument("--binning", choices=BINNERS, help="how bins are placed (default optimal)")
    parser.add_argument(
        "--tones",
        choices=FAMILIES,
        help="which changes of tones to expect, for optimal and greedy binning (default broad)",
    )


def _bins(text: str) -> int | str:
    if text in RULES:
        return text
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 2:
        raise argparse.ArgumentTypeError(
            f"{text!r}; it must be a number from 2 up, or {', '.join(RULES)}"
        )
    return number


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; it must be a number from 1 up")
    return number


def _page(text: str) -> int | str:
    return text if text == "all" else _count(text)


def _share(text: str, allowed: str = "it must be 0 or more") -> float:
    number = _number(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r}; {allowed}")
    return number


_score = partial(_share, allowed="scores are 0, which is perfect, or more")
_alarms = partial(_share, allowed="there are 0 false alarms or more")


def _angles(text: str) -> str | list[float]:
    if text == "all":
        return text
    if ":" not in text:
        return _numbers(text)
    if text.count(":") != 2:
        raise argparse.ArgumentTypeError(f"{text!r}; it must be FIRST:LAST:STEP")
    first, last, step = map(_number, text.split(":"))
    if not (step > 0 and first <= last) or (last - first) / step > _ANGLES_ALLOWED:
        raise argparse.ArgumentTypeError(
            f"{text!r}; it must be FIRST:LAST:STEP, with a step above 0 and at most "
            f"{_ANGLES_ALLOWED} of them"
        )
    return [first + i * step for i in range(int((last - first) / step + 1e-9) + 1)]


def _numbers(text: str) -> list[float]:
    return [_number(part) for part in text.split(",")]


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise argparse.ArgumentTypeError(f"{text!r}; it must be a number")
    return number
