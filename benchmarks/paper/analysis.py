"""From rows of scores to tables: AUC, how sure it is, and predictions beside measurements.

A hit: the distorted template scores below noise. The share of hits is what the paper calls
AUC. Rows of one case share its template and its windows, so cases are the units that vary
independently: intervals come from drawing cases anew, p-values from flipping signs of cases.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import scipy.stats

from ..significance import sign_flip
from . import published
from .experiment import BINNINGS, METHODS, RULES, SETTINGS

RESAMPLES = 1999
WINDOWS = ("noise", "distorted")


def tabulate(rows):
    """Make all tables, by name."""
    rows = rows.assign(hit=rows["distorted"] < rows["noise"])
    parts = [
        (setting, selection, part)
        for setting in SETTINGS
        for selection, part in select(rows[rows["setting"] == setting])
    ]
    tables = {"auc": [], "pairs": [], "rules": [], "predictions": [], "reached": []}
    for setting, selection, part in parts:
        of_part = {
            **compare_methods(setting, part),
            "rules": auc_by_rule(part),
            "predictions": compare_predictions(part),
            "reached": share_reached(part),
        }
        for name, table in of_part.items():
            table.insert(0, "setting", setting)
            table.insert(1, "rows", selection)
            tables[name].append(table)
    return {name: pd.concat(found, ignore_index=True) for name, found in tables.items()}


def select(rows):
    """Rows as the reference run kept them, and all."""
    yield "kept", rows[rows["kept"]]
    yield "all", rows


def compare_methods(setting, rows):
    """AUC of each method with its interval; and of each two: their difference, p-values."""
    hits = rows.pivot_table(index=["case", "rule"], columns="method", values="hit")[list(METHODS)]
    by_case = hits.groupby(level="case").agg("sum")
    numbers = hits.groupby(level="case").size()
    resampled = scipy.stats.bootstrap(
        (by_case.to_numpy().T, numbers.to_numpy()[None]),
        share,
        paired=True,
        vectorized=True,
        axis=-1,
        n_resamples=RESAMPLES,
        batch=50,
        method="percentile",
        rng=0,
    ).bootstrap_distribution
    measured, drawn = hits.mean(), dict(zip(METHODS, resampled, strict=True))
    auc = [
        {
            "method": method,
            "auc": measured[method],
            **interval(drawn[method]),
            "variance by pooled": drawn[method].var()
            / (measured[method] * (1 - measured[method]) / len(hits)),
            "published": published.auc(setting, method),
        }
        for method in METHODS
    ]
    pairs = [
        {
            "method": one,
            "other": two,
            "difference": measured[one] - measured[two],
            **interval(drawn[one] - drawn[two]),
            "p pooled": sign_flip(hits[one] - hits[two]),
            "p cases": sign_flip(by_case[one] - by_case[two]),
            "p published": published.p_value(setting, one, two),
        }
        for one, two in combinations(METHODS, 2)
    ]
    return {"auc": pd.DataFrame(auc), "pairs": pd.DataFrame(pairs)}


def share(hits, numbers, axis):
    return hits.sum(axis=axis) / numbers.sum(axis=axis)


def interval(drawn):
    """Bounds between which 95 % lie."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"low": low, "high": high}


def auc_by_rule(rows):
    """AUC of each method for each number of bins, and of how many cases."""
    found = rows.groupby(["method", "rule"])["hit"].agg(auc="mean", cases="size")
    return (
        found.reindex(pd.MultiIndex.from_product([METHODS, RULES]))
        .rename_axis(["method", "rule"])
        .reset_index()
    )


def compare_predictions(rows):
    """Means and spreads of scores beside the means of what the propositions expect."""
    tables = []
    for window in WINDOWS:
        expected, measured = rows[f"expected {window}"], rows[window]
        part = rows[["method", "rule"]].assign(
            expected=expected, measured=measured, gap=expected - measured
        )
        found = part.groupby(["method", "rule"]).agg(
            expected=("expected", "mean"),
            measured=("measured", "mean"),
            spread=("measured", "std"),
            gap_error=("gap", "sem"),
        )
        found["error"] = found["expected"] / found["measured"] - 1
        found["chance"] = found.pop("gap_error") / found["measured"]
        order = pd.MultiIndex.from_product([BINNINGS, RULES], names=["method", "rule"])
        tables.append(found.reindex(order).reset_index().assign(window=window))
    return pd.concat(tables, ignore_index=True)


def share_reached(rows):
    """Of what the optimal bins explain beyond a single bin: the share of other binnings."""
    found = rows.dropna(subset="reached").groupby(["method", "rule"])["reached"].median()
    order = pd.MultiIndex.from_product([("greedy", "greedy, 10 starts"), RULES])
    return found.reindex(order).rename_axis(["method", "rule"]).reset_index()
