"""Normalised unexplained variance: what a tone model of the template leaves open of a window."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binning
from ..binning import Binning
from ..engine.images import Image, unit_scale
from ..engine.slices import Slices
from ..engine.sums import TileSums, for_each_tile
from ..tones import bases
from ..tones.bases import Basis
from ..tones.models import FewCurves, Monotone, PiecewiseConstant, Place, refuse_gains
from .template import Template

# Slices for each bin, where curves are straight between the bins' edges, and where they are
# chosen from several. More slices take more time; with these "nuv_adaptive" finds .004 more
# of the photographs below than with one for each bin, with twice as many .005.
_FINER_LINEAR = 4
_FINER_ADAPTIVE = 1.5

# Principal curves are taken until they explain this share of the expected tones.
_ENOUGH = 0.99

# What a curve costs: by which power of e it raises the score. Windows of images are no white
# noise, for which log(d) / d would do. On photographs that the table of `benchmarks.detection`
# is not made of, .12 and .16 find most (--tune).
_PRICE = 0.16
_MOST_CURVES = 6


@dataclass(frozen=True)
class Tuning:
    """What may be asked of a tone model beyond its name; see `Matcher`."""

    n_curves: int | None = None
    polarity: str | None = None
    gain: tuple[float, float] | None = None
    adjusted: bool = False

    @property
    def gains(self) -> tuple[float, float]:
        """Limits of the gain, that of the polarity among them."""
        low, high = self.gain or (-math.inf, math.inf)
        if self.polarity == "increasing":
            low = max(low, math.ulp(0.0))
        if self.polarity == "decreasing":
            high = min(high, -math.ulp(0.0))
        return low, high


class NUV:
    """Share of a window's variance that a tone model does not explain, in [0, 1].

    Windows with a gain beyond the limits, if there are any, give no evidence. `adjusted`:
    all scores are divided by their mean for noise.
    """

    def __init__(
        self, template: Template, slices: Slices, model: PiecewiseConstant, tuning: Tuning
    ) -> None:
        self.slices = slices
        self.model = model
        self.limited = tuning.gains != (-math.inf, math.inf)
        self._gains = tuning.gains
        unit = unit_scale(float(abs(template.inside).max()))  # so that no square overflows
        levels = self.slice_means(template.inside * unit)
        self.levels = levels / unit  # mean of each slice, in the template's greys less its base
        if self.limited:
            weights = model.deviations(levels)
            with np.errstate(over="ignore"):
                self._slopes = weights / slices.counts / (weights**2 / slices.counts).sum() * unit
            if not np.isfinite(self._slopes).all():
                raise ValueError(
                    "gain and polarity need a template with more contrast: its greys are "
                    f"{np.ptp(self.levels):g} apart, so that gains leave the range of floats"
                )
        self._unit = 1.0
        if tuning.adjusted:
            free = slices.channels * (slices.pixels - 1)
            self._unit = (free - model.freedom) / free

    def slice_means(self, greys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of each slice, of greys (channels, pixels that count)."""
        inside = self.slices.labels[:, self.slices.mask]
        sums = [np.bincount(labels, own) for labels, own in zip(inside, greys, strict=True)]
        return np.asarray(np.concatenate(sums) / self.slices.counts)

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map."""
        counts, channel = self.slices.counts, self.slices.channel

        def score(part: TileSums) -> None:
            place = Place(nothing, out, part.tile.top, part.tile.left, part.tile.shape[1])
            self.model.score(part.sums, part.totals, part.scatter, place)
            if self.limited:
                refuse_gains(
                    part.sums, part.totals, counts, channel, *place,
                    self._slopes, part.units(), *self._gains,
                )  # fmt: skip

        for_each_tile(image, self.slices, score, out.dtype, out.shape, n_threads)
        if self._unit != 1:
            out /= self._unit


def piecewise_constant(template: Template, tuning: Tuning) -> NUV:
    """Let each bin have any grey: the paper's measure."""
    slices = Slices(template.labels)
    return NUV(template, slices, PiecewiseConstant(slices.counts, slices.channel), tuning)


def monotone(template: Template, tuning: Tuning) -> NUV:
    """Let greys rise from bin to bin, or fall."""
    slices = Slices(template.labels)
    rising, falling = tuning.polarity != "decreasing", tuning.polarity != "increasing"
    model = Monotone(slices.counts, slices.channel, rising, falling)
    return NUV(template, slices, model, tuning)


def piecewise_linear(template: Template, tuning: Tuning) -> NUV:
    """Let tone curves be continuous, and straight between the bins' edges."""
    fine = template.finer(_FINER_LINEAR, "kmeans")
    own = [
        bases.piecewise_linear(levels, cut.counts, coarse.edges)
        for levels, cut, coarse in zip(template.means(fine), fine, template.cuts, strict=True)
    ]
    return _few_curves(template, tuning, fine, own)


def principal_curves(template: Template, tuning: Tuning) -> NUV:
    """Let tone curves be sums of the principal curves of the expected ones."""
    own = []
    for c in range(len(template.cuts)):
        basis, shares = _principal(template, c, template.cuts[c])
        enough = int(np.searchsorted(np.cumsum(shares), _ENOUGH)) + 1
        own.append(basis[: tuning.n_curves or enough])
    return _few_curves(template, tuning, template.cuts, own)


def adaptive(template: Template, tuning: Tuning) -> NUV:
    """Let them be sums of as few of these as it takes, each at a price."""
    most = tuning.n_curves or _MOST_CURVES
    fine: Sequence[Binning] = template.cuts
    if template.binner is not None:  # edges that were given stay what they are
        best = template.binner in ("optimal", "greedy", "kmeans")
        fine = template.finer(_FINER_ADAPTIVE, template.binner if best else "kmeans")
    own = [_principal(template, c, cut)[0][:most] for c, cut in enumerate(fine)]
    return _few_curves(template, tuning, fine, own, _PRICE)


def _few_curves(
    template: Template,
    tuning: Tuning,
    cuts: Sequence[Binning],
    own: Sequence[Basis],
    price: float = 0.0,
) -> NUV:
    slices = Slices(template.spread(cuts))
    model = FewCurves.of(slices.counts, slices.channel, own, price)
    if model.freedom >= slices.channels * (slices.pixels - 1):
        raise ValueError(
            f"{len(model.curves)} curves for {slices.pixels} pixels: every window would match; "
            "ask for fewer bins or curves, or for a larger template"
        )
    return NUV(template, slices, model, tuning)


def _principal(template: Template, c: int, cut: Binning) -> tuple[Basis, NDArray[np.float64]]:
    """Find the principal curves over the slices of a channel, and the share of each."""
    values = binning.group_values(template.inside[c])
    levels, firsts, counts = np.unique(values, return_index=True, return_counts=True)
    curves = template.sample_curves(values) or binning.Curves(levels[None])
    return bases.principal(curves, cut.labels[firsts], counts)
