"""The command line: ``nuvmatch locate SCENE TEMPLATE``, ``nuvmatch bins TEMPLATE``."""

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from numpy.typing import NDArray

from . import __version__, io
from ._checks import as_planes, check_fit
from .binning.rules import RULES
from .matcher import Matcher
from .measures import DIRECTIONS, MEASURES
from .measures.template import BINNERS
from .plots import CHARTS, draw_bins, draw_matches, write_chart
from .results import Matches
from .tones.families import NAMED

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
    locate.add_argument(
        "--measure",
        choices=MEASURES,
        default="nuv",
        metavar="NAME",
        help="nuv for any change of tones (default); nuv_adaptive, of few curves, where it may "
        "also be simple, nuv_monotone, nuv_linear, nuv_curves; ncc where tones change linearly "
        "if at all; ncc2: that or inverted; mi, nmi: mutual information; ssd: squared "
        f"differences. One of {', '.join(MEASURES)}",
    )
    locate.add_argument(
        "--direction",
        choices=DIRECTIONS,
        default="ptw",
        help="ptw: the template's greys explain the scene (default); wtp: the scene's explain the "
        "template, for one grey that shows as several; both: the better of these",
    )
    locate.add_argument(
        "--polarity",
        choices=("increasing", "decreasing"),
        help="refuse places where bright and dark are swapped, or where they are not",
    )
    locate.add_argument(
        "--gain",
        type=_number,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="refuse places with less or more contrast than this many times the template's",
    )
    _add_binning(locate)
    locate.add_argument(
        "--threshold", type=_number, metavar="SCORE", help="all places that score at most this"
    )
    locate.add_argument("--max-matches", type=_count, metavar="N", help="the best N places at most")
    locate.add_argument(
        "--all", action="store_true", help="all places that do not overlap a better one too much"
    )
    locate.add_argument(
        "--max-overlap",
        type=_number,
        default=0.25,
        metavar="SHARE",
        help="drop what shares more with a better place, as intersection over union (default .25)",
    )
    locate.add_argument(
        "--min-distance",
        type=_number,
        metavar="PIXELS",
        help="drop what is closer to a better place, instead of going by overlap",
    )
    locate.add_argument(
        "--region",
        type=int,
        nargs=4,
        metavar=("ROW", "COL", "HEIGHT", "WIDTH"),
        help="search only this part of the scene",
    )
    locate.add_argument("--json", action="store_true", help="print JSON instead of a table")
    locate.add_argument(
        "--out", metavar="FILE", help=f"draw the matches on the scene: {', '.join(io.PICTURES)}"
    )
    locate.add_argument(
        "--map",
        metavar="FILE",
        help=f"save the whole scene's score map: {', '.join(io.MAPS)}; PNG: 0 is black, 1 white",
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
    bins.add_argument("--json", action="store_true", help="print JSON instead of a table")
    bins.add_argument(
        "--out",
        metavar="FILE",
        help="draw the histogram with the cuts, PNG or SVG (needs nuvmatch[plot])",
    )
    bins.set_defaults(run=_show_bins)
    return parser


def _add_binning(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bins",
        type=_bins,
        metavar="N|RULE",
        help=f"number of bins of the template's greys (default 8), or {', '.join(RULES)}",
    )
    parser.add_argument("--binning", choices=BINNERS, default="optimal", help="how bins are placed")
    parser.add_argument(
        "--tones",
        choices=NAMED,
        default="broad",
        help="which changes of tones to expect, for optimal and greedy binning",
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


def _matcher(template: NDArray[Any], options: argparse.Namespace, **more: Any) -> Matcher:
    return Matcher(
        template,
        bins=options.bins,
        binning=options.binning,
        tones=NAMED[options.tones],
        **more,
    )


def _channels(of_channels: Any) -> list[NDArray[Any]]:
    return of_channels if isinstance(of_channels, list) else [of_channels]


def _show_bins(options: argparse.Namespace) -> int:
    _check_outputs({options.out: CHARTS}, [options.template])
    template = _read(options.template)
    matcher = _matcher(template, options)
    if options.out is not None:
        write_chart(options.out, draw_bins(template, matcher))
    edges, counts = _channels(matcher.bin_edges), _channels(matcher.counts)
    if options.json:
        report = {
            "template": options.template,
            "edges": [channel.tolist() for channel in edges],
            "counts": [channel.tolist() for channel in counts],
        }
        print(json.dumps(report, indent=2))
        return FOUND
    for c, (ends, pixels) in enumerate(zip(edges, counts, strict=True)):
        name = f", {('red', 'green', 'blue')[c]}" if len(edges) > 1 else ""
        print(f"{Path(options.template).name}{name}: {len(pixels)} bins by {options.binning}")
        print(f"{'bin':>4} {'from':>9} {'to':>9} {'pixels':>8} {'share':>6}")
        for k, count in enumerate(pixels):
            share = count / pixels.sum()
            print(f"{k + 1:>4} {ends[k]:>9.6g} {ends[k + 1]:>9.6g} {count:>8} {share:>6.1%}")
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
    check_fit(as_planes(searched, "scene")[0], as_planes(template, "template")[0])
    matcher = _matcher(
        template,
        options,
        measure=options.measure,
        direction=options.direction,
        polarity=options.polarity,
        gain=options.gain,
    )
    threshold = options.threshold
    if options.all and threshold is None:
        threshold = math.inf
    matches = matcher.locate(
        searched,
        threshold=threshold,
        max_matches=options.max_matches,
        min_distance=options.min_distance,
        max_overlap=options.max_overlap,
        roi=options.region,
    )
    best = matches[:1] or matcher.locate(searched, roi=options.region)
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
        "matches": matches.to_records(),
        "best_score": best[0].score if best else None,
    }
    return json.dumps(report, indent=2)


def _as_table(options: argparse.Namespace, matches: Matches, best: Matches) -> str:
    template, scene = Path(options.template).name, Path(options.scene).name
    if not best:
        return f"{template} cannot be sought in {scene}: every window is flat or masked out"
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
