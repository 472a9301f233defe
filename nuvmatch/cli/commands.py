"""What the commands do, from files to the exit status."""

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence, Sized
from contextlib import ExitStack, contextmanager, suppress
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
from ..measures import NAMED, NUV, Highest, Lowest, Measure, WindowToPattern, name_of
from ..results import Matches
from ..scenes import (
    STANDARD_INPUT,
    Page,
    Seeker,
    expand,
    expand_rivals,
    limits,
    nodata_of,
    read_mask,
    read_templates,
    source_of,
)
from ..search import Search
from ..showing import CHARTS, draw_matches, plot_bins, write_chart
from ..showing import report as write_report
from ..tones.families import NAMED as FAMILIES
from .outputs import Outputs
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
    say_not_found,
    sought_in_words,
)

# Directions that ask both ways, and which of the two scores each takes.
_JOINED = {"both": Lowest, "mutual": Highest}

_SOON = 2  # seconds, in which nobody asks how far it is


def locate(options: argparse.Namespace) -> int:
    """Seek templates in scenes, and report where they are."""
    scenes, paths, rivals, single = _scenes_and_templates(options)
    outputs = _check_locate(options, scenes, [*paths, *rivals])
    measure = measure_of(options)
    options.measure = name_of(measure)
    templates = read_templates([*paths, *rivals])
    seeker = Seeker(
        templates, measure, page=options.page, masks=read_mask(options.mask),
        nodata=options.nodata, angles=options.angles, scales=options.scales,
        rivals=list(templates)[len(paths) :], n_threads=options.threads,
    )  # fmt: skip
    where = {"image_mask": read_mask(options.image_mask), "region": options.region}
    reports: list[Report] = []
    failed = False
    with _progress(options, len(scenes)) as tell:
        one = tell if len(scenes) == 1 else None
        for number, path in enumerate(scenes, 1):
            try:
                reports.append(_seek(options, seeker, path, {**where, "progress": one}, outputs))
            except ERRORS as error:
                if single:
                    raise
                say_error(error, path)
                failed = True
            if one is None and tell is not None:
                tell(number, len(scenes))
    if options.csv is not None:  # first: whoever reads what is printed may stop
        io.write_whole(options.csv, as_csv(reports))
    with suppress(BrokenPipeError):  # nobody reads on: it is known all the same what was found
        report_matches(options, reports, single=single)
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


def _scenes_and_templates(
    options: argparse.Namespace,
) -> tuple[list[str], list[str], list[str], bool]:
    """Tell scenes, which come first, from the template behind them and others by options.

    The last is whether one scene is asked for by its name: a folder or a pattern may have any
    number.
    """
    *scenes, last = options.images
    templates = list(options.template)
    if scenes:
        templates.insert(0, last)
    else:
        scenes = [last]
    if not templates:
        raise ValueError("there is no TEMPLATE: SCENE comes first, then TEMPLATE")
    asked, scenes = scenes, list(dict.fromkeys(expand(scenes)))
    templates = expand(templates)
    rivals = expand_rivals(options.rival, templates)
    if (scenes + templates + rivals).count(STANDARD_INPUT) > 1:
        raise ValueError("standard input is one image; SCENE or TEMPLATE must be a file")
    return scenes, templates, rivals, len(asked) == 1 and scenes == asked


def _seek(
    options: argparse.Namespace,
    seeker: Seeker,
    path: str,
    where: dict[str, Any],
    outputs: Outputs,
) -> Report:
    """Search one scene, page by page."""
    report = Report(path, seeker.sought, [], [])
    asked = limits(**wanted(options))
    cut_short = False
    for page in seeker.read(path):
        _check_last(options, page, seeker)
        greys, search = seeker.made_ready(page)
        matches = search.locate(greys, **where, **asked)
        cut_short |= len(matches) == asked["max_matches"]
        best = matches[:1] or _best(options, search, greys, where)
        for some, places in ((report.found, matches), (report.best, best)):
            some.extend(Found(page.number, seeker.named(match)) for match in places)
        whole = None
        shown = options.report is not None and _has_map(options, seeker.templates)
        if options.map is not None or shown:
            (upright,) = search._seekers
            whole = upright.matcher.score_map(greys, image_mask=where["image_mask"])
        _show(options, path, page, seeker, matches, whole, outputs)
    if not cut_short:
        say_not_found(options, report)
    return report


def _check_last(options: argparse.Namespace, page: Page, seeker: Seeker) -> None:
    """Refuse to seek the last of the scenes as a template, where that is named by an option."""
    if not options.template or len(options.images) == 1:
        return
    name = seeker.sought[0]
    if seeker.templates[name].pixels.shape[:2] == page.pixels.shape[:2]:
        raise ValueError(
            f"{name}, as large as the scene, is a template, as the last image is: SCENE.. "
            "TEMPLATE, and --template for others"
        )


def _show(
    options: argparse.Namespace,
    path: str,
    page: Page,
    seeker: Seeker,
    matches: Matches,
    score_map: NDArray[Any] | None,
    outputs: Outputs,
) -> None:
    """Write the map, the picture and the report that are asked for."""
    out, map_file, html = (outputs.path(one, path, page.number) for one in ("out", "map", "report"))
    if map_file is not None and score_map is not None:
        io.write_map(map_file, score_map)
    if out is html is None:
        return
    scene = _without_nodata(page.pixels, seeker.made_ready(page)[1])
    if out is not None:
        io.write_picture(out, draw_matches(scene, matches, labels=options.labels))
    if html is not None:
        sought = {name: seeker.templates[name].pixels for name in seeker.sought}
        where = f"page {page.number} of " if options.page else ""
        title = f"{sought_in_words(seeker.sought)} in {where}{Path(path).name}"
        title += f" by {options.measure}"
        write_report(html, scene, sought, matches, score_map, title=title)


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
) -> Outputs:
    """Refuse, before any work is done, what cannot be read or written together."""
    if options.mask is not None and len(templates) > 1:
        raise ValueError(f"--mask is of one template; there are {len(templates)}")
    if options.map is not None and not _has_map(options, templates):
        raise ValueError("--map is of one template as it is, neither turned nor resized")
    return Outputs(options, scenes, [*templates, options.mask, options.image_mask])


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
    joined = _JOINED.get(options.direction)
    if joined is not None and not hasattr(measure, "bins"):
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
    return joined(measure, WindowToPattern(bins=options.bins)) if joined else measure


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the settings of a measure that were given."""
    given = {name: getattr(options, name) for name in names}
    if options.tones is not None:
        given["tones"] = FAMILIES[options.tones]
    return {name: value for name, value in given.items() if value is not None}
