"""The command line: answers, exit status, one line for what is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nuvmatch
from nuvmatch import io
from nuvmatch.cli import main

SCENE = np.random.default_rng(3).integers(0, 256, (50, 60)).astype(np.uint8)
PLACES = [(8, 10), (30, 40)]
TEMPLATE = SCENE[8:18, 10:22].copy()
PAIR = ["locate", "scene.png", "template.png"]
SCENE[30:40, 40:52] = 255 - TEMPLATE // 2


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    io.write_picture("scene.png", SCENE)
    io.write_picture("template.png", TEMPLATE)
    return tmp_path


def run(*options, scene="scene.png", template="template.png"):
    return main(["locate", scene, template, *options])


def reported(capsys):
    return [(m["row"], m["col"]) for m in json.loads(capsys.readouterr().out)["matches"]]


def test_the_best_place_is_printed_as_a_table(capsys):
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "template.png in scene.png by nuv (0 is perfect):"
    assert lines[1].split() == ["#", "row", "column", "height", "width", "score"]
    assert [int(v) for v in lines[2].split()[:5]] == [1, 8, 10, 10, 12]
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("options", "places"),
    [
        ([], PLACES[:1]),
        (["--threshold", "0.1"], PLACES),
        (["--max-matches", "2"], PLACES),
        (["--threshold", "0.1", "--max-matches", "1"], PLACES[:1]),
        (["--region", "20", "20", "30", "40"], PLACES[1:]),
        (["--region", "20", "-5", "99", "99"], PLACES[1:]),
        (["--bins", "4", "--binning", "equal_width"], PLACES[:1]),
        (["--bins", "sturges"], PLACES[:1]),
        (["--measure", "ncc", "--threshold", "0.1"], PLACES[:1]),
        (["--measure", "ncc2", "--threshold", "0.1"], PLACES),
        (["--measure", "nuv_adaptive", "--threshold", "0.3"], PLACES),
        (["--direction", "wtp", "--bins", "16", "--threshold", "0.2"], PLACES),
        (["--direction", "both", "--threshold", "0.1"], PLACES),
        (["--direction", "both", "--measure", "ncc", "--threshold", "0.2"], PLACES),
        (["--direction", "both", "--measure", "ncc", "--bins", "9", "--threshold", "0.2"], PLACES),
        (["--direction", "both", "--measure", "mi", "--threshold", "0.1"], PLACES),
        (["--polarity", "increasing", "--threshold", "0.1"], PLACES[:1]),
        (["--polarity", "decreasing", "--threshold", "0.1"], PLACES[1:]),
        (["--gain", "-0.6", "-0.4", "--threshold", "0.1"], PLACES[1:]),
        (["--gain", "0.9", "inf", "--threshold", "0.1"], PLACES[:1]),
    ],
)
def test_options_choose_the_places(options, places, capsys):
    assert run("--json", *options) == 0
    assert reported(capsys) == places


def test_all_places_do_not_overlap(capsys):
    assert run("--json", "--all") == 0
    everything = nuvmatch.locate(SCENE, TEMPLATE, threshold=np.inf)
    assert reported(capsys) == list(zip(everything.rows, everything.cols, strict=True))


def test_json_holds_the_tone_curve(capsys):
    run("--json")
    report = json.loads(capsys.readouterr().out)
    match = nuvmatch.locate(SCENE, TEMPLATE)[0]
    (found,) = report["matches"]
    curves = [{"levels": [*levels], "values": [*values]} for levels, values in match.tone_curves]
    assert found == {**match.to_record(), "tone_curves": curves}
    assert (found["measure"], found["center_row"], found["center_col"]) == ("nuv", 12.5, 15.5)
    assert report["best_score"] == match.score


def test_nothing_found_is_status_one_and_names_the_best(capsys):
    assert run("--threshold", "0.00001") == 1
    out = capsys.readouterr().out
    score = nuvmatch.locate(SCENE, TEMPLATE)[0].score
    assert f"no nuv score is at most 1e-05; the best is {score}" in out
    assert "at row 8, column 10" in out
    assert run("--threshold", "0.00001", "--json") == 1
    assert json.loads(capsys.readouterr().out)["matches"] == []


def test_a_blank_scene_is_status_one(capsys):
    io.write_picture("blank.png", np.zeros((40, 50), np.uint8))
    assert run(scene="blank.png") == 1
    assert "every window is flat or masked out" in capsys.readouterr().out


def test_a_region_beside_the_scene_is_status_one():
    assert run("--region", "100", "100", "30", "40") == 1


def test_outputs_are_written():
    assert run("--out", "found.png", "--map", "scores.npy") == 0
    assert io.read_image("found.png").shape == (50, 60, 3)
    np.testing.assert_array_equal(np.load("scores.npy"), nuvmatch.score_map(SCENE, TEMPLATE))


def test_alpha_of_the_template_is_its_mask(capsys):
    io.write_picture("scene3.png", np.dstack([SCENE] * 3))
    opaque = np.full(TEMPLATE.shape, 255, np.uint8)
    opaque[:3] = 0
    spoilt = np.where(opaque, TEMPLATE, 0)
    io.write_picture("cut.png", np.dstack([spoilt, spoilt, spoilt, opaque]))
    for scene in ("scene3.png", "scene.png"):  # of a grey scene: luminance, and still masked
        assert run("--json", "--threshold", "0.1", scene=scene, template="cut.png") == 0
        assert sorted(reported(capsys)) == PLACES


@pytest.mark.parametrize("kind", ["scene16.png", "scene.tif", "scene.jpg", "colour.png"])
def test_many_kinds_of_files_are_taken(kind, capsys):
    image = {"scene16.png": SCENE * np.uint16(200), "colour.png": np.dstack([SCENE] * 3)}
    io.write_picture(kind, image.get(kind, SCENE))
    assert run("--json", scene=kind) == 0
    assert reported(capsys) == PLACES[:1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["locate", "nope.png", "template.png"], "nope.png: No such file"),
        (["locate", ".", "template.png"], ".: Is a directory"),
        (["locate", "scene.png", "text.png"], "text.png cannot be decoded"),
        (["locate", "template.png", "scene.png"], "larger than the image"),
        (["locate", "scene.png", "flat.png"], "is flat"),
        ([*PAIR, "--out", "x.gif"], "x.gif has no known suffix"),
        ([*PAIR, "--map", "no/x.npy"], "no is no folder"),
        ([*PAIR, "--bins", "many"], "--bins: 'many'"),
        ([*PAIR, "--bins", "1"], "--bins: '1'"),
        ([*PAIR, "--bins", "auto", "--direction", "both"], "takes a number of bins, not 'auto'"),
        ([*PAIR, "--bins", "500"], "each pixel is a bin"),
        ([*PAIR, "--threshold", "nan"], "--threshold: 'nan'"),
        ([*PAIR, "--max-matches", "0"], "--max-matches: '0'"),
        ([*PAIR, "--measure", "sad"], "'sad'"),
        (
            [*PAIR, "--region", "0", "0", "99", "9"],
            "larger than the region of shape (99, 9)",
        ),
        ([*PAIR, "--gain", "2", "1"], "gain is (2, 1)"),
        ([*PAIR, "--gain", "nan", "1"], "--gain: 'nan'"),
        ([*PAIR, "--measure", "mi", "--direction", "wtp"], "'mi' has none"),
        ([*PAIR, "--measure", "ncc", "--bins", "4"], "'ncc' has no option --bins"),
        ([*PAIR, "--measure", "mi", "--gain", "0", "1"], "'mi' has no option --gain"),
        ([*PAIR, "--measure", "ssd", "--tones", "gamma"], "'ssd' has no option --tones"),
        ([*PAIR, "--direction", "wtp", "--binning", "kmeans"], "'wtp' has no option --binning"),
        (
            [*PAIR, "--measure", "ncc", "--direction", "both", "--polarity", "decreasing"],
            "'ncc' has no option --polarity",
        ),
        (["locate", "scene.png"], "TEMPLATE"),
        (["bins", "flat.png"], "is flat"),
        (["bins", "template.png", "--out", "x.jpg"], "x.jpg has no known suffix"),
        (["bins", "template.png", "--tones", "loud"], "'loud'"),
        ([*PAIR, "--out", "scene.png"], "scene.png is named twice"),
        ([*PAIR, "--map", "./template.png"], "is named twice"),
        ([*PAIR, "--out", "a.png", "--map", "a.png"], "twice"),
        (["bins", "template.png", "--out", "template.png"], "is named twice"),
        (["locate", "scene.png", "half.png"], "half.png cannot be decoded"),
        ([*PAIR, "--thresh", "1"], "--thresh"),
        (["find"], "'find'"),
        ([], "COMMAND"),
    ],
)
def test_bad_input_is_status_two_and_one_line(arguments, message, capsys, folder):
    (folder / "text.png").write_text("no image")
    (folder / "half.png").write_bytes((folder / "scene.png").read_bytes()[:1500])
    io.write_picture("flat.png", np.full((5, 5), 7, np.uint8))
    distinct = np.arange(120, dtype=np.uint8).reshape(10, 12)
    if "500" in arguments:
        io.write_picture("template.png", distinct)
    try:
        status = main(arguments)
    except SystemExit as stop:  # argparse ends the process itself
        status = stop.code
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "error" in captured.err
    assert message in captured.err


def test_decoders_below_are_not_heard(capfd, folder):
    (folder / "huge.png").write_bytes(
        (folder / "scene.png").read_bytes()[:16] + b"\x7f\xff\xff\xff" * 2 + b"\x08\0\0\0\0" * 9
    )
    assert main(["locate", "huge.png", "template.png"]) == 2
    said = capfd.readouterr().err
    assert said.startswith("nuvmatch: error: huge.png cannot be decoded")
    assert said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_output_is_status_two_and_one_line():
    command = [sys.executable, "-m", "nuvmatch", "locate", "scene.png", "template.png"]
    with Path("/dev/full").open("w") as full:
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        process = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=buffered, check=False
        )
    assert process.returncode == 2
    assert process.stderr == b"nuvmatch: error: No space left on device\n"


def test_overlap_and_distance_choose_the_places(capsys):
    assert run("--json", "--all", "--max-overlap", "0") == 0
    apart = reported(capsys)
    assert apart == [
        (m.row, m.col) for m in nuvmatch.locate(SCENE, TEMPLATE, threshold=np.inf, max_overlap=0)
    ]
    assert run("--json", "--threshold", "0.1", "--min-distance", "40") == 0
    assert reported(capsys) == PLACES[:1]


def test_json_has_no_infinity(capsys):
    assert run("--json", "--threshold", "inf") == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["threshold"] is None


def test_an_interrupt_is_a_status_and_no_traceback(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(nuvmatch.Matcher, "locate", interrupt)
    assert run() == 130
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error():
    command = f"{sys.executable} -m nuvmatch locate scene.png template.png --all --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_warnings_are_one_line(capsys):
    io.write_picture("template.png", np.arange(120, dtype=np.uint8).reshape(10, 12) * 2)
    assert run("--bins", "100") == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nuvmatch: warning: with 100 bins for 120 pixels")


def test_bins_are_printed_channel_by_channel(capsys):
    assert main(["bins", "template.png", "--bins", "3", "--tones", "gamma"]) == 0
    lines = capsys.readouterr().out.splitlines()
    gamma = nuvmatch.tones.Gamma(0.25, 4, log=True)
    (cut,) = nuvmatch.Matcher(TEMPLATE, nuvmatch.NUV(bins=3, tones=gamma)).bins
    assert lines[0] == "template.png: 3 bins by optimal"
    assert [int(line.split()[3]) for line in lines[2:]] == cut.counts.tolist()
    assert [float(line.split()[1]) for line in lines[2:]] == cut.edges[:-1].tolist()

    io.write_picture("colour.png", np.dstack([TEMPLATE, 255 - TEMPLATE, TEMPLATE]))
    assert main(["bins", "colour.png", "--json", "--binning", "kmeans"]) == 0
    report = json.loads(capsys.readouterr().out)
    bins = nuvmatch.Matcher(io.read_image("colour.png"), nuvmatch.NUV(binning="kmeans")).bins
    assert report["edges"] == [cut.edges.tolist() for cut in bins]
    assert report["counts"] == [cut.counts.tolist() for cut in bins]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_bins_are_drawn(suffix, folder):
    assert main(["bins", "template.png", "--out", f"bins{suffix}"]) == 0
    start = (folder / f"bins{suffix}").read_bytes()[:8]
    assert start.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_missing_matplotlib_is_named_in_one_line(monkeypatch, capsys, folder):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["bins", "template.png", "--out", "bins.png"]) == 2
    assert "pip install matplotlib" in capsys.readouterr().err
    assert not (folder / "bins.png").exists()


@pytest.mark.parametrize(
    "arguments", [["--version"], pytest.param(PAIR, marks=pytest.mark.slow)], ids=" ".join
)
def test_the_module_runs_as_the_command(arguments):
    command = [sys.executable, "-m", "nuvmatch", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    if arguments == ["--version"]:
        assert done.stdout == f"nuvmatch {nuvmatch.__version__}\n"
