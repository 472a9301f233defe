"""The command line: answers, exit status, one line for what is wrong."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import tifffile

import nuvmatch
from nuvmatch import io
from nuvmatch.cli import main
from nuvmatch.scenes import expand
from nuvmatch.showing import draw_matches

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
    assert lines[1].split() == ["#", "row", "column", "height", "width", "score", "false", "alarms"]
    assert [int(v) for v in lines[2].split()[:5]] == [1, 8, 10, 10, 12]
    assert 0 < float(lines[2].split()[6]) < 1e-3
    assert len(lines) == 3
    assert run("--threshold", "0.1") == 0  # then nobody asks for false alarms, which take time
    assert "false alarms" not in capsys.readouterr().out


@pytest.mark.compiled
def test_a_best_place_that_may_be_chance_is_told_with_a_word(capsys):
    noise = np.random.default_rng(3).integers(0, 256, (90, 110)).astype(np.uint8)
    io.write_picture("noise.png", noise)
    assert run(scene="noise.png") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("This may well be chance")


@pytest.mark.compiled
@pytest.mark.compiled
def test_centers_are_told_to_a_fraction_where_that_is_asked_for(capsys):
    for options, subpixel in ((["--subpixel"], True), (["--subpixel", "precise"], "precise")):
        assert run(*options, "--max-matches", "2", "--json") == 0
        found = json.loads(capsys.readouterr().out)["matches"]
        expected = nuvmatch.locate(SCENE, TEMPLATE, max_matches=2, subpixel=subpixel)
        assert [(m["center_row"], m["center_col"]) for m in found] == [m.center for m in expected]
        assert [m["sigma"] for m in found] == [m.sigma for m in expected]
        assert run(*options) == 0
        *_, center_row, center_col, sigma = capsys.readouterr().out.splitlines()[2].split()
        assert float(center_row) == pytest.approx(expected[0].center[0], abs=0.006)
        assert float(center_col) == pytest.approx(expected[0].center[1], abs=0.006)
        assert float(sigma) == pytest.approx(expected[0].sigma, abs=0.006)
    assert run("--json") == 0
    assert json.loads(capsys.readouterr().out)["matches"][0]["sigma"] is None
    with pytest.raises(SystemExit, match="2"):
        run("--subpixel", "exact")


@pytest.mark.compiled
def test_a_sigma_that_cannot_be_told_is_null_in_json(capsys):
    io.write_picture("corner.png", SCENE[:10, :12])
    assert run("--subpixel", "--json", template="corner.png") == 0
    assert json.loads(capsys.readouterr().out)["matches"][0]["sigma"] is None


@pytest.mark.compiled
def test_false_alarms_let_nothing_through_that_chance_shows(capsys):
    noise = np.random.default_rng(3).integers(0, 256, (90, 110)).astype(np.uint8)
    io.write_picture("noise.png", noise)
    for measure in ("nuv", "auto"):
        assert run("--false-alarms", "0.01", "--measure", measure, scene="noise.png") == 1
        out = capsys.readouterr().out
        assert f"no place has at most 0.01 false alarms by {measure}; the best scores" in out
        assert out.endswith("as good\n")
        assert run("--false-alarms", "0.01", "--measure", measure) == 0
        capsys.readouterr()
    assert run("--false-alarms", "0.01", "--json", scene="noise.png") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["max_false_alarms"] == 0.01
    assert report["best"]["false_alarms"] > 0.01
    with pytest.raises(SystemExit, match="2"):
        run("--false-alarms", "-1")


def test_what_cannot_be_told_is_null_in_json(capsys):
    io.write_picture("small.png", SCENE[:24, :30])
    assert run("--json", scene="small.png") == 0
    out, err = capsys.readouterr()
    (found,) = json.loads(out)["matches"]
    assert found["false_alarms"] is None
    assert "false alarms cannot be told" in err


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
        (["--direction", "mutual", "--threshold", "0.3"], PLACES),
        (["--polarity", "increasing", "--threshold", "0.1"], PLACES[:1]),
        (["--polarity", "decreasing", "--threshold", "0.1"], PLACES[1:]),
        (["--gain", "-0.6", "-0.4", "--threshold", "0.1"], PLACES[1:]),
        (["--gain", "0.9", "inf", "--threshold", "0.1"], PLACES[:1]),
    ],
)
def test_options_choose_the_places(options, places, capsys):
    assert run("--json", *options) == 0
    assert reported(capsys) == places


def test_mutual_is_the_worse_of_both_directions(capsys):
    run("--json", "--direction", "mutual", "--max-matches", "2", "--bins", "6")
    found = json.loads(capsys.readouterr().out)["matches"]
    maps = (
        nuvmatch.score_map(SCENE, TEMPLATE, measure)
        for measure in (nuvmatch.NUV(bins=6), nuvmatch.WindowToPattern(bins=6))
    )
    worse = np.maximum(*maps)
    assert [m["score"] for m in found] == [float(worse[m["row"], m["col"]]) for m in found]
    assert found[0]["score"] == worse.min()
    assert "Highest(" in found[0]["measure"]


def test_all_places_do_not_overlap(capsys):
    assert run("--json", "--all") == 0
    everything = nuvmatch.locate(SCENE, TEMPLATE, threshold=np.inf)
    assert reported(capsys) == list(zip(everything.rows, everything.cols, strict=True))


def test_json_holds_the_tone_curve(capsys):
    run("--json")
    report = json.loads(capsys.readouterr().out)
    match = nuvmatch.locate(SCENE, TEMPLATE, false_alarms=np.inf, max_matches=1)[0]
    (found,) = report["matches"]
    curves = [{"levels": [*levels], "values": [*values]} for levels, values in match.tone_curves]
    named = {**match.to_record(), "name": "template.png"}
    assert found == {**named, "tone_curves": curves}
    assert (found["measure"], found["center_row"], found["center_col"]) == ("nuv", 12.5, 15.5)
    assert (found["click_x"], found["click_y"]) == (16, 13)
    assert report["best"] == named
    assert report["best_score"] == match.score


def test_nothing_found_is_status_one_and_names_the_best(capsys):
    assert run("--threshold", "0.00001") == 1
    out = capsys.readouterr().out
    score = nuvmatch.locate(SCENE, TEMPLATE)[0].score
    assert f"no place has a score of at most 1e-05 by nuv; the best scores {score:.4f}" in out
    assert out.endswith("at row 8, column 10\n")
    assert run("--threshold", "0.00001", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["matches"] == []
    assert (report["best"]["row"], report["best"]["col"]) == PLACES[0]
    assert report["best"]["score"] == report["best_score"] == score


def test_a_blank_scene_is_status_one(capsys):
    io.write_picture("blank.png", np.zeros((40, 50), np.uint8))
    assert run(scene="blank.png") == 1
    assert "every window is flat or masked out\n" in capsys.readouterr().out


def test_windows_that_limits_refuse_are_not_called_flat(capsys):
    inverted = " (an inverted copy has a negative gain)"
    for limits, more in ((["90", "91"], inverted), (["-91", "-90"], "")):
        assert run("--gain", *limits) == 1
        assert f"flat or masked out, or refused by --gain{more}\n" in capsys.readouterr().out


def test_a_region_beside_the_scene_is_status_one():
    assert run("--region", "100", "100", "30", "40") == 1


def test_outputs_are_written():
    assert run("--out", "found.png", "--map", "scores.npy") == 0
    assert io.read_image("found.png").shape == (50, 60, 3)
    np.testing.assert_array_equal(np.load("scores.npy"), nuvmatch.score_map(SCENE, TEMPLATE))


def test_what_stands_at_matches_is_chosen():
    (match,) = nuvmatch.locate(SCENE, TEMPLATE)
    for labels in ("none", "number", "score"):
        assert run("--out", "found.png", "--labels", labels) == 0
        wanted = draw_matches(SCENE, [match], labels=labels)
        np.testing.assert_array_equal(io.read_image("found.png"), wanted)


def test_greys_that_are_none_do_not_darken_what_is_shown():
    raster = SCENE.astype(np.float32) / 255
    raster[:5] = -9999
    io.write_map("scene.tif", raster)
    assert (
        run("--nodata", "-9999", "--out", "found.png", "--labels", "none", scene="scene.tif") == 0
    )
    shown = io.read_image("found.png")[..., 1].astype(int)
    assert not shown[:5].any()
    assert abs(shown[20:28] - SCENE[20:28]).max() <= 2


def test_without_what_reports_need_nothing_is_searched(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert run("--report", "x.html", scene="none.png") == 2
    assert "pip install 'nuvmatch[report]'" in capsys.readouterr().err


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
        (["locate", "empty", "template.png"], "empty is a folder without images"),
        (["locate", "no*.png", "template.png"], "no file is like no*.png"),
        (["locate", "scene.png", "text.png"], "text.png cannot be decoded"),
        (["locate", "template.png", "scene.png"], "SCENE comes first, then TEMPLATE"),
        (["locate", "-", "-"], "SCENE or TEMPLATE must be a file"),
        ([*PAIR, "--threshold", "-1"], "'-1'; scores are 0, which is perfect, or more"),
        ([*PAIR, "--page", "0"], "--page: '0'"),
        ([*PAIR, "--page", "2"], "scene.png has 1 page; there is no page 2"),
        ([*PAIR, "--page", "all", "--out", "a.png"], "--page N"),
        ([*PAIR, "--mask", "scene.png"], "(10, 12)"),
        ([*PAIR, "--image-mask", "template.png"], "(50, 60)"),
        ([*PAIR, "--out", "flat.png", "--image-mask", "flat.png"], "is named twice"),
        ([*PAIR, "--json", "--quiet"], "--quiet"),
        (["locate", "scene.png", "flat.png"], "is flat"),
        ([*PAIR, "--out", "x.gif"], "x.gif has no known suffix"),
        ([*PAIR, "--map", "no/x.npy"], "no is no folder"),
        ([*PAIR, "--bins", "many"], "--bins: 'many'"),
        ([*PAIR, "--bins", "1"], "--bins: '1'"),
        ([*PAIR, "--bins", "auto", "--direction", "both"], "takes a number of bins, not 'auto'"),
        ([*PAIR, "--region=-5", "0", "20", "20"], "expected 4 arguments, each after a space"),
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
        ([*PAIR, "--report", "no/x.html"], "no is no folder"),
        ([*PAIR, "--report", "x.txt"], "a name with .html"),
        (["bins", "template.png", "--out", "template.png"], "is named twice"),
        (["locate", "scene.png", "half.png"], "half.png cannot be decoded"),
        ([*PAIR, "--thresh", "1"], "--thresh"),
        (["find"], "'find'"),
        ([], "usage: nuvmatch locate SCENE TEMPLATE"),
    ],
)
def test_bad_input_is_status_two_and_one_line(arguments, message, capsys, folder):
    (folder / "text.png").write_text("no image")
    (folder / "empty").mkdir()
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

    monkeypatch.setattr(nuvmatch.Search, "locate", interrupt)
    assert run() == 130
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error():
    command = f"{sys.executable} -m nuvmatch locate scene.png template.png --all --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize(("threshold", "status"), [("0", 1), ("0.1", 0)])
@pytest.mark.parametrize("closed", [True, False])
def test_the_status_is_the_same_whether_anyone_reads_or_not(threshold, status, closed, monkeypatch):
    """Standard output is closed from the beginning, or its reader goes away."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as unread:
        monkeypatch.setattr(sys, "stdout", None if closed else unread)
        assert run("--threshold", threshold) == status
        assert run("--threshold", threshold, "--csv", "found.csv") == status
    assert len(Path("found.csv").read_text().splitlines()) == 1 + (status == 0) * 2


def test_standard_input_may_be_closed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    batch = ["batch", "--scenes-from", "-", "--templates", "template.png", "--out", "found.csv"]
    for command in (["locate", "-", "template.png"], batch):
        assert main(command) == 2
        assert "standard input is closed" in capsys.readouterr().err
    assert not Path("found.csv").exists()


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
    assert "pip install 'nuvmatch[plot]'" in capsys.readouterr().err
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


# Pages, masks, no data


@pytest.fixture
def stack():
    """Pages of noise, but for the second and the third: the scene, and its negative."""
    noise = np.random.default_rng(9).integers(0, 256, SCENE.shape).astype(np.uint8)
    tifffile.imwrite("stack.tif", np.stack([noise, SCENE, 255 - SCENE]), photometric="minisblack")
    return "stack.tif"


def test_only_the_first_page_is_searched_with_a_word_and_any_if_asked(stack, capsys):
    assert run("--threshold", "0.1", scene=stack) == 1
    out, err = capsys.readouterr()
    assert err.startswith("nuvmatch: warning: stack.tif has 3 pages; only the first is searched")
    assert err.count("\n") == 1
    assert "page" not in out
    assert run("--threshold", "0.1", "--page", "1", scene=stack) == 1
    out, err = capsys.readouterr()
    assert (out.endswith(" of page 1\n"), err) == (True, "")
    assert run("--threshold", "0.1", "--page", "2", "--json", scene=stack) == 0
    assert reported(capsys) == PLACES
    assert run("--page", "4", scene=stack) == 2
    assert "stack.tif has 3 pages; there is no page 4" in capsys.readouterr().err


def test_all_pages_are_searched_each_by_itself(stack, capsys):
    assert run("--threshold", "0.1", "--page", "all", "--json", scene=stack) == 0
    report = json.loads(capsys.readouterr().out)
    found = [(m["page"], m["row"], m["col"]) for m in report["matches"]]
    assert sorted(found) == [(page, *place) for page in (2, 3) for place in PLACES]
    assert report["best"]["page"] == 2
    assert run("--threshold", "0.1", "--page", "all", scene=stack) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["#", "page", "row"]
    assert [line.split()[1] for line in lines[2:]] == ["2", "2", "3", "3"]
    assert run("--threshold", "0", "--page", "all", "--measure", "mi", scene=stack) == 1


def test_pages_of_all_sizes_and_colours_are_searched(capsys):
    with tifffile.TiffWriter("mixed.tif") as file:
        for page in (SCENE[:5], np.dstack([SCENE] * 3), SCENE):
            file.write(page, photometric="rgb" if page.ndim == 3 else "minisblack")
    assert run("--page", "all", "--json", scene="mixed.tif") == 0
    out, err = capsys.readouterr()
    assert [(m["page"], m["row"]) for m in json.loads(out)["matches"]] == [(2, 8), (3, 8)]
    assert "page 1 is left out" in err


def test_of_a_template_with_pages_the_first_is_sought(capsys):
    pages = np.stack([TEMPLATE, TEMPLATE.T.reshape(10, 12)])
    tifffile.imwrite("pages.tif", pages, photometric="minisblack")
    assert run("--json", template="pages.tif") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["matches"][0]["row"] == 8
    assert "pages.tif has 2 pages; only the first is read" in err


@pytest.mark.parametrize("which", ["scene", "template"])
def test_standard_input_is_an_image(which, monkeypatch, capsys, folder):
    for data in ((folder / f"{which}.png").read_bytes(), b"text"):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
        status = run("--json", **{which: "-"})
        out, err = capsys.readouterr()
        if data == b"text":
            assert status == 2
            assert "standard input cannot be decoded" in err
        else:
            assert (json.loads(out)["matches"][0]["row"], err) == (8, "")


@pytest.mark.parametrize("kind", ["bits", "grey", "colour", "alpha", "grey and alpha"])
def test_masks_are_images_of_any_kind(kind, capsys):
    spoilt = TEMPLATE.copy()
    spoilt[:4] = 255 - spoilt[:4] // 3
    counts = np.ones(TEMPLATE.shape, bool)
    counts[:4] = False
    blue = np.dstack([counts * 0, counts * 0, counts * 1]).astype(np.uint8)  # luminance 0.1
    opacity = np.where(counts, 255, 0).astype(np.uint8)
    images = {
        "bits": PIL.Image.fromarray(counts),
        "grey": PIL.Image.fromarray(counts.astype(np.uint8)),
        "colour": PIL.Image.fromarray(blue),
        "alpha": PIL.Image.fromarray(np.dstack([blue * 0 + 9, opacity])),
        "grey and alpha": PIL.Image.fromarray(np.dstack([opacity * 0 + 9, opacity])),
    }
    io.write_picture("spoilt.png", spoilt)
    images[kind].save("mask.png")
    assert run("--json", "--mask", "mask.png", template="spoilt.png") == 0
    (found,) = json.loads(capsys.readouterr().out)["matches"]
    expected = nuvmatch.locate(SCENE, spoilt, mask=counts)[0]
    assert (found["row"], found["col"], found["score"]) == (
        expected.row,
        expected.col,
        expected.score,
    )
    whole = np.zeros(SCENE.shape, bool)
    whole[25:] = True
    PIL.Image.fromarray(whole).save("bottom.png")
    assert run("--json", "--image-mask", "bottom.png") == 0
    assert reported(capsys) == PLACES[1:]


@pytest.mark.compiled
def test_no_data_count_in_neither(capsys):
    """F17: by the tag that the file has, or as it is said."""
    rng = np.random.default_rng(8)
    steps = np.cumsum(np.cumsum(rng.normal(0, 1, (140, 160)), 0), 1)
    heights = (1000 + 100 * (steps - steps.mean()) / steps.std()).astype(np.float32)
    scene = 300 + 0.4 * (heights - 1000) + 0.0006 * (heights - 1000) ** 2
    chip = heights[50:82, 60:92].copy()
    chip[:, :10] = scene[:30] = scene[:, 130:] = -9999
    for name, image in ("plain.tif", scene), ("chip.tif", chip):
        tifffile.imwrite(name, image)
    tifffile.imwrite("tagged.tif", scene, extratags=[(42113, "s", 0, "-9999", True)])
    for options, image in ((["--nodata", "-9999"], "plain.tif"), ([], "tagged.tif")):
        assert run("--json", *options, scene=image, template="chip.tif") == 0
        assert reported(capsys) == [(50, 60)]
    assert run("--json", scene="plain.tif", template="chip.tif") == 0
    assert reported(capsys) != [(50, 60)]
    other = ["--nodata", "1", "--nodata", "2"]
    run("--json", *other, scene="tagged.tif", template="chip.tif")
    assert reported(capsys) != [(50, 60)]


@pytest.mark.parametrize("number", ["-3.4028234663852886e+38", "-1E5", "-.5", "-inf", "0"])
def test_negative_numbers_are_no_options(number, capsys):
    """Wherever they stand, however they are written."""
    image = SCENE.astype(np.float32)
    image[20:28] = float(number)
    tifffile.imwrite("floats.tif", image)
    options = ["--json", "--threshold", "0.1"]
    assert main(["locate", *options, "--nodata", number, "floats.tif", "template.png"]) == 0
    assert sorted(reported(capsys)) == PLACES
    if number != "0":
        assert run(*options, "--gain", number, "-0.1") == 0
        expected = nuvmatch.NUV(gain=(float(number), -0.1))
        found = nuvmatch.locate(SCENE, TEMPLATE, expected, threshold=0.1)
        assert reported(capsys) == list(zip(found.rows, found.cols, strict=True))


def test_pages_that_are_all_too_small_are_bad_input(capsys):
    tifffile.imwrite("small.tif", np.stack([SCENE[:5], SCENE[5:10]]), photometric="minisblack")
    assert run("--page", "all", scene="small.tif") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "page 1 is left out" in err
    assert "page 2 is left out" in err
    assert err.endswith("error: every page of small.tif is smaller than the template\n")


def test_threads_reach_the_matcher(monkeypatch):
    asked = []
    init = nuvmatch.Matcher.__init__

    def spy(self, *arguments, **options):
        asked.append(options["n_threads"])
        init(self, *arguments, **options)

    monkeypatch.setattr(nuvmatch.Matcher, "__init__", spy)
    assert run("--threads", "3") == run() == 0
    assert asked == [3, None]


def test_quiet_says_nothing(capsys):
    assert run("--quiet") == 0
    assert run("--quiet", "--threshold", "0") == 1
    assert capsys.readouterr() == ("", "")


def test_json_has_lists_of_numbers_on_one_line(capsys):
    run("--json", "--all")
    for line in capsys.readouterr().out.splitlines():
        if '"levels"' in line:
            assert line.strip().rstrip(",").endswith("]")
            assert len(json.loads("{" + line.strip().rstrip(",") + "}")["levels"]) == 8


def test_help_names_formats_and_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["locate", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Example: nuvmatch locate screen.png icon.png" in said
    for word in ("WebP", "BMP", "half opaque", "standard input", "by its alpha"):
        assert word in said


def test_a_damaged_photograph_is_one_line(capfd, folder):
    PIL.Image.fromarray(SCENE).save("whole.jpg", quality=95)
    data = (folder / "whole.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(data[: len(data) * 6 // 10] + b"\xff\xd9")
    assert run(scene="cut.jpg") == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "cut.jpg cannot be decoded: it is damaged" in err


def test_what_fits_in_some_pose_is_sought(tmp_path, capsys):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (16, 16), dtype=np.uint8)
    scene = rng.integers(0, 256, (60, 80), dtype=np.uint8)
    scene[10:26, 20:36] = small
    io.write_picture(tmp_path / "s.png", scene)
    io.write_picture(tmp_path / "big.png", small.repeat(6, 0).repeat(6, 1))
    assert main(["locate", str(tmp_path / "s.png"), str(tmp_path / "big.png")]) == 2
    asked = ["--scales", "0.1667", "--threshold", "0.3", "--json"]
    assert main(["locate", str(tmp_path / "s.png"), str(tmp_path / "big.png"), *asked]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("command", ["locate", "batch"])
def test_an_empty_name_is_no_folder(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    io.write_picture("t.png", np.arange(64, dtype=np.uint8).reshape(8, 8))
    rest = ["t.png"] if command == "locate" else ["--templates", "t.png", "--out", "o.csv"]
    assert main([command, "", *rest]) == 2
    assert "name is empty" in capsys.readouterr().err


def test_folders_are_not_what_a_pattern_is_like(tmp_path):
    (tmp_path / "scenes" / "sub").mkdir(parents=True)
    picture = tmp_path / "scenes" / "a.png"
    io.write_picture(picture, np.zeros((4, 4), np.uint8))
    assert expand([str(tmp_path / "scenes" / "*")]) == [str(picture)]
