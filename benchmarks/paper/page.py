"""The page that tells of a run: a template, and the numbers and tables it asks for."""

from pathlib import Path

import pandas as pd

from nuvmatch.timing import describe

from ..reporting import markdown, render
from . import published
from .experiment import BINNINGS, METHODS, RULES

TEMPLATE = Path(__file__).with_name("page.md.jinja")


def make_page(tables, about):
    """Fill in the page."""
    return render(
        TEMPLATE,
        of=Numbers(tables),
        cases=about["cases"],
        seed=about["seed"],
        environment=describe(about["environment"]),
    )


class Numbers:
    """Numbers and tables as text; `rows` is "kept" or "all"."""

    def __init__(self, tables):
        self._tables = tables

    def _find(self, table, **wanted):
        found = self._tables[table]
        for column, value in wanted.items():
            found = found[found[column] == value]
        return found

    def auc(self, setting, rows, method):
        return f"{self._find('auc', setting=setting, rows=rows, method=method)['auc'].item():.3f}"

    def auc_by_rule(self, setting, rows, method, rule):
        found = self._find("rules", setting=setting, rows=rows, method=method, rule=rule)
        return f"{found['auc'].item():.3f}"

    def more(self, setting, rows, method, other):
        """How much more AUC a method has than one named before it."""
        pair = self._find("pairs", setting=setting, rows=rows, method=other, other=method).iloc[0]
        return f"{-pair['difference']:+.3f} ({-pair['high']:+.3f} to {-pair['low']:+.3f})"

    def farthest(self):
        """Largest distance of an AUC over the kept rows from the one printed."""
        auc = self._find("auc", rows="kept").dropna(subset="published")
        return f"{(auc['auc'] - auc['published']).abs().max():.3f}"

    def inflation(self, setting, rows):
        """How many times the variance of a binning's AUC is that of independent rows."""
        auc = self._find("auc", setting=setting, rows=rows)
        times = auc[auc["method"].isin(BINNINGS)]["variance by pooled"]
        return f"{times.min():.1f} to {times.max():.1f}"

    def kept(self, setting):
        """Share of rows kept for each number of bins."""
        rules = self._find("rules", setting=setting, method="k-means").set_index("rule")
        kept, all_ = (rules[rules["rows"] == rows]["cases"] for rows in ("kept", "all"))
        return ", ".join(f"{100 * share:.0f}" for share in (kept / all_)[list(RULES)]) + " %"

    def reached(self, method):
        """Shares of what the optimal bins explain, over numbers of bins."""
        share = 100 * self._find("reached", setting="general", rows="all", method=method)["reached"]
        return f"{share.min():.0f} to {share.max():.0f} %"

    def auc_table(self, setting):
        kept, all_ = (self._find("auc", setting=setting, rows=rows) for rows in ("kept", "all"))
        return markdown(
            {
                "method": METHODS,
                "printed": ["" if pd.isna(auc) else f"{auc:.2f}" for auc in kept["published"]],
                "kept rows": with_bounds(kept, "auc"),
                "all rows": with_bounds(all_, "auc"),
            }
        )

    def rules_table(self, setting, rows):
        auc = self._find("rules", setting=setting, rows=rows).pivot(
            index="method", columns="rule", values="auc"
        )
        table = auc.loc[list(METHODS), list(RULES)].map("{:.3f}".format)
        return markdown({"method": METHODS, **table})

    def predictions_table(self, setting):
        """Relative errors of the means for the binning that the paper shows, and optimal bins."""
        shown = published.PREDICTION_ERRORS[setting]["method"]
        columns = {"bins": RULES}
        for method in (shown, "optimal"):
            for window in ("noise", "distorted"):
                part = self._find(
                    "predictions", setting=setting, rows="kept", method=method, window=window
                )
                columns[f"{method}: {window}"] = [
                    f"{100 * error:+.3f} ± {196 * chance:.3f} %"
                    for error, chance in zip(part["error"], part["chance"], strict=True)
                ]
        return markdown(columns)

    def prediction_error(self, setting, window, method=None, rows="kept"):
        """Largest relative error of a mean over numbers of bins, of one or all binnings."""
        found = self._find("predictions", setting=setting, rows=rows, window=window)
        if method:
            found = found[found["method"] == method]
        return f"{100 * found['error'].abs().max():.2f} %"

    def printed_pairs_table(self, setting):
        """The pairs that the paper compares, over the rows kept."""
        pairs = self._find("pairs", setting=setting, rows="kept").dropna(subset="p published")
        return pairs_table(
            pairs, **{"p printed": [p_value(p, "< 1e-6") for p in pairs["p published"]]}
        )

    def pairs_table(self, setting, method):
        """One method and every other, over all rows."""
        pairs = self._find("pairs", setting=setting, rows="all")
        return pairs_table(pairs[(pairs["method"] == method) | (pairs["other"] == method)])

    def variants_table(self):
        columns = {"method": METHODS}
        for setting in ("general", "general, Cov as printed", "general, Cross as printed"):
            columns[setting] = with_bounds(self._find("auc", setting=setting, rows="all"), "auc")
        return markdown(columns)


def with_bounds(table, column):
    """Value and half the width of its interval."""
    half = (table["high"] - table["low"]) / 2
    return [f"{value:.3f} ± {h:.3f}" for value, h in zip(table[column], half, strict=True)]


def pairs_table(pairs, **columns):
    return markdown(
        {
            "pair": pairs["method"] + " - " + pairs["other"],
            "difference of AUC": with_bounds(pairs, "difference"),
            **columns,
            "p, rows pooled": [p_value(p) for p in pairs["p pooled"]],
            "p, by cases": [p_value(p) for p in pairs["p cases"]],
        }
    )


def p_value(p, zero="< 1e-300"):
    return f"{p:.1e}" if p else zero
