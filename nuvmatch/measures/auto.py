"""A measure that nobody has to choose: several, joined by what chance shows in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..engine import Image
from ..finding import Chance
from ..results import ToneCurve
from .bands import Bands
from .base import Measure, Scorer, ask_all, scorer_of
from .joining import AGREE
from .mutual_information import MI
from .named import as_measure, name_of
from .ncc import NCC
from .nuv import AdaptiveNUV
from .panel import SHARE, Panel
from .template import Template
from .window_to_pattern import WindowToPattern

_BINS, _LEAST_PIXELS = 16, 4


def _panel(bins: int) -> tuple[Measure, ...]:
    """Measures whose errors differ, chosen by other trials than tables are made of.

    The last three are of the same joint histograms, which are counted once.
    """
    binned: dict[str, Any] = {"bins": bins, "binning": "equal_width"}
    return (
        NCC(squared=True),
        AdaptiveNUV(),
        MI(**binned, normalize="both"),
        MI(**binned, normalize="window"),
        WindowToPattern(bins=bins, binned=True),
    )


@dataclass(frozen=True, init=False, repr=False)
class Auto:
    """Several measures at once: the two that believe most in a place speak for it.

    Each tells the number of false alarms of a window by its own decoys, the template's mirror
    images. The mean of the two lowest logarithms is compared with that of the decoys, each told by
    the other ones, which gives `nuvmatch.Match.false_alarms`: one that believes alone is heard,
    but counts half. Matches are ordered by it, and say which two spoke. Scores are the chance of
    one false match or more, ``1 - exp(-false_alarms)`` where one template is sought, and depend
    on the whole image that is searched. By name: "auto".

    Measures that cannot decide in an image are left out. Where none can, matches are ordered by
    "ncc", and false alarms are infinite.

    Parameters
    ----------
    *measures : Measure or str
        Two or more, all different. None: NCC², `AdaptiveNUV`, and by 16 bins of equal width `MI`,
        with normalize="both" and with "window", and `WindowToPattern` with binned=True.

    Raises
    ------
    ValueError
        If there is but one, one is given twice, or one is "auto" itself.
    """

    measures: tuple[Measure, ...]

    def __init__(self, *measures: Measure | str) -> None:
        parts = tuple(as_measure(measure) for measure in measures) or _panel(_BINS)
        if any(part in parts[:i] for i, part in enumerate(parts)):
            raise ValueError(f"Auto takes each measure once; it was given {measures}")
        if len(parts) < AGREE:
            raise ValueError(f"Auto takes two measures or more, or none; it was given {measures}")
        if any(isinstance(part, Auto) for part in parts):
            raise ValueError("Auto joins measures, and is none of these itself")
        object.__setattr__(self, "measures", parts)

    def __repr__(self) -> str:
        return f"Auto({', '.join(map(repr, self.measures))})"

    def __str__(self) -> str:
        return f"Auto({', '.join(map(str, self.measures))})"

    def prepare(self, template: Template) -> AutoScorer:
        """Make all of them ready: by default with fewer bins where there are few pixels."""
        if template.pixels < _LEAST_PIXELS:
            raise ValueError(
                f"{template.pixels} pixels of the template count; for Auto it takes "
                f"{_LEAST_PIXELS} or more"
            )
        bins = min(_BINS, (template.pixels + 1) // 2)
        measures = _panel(bins) if self.measures == _panel(_BINS) else self.measures
        return AutoScorer(measures, template, name_of(self))


class AutoScorer(Scorer):
    """A panel of measures made ready for one template.

    Attributes
    ----------
    panel : Panel
        What learns from an image what chance shows.
    """

    def __init__(self, measures: tuple[Measure, ...], template: Template, name: str) -> None:
        scorers = [scorer_of(measure, template) for measure in measures]
        self.panel = Panel(measures, scorers, template, name)
        self.bins = next(filter(None, (getattr(one, "bins", ()) for one in scorers)), ())

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map by what chance shows in this image."""
        bands = Bands(self.panel.scorers, image, self.panel.shape, out.dtype, n_threads)
        null = self.panel.learn([bands], SHARE)
        joined = self.panel.map_by(null, bands)
        chance = Chance(null, joined.windows)
        for first, band in joined:
            out[first : first + len(band)] = chance.scores(band)

    def tone_curve(self, window: NDArray[Any]) -> tuple[ToneCurve, ...] | None:
        """Return the tone curve by the first measure that has one."""
        curves: tuple[ToneCurve, ...] | None = ask_all(self.panel.scorers, "tone_curve", window)
        return curves

    def gain(self, window: NDArray[Any]) -> float | None:
        """Return the gain by the first measure that has one."""
        gain: float | None = ask_all(self.panel.scorers, "gain", window)
        return gain
