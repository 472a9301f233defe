"""Figures of the detection table."""

import numpy as np
from matplotlib.figure import Figure

from .experiment import CELLS, MEASURES


def draw(tables):
    return {"rates": draw_rates(tables["cells"]), "means": draw_means(tables["measures"])}


def draw_rates(table):
    """Location rate of every measure in every cell, as a chequered board."""
    rates = table.pivot(index="cell", columns="measure", values="rate")
    rates = rates.reindex(index=list(CELLS), columns=list(MEASURES))
    figure = Figure(figsize=(11, 10), layout="constrained")
    ax = figure.subplots()
    board = ax.imshow(rates, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    for (y, x), rate in np.ndenumerate(rates.to_numpy()):
        if np.isfinite(rate):
            colour = "black" if rate > 0.6 else "white"
            ax.text(x, y, f"{rate:.2f}", ha="center", va="center", color=colour, fontsize=7)
    ax.set_xticks(range(len(rates.columns)), rates.columns, rotation=60, ha="right", fontsize=8)
    ax.set_yticks(range(len(rates.index)), rates.index, fontsize=8)
    figure.colorbar(board, ax=ax, label="location rate", shrink=0.5)
    return figure


def draw_means(table):
    """Mean location rate against the time of a map."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    for row in table.itertuples():
        ax.plot(row.ms, row.all, "o")
        ax.annotate(
            row.measure, (row.ms, row.all), xytext=(4, 3), textcoords="offset points", fontsize=7
        )
    ax.set_xscale("log")
    ax.set_xlim(table["ms"].min() / 1.2, table["ms"].max() * 2.5)  # room for the names
    ax.set_xlabel("median time of a map, one thread [ms]")
    ax.set_ylabel("mean location rate over cells")
    ax.grid(alpha=0.3)
    return figure
