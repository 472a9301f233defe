"""False alarms told against those seen: the command, its trials, its judges and its tables."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nilearn", reason="the experiments need what nuvmatch[bench] brings")

import pandas as pd

from benchmarks.icons import THEMES, draw_icon
from benchmarks.kinds import KINDS
from benchmarks.presence.__main__ import QUICK, main
from benchmarks.presence.analysis import count_false, count_true, decide
from benchmarks.presence.experiment import (
    AUTO,
    MEASURES,
    NOMINAL,
    OWN,
    SMALL,
    by_own_minima,
    heeding,
    hits,
    make_trial,
    mirrored,
    plant,
    retone,
    search_all,
    window,
)
from benchmarks.presence.experiment import count_false as count_false_of
from benchmarks.presence.experiment import count_true as count_true_of
from benchmarks.presence.on_screens import CASES, CLAIMS, decide_all, seek, ways
from benchmarks.presence.page import make_page
from benchmarks.presence.timing import time_all
from benchmarks.reporting import read_tables
from benchmarks.screens import make_case
from nuvmatch import Match, Matcher

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = [pytest.mark.bench, pytest.mark.compiled]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What the quick run leaves."""
    folder = tmp_path_factory.mktemp("presence")
    main(["--quick", "--out", str(folder / "out"), "--cache", str(folder / "cache")])
    return folder / "out"


@pytest.fixture(scope="module")
def searches():
    return pd.concat(search_all(kind, 5, [0, 1]) for kind in ("noise", "screens"))


def test_the_page_has_no_gaps_and_its_links_lead_to_files(quick):
    page = (quick / "presence.md").read_text("utf-8")
    links = re.findall(r"\]\((presence/[^)]*)\)", page)
    assert len(links) == 3
    assert all((quick / link).exists() for link in links)
    assert not re.search(r"\bnan\b|[{}]|None", page)


def test_times_are_taken_anew_and_all_else_stays(quick):
    before, told = read_tables(quick / "presence")
    main(["--quick", "--times", "--out", str(quick)])
    after, told_after = read_tables(quick / "presence")
    assert not after.pop("times").equals(before.pop("times"))
    assert all(after[name].equals(before[name]) for name in before)
    assert told_after["trials"] == told["trials"]


def test_every_kind_has_every_measure(quick):
    false = read_tables(quick / "presence")[0]["false"]
    absent = false[(false["search"] == "absent") & (false["nominal"] == "1")]
    assert set(absent["measure"]) == {*MEASURES, OWN}
    for measure, group in absent.groupby("measure"):
        trials = group.set_index("kind")["trials"]
        assert set(trials.index) == {"all", *KINDS}
        assert (trials[list(KINDS)] == (3 if measure == AUTO else QUICK)).all()
    there = read_tables(quick / "presence")[0]["true"]
    easy = there[(there["kind"] == "skies") & (there["search"] == "present")]
    assert (easy["best"] >= 0.8).all()


def test_the_page_in_the_docs_is_made_of_the_results_beside_it():
    tables, about = read_tables(DOCS / "presence")
    assert make_page(tables, about) == (DOCS / "presence.md").read_text("utf-8")


# Trials.


def test_rows_do_not_depend_on_what_else_is_run(searches):
    alone = search_all("noise", 5, [1])
    beside = searches[(searches["kind"] == "noise") & (searches["trial"] == 1)]
    beside = beside[alone.columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, beside, check_dtype=False)


def test_copies_do_not_overlap_and_are_the_template(rng):
    template = rng.integers(0, 256, (24, 24), dtype=np.uint8)
    for side, least, most in ((300, 20, 20), (64, 1, 4)):
        image, places = plant(np.zeros((side, side), np.uint8), template, rng)
        assert least <= len(places) <= most
        for place in places:
            assert (image[window(place, 24)] == template).all()
        for (a, b), (c, d) in combinations(places, 2):
            assert max(abs(a - c), abs(b - d)) >= 24


def test_a_mirrored_template_equals_its_mirror_images(rng):
    template = rng.integers(0, 256, (16, 16), dtype=np.uint8)
    symmetric = mirrored(template)
    assert (symmetric == symmetric[::-1]).all()
    assert (symmetric == symmetric[:, ::-1]).all()
    assert symmetric[0, 0] == np.rint(template[[0, 0, -1, -1], [0, -1, 0, -1]].mean())


def test_tones_change_but_the_template_is_still_to_be_seen():
    for number in range(4):
        trial = make_trial("photographs", 2, number)
        assert (trial.one[window(trial.place, trial.side)] == trial.template).all()
        scene = retone(trial.one, trial.rng, window(trial.place, trial.side))
        assert scene.shape == trial.one.shape
        assert scene.dtype == np.uint8
        assert scene[window(trial.place, trial.side)].std() > 8


# Judges.


@pytest.mark.parametrize("measure", ["nuv_adaptive", AUTO])
def test_false_matches_are_those_that_pass_each_number(measure, rng):
    template = rng.integers(0, 256, (12, 12), dtype=np.uint8)
    scene = rng.integers(0, 256, (160, 160), dtype=np.uint8)
    matcher = Matcher(template, MEASURES[measure])
    found = count_false_of(matcher, scene, 100)
    for nominal in NOMINAL:
        assert found[str(nominal)] == len(matcher.locate(scene, false_alarms=nominal))
    assert found["10"] > found["0.1"]
    assert np.isnan(count_false_of(matcher, scene, 99)["10"])
    assert not found["refused"]


def test_what_is_planted_is_kept_and_at_the_best_places(rng):
    template = rng.integers(0, 256, (16, 16), dtype=np.uint8)
    scene, places = plant(rng.integers(0, 256, (300, 300), dtype=np.uint8), template, rng)
    matcher = Matcher(template, MEASURES["ncc2"])
    found = count_true_of(matcher, scene, places)
    score = matcher.locate(scene)[0].score
    assert found == {"planted": 20, "best": 20, "kept": 20, "refused": False, "score": score}
    found = count_true_of(matcher, scene, [(0, 0)] * 2)  # where it is not, unless by chance
    assert (found["planted"], found["best"]) == (2, 2 * hits([(0, 0)], matcher.locate(scene)))


def test_what_cannot_be_told_is_refused_and_passes_nothing(rng):
    template = rng.integers(0, 256, (24, 24), dtype=np.uint8)
    scene = rng.integers(0, 256, (40, 40), dtype=np.uint8)
    scene[4:28, 5:29] = template
    found = count_true_of(Matcher(template), scene, [(4, 5)])
    assert (found["planted"], found["best"], found["kept"], found["refused"]) == (1, 1, 0, True)
    found = count_false_of(Matcher(template), scene, 9, by_own_minima)
    assert (found["0.1"], found["1"], found["refused"]) == (0, 0, True)


def test_warnings_that_tell_of_something_else_are_no_refusals():
    assert heeding(lambda: 5) == (5, False)


def test_a_match_within_a_pixel_is_a_hit():
    matches = [Match(10, 20, 8, 8, 0.0), Match(40, 50, 8, 8, 0.1)]
    assert hits([(11, 19), (40, 52), (40, 50)], matches) == 2


# Icons.


@pytest.mark.parametrize("case", CASES)
def test_icons_are_sought_in_two_ways(case):
    rows = decide_all(case, 3, [0])
    assert set(rows["way"]) == {"crop", "alpha"}
    assert set(rows["measure"]) == set(MEASURES) - {"nuv"}
    assert case == "there" or not rows["right"].any()


def test_a_crop_shows_its_theme_s_panel_and_a_file_its_alpha():
    case = make_case(np.random.default_rng(4), "there", (24,))
    both = ways(case)
    icon = draw_icon(case.name, 24, case.theme)
    assert both["crop"].shape == (24, 24)
    assert both["alpha"].shape == (24, 24, 2)
    assert (both["alpha"][..., 1] == icon[..., 3]).all()
    weights = np.array([0.299, 0.587, 0.114])  # of luminance, as television had it
    panel = np.array(THEMES[case.theme]["panel"]) @ weights
    assert both["crop"][0, 0] == pytest.approx(panel, abs=3)  # where the icon is transparent


def test_an_icon_of_too_few_greys_is_refused(rng):
    template, scene = np.zeros((9, 9), np.uint8), rng.integers(0, 256, (60, 60), dtype=np.uint8)
    assert seek(template, scene, MEASURES["mi"], (3, 3)) == {
        "false alarms": np.inf,
        "right": False,
        "refused": True,
    }


# Tables.


def test_false_matches_are_means_of_kinds_of_means_of_trials(searches):
    table = count_false(searches).set_index(["search", "measure", "nominal", "kind"])
    for search in ("absent", f"absent, {SMALL[1]}"):
        for measure in (*MEASURES, OWN):
            means = []
            for kind in ("noise", "screens"):
                counts = [
                    row["1"]
                    for row in searches.to_dict("records")
                    if (row["search"], row["measure"], row["kind"]) == (search, measure, kind)
                ]
                means.append(np.mean(counts))
                assert table.loc[(search, measure, "1", kind), "false"] == pytest.approx(means[-1])
            assert table.loc[(search, measure, "1", "all"), "false"] == pytest.approx(
                np.mean(means)
            )


def test_what_is_kept_is_a_share_of_what_is_planted(searches):
    table = count_true(searches).set_index(["search", "measure", "kind"])
    copies = searches[(searches["search"] == "copies") & (searches["measure"] == "nuv")]
    shares = []
    for row in copies.to_dict("records"):
        shares.append(row["kept"] / row["planted"])
        assert table.loc[("copies", "nuv", row["kind"]), "kept"] == pytest.approx(shares[-1])
    assert len(shares) == 2
    assert table.loc[("copies", "nuv", "all"), "kept"] == pytest.approx(np.mean(shares))


def test_decisions_are_right_if_the_icon_is_claimed_where_it_is():
    found = [
        ("there", 1e-7, True), ("there", 1e-7, False), ("there", 1e-5, True), ("there", 1, True),
        ("absent", 1e-7, False), ("absent", 1e-3, False), ("absent", 1, False),
        ("absent", np.inf, False), ("look-alike", 1e-9, False), ("look-alike", 1, False),
    ]  # fmt: skip
    rows = pd.DataFrame(found, columns=["case", "false alarms", "right"])
    rows = rows.assign(way="crop", measure="mi", refused=np.isinf(rows["false alarms"]))
    table = decide(rows).set_index("claim")
    strict, loose = (table.loc[claim] for claim in CLAIMS)
    assert (strict["there"], strict["absent"], strict["look-alike"]) == (0.25, 0.75, 0.5)
    assert (loose["there"], loose["absent"], loose["look-alike"]) == (0.5, 0.75, 0.5)
    assert (strict["both"], loose["both"]) == (0.5, 0.625)
    assert strict["best"] == 0.75
    assert strict["refused"] == pytest.approx(0.1)


def test_times_are_medians_of_the_rounds_after_the_first(monkeypatch):
    ticks = iter([0, 0, 1, 0, 5, 0, 3])
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    calls = []
    assert time_all({"a": lambda: calls.append(1)}, 3) == {"a": 3000}
    assert len(calls) == 4
