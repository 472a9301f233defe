"""The command line with several scenes and templates, turned and resized."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import io
from nuvmatch.cli import main

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
    assert places(capsys) == [[(None, 10, 20)], []]


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["scenes", "a.png", "--out", "x.png"], "one scene; there are 2"),
        (["scenes", "a.png", "--report", "x.html"], "one scene; there are 2"),
        (["scenes/first.png", "a.png", "--template", "b.png", "--map", "x.npy"], "one template"),
        (["scenes/first.png", "a.png", "--angles", "all", "--map", "x.npy"], "one template"),
        (["scenes/first.png", "a.png", "--template", "b.png", "--mask", "a.png"], "there are 2"),
        (["scenes/first.png", "a.png", "--template", "a.png"], "twice"),
        (["scenes/first.png", "a.png", "--csv", "x.txt"], "x.txt has no known suffix"),
        (["scenes/first.png", "a.png", "--angles", "some"], "'some'"),
        (["scenes/first.png", "a.png", "--angles", "0:9:0"], "'0:9:0'"),
        (["scenes/first.png", "a.png", "--scales", "2,1"], "smaller one first"),
        (["scenes/first.png", "a.png", "--angles", "all", "--measure", "auto"], "auto"),
        (["scenes/first.png"], "SCENE comes first, then TEMPLATE"),
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
