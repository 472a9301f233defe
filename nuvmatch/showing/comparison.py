"""How measures compare: rates with their intervals, curves, and a page of both."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import io
from .._version import __version__
from .plots import add_legend, new_axes
from .report import check_report, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-4  # share of wrong windows, from which on a curve is shown

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]


def plot_rates(table: Sequence[Mapping[str, Any]], *, ax: Axes | None = None) -> Axes:
    """Show how often each measure finds its template, with intervals.

    Parameters
    ----------
    table : sequence of dict
        As `nuvmatch.evaluation.Comparison.table` returns it.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax)
    places = np.arange(len(table))[::-1]
    rates = np.array([row["rate"] for row in table])
    reach = [
        [row["rate"] - row["low"] for row in table],
        [row["high"] - row["rate"] for row in table],
    ]
    ax.barh(places, rates, xerr=np.maximum(reach, 0), color="0.7", ecolor="0.2", capsize=3)
    ax.set_yticks(places, [row["measure"] for row in table], parse_math=False)
    ax.set(xlim=(0, 1), xlabel="share of templates that are found")
    return ax


def plot_location_roc(curves: Curves, *, ax: Axes | None = None) -> Axes:
    """Show how many right windows pass with how many wrong ones, by each measure.

    Parameters
    ----------
    curves : dict of (wrong, right)
        Shares by name, as `nuvmatch.evaluation.Comparison.roc` returns them.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax)
    for name, (wrong, right) in curves.items():
        shares = np.concatenate([[_LEAST], np.maximum(np.asarray(wrong, float), _LEAST)])
        ax.step(shares, np.concatenate([[0], np.asarray(right, float)]), where="post", label=name)
    ax.set(xscale="log", xlim=(_LEAST, 1), ylim=(0, 1.02))
    ax.set(xlabel="share of wrong windows that pass", ylabel="share of right ones")
    add_legend(ax)
    return ax


def write_comparison(
    path: str | os.PathLike[str],
    table: Sequence[Mapping[str, Any]],
    curves: Curves,
    *,
    title: str = "Measures compared",
    about: str = "",
) -> None:
    """Write a page with a table of measures, and both plots: one file, which needs no network.

    Parameters
    ----------
    path : str or path-like
        Ends in .html or .htm; written whole or not at all.
    table : sequence of dict
        As for `plot_rates`.
    curves : dict
        As for `plot_location_roc`.
    title : str
    about : str
        What was compared, in a sentence.

    Raises
    ------
    ImportError
        If jinja2 or matplotlib is not installed.
    OSError, ValueError
        If the file cannot be written.
    """
    check_report(path)
    page = render(
        "comparison.html.jinja",
        title=title,
        about=about,
        table=table,
        version=__version__,
        rates=_as_svg(plot_rates(table)),
        roc=_as_svg(plot_location_roc(curves)),
    )
    io.write_whole(path, page.encode(errors="replace"))


def _as_svg(ax: Axes) -> str:
    """Return a plot as an element of a page."""
    from matplotlib import rc_context

    text = StringIO()
    with rc_context({"svg.hashsalt": "nuvmatch", "svg.fonttype": "none"}):
        figure: Any = ax.get_figure()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
