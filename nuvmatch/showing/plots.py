"""Plots of results by matplotlib: each draws into the Axes given, or its own, and returns it."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_greys, as_planes, one_of
from ..binning import Binning
from ..io import write_whole
from ..results import Match, ToneCurve
from .overlay import LABELS, label_of
from .pixels import as_matches, as_picture, outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHARTS = (".png", ".svg")

_BOX = "#ff3c00"
_SHIFT = ("col", "row", "shift_col", "shift_row", "outlier")
_CHANNELS = ("tab:red", "tab:green", "tab:blue")


def plot_score_map(
    score_map: ArrayLike, matches: Sequence[Match] = (), *, ax: Axes | None = None
) -> Axes:
    """Show a score map in colours, with a colour bar, and a cross where each match is.

    Parameters
    ----------
    score_map : array_like of shape (H - h + 1, W - w + 1)
        What is NaN stays blank.
    matches : Matches, optional
        Of the same map.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax)
    shown = ax.imshow(as_greys(score_map, "score_map"), cmap="viridis")
    cast("Figure", ax.get_figure()).colorbar(shown, ax=ax, label="score (0 is perfect)")
    cols, rows = [m.col for m in matches], [m.row for m in matches]
    ax.plot(cols, rows, "+", color=_BOX, markersize=10, markeredgewidth=2)
    ax.set(xlabel="column", ylabel="row")
    return ax


def plot_matches(
    image: ArrayLike, matches: Sequence[Match], *, labels: str = "number", ax: Axes | None = None
) -> Axes:
    """Show an image with the outlines of matches, turned as these are.

    Parameters
    ----------
    image : array_like of shape (H, W), (H, W, 3), or with an alpha channel
    matches : Matches
    labels : {"number", "score", "none"}
        As for `draw_matches`; they stand at the template's top left.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    one_of(labels, "labels", LABELS)
    ax = new_axes(ax)
    ax.imshow(as_picture(image, "image"), cmap="gray", vmin=0, vmax=255)
    for number, match in reversed(list(enumerate(as_matches(matches), 1))):
        corners = outline(match) - 0.5  # pixels have their centers at whole numbers
        ax.fill(*corners.T, fill=False, edgecolor=_BOX, linewidth=1.5)
        text = label_of(number, match, labels).encode(errors="replace").decode()
        if text:
            plate = {"boxstyle": "square,pad=0.1", "facecolor": "black", "edgecolor": "none"}
            x, y = corners[0]
            ax.text(
                x, y, text, color="white", fontsize=8, va="bottom", bbox=plate, parse_math=False
            )
    ax.set_axis_off()
    return ax


def plot_bins(template: ArrayLike, bins: Sequence[Binning], *, ax: Axes | None = None) -> Axes:
    """Draw the histogram of a template's greys with the cuts between its bins.

    Parameters
    ----------
    template : array_like
        As it was given to the matcher.
    bins : sequence of Binning
        A matcher's `bins`, one for each channel.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Of colours one histogram for each channel, in its colour.

    Raises
    ------
    ValueError
        If there are no bins, as of a matcher by "ncc", or not as many as channels, or of a
        template of another shape.
    """
    planes = _binned(template, bins)
    ax = new_axes(ax)
    for plane, cut, colour in zip(planes, bins, _CHANNELS, strict=False):
        single = len(planes) == 1
        greys = plane[cut.labels >= 0].astype(np.float64)
        ax.hist(
            greys,
            bins=min(256, np.unique(greys).size),
            color="0.6" if single else colour,
            alpha=1 if single else 0.4,
        )
        for edge in cut.edges[1:-1]:
            ax.axvline(edge, color=colour, linewidth=1)
    ax.set(xlabel="grey level", ylabel="pixels")
    ax.margins(x=0.01)
    return ax


def plot_slices(template: ArrayLike, bins: Sequence[Binning], *, ax: Axes | None = None) -> Axes:
    """Show which pixels of a template are one slice: each has its slice's mean grey.

    Parameters
    ----------
    template : array_like
        As it was given to the matcher.
    bins : sequence of Binning
        A matcher's `bins`, one for each channel.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        As for `plot_bins`.
    """
    planes = _binned(template, bins)
    means = np.full(planes.shape, np.nan)
    for plane, cut, shown in zip(planes, bins, means, strict=True):
        for label in range(len(cut.counts)):
            shown[cut.labels == label] = plane[cut.labels == label].mean(dtype=np.float64)
    ax = new_axes(ax)
    ax.imshow(as_picture(np.dstack(list(means)), "template"), cmap="gray", vmin=0, vmax=255)
    ax.set_axis_off()
    return ax


def plot_tone_curves(
    curves: Sequence[ToneCurve],
    template: ArrayLike | None = None,
    window: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the tone curves of a match, one for each channel.

    Parameters
    ----------
    curves : sequence of ToneCurve
        A match's `tone_curves`, or what `Matcher.tone_curve` returns.
    template, window : array_like of equal shape, optional
        Their greys are put below the curves, a point for each pixel.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If template and window are not of one shape, with a channel for each curve.
    """
    colours = ["black"] if len(curves) == 1 else _CHANNELS
    pairs = []
    if template is not None and window is not None:
        pairs = [as_planes(template, "template")[0], as_planes(window, "window")[0]]
        if pairs[0].shape != pairs[1].shape or len(pairs[0]) != len(curves):
            raise ValueError(
                f"there are {len(curves)} curves, a template of shape {pairs[0].shape[1:]} and "
                f"{len(pairs[0])} channels, and a window of shape {pairs[1].shape[1:]} and "
                f"{len(pairs[1])}; they must go together"
            )
    ax = new_axes(ax)
    for c, (curve, colour) in enumerate(zip(curves, colours, strict=False)):
        if pairs:
            x, y = (planes[c].ravel() for planes in pairs)
            ax.plot(x, y, ".", color="0.7" if len(curves) == 1 else colour, ms=2, alpha=0.3)
        ax.plot(curve.levels, curve.values, "o-", color=colour, markersize=4)
    ax.set(xlabel="grey of the template", ylabel="grey of the window")
    return ax


def plot_measures(
    score_maps: Mapping[str, ArrayLike],
    place: tuple[int, int] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw what several measures say of one image side by side: how far a place stands apart.

    Parameters
    ----------
    score_maps : dict of array_like
        A score map by the name of each measure. A box holds half of its scores, whiskers reach
        to the lowest and the highest.
    place : (int, int), optional
        Row and column of the window whose score is marked; by default the best of each map.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If `place` is no row and column of each map.
    """
    maps = [as_greys(scores, "score_map") for scores in score_maps.values()]
    known = [scores[np.isfinite(scores)] for scores in maps]
    marked = [
        scores.min(initial=np.inf) if place is None else _marked(whole, place, name)
        for scores, whole, name in zip(known, maps, score_maps, strict=True)
    ]
    ax = new_axes(ax)
    ax.boxplot(known, whis=(0, 100), medianprops={"color": "black"})
    ax.plot(range(1, len(maps) + 1), marked, "o", color=_BOX)
    ax.set_xticks(range(1, len(maps) + 1), list(score_maps), parse_math=False)
    ax.set_ylabel("score (0 is perfect)")
    return ax


def plot_roc(
    present: ArrayLike, absent: ArrayLike, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the receiver operating characteristic of scores: what is found, over what is mistaken.

    Parameters
    ----------
    present, absent : array_like
        Scores, or false alarms, where the template is, and where it is not: lower is better.
    label : str, optional
        For a legend, in front of the area under the curve.
    ax : matplotlib.axes.Axes, optional
        Several curves go into one.

    Returns
    -------
    matplotlib.axes.Axes
    """
    good, bad = _sorted(present, "present"), _sorted(absent, "absent")
    limits = np.unique(np.concatenate([good, bad]))
    found, mistaken = (
        np.concatenate([[0.0], np.searchsorted(scores, limits, "right") / scores.size])
        for scores in (good, bad)
    )
    area = np.trapezoid(found, mistaken)
    ax = new_axes(ax)
    ax.plot(mistaken, found, label=f"{'' if label is None else f'{label}: '}{area:.3f}")
    ax.set(xlabel="share of absent ones mistaken", ylabel="share of present ones found")
    add_legend(ax, loc="lower right", title="area under the curve")
    return ax


def plot_presence(
    present: ArrayLike,
    absent: Sequence[ArrayLike],
    *,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a limit on false alarms lets through: true matches, and false ones an image.

    Where the promise holds, false ones are no more than told: the dotted line.

    Parameters
    ----------
    present : array_like
        False alarms of the true places, one for each image with the template.
    absent : sequence of array_like
        False alarms of all matches in each image without it.
    label : str, optional
        For the legend.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Logarithmic.

    Raises
    ------
    ValueError
        If there are no images of either kind.
    """
    true = _sorted(present, "present")
    if not len(absent):
        raise ValueError("absent is empty; there must be one image at least")
    false = np.sort(np.concatenate([np.ravel(as_greys(one, "absent")) for one in absent]))
    told = np.logspace(-4, 2, 121)
    name = "" if label is None else f"{label}: "
    ax = new_axes(ax)
    (line,) = ax.plot(
        told, np.searchsorted(true, told, "right") / true.size, label=f"{name}share found"
    )
    seen = np.searchsorted(false, told, "right") / len(absent)
    ax.plot(told, seen, "--", color=line.get_color(), label=f"{name}false matches an image")
    ax.plot(told, told, ":", color="0.5")
    ax.set(xscale="log", yscale="log", xlabel="limit on false alarms", ylim=(0.5 / len(absent), 3))
    add_legend(ax, fontsize=8)
    return ax


def plot_shifts(
    shifts: NDArray[Any],
    image: ArrayLike | None = None,
    *,
    longer: float = 10.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a field of shifts as arrows, outliers in grey.

    Parameters
    ----------
    shifts : structured ndarray
        As the function `shifts` returns it.
    image : array_like of shape (H, W), (H, W, 3), or with an alpha channel, optional
        What is shown below.
    longer : float
        How many times as long as the shift an arrow is.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If `shifts` is without the fields of such.
    """
    names = getattr(getattr(shifts, "dtype", None), "names", None) or ()
    if missing := [name for name in _SHIFT if name not in names]:
        raise ValueError(
            f"shifts is an array without the fields {', '.join(missing)}; it must be what "
            "nuvmatch.shifts returns"
        )
    ax = new_axes(ax)
    if image is not None:
        ax.imshow(as_picture(image, "image"), cmap="gray", vmin=0, vmax=255)
    for outlier, colour in ((True, "0.6"), (False, "orange")):
        some = shifts[shifts["outlier"] == outlier]
        ax.quiver(
            *(some[name] for name in _SHIFT[:4]),
            color=colour, angles="xy", scale_units="xy", scale=1 / longer, width=0.004,
        )  # fmt: skip
    ax.set_aspect("equal")
    if image is None:  # rows go down, as in images
        ax.margins(0.1)
        ax.invert_yaxis()
    ax.set(xlabel="column", ylabel="row")
    return ax


def write_chart(path: str | os.PathLike[str], ax: Axes) -> None:
    """Write the figure of an Axes whole or not at all, as PNG or SVG by its suffix."""
    buffer = BytesIO()
    figure = cast("Figure", ax.get_figure())
    figure.savefig(buffer, format=Path(path).suffix[1:].lower(), dpi=150)
    write_whole(path, buffer.getvalue())


def new_axes(ax: Axes | None) -> Axes:
    """Return the Axes given, or one of a figure of its own that no window shows."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'nuvmatch[plot]'") from error
    return Figure(figsize=(7, 4), layout="constrained").subplots()


def add_legend(ax: Axes, **how: Any) -> None:
    """Say which line is which, by names as they are: "$" begins no formula, "_" hides none."""
    handles = ax.get_legend_handles_labels()[0]
    handles += [line for line in ax.lines if re.match("_(?!child[0-9]+$)", str(line.get_label()))]
    legend = ax.legend(handles, [" "] * len(handles), **how)  # some releases leave "_" out
    for text, handle in zip(legend.get_texts(), handles, strict=True):
        text.set(text=handle.get_label(), parse_math=False)


def _binned(template: ArrayLike, bins: Sequence[Binning]) -> NDArray[Any]:
    planes, _ = as_planes(template, "template")
    if len(bins) != len(planes):
        raise ValueError(f"there are bins for {len(bins)} channels; the template has {len(planes)}")
    if bins[0].labels.shape != planes.shape[1:]:
        raise ValueError(
            f"the bins are of a template of shape {bins[0].labels.shape}; this one has "
            f"{planes.shape[1:]}"
        )
    return planes


def _marked(score_map: NDArray[Any], place: tuple[int, int], name: str) -> Any:
    """Return the score at a place of a map, if there is one."""
    try:
        row, column = map(operator.index, place)
    except (TypeError, ValueError):
        raise TypeError(f"place is {place!r}; it must be (row, column)") from None
    ends = score_map.shape
    if len(ends) != 2 or not (0 <= row < ends[0] and 0 <= column < ends[1]):
        raise ValueError(
            f"place is {(row, column)}; it must be within the score map of {name!r}, of "
            f"shape {ends}"
        )
    return score_map[row, column]


def _sorted(scores: ArrayLike, name: str) -> NDArray[Any]:
    found = np.sort(np.ravel(as_greys(scores, name)))
    if not found.size:
        raise ValueError(f"{name} is empty; there must be one score at least")
    return found
