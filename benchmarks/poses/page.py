"""Tables of poses, and the page that shows them."""

from pathlib import Path

import numpy as np
import pandas as pd

from nuvmatch.timing import describe

from ..presence.experiment import NOMINAL
from ..reporting import markdown, render
from . import beside, chance, experiment

TEMPLATE = Path(__file__).with_name("page.md.jinja")


def tabulate(trials, compared, counted):
    """Each table by name, as numbers."""
    return {
        "sizes": summarise(trials, "size"),
        "tones": summarise(trials, ["size", "tones"]),
        "precision": precision(trials),
        "beside": compared.groupby(["size", "tones", "way"], sort=False)
        .agg(right=("right", "mean"), ms=("ms", "median"))
        .reset_index(),
        "chance": count(counted),
    }


def count(counted):
    """False matches of a search on average, and shares kept, by kind of image and over all."""
    named = [f"at {nominal:g}" for nominal in NOMINAL]
    named += ["best", *(f"kept at {nominal:g}" for nominal in chance.KEPT)]
    by_kind = counted.groupby(["way", "kind"], sort=False)[named].mean().reset_index()
    over_all = by_kind.groupby("way", sort=False)[named].mean().reset_index().assign(kind="mean")
    return pd.concat([by_kind, over_all[by_kind.columns]]).sort_values(
        "way", kind="stable", ignore_index=True
    )


def summarise(trials, by):
    """Shares of trials, of those that are fair, and of those whose upright one is found."""
    rows = []
    for group, some in trials.groupby(by, sort=False):
        named = dict(zip(np.atleast_1d(by), np.atleast_1d(np.array(group, object)), strict=True))
        fair, found = some[some["fair"]], some[some["upright"]]
        rows.append(
            named
            | {
                "trials": len(some),
                "right": some["right"].mean(),
                "fair": some["fair"].mean(),
                "right of fair": fair["right"].mean(),
                "right or as good, of fair": fair["as good"].mean(),
                "right where the upright one is found": found["right"].mean(),
                "ms": some["ms"].median(),
            }
        )
    return pd.DataFrame(rows)


def precision(trials):
    """Errors of right poses: medians, and what nine of ten are within."""
    rows = []
    for size, some in trials[trials["right"]].groupby("size", sort=False):
        row = {"size": size}
        for name, unit, factor in (("place", "px", 1), ("angle", "°", 1), ("scale", "%", 100)):
            row[f"{name}, {unit}: median"] = factor * some[name].median()
            row[f"{name}, {unit}: 90 %"] = factor * some[name].quantile(0.9)
        rows.append(row)
    return pd.DataFrame(rows)


def make_page(tables, about):
    """The page, of tables as they were left."""
    shown = {name: markdown(as_texts(pd.DataFrame(table))) for name, table in tables.items()}
    return render(
        TEMPLATE,
        **shown,
        about=about,
        environment=describe(about["environment"]),
        scales=experiment.SCALES,
        noises=experiment.NOISES,
        place=experiment.PLACE,
        angle=experiment.ANGLE,
        scale=100 * experiment.SCALE,
        nearly=round(100 * (experiment.NEARLY - 1)),
        levels=beside.LEVELS,
        beam=beside.BEAM,
        each=beside.EACH,
        many=chance.TEMPLATES,
    )


def as_texts(table):
    """Numbers as they are read: shares and errors with three digits."""

    def as_text(name, value):
        if isinstance(value, float | np.floating):
            return (
                f"{value:.0f}"
                if name == "ms"
                else f"{value:.2f}"
                if name == "s"
                else f"{value:.3f}"
            )
        return str(value)

    return {name: [as_text(name, value) for value in table[name]] for name in table}
