"""What is named on the command line: files, folders, patterns, pages, standard input."""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import io

STANDARD_INPUT = "-"

# What is taken of a folder.
_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif", ".ppm", ".pgm", ".pnm",
)  # fmt: skip


def scenes_and_templates(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Tell scenes, which come first, from the template behind them and others by an option.

    Raises
    ------
    OSError, ValueError
        If there is no template, or nothing in a folder or like a pattern.
    """
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


def expand(names: Sequence[str]) -> list[str]:
    """Take files as they are, the images of folders, and what patterns match."""
    found: list[str] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            files = sorted(p for p in path.iterdir() if p.suffix.lower() in _SUFFIXES)
            if not files:
                raise ValueError(f"{name} is a folder without images: {', '.join(_SUFFIXES)}")
        elif not path.exists() and set(name) & set("*?["):
            files = sorted(path.parent.glob(path.name))
            if not files:
                raise FileNotFoundError(f"no file is like {name}")
        else:
            found.append(name)
            continue
        found += map(str, files)
    return found


class Pattern(NamedTuple):
    """A template, and which greys its file says are none."""

    pixels: NDArray[Any]
    nodata: set[float]


def read_templates(paths: Sequence[str]) -> dict[str, Pattern]:
    """Read templates, by names that tell them apart: those of their files, if these do."""
    names = [Path(path).name for path in paths]
    unlike = len(set(names)) == len(names)
    found = {}
    for name, path in zip(names if unlike else paths, paths, strict=True):
        source = source_of(path)
        found[name] = Pattern(io.read_image(source), nodata_of(source))
    if len(found) < len(paths):
        raise ValueError(f"{len(paths)} templates are named, and some of them twice")
    return found


def source_of(path: str) -> str | BytesIO:
    """Return what `nuvmatch.io` reads: the file, or the bytes of standard input."""
    if path != STANDARD_INPUT:
        return path
    source = BytesIO(sys.stdin.buffer.read())
    source.name = "standard input"
    return source


def nodata_of(source: str | BytesIO) -> set[float]:
    """Return which grey a file says is none, if any."""
    grey = io.nodata_of(source)
    return set() if grey is None else {grey}


def read_mask(path: str | None) -> NDArray[Any] | None:
    """Read where any colour is above 0, and alpha too."""
    if path is None:
        return None
    mask = io.read_image(path)
    if mask.ndim == 2:
        return mask
    opaque = mask[..., -1] > 0 if mask.shape[2] in (2, 4) else True
    return np.asarray((mask[..., : 1 if mask.shape[2] == 2 else 3] > 0).any(axis=2) & opaque)


def pages_of(
    path: str, source: str | BytesIO, wanted: int | str | None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Read the pages to search, with their numbers from 1."""
    if wanted == "all":
        yield from enumerate(io.read_pages(source), 1)
        return
    count = io.count_pages(source)
    page = 1 if wanted is None else int(wanted)
    if page > count:
        pages = "1 page" if count == 1 else f"{count} pages"
        raise ValueError(f"{path} has {pages}; there is no page {page}")
    if wanted is None and count > 1:
        warnings.warn(
            f"{path} has {count} pages; only the first is searched: --page N chooses "
            "another, --page all searches each",
            stacklevel=2,
        )
    yield page, io.read_image(source, page=page - 1)


def is_grey(image: NDArray[Any]) -> bool:
    """Whether there is one channel beside alpha."""
    return image.ndim == 2 or image.shape[2] == 2


def fits(
    templates: Sequence[NDArray[Any]], scene: NDArray[Any], page: int, *, of_all: bool
) -> bool:
    """Whether a page can hold the templates: of all pages some may not, a single one must."""
    within = scene.shape[:2]
    for template in templates:
        shape = template.shape[:2]
        if shape[0] <= within[0] and shape[1] <= within[1]:
            continue
        said = f"the template of shape {shape} is larger than the image of shape {within}"
        if not of_all:
            raise ValueError(f"{said}: SCENE comes first, then TEMPLATE")
        warnings.warn(f"page {page} is left out: {said}", stacklevel=2)
        return False
    return True
