"""What came of which scene, kept line by line, so that work goes on where it ended."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .tables import Row

_FIRST = b'{"nuvmatch batch": '  # how each journal begins


class Stamp(NamedTuple):
    """By what a file is known to be the same."""

    size: int
    mtime_ns: int


def stamp_of(path: str) -> Stamp | None:
    """Return the stamp of a file; None if there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - a million of these
    except OSError:
        return None
    return Stamp(stat.st_size, stat.st_mtime_ns)


class _Place(NamedTuple):
    """Where in the journal the rows of a scene are, and for which file."""

    offset: int
    stamp: Stamp | None
    failed: bool


class Journal:
    """A file of one line for each scene done, behind one that says with which settings.

    Lines that are not whole, as the last one of a killed run, count as not there. Rows stay in
    the file.

    Parameters
    ----------
    path : path
    settings : dict
        What the rows depend on beside the scenes; of what JSON can hold, or arrays.

    Raises
    ------
    OSError, ValueError
        If it is in use, is no journal, or is of other settings.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._places: dict[str, _Place] = {}
        self._file: BinaryIO = path.open("a+b")
        try:
            self._lock()
            self._load(settings)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def knows(self, scene: str, stamp: Stamp | None, *, retry: bool = False) -> bool:
        """Whether a scene is done, and as it is now; `retry`: one that failed is not."""
        place = self._places.get(_path_of(scene))
        return place is not None and place.stamp == stamp and not (retry and place.failed)

    def add(self, scene: str, stamp: Stamp | None, rows: list[Row]) -> None:
        """Keep the rows of a scene, whatever happens to this process or machine from now on."""
        offset = self._append({"scene": _path_of(scene), "stamp": stamp, "rows": rows})
        self._places[_path_of(scene)] = _Place(offset, stamp, has_failed(rows))

    def rows_of(self, scene: str) -> list[Row]:
        """Read the rows of a scene that is done."""
        self._file.seek(self._places[_path_of(scene)].offset)
        rows: list[Row] = json.loads(self._file.readline())["rows"]
        return rows

    def _lock(self) -> None:
        with suppress(ImportError):  # on Windows
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(
                    f"{self._path} is in use: another run writes the same table"
                ) from None

    def _load(self, settings: Mapping[str, Any]) -> None:
        now = json.loads(_as_json(settings))
        self._file.seek(0)
        first = self._file.readline()
        if not first.endswith(b"\n") and first.startswith(_FIRST[: len(first)]):
            self._file.truncate(0)  # nothing was done before even that line was whole
            self._append({"nuvmatch batch": now})
            return
        before = (_parsed(first) or {}).get("nuvmatch batch")
        if before is None:
            raise ValueError(
                f"{self._path} is no journal of nuvmatch: move it away, or write another table"
            )
        self._load_places(len(first))
        unlike = [
            f"{name}: {before.get(name)} then, {now.get(name)} now"
            for name in {**before, **now}
            if before.get(name) != now.get(name)
        ]
        if unlike and self._places:
            raise ValueError(
                f"{self._path} is of a run with other settings ({'; '.join(unlike)}): write "
                "another table, or delete that file to do all anew"
            )
        if unlike:  # and nothing was done with these
            self._file.truncate(0)
            self._append({"nuvmatch batch": now})

    def _load_places(self, offset: int) -> None:
        line = b"\n"
        for line in self._file:
            entry = _parsed(line)
            if entry is not None and {"scene", "stamp", "rows"} <= set(entry):
                stamp = entry["stamp"] and Stamp(*entry["stamp"])
                self._places[entry["scene"]] = _Place(offset, stamp, has_failed(entry["rows"]))
            offset += len(line)
        if not line.endswith(b"\n"):  # half a line stays alone
            self._file.write(b"\n")

    def _append(self, entry: Mapping[str, Any]) -> int:
        """Write a line, and return where it begins."""
        offset = self._file.seek(0, os.SEEK_END)
        self._file.write(_as_json(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        return offset


def _path_of(scene: str) -> str:
    """Return by which name a scene is known, wherever a run is started."""
    return os.path.abspath(scene)  # noqa: PTH100 - a million of these


def has_failed(rows: list[Row]) -> bool:
    """Whether these are of a scene that could not be searched."""
    return any("error" in row for row in rows)


def _as_json(value: Any) -> str:
    return json.dumps(value, default=lambda other: np.asarray(other).tolist())


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return what a line holds, or None of half a line."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and line.endswith(b"\n") else None
