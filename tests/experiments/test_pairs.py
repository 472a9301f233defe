"""Pairs whose right places are known: the command, and its judge."""

import json

import numpy as np
import pytest

pytest.importorskip("nilearn", reason="the experiments need what nuvmatch[bench] brings")

from benchmarks.pairs import MEASURES, hits, main, measure_of
from nuvmatch import NUV, Match, Matcher, tones
from nuvmatch.io import read_image, to_grey, write_picture

pytestmark = [pytest.mark.bench, pytest.mark.compiled]

BOX = {"row": 20, "col": 30, "height": 5, "width": 4, "score": 0.1}


@pytest.fixture
def folder(tmp_path, rng):
    """Noise in which the template is twice, at x 5 and x 50; as it is, in grey, and nowhere."""
    colours = rng.integers(0, 256, (40, 70, 3), dtype=np.uint8)
    colours[20:32, 50:64] = colours[10:22, 5:19]
    pictures = {
        "scene": colours,
        "other": rng.integers(0, 256, (40, 70, 3), dtype=np.uint8),
        "template": colours[10:22, 5:19],
        "grey": to_grey(colours)[10:22, 5:19],
        "flat": np.full((9, 9), 7, np.uint8),
    }
    for name, picture in pictures.items():
        write_picture(tmp_path / f"{name}.png", picture)
    cases = [
        ("twice", "scene", "template", "at", [[5, 10], [50, 20]]),
        ("in grey", "scene", "grey", "at", [[5, 10], [50, 20]]),
        ("held", "scene", "template", "inside", [[63, 31], [18, 21], [64, 31]]),
        ("said to be elsewhere", "scene", "template", "at", [[5, 11]]),
        ("there", "scene", "template", "any", None),
        ("flat", "scene", "flat", "at", [[0, 0]]),
        ("not there", "other", "template", "absent", None),
    ]
    listed = [
        {"source": "tests", "name": name, "scene": f"{scene}.png", "template": f"{template}.png"}
        | {"kind": kind}
        | ({"places": places} if places else {})
        for name, scene, template, kind, places in cases
    ]
    listed.append({**listed[4], "source": "nothing to be right"})
    (tmp_path / "cases.json").write_text(json.dumps(listed))
    return tmp_path


def test_places_right_are_counted_and_what_is_lost_is_named(folder, capsys):
    report = folder / "report.json"
    main([str(folder), "--measures", "ncc", "NUV(bins=6)", "--json", str(report)])
    table = json.loads(report.read_text())["table"]
    assert [(row["source"], row["measure"]) for row in table] == [
        ("tests", "ncc"),
        ("tests", "NUV(bins=6)"),
        ("all", "ncc"),
        ("all", "NUV(bins=6)"),
    ]
    for row in table:
        more = row["source"] == "all"
        assert row["pairs with a place"] == 5
        assert row["best right"] == 3  # neither what is elsewhere, nor what is refused
        assert (row["places right"], row["places"]) == (6, 9)
        assert (row["there"], row["absent"]) == (6 + more, 1)
        assert row["refused"] == 1
        assert (row["telling"], row["AUC by false alarms"]) == (0, None)  # too small a scene
        assert row["AUC"] == pytest.approx((5 + more) / (6 + more))  # all but the refused one
    printed = capsys.readouterr().out
    assert printed.count("flat: refused: the template of shape (9, 9) is flat") == 2
    assert printed.count("said to be elsewhere: 0.0") == 2
    assert "lost by NUV(bins=6):\n  tests, said" in printed


def test_false_alarms_tell_pairs_that_are_there_from_absent_ones(tmp_path, rng, capsys):
    """The second template is there with noise, and scores worse than flat ones in the absent."""
    scene, other = rng.integers(0, 256, (2, 150, 150), dtype=np.uint8)
    noisy = np.clip(scene[50:66, 70:86] + rng.normal(0, 60, (16, 16)), 0, 255).astype(np.uint8)
    pictures = {"scene": scene, "other": other, "a": scene[20:36, 30:46], "b": noisy}
    pictures["cut"] = scene[:60, :60]  # leaves fewer than 100 minima
    for name, picture in pictures.items():
        write_picture(tmp_path / f"{name}.png", picture)
    cases = [("scene", "a", "any"), ("scene", "b", "any"), ("other", "a", "absent")]
    cases += [("other", "b", "absent"), ("cut", "a", "any")]
    listed = [
        {"source": "tests", "name": f"{scene} {template}", "kind": kind}
        | {"scene": f"{scene}.png", "template": f"{template}.png"}
        for scene, template, kind in cases
    ]
    (tmp_path / "cases.json").write_text(json.dumps(listed))
    report = tmp_path / "report.json"
    main([str(tmp_path), "--measures", "nuv_adaptive", "Auto()", "--json", str(report)])
    report = json.loads(report.read_text())
    for row in report["table"]:
        assert (row["there"], row["absent"], row["telling"]) == (3, 2, 4)
        assert row["AUC by false alarms"] == 1
    for pair in report["pairs"]:
        scene, template = (read_image(tmp_path / f"{n}.png") for n in pair["name"].split())
        matcher = Matcher(template, measure_of(pair["measure"]))
        if pair["minima"] < 100:
            assert pair["false alarms"] is None
        else:
            best = matcher.locate(scene, false_alarms=np.inf)[0]
            assert pair["false alarms"] == pytest.approx(best.false_alarms)


def test_fewer_pairs_are_the_first_ones(folder, capsys):
    report = folder / "report.json"
    main([str(folder), "--limit", "2", "--measures", "ncc", "--json", str(report)])
    report = json.loads(report.read_text())
    assert [pair["name"] for pair in report["pairs"]] == ["twice", "in grey"]
    assert report["table"][0]["AUC"] is None
    assert capsys.readouterr().out.endswith("lost by ncc:\n")


@pytest.mark.parametrize(
    ("place", "tolerance", "right"),
    [((30, 20), 0, True), ((31, 20), 0, False), ((31, 19), 1, True), ((30, 22), 1, False)],
)
def test_corners_are_met_within_the_tolerance(place, tolerance, right):
    assert hits(Match(**BOX), place, {"kind": "at", "tolerance": tolerance}) == right


@pytest.mark.parametrize(
    ("place", "right"),
    [((30, 20), True), ((33, 24), True), ((34, 24), False), ((33, 25), False), ((29, 20), False)],
)
def test_a_box_holds_its_pixels(place, right):
    assert hits(Match(**BOX), place, {"kind": "inside"}) == right


def test_measures_are_names_or_python():
    assert measure_of("nuv") == "nuv"
    assert measure_of("NUV(tones=tones.Gamma(1, 10))") == NUV(tones=tones.Gamma(1, 10))
    assert all(measure_of(text) for text in MEASURES)
