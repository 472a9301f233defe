"""The page that tells of a run: a template, and the numbers and tables it asks for."""

from pathlib import Path

from nuvmatch.timing import describe

from ..kinds import KINDS
from ..reporting import markdown, render
from ..scenes import CHANGES
from . import experiment, on_screens, timing
from .analysis import FIXED, ORDER
from .experiment import NOMINAL

FOLDER = Path(__file__).parent
OPENCV = (0.99, 0.95, 0.9, 0.8, 0.7, 0.5)  # thresholds of TM_CCOEFF_NORMED


def make_page(tables, about, name="page"):
    """Fill in a page: what was measured, or which "threshold" to take."""
    return render(
        FOLDER / f"{name}.md.jinja",
        of=Numbers(tables),
        seed=about["seed"],
        trials=about["trials"],
        timed=about["timed"],
        environment=describe(about["environment"]),
        kinds=KINDS,
        changes=CHANGES,
        did=experiment,
        icons=on_screens,
        timing=timing,
        measures=experiment.MEASURES,
        icons_by=[m for m in experiment.MEASURES if m != on_screens.LEFT_OUT],
    )


class Numbers:
    """Numbers and tables as text."""

    def __init__(self, tables):
        self._tables = tables
        self._false = (
            tables["false"]
            .astype({"nominal": str})
            .set_index(["search", "measure", "kind", "nominal"])
        )
        self._true = tables["true"].set_index(["search", "measure", "kind"])
        self._screens = tables["screens"].set_index(["way", "claim", "measure"])
        self._times = tables["times"].set_index(["measure", "call"])

    def false(self, measure, nominal=1, search="absent", kind="all"):
        """Mean number of false matches of a search."""
        key = search, measure, kind, str(nominal)
        return "" if key not in self._false.index else f"{self._false.loc[key, 'false']:.2f}"

    def true(self, measure, share="kept", search="present", kind="all"):
        key = search, measure, kind
        return "" if key not in self._true.index else f"{self._true.loc[key, share]:.3f}"

    def refused(self, measure, search="absent", kind="all"):
        key = search, measure, kind, "1"
        return "" if key not in self._false.index else f"{self._false.loc[key, 'refused']:.3f}"

    def range_of_kinds(self, measure, nominal=1):
        """Least and largest mean of a kind."""
        found = [float(self.false(measure, nominal, kind=kind)) for kind in KINDS]
        return f"{min(found):.2f} to {max(found):.2f}"

    def decided(self, measure, way, claim, share="both"):
        return f"{self._screens.loc[(way, claim, measure), share]:.3f}"

    def time(self, measure, call, column="ms"):
        return f"{self._times.loc[(measure, call), column]:.3g}"

    def nominal_table(self):
        """Means over kinds, with standard errors."""
        columns = {"measure": ORDER}
        for nominal in NOMINAL:
            cells = [self._false.loc["absent", m, "all", str(nominal)] for m in ORDER]
            columns[f"at {nominal}"] = [f"{c['false']:.2f} ± {c['error']:.2f}" for c in cells]
        return markdown(columns | {"refused": [self.refused(measure) for measure in ORDER]})

    def kinds_table(self, nominal):
        columns = {"measure": ORDER}
        for kind in KINDS:
            columns[kind] = [self.false(measure, nominal, kind=kind) for measure in ORDER]
        return markdown(columns)

    def kept_table(self, search="present"):
        """Kept, and behind a stroke those among the best places."""
        shown = [measure for measure in ORDER if self.true(measure, search=search)]
        columns = {"measure": shown}
        for kind in ("all", *KINDS):
            columns["mean" if kind == "all" else kind] = [
                f"{self.true(m, 'kept', search, kind)} / {self.true(m, 'best', search, kind)}"
                for m in shown
            ]
        return markdown(columns)

    def small_table(self):
        columns = {"measure": ORDER}
        for side in experiment.SMALL:
            search = f"absent, {side}"
            columns[f"{side} x {side}: at 1"] = [self.false(m, 1, search) for m in ORDER]
            columns[f"{side} x {side}: refused"] = [self.refused(m, search) for m in ORDER]
        return markdown(columns)

    def screens_table(self):
        table = self._tables["screens"]
        shares = ("both", "there", "absent", "look-alike", "best", "refused")
        columns = {"icon": table["way"], "measure": table["measure"]}
        columns["claimed up to"] = [f"{claim:.0e}" for claim in table["claim"]]
        titles = {"both": "there or absent: right", "best": "best place right"}
        return markdown(
            columns | {titles.get(s, s): [f"{x:.3f}" for x in table[s]] for s in shares}
        )

    def thresholds_table(self):
        """Median, and quartiles in brackets."""
        table = self._tables["thresholds"].set_index(["measure", "side"])
        columns = {"measure": list(experiment.TOLD)}
        for side in experiment.SIDES:
            cells = table.reindex([(measure, side) for measure in experiment.TOLD])
            columns[f"{side} x {side}"] = [
                f"{middle:.2f} ({low:.2f} to {high:.2f})"
                for low, middle, high in cells[["q0.25", "q0.5", "q0.75"]].to_numpy()
            ]
        return markdown(columns)

    def fixed_table(self):
        """Invented, and behind a stroke kept."""
        table = self._tables["fixed"].set_index(["threshold", "kind"])
        columns = {"threshold": [f"{threshold:g}" for threshold in FIXED]}
        for kind in KINDS:
            cells = [table.loc[(threshold, kind)] for threshold in FIXED]
            columns[kind] = [f"{c['invented']:.2f} / {c['kept']:.2f}" for c in cells]
        return markdown(columns)

    def opencv_table(self):
        """By NCC, and by its square, which "nuv" is near beyond its floor if only noise differs."""
        return markdown(
            {
                "TM_CCOEFF_NORMED at least": [f"{c:g}" for c in OPENCV],
                '"ncc" at most': [f"{1 - c:.2f}" for c in OPENCV],
                '"ncc2" at most, "nuv" beyond its floor': [f"{1 - c * c:.2f}" for c in OPENCV],
            }
        )

    def times_table(self):
        table = self._tables["times"]
        return markdown(
            {
                "measure": table["measure"],
                "call": table["call"],
                "ms": [f"{x:.1f}" for x in table["ms"]],
                "in maps of its own": [f"{x:.2f}" for x in table["maps"]],
                "in OpenCV's NCC": [f"{x:.1f}" for x in table["opencv"]],
            }
        )
