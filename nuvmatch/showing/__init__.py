"""Pictures of results: it reads them, and makes none."""

from .plots import CHARTS, draw_bins, draw_matches, write_chart

__all__ = ["CHARTS", "draw_bins", "draw_matches", "write_chart"]
