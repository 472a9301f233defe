"""What is printed: tables, or JSON."""

import argparse
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..binning import Binning
from ..results import Match

FOUND, NOTHING, BAD_INPUT = 0, 1, 2

_DOUBTFUL = 0.1  # false alarms that are too many to believe the best place unasked


class Found(NamedTuple):
    """A match, and the page that it is on, from 1."""

    page: int
    match: Match


def report_matches(options: argparse.Namespace, found: Sequence[Found], best: Found | None) -> None:
    """Print what was found, as it was asked for."""
    if options.quiet:
        return
    if not options.json:
        print(_as_table(options, found, best))
        return
    report = {
        "scene": options.scene,
        "template": options.template,
        "measure": options.measure,
        "threshold": options.threshold if math.isfinite(options.threshold or 0) else None,
        "max_false_alarms": options.false_alarms
        if math.isfinite(options.false_alarms or 0)
        else None,
        "matches": [
            {
                **_as_record(options, one),
                "tone_curves": [curve._asdict() for curve in one.match.tone_curves],
            }
            for one in found
        ],
        "best": _as_record(options, best) if best else None,
        "best_score": best.match.score if best else None,
    }
    print(_as_json(report))


def _as_record(options: argparse.Namespace, found: Found) -> dict[str, Any]:
    """Return what is known of a match; JSON has no infinity, and null is nothing told."""
    record = found.match.to_record()
    record |= {name: None for name in ("false_alarms", "sigma") if math.isinf(record[name] or 0)}
    return {"page": found.page, **record} if options.page else record


def _as_table(options: argparse.Namespace, found: Sequence[Found], best: Found | None) -> str:
    template, scene = Path(options.template).name, Path(options.scene).name
    if best is None:
        refusing = [f"--{name}" for name in ("gain", "polarity") if getattr(options, name)]
        reasons = ["flat or masked out"]
        reasons += [f"refused by {' and '.join(refusing)}"] if refusing else []
        reasons += ["outside the region"] if options.region else []
        return f"{template} cannot be sought in {scene}: every window is {', or '.join(reasons)}"
    place = f"row {best.match.row}, column {best.match.col}"
    if not found:
        return (
            f"{template} is not in {scene}: no place has {' and '.join(_limits(options))} by "
            f"{options.measure}; the best scores {best.match.score:.4f} at {place}"
            f"{f' of page {best.page}' if options.page else ''}{_of_chance(best)}"
        )
    told = any(one.match.false_alarms is not None for one in found)
    head = f"{'page':>5} " if options.page else ""
    lines = [
        f"{template} in {scene} by {options.measure} (0 is perfect):",
        f"{'#':>4} {head}{'row':>6} {'column':>6} {'height':>6} {'width':>6} {'score':>8}"
        f"{' false alarms' if told else ''}"
        f"{' center row  and column sigma' if options.subpixel else ''}",
    ]
    for i, (page, m) in enumerate(found, 1):
        first = f"{page:>5} " if options.page else ""
        place = f"{m.row:>6} {m.col:>6} {m.height:>6} {m.width:>6}"
        last = f" {m.false_alarms:>12.2g}" if told else ""
        if options.subpixel:
            last += f" {m.center[0]:>10.2f} {m.center[1]:>11.2f} {m.sigma:>5.2f}"
        lines.append(f"{i:>4} {first}{place} {m.score:>8.4f}{last}")
    least = min(one.match.false_alarms or 0 for one in found)
    if told and _DOUBTFUL <= least < math.inf:
        lines.append("This may well be chance: scenes like this show as good places without it.")
    return "\n".join(lines)


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


def _as_json(report: dict[str, Any]) -> str:
    """Indent a report, but keep each list of numbers on one line."""
    text = json.dumps(report, indent=2)
    return re.sub(r'\[\n[^][{}"]*\]', lambda found: re.sub(r"\n\s*", " ", found[0]), text)
