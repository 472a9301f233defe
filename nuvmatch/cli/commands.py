"""What the commands do, from files to the exit status."""

import argparse
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import io
from ..finding import PRECISE
from ..matcher import Matcher
from ..measures import NAMED, NUV, Lowest, Measure, WindowToPattern, name_of
from ..results import Matches
from ..showing import CHARTS, draw_bins, draw_matches, write_chart
from ..tones.families import NAMED as FAMILIES
from .reporting import FOUND, NOTHING, Found, report_bins, report_matches


def locate(options: argparse.Namespace) -> int:
    """Seek the template in the scene, and report where it is."""
    _check_locate(options)
    measure = _measure(options)
    options.measure = name_of(measure)
    source = _source(options.scene)
    template, nodata = _read(options.template)
    settings = {
        "mask": _read_mask(options.mask),
        "nodata": options.nodata or sorted(nodata | _nodata(source)) or None,
        "n_threads": options.threads,
    }
    where = {"image_mask": _read_mask(options.image_mask), "region": options.region}
    found: list[Found] = []
    best: list[Found] = []
    matchers: dict[bool, Matcher] = {}
    for page, scene in _pages(options, source):
        if not _fits(template, scene, options, page):
            continue
        searched, sought = scene, template
        to_luminance = _is_grey(scene) != _is_grey(template)
        if to_luminance:
            searched, sought = io.to_grey(scene), io.to_grey(template)
        if to_luminance not in matchers:
            matchers[to_luminance] = Matcher(sought, measure, **settings)
        matcher = matchers[to_luminance]
        matches = matcher.locate(searched, **where, **_how_many(options))
        found += [Found(page, match) for match in matches]
        best += [
            Found(page, one) for one in matches[:1] or _best(options, matcher, searched, where)
        ]
        if options.map is not None:
            whole = matcher.score_map(searched, image_mask=where["image_mask"])
            io.write_map(options.map, whole)
        if options.out is not None:
            io.write_picture(options.out, draw_matches(scene, matches))
    if not matchers:
        raise ValueError(f"every page of {options.scene} is smaller than the template")
    report_matches(options, found, min(best, key=lambda one: one.match.score, default=None))
    return FOUND if found else NOTHING


def show_bins(options: argparse.Namespace) -> int:
    """Report how the template's greys are cut."""
    _check_outputs([(options.out, CHARTS)], [options.template])
    template, nodata = _read(options.template)
    measure = NUV(**_given(options, "bins", "binning"))
    bins = Matcher(template, measure, nodata=sorted(nodata) or None).bins
    if options.out is not None:
        write_chart(options.out, draw_bins(template, bins))
    report_bins(options, bins, measure.binning)
    return FOUND


def _check_locate(options: argparse.Namespace) -> None:
    """Refuse, before any work is done, what cannot be read or written together."""
    inputs = (options.scene, options.template, options.mask, options.image_mask)
    outputs = [(options.out, io.PICTURES), (options.map, io.MAPS)]
    _check_outputs(outputs, [path for path in inputs if path is not None])
    if options.scene == options.template == "-":
        raise ValueError("standard input is one image; SCENE or TEMPLATE must be a file")
    if options.page == "all" and {options.out, options.map} != {None}:
        raise ValueError("--out and --map show one page; choose it with --page N")


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


def _source(path: str) -> str | BytesIO:
    """Return what `nuvmatch.io` reads: the file, or the bytes of standard input."""
    if path != "-":
        return path
    source = BytesIO(sys.stdin.buffer.read())
    source.name = "standard input"
    return source


def _read(path: str) -> tuple[NDArray[Any], set[float]]:
    """Read an image, and which grey it says is none."""
    source = _source(path)
    return io.read_image(source), _nodata(source)


def _nodata(source: str | BytesIO) -> set[float]:
    grey = io.nodata_of(source)
    return set() if grey is None else {grey}


def _read_mask(path: str | None) -> NDArray[Any] | None:
    """Read where any colour is above 0, and alpha too."""
    if path is None:
        return None
    mask = io.read_image(path)
    if mask.ndim == 2:
        return mask
    opaque = mask[..., -1] > 0 if mask.shape[2] in (2, 4) else True
    return np.asarray((mask[..., : 1 if mask.shape[2] == 2 else 3] > 0).any(axis=2) & opaque)


def _pages(
    options: argparse.Namespace, source: str | BytesIO
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Read the pages to search, with their numbers from 1."""
    if options.page == "all":
        yield from enumerate(io.read_pages(source), 1)
        return
    page, count = options.page or 1, io.count_pages(source)
    if page > count:
        pages = "1 page" if count == 1 else f"{count} pages"
        raise ValueError(f"{options.scene} has {pages}; there is no page {page}")
    if options.page is None and count > 1:
        warnings.warn(
            f"{options.scene} has {count} pages; only the first is searched: --page N chooses "
            "another, --page all searches each",
            stacklevel=2,
        )
    yield page, io.read_image(source, page=page - 1)


def _is_grey(image: NDArray[Any]) -> bool:
    return image.ndim == 2 or image.shape[2] == 2


def _fits(
    template: NDArray[Any], scene: NDArray[Any], options: argparse.Namespace, page: int
) -> bool:
    """Whether a page can hold the template: of all pages some may not, a single one must."""
    shape, within = template.shape[:2], scene.shape[:2]
    if shape[0] <= within[0] and shape[1] <= within[1]:
        return True
    said = f"the template of shape {shape} is larger than the image of shape {within}"
    if options.page != "all":
        raise ValueError(f"{said}: SCENE comes first, then TEMPLATE")
    warnings.warn(f"page {page} is left out: {said}", stacklevel=2)
    return False


def _best(
    options: argparse.Namespace, matcher: Matcher, scene: NDArray[Any], where: dict[str, Any]
) -> Matches:
    """Return the best place where none passes; what is to be said of the search already was."""
    told = None if options.false_alarms is None else math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return matcher.locate(scene, **where, false_alarms=told, max_matches=1)


def _how_many(options: argparse.Namespace) -> dict[str, Any]:
    """Return which matches `locate` is to keep: without a threshold these tell false alarms."""
    told = math.inf if options.threshold is None else None
    best = options.threshold is options.false_alarms is None and not options.all
    return {
        "threshold": options.threshold,
        "false_alarms": told if options.false_alarms is None else options.false_alarms,
        "max_matches": options.max_matches or (1 if best else None),
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
