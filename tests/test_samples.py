"""The samples run, and find what they say they find."""

import importlib.util
import re
from pathlib import Path

import naive
import numpy as np
import pytest

from nuvmatch import Matcher
from nuvmatch.cli import main
from nuvmatch.io import read_image

SAMPLES = Path(__file__).parents[1] / "samples"

pytestmark = pytest.mark.compiled


def load(name):
    spec = importlib.util.spec_from_file_location(name, SAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_scenes_are_those_of_the_script(tmp_path):
    load("make_scenes").main(tmp_path)
    made = sorted(tmp_path.rglob("*.png"))
    kept = sorted(path for part in ("scenes", "templates") for path in (SAMPLES / part).iterdir())
    assert [path.name for path in made] == [path.name for path in kept]
    for ours, theirs in zip(made, kept, strict=True):
        difference = read_image(ours).astype(int) - read_image(theirs)
        assert abs(difference).max() <= 1, ours.name  # powers differ in the last bit


def test_find_one_draws_both_pictures(tmp_path, capsys):
    load("find_one").main(tmp_path / "pair.png")
    assert capsys.readouterr().out.startswith("row 130, column 254, score 0.0")
    assert read_image(tmp_path / "pair.png").shape == (512, 1024, 3)


def test_nuv_finds_the_solarised_template_and_ncc_does_not(capsys):
    load("compare_measures").main()
    lines = capsys.readouterr().out.splitlines()
    verdicts = {line.split(":")[0].strip(): line.split()[-1] for line in lines}
    assert verdicts["nuv"] == "found"
    assert verdicts["ncc"] == verdicts["ncc2"] == "missed"


def test_one_matcher_finds_the_template_in_every_scene(capsys):
    load("many_images").main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all("row 130, column 254" in line for line in lines)


def test_what_moves_through_a_video_is_followed_lost_and_found_again(capsys):
    sample = load("follow_video")
    sample.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sample.FRAMES
    for number, line in enumerate(lines):
        assert ("lost" in line) == (number in sample.HIDDEN)
        if "lost" not in line:
            center = [float(text) for text in re.findall(r"\d+\.\d+", line)[:2]]
            truth = (87.5 + 3 * number, 57.5 + 6 * number)
            assert center == pytest.approx(truth, abs=0.2)


def test_the_field_of_shifts_is_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib").use("agg")
    load("show_shifts").main(tmp_path / "shifts.png")
    sure, error = re.findall(r"^(\d+) of .* error (\S+) px", capsys.readouterr().out)[0]
    assert int(sure) > 30
    assert float(error) < 0.2
    assert read_image(tmp_path / "shifts.png").shape[:2] == (550, 700)


def test_the_digits_of_a_display_are_read(tmp_path, capsys):
    sample = load("read_digits")
    sample.main(tmp_path / "display.png")
    read, shown = capsys.readouterr().out.splitlines()
    assert shown.split(maxsplit=1)[1] == sample.SHOWN
    assert re.findall(r"\d+", read)[0] == re.sub(r"\D", "", sample.SHOWN)
    assert read_image(tmp_path / "display.png").shape == (*sample.make_display().shape, 3)


def test_the_pieces_on_a_board_are_found_with_their_colours(tmp_path, capsys):
    sample = load("find_pieces")
    sample.main(tmp_path / "board.png")
    lines = capsys.readouterr().out.splitlines()
    truth = [rank.split() for rank in sample.BOARD.strip().split("\n")]
    assert [line.split()[1:] for line in lines[1:9]] == [rank + rank for rank in truth]
    assert "31 pieces found, 31 of 31 right" in lines[9]
    assert read_image(tmp_path / "board.png").shape == (512, 512, 3)


def test_the_parts_on_a_tray_are_sorted(tmp_path, capsys):
    load("sort_parts").main(tmp_path / "tray.png")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "15 parts found, 15 are there"
    assert lines[-1] == "15 of 15 right"
    for line in lines[1:-1]:
        lies, found = line.split(":")
        assert lies.split()[0] == found.split()[0]
        row, col, turn = map(float, re.findall(r"[+-]\d+\.\d", found))
        assert max(abs(row), abs(col)) < 1
        assert abs(turn) < 2
    assert read_image(tmp_path / "tray.png").shape == (288, 480, 3)


def test_features_that_bend_the_target_are_selected(capsys):
    pytest.importorskip("sklearn")
    load("select_features").main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("nuv_score")[1].split(",") == ["    3", " 8", " 15"]
    assert lines[0].split("f_regression")[1].split(",") != [" 3", " 8", " 15"]
    assert {"bmi", "s5"} <= set(re.findall(r"\w+", lines[3]))


@pytest.mark.slow
def test_results_are_shown_in_all_ways(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(SAMPLES)
    load("show_results").main(tmp_path / "plots.png", tmp_path / "found.html")
    assert capsys.readouterr().out == "5 matches are shown, the best at row 130, column 254\n"
    assert read_image(tmp_path / "plots.png").shape == (1275, 1500, 4)
    assert (tmp_path / "found.html").read_text("utf-8").count("<tr data-n") == 5


def test_a_measure_of_ones_own_finds_the_template(capsys):
    load("own_measure").main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("row 130, column 254" in line for line in lines)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_measure_of_ones_own_scores_as_it_is_defined(channels, rng):
    image = rng.integers(0, 256, (14, 17, *channels), np.uint8)
    template = rng.integers(0, 256, (5, 6, *channels), np.uint8)
    mask, image_mask = rng.random((5, 6)) < 0.8, np.ones((14, 17))
    image_mask[9, 11] = 0
    matcher = Matcher(template, load("own_measure").MeanDifference(), mask=mask)
    scores = matcher.score_map(image, image_mask=image_mask, fill_value=np.nan)
    for (row, col), window in naive.windows(image, (5, 6)):
        usable = image_mask[row : row + 5, col : col + 6][mask].all()
        expected = abs(window[mask] - template[mask].astype(float)).mean() / 255
        assert scores[row, col] == pytest.approx(expected if usable else np.nan, nan_ok=True)


@pytest.mark.parametrize(
    ("scene", "template"),
    [
        ("camera_gamma", "camera"),
        ("camera_inverted", "camera"),
        ("camera_solarised", "camera"),
        ("camera_noisy", "camera"),
        ("coffee_negative", "spoon"),
        ("coins_16bit", "coin"),
    ],
)
def test_the_command_line_finds_every_template(scene, template, capsys):
    files = [SAMPLES / "scenes" / f"{scene}.png", SAMPLES / "templates" / f"{template}.png"]
    assert main(["locate", *map(str, files)]) == 0
    row, col, height, width = load("make_scenes").TEMPLATES[template][1:]
    fields = capsys.readouterr().out.splitlines()[2].split()
    np.testing.assert_array_equal(np.array(fields[1:5], int), [row, col, height, width])
