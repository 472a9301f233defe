"""The paper's experiments: the command, its statistics, and whether it meets what was printed."""

import itertools
import json
import re
from pathlib import Path

import naive
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

pytest.importorskip("nilearn", reason="the experiments need what nuvmatch[bench] brings")

import pandas as pd
import sklearn.metrics

from benchmarks.paper import published
from benchmarks.paper.__main__ import main, run
from benchmarks.paper.analysis import compare_methods
from benchmarks.paper.experiment import METHODS, SETTINGS, cut, score_cases
from benchmarks.paper.page import make_page
from benchmarks.significance import sign_flip

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = [pytest.mark.bench, pytest.mark.compiled]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What the quick run leaves."""
    folder = tmp_path_factory.mktemp("paper")
    main(["--quick", "--out", str(folder / "out"), "--cache", str(folder / "cache")])
    return folder / "out"


@pytest.fixture(scope="module")
def results(quick):
    return json.loads((quick / "paper" / "results.json").read_text("utf-8"))


def test_the_page_has_no_gaps_and_its_links_lead_to_files(quick, results):
    page = (quick / "paper.md").read_text("utf-8")
    links = re.findall(r"\]\((paper/[^)]*)\)", page)
    assert len(links) == 8
    assert all((quick / link).exists() for link in links)
    assert not re.search(r"\bnan\b|[{}]|None", page)
    assert {"auc", "pairs", "rules", "predictions", "reached"} <= set(results)


def test_the_page_in_the_docs_is_made_of_the_results_beside_it():
    results = json.loads((DOCS / "paper" / "results.json").read_text("utf-8"))
    tables = {name: pd.DataFrame(rows) for name, rows in results.items() if type(rows) is list}
    assert make_page(tables, results) == (DOCS / "paper.md").read_text("utf-8")


@pytest.mark.parametrize("setting", published.AUC)
def test_what_was_printed_is_met_where_rows_are_kept_as_then(setting, results):
    for row in results["auc"]:
        if row["setting"] == setting and row["rows"] == "kept" and row["published"] is not None:
            error = (row["high"] - row["low"]) / 3.92
            assert abs(row["auc"] - row["published"]) < 0.02 + 3 * error


def test_optimal_bins_are_the_best(results):
    auc = {(r["setting"], r["rows"], r["method"]): r["auc"] for r in results["auc"]}
    for rows, least in [("kept", 0.9), ("all", 0.92)]:
        assert auc["general", rows, "optimal"] > least - 0.03
        assert auc["general", rows, "optimal"] > auc["general", rows, "greedy, 10 starts"]
    assert auc["spherical", "all", "NCC²"] > auc["spherical", "all", "optimal"]


@pytest.mark.parametrize("window", ["noise", "distorted"])
def test_predicted_means_are_those_measured(window, results):
    for row in results["predictions"]:
        if row["window"] == window and row["setting"] in published.AUC:
            assert abs(row["error"]) < 0.0025 + 4 * row["chance"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_scores_are_those_of_plain_formulas(setting):
    rows = score_cases(setting, 3, [5]).set_index(["rule", "method"])
    rng = np.random.default_rng([3, list(SETTINGS).index(setting), 5])
    case = SETTINGS[setting](rng)
    cuts = cut(case, 5, int(rng.integers(2**32)))
    for window in ("distorted", "noise"):
        greys = getattr(case, window)
        scores = rows.loc["5"][window]
        for method, binned in cuts.items():
            expected = naive.nuv_window(greys[None], binned.labels[None])
            assert_allclose(scores[method], expected, atol=1e-9)
        r = scipy.stats.pearsonr(case.template, greys).statistic
        assert_allclose(scores["NCC²"], 1 - r**2, atol=1e-9)
        image_bins = np.digitize(greys, np.linspace(greys.min(), greys.max(), 6)[1:-1])
        template_bins = cuts["equal width"].labels
        information = sklearn.metrics.mutual_info_score(template_bins, image_bins)
        entropy = scipy.stats.entropy(np.bincount(image_bins))
        assert_allclose(scores["nMI"], 1 - information / entropy, atol=1e-9)


def test_cases_do_not_depend_on_jobs_or_on_what_was_done_before(tmp_path):
    fewer = run(2, seed=1, jobs=1, cache=tmp_path)
    more = run(8, seed=1, jobs=2, cache=tmp_path)
    again = run(8, seed=1, jobs=1, cache=tmp_path / "other")
    pd.testing.assert_frame_equal(more, again)
    of_both = more.merge(fewer[["setting", "case"]].drop_duplicates())
    pd.testing.assert_frame_equal(of_both, fewer)


def test_what_was_scored_is_not_scored_again(tmp_path, monkeypatch):
    first = run(2, seed=1, jobs=1, cache=tmp_path)
    monkeypatch.setattr("benchmarks.paper.experiment.score_case", None)
    pd.testing.assert_frame_equal(run(2, seed=1, jobs=1, cache=tmp_path), first)
    with pytest.raises(TypeError):
        run(2, seed=2, jobs=1, cache=tmp_path)


def test_flipping_signs_of_single_hits_is_mcnemar(rng):
    differences = rng.choice([-1, 0, 1], 500, p=[0.3, 0.3, 0.4])
    ups, downs = (differences > 0).sum(), (differences < 0).sum()
    expected = scipy.stats.binomtest(ups, ups + downs).pvalue
    assert_allclose(sign_flip(differences), expected, rtol=1e-9)


def test_flipping_signs_counts_all_ways_to_flip(rng):
    for _ in range(20):
        differences = rng.integers(-5, 6, 9)
        sums = [np.dot(signs, differences) for signs in itertools.product([1, -1], repeat=9)]
        expected = np.mean(np.abs(sums) >= abs(differences.sum()))
        assert_allclose(sign_flip(differences), expected, rtol=1e-12)
    assert sign_flip(np.zeros(4)) == 1


def test_intervals_are_those_of_cases_that_vary_together(rng):
    """Every row of a case hits, or none: as many rows as cases count."""
    cases, rules = 400, 5
    hits = np.repeat(rng.random(cases) < 0.3, rules)
    rows = pd.DataFrame(
        {"case": np.repeat(np.arange(cases), rules), "rule": np.tile(np.arange(rules), cases)}
    )
    rows = pd.concat([rows.assign(method=method, hit=hits) for method in METHODS])
    auc = compare_methods("general", rows)["auc"].iloc[0]
    share = hits.mean()
    assert auc["auc"] == share
    expected = 2 * 1.96 * np.sqrt(share * (1 - share) / cases)
    assert auc["high"] - auc["low"] == pytest.approx(expected, rel=0.1)
    assert auc["variance by pooled"] == pytest.approx(rules, rel=0.15)


def test_bad_numbers_are_refused_before_any_work(capsys, tmp_path):
    for option in ("--cases", "--jobs"):
        with pytest.raises(SystemExit, match="2"):
            main([option, "0", "--out", str(tmp_path / "out")])
        assert "0 is less than 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
