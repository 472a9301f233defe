"""Where pictures, score maps and reports are written."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from .. import io
from ..scenes import STANDARD_INPUT
from ..showing import PAGES, check_report

# What options write, and what it is called in a folder.
_KINDS = {"out": (io.PICTURES, ".png"), "map": (io.MAPS, ".npy"), "report": (PAGES, ".html")}


class Outputs:
    """Files that options name, or in folders that they name one for each scene and page.

    Parameters
    ----------
    options : Namespace
    scenes : sequence of str
    others : sequence of str or None
        What else is read.

    Raises
    ------
    ImportError, OSError, ValueError
        If something could not be written, would be written twice, or over what is read.
    """

    def __init__(
        self, options: argparse.Namespace, scenes: Sequence[str], others: Sequence[str | None]
    ) -> None:
        self._options = options
        inputs = [path for path in (*scenes, *others) if path not in (None, STANDARD_INPUT)]
        self._inputs = {Path(path).resolve() for path in inputs if path}
        found: list[tuple[str | None, tuple[str, ...]]] = [(options.csv, (".csv",))]
        for option, (suffixes, _) in _KINDS.items():
            given = getattr(options, option)
            if given is None:
                continue
            if _is_folder(given):
                _check_folder(given, scenes)
            elif options.page == "all" or len(scenes) > 1:
                one = f"scene; there are {len(scenes)}"
                if options.page == "all":
                    one = "page; choose it with --page N"
                raise ValueError(
                    f"--{option} {given} shows one {one}; or name a folder, as found/, for one of "
                    "each"
                )
            found += [(self.path(option, scene, 1), suffixes) for scene in scenes]
        for option in _KINDS:
            if _is_folder(getattr(options, option) or ""):
                Path(getattr(options, option)).mkdir(exist_ok=True)
        io.check_outputs(found, self._inputs)
        if options.report is not None:
            check_report(str(self.path("report", scenes[0], 1)))

    def path(self, option: str, scene: str, page: int) -> str | None:
        """Return the file that an option asks for of a page, if it does; it is no input."""
        given: str | None = getattr(self._options, option)
        if given is None or not _is_folder(given):
            return given
        which = f"_p{page}" if self._options.page == "all" else ""
        path = Path(given) / f"{Path(scene).stem}{which}{_KINDS[option][1]}"
        if path.resolve() in self._inputs:
            raise ValueError(f"--{option} would write over {path}, which is read")
        return str(path)


def _is_folder(path: str) -> bool:
    return bool(path) and (path.endswith(("/", os.sep)) or Path(path).is_dir())


def _check_folder(path: str, scenes: Sequence[str]) -> None:
    """Refuse what is no folder, and names of scenes that would be one there."""
    if Path(path).exists() and not Path(path).is_dir():
        raise ValueError(f"{path} is not a folder")
    taken: dict[str, str] = {}
    for scene in scenes:
        other = taken.setdefault(Path(scene).stem, scene)
        if other is not scene:
            raise ValueError(f"{other} and {scene} would have one name in {path}")
