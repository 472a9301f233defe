"""The detection table: the command, its judge, its statistics."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nilearn", reason="the experiments need what nuvmatch[bench] brings")

import pandas as pd

from benchmarks import scenes
from benchmarks.detection.__main__ import main
from benchmarks.detection.analysis import judge_claims
from benchmarks.detection.experiment import (
    AUTO,
    BASELINES,
    CELLS,
    MEASURES,
    TELLING,
    find_all,
    make_trial,
)
from benchmarks.detection.page import make_page
from benchmarks.reporting import read_tables
from nuvmatch import Matcher

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = [pytest.mark.bench, pytest.mark.compiled]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What the quick run leaves."""
    folder = tmp_path_factory.mktemp("detection")
    main(["--quick", "--out", str(folder / "out"), "--cache", str(folder / "cache")])
    return folder / "out"


def test_the_page_has_no_gaps_and_its_links_lead_to_files(quick):
    page = (quick / "detection.md").read_text("utf-8")
    links = re.findall(r"\]\((detection/[^)]*)\)", page)
    assert len(links) == 3
    assert all((quick / link).exists() for link in links)
    assert not re.search(r"\bnan\b|[{}]|None", page)


def test_every_cell_has_every_measure(quick):
    rates = read_tables(quick / "detection")[0]["cells"]
    assert set(rates["measure"]) == set(MEASURES)
    assert set(rates["cell"]) == set(CELLS)
    assert (rates["trials"] == 3).all()
    easy = rates[(rates["cell"] == "none, 0.05") & (rates["measure"] != "SSD")]
    assert (easy["rate"] == 1).all()


def test_icons_on_screens_are_sought_by_every_measure(quick):
    rates = read_tables(quick / "detection")[0]["screens"]
    assert set(rates["measure"]) == {name for name in MEASURES if "family known" not in name}
    assert (rates.groupby("measure")["trials"].sum() == 3).all()
    own = rates[rates["screen"] == "its theme"].set_index("measure")["rate"]
    assert own.get("NCC", 1) == 1  # nothing but the place has changed


def test_the_page_in_the_docs_is_made_of_the_results_beside_it():
    results = json.loads((DOCS / "detection" / "results.json").read_text("utf-8"))
    tables = {name: pd.DataFrame(rows) for name, rows in results.items() if type(rows) is list}
    assert make_page(tables, results) == (DOCS / "detection.md").read_text("utf-8")


def test_auto_is_compared_with_all_that_do_not_know_the_family(quick):
    rates = read_tables(quick / "detection")[0]["cells"]
    rates = rates.pivot_table("rate", "cell", "measure")
    margins = read_tables(quick / "detection")[0]["margins"]
    of_auto = margins[margins["measure"] == AUTO]
    assert len(of_auto) == 2 * len(CELLS)
    single = [name for name in MEASURES if "family known" not in name and name != AUTO]
    for row in of_auto.itertuples():
        others = {"baselines": list(BASELINES), "all": single}[row.against]
        best = rates.loc[row.cell, others].max()
        assert rates.loc[row.cell, row.best] == best
        assert row.gap == pytest.approx(rates.loc[row.cell, AUTO] - best, abs=1e-5)


@pytest.mark.parametrize("measure", TELLING)
@pytest.mark.parametrize("cell", ["gamma, 0.3", "solarised, 0.15"])
def test_false_alarms_are_those_that_locate_tells(measure, cell):
    rows = find_all(cell, 7, [1]).set_index("measure")
    rng = np.random.default_rng([7, list(CELLS).index(cell), 1])
    row, col, template, scene, _ = make_trial(cell, 1, scenes.FINAL, rng)
    found = Matcher(template, MEASURES[measure]).locate(scene, false_alarms=np.inf)
    told = rows.loc[measure]
    # Maps in single and double precision differ in their last digits.
    assert told["best nfa"] == pytest.approx(np.log10(found[0].false_alarms), abs=1e-3)
    near = [m for m in found if max(abs(m.row - row), abs(m.col - col)) <= 1]
    assert told["best right"] == (near[:1] == list(found[:1])) == told["found"]
    if told["nfa"] < np.inf:
        assert told["nfa"] == pytest.approx(np.log10(near[0].false_alarms), abs=1e-3)


def test_claims_are_judged_by_false_alarms():
    trials = [(-3, -3, True), (0.5, -4, False), (-1.5, -1.5, True), (-0.5, -0.7, False)]
    rows = pd.DataFrame(trials, columns=["nfa", "best nfa", "best right"])
    rows = pd.concat([rows.assign(measure=name, found=rows["best right"]) for name in TELLING])
    table = judge_claims(rows).set_index(["measure", "claim"])
    assert table.loc[(AUTO, 0.1)].tolist() == [0.5, 0.5, 0.75, pytest.approx(1 / 3)]
    assert table.loc[(AUTO, 0.01)].tolist() == [0.5, 0.25, 0.5, 0.5]


def test_no_photograph_is_both_tuned_on_and_judged():
    assert not set(scenes.TUNING) & {*scenes.FINAL, *scenes.COLOUR}
    assert len(scenes.TUNING) >= 5 <= len(scenes.FINAL)


@pytest.mark.parametrize("cell", ["linear, 0.05", "stain to photo", "t1 to gm"])
def test_the_template_is_where_it_is_said_to_be(cell):
    """Before the noise: its tones explain those of the scene there."""
    row, col, template, scene, _ = make_trial(cell, 1, scenes.FINAL, np.random.default_rng(3))
    assert template.shape == (24, 24)
    assert scene.dtype == np.uint8
    assert scene[row : row + 24, col : col + 24].shape == (24, 24)
    if cell.startswith("linear"):
        window = scene[row : row + 24, col : col + 24]
        assert np.corrcoef(template.ravel(), window.ravel())[0, 1] > 0.9


def test_tuning_prints_a_row_for_each_price(capsys, tmp_path):
    main(["--tune", "--trials", "1", "--jobs", "1", "--cache", str(tmp_path)])
    assert len(re.findall(r"mean 0\.\d+, least margin", capsys.readouterr().out)) == 10 + 5
