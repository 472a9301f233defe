"""Results as pictures, plots and pages: it reads them, and makes none."""

from .comparison import plot_location_roc, plot_rates, write_comparison
from .overlay import LABELS, draw_matches
from .plots import (
    CHARTS,
    plot_bins,
    plot_matches,
    plot_measures,
    plot_presence,
    plot_roc,
    plot_score_map,
    plot_shifts,
    plot_slices,
    plot_tone_curves,
    write_chart,
)
from .report import PAGES, check_report, report

__all__ = [
    "CHARTS",
    "LABELS",
    "PAGES",
    "check_report",
    "draw_matches",
    "plot_bins",
    "plot_location_roc",
    "plot_matches",
    "plot_measures",
    "plot_presence",
    "plot_rates",
    "plot_roc",
    "plot_score_map",
    "plot_shifts",
    "plot_slices",
    "plot_tone_curves",
    "report",
    "write_chart",
    "write_comparison",
]
