"""From trials to tables: location rates, ranks, ROC-AUC, and paired comparisons."""

import numpy as np
import pandas as pd
import scipy.stats

from nuvmatch.evaluation import Comparison
from nuvmatch.evaluation.significance import holm

from ..scenes import CHANGES, REAL
from .experiment import AUTO, BASELINES, CELLS, MEASURES, TELLING

MARGIN = 0.04  # by which a measure may fall short of the best baseline of a cell
CLAIMS = (0.1, 0.01)  # false alarms up to which a place is claimed to be right
SHOWN = ("nuv_adaptive", "nuv_adaptive, both, 16 bins", "nuv", "nuv, both, 16 bins")


def tabulate(rows, icons_found):
    """Make all tables, by name."""
    found = icons_found.groupby(["measure", "screen"])["found"].agg(["size", "mean"])
    return {
        "cells": rate_cells(rows),
        "measures": rate_measures(rows),
        "gains": compare_means(rows),
        "margins": compare_with_best(rows),
        "false_alarms": judge_claims(rows),
        "sides": rows.groupby(["measure", "side"])["found"].mean().reset_index(),
        "screens": found.set_axis(["trials", "rate"], axis="columns").reset_index(),
    }


def rate_cells(rows):
    """Of each measure in each cell: location rate and interval, median rank, mean AUC."""
    of_cells = dict(iter(rows.groupby("cell")))
    tables = [
        Comparison(tuple(of_cells[cell].to_dict("records"))).to_dataframe().assign(cell=cell)
        for cell in CELLS
    ]
    return pd.concat(tables, ignore_index=True).drop(columns=["ms", "refused"])


def rate_measures(rows):
    """Means over cells, and the median time of a map."""
    rates = rates_of(rows)
    groups = {
        "all": list(CELLS),
        "changes": [cell for cell, (name, _) in CELLS.items() if name in CHANGES],
        "real": list(REAL),
    }
    table = {name: rates.loc[cells].mean() for name, cells in groups.items()}
    table["ms"] = rows.groupby("measure")["ms"].median()
    return pd.DataFrame(table).reindex(list(MEASURES)).rename_axis("measure").reset_index()


def rates_of(rows):
    """Location rate of every measure (columns) in every cell."""
    rates = rows.pivot_table(index="cell", columns="measure", values="found")
    return rates.reindex(index=list(CELLS), columns=list(MEASURES))


def compare_with_best(rows):
    """Each measure of ours beside the best baseline of each cell, "auto" beside the best of all.

    But for those that know the family of the change. Paired over trials: the p-value is for
    falling short by more than the margin; `holm` is adjusted for all cells of that measure.
    """
    singles = [name for name in MEASURES if name != AUTO and "family known" not in name]
    pairs = [(measure, "baselines", BASELINES) for measure in SHOWN]
    pairs += [(AUTO, "baselines", BASELINES), (AUTO, "all", singles)]
    return pd.concat(
        [
            fall_short(rows, measure, others).assign(against=against)
            for measure, against, others in pairs
        ],
        ignore_index=True,
    )


def fall_short(rows, measure, others):
    """One measure beside the best of some others in each cell."""
    found = []
    for cell in CELLS:
        hits = rows[rows["cell"] == cell].pivot_table(
            index="trial", columns="measure", values="found"
        )
        best = hits[list(others)].mean().idxmax()
        short = (hits[best] - hits[measure]).to_numpy(float)
        test = scipy.stats.ttest_1samp(short, MARGIN, alternative="greater")
        p = test.pvalue if short.std() > 0 else float(short.mean() <= MARGIN)
        gap = -short.mean()
        found.append({"measure": measure, "cell": cell, "best": best, "gap": gap, "p": p})
    table = pd.DataFrame(found)
    return table.assign(holm=holm(table["p"]))


def judge_claims(rows):
    """How often what is true is claimed, and what is claimed is wrong, by false alarms.

    `kept`: the share of trials with so few at the truth. `claimed`: with so few at the best
    place. `wrong`: of these, the share in which the best place is not at the truth.
    """
    found = []
    for measure in TELLING:
        one = rows[rows["measure"] == measure]
        for claim in CLAIMS:
            claimed = one["best nfa"] < np.log10(claim)
            wrong = claimed & ~one["best right"].astype(bool)
            found.append(
                {
                    "measure": measure,
                    "claim": claim,
                    "found": one["found"].mean(),
                    "kept": (one["nfa"] < np.log10(claim)).mean(),
                    "claimed": claimed.mean(),
                    "wrong": wrong.sum() / max(claimed.sum(), 1),
                }
            )
    return pd.DataFrame(found)


def compare_means(rows):
    """Mean over cells less that of each baseline, with a 95 % interval, for measures of ours."""
    hits = rows.pivot_table(index=["cell", "trial"], columns="measure", values="found")
    tables = []
    for measure in SHOWN:
        for other in BASELINES:
            gaps = (hits[measure] - hits[other]).groupby(level="cell")
            mean = gaps.mean().mean()
            error = np.sqrt((gaps.var() / gaps.size()).sum()) / gaps.ngroups
            tables.append(
                {
                    "measure": measure,
                    "baseline": other,
                    "gain": mean,
                    "low": mean - 1.96 * error,
                    "high": mean + 1.96 * error,
                }
            )
    return pd.DataFrame(tables)
