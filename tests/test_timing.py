"""Ratios are of the same rounds, and a table says what was measured."""

import json
from itertools import count

import pytest

from nuvmatch import cli, timing

FOUND = {
    "environment": {"processor": "slow", "cpus": 2},
    "speed": {
        "16 x 16": {
            "OpenCV NCC": {"milliseconds": 20.0, "ratio": 1.0},
            "nuv map": {"milliseconds": 5.04, "ratio": 0.252},
        }
    },
}


def test_ratios_are_of_the_same_round():
    """Both are twice as slow in the second round: their ratio is not."""
    times = {timing.BASE: [0.010, 0.020, 0.010], "ours": [0.005, 0.010, 0.006]}
    found = timing.summarise(times)
    assert found[timing.BASE] == {"milliseconds": 10, "ratio": 1, "ratio_quartiles": [1, 1]}
    assert found["ours"]["milliseconds"] == 6
    assert found["ours"]["ratio"] == pytest.approx(0.5)
    assert found["ours"]["ratio_quartiles"] == pytest.approx([0.5, 0.55])


def test_all_take_part_in_each_round(monkeypatch):
    clock = count()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    said = []
    calls = {name: lambda name=name: said.append(name) for name in "ab"}
    assert timing.measure_rounds(calls, 3) == {"a": [1, 1, 1], "b": [1, 1, 1]}
    assert "".join(said) == "aabb" + "ab" * 3  # warm first


@pytest.mark.compiled
def test_maps_and_places_are_timed_by_each_measure(monkeypatch):
    monkeypatch.setattr(timing, "HD", (400, 1000))
    found = timing.speed_here(["ncc", "nuv"], [9], 2)
    assert list(found) == ["9 x 9"]
    assert list(found["9 x 9"]) == [
        timing.BASE, "ncc map", "ncc locate", "nuv map", "nuv locate",
    ]  # fmt: skip
    assert all(cell["milliseconds"] > 0 for cell in found["9 x 9"].values())


def test_templates_are_as_large_as_asked_for(monkeypatch):
    monkeypatch.setattr(timing, "HD", (400, 1000))
    monkeypatch.setattr(timing, "measure_rounds", lambda calls, rounds: {timing.BASE: [1, 1]})
    seen = []
    monkeypatch.setattr(timing, "opencv", lambda image, template: seen.append(template.shape))
    timing.speed_here([], [2, 41, 400], 2)
    assert seen == [(2, 2), (41, 41), (400, 400)]


def test_the_table_has_times_and_ratios(monkeypatch, capsys):
    monkeypatch.setattr(cli.benching, "speed", lambda *asked: FOUND)
    assert cli.main(["bench"]) == 0
    table = capsys.readouterr().out
    assert "| 16 x 16 | 20.0 ms (1.00) | 5.0 ms (0.25) |" in table
    assert table.rstrip().endswith("Measured on: processor slow, cpus 2.")
    assert cli.main(["bench", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND


def test_a_fresh_process_measures(monkeypatch):
    heap = []
    run = timing.subprocess.run

    def spy(command, **options):
        heap.append(options["env"]["MALLOC_TOP_PAD_"])
        return run([command[0], "-c", "print('{}')"], **options)

    monkeypatch.setattr(timing.subprocess, "run", spy)
    found = timing.speed(["nuv"], [16], 2)
    assert found["speed"] == {}
    assert heap == [str(2**28)]
    assert found["environment"]["cpus"] >= 1


@pytest.mark.parametrize(
    "wrong", [["--sides", "1"], ["--rounds", "1"], ["--measures", "x"], ["--sides", "4000"]]
)
def test_what_cannot_be_timed_is_said(wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["bench", *wrong])
    assert ended.value.code == 2
    assert wrong[1] in capsys.readouterr().err
