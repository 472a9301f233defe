"""From searches to tables: false matches against nominal ones, and what is kept of true ones."""

import pandas as pd

from .experiment import MEASURES, NOMINAL, OWN
from .on_screens import CLAIMS

ORDER = [*MEASURES, OWN]
FIXED = (0.05, 0.1, 0.2, 0.3, 0.4)  # thresholds that people may try


def tabulate(searches, icons, times):
    """Make all tables, by name."""
    return {
        "false": count_false(searches),
        "true": count_true(searches),
        "screens": decide(icons),
        "themes": decide(icons, ["same theme"]),
        "times": times,
        "thresholds": quartiles_of_thresholds(searches),
        "fixed": judge_fixed(searches),
    }


def ordered(table):
    """Rows by search, then in the order of the measures; kinds as they came."""
    ranks = table["measure"].map(ORDER.index)
    table = table.assign(rank=ranks).sort_values([*table.columns[:1], "rank"], kind="stable")
    return table.drop(columns="rank").reset_index(drop=True)


def count_false(rows):
    """Mean number of false matches where the template is not, by nominal number; refusals.

    Of a kind; and, as the kind "all", means over kinds. Errors are standard ones.
    """
    rows = rows[rows["search"].str.startswith("absent")]
    rows = rows.rename(columns={f"false at {n}": str(n) for n in NOMINAL})
    long = rows.melt(
        ["search", "measure", "kind", "refused"], [str(n) for n in NOMINAL], "nominal", "false"
    ).dropna(subset="false")
    long = long.assign(refused=long["refused"].astype(float))
    table = long.groupby(["search", "measure", "nominal", "kind"], sort=False).agg(
        trials=("false", "size"),
        false=("false", "mean"),
        error=("false", "sem"),
        refused=("refused", "mean"),
    )
    return ordered(with_means(table, ["search", "measure", "nominal"]))


def with_means(table, keys):
    """Add means over kinds, of which each counts alike."""
    groups = table.groupby(level=keys, sort=False)
    means = groups.mean()
    means["trials"] = groups["trials"].sum()
    if "error" in table:
        means["error"] = groups["error"].agg(lambda e: ((e**2).sum() ** 0.5) / len(e))
    return pd.concat([table.reset_index(), means.assign(kind="all").reset_index()])


def count_true(rows):
    """Share of what is there that is among as many best places, and that is kept at nominal 1."""
    rows = rows[rows["search"].str.startswith(("present", "copies"))]
    rows = rows.assign(refused=rows["refused"].astype(float))
    table = rows.groupby(["search", "measure", "kind"], sort=False).agg(
        trials=("planted", "size"),
        planted=("planted", "sum"),
        best=("best", "sum"),
        kept=("kept at 1", "sum"),
        refused=("refused", "mean"),
    )
    table["best"] /= table["planted"]
    table["kept"] /= table["planted"]
    return ordered(with_means(table.drop(columns="planted"), ["search", "measure"]))


def quartiles_of_thresholds(rows):
    """Of the scores up to which one false match is to be expected, by measure and side."""
    scores = rows[rows["search"] == "threshold"].groupby(["measure", "side"])["score"]
    table = scores.quantile([0.25, 0.5, 0.75]).unstack().add_prefix("q")
    return ordered(table.reset_index().rename_axis(columns=None))


def judge_fixed(rows):
    """What a fixed threshold of "nuv" does: shares of images it invents and keeps a match in."""
    rows = rows[rows["measure"] == "nuv"]
    absent, present = (rows[rows["search"] == name] for name in ("absent", "present"))
    tables = []
    for threshold in FIXED:
        invented = absent["score"] <= threshold
        kept = (present["score"] <= threshold) & (present["best"] == 1)
        by_kind = {"invented": invented.groupby(absent["kind"], sort=False).mean()}
        by_kind["kept"] = kept.groupby(present["kind"], sort=False).mean()
        tables.append(pd.DataFrame(by_kind).assign(threshold=threshold).reset_index())
    return pd.concat(tables, ignore_index=True)


def decide(rows, by=()):
    """Share of icons of which it is decided rightly whether they are there, by what is claimed.

    `best` is the share of icons that are there whose best place is right.
    """
    tables = []
    for claim in CLAIMS:
        claimed = rows["false_alarms"] <= claim
        right = (claimed & (rows["best"] == 1)).where(rows["case"] == "there", ~claimed)
        tables.append(rows.assign(claim=claim, decided=right.astype(float)))
    keys = ["way", *by, "measure"]
    shares = pd.concat(tables).pivot_table("decided", [*keys, "claim"], "case", sort=False)
    of_all = rows.astype({"refused": float}).groupby(keys)
    there = rows[rows["case"] == "there"].groupby(keys)
    shares["best"] = there["best"].mean().reindex(shares.index.droplevel("claim")).to_numpy()
    shares["refused"] = of_all["refused"].mean().reindex(shares.index.droplevel("claim")).to_numpy()
    shares["both"] = (shares["there"] + shares["absent"]) / 2
    return shares.reset_index().rename_axis(columns=None)
