"""Seek templates in many scenes: what is to be done, who does it, what came of it."""

import contextlib
import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._version import __version__
from ..finding import PeakRule
from ..measures import Measure, as_measure
from ..scenes import (
    STANDARD_INPUT,
    Pattern,
    Seeker,
    expand,
    expand_rivals,
    limits,
    read_mask,
    read_templates,
    reason_of,
)
from .journal import Journal, has_failed, stamp_of
from .tables import Row, check_table, write_table

File = str | os.PathLike[str]

_BEYOND_ANY_IMAGE = (2**62, 2**62)


class Summary(NamedTuple):
    """What came of a run: of how many scenes, in how many something was found.

    And nothing was, and how many failed, which are all; how many of all an earlier run had done;
    how long it took; and of how many scenes each warning is that stands in the column "warning",
    as the first of them has it: those that differ in names of files and numbers alone are one.
    """

    scenes: int
    found: int
    nothing: int
    failed: int
    done_before: int
    seconds: float
    warnings: dict[str, int]


def locate_in_files(
    scenes: File | Iterable[File],
    templates: File | Iterable[File],
    out: File,
    measure: str | Measure = "nuv",
    *,
    rivals: File | Iterable[File] = (),
    mask: File | None = None,
    image_mask: File | None = None,
    nodata: float | Sequence[float] | None = None,
    page: int | str | None = None,
    region: tuple[int, int, int, int] | None = None,
    angles: Any = (0.0,),
    scales: Any = (1.0,),
    threshold: float | None = None,
    false_alarms: float | None = None,
    max_matches: int | None = None,
    max_per_name: int | None = None,
    min_distance: float | None = None,
    max_overlap: float = 0.25,
    subpixel: bool | str = False,
    scheduler: str | None = None,
    n_workers: int | None = None,
    retry: bool = False,
    progress: bool | None = None,
) -> Summary:
    """Seek templates in any number of image files, and write what was found as one table.

    Each scene is searched by one process. What is done is kept beside the table, in
    ``<out>.journal``: call it again, and only those scenes are searched that are new, have
    changed (in size or time), or were not done when the last run ended, however it ended. The
    table is written from that when all is done: of the scenes named in this call, in their order.

    A row is a match: the scene, its page from 1, and what `Match.to_record` tells. A page without
    a match has one row, with no place; a scene that cannot be searched has one, with its
    error. Warnings are in the rows of the scene that they speak of.

    Parameters
    ----------
    scenes : path, str, or iterable of these
        Files, folders, or patterns as ``"scans/*.png"``, of all folders below
        ``"scans/**/*.png"``; a path that is no str is no pattern.
    templates : path, str, or iterable of these
        Files likewise. They compete for each place, by the names of their files.
    out : path or str
        The table: .parquet (needs pyarrow), .csv or .jsonl.
    measure : str or Measure
        As for `Search`. One of your own is known again by its repr.
    rivals : path, str, or iterable of these
        Files likewise of look-alikes, which compete for places and have no rows.
    mask, image_mask : path or str, optional
        Images of the template's size, and of each scene's: a pixel counts where any colour is
        above 0, and alpha too.
    nodata, angles, scales
        As for `Search`; no data are by default what TIFF files say themselves.
    page : int or "all", optional
        Which page of each scene is searched, from 1. None: the first.
    region, threshold, false_alarms, max_matches, max_per_name, min_distance, max_overlap, subpixel
        As for `Search.locate`, but that false alarms are told wherever there is no threshold.
        With none of the limits there is a row for each page: its best place.
    scheduler : str, optional
        Address of a dask scheduler, whose workers see the same files and have this version of
        nuvmatch. None: this machine, on which processes are started; so a script that calls this
        needs ``if __name__ == "__main__":``.
    n_workers : int, optional
        How many processes at most; as many as there are CPUs by default.
    retry : bool
        Whether scenes that failed are searched again, though they have not changed.
    progress : bool, optional
        Whether a bar is shown on stderr; None: if that is a terminal.

    Returns
    -------
    Summary

    Raises
    ------
    OSError, TypeError, ValueError
        Before any work is done, if templates or options do not do, if the table cannot
        be written, or if its journal is in use or of other settings.
    ImportError
        If dask is needed and not installed.
    """
    started = time.monotonic()
    names = list(dict.fromkeys(expand(_listed(scenes))))
    sought = expand(_listed(templates))
    others = expand_rivals(_listed(rivals), sought)
    _check_files(names, sought, others, [mask, image_mask], out)
    patterns, measure = read_templates([*sought, *others]), as_measure(measure)
    given = {
        "masks": read_mask(mask), "nodata": _checks.as_nodata(nodata) or None,
        "angles": angles, "scales": scales, "page": _as_page(page),
        "rivals": list(patterns)[len(sought) :],
    }  # fmt: skip
    asked = limits(
        threshold, false_alarms, max_matches, max_per_name, min_distance=min_distance,
        max_overlap=max_overlap, subpixel=subpixel, region=region, image_mask=read_mask(image_mask),
    )  # fmt: skip
    seeker = Seeker(patterns, measure, **given)
    _check_options(seeker, asked, n_workers)
    seeker.made_ready(next(iter(patterns.values())))  # or refused
    from ..out_of_core.spreading import spread  # needs dask, which others do without

    task = _Task(seeker, asked, str(Path.cwd()))
    shared = partial(spread, task, scheduler=scheduler, n_workers=n_workers)
    with Journal(
        Path(f"{os.fspath(out)}.journal"), _settings(patterns, measure, given, asked)
    ) as journal:
        done_before = _do_missing(shared, names, journal, retry, progress)
        counts, kinds = Counter[str](), dict[str, tuple[str, int]]()
        write_table(out, _rows_of(names, journal, counts, kinds))
    found, nothing, failed = (counts[outcome] for outcome in ("found", "nothing", "failed"))
    seconds, warnings = time.monotonic() - started, dict(kinds.values())
    return Summary(len(names), found, nothing, failed, done_before, seconds, warnings)


@dataclass(frozen=True)
class _Task:
    """What is done to each scene, in whatever process."""

    seeker: Seeker
    asked: Mapping[str, Any]
    folder: str  # in which names that are not absolute begin

    def __call__(self, name: str) -> list[Row]:
        with _checks.silence() as unsaid:
            rows: list[Row] = []
            try:
                rows.extend(self._rows(str(Path(self.folder, name))))
            except Exception as error:  # of a page; what those before it hold is known
                rows += _failure(error)
        warning = {"warning": "; ".join(dict.fromkeys(unsaid))} if unsaid else {}
        return [row | warning for row in rows]

    def _rows(self, path: str) -> Iterator[Row]:
        for page in self.seeker.read(path):
            with _checks.silence():  # what is to be said of templates was said at first
                greys, search = self.seeker.made_ready(page)
            matches = search.locate(greys, **self.asked)
            for match in matches:
                record = self.seeker.named(match).to_record()
                told = {key: value for key, value in record.items() if value is not None}
                yield {"page": page.number, **told}
            if not matches:
                yield {"page": page.number}


def _do_missing(
    shared: Callable[[Sequence[str]], Generator[tuple[str, Any]]],
    names: Sequence[str],
    journal: Journal,
    retry: bool,
    progress: bool | None,
) -> int:
    """Search the scenes that a journal does not know; return how many it knew."""
    stamps = {name: stamp_of(name) for name in names}
    todo = [name for name in names if not journal.knows(name, stamps[name], retry=retry)]
    outcomes = shared(todo)
    done_before = len(names) - len(todo)
    with contextlib.closing(outcomes):
        for name, rows in _with_progress(outcomes, len(names), done_before, progress):
            rows = _failure(rows) if isinstance(rows, Exception) else rows
            journal.add(name, stamps[name], rows)
    return done_before


def _failure(error: Exception) -> list[Row]:
    """Return the row of a scene that cannot be searched."""
    expected = isinstance(error, (OSError, ValueError, TypeError, ImportError, MemoryError))
    return [{"error": f"{'' if expected else type(error).__name__ + ': '}{reason_of(error)}"}]


def _rows_of(
    names: Iterable[str],
    journal: Journal,
    counts: Counter[str],
    kinds: dict[str, tuple[str, int]],
) -> Iterator[Row]:
    """Read the rows of scenes, in their order, and count what came of these, and their warnings."""
    for name in names:
        rows = journal.rows_of(name)
        found = any("score" in row for row in rows)
        counts["failed" if has_failed(rows) else "found" if found else "nothing"] += 1
        for warning in {row["warning"] for row in rows if "warning" in row}:
            kind = _without_names_and_numbers(warning, name)
            first, number = kinds.get(kind, (warning, 0))
            kinds[kind] = first, number + 1
        yield from ({"scene": name, **row} for row in rows)


def _without_names_and_numbers(warning: str, scene: str) -> str:
    return re.sub(rf"\S*{re.escape(Path(scene).name)}|(?<!\w)\d[\d.]*(?!\w)", "", warning)


def _with_progress(
    outcomes: Iterator[Any], total: int, done: int, progress: bool | None
) -> Iterator[Any]:
    """Show how far it is, and how long it will take."""
    try:
        from tqdm import tqdm
    except ImportError:
        return outcomes
    hidden = None if progress is None else not progress  # None: unless a person looks
    shown = tqdm(outcomes, total=total, initial=done, disable=hidden, unit="scene")
    return iter(shown)


def _settings(
    patterns: Mapping[str, Pattern],
    measure: Measure,
    given: Mapping[str, Any],
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what rows depend on beside scenes, images by their contents."""
    sought = {name: _digest(one.pixels, one.nodata) for name, one in patterns.items()}
    masks = {"mask": _digest(given["masks"]), "image_mask": _digest(asked["image_mask"])}
    settings = {"nuvmatch": __version__, "templates": sought, "measure": repr(measure)}
    settings |= {name: value for name, value in given.items() if name != "masks"}
    return settings | dict(asked) | masks


def _digest(image: NDArray[Any] | None, nodata: Iterable[float] = ()) -> str | None:
    if image is None:
        return None
    whole = hashlib.sha256(repr((image.dtype.str, image.shape, sorted(nodata))).encode())
    whole.update(np.ascontiguousarray(image).data)
    return whole.hexdigest()[:16]


def _listed(files: File | Iterable[File]) -> list[File]:
    """Take one file, or several."""
    return [files] if isinstance(files, (str, os.PathLike)) else list(files)


def _check_files(
    scenes: Sequence[str],
    templates: Sequence[str],
    rivals: Sequence[str],
    masks: Sequence[File | None],
    out: File,
) -> None:
    if not scenes or not templates:
        raise ValueError(f"there is no {'template' if scenes else 'scene'}; name one at least")
    images = [*scenes, *templates, *rivals]
    if masks[0] is not None and len(templates) + len(rivals) > 1:
        raise ValueError(f"the mask is of one template; there are {len(templates) + len(rivals)}")
    if STANDARD_INPUT in images:
        raise ValueError("standard input is no file of many; scenes and templates must be files")
    check_table(out, [*images, *(os.fspath(mask) for mask in masks if mask is not None)])


def _check_options(seeker: Seeker, asked: Mapping[str, Any], n_workers: int | None) -> None:
    """Refuse at once what each scene would be refused for."""
    names = "threshold", "false_alarms", "max_matches", "min_distance", "max_overlap", "subpixel"
    PeakRule(*(asked[name] for name in names))
    for value, name in ((asked["max_per_name"], "max_per_name"), (n_workers, "n_workers")):
        if value is not None:
            _checks.as_integer(value, name, 1)
    if asked["region"] is not None:
        *_, height, width = _checks.as_region(asked["region"], _BEYOND_ANY_IMAGE, (1, 1))
        for name in seeker.larger((height, width)):
            raise ValueError(
                f"the template {name} of shape {seeker.templates[name].pixels.shape[:2]} is larger "
                f"than the region of shape {(height, width)}"
            )


def _as_page(page: Any) -> int | str | None:
    return page if page in (None, "all") else _checks.as_integer(page, "page", 1)
