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
    OWN,
    SMALL,
    make_trial,
    mirrored,
    plant,
    retone,
    search_all,
    seek,
    window,
)
from benchmarks.presence.on_screens import CASES, CLAIMS, decide_all, ways
from benchmarks.presence.page import make_page
from benchmarks.presence.timing import time_all
from benchmarks.reporting import read_tables
from benchmarks.screens import make_case
from nuvmatch import Matcher
from nuvmatch.evaluation import PresenceTrial

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


# Searches.


def test_ten_false_matches_are_counted_where_a_map_has_a_hundred_minima(searches):
    known = searches["false at 10"].notna()
    for search, counted in (("absent", True), (f"absent, {SMALL[0]}", False)):
        assert set(known[searches["search"] == search]) == {counted}


def test_what_is_copied_is_kept_and_what_is_there_once_only_at_the_best_place(rng):
    template = rng.integers(0, 256, (16, 16), dtype=np.uint8)
    scene, places = plant(rng.integers(0, 256, (300, 300), dtype=np.uint8), template, rng)
    many, second = (
        PresenceTrial(scene, template, places),
        PresenceTrial(scene, template, places[1:2]),
    )
    (row,) = seek([many], {"ncc2": MEASURES["ncc2"]})
    assert (row["planted"], row["best"], row["kept at 1"], row["refused"]) == (20, 20, 20, False)
    first = Matcher(template, "ncc2").locate(scene)[0]
    best = (first.row, first.col) == places[1]
    (row,) = seek([second], {"ncc2": MEASURES["ncc2"]})
    assert (row["planted"], row["best"], row["kept at 1"]) == (1, best, best)


def test_what_cannot_be_told_is_refused_and_passes_nothing(rng):
    template = rng.integers(0, 256, (24, 24), dtype=np.uint8)
    scene = rng.integers(0, 256, (40, 40), dtype=np.uint8)
    scene[4:28, 5:29] = template
    (row,) = seek([PresenceTrial(scene, template, [(4, 5)])], ["nuv"])
    assert (row["planted"], row["best"], row["kept at 1"], row["refused"]) == (1, 1, 0, True)


# Icons.


@pytest.mark.parametrize("case", CASES)
def test_icons_are_sought_in_two_ways(case):
    rows = decide_all(case, 3, [0])
    assert set(rows["way"]) == {"crop", "alpha"}
    assert set(rows["measure"]) == set(MEASURES) - {"nuv"}
    assert case == "there" or not rows["best"].any()


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


# Tables.


def test_false_matches_are_means_of_kinds_of_means_of_trials(searches):
    table = count_false(searches).set_index(["search", "measure", "nominal", "kind"])
    for search in ("absent", f"absent, {SMALL[1]}"):
        for measure in (*MEASURES, OWN):
            means = []
            for kind in ("noise", "screens"):
                counts = [
                    row["false at 1"]
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
        shares.append(row["kept at 1"] / row["planted"])
        assert table.loc[("copies", "nuv", row["kind"]), "kept"] == pytest.approx(shares[-1])
    assert len(shares) == 2
    assert table.loc[("copies", "nuv", "all"), "kept"] == pytest.approx(np.mean(shares))


def test_decisions_are_right_if_the_icon_is_claimed_where_it_is():
    found = [
        ("there", 1e-7, 1), ("there", 1e-7, 0), ("there", 1e-5, 1), ("there", 1, 1),
        ("absent", 1e-7, 0), ("absent", 1e-3, 0), ("absent", 1, 0),
        ("absent", np.inf, 0), ("look-alike", 1e-9, 0), ("look-alike", 1, 0),
    ]  # fmt: skip
    rows = pd.DataFrame(found, columns=["case", "false_alarms", "best"])
    rows = rows.assign(way="crop", measure="mi", refused=np.isinf(rows["false_alarms"]))
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
