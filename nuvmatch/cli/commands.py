"""What the commands do, from files to the exit status."""

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence, Sized
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import io
from .._checks import where_data
from .._progress import Tell, bar
from ..finding import PRECISE
from ..matcher import Matcher
from ..measures import NAMED, NUV, Lowest, Measure, WindowToPattern, name_of
from ..results import Matches
from ..scenes import (
    STANDARD_INPUT,
    Seeker,
    expand,
    limits,
    nodata_of,
    read_mask,
    read_templates,
    source_of,
)
from ..search import Search
from ..showing import CHARTS, PAGES, check_report, draw_matches, plot_bins, write_chart
from ..showing import report as write_report
from ..tones.families import NAMED as FAMILIES
from .reporting import (
    BAD_INPUT,
    ERRORS,
    FOUND,
    NOTHING,
    Found,
    Report,
    as_csv,
    report_bins,
    report_matches,
    say_error,
    sought_in_words,
)

_SOON = 2  # seconds, in which nobody asks how far it is


def locate(options: argparse.Namespace) -> int:
    """Seek templates in scenes, and report where they are."""
    scenes, paths = _scenes_and_templates(options)
    _check_locate(options, scenes, paths)
    measure = measure_of(options)
    options.measure = name_of(measure)
    seeker = Seeker(
        read_templates(paths), measure, page=options.page, masks=read_mask(options.mask),
        nodata=options.nodata, angles=options.angles, scales=options.scales,
        n_threads=options.threads,
    )  # fmt: skip
    where = {"image_mask": read_mask(options.image_mask), "region": options.region}
    reports: list[Report] = []
    failed = False
    with _progress(options, len(scenes)) as tell:
        one = tell if len(scenes) == 1 else None
        for number, path in enumerate(scenes, 1):
            try:
                reports.append(_seek(options, seeker, path, {**where, "progress": one}))
            except ERRORS as error:
                if len(scenes) == 1:
                    raise
                say_error(error, path)
                failed = True
            if one is None and tell is not None:
                tell(number, len(scenes))
    if options.csv is not None:  # first: whoever reads what is printed may stop
        io.write_whole(options.csv, as_csv(reports).encode())
    report_matches(options, reports)
    if failed:
        return BAD_INPUT
    return FOUND if any(report.found for report in reports) else NOTHING


@contextmanager
def _progress(options: argparse.Namespace, scenes: int) -> Iterator[Tell | None]:
    """Show how far it is, in scenes or in parts of the only one: to a person, if it takes long."""
    shown: dict[str, Any] = {}
    if not options.progress:
        shown = {"disable": True if options.quiet else None, "delay": _SOON}
    with ExitStack() as stack:
        tell = None
        try:
            tell = stack.enter_context(bar(unit="scene" if scenes > 1 else "part", **shown))
        except ImportError:
            if options.progress:
                raise
        yield tell


def _scenes_and_templates(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Tell scenes, which come first, from the template behind them and others by an option."""
    *scenes, last = options.images
    templates = list(options.template)
    if scenes:
        templates.insert(0, last)
    else:
        scenes = [last]
    if not templates:
        raise ValueError("there is no TEMPLATE: SCENE comes first, then TEMPLATE")
    scenes, templates = expand(scenes), expand(templates)
    if (scenes + templates).count(STANDARD_INPUT) > 1:
        raise ValueError("standard input is one image; SCENE or TEMPLATE must be a file")
    return scenes, templates


def _seek(options: argparse.Namespace, seeker: Seeker, path: str, where: dict[str, Any]) -> Report:
    """Search one scene, page by page."""
    report = Report(path, list(seeker.templates), [], [])
    for page in seeker.read(path):
        greys, search = seeker.made_ready(page)
        matches = search.locate(greys, **where, **limits(**wanted(options)))
        report.found.extend(Found(page.number, match) for match in matches)
        best = matches[:1] or _best(options, search, greys, where)
        report.best.extend(Found(page.number, match) for match in best)
        whole = None
        shown = options.report is not None and _has_map(options, seeker.templates)
        if options.map is not None or shown:
            (upright,) = search._seekers
            whole = upright.matcher.score_map(greys, image_mask=where["image_mask"])
        if options.map is not None and whole is not None:
            io.write_map(options.map, whole)
        if {options.out, options.report} != {None}:
            scene = _without_nodata(page.pixels, search)
            _show(options, report, scene, seeker, matches, whole)
    return report


def _show(
    options: argparse.Namespace,
    report: Report,
    scene: NDArray[Any],
    seeker: Seeker,
    matches: Matches,
    score_map: NDArray[Any] | None,
) -> None:
    """Write the picture and the page that are asked for."""
    if options.out is not None:
        io.write_picture(options.out, draw_matches(scene, matches, labels=options.labels))
    if options.report is not None:
        sought = {name: one.pixels for name, one in seeker.templates.items()}
        scene_name = Path(report.scene).name
        title = f"{sought_in_words(list(sought))} in {scene_name} by {options.measure}"
        write_report(options.report, scene, sought, matches, score_map, title=title)


def show_bins(options: argparse.Namespace) -> int:
    """Report how the template's greys are cut."""
    io.check_outputs([(options.out, CHARTS)], [options.template])
    source = source_of(options.template)
    template, nodata = io.read_image(source), nodata_of(source)
    measure = NUV(**_given(options, "bins", "binning"))
    bins = Matcher(template, measure, nodata=sorted(nodata) or None).bins
    if options.out is not None:
        write_chart(options.out, plot_bins(template, bins))
    report_bins(options, bins, measure.binning)
    return FOUND


def _check_locate(
    options: argparse.Namespace, scenes: Sequence[str], templates: Sequence[str]
) -> None:
    """Refuse, before any work is done, what cannot be read or written together."""
    inputs = [*scenes, *templates, options.mask, options.image_mask]
    outputs = [
        (options.out, io.PICTURES),
        (options.map, io.MAPS),
        (options.csv, (".csv",)),
        (options.report, PAGES),
    ]
    io.check_outputs(outputs, [path for path in inputs if path not in (None, STANDARD_INPUT)])
    if {options.out, options.map, options.report} != {None}:
        if options.page == "all":
            raise ValueError("--out, --map and --report show one page; choose it with --page N")
        if len(scenes) > 1:
            raise ValueError(f"--out, --map and --report show one scene; there are {len(scenes)}")
    if options.mask is not None and len(templates) > 1:
        raise ValueError(f"--mask is of one template; there are {len(templates)}")
    if options.report is not None:
        check_report(options.report)
    if options.map is not None and not _has_map(options, templates):
        raise ValueError("--map is of one template as it is, neither turned nor resized")


def _has_map(options: argparse.Namespace, templates: Sized) -> bool:
    """Whether one score map shows all that is searched."""
    return len(templates) == 1 and options.angles == [0.0] and options.scales == [1.0]


def _without_nodata(scene: NDArray[Any], search: Search) -> NDArray[Any]:
    """Return what is to be shown of a scene: greys that are none would take the range of others.

    Bytes keep theirs, and alpha is at most 1.
    """
    channels = 1 if scene.ndim == 2 else scene.shape[2]
    if scene.dtype == np.uint8 or channels in (2, 4):
        return scene
    planes = scene.reshape(*scene.shape[:2], channels).transpose(2, 0, 1)
    data = where_data(planes, search._seekers[0].matcher._nodata)
    if data is None:
        return scene
    return np.where(data if scene.ndim == 2 else data[..., np.newaxis], scene, np.float32(np.nan))


def _best(
    options: argparse.Namespace, search: Search, scene: NDArray[Any], where: dict[str, Any]
) -> Matches:
    """Return the best place where none passes; what is to be said of the search already was."""
    told = None if options.false_alarms is None else math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.locate(scene, **where, false_alarms=told, max_matches=1)


def wanted(options: argparse.Namespace) -> dict[str, Any]:
    """Return which matches are asked for."""
    told = math.inf if options.all and options.threshold is None else None
    return {
        "threshold": options.threshold,
        "false_alarms": told if options.false_alarms is None else options.false_alarms,
        "max_matches": options.max_matches,
        "max_per_name": options.max_per_name,
        "min_distance": options.min_distance,
        "max_overlap": options.max_overlap,
        "subpixel": options.subpixel if options.subpixel == PRECISE else bool(options.subpixel),
    }


def measure_of(options: argparse.Namespace) -> Measure:
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
    if given:
        measure = replace(measure, **given)  # type: ignore[type-var]  # those with settings
    if options.direction == "both":
        return Lowest(measure, WindowToPattern(bins=options.bins))
    return measure


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the settings of a measure that were given."""
    given = {name: getattr(options, name) for name in names}
    if options.tones is not None:
        given["tones"] = FAMILIES[options.tones]
    return {name: value for name, value in given.items() if value is not None}
