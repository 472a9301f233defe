"""What is printed: tables, or JSON."""

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from ..binning import Binning
from ..results import Match
from ..scenes import reason_of

FOUND, NOTHING, BAD_INPUT = 0, 1, 2

# What is told in one line; all else is a fault of ours.
ERRORS = (OSError, ValueError, TypeError, ImportError, MemoryError)

_DOUBTFUL = 0.1  # false alarms that are too many to believe the best place unasked


class Found(NamedTuple):
    """A match, and the page that it is on, from 1."""

    page: int
    match: Match


class Report(NamedTuple):
    """What was found in a scene, and the best place of each page even if it does not pass."""

    scene: str
    templates: list[str]
    found: list[Found]
    best: list[Found]

    @property
    def lowest(self) -> Found | None:
        """The best place of all."""
        return min(self.best, key=lambda one: one.match.score, default=None)


def say_error(error: BaseException, about: str = "") -> None:
    """Say in one line what is wrong."""
    reason = reason_of(error)
    if about and about not in reason:
        reason = f"{about}: {reason}"
    print(f"nuvmatch: error: {reason}", file=sys.stderr)


def say_not_found(options: argparse.Namespace, report: Report) -> None:
    """Say in one line which of several templates have no match."""
    found = {one.match.name for one in report.found}
    missing = [name for name in report.templates if name not in found]
    if missing and len(report.templates) > 1 and not options.quiet:
        print(f"nuvmatch: {report.scene}: not found: {', '.join(missing)}", file=sys.stderr)


def report_matches(options: argparse.Namespace, reports: Sequence[Report], *, single: bool) -> None:
    """Print what was found, as it was asked for: of several scenes one after the other."""
    if options.quiet:
        return
    if options.json:
        found = [_as_report(options, one) for one in reports]
        print(_as_json(found[0] if single else found))
    elif reports:
        print(_as_text("\n\n".join(_as_table(options, one) for one in reports)).decode())


def as_csv(reports: Sequence[Report]) -> bytes:
    """Put all matches into one table, a row each; what is not told is empty."""
    text = StringIO(newline="")
    columns = ["scene", "page", *Match(0, 0, 1, 1, 0.0).to_record()]
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    for report in reports:
        for page, match in report.found:
            writer.writerow({"scene": report.scene, "page": page, **match.to_record()})
    return _as_text(text.getvalue())


def _as_text(told: str) -> bytes:
    """Encode what is told; bytes in a file's name that are no text are escaped, as by ``batch``."""
    return told.encode("utf-8", "backslashreplace")


def _as_report(options: argparse.Namespace, report: Report) -> dict[str, Any]:
    limits = {"threshold": options.threshold, "max_false_alarms": options.false_alarms}
    best, single = report.lowest, len(report.templates) == 1
    return {
        "scene": report.scene,
        "template": report.templates[0] if single else report.templates,
        "measure": options.measure,
        **{name: limit if math.isfinite(limit or 0) else None for name, limit in limits.items()},
        "matches": [
            {
                **_as_record(options, one),
                "tone_curves": [curve._asdict() for curve in one.match.tone_curves],
            }
            for one in report.found
        ],
        "best": _as_record(options, best) if best else None,
        "best_score": best.match.score if best else None,
    }


def _as_record(options: argparse.Namespace, found: Found) -> dict[str, Any]:
    """Return what is known of a match; JSON has no infinity, and null is nothing told."""
    record = found.match.to_record()
    record |= {name: None for name in ("false_alarms", "sigma") if math.isinf(record[name] or 0)}
    return {"page": found.page, **record} if options.page else record


def sought_in_words(templates: Sequence[str]) -> str:
    """Name the template, or say how many there are."""
    return templates[0] if len(templates) == 1 else f"{len(templates)} templates"


def _as_table(options: argparse.Namespace, report: Report) -> str:
    scene = Path(report.scene).name
    single, sought = len(report.templates) == 1, sought_in_words(report.templates)
    best = report.lowest
    if best is None:
        return f"{sought} cannot be sought in {scene}: every window is {_reasons(options)}"
    if not report.found:
        place = f"row {best.match.row}, column {best.match.col}"
        asked = " and ".join(_limits(options))
        return (
            f"{sought} {'is' if single else 'are'} not in {scene}: no place "
            f"{f'has {asked}' if asked else 'is left by rivals'} by {options.measure}; the best "
            f"scores {best.match.score:.4f} at {place}"
            f"{f' of page {best.page}' if options.page else ''}{_of_chance(best)}"
        )
    columns = _columns(options, report)
    lines = [
        f"{sought} in {scene} by {options.measure} (0 is perfect):",
        " ".join(f"{title:>{width}}" for title, width, _ in columns),
    ]
    for i, one in enumerate(report.found, 1):
        lines.append(" ".join(f"{show(i, one):>{width}}" for _, width, show in columns))
    told = [one.match.false_alarms for one in report.found if one.match.false_alarms is not None]
    if told and _DOUBTFUL <= min(told) < math.inf:
        lines.append("This may well be chance: scenes like this show as good places without it.")
    return "\n".join(lines)


Show = Callable[[int, Found], str]


def _columns(options: argparse.Namespace, report: Report) -> list[tuple[str, int, Show]]:
    """Return titles, widths, and what is shown of each match."""
    matches = [one.match for one in report.found]
    columns: list[tuple[str, int, Show]] = [("#", 4, lambda i, one: str(i))]
    if options.page:
        columns.append(("page", 5, lambda i, one: str(one.page)))
    if len(report.templates) > 1:
        longest = max(len(str(match.name)) for match in matches)
        columns.append(("template", max(longest, 8), lambda i, one: str(one.match.name)))
    columns += [
        ("row", 6, lambda i, one: str(one.match.row)),
        ("column", 6, lambda i, one: str(one.match.col)),
        ("height", 6, lambda i, one: str(one.match.height)),
        ("width", 6, lambda i, one: str(one.match.width)),
    ]
    if any(match.template_shape for match in matches):
        columns.append(("angle", 7, lambda i, one: f"{one.match.angle:.2f}"))
        columns.append(("scale", 6, lambda i, one: f"{one.match.scale:.3f}"))
    columns.append(("score", 8, lambda i, one: f"{one.match.score:.4f}"))
    if any(match.false_alarms is not None for match in matches):
        columns.append(("false alarms", 12, lambda i, one: f"{one.match.false_alarms:.2g}"))
    if options.subpixel:
        columns.append(("center row", 10, lambda i, one: f"{one.match.center[0]:.2f}"))
        columns.append((" and column", 11, lambda i, one: f"{one.match.center[1]:.2f}"))
        columns.append(("sigma", 5, lambda i, one: f"{one.match.sigma:.2f}"))
    return columns


def _reasons(options: argparse.Namespace) -> str:
    """Say why no window may be a match."""
    refusing = [f"--{name}" for name in ("gain", "polarity") if getattr(options, name)]
    inverted = options.gain and options.gain[0] >= 0
    reasons = ["flat or masked out"]
    reasons += [f"refused by {' and '.join(refusing)}"] if refusing else []
    reasons[-1] += " (an inverted copy has a negative gain)" if inverted else ""
    reasons += ["outside the region"] if options.region else []
    reasons += ["a rival's"] if options.rival else []
    return ", or ".join(reasons)


def _limits(options: argparse.Namespace) -> list[str]:
    """Say what was asked of a place."""
    said = [] if options.threshold is None else [f"a score of at most {options.threshold:g}"]
    alarms = options.false_alarms
    return said if alarms is None else [*said, f"at most {alarms:g} false alarms"]


def _of_chance(best: Found) -> str:
    alarms = best.match.false_alarms
    if alarms is None or math.isinf(alarms):
        return ""
    return f"; chance shows {alarms:.2g} places as good"


def report_bins(options: argparse.Namespace, bins: Sequence[Binning], binning: str) -> None:
    """Print how greys are cut, channel by channel."""
    if options.json:
        report = {
            "template": options.template,
            "edges": [cut.edges.tolist() for cut in bins],
            "counts": [cut.counts.tolist() for cut in bins],
        }
        print(_as_json(report))
        return
    for c, cut in enumerate(bins):
        name = f", {('red', 'green', 'blue')[c]}" if len(bins) > 1 else ""
        print(f"{Path(options.template).name}{name}: {cut.counts.size} bins by {binning}")
        print(f"{'bin':>4} {'from':>9} {'to':>9} {'pixels':>8} {'share':>6}")
        for k, count in enumerate(cut.counts):
            share, ends = count / cut.counts.sum(), cut.edges[k : k + 2]
            print(f"{k + 1:>4} {ends[0]:>9.6g} {ends[1]:>9.6g} {count:>8} {share:>6.1%}")


def _as_json(report: Any) -> str:
    """Indent a report, but keep each list of numbers on one line."""
    text = json.dumps(report, indent=2)
    return re.sub(r'\[\n[^][{}"]*\]', lambda found: re.sub(r"\n\s*", " ", found[0]), text)
