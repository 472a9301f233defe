"""One table of all that was found: Parquet, CSV, or a JSON object a line."""

import csv
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from .. import io
from ..results import Match

Row = dict[str, Any]

TABLES = (".parquet", ".csv", ".jsonl")
COLUMNS = ("scene", "page", *Match(0, 0, 1, 1, 0.0).to_record(), "error", "warning")

_ROWS_AT_ONCE = 10_000
_TEXTS = ("scene", "name", "measure", "error", "warning")
_WHOLE = ("page", "row", "col", "height", "width", "click_x", "click_y")


def check_table(path: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Refuse, before any work is done, a table that could not be written."""
    io.check_outputs([(path, TABLES)], inputs)
    if Path(path).suffix.lower() == ".parquet":
        _pyarrow()


def write_table(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Write a table as its suffix names it, whole or not at all, few rows in memory at once."""
    write = _WRITERS[Path(path).suffix.lower()]
    with io.written_whole(path) as file:
        write(file, (_printable(row) for row in rows))


def _printable(row: Row) -> Row:
    """Return all columns; bytes in a file's name that are no text are escaped."""
    return {
        name: value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value := row.get(name), str)
        else value
        for name in COLUMNS
    }


def _write_csv(file: BinaryIO, rows: Iterator[Row]) -> None:
    text = TextIOWrapper(file, "utf-8", newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    text.detach()  # after what it holds is written; the file is closed by whoever opened it


def _write_json_lines(file: BinaryIO, rows: Iterator[Row]) -> None:
    for row in rows:  # JSON has no infinity, and null is nothing told
        told = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        file.write(json.dumps(told).encode() + b"\n")


def _write_parquet(file: BinaryIO, rows: Iterator[Row]) -> None:
    pyarrow, parquet = _pyarrow()
    types = {name: pyarrow.float64() for name in COLUMNS} | {"on_edge": pyarrow.bool_()}
    types |= {name: pyarrow.string() for name in _TEXTS}
    types |= {name: pyarrow.int64() for name in _WHOLE}
    schema = pyarrow.schema(types)
    with parquet.ParquetWriter(file, schema) as writer:
        while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pyarrow.Table.from_pylist(some, schema))


_WRITERS: dict[str, Callable[[BinaryIO, Iterator[Row]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
}


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'nuvmatch[io]'") from error
    return pyarrow, parquet
