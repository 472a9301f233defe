"""Normalised unexplained variance: what a tone model of the template leaves open of a window."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from ..binning import Binning
from ..engine import (
    BestWindows,
    Image,
    Programs,
    Projections,
    Slices,
    Stopping,
    TileSums,
    for_each_tile,
    unit_scale,
)
from ..results import ToneCurve
from .base import Scorer
from .bins import Binned, Cuts, report, spread
from .models.constant import PiecewiseConstant
from .models.curves import FewCurves, piecewise_linear, principal
from .models.gain import Gain
from .models.monotone import MonotoneModel
from .template import Template, under
from .units import Greys, common_unit, unit_of

# Slices for each straight piece of a curve, and for each bin where curves are chosen from
# several. More of them take more time; fewer find less of the photographs that PENALTY is tuned
# on, since each has two pixels or more.
_FINER_LINEAR = 4
_FINER_ADAPTIVE = 2
_LEAST_PIECES = 4  # of curves that are straight in pieces, where slices are few

# Principal curves are taken until they explain this share of the expected tones.
_SHARE_EXPLAINED = 0.99

# What each curve but the first costs: log score + penalty * curves is least, as in BIC. Windows
# of images are no white noise, for which log(d) / d would do. On photographs that the table of
# `benchmarks.detection` is not made of, .12 and .16 find most (--tune). Over more pixels noise
# has less weight, and so has what it could feign.
PENALTY = 0.16
_PIXELS_OF_PENALTY = 1024

Model = tuple[Sequence[Binning], Slices, PiecewiseConstant]


@dataclass(frozen=True, kw_only=True, repr=False)
class ToneModel(Binned):
    """A measure by a tone model, and which windows it refuses; for its options see `NUV`."""

    polarity: str | None = None
    gain: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.polarity is not None:
            choices = ("increasing", "decreasing")
            self._set(polarity=_checks.one_of(self.polarity, "polarity", choices))
        if self.gain is not None:
            self._set(gain=_checks.as_range(self.gain, "gain", finite=False))
        low, high = self.gain_limits
        if not low <= high:
            raise ValueError(
                f"no gain between {self.gain} is {self.polarity}; every window would be refused"
            )

    @property
    def gain_limits(self) -> tuple[float, float]:
        """Limits of the gain, that of the polarity among them."""
        low, high = self.gain or (-math.inf, math.inf)
        if self.polarity == "increasing":
            low = max(low, math.ulp(0.0))
        if self.polarity == "decreasing":
            high = min(high, -math.ulp(0.0))
        return low, high

    def prepare(self, template: Template) -> NUVScorer:
        """Cut the template into slices, and make the tone model."""
        return NUVScorer(template, *self._model(self.cut(template)), self)

    def _model(self, cuts: Cuts) -> Model:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, repr=False)
class NUV(ToneModel):
    """PWC nUV: the share of a window's variance that the template's bins do not explain.

    ``(Q - sum_j s_j^2 / n_j) / (Q - S^2 / d)``, in [0, 1], s_j and n_j being the sum and the
    count of the window's greys in bin j, S and Q the sums of all d greys and squares (paper,
    section 2). Any change of tones is forgiven, inversion included, unless limits are set.
    By name: "nuv".

    Parameters
    ----------
    bins : int, str, sequence of float, or None
        How the template's greys are cut: a number of bins, never more than the template has
        levels, nor, of more than 256 levels, than the 128 groups of these that "optimal",
        "greedy" and "kmeans" put together; a rule ("sturges", "rice", "sqrt", "scott", "fd",
        "auto"; see `nuvmatch.binning.number_of_bins`); or bin edges that cover the template, for
        colour also three sequences of edges. None: 8 bins, or fewer where the template has fewer
        levels or less than twice as many pixels. Bins that a binner places hold two pixels
        or more, or an odd pixel of the image under one that holds a single pixel would explain
        itself; edges that are given, as those of ``matcher.bins``, are taken as they are.
    binning : {"optimal", "greedy", "kmeans", "equal_width", "equal_frequency"}
        Which binner of `nuvmatch.binning` places that many bins. "optimal" explains most
        of the expected tone curves, exactly.
    tones : Family or callable, optional
        The expected tone curves, for "optimal", "greedy", bins="auto", `CurvesNUV` and
        `AdaptiveNUV`: a family of `nuvmatch.tones`, or a function ``f(levels, rng)`` that
        returns a curve. None: the broad mixture `nuvmatch.tones.BROAD`.
    levels_range : (float, float), optional
        Which greys of the template are the tone levels 0 and 1. None: the range of uint8; of
        uint16 the 8, 10, 12, 14 or 16 bits that the template needs, low bits that are 0 in
        all of it left out; floats inside [0, 1] as they are; else its lowest and highest.
    polarity : {"increasing", "decreasing"}, optional
        Windows whose gain has the other sign give no evidence; `MonotoneNUV` fits curves
        of this kind only.
    gain : (float, float), optional
        Windows whose gain is not between these give no evidence: the slope of the straight
        line through window greys over template greys, both averaged in bins; of each colour
        that is not flat in the template. Either limit may be infinite. Of unlike types
        (uint8, uint16, floats in [0, 1]) greys are shares of white.
    adjusted : bool
        Divide scores by their mean for white noise, ``(d - b) / (d - 1)`` for b bins
        (Proposition 1; as an adjusted R² does): then that is 1 for all bins, masks and
        sizes. Scores may exceed 1.
    """

    adjusted: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(adjusted=_checks.as_flag(self.adjusted, "adjusted"))

    def _model(self, cuts: Cuts) -> Model:
        slices = Slices(spread(cuts.template, cuts.binnings))
        return cuts.binnings, slices, PiecewiseConstant(slices.counts, slices.channel_of_slice)


@dataclass(frozen=True, kw_only=True, repr=False)
class LinearNUV(NUV):
    """nUV by tone curves that are continuous, and straight in as many pieces as there are bins.

    It sums 4 slices for each bin, by k-means; pieces meet at every fourth of their edges.
    Edges that are given are those of the slices. By name: "nuv_linear".

    Parameters
    ----------
    bins, binning, tones, levels_range, polarity, gain, adjusted
        As for `NUV`.
    """

    def _model(self, cuts: Cuts) -> Model:
        fine: Sequence[Binning] = cuts.binnings
        if not self._edges_given:
            fine = cuts.finer(_FINER_LINEAR, "kmeans")
        slices, unit = Slices(spread(cuts.template, fine)), cuts.template.unit
        levels = slices.means(cuts.template.inside * unit)
        bases = [
            piecewise_linear(
                levels[slices.channel_of_slice == c], cut.counts, _knots(cut.edges) * unit
            )
            for c, cut in enumerate(fine)
        ]
        return fine, slices, _few_curves(slices, bases)


def _knots(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose the edges at which straight pieces meet."""
    slices = edges.size - 1
    pieces = min(slices, max(_LEAST_PIECES, math.ceil(slices / _FINER_LINEAR)))
    return np.asarray(edges[np.rint(np.linspace(0, slices, pieces + 1)).astype(int)])


@dataclass(frozen=True, kw_only=True, repr=False)
class MonotoneNUV(NUV):
    """nUV by greys that rise from bin to bin, or fall: the better of both.

    By name: "nuv_monotone".

    Parameters
    ----------
    bins, binning, tones, levels_range, polarity, gain, adjusted
        As for `NUV`.
    """

    def _model(self, cuts: Cuts) -> Model:
        binnings, slices, constant = super()._model(cuts)
        rising, falling = self.polarity != "decreasing", self.polarity != "increasing"
        return (
            binnings,
            slices,
            MonotoneModel(constant.counts, constant.channel_of_slice, rising, falling),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class CurvesNUV(NUV):
    """nUV by sums of the principal curves of the expected tones.

    By name: "nuv_curves".

    Parameters
    ----------
    bins, binning, tones, levels_range, polarity, gain, adjusted
        As for `NUV`.
    n_curves : int, optional
        How many curves. None: as many as explain 99 % of the expected tones.
    """

    n_curves: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_curves is not None:
            self._set(n_curves=_checks.as_integer(self.n_curves, "n_curves", 1))

    def _model(self, cuts: Cuts) -> Model:
        bases = []
        for c, cut in enumerate(cuts.binnings):
            basis, shares = _principal(cuts, c, cut)
            enough = int(np.searchsorted(np.cumsum(shares), _SHARE_EXPLAINED)) + 1
            bases.append(basis[: self.n_curves or enough])
        slices = Slices(spread(cuts.template, cuts.binnings))
        return cuts.binnings, slices, _few_curves(slices, bases)


@dataclass(frozen=True, kw_only=True, repr=False)
class AdaptiveNUV(ToneModel):
    """nUV by as few principal curves of the expected tones as are worth their penalty.

    The least over K of ``exp(0.16 (K - 1) min(1, 1024 / d))`` times the share that the first K
    curves leave open, in [0, 1], d being the template's pixels that count. It sums 2 slices
    for each bin; edges that are given are those of the slices. By name: "nuv_adaptive".

    Parameters
    ----------
    bins, binning, tones, levels_range, polarity, gain
        As for `NUV`.
    n_curves : int
        How many curves at most.
    """

    n_curves: int = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(n_curves=_checks.as_integer(self.n_curves, "n_curves", 1))

    def _model(self, cuts: Cuts) -> Model:
        fine: Sequence[Binning] = cuts.binnings
        if not self._edges_given:
            best = self.binning in ("optimal", "greedy", "kmeans")
            fine = cuts.finer(_FINER_ADAPTIVE, self.binning if best else "kmeans")
        bases = [_principal(cuts, c, cut)[0][: self.n_curves] for c, cut in enumerate(fine)]
        slices = Slices(spread(cuts.template, fine))
        penalty = PENALTY * min(1.0, _PIXELS_OF_PENALTY / slices.pixels)
        return fine, slices, _few_curves(slices, bases, penalty)


def _few_curves(
    slices: Slices, bases: Sequence[NDArray[np.float64]], penalty: float = 0.0
) -> FewCurves:
    model = FewCurves.of(slices.counts, slices.channel_of_slice, bases, penalty)
    if model.degrees_of_freedom >= slices.channels * (slices.pixels - 1):
        raise ValueError(
            f"{len(model.curves)} curves for {slices.pixels} pixels: every window would match; "
            "ask for fewer bins or curves, or for a larger template"
        )
    return model


def _principal(cuts: Cuts, c: int, cut: Binning) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find the principal curves over the slices of a channel, and the share of each."""
    return principal(*cuts.channels[c].curves_over(cut))


class NUVScorer(Scorer):
    """Share of a window's variance that a tone model of one template does not explain."""

    def __init__(
        self,
        template: Template,
        binnings: Sequence[Binning],
        slices: Slices,
        model: PiecewiseConstant,
        measure: ToneModel,
    ) -> None:
        self.bins = report(template, binnings, slices.labels)
        self.model = model
        self._template = template
        self._slices = slices
        self._programs = Programs(slices)
        levels = slices.means(template.inside * template.unit)
        self._levels = levels / template.unit
        self._gain = Gain.of(model, levels, template.unit)
        self._greys_of_template = Greys.of_template(template)
        self._gain_asked = measure.gain is not None
        self._limits = None
        if measure.gain_limits != (-math.inf, math.inf):
            self._limits = measure.gain_limits
            if not self._gain.usable:
                raise ValueError(
                    "gain and polarity need a template with more contrast: its greys are "
                    f"{np.ptp(self._levels):g} apart, so that gains leave the range of floats"
                )
        self._noise = 1.0
        if isinstance(measure, NUV) and measure.adjusted:
            free = slices.channels * (slices.pixels - 1)
            self._noise = (free - model.degrees_of_freedom) / free

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        exactly = image.in_steps(self._slices.mask.size, out.dtype)
        for_each_tile(
            exactly, self._programs, self._score_in(image), out, n_threads,
            projections=self._projections,
        )  # fmt: skip
        if self._noise != 1:
            out /= self._noise

    def lowest(
        self, image: Image, dtype: np.dtype[Any], near: float, n_threads: int
    ) -> BestWindows | None:
        """Find the windows that score no more than the best and `near` more, without a map."""
        exactly = image.in_steps(self._slices.mask.size, dtype)
        found = self._stopping.lowest(exactly, self._score_in(image), dtype, near, n_threads)
        if found is not None and self._noise != 1:
            found.scores[:] /= self._noise
        return found

    @cached_property
    def _projections(self) -> Projections | None:
        """What scores by curves without slice sums; limits of the gain need these."""
        if not isinstance(self.model, FewCurves) or self._limits is not None:
            return None
        return Projections(self._programs, self.model.curves, self.model.score_projections)

    @cached_property
    def _stopping(self) -> Stopping:
        return Stopping(self._programs)

    def _score_in(self, image: Image) -> Callable[[TileSums, NDArray[Any]], None]:
        return partial(self._score, 1.0 if self._limits is None else self._unit(image))

    def _score(self, unit: float, tile: TileSums, out: NDArray[Any]) -> None:
        scores = self.model.score(tile)
        if self._limits is not None:
            self._gain.refuse(tile, scores, self._limits, unit, out.dtype)
        out[tile.tile.place] = scores

    def _unit(self, image: Image) -> float:
        """By what greys of an image are to be multiplied for gains."""
        if self._gain_asked:
            return common_unit(image, self._greys_of_template, "gain")
        return unit_of(image, self._greys_of_template) or 1.0

    def tone_curve(self, window: NDArray[Any]) -> tuple[ToneCurve, ...]:
        """Mean level of each slice, and the grey that the model has for it in a window."""
        greys, unit, base = self._greys(window)
        scatter = float((greys.var(axis=1) * self._template.pixels).sum())
        values = self.model.fit(self._slices.means(greys), scatter) / unit + base
        levels = self._levels + self._template.base
        return tuple(
            ToneCurve(tuple(levels[own].tolist()), tuple(values[own].tolist()))
            for own in self.model.own
        )

    def gain(self, window: NDArray[Any]) -> float | None:
        """Slope of the straight line through window greys over template greys."""
        greys, unit, _ = self._greys(window)
        gain = self._gain.of_window(self._slices.means(greys)) / unit
        return gain if math.isfinite(gain) else None

    def _greys(self, window: NDArray[Any]) -> tuple[NDArray[np.float64], float, int]:
        """Greys of a window that count, less a base and times a unit: no sum overflows."""
        greys, base = _checks.as_floats(under(self._template.mask, window))
        unit = unit_scale(float(abs(greys).max()))
        return greys * unit, unit, base
