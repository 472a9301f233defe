"""The page that tells of a run: a template, and the numbers and tables it asks for."""

from pathlib import Path

from nuvmatch.timing import describe

from ..reporting import markdown, render
from ..scenes import CHANGES, COLOUR, FINAL, REAL, TUNING
from .experiment import BASELINES, CELLS, LISTED, MEASURES, NOISES

TEMPLATE = Path(__file__).with_name("page.md.jinja")
KNOWN = "nuv_curves, family known, 16 bins"


def make_page(tables, about):
    """Fill in the page."""
    return render(
        TEMPLATE,
        of=Numbers(tables),
        seed=about["seed"],
        trials=about["trials"],
        environment=describe(about["environment"]),
        baselines=BASELINES,
        changes=CHANGES,
        real=REAL,
        noises=NOISES,
        listed=LISTED,
        photographs={"final": FINAL, "tuning": TUNING, "colour": COLOUR},
    )


class Numbers:
    """Numbers and tables as text."""

    def __init__(self, tables):
        self._tables = tables
        self._rates = tables["cells"].pivot(index="cell", columns="measure", values="rate")
        self._rates = self._rates.reindex(index=list(CELLS), columns=list(MEASURES))

    def mean(self, measure, group="all"):
        means = self._tables["measures"].set_index("measure")
        return f"{means.loc[measure, group]:.3f}"

    def rate(self, measure, cell):
        return f"{self._rates.loc[cell, measure]:.2f}"

    def measures_table(self):
        table = self._tables["measures"]
        return markdown(
            {
                "measure": table["measure"],
                "all cells": [number(x) for x in table["all"]],
                "changes of tones": [number(x) for x in table["changes"]],
                "real pairs": [number(x) for x in table["real"]],
                "ms a map": [f"{ms:.1f}" for ms in table["ms"]],
            }
        )

    def changes_table(self):
        """Mean over noises."""
        columns = {"measure": list(MEASURES)}
        for change in CHANGES:
            cells = [f"{change}, {noise}" for noise in NOISES]
            columns[change] = [number(x) for x in self._rates.loc[cells].mean()]
        return markdown(columns)

    def noise_table(self):
        """Mean over changes of tones."""
        columns = {"measure": list(MEASURES)}
        for noise in NOISES:
            cells = [f"{change}, {noise}" for change in CHANGES]
            columns[f"noise {noise}"] = [number(x) for x in self._rates.loc[cells].mean()]
        return markdown(columns)

    def real_table(self):
        rates = self._rates.loc[list(REAL)].dropna(axis="columns")
        columns = {"measure": list(rates.columns)}
        return markdown(columns | {cell: [number(x) for x in rates.loc[cell]] for cell in REAL})

    def screens_table(self):
        table = self._tables["screens"]
        trials = table.groupby("screen")["trials"].first()
        rates = table.pivot(index="measure", columns="screen", values="rate")
        rates = rates.reindex([name for name in MEASURES if name in rates.index])
        columns = {"measure": list(rates.index)}
        return markdown(
            columns
            | {
                f"{theme} ({trials[theme]})": map(number, rates[theme])
                for theme in trials.index[::-1]
            }
        )

    def sides_table(self):
        rates = self._tables["sides"].pivot(index="measure", columns="side", values="found")
        rates = rates.loc[list(MEASURES)]
        columns = {"measure": list(MEASURES)}
        return markdown(
            columns | {f"{side} x {side}": [number(x) for x in rates[side]] for side in rates}
        )

    def auc_table(self):
        cells = self._tables["cells"]
        auc = cells.pivot(index="cell", columns="measure", values="auc")[list(MEASURES)]
        rank = cells.pivot(index="cell", columns="measure", values="rank")[list(MEASURES)]
        columns = {"measure": list(MEASURES)}
        columns["ROC-AUC, mean"] = [number(x) for x in auc.mean()]
        columns["least of a cell"] = [number(x) for x in auc.min()]
        columns["median rank of the truth, largest of a cell"] = [f"{x:.0f}" for x in rank.max()]
        return markdown(columns)

    def gains_table(self, measure):
        gains = self._tables["gains"]
        gains = gains[gains["measure"] == measure]
        return markdown(
            {
                "baseline": gains["baseline"],
                f"{measure} is above it by": [
                    f"{g.gain:+.3f} ({g.low:+.3f} to {g.high:+.3f})" for g in gains.itertuples()
                ],
            }
        )

    def false_alarms_table(self):
        table = self._tables["false_alarms"]
        columns = {"measure": table["measure"], "found": map(number, table["found"])}
        columns["fewer than"] = [f"{claim}" for claim in table["claim"]]
        titles = {"kept": "at the truth", "claimed": "at the best place", "wrong": "of these wrong"}
        return markdown(
            columns | {title: [number(x) for x in table[name]] for name, title in titles.items()}
        )

    def short_cells(self, measure, group="", against="baselines"):
        """Cells in which a measure falls short of the best other by more than the margin."""
        margins = self._tables["margins"]
        groups = {"": CELLS, "real": REAL, "changes": [cell for cell in CELLS if cell not in REAL]}
        cells = margins["cell"].isin(groups[group])
        found = margins[(margins["measure"] == measure) & cells & (margins["against"] == against)]
        short = found[found["holm"] < 0.01]
        if short.empty:
            return f"none (the largest distance is {found['gap'].min():+.3f})"
        return ", ".join(f"{c.cell} ({c.gap:+.2f} to {c.best})" for c in short.itertuples())

    def known_family(self):
        """Distances of the curves of a known family from NCC, least of simple and other cells."""
        gap = (self._rates[KNOWN] - self._rates["NCC"]).dropna()
        simple = gap.index.str.startswith(("none", "linear", "gamma"))
        return f"{gap[simple].min():+.3f}", f"{gap[~simple].min():+.3f}"


def number(rate):
    return "" if rate != rate else f"{rate:.3f}"
