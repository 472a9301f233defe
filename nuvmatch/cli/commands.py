"""What the commands do, from files to the exit status."""

import argparse
import math
import warnings
from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import io
from .._checks import where_data
from ..finding import PRECISE
from ..matcher import Matcher
from ..measures import NAMED, NUV, Lowest, Measure, WindowToPattern, name_of
from ..results import Matches
from ..search import Search
from ..showing import CHARTS, PAGES, check_report, draw_matches, plot_bins, write_chart
from ..showing import report as write_report
from ..tones.families import NAMED as FAMILIES
from .inputs import (
    STANDARD_INPUT,
    Pattern,
    fits,
    is_grey,
    nodata_of,
    pages_of,
    read_mask,
    read_templates,
    scenes_and_templates,
    source_of,
)
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


def locate(options: argparse.Namespace) -> int:
    """Seek templates in scenes, and report where they are."""
    scenes, paths = scenes_and_templates(options)
    _check_locate(options, scenes, paths)
    measure = _measure(options)
    options.measure = name_of(measure)
    seeker = _Seeker(options, measure, read_templates(paths))
    reports: list[Report] = []
    failed = False
    for path in _with_progress(scenes):
        try:
            reports.append(seeker.seek(path))
        except ERRORS as error:
            if len(scenes) == 1:
                raise
            say_error(error, path)
            failed = True
    if options.csv is not None:  # first: whoever reads what is printed may stop
        io.write_whole(options.csv, as_csv(reports).encode())
    report_matches(options, reports)
    if failed:
        return BAD_INPUT
    return FOUND if any(report.found for report in reports) else NOTHING


def _with_progress(scenes: Sequence[str]) -> Iterable[str]:
    """Show how far it is, where there are several and a person looks."""
    try:
        from tqdm import tqdm
    except ImportError:
        return scenes
    shown: Iterable[str] = tqdm(scenes, disable=None if len(scenes) > 1 else True, unit="scene")
    return shown


class _Seeker:
    """Templates, made ready for scenes of one kind after the other."""

    def __init__(
        self, options: argparse.Namespace, measure: Measure, templates: dict[str, Pattern]
    ) -> None:
        self._options = options
        self._measure = measure
        self._templates = templates
        self._mask = read_mask(options.mask)
        self._where = {"image_mask": read_mask(options.image_mask), "region": options.region}
        self._searches: dict[Any, Search] = {}

    def seek(self, path: str) -> Report:
        """Search one scene, page by page."""
        options, source = self._options, source_of(path)
        report = Report(path, list(self._templates), [], [])
        pixels = [template.pixels for template in self._templates.values()]
        searched = False
        for page, scene in pages_of(path, source, options.page):
            if not fits(pixels, scene, page, of_all=options.page == "all"):
                continue
            searched = True
            greys, search = self._search(scene, nodata_of(source))
            matches = search.locate(greys, **self._where, **_how_many(options))
            report.found.extend(Found(page, match) for match in matches)
            best = matches[:1] or _best(options, search, greys, self._where)
            report.best.extend(Found(page, match) for match in best)
            whole = None
            shown = options.report is not None and _has_map(options, self._templates)
            if options.map is not None or shown:
                (upright,) = search._seekers
                whole = upright.matcher.score_map(greys, image_mask=self._where["image_mask"])
            if options.map is not None and whole is not None:
                io.write_map(options.map, whole)
            if {options.out, options.report} != {None}:
                scene = _without_nodata(scene, search)
            if options.out is not None:
                io.write_picture(options.out, draw_matches(scene, matches, labels=options.labels))
            if options.report is not None:
                sought = {name: one.pixels for name, one in self._templates.items()}
                title = f"{sought_in_words(list(sought))} in {Path(path).name} by {options.measure}"
                write_report(options.report, scene, sought, matches, whole, title=title)
        if not searched:
            raise ValueError(f"every page of {path} is smaller than the template")
        return report

    def _search(self, scene: NDArray[Any], nodata: set[float]) -> tuple[NDArray[Any], Search]:
        """Return what goes together: all grey, unless all are colour."""
        sought = [template.pixels for template in self._templates.values()]
        to_luminance = len({is_grey(image) for image in (scene, *sought)}) > 1
        none = nodata.union(*(template.nodata for template in self._templates.values()))
        key = to_luminance, tuple(sorted(none))
        if to_luminance:
            scene, sought = io.to_grey(scene), [io.to_grey(image) for image in sought]
        if key not in self._searches:
            options = self._options
            single = len(sought) == 1
            self._searches[key] = Search(
                sought[0] if single else dict(zip(self._templates, sought, strict=True)),
                self._measure, masks=self._mask, nodata=options.nodata or list(key[1]) or None,
                angles=options.angles, scales=options.scales, n_threads=options.threads,
            )  # fmt: skip
        return scene, self._searches[key]


def show_bins(options: argparse.Namespace) -> int:
    """Report how the template's greys are cut."""
    _check_outputs([(options.out, CHARTS)], [options.template])
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
    _check_outputs(outputs, [path for path in inputs if path not in (None, STANDARD_INPUT)])
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


def _check_outputs(
    outputs: Sequence[tuple[str | None, tuple[str, ...]]], inputs: Sequence[str]
) -> None:
    """Refuse what cannot be written, and what would overwrite an input or another output."""
    taken = {Path(path).resolve() for path in inputs}
    for path, suffixes in outputs:
        if path is None:
            continue
        io.check_output(path, suffixes)
        if Path(path).resolve() in taken:
            raise ValueError(f"{path} is named twice; an output must be a file of its own")
        taken.add(Path(path).resolve())


def _best(
    options: argparse.Namespace, search: Search, scene: NDArray[Any], where: dict[str, Any]
) -> Matches:
    """Return the best place where none passes; what is to be said of the search already was."""
    told = None if options.false_alarms is None else math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.locate(scene, **where, false_alarms=told, max_matches=1)


def _how_many(options: argparse.Namespace) -> dict[str, Any]:
    """Return which matches `locate` is to keep: without a threshold these tell false alarms."""
    told = math.inf if options.threshold is None else None
    limits = options.threshold, options.false_alarms, options.max_per_name
    best = limits == (None, None, None) and not options.all
    return {
        "threshold": options.threshold,
        "false_alarms": told if options.false_alarms is None else options.false_alarms,
        "max_matches": options.max_matches or (1 if best else None),
        "max_per_name": options.max_per_name,
        "min_distance": options.min_distance,
        "max_overlap": options.max_overlap,
        "subpixel": options.subpixel if options.subpixel == PRECISE else bool(options.subpixel),
    }


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
