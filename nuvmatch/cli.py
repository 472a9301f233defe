"""The command line: ``nuvmatch locate SCENE TEMPLATE``, ``nuvmatch bins TEMPLATE``."""

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from numpy.typing import NDArray

from . import __version__, io
from ._checks import check_pair
from .binning.rules import RULES
from .matcher import Matcher
from .measures import BINNERS, NAMED, NUV, Lowest, Measure, WindowToPattern, name_of
from .results import Matches
from .showing import CHARTS, draw_bins, draw_matches, write_chart
from .tones.families import NAMED as FAMILIES

FOUND, NOTHING, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0 found, 1 nothing found, 2 bad input.
    """
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _say_warning
            status = int(options.run(options))
            sys.stdout.flush()
            return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads on, as in "| head"
        _drop_unprinted()
        return FOUND
    except (OSError, ValueError, TypeError, ImportError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.strerror:
            reason = f"{error.filename or ''}: {error.strerror}".lstrip(": ")
        print(f"nuvmatch: error: {' '.join(reason.split())}", file=sys.stderr)
        _drop_unprinted()
        return BAD_INPUT


def _drop_unprinted() -> None:
    """Drop what cannot be printed: the end of the process would try again, and fail."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"nuvmatch: warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="nuvmatch",
        allow_abbrev=False,
        description="Find a template in an image although its tones have changed.",
    )
    parser.add_argument("--version", action="version", version=f"nuvmatch {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    locate = commands.add_parser(
        "locate",
        help="say where a template lies in a scene",
        allow_abbrev=False,
        description="Say where TEMPLATE lies in SCENE: the single best place, unless a "
        "threshold or a number of matches is given; without a threshold that counts as found, "
        "however high its score. Scores are dissimilarities: 0 is perfect. "
        "Where one of the two is grey, the luminance of the other is taken. "
        "Exit status: 0 found, 1 nothing found, 2 bad input.",
    )
    locate.add_argument("scene", metavar="SCENE", help="image to search: PNG, JPEG or TIFF")
    locate.add_argument(
        "template", metavar="TEMPLATE", help="image to find; where its alpha is 0 it does not count"
    )
    _add_measure(locate)
    _add_binning(locate)
    _add_search(locate)
    _add_outputs(
        locate,
        f"draw the matches on the scene: {', '.join(io.PICTURES)}",
        f"save the whole scene's score map: {', '.join(io.MAPS)}; PNG: 0 is black, 1 white",
    )
    locate.set_defaults(run=_locate)
    bins = commands.add_parser(
        "bins",
        help="show how a template's greys are cut into bins",
        allow_abbrev=False,
        description="Show how the greys of TEMPLATE are cut into bins, channel by channel.",
    )
    bins.add_argument("template", metavar="TEMPLATE", help="PNG, JPEG or TIFF")
    _add_binning(bins)
    _add_outputs(bins, "draw the histogram with the cuts, PNG or SVG (needs nuvmatch[plot])")
    bins.set_defaults(run=_show_bins)
    return parser


def _add_measure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--measure",
        choices=NAMED,
        default="nuv",
        metavar="NAME",
        help="nuv for any change of tones (default); nuv_adaptive, of few curves, where it may "
        "also be simple, nuv_monotone, nuv_linear, nuv_curves; ncc where tones change linearly "
        "if at all; ncc2: that or inverted; mi, nmi: mutual information; ssd: squared "
        f"differences. One of {', '.join(NAMED)}",
    )
    parser.add_argument(
        "--direction",
        choices=("ptw", "wtp", "both"),
        default="ptw",
        help="ptw: the template's greys explain the scene, as the measure has it (default); wtp: "
        "the scene's, in --bins of equal width, explain the template, for one grey that shows as "
        "several; both: the better of these",
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
        "--threshold", type=_number, metavar="SCORE", help="all places that score at most this"
    )
    parser.add_argument("--max-matches", type=_count, metavar="N", help="the best N places at most")
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


def _add_outputs(parser: argparse.ArgumentParser, picture: str, score_map: str = "") -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", metavar="FILE", help=picture)
    if score_map:
        parser.add_argument("--map", metavar="FILE", help=score_map)


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


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise argparse.ArgumentTypeError(f"{text!r}; it must be a number")
    return number


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the settings of a measure that were given."""
    given = {name: getattr(options, name) for name in names}
    if options.tones is not None:
        given["tones"] = FAMILIES[options.tones]
    return {name: value for name, value in given.items() if value is not None}


def _measure(options: argparse.Namespace) -> Measure:
    """Make the measure that was asked for."""
    given = _given(options, "bins", "binning", "polarity", "gain")
    name, measure = options.measure, NAMED[options.measure]
    if options.direction != "ptw" and isinstance(options.bins, str):
        raise ValueError(
            f"the direction {options.direction!r} takes a number of bins, not {options.bins!r}"
        )
    if options.direction == "both" and not hasattr(measure, "bins"):
        given.pop("bins", None)  # they are of the other direction
    if options.direction == "wtp":
        if name != "nuv":
            raise ValueError(f"the direction 'wtp' is a measure of its own; {name!r} has none")
        name, measure = "wtp", WindowToPattern()
    for setting in given:
        if not hasattr(measure, setting):
            raise ValueError(f"{name!r} has no option --{setting}")
    measure = replace(measure, **given)  # type: ignore[type-var]  # all named are dataclasses
    if options.direction == "both":
        return Lowest(measure, WindowToPattern(bins=options.bins))
    return measure


def _show_bins(options: argparse.Namespace) -> int:
    _check_outputs({options.out: CHARTS}, [options.template])
    template = _read(options.template)
    measure = NUV(**_given(options, "bins", "binning"))
    bins = Matcher(template, measure).bins
    if options.out is not None:
        write_chart(options.out, draw_bins(template, bins))
    if options.json:
        report = {
            "template": options.template,
            "edges": [cut.edges.tolist() for cut in bins],
            "counts": [cut.counts.tolist() for cut in bins],
        }
        print(json.dumps(report, indent=2))
        return FOUND
    for c, cut in enumerate(bins):
        name = f", {('red', 'green', 'blue')[c]}" if len(bins) > 1 else ""
        print(f"{Path(options.template).name}{name}: {cut.counts.size} bins by {measure.binning}")
        print(f"{'bin':>4} {'from':>9} {'to':>9} {'pixels':>8} {'share':>6}")
        for k, count in enumerate(cut.counts):
            share, ends = count / cut.counts.sum(), cut.edges[k : k + 2]
            print(f"{k + 1:>4} {ends[0]:>9.6g} {ends[1]:>9.6g} {count:>8} {share:>6.1%}")
    return FOUND


def _check_outputs(outputs: dict[str | None, tuple[str, ...]], inputs: Sequence[str]) -> None:
    """Refuse what cannot be written, and what would overwrite an input or another output."""
    taken = {Path(path).resolve() for path in inputs}
    for path, suffixes in outputs.items():
        if path is None:
            continue
        io.check_output(path, suffixes)
        if Path(path).resolve() in taken:
            raise ValueError(f"{path} is named twice; an output must be a file of its own")
        taken.add(Path(path).resolve())


def _read(path: str) -> NDArray[Any]:
    """Read an image; what decoders write to the terminal by themselves is dropped."""
    kept = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        return io.read_image(path)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def _locate(options: argparse.Namespace) -> int:
    if options.out is not None and options.out == options.map:
        raise ValueError(f"{options.out} is named twice; an output must be a file of its own")
    outputs = {options.out: io.PICTURES, options.map: io.MAPS}
    _check_outputs(outputs, [options.scene, options.template])
    scene, template = _read(options.scene), _read(options.template)
    searched = scene
    if (scene.ndim == 2) != (template.ndim == 2):
        searched, template = io.to_grey(scene), io.to_grey(template)
    check_pair(searched, template)
    measure = _measure(options)
    matcher, options.measure = Matcher(template, measure), name_of(measure)
    threshold = options.threshold
    if options.all and threshold is None:
        threshold = math.inf
    matches = matcher.locate(
        searched,
        threshold=threshold,
        max_matches=options.max_matches,
        min_distance=options.min_distance,
        max_overlap=options.max_overlap,
        region=options.region,
    )
    best = matches[:1] or matcher.locate(searched, region=options.region)
    if options.map is not None:
        io.write_map(options.map, matcher.score_map(searched))
    if options.out is not None:
        io.write_picture(options.out, draw_matches(scene, matches))
    print(_as_json(options, matches, best) if options.json else _as_table(options, matches, best))
    return FOUND if matches else NOTHING


def _as_json(options: argparse.Namespace, matches: Matches, best: Matches) -> str:
    report = {
        "scene": options.scene,
        "template": options.template,
        "measure": options.measure,
        "threshold": options.threshold if math.isfinite(options.threshold or 0) else None,
        "matches": [
            {**match.to_record(), "tone_curves": [curve._asdict() for curve in match.tone_curves]}
            for match in matches
        ],
        "best_score": best[0].score if best else None,
    }
    return json.dumps(report, indent=2)


def _as_table(options: argparse.Namespace, matches: Matches, best: Matches) -> str:
    template, scene = Path(options.template).name, Path(options.scene).name
    if not best:
        return (
            f"{template} cannot be sought in {scene}: every window is flat or masked out, or "
            "outside the region"
        )
    if not matches:
        return (
            f"{template} is not in {scene}: no {options.measure} score is at most "
            f"{options.threshold!r}; the best is {best[0].score!r} at row {best[0].row}, "
            f"column {best[0].col}"
        )
    lines = [
        f"{template} in {scene} by {options.measure} (0 is perfect):",
        f"{'#':>4} {'row':>6} {'column':>6} {'height':>6} {'width':>6} {'score':>8}",
    ]
    lines += [
        f"{i:>4} {m.row:>6} {m.col:>6} {m.height:>6} {m.width:>6} {m.score:>8.4f}"
        for i, m in enumerate(matches, 1)
    ]
    return "\n".join(lines)
