"""Figures of the presence table."""

from matplotlib.figure import Figure

from ..kinds import KINDS
from .analysis import ORDER
from .experiment import NOMINAL


def draw(tables):
    return {"nominal": draw_nominal(tables["false"]), "kept": draw_kept(tables["true"])}


def draw_nominal(table):
    """False matches that are seen against those told, mean over kinds and of each."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, 4, sharex=True, sharey=True).ravel()
    table = table[table["search"] == "absent"].astype({"nominal": float})
    for ax, kind in zip(axes, ("all", *KINDS), strict=False):
        for measure in ORDER:
            one = table[(table["kind"] == kind) & (table["measure"] == measure)]
            one = one.sort_values("nominal")
            ax.plot(one["nominal"], one["false"].clip(lower=0.003), "o-", ms=3, label=measure)
        ax.plot(NOMINAL, NOMINAL, "k:", label="as told")
        ax.set(xscale="log", yscale="log", title="mean over kinds" if kind == "all" else kind)
        ax.grid(alpha=0.3)
    axes[-1].axis("off")
    axes[-1].legend(*axes[0].get_legend_handles_labels(), loc="center", frameon=False)
    figure.supxlabel("false alarms told")
    figure.supylabel("false matches seen, a search")
    return figure


def draw_kept(table):
    """How many of those at the best place are kept, by kind."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    ax = figure.subplots()
    table = table[table["search"] == "present"]
    width = 0.8 / len(ORDER)
    for k, measure in enumerate(ORDER):
        one = table[table["measure"] == measure].set_index("kind").reindex(["all", *KINDS])
        x = [i + (k - len(ORDER) / 2 + 0.5) * width for i in range(len(one))]
        ax.bar(x, one["kept"], width * 0.9, label=measure)
        ax.plot(x, one["best"], "_", color="black", ms=6)
    ax.set_xticks(range(len(KINDS) + 1), ["mean over kinds", *KINDS], fontsize=8)
    ax.set_ylabel("kept at 1 false alarm (bars),\nbest of its map (lines)")
    figure.legend(fontsize=8, ncols=len(ORDER), loc="outside upper center", frameon=False)
    return figure
