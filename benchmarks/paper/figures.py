"""The paper's figures: predicted beside measured scores, and AUC by number of bins."""

import numpy as np
from matplotlib.figure import Figure

from .experiment import METHODS, RULES

PANELS = ("equal width", "k-means", "greedy", "optimal")
SELECTIONS = {"kept": "rows kept as published", "all": "all rows"}
PLACES = np.arange(len(RULES))
COLOURS = {"noise": "tab:gray", "distorted": "tab:blue"}


def draw(tables):
    """Make all figures, by name."""
    figures = {}
    for setting in ("general", "spherical"):
        figures[f"predictions-{setting}"] = draw_predictions(tables["predictions"], setting)
        figures[f"auc-{setting}"] = draw_auc(tables["rules"], setting)
    return figures


def draw_predictions(table, setting):
    """Means of scores, their standard deviations, and the means that the propositions expect."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, len(PANELS), sharey=True)
    table = table[(table["setting"] == setting) & (table["rows"] == "kept")]
    for ax, method in zip(axes, PANELS, strict=True):
        for window, colour in COLOURS.items():
            part = table[(table["method"] == method) & (table["window"] == window)]
            places = PLACES + (0.1 if window == "distorted" else -0.1)
            ax.errorbar(
                places, part["measured"], part["spread"], fmt="o", color=colour,
                markersize=4, capsize=3, label=f"{window}: measured, ± one deviation",
            )  # fmt: skip
            ax.plot(places, part["expected"], "x-", color=colour, linewidth=0.8,
                    label=f"{window}: predicted")  # fmt: skip
        ax.set_title(method)
        label_rules(ax)
    axes[0].set_ylabel("PWC nUV")
    axes[0].legend(fontsize=7, loc="lower left")
    return figure


def draw_auc(table, setting):
    """AUC of every method by number of bins, for both selections of rows."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, len(SELECTIONS), sharey=True)
    table = table[table["setting"] == setting]
    for ax, (selection, title) in zip(axes, SELECTIONS.items(), strict=True):
        for i, method in enumerate(METHODS):
            part = table[(table["rows"] == selection) & (table["method"] == method)]
            error = 1.96 * np.sqrt(part["auc"] * (1 - part["auc"]) / part["cases"])
            ax.errorbar(
                PLACES + 0.02 * (i - len(METHODS) / 2), part["auc"], error,
                marker="o", markersize=3, linewidth=1, color=f"C{i}", label=method,
                linestyle="--" if method in ("nMI", "NCC²") else "-",
            )  # fmt: skip
        ax.set_title(title)
        label_rules(ax)
    axes[0].set_ylabel("AUC")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    return figure


def label_rules(ax):
    ax.set_xticks(PLACES, RULES)
    ax.set_xlabel("bins")
    ax.grid(alpha=0.3)
