"""The command line with several scenes and templates, turned and resized."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from scipy import ndimage

import nuvmatch
from nuvmatch import io
from nuvmatch.cli import main
from nuvmatch.scenes import expand, read_mask
from nuvmatch.showing import draw_matches

pytestmark = pytest.mark.compiled


def noise(seed, *shape):
    greys = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), 1.5)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenes").mkdir()
    first, second = noise(0, 60, 70), noise(1, 60, 70)
    io.write_picture("scenes/first.png", first)
    io.write_picture("scenes/second.png", 255 - second)
    io.write_picture("a.png", first[10:24, 20:34])
    io.write_picture("b.png", second[30:46, 5:17])
    return tmp_path


def places(capsys):
    report = json.loads(capsys.readouterr().out)
    reports = report if isinstance(report, list) else [report]
    return [[(m["name"], m["row"], m["col"]) for m in one["matches"]] for one in reports]


@pytest.mark.parametrize(
    "scenes", [["scenes"], ["scenes/*.png"], ["scenes/first.png", "scenes/second.png"]]
)
def test_several_scenes_are_files_folders_or_patterns(scenes, capsys):
    assert main(["locate", *scenes, "a.png", "--json", "--threshold", "0.1"]) == 0
    assert places(capsys) == [[("a.png", 10, 20)], []]


def test_several_templates_compete_and_have_the_names_of_their_files(capsys):
    sought = ["a.png", "--template", "b.png", "--threshold", "0.1"]
    assert main(["locate", "scenes", *sought, "--json"]) == 0
    assert places(capsys) == [[("a.png", 10, 20)], [("b.png", 30, 5)]]
    assert main(["locate", "scenes/second.png", *sought]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 templates in second.png")
    assert lines[2].split()[:4] == ["1", "b.png", "30", "5"]
    assert main(["locate", "scenes/first.png", "--template", "a.png", "--threshold", "0"]) == 1


def test_the_best_of_each_template(capsys):
    sought = ["a.png", "--template", "b.png", "--max-per-name", "1", "--json"]
    assert main(["locate", "scenes/first.png", *sought]) == 0
    (found,) = places(capsys)
    assert [name for name, _, _ in found] == ["a.png", "b.png"]


def test_all_matches_are_saved_as_one_table(capsys):
    sought = ["a.png", "--template", "b.png", "--threshold", "0.1", "--csv", "found.csv"]
    assert main(["locate", "scenes", *sought, "--quiet"]) == 0
    with open("found.csv", newline="") as file:  # noqa: PTH123 - as the csv module has it
        rows = list(csv.DictReader(file))
    assert [(r["scene"], r["name"], r["row"], r["col"]) for r in rows] == [
        ("scenes/first.png", "a.png", "10", "20"),
        ("scenes/second.png", "b.png", "30", "5"),
    ]
    assert 0 < float(rows[0]["score"]) < 0.1
    assert capsys.readouterr().out == ""


def test_a_name_that_is_no_text_is_escaped_and_costs_no_result(folder):
    name = os.fsdecode(b"scenes/b\xff.png")
    try:
        shutil.copy("scenes/first.png", name)
    except OSError:
        pytest.skip("this file system has no such names")
    call = [sys.executable, "-m", "nuvmatch", "locate", "scenes", "a.png", "--threshold", "0.1"]
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    for more in ([], ["--json"]):
        said = subprocess.run([*call, "--csv", "x.csv", *more], capture_output=True, env=strict)
        assert (said.returncode, said.stderr) == (0, b"")
        assert b"b\\udcff.png" in said.stdout
        rows = list(csv.DictReader(Path("x.csv").read_text("utf-8").splitlines()))
        assert [(r["scene"], r["row"], r["col"]) for r in rows] == [
            (scene, "10", "20") for scene in ("scenes/b\\udcff.png", "scenes/first.png")
        ]


@pytest.mark.parametrize("scene", ["scenes/first.png", "./scenes//first.png"])
def test_json_of_one_scene_by_its_name_is_an_object(scene, folder, capsys):
    assert main(["locate", scene, "a.png", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scene"] == scene
    (folder / scene).write_text("no image")
    assert main(["locate", scene, "a.png", "--json"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "scenes", [["scenes"], ["scenes/*.png"], ["scenes/first.png", "scenes/second.png"]]
)
def test_json_of_several_scenes_is_a_list_however_many_can_be_read(scenes, folder, capsys):
    readable = ["scenes/first.png", "scenes/second.png"]
    for _ in range(3):
        status = main(["locate", *scenes, "a.png", "--json"])
        assert [one["scene"] for one in json.loads(capsys.readouterr().out)] == readable
        assert status == (0 if len(readable) == 2 else 2)
        if readable:
            (folder / readable.pop()).write_text("no image")


def test_a_folder_or_pattern_of_one_scene_is_a_list_too(folder, capsys):
    (folder / "scenes" / "second.png").unlink()
    for scenes in ("scenes", "scenes/*"):
        assert main(["locate", scenes, "a.png", "--json"]) == 0
        (report,) = json.loads(capsys.readouterr().out)
        assert report["scene"] == "scenes/first.png"
    (folder / "scenes" / "first.png").write_text("no image")
    assert main(["locate", "scenes", "a.png", "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert "scenes/first.png cannot be decoded" in err
    assert main(["locate", "scenes", "a.png"]) == 2
    assert capsys.readouterr().out == ""


def test_half_a_stack_is_refused(folder, capsys):
    stack = np.stack([io.read_image("scenes/first.png")] * 4)
    for imagej in (False, True):
        tifffile.imwrite("x.tif", stack, photometric="minisblack", imagej=imagej)
        whole = Path("x.tif").read_bytes()
        assert main(["locate", "x.tif", "a.png", "--page", "all"]) == 0
        Path("x.tif").write_bytes(whole[: len(whole) // 2])
        capsys.readouterr()
        for page in (["--page", "all"], ["--page", "1"], []):
            assert main(["locate", "x.tif", "a.png", *page]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert err.startswith("nuvmatch: error: x.tif cannot be decoded: it is damaged")
            assert err.count("\n") == 1


TREE = [
    "d/c.png",
    "d/one/c.png",
    "d/one/.hidden.png",
    "d/two/c.png",
    "d/two/deep/c.png",
    "d/o[n]e/c.png",
]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("d/*/c.png", ["d/o[n]e/c.png", "d/one/c.png", "d/two/c.png"]),
        ("*/t*/c.png", ["d/two/c.png"]),
        ("d/**/*.png", sorted(TREE, key=Path)),
        ("**/c.png", sorted((name for name in TREE if "hidden" not in name), key=Path)),
        ("d/t*/**", ["d/two/c.png", "d/two/deep/c.png"]),
        ("d/one/*.png", ["d/one/.hidden.png", "d/one/c.png"]),
        ("d/o[n]e/*", ["d/o[n]e/c.png"]),  # there is a folder of that name
        ("d/o[n]e/c.png", ["d/o[n]e/c.png"]),
        ("d/t[w]o/c.png", ["d/two/c.png"]),
        ("d/../d/t*/c.png", ["d/../d/two/c.png"]),
    ],
)
def test_patterns_are_of_folders_too(pattern, expected, folder):
    for name in TREE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    assert expand([pattern]) == expected
    assert expand([str(folder / pattern)]) == [str(folder / name) for name in expected]
    for none in ("d/*/x.png", "e/**/*.png", "d/c.png/*"):
        with pytest.raises(FileNotFoundError, match="no file is like"):
            expand([none])


def test_one_bad_file_is_reported_and_the_others_are_searched(folder, capsys):
    (folder / "scenes" / "bad.png").write_text("no image")
    assert main(["locate", "scenes", "a.png", "--json", "--threshold", "0.1"]) == 2
    out, err = capsys.readouterr()
    assert [len(one["matches"]) for one in json.loads(out)] == [1, 0]
    assert err.count("\n") == 1
    assert "bad.png cannot be decoded" in err


def test_turned_and_resized_templates_are_told_with_their_pose(capsys):
    scene = io.read_image("scenes/first.png")
    io.write_picture("turned.png", np.rot90(scene))
    assert main(["locate", "turned.png", "a.png", "--angles", "0,90,180,270"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[5:8] == ["angle", "scale", "score"]
    assert lines[2].split()[1:7] == ["36", "10", "14", "14", "90.00", "1.000"]
    larger = ndimage.zoom(scene.astype(float), 1.5, order=3, mode="mirror", grid_mode=True)
    io.write_picture("larger.png", larger.clip(0, 255).astype(np.uint8))
    assert main(["locate", "larger.png", "a.png", "--scales", "1,2", "--json"]) == 0
    (match,) = json.loads(capsys.readouterr().out)["matches"]
    assert match["scale"] == pytest.approx(1.5, abs=0.04)
    assert (match["center_row"], match["center_col"]) == pytest.approx((25, 40), abs=0.3)


def test_a_range_of_angles(capsys):
    options = ["a.png", "--angles=-10:10:5", "--json"]
    assert main(["locate", "scenes/first.png", *options]) == 0
    (match,) = json.loads(capsys.readouterr().out)["matches"]
    assert (match["row"], match["col"], match["angle"]) == (10, 20, 0)


def test_a_report_shows_several_templates_by_name_and_a_map_of_one():
    colour = np.dstack([io.read_image("b.png")] * 3)
    io.write_picture("b & c.png", colour)  # sought by its luminance
    pair = ["a.png", "--template", "b & c.png"]
    assert main(["locate", "scenes/first.png", *pair, "--report", "x.html"]) == 0
    page = Path("x.html").read_text("utf-8")
    assert "<h1>2 templates in first.png by nuv</h1>" in page
    assert "b &amp; c.png, " in page
    assert "Score map" not in page
    for options, has_map in (([], True), (["--angles", "0,90"], False)):
        assert main(["locate", "scenes/first.png", "a.png", "--report", "x.html", *options]) == 0
        page = Path("x.html").read_text("utf-8")
        assert "<h1>a.png in first.png by nuv</h1>" in page
        assert ("Score map" in page) == has_map


# Rivals, and what is not found


@pytest.fixture
def icons():
    """Two look-alikes on a screen, and a third which is not there."""
    screen, icon = noise(3, 90, 120), noise(4, 16, 16)
    names = "out", "in", "search"
    for number, name in enumerate(names):
        drawn = icon.copy()
        drawn[6:10, 3 * number : 3 * number + 4] = 255 - drawn[6:10, 3 * number : 3 * number + 4]
        io.write_picture(f"zoom_{name}.png", drawn)
        if name != "search":
            screen[20:36, 20 + 50 * number : 36 + 50 * number] = drawn
    io.write_picture("screen.png", screen)
    return ["locate", "screen.png", "zoom_search.png"]


@pytest.mark.parametrize("rivals", [["zoom_in.png", "zoom_out.png"], ["./zoom_*.png"]])
def test_rivals_compete_and_are_not_reported(icons, rivals, capsys):
    limits = ["--false-alarms", "1e-4", "--max-per-name", "1", "--json"]
    assert main([*icons, *limits]) == 0  # a look-alike
    capsys.readouterr()
    limits += [word for rival in rivals for word in ("--rival", rival)]
    assert main([*icons, *limits, "--csv", "found.csv", "--report", "x.html"]) == 1
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (report["template"], report["matches"], err) == ("zoom_search.png", [], "")
    assert report["best"]["name"] == "zoom_search.png"
    assert len(Path("found.csv").read_text().splitlines()) == 1
    assert "zoom_in" not in Path("x.html").read_text("utf-8")
    screen = io.read_image("screen.png")
    screen[60:76, 50:66] = io.read_image("zoom_search.png")
    io.write_picture("screen.png", screen)
    assert main([*icons, *limits]) == 0
    assert places(capsys) == [[("zoom_search.png", 60, 50)]]


def test_a_rival_larger_than_a_scene_takes_no_place_in_it(capsys):
    io.write_picture("large.png", noise(3, 61, 20))
    asked = ["scenes/first.png", "a.png", "--rival", "large.png", "--rival", "b.png", "--json"]
    assert main(["locate", *asked]) == 0
    assert places(capsys) == [[("a.png", 10, 20)]]


def test_pages_smaller_than_the_template_may_hold_it_resized(capsys):
    scene = io.read_image("scenes/first.png")
    doubled = scene[10:24, 20:34].repeat(2, axis=0).repeat(2, axis=1)
    io.write_picture("doubled.png", doubled)
    with tifffile.TiffWriter("stack.tif") as file:
        for page in (scene[:26, 9:35], scene[:8], scene):
            file.write(page, photometric="minisblack")
    asked = ["doubled.png", "--page", "all", "--scales", "0.5", "--threshold", "0.1", "--json"]
    assert main(["locate", "stack.tif", *asked]) == 0
    out, err = capsys.readouterr()
    found = [(m["page"], m["row"], m["col"]) for m in json.loads(out)["matches"]]
    assert sorted(found) == [(1, 10, 11), (3, 10, 20)]
    assert "page 2 is left out: the template of shape (28, 28) is larger than the image" in err


def test_a_scene_in_the_templates_place_is_not_sought(capsys):
    scenes = ["scenes/first.png", "scenes/second.png"]
    assert main(["locate", *scenes, "--template", "a.png"]) == 2
    assert (
        "second.png, as large as the scene, is a template, as the last" in capsys.readouterr().err
    )
    assert main(["locate", *scenes, "a.png", "--template", "b.png", "--threshold", ".1"]) == 0


def test_an_empty_name_is_no_folder(folder, capsys):
    before = sorted(folder.rglob("*"))
    assert main(["locate", "scenes/first.png", "a.png", "--out", ""]) == 2
    assert main(["locate", "scenes", "a.png", "--out", "new/", "--map", "one.npy"]) == 2
    assert sorted(folder.rglob("*")) == before


def test_where_every_place_is_a_rivals_that_is_said(capsys):
    io.write_picture("twin.png", io.read_image("scenes/first.png")[10:24, 20:34][::-1])
    io.write_picture("small.png", io.read_image("twin.png"))
    assert main(["locate", "small.png", "a.png", "--rival", "twin.png", "--all"]) == 1
    assert "every window is flat or masked out, or a rival's\n" in capsys.readouterr().out


def test_templates_that_are_not_found_are_named(icons, capsys):
    sought = [*icons, "--template", "zoom_in.png", "--template", "zoom_out.png"]
    assert main([*sought, "--max-per-name", "1", "--false-alarms", "1e-4"]) == 0
    assert capsys.readouterr().err == "nuvmatch: screen.png: not found: zoom_search.png\n"
    for more in (["--quiet", "--threshold", "0"], ["--max-matches", "1"], []):  # or not looked for
        main([*sought, *more])
        assert "not found" not in capsys.readouterr().err
    pair = ["a.png", "--template", "b.png", "--threshold", "0.1"]
    assert main(["locate", "scenes", *pair]) == 0
    assert capsys.readouterr().err == (
        "nuvmatch: scenes/first.png: not found: b.png\n"
        "nuvmatch: scenes/second.png: not found: a.png\n"
    )


def test_a_template_of_one_colour_is_warned_of_by_name_and_once(folder, capsys):
    scene, opaque = io.read_image("scenes/first.png"), np.zeros((12, 12), np.uint8)
    opaque[3:9, 2:7] = 255
    for name in "xy":
        opaque[2, 4] = 255 * (name == "x")
        io.write_picture(f"{name}.png", np.dstack([np.full((12, 12, 3), 9, np.uint8), opaque]))
    io.write_picture("scenes/colour.png", np.dstack([scene] * 2 + [scene[::-1]]))
    main(["locate", "scenes", "x.png", "--template", "y.png", "--threshold", "0.1", "--json"])
    warned = [line for line in capsys.readouterr().err.splitlines() if "flat where" in line]
    assert [line[-18:] for line in warned] == ["(template 'x.png')", "(template 'y.png')"]


# Pictures of many scenes


def test_pictures_maps_and_reports_of_scenes_go_into_folders(folder):
    asked = ["--out", "shown/", "--map", "shown/", "--report", "pages/", "--labels", "none"]
    assert main(["locate", "scenes", "a.png", *asked]) == 0
    names = sorted(path.name for path in (folder / "shown").iterdir())
    assert names == ["first.npy", "first.png", "second.npy", "second.png"]
    template = io.read_image("a.png")
    for name in ("first", "second"):
        scene = io.read_image(f"scenes/{name}.png")
        wanted = draw_matches(scene, nuvmatch.locate(scene, template), labels="none")
        np.testing.assert_array_equal(io.read_image(f"shown/{name}.png"), wanted)
        np.testing.assert_array_equal(
            np.load(f"shown/{name}.npy"), nuvmatch.score_map(scene, template)
        )
        title = f"<h1>a.png in {name}.png by nuv</h1>"
        assert title in (folder / "pages" / f"{name}.html").read_text("utf-8")


def test_pictures_of_pages_have_their_numbers_and_none_is_written_over_an_input(folder, capsys):
    pages = np.stack([noise(seed, 60, 70) for seed in (0, 5, 6)])
    tifffile.imwrite("stack.tif", pages, photometric="minisblack")
    (folder / "shown").mkdir()
    asked = ["locate", "stack.tif", "a.png", "--threshold", "0.1", "--page"]
    assert main([*asked, "all", "--out", "shown"]) == 0
    names = [f"stack_p{page}.png" for page in (1, 2, 3)]
    assert sorted(path.name for path in (folder / "shown").iterdir()) == names
    shown = [io.read_image(f"shown/{name}") for name in names]
    boxes = [(one != page[..., None]).any() for one, page in zip(shown, pages, strict=True)]
    assert boxes == [True, False, False]
    assert main([*asked, "2", "--out", "one/"]) == 1
    np.testing.assert_array_equal(io.read_image("one/stack.png"), shown[1])
    io.write_picture("shown/stack_p3.png", pages[2])
    before = (folder / "shown" / "stack_p3.png").read_bytes()
    capsys.readouterr()
    assert main([*asked, "all", "--out", "shown", "--rival", "shown/stack_p3.png"]) == 2
    assert "would write over shown/stack_p3.png" in capsys.readouterr().err
    assert (folder / "shown" / "stack_p3.png").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["scenes", "a.png", "--out", "x.png"], "one scene; there are 2"),
        (["scenes", "a.png", "--report", "x.html"], "one scene; there are 2"),
        (["scenes/first.png", "a.png", "--template", "b.png", "--map", "x.npy"], "one template"),
        (["scenes/first.png", "a.png", "--angles", "all", "--map", "x.npy"], "one template"),
        (["scenes/first.png", "a.png", "--template", "b.png", "--mask", "a.png"], "there are 2"),
        (["scenes/first.png", "a.png", "--template", "a.png"], "twice"),
        (["scenes/first.png", "a.png", "--template", "./scenes/../a.png"], "twice"),
        (["scenes/first.png", "a.png", "--csv", "x.txt"], "x.txt has no known suffix"),
        (["scenes/first.png", "a.png", "--angles", "some"], "'some'"),
        (["scenes/first.png", "a.png", "--angles", "0:9:0"], "'0:9:0'"),
        (["scenes/first.png", "a.png", "--angles", "0:9"], "'0:9'; it must be FIRST:LAST:STEP"),
        (["scenes/first.png", "a.png", "--scales", "2,1"], "smaller one first"),
        (["scenes/first.png", "a.png", "--angles", "all", "--measure", "auto"], "auto"),
        (["scenes/first.png"], "SCENE comes first, then TEMPLATE"),
        (["scenes/first.png", "a.png", "--rival", "b.png", "--map", "x.npy"], "one template"),
        (["scenes/first.png", "a.png", "--rival", "none.png"], "none.png: No such file"),
        (["scenes", "a.png", "--out", "a.png/"], "a.png/ is not a folder"),
        (["scenes", "a.png", "--out", "no/x/"], "no/x: No such file"),
        (["scenes", "a.png", "--out", "scenes"], "would write over scenes/first.png"),
        (["scenes", "a.png", "--map", "x.npy", "--page", "all"], "choose it with --page N"),
        (["scenes/first.png", "first.png", "a.png", "--out", "x/"], "would have one name in x/"),
    ],
)
def test_what_does_not_go_together_is_one_line(options, message, capsys):
    try:
        status = main(["locate", *options])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", "2>&1 >/dev/null | true"])
@pytest.mark.parametrize(
    ("command", "status", "rows"),
    [
        ("locate scenes/nosuch.png scenes/first.png a.png --csv o.csv --progress", 2, 2),
        ("batch scenes/first.png --templates a.png --out o.csv --workers 1 --progress", 0, 2),
    ],
)
def test_what_nobody_reads_on_standard_error_costs_nothing_else(command, status, rows, closed):
    line = f"( {sys.executable} -m nuvmatch {command}; echo $? >status ) {closed}"
    subprocess.run(["bash", "-c", line], check=False, stdout=subprocess.DEVNULL)
    assert int(Path("status").read_text()) == status
    assert len(Path("o.csv").read_text().splitlines()) == rows


def test_a_fault_of_the_program_is_no_answer(monkeypatch, capsys):
    def fault(*_):
        raise RuntimeError("of the program")

    monkeypatch.setattr("nuvmatch.cli.commands.read_templates", fault)
    assert main(["locate", "scenes/first.png", "a.png"]) == 3
    assert capsys.readouterr().err.endswith("RuntimeError: of the program\n")


def test_a_list_of_scenes_is_not_written_over(capsys):
    Path("list.csv").write_text("scenes/first.png\n")
    given = ["--scenes-from", "list.csv", "--templates", "a.png", "--out", "list.csv"]
    assert main(["batch", *given]) == 2
    assert "list.csv" in capsys.readouterr().err
    assert Path("list.csv").read_text() == "scenes/first.png\n"


def test_templates_may_be_named_one_by_one(capsys):
    given = ["--templates", "a.png", "--templates", "b.png", "--out", "o.csv", "--workers", "1"]
    main(["batch", "scenes/first.png", "scenes/second.png", *given, "--max-per-name", "1"])
    with Path("o.csv").open() as table:
        assert {row["name"] for row in csv.DictReader(table)} == {"a.png", "b.png"}


def test_negative_greys_of_a_mask_count_as_0():
    mask = np.full((14, 14), -9999, np.int16)
    mask[3:9, 2:10] = 1
    tifffile.imwrite("mask.tif", mask)
    np.testing.assert_array_equal(read_mask("mask.tif"), mask == 1)


def test_a_region_may_hold_what_is_made_smaller():
    large = np.kron(io.read_image("scenes/first.png")[:40, :40], np.ones((2, 2), np.uint8))
    io.write_picture("large.png", large)
    region = ["--region", "0", "0", "50", "50", "--scales", "0.5,0.51"]
    given = ["--templates", "large.png", "--out", "o.csv", "--workers", "1"]
    assert main(["batch", "scenes/first.png", *given, *region]) == 0
    assert main(["batch", "scenes/first.png", *given, *region[:5]]) == 2
