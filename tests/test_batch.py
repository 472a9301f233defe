"""Many files: rows are those of Search, whatever is bad, changed, killed or interrupted."""

import contextlib
import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import tifffile

import nuvmatch
from nuvmatch import io
from nuvmatch.batch import COLUMNS, Summary, locate_in_files
from nuvmatch.batch import tables as tables_of_batch
from nuvmatch.batch.tables import write_table
from nuvmatch.cli import main

pytestmark = pytest.mark.compiled  # whole searches; other tests run their kernels as plain Python

GREYS = np.random.default_rng(31).integers(0, 256, (400, 40, 44), np.uint8)
FIRST, SECOND = GREYS[-1, :9, :10], GREYS[-1, 20:28, 20:31]
SCENES = {
    "scenes/both.png": [(FIRST, 3, 4), (255 - SECOND, 20, 25)],
    "scenes/first.png": [(FIRST // 2 + 60, 11, 30)],
    "scenes/none.png": [],
    "scenes/second.png": [(SECOND, 30, 2), (SECOND, 5, 17)],
}


def planted(index, parts):
    scene = GREYS[index].copy()
    for part, row, col in parts:
        scene[row : row + part.shape[0], col : col + part.shape[1]] = part
    return scene


ARRAYS = {name: planted(i, parts) for i, (name, parts) in enumerate(SCENES.items())}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenes").mkdir()
    for name, scene in ARRAYS.items():
        io.write_picture(name, scene)
    io.write_picture("first-template.png", FIRST)
    io.write_picture("second-template.png", SECOND)
    return tmp_path


BOTH = ["first-template.png", "second-template.png"]
SEARCH = nuvmatch.Search(dict(zip(BOTH, (FIRST, SECOND), strict=True)))


def rows_of(path):
    """Rows of a table as dictionaries without what is not told."""
    suffix = Path(path).suffix
    if suffix == ".parquet":
        from pyarrow import parquet

        rows = parquet.read_table(path).to_pylist()
    elif suffix == ".jsonl":
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    else:
        with Path(path).open(newline="") as file:
            rows = [
                {name: _as_told(name, value) for name, value in row.items() if value}
                for row in csv.DictReader(file)
            ]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _as_told(name, value):
    if name in ("scene", "name", "measure", "error", "warning"):
        return value
    return {"True": True, "False": False}[value] if name == "on_edge" else float(value)


def expected(scene, matches, page=1, **told):
    records = [{"scene": scene, "page": page, **m.to_record(), **told} for m in matches]
    told = [{key: v for key, v in record.items() if v is not None} for record in records]
    return told or [{"scene": scene, "page": page}]


def found_by_search(names=ARRAYS, **limits):
    return [row for n in names for row in expected(n, SEARCH.locate(ARRAYS[n], **limits))]


def lines_of(journal):
    return [json.loads(line) for line in Path(journal).read_bytes().splitlines()]


# What is found


@pytest.mark.parametrize(
    ("out", "n_workers"), [("found.csv", 2), ("found.jsonl", 1), ("found.parquet", 1)]
)
def test_rows_are_the_matches_of_search_and_one_where_nothing_is_found(out, n_workers):
    summary = locate_in_files("scenes", BOTH, out, threshold=0.1, n_workers=n_workers)
    assert rows_of(out) == found_by_search(threshold=0.1)
    assert [row["scene"] for row in rows_of(out)].count("scenes/second.png") == 2
    assert summary._replace(seconds=0.0) == Summary(4, 3, 1, 0, 0, 0.0, {})


@pytest.mark.parametrize("rivals", ["twin.png", ["[ft]*.png", "./twin.png"]])
def test_rivals_take_places_and_have_no_rows(rivals):
    """What is sought is none, though a pattern may name it."""
    twin = FIRST // 2 + GREYS[-2, :9, :10] // 2
    scene = planted(0, [(twin, 3, 4), (FIRST, 20, 25)])
    for name, image in {"twin.png": twin, "scene.png": scene}.items():
        io.write_picture(name, image)
    assert [m.row for m in nuvmatch.locate(scene, FIRST, threshold=0.7)] == [20, 3]
    locate_in_files("scene.png", BOTH[0], "found.csv", rivals=rivals, threshold=0.7, n_workers=1)
    search = nuvmatch.Search({BOTH[0]: FIRST, "twin": twin}, rivals=["twin"])
    assert rows_of("found.csv") == expected("scene.png", search.locate(scene, threshold=0.7))
    assert [row["row"] for row in rows_of("found.csv")] == [20]
    with pytest.raises(ValueError, match="is of a run with other settings"):
        locate_in_files("scene.png", BOTH[0], "found.csv", threshold=0.7, n_workers=1)
    with pytest.raises(ValueError, match="there is no template"):
        locate_in_files("scene.png", [], "none.csv", rivals=rivals)


def test_without_limits_each_scene_has_its_best_place_with_its_false_alarms():
    locate_in_files("scenes/*.png", BOTH[0], "found.csv", n_workers=1)
    rows = []
    for name, scene in ARRAYS.items():
        best = nuvmatch.locate(scene, FIRST, false_alarms=math.inf, max_matches=1)
        assert best[0].false_alarms is not None
        rows += expected(name, best, name=BOTH[0])
    assert rows_of("found.csv") == rows


def test_what_is_to_be_said_of_a_scene_is_in_its_rows():
    small = ARRAYS["scenes/first.png"][10:24, 24:]
    io.write_picture("small.png", small)
    with pytest.warns(UserWarning, match="false alarms cannot be told") as said:
        best = nuvmatch.locate(small, FIRST, false_alarms=math.inf, max_matches=1)
    summary = locate_in_files(["scenes", "small.png"], BOTH[0], "found.csv", n_workers=1)
    assert summary.warnings == {str(said[0].message): 1}
    *others, row = rows_of("found.csv")
    assert not any("warning" in other for other in others)
    wanted = expected("small.png", best, name=BOTH[0], warning=str(said[0].message))
    assert [row] == wanted
    locate_in_files("small.png", BOTH[0], "found.jsonl", n_workers=1)
    assert best[0].false_alarms == math.inf  # which JSON has not
    assert rows_of("found.jsonl") == [{k: v for k, v in row.items() if k != "false_alarms"}]


def test_pages_of_a_stack_have_rows_of_their_own_and_what_is_left_out_is_said():
    pages = [ARRAYS["scenes/both.png"], ARRAYS["scenes/none.png"]]
    with tifffile.TiffWriter("stack.tif") as file:
        for page in (*pages, pages[0][:5], pages[0]):
            file.write(page, photometric="minisblack")
    locate_in_files("stack.tif", BOTH, "all.csv", page="all", threshold=0.1)
    warning = "page 3 is left out: the template of shape (9, 10) is larger than the image of shape "
    wanted = [
        row
        for number in (1, 2, 4)
        for row in expected("stack.tif", SEARCH.locate(pages[number == 2], threshold=0.1), number)
    ]
    assert rows_of("all.csv") == [row | {"warning": f"{warning}(5, 44)"} for row in wanted]
    locate_in_files("stack.tif", BOTH, "second.csv", page=2, threshold=0.1)
    assert rows_of("second.csv") == [{"scene": "stack.tif", "page": 2}]
    locate_in_files("stack.tif", BOTH, "one.csv", threshold=0.1)
    assert "has 4 pages; only the first is searched" in rows_of("one.csv")[0]["warning"]


def test_pages_before_a_damaged_one_keep_their_rows():
    with tifffile.TiffWriter("stack.tif") as file:
        for _ in range(2):
            file.write(ARRAYS["scenes/both.png"], photometric="minisblack", compression="deflate")
    with tifffile.TiffFile("stack.tif") as file:
        place, size = file.pages[1].dataoffsets[0], file.pages[1].databytecounts[0]
    data = bytearray(Path("stack.tif").read_bytes())
    data[place : place + size] = bytes(size)
    Path("stack.tif").write_bytes(data)
    summary = locate_in_files("stack.tif", BOTH, "all.csv", page="all", threshold=0.1)
    assert (summary.failed, summary.found) == (1, 0)
    *found, failed = rows_of("all.csv")
    matches = SEARCH.locate(ARRAYS["scenes/both.png"], threshold=0.1)
    assert found == expected("stack.tif", matches, 1)
    assert failed["error"].startswith("page 2: ")
    assert "row" not in failed


def test_colour_masks_and_options_are_those_of_locate(capsys):
    io.write_picture("colour.png", np.dstack([ARRAYS["scenes/both.png"]] * 3))
    mask = np.zeros((40, 44), np.uint8)
    mask[:, 20:] = 255
    io.write_picture("mask.png", mask)
    options = ["--threshold", "0.2", "--measure", "ncc2", "--image-mask", "mask.png", "--subpixel"]
    sought = ["--template", BOTH[1], "--csv", "locate.csv", "--quiet"]
    assert main(["locate", "colour.png", *BOTH[:1], *sought, *options]) == 0
    assert main(["batch", "colour.png", "--templates", *BOTH, *options, "--out", "found.csv"]) == 0
    assert rows_of("found.csv") == rows_of("locate.csv")
    assert [(row["name"], row["row"]) for row in rows_of("found.csv")] == [(BOTH[1], 20)]


# What is bad

BAD = {
    "empty.png": b"",
    "text.png": b"no image",
    "cut.png": None,
    "small.png": None,
    "damaged.tif": None,
}


def make_bad_files(folder):
    for name, data in BAD.items():
        (folder / name).write_bytes(data or b"")
    io.write_picture(folder / "whole.png", GREYS[0])
    whole = (folder / "whole.png").read_bytes()
    (folder / "whole.png").unlink()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    io.write_picture(folder / "small.png", GREYS[0, :5, :5])
    with tifffile.TiffWriter(folder / "damaged.tif") as file:
        for page in GREYS[:2]:
            file.write(page, photometric="minisblack", compression="zlib")
    data = bytearray((folder / "damaged.tif").read_bytes())
    data[-600:-300] = bytes(300)  # of the second page
    (folder / "damaged.tif").write_bytes(data)
    (folder / "folder.png").mkdir()
    return {*BAD, "folder.png"}


@pytest.mark.parametrize("n_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_bad_file_is_a_row_with_its_error_and_the_rest_go_on(folder, n_workers):
    bad = {f"scenes/{name}" for name in make_bad_files(folder / "scenes")} | {"missing.png"}
    wanted = ["scenes", "missing.png", folder / "scenes" / "folder.png"]
    options = {"threshold": 0.1, "page": "all", "n_workers": n_workers}
    summary = locate_in_files(wanted, BOTH, "found.jsonl", **options)
    assert (summary.scenes, summary.found, summary.failed) == (12, 3, 8)
    rows = rows_of("found.jsonl")
    errors = {row["scene"]: row["error"] for row in rows if "error" in row}
    assert set(errors) == {*bad, str(folder / "scenes" / "folder.png")}
    assert set(map(len, (row for row in rows if "error" in row))) <= {2, 3}  # no place
    assert "Is a directory" in errors["scenes/folder.png"]
    assert "No such file" in errors["missing.png"]
    assert "smaller than the template" in errors["scenes/small.png"]
    assert "cannot be decoded" in errors["scenes/text.png"]
    searched = [row for row in rows if row["scene"] not in errors]
    assert searched == found_by_search(threshold=0.1)
    again = locate_in_files(wanted, BOTH, "found.jsonl", **options)
    assert again.done_before == 12
    assert rows_of("found.jsonl") == rows
    io.write_picture("missing.png", ARRAYS["scenes/first.png"])
    again = locate_in_files(wanted, BOTH, "found.jsonl", **options)
    assert (again.done_before, again.found, again.failed) == (11, 4, 7)
    assert locate_in_files(wanted, BOTH, "found.jsonl", retry=True, **options).done_before == 5


def test_a_fault_of_ours_is_a_row_too(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(nuvmatch.Search, "locate", broken)
    summary = locate_in_files("scenes", BOTH, "found.csv", n_workers=1)
    assert summary.failed == 4
    assert rows_of("found.csv")[0]["error"] == "ZeroDivisionError: float division by zero"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenes": "nowhere/*.png"}, "no file is like"),
        ({"scenes": []}, "there is no scene"),
        ({"scenes": "-"}, "standard input"),
        ({"templates": "missing.png"}, "No such file"),
        ({"templates": []}, "there is no template"),
        ({"templates": [BOTH[0], BOTH[0]]}, "twice"),
        ({"templates": "flat.png"}, "flat"),
        ({"out": "found.txt"}, "no known suffix"),
        ({"out": "nowhere/found.csv"}, "no folder"),
        ({"out": "scenes.csv", "scenes": "scenes.csv"}, "named twice"),
        ({"mask": "scenes/none.png"}, "mask has shape"),
        ({"mask": "scenes/none.png", "templates": BOTH}, "of one template; there are 2"),
        ({"threshold": "low"}, "threshold"),
        ({"max_overlap": 2}, "max_overlap"),
        ({"max_per_name": 0}, "max_per_name"),
        ({"max_matches": 0}, "max_matches"),
        ({"region": (0, 0, 5, 5)}, "region"),
        ({"region": 7}, "region"),
        ({"page": 0}, "page"),
        ({"n_workers": 0}, "n_workers"),
        ({"measure": "nothing"}, "measure"),
        ({"angles": "some"}, "angles"),
        ({"measure": "auto", "angles": "all"}, "auto"),
    ],
)
def test_what_cannot_be_is_refused_before_work_begins(change, message):
    io.write_picture("flat.png", np.zeros((5, 5), np.uint8))
    Path("scenes.csv").write_text("none")
    before = sorted(Path.cwd().rglob("*"))
    given = {"scenes": "scenes", "templates": BOTH[0], "out": "found.csv", **change}
    with pytest.raises((OSError, ValueError, TypeError), match=message):
        locate_in_files(**given)
    assert sorted(Path.cwd().rglob("*")) == before


# What is done once


def test_a_second_run_does_what_is_missing_new_or_changed_and_a_third_nothing():
    options = {"threshold": 0.1, "n_workers": 1}
    locate_in_files(["scenes/both.png", "scenes/none.png"], BOTH, "found.csv", **options)
    second = locate_in_files("scenes", BOTH, "found.csv", **options)
    assert (second.done_before, second.found, second.nothing) == (2, 3, 1)
    assert rows_of("found.csv") == found_by_search(threshold=0.1)
    journal = Path("found.csv.journal").read_bytes()
    Path("found.csv").unlink()
    assert locate_in_files("scenes", BOTH, "found.csv", **options).done_before == 4
    assert Path("found.csv.journal").read_bytes() == journal
    assert rows_of("found.csv") == found_by_search(threshold=0.1)
    io.write_picture("scenes/none.png", ARRAYS["scenes/first.png"])
    changed = locate_in_files("scenes", BOTH, "found.csv", **options)
    assert (changed.done_before, changed.found) == (3, 4)
    assert [row["scene"] for row in rows_of("found.csv") if row["row"] == 11] == [
        "scenes/first.png",
        "scenes/none.png",
    ]
    few = locate_in_files("scenes/first.png", BOTH, "found.csv", **options)
    assert (few.scenes, few.done_before) == (1, 1)
    assert {row["scene"] for row in rows_of("found.csv")} == {"scenes/first.png"}


def test_half_a_line_at_the_end_of_the_journal_counts_as_not_there():
    options = {"threshold": 0.1, "n_workers": 1}
    locate_in_files("scenes", BOTH, "found.csv", **options)
    journal = Path("found.csv.journal")
    whole = journal.read_bytes()
    begins = [0, *(i + 1 for i, byte in enumerate(whole) if byte == 10)]
    for cut in (*range(0, len(whole), 97), *begins, *(begin - 1 for begin in begins[1:])):
        journal.write_bytes(whole[:cut])
        done = whole[:cut].count(b"\n") - 1  # of which the first line is none
        summary = locate_in_files("scenes", BOTH, "found.csv", **options)
        assert summary.done_before == max(done, 0)
        assert rows_of("found.csv") == found_by_search(threshold=0.1)
        assert locate_in_files("scenes", BOTH, "found.csv", **options).done_before == 4
    journal.write_bytes(whole + bytes(300))  # as after a power failure
    assert locate_in_files("scenes", BOTH, "found.csv", **options).done_before == 4
    journal.write_bytes(whole[: begins[2]] + bytes(300))
    assert locate_in_files("scenes", BOTH, "found.csv", **options).done_before == 1
    assert rows_of("found.csv") == found_by_search(threshold=0.1)


@pytest.mark.parametrize("content", ["mine\n", "mine", '{"scene": 1}\n', "[1]\n", "\n"])
def test_a_file_that_is_no_journal_is_left_alone(content):
    Path("found.csv.journal").write_text(content)
    with pytest.raises(ValueError, match="is no journal"):
        locate_in_files("scenes", BOTH, "found.csv")
    assert Path("found.csv.journal").read_text() == content


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.2},
        {"measure": nuvmatch.NUV(bins=4)},
        {"templates": BOTH[:1]},
        {"page": 1},
        {"region": (0, 0, 40, 40)},
        {"angles": np.array([0.0, 90])},
        {"image_mask": "scenes/first.png"},
        {"subpixel": True},
    ],
)
def test_a_run_with_other_settings_is_refused_in_words(change):
    given = {"templates": BOTH, "threshold": 0.1, "n_workers": 1}
    locate_in_files("scenes", out="found.csv", **given)
    before = Path("found.csv.journal").read_bytes()
    with pytest.raises(ValueError, match=f"other settings .{next(iter(change))}: .* then, .* now"):
        locate_in_files("scenes", out="found.csv", **given | change)
    assert Path("found.csv.journal").read_bytes() == before


def test_a_template_of_other_contents_is_another_setting():
    locate_in_files("scenes", BOTH, "found.csv", threshold=0.1, n_workers=1)
    io.write_picture(BOTH[1], 255 - SECOND)
    with pytest.raises(ValueError, match=r"other settings \(templates"):
        locate_in_files("scenes", BOTH, "found.csv", threshold=0.1, n_workers=1)


def test_a_run_that_did_nothing_binds_nobody(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    command = ["batch", "scenes", "--templates", *BOTH, "--out", "found.csv", "--workers"]
    assert main([*command, "2"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "pip install 'nuvmatch[dask]', or do with one worker" in err
    assert main([*command, "1", "--threshold", "0.1"]) == 0
    assert rows_of("found.csv") == found_by_search(threshold=0.1)


def test_two_runs_at_once_are_refused():
    fcntl = pytest.importorskip("fcntl")
    with Path("found.csv.journal").open("a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="in use"):
            locate_in_files("scenes", BOTH, "found.csv")
    assert locate_in_files("scenes", BOTH, "found.csv", n_workers=1).found == 4


def test_scenes_named_twice_are_searched_once():
    names = ["scenes/both.png", "scenes", "scenes/b*.png"]
    assert locate_in_files(names, BOTH, "found.csv", n_workers=1).scenes == 4


# Tables


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_is_written_whole_whatever_its_length_and_names(suffix, monkeypatch, folder):
    monkeypatch.setattr(tables_of_batch, "_ROWS_AT_ONCE", 3)
    rows = [
        {"scene": f"naïve, {i}.png", "page": i, "score": i / 7, "on_edge": True, "name": 'a"b'}
        for i in range(8)
    ]
    write_table(f"table{suffix}", rows)
    assert rows_of(f"table{suffix}") == rows
    name = os.fsdecode(b"caf\xe9.png")  # Latin letters, which are no text here
    write_table(f"table{suffix}", [{"scene": name, "error": "x", "false_alarms": math.inf}])
    (row,) = rows_of(f"table{suffix}")
    assert (row["scene"], row["error"]) == (r"caf\udce9.png", "x")
    assert row.get("false_alarms") == (None if suffix == ".jsonl" else math.inf)

    def broken():
        yield rows[0]
        raise KeyboardInterrupt

    before = Path(f"table{suffix}").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_table(f"table{suffix}", broken())
    assert Path(f"table{suffix}").read_bytes() == before
    assert sorted(path.name for path in folder.glob("*table*")) == [f"table{suffix}"]
    write_table(f"none{suffix}", [])
    assert rows_of(f"none{suffix}") == []


def test_columns_are_those_of_locate_and_two_more():
    main(["locate", "scenes/both.png", BOTH[0], "--threshold", "1", "--csv", "x.csv", "--quiet"])
    header = Path("x.csv").read_text().splitlines()[0]
    assert ",".join(COLUMNS) == f"{header},error,warning"


# The command


def batch(*options, scenes=("scenes",), out="found.csv"):
    return main(["batch", *scenes, "--templates", *BOTH, "--out", out, "--workers", "1", *options])


def test_the_summary_and_the_exit_status(folder, capsys):
    assert batch("--threshold", "0.1") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("4 scenes in ")
    assert first.endswith(": 3 found, 1 nothing, 0 failed")
    assert second == "written to found.csv"
    assert batch("--threshold", "0", scenes=["scenes/none.png"], out="none.csv") == 1
    capsys.readouterr()
    (folder / "scenes" / "bad.png").write_text("no image")
    assert batch("--threshold", "0.1", "--json") == 2
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert summary.pop("seconds") >= 0
    counts = {"found": 3, "nothing": 1, "failed": 1, "done_before": 4}
    assert summary == {"scenes": 5, **counts, "warnings": {}, "out": "found.csv"}
    assert err == ""  # no bar where nobody looks
    assert batch("--threshold", "0.1", "--progress", "--retry") == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[0].endswith(
        'by an earlier run: 3 found, 1 nothing, 1 failed (column "error")'
    )
    assert "5/5" in err


def test_each_kind_of_warning_is_printed_once_with_how_many_scenes(folder, capsys):
    for name, pages in (("x.tif", 4), ("y.tif", 12), ("z.tif", 4)):
        stack = np.stack([ARRAYS["scenes/none.png"]] * pages)
        tifffile.imwrite(folder / "scenes" / name, stack, photometric="minisblack")
    io.write_picture("small.png", ARRAYS["scenes/first.png"][10:24, 24:])
    batch("--false-alarms", "9", scenes=["small.png", "scenes"])
    _, pages, small, last = capsys.readouterr().out.splitlines()
    assert pages.startswith(f"warning of 3: {folder}/scenes/x.tif has 4 pages; only the first")
    assert small.startswith("warning of 1: ")
    assert "false alarms cannot be told" in small
    assert last == "written to found.csv"


def test_all_is_every_place_and_its_false_alarms_are_told():
    assert batch("--all", scenes=["scenes/second.png"]) == 0
    rows = rows_of("found.csv")
    found = SEARCH.locate(ARRAYS["scenes/second.png"], false_alarms=math.inf)
    assert rows == expected("scenes/second.png", found)
    assert len(rows) > 2


def test_scenes_from_a_list_are_no_patterns(folder, capsys, monkeypatch):
    io.write_picture("a[1].png", ARRAYS["scenes/first.png"])
    (folder / "list.txt").write_text("a[1].png\nscenes/both.png\r\n\nscenes/[x].png\n")
    assert batch("--threshold", "0.1", "--scenes-from", "list.txt", scenes=()) == 2
    rows = rows_of("found.csv")
    assert [row["scene"] for row in rows] == [
        "a[1].png",
        *["scenes/both.png"] * 2,
        "scenes/[x].png",
    ]
    assert "No such file" in rows[-1]["error"]
    assert batch("--scenes-from", "missing.txt", scenes=(), out="x.csv") == 2
    assert "missing.txt: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scenes", "--out", "x.csv"], "--templates"),
        (["scenes", "--templates", BOTH[0]], "--out"),
        (["--templates", BOTH[0], "--out", "x.csv"], "there is no scene"),
        (["scenes", "--templates", BOTH[0], "--out", "x.csv", "--workers", "0"], "--workers"),
        (["scenes", "--templates", *BOTH, "--mask", "scenes/none.png", "--out", "x.csv"], "mask"),
    ],
)
def test_what_is_wrong_is_one_line(arguments, message, capsys):
    try:
        status = main(["batch", *arguments])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_an_interrupted_run_says_how_to_go_on(monkeypatch, capsys):
    locate, calls = nuvmatch.Search.locate, []

    def interrupted(*given, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return locate(*given, **options)

    monkeypatch.setattr(nuvmatch.Search, "locate", interrupted)
    assert batch("--threshold", "0.1") == 130
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "the same command does the rest" in err
    assert not Path("found.csv").exists()
    done = [entry["scene"] for entry in lines_of("found.csv.journal")[1:]]
    assert done == [str(Path(name).absolute()) for name in list(ARRAYS)[:2]]
    assert batch("--threshold", "0.1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["done_before"] == 2
    assert rows_of("found.csv") == found_by_search(threshold=0.1)


# Processes


@pytest.fixture
def scheduler(folder):
    """A scheduler and a worker of two threads, elsewhere on this machine."""
    (folder / "elsewhere").mkdir()
    code = "from distributed.cli.dask_{0} import main; main()"
    shared = {"cwd": folder / "elsewhere", "stderr": subprocess.DEVNULL}
    address = folder / "elsewhere" / "scheduler.json"
    quiet = ["--no-dashboard", "--scheduler-file", str(address)]
    arguments = {
        "scheduler": ["--host", "127.0.0.1", "--port", "0", *quiet],
        "worker": ["--nthreads", "2", "--no-nanny", *quiet],
    }
    running = [
        subprocess.Popen([sys.executable, "-c", code.format(kind), *more], **shared)
        for kind, more in arguments.items()
    ]
    wait_for(lambda: address.exists() and address.stat().st_size)
    yield json.loads(address.read_text())["address"]
    for process in running:
        process.kill()
        process.wait()


def wait_for(what, seconds=300):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_the_workers_of_a_scheduler_find_the_same(scheduler, capsys):
    assert batch("--threshold", "0.1", "--scheduler", scheduler) == 0
    assert rows_of("found.csv") == found_by_search(threshold=0.1)
    assert batch("--threshold", "0.1", "--scheduler", scheduler, "--json", out="more.csv") == 0
    assert rows_of("more.csv") == rows_of("found.csv")


def start(*arguments):
    """Start the command with processes that are killed, or interrupted, together."""
    code = "import sys; from nuvmatch.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, "batch", *map(str, arguments)],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def living(group):
    """Processes of a group that have not ended, though nobody may have asked for their status."""
    found = []
    for process in psutil.process_iter(["status"]):
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(process.pid) == group and process.info["status"] != "zombie":
                found.append(process.pid)
    return found


def count_lines(journal):
    return Path(journal).read_bytes().count(b"\n") if Path(journal).exists() else 0


@pytest.mark.slow
@pytest.mark.compiled
def test_500_files_of_which_7_are_bad_killed_twice(folder, rng):
    out = "found.parquet"
    many = folder / "many"
    many.mkdir()
    bad = make_bad_files(many) | {"noise.png"}
    (many / "noise.png").write_bytes(rng.bytes(999))
    scenes = {}
    for i in range(493):
        parts = [(FIRST, i % 30, i % 33)] if i % 3 else []
        scenes[f"many/{i:03d}.png"] = planted(i % 390, parts)
        io.write_picture(f"many/{i:03d}.png", scenes[f"many/{i:03d}.png"])
    command = ["many", "--templates", *BOTH, "--threshold", "0.1", "--page", "all", "--out", out]
    journal = f"{out}.journal"
    done = 1
    for share in rng.uniform(0.1, 0.4, 2):
        process = start(*command, "--workers", "2")
        wait_for(lambda least=done + int(500 * share): count_lines(journal) >= least)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not Path(out).exists()
        assert done < count_lines(journal) < 500
        done = count_lines(journal)
    process = start(*command, "--workers", "2", "--json")
    said, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (2, "")
    summary = json.loads(said)
    assert (summary["scenes"], summary["failed"]) == (500, 7)
    assert summary["done_before"] in (done - 1, done - 2)  # half a line was no line
    done_scenes = [
        entry["scene"]
        for line in Path(journal).read_bytes().splitlines()[1:]
        if (entry := _parsed(line))
    ]
    assert len(done_scenes) == len(set(done_scenes)) == 500
    rows = rows_of(out)
    failed = {row["scene"] for row in rows if "error" in row}
    assert failed == {f"many/{name}" for name in bad}
    found = [
        row
        for name, scene in scenes.items()
        for row in expected(name, SEARCH.locate(scene, threshold=0.1))
    ]
    assert [row for row in rows if row["scene"] not in failed] == found
    process = start(*command, "--workers", "2", "--json")
    assert json.loads(process.communicate(timeout=100)[0])["done_before"] == 500
    assert not list(folder.glob(".*"))


def _parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


@pytest.mark.slow
@pytest.mark.compiled
def test_ctrl_c_ends_all_processes_within_two_seconds(folder):
    large = np.tile(GREYS[0], (40, 40))
    for i in range(6):  # searched after "both.png" and "first.png"
        io.write_picture(f"scenes/huge{i}.png", large)
    command = ["scenes", "--templates", *BOTH, "--angles", "all", "--threshold", "0.1"]
    process = start(*command, "--out", "found.csv", "--workers", "2")
    wait_for(lambda: count_lines("found.csv.journal") == 3)
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert time.monotonic() - begun < 2
    assert (process.returncode, said, errors.count("\n")) == (130, "", 1)
    assert "the same command does the rest" in errors
    assert not Path("found.csv").exists()
    assert not living(process.pid)
    assert count_lines("found.csv.journal") == 3


def test_files_of_one_name_in_different_folders_are_different(tmp_path, monkeypatch, rng):
    """Of one size, and of one time, as files out of archives are."""
    template = rng.integers(0, 256, (16, 16), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "t.tif", template)
    for folder, col in (("one", 5), ("two", 30)):
        image = rng.integers(0, 256, (50, 60), dtype=np.uint8)
        image[10:26, col : col + 16] = template
        (tmp_path / folder).mkdir()
        tifffile.imwrite(tmp_path / folder / "a.tif", image)
        os.utime(tmp_path / folder / "a.tif", (10**9, 10**9))
    cols = []
    for folder in ("one", "two"):
        monkeypatch.chdir(tmp_path / folder)
        out = tmp_path / "found.csv"
        locate_in_files(["a.tif"], tmp_path / "t.tif", out, threshold=0.2, n_workers=1)
        cols.append(next(csv.DictReader(out.read_text().splitlines()))["col"])
    assert cols == ["5", "30"]
