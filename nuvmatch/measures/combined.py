"""Several measures at once, window by window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..engine import Image
from ..results import ToneCurve
from .auto import Auto
from .base import Measure, Scorer, ask_all, scorer_of
from .named import as_measure
from .template import Template


@dataclass(frozen=True, init=False, repr=False)
class Combined:
    """One score of several; no evidence where one of them has none."""

    _choose: ClassVar[np.ufunc]
    measures: tuple[Measure, ...]

    def __init__(self, *measures: Measure | str) -> None:
        if len(measures) < 2:
            raise ValueError(
                f"{type(self).__name__} takes two measures or more; it was given {len(measures)}"
            )
        parts = tuple(as_measure(measure) for measure in measures)
        for part in parts:
            if isinstance(part, Auto):
                raise ValueError('the scores of "auto" do not compare with those of others')
            if getattr(part, "adjusted", False):
                raise ValueError(
                    f"{part} is adjusted; its scores do not compare with those of another measure"
                )
        object.__setattr__(self, "measures", parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.measures))})"

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.measures))})"

    def prepare(self, template: Template) -> CombinedScorer:
        """Make all of them ready."""
        return CombinedScorer([scorer_of(part, template) for part in self.measures], self._choose)


class Lowest(Combined):
    """The lowest of several scores: a window need only match by one of the measures.

    But what gives no evidence to one of them, as windows in one bin of the image give none to
    `MI` and `WindowToPattern`, or is refused by its limits, gives none at all.
    Bins and tone curves are those of the first measure that has them.

    Parameters
    ----------
    *measures : Measure or str
        Two or more, none of them adjusted.

    Raises
    ------
    ValueError
        If there are fewer, or one is adjusted, or "auto": then scores do not compare.
    """

    _choose = np.minimum


class Highest(Combined):
    """The highest of several scores: a window must match by each of the measures.

    ``Highest(NUV(), WindowToPattern())`` asks that each explains the other: a window that shows
    less than the template, as a bare edge or an icon without its badge does, is a function of the
    template's greys, but these are none of the window's. It tells what is there from what is not
    on screens and drawings. On photographs it costs: one grey of the template shows there as many
    (docs/presence.md, docs/detection.md).

    What gives no evidence to one of them, or is refused by its limits, gives none at all.
    Bins and tone curves are those of the first measure that has them.

    Parameters
    ----------
    *measures : Measure or str
        Two or more, none of them adjusted.

    Raises
    ------
    ValueError
        If there are fewer, or one is adjusted, or "auto": then scores do not compare.
    """

    _choose = np.maximum


class CombinedScorer(Scorer):
    """Several measures made ready for one template."""

    def __init__(self, scorers: list[Scorer], choose: np.ufunc) -> None:
        self._scorers = scorers
        self._choose = choose
        bins = (getattr(scorer, "bins", ()) for scorer in scorers)
        self.bins = next(filter(None, bins), ())

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        first, *others = self._scorers
        first.fill(image, out, n_threads)
        other = np.empty_like(out)
        for scorer in others:
            scorer.fill(image, other, n_threads)
            self._choose(out, other, out=out)  # NaN, no evidence, stays

    def tone_curve(self, window: NDArray[Any]) -> tuple[ToneCurve, ...] | None:
        """Return the tone curve by the first measure that has one."""
        curves: tuple[ToneCurve, ...] | None = ask_all(self._scorers, "tone_curve", window)
        return curves

    def gain(self, window: NDArray[Any]) -> float | None:
        """Return the gain by the first measure that has one."""
        gain: float | None = ask_all(self._scorers, "gain", window)
        return gain
