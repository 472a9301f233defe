"""Scenes and templates as files: folders, patterns and pages, and what is sought in which."""

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import io
from ._checks import silence, warn
from .measures import Measure
from .results import Match
from .search import Search
from .search.poses import as_angles, as_scales, have_room

STANDARD_INPUT = "-"

# What is taken of a folder.
_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif", ".ppm", ".pgm", ".pnm",
)  # fmt: skip


def expand(names: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Take files as they are, the images of folders, and what patterns match; a path is no pattern.

    In a pattern ``**`` stands for folders, however deep.

    Raises
    ------
    OSError, ValueError
        If there is nothing in a folder, or like a pattern.
    """
    found: list[str] = []
    for name in names:
        if not os.fspath(name):
            raise ValueError("a file's name is empty")
        path = Path(name)
        if path.is_dir():
            files = sorted(p for p in path.iterdir() if p.suffix.lower() in _SUFFIXES)
            if not files and path.suffix.lower() in _SUFFIXES:  # taken for a file by its name
                files = [path]
            if not files:
                raise ValueError(f"{name} is a folder without images: {', '.join(_SUFFIXES)}")
        elif isinstance(name, str) and not path.exists() and set(name) & set("*?["):
            files = _alike(path)
            if not files:
                raise FileNotFoundError(f"no file is like {name}")
        else:
            found.append(os.fspath(name))
            continue
        found += map(str, files)
    return found


def _alike(pattern: Path) -> list[Path]:
    """Find what a pattern matches, below the folder that its first parts name as they are."""
    folder = next((parent for parent in pattern.parents if parent.exists()), pattern.parent)
    parts = pattern.relative_to(folder).parts
    if parts[-1] == "**":  # pathlib's are folders
        parts = (*parts, "*")
    return sorted({path for path in folder.glob("/".join(parts)) if path.is_file()})


def expand_rivals(names: Iterable[str | os.PathLike[str]], templates: Sequence[str]) -> list[str]:
    """Expand look-alikes, each once; what is sought is none, though a folder may hold it."""
    sought = {Path(path).resolve() for path in templates}
    others = {Path(path).resolve(): path for path in expand(names)}
    return [path for resolved, path in others.items() if resolved not in sought]


class Pattern(NamedTuple):
    """A template, and which greys its file says are none."""

    pixels: NDArray[Any]
    nodata: set[float]


def read_templates(paths: Sequence[str]) -> dict[str, Pattern]:
    """Read templates, by names that tell them apart: those of their files, if these do."""
    if len({Path(path).resolve() for path in paths}) < len(paths):
        raise ValueError(f"{len(paths)} templates are named, and some of them twice")
    names = [Path(path).name for path in paths]
    unlike = len(set(names)) == len(names)
    found = {}
    for name, path in zip(names if unlike else paths, paths, strict=True):
        source = source_of(path)
        found[name] = Pattern(io.read_image(source), nodata_of(source))
    return found


class Page(NamedTuple):
    """A page of a scene, with its number from 1, and which greys its file says are none."""

    number: int
    pixels: NDArray[Any]
    nodata: set[float]


class Seeker:
    """Templates, made ready for scenes of one kind after the other.

    Parameters
    ----------
    templates : dict of Pattern
        By name.
    measure : Measure
    page : int or "all", optional
        Which page of a scene is read, from 1. None: the first, with a warning if there are more.
    nodata, rivals, **settings
        As for `Search`; nodata is what the files say themselves where none is given.

    Attributes
    ----------
    templates : dict of Pattern
    sought : list of str
        Names of those that are no rivals.
    """

    def __init__(
        self,
        templates: Mapping[str, Pattern],
        measure: Measure,
        *,
        page: int | str | None = None,
        nodata: Sequence[float] | None = None,
        rivals: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.templates = templates
        self.sought = [name for name in templates if name not in rivals]
        self._measure = measure
        self._page = page
        self._nodata = nodata
        self._settings = settings
        with silence():  # a search says it
            self._poses = (
                as_angles(settings.get("angles", 0.0)), as_scales(settings.get("scales", 1.0))
            )  # fmt: skip
        self._searches: dict[Any, Search] = {}
        self._said: set[str] = set()

    def larger(self, extent: tuple[int, ...]) -> list[str]:
        """Name what is sought and has no room in an image or a region, however it is turned."""
        shapes = {name: self.templates[name].pixels.shape[:2] for name in self.sought}
        return [name for name, s in shapes.items() if not have_room(s, extent, *self._poses)]

    def read(self, path: str) -> Iterator[Page]:
        """Read the pages of a scene that are to be searched, one after the other.

        Raises
        ------
        OSError, ValueError
            If it cannot be read, or every page is smaller than a template.
        """
        source = source_of(path)
        nodata = nodata_of(source)
        read = False
        for number, pixels in _pages_of(path, source, self._page):
            larger = self.larger(pixels.shape[:2])
            if not larger:
                read = True
                yield Page(number, pixels, nodata)
                continue
            said = (
                f"the template of shape {self.templates[larger[0]].pixels.shape[:2]} is larger "
                f"than the image of shape {pixels.shape[:2]}"
            )
            if self._page != "all":
                raise ValueError(f"{said}: SCENE comes first, then TEMPLATE")
            warn(f"page {number} is left out: {said}")
        if not read:
            raise ValueError(f"every page of {path} is smaller than the template")

    def made_ready(self, page: Page | Pattern) -> tuple[NDArray[Any], Search]:
        """Return what goes together: all grey, unless all are colour."""
        patterns = {name: template.pixels for name, template in self.templates.items()}
        to_luminance = len({_is_grey(image) for image in (page.pixels, *patterns.values())}) > 1
        nodata = page.nodata.union(*(template.nodata for template in self.templates.values()))
        none = self._nodata or sorted(nodata)
        key = to_luminance, tuple(none)
        if key not in self._searches:
            if to_luminance:
                patterns = {name: io.to_grey(image, none) for name, image in patterns.items()}
            with silence() as unsaid:
                self._searches[key] = Search(
                    patterns if len(patterns) > 1 else patterns[self.sought[0]],
                    self._measure,
                    nodata=none or None,
                    rivals=[name for name in patterns if name not in self.sought],
                    **self._settings,
                )
            for message in unsaid:
                if message not in self._said:  # of them as luminance, after colours
                    warn(message)
            self._said.update(unsaid)
        greys = io.to_grey(page.pixels, none) if to_luminance else page.pixels
        return greys, self._searches[key]

    def named(self, match: Match) -> Match:
        """Name a match, though a single template has no name in a search."""
        return match if match.name is not None else replace(match, name=self.sought[0])


def limits(
    threshold: float | None = None,
    false_alarms: float | None = None,
    max_matches: int | None = None,
    max_per_name: int | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return what `Search.locate` is asked for: without a threshold it tells false alarms too."""
    best = threshold is false_alarms is max_per_name is None
    told = math.inf if threshold is None else None
    return {
        "threshold": threshold,
        "false_alarms": told if false_alarms is None else false_alarms,
        "max_matches": 1 if best and max_matches is None else max_matches,
        "max_per_name": max_per_name,
        **others,
    }


def source_of(path: str) -> str | BytesIO:
    """Return what `nuvmatch.io` reads: the file, or the bytes of standard input."""
    if path != STANDARD_INPUT:
        return path
    source = BytesIO(read_standard_input())
    source.name = "standard input"
    return source


def read_standard_input() -> bytes:
    """Read all of it."""
    if sys.stdin is None:
        raise ValueError("standard input is closed; there is nothing to read")
    return sys.stdin.buffer.read()


def nodata_of(source: str | BytesIO) -> set[float]:
    """Return which grey a file says is none, if any."""
    grey = io.nodata_of(source)
    return set() if grey is None else {grey}


def read_mask(path: str | os.PathLike[str] | None) -> NDArray[Any] | None:
    """Read where any colour is above 0, and alpha too."""
    if path is None:
        return None
    mask = io.read_image(path)
    if mask.ndim == 2:
        return np.asarray(mask > 0)
    opaque = mask[..., -1] > 0 if mask.shape[2] in (2, 4) else True
    return np.asarray((mask[..., : 1 if mask.shape[2] == 2 else 3] > 0).any(axis=2) & opaque)


def _pages_of(
    path: str, source: str | BytesIO, wanted: int | str | None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Read the pages to search, with their numbers from 1."""
    if wanted == "all":
        number = 0
        try:
            for number, pixels in enumerate(io.read_pages(source), 1):
                yield number, pixels
        except ValueError as error:
            if number == 0:  # of the file, maybe
                raise
            raise ValueError(f"page {number + 1}: {error}") from error
        return
    count = io.count_pages(source)
    page = 1 if wanted is None else int(wanted)
    if page > count:
        pages = "1 page" if count == 1 else f"{count} pages"
        raise ValueError(f"{path} has {pages}; there is no page {page}")
    if wanted is None and count > 1:
        warn(
            f"{path} has {count} pages; only the first is searched: --page N chooses "
            "another, --page all searches each"
        )
    yield page, io.read_image(source, page=page - 1)


def _is_grey(image: NDArray[Any]) -> bool:
    """Whether there is one channel beside alpha."""
    return image.ndim == 2 or image.shape[2] == 2


def reason_of(error: BaseException) -> str:
    """Say in one line what is wrong."""
    reason = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        reason = f"{error.filename or ''}: {error.strerror}".lstrip(": ")
    return " ".join(reason.split())
