"""Mutual information from the joint histogram of template bins and image bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from ..engine import JointSums, SumUp, Terms
from .bins import Binned, Cuts
from .counting import CountingScorer
from .template import Template

# Two pixels in one bin but not in one slice leave open 2 bits: what is less is rounding.
_LEAST_OPEN = 1.0

# Bits by which sums in single precision may be wrong, a pixel of each channel; and by how much
# a score may.
_ERROR, _TOLERANCE = 2e-7, 1e-6

# By `normalize`: how often the entropies of template and window count.
_WEIGHTS = {"template": (1, 0), "window": (0, 1), "both": (1, 1)}


@dataclass(frozen=True, kw_only=True, repr=False)
class MI(Binned):
    """``1 - I / H`` in [0, 1], H of the template's bins, of the window's, or their mean.

    I and H are of histograms: the template's greys are cut as for `NUV`, and the window's
    fall into as many bins of equal width. Colours are pooled: I and H are summed over the
    channels. By name: "mi", and "nmi" with normalize="window". A window whose pixels are all
    in one bin, in each channel, gives no evidence.

    Parameters
    ----------
    bins, binning, tones, levels_range
        As for `NUV`.
    value_range : (float, float), optional
        Greys between which the *image* is binned; those beyond fall in the last bins. None:
        the lowest and highest grey of the whole image given, also under a region, outliers
        apart: at either end at most one pixel in 100, and no more than a square image has
        along a side, that are farther from all others than half the range of these.
    normalize : {"template", "window", "both"}
        Whose entropy to divide by. The template's leaves the order of I as it is; the
        window's is the paper's nMI; with the mean of both it is the symmetric uncertainty,
        ``1 - 2 I / (H(t) + H(w))`` (Press et al., *Numerical Recipes*, 14.7.4), which orders as
        Studholme's normalised mutual information does (*Pattern Recognition* 32, 1999).
    """

    value_range: tuple[float, float] | None = None
    normalize: str = "template"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(normalize=_checks.one_of(self.normalize, "normalize", tuple(_WEIGHTS)))
        if self.value_range is not None:
            self._set(value_range=_checks.as_range(self.value_range, "value_range"))

    def prepare(self, template: Template) -> MIScorer:
        """Cut the template into bins."""
        return MIScorer(self.cut(template), self)


class MIScorer(CountingScorer):
    """Mutual information with one template."""

    def __init__(self, cuts: Cuts, measure: MI) -> None:
        super().__init__(cuts, measure.value_range)
        pixels, channels = cuts.template.pixels, len(cuts.binnings)
        n_log_n = np.arange(pixels + 1.0)
        n_log_n[1:] *= np.log2(n_log_n[1:])
        self._n_log_n = n_log_n
        label_terms = np.array([n_log_n[cut.counts].sum() for cut in cuts.binnings])
        self._label_terms = label_terms[:, None, None]
        self._label_entropy = (n_log_n[-1] - label_terms).sum()
        self._error = _ERROR * channels * pixels
        self._template_weight, self._window_weight = _WEIGHTS[measure.normalize]
        # Windows' own entropies may be as small as they like.
        self._to_be_exact = _TOLERANCE * self._template_weight * self._label_entropy < self._error

    def terms(self, dtype: np.dtype[Any]) -> Terms:
        """Sum in single precision where that is enough."""
        exact = self._to_be_exact or dtype == np.float64
        return Terms(self._n_log_n if exact else np.empty(0), ())

    def score(self, sums: JointSums, sum_up: SumUp | None) -> NDArray[np.float64]:
        """Score by these sums; but whether a match is perfect takes all digits."""
        scores, left_open = self._scores(sums)
        near = (left_open < _LEAST_OPEN + self._error) & ~np.isnan(scores)
        if sum_up is not None and near.any():
            exact = self._scores(sum_up(Terms(self._n_log_n, ())))[0]
            np.copyto(scores, exact, where=near)
        return scores

    def _scores(self, sums: JointSums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Add up what each channel leaves open of the other image: ``1 - I / H = (H - I) / H``.

        It is returned with the scores.
        """
        of_template, of_window = self._label_terms - sums.joint, sums.of_image - sums.joint
        left_open = (self._template_weight * of_window + self._window_weight * of_template).sum(
            axis=0
        )
        left_open[left_open < _LEAST_OPEN] = 0
        window_entropy = (self._n_log_n[-1] - sums.of_image).sum(axis=0)
        entropy = self._template_weight * self._label_entropy + self._window_weight * window_entropy
        flat = (sums.largest == self._n_log_n.size - 1).all(axis=0)
        scores = np.full(left_open.shape, np.nan)
        np.divide(left_open, entropy, out=scores, where=~flat)
        np.minimum(scores, 1, out=scores)
        return scores, left_open
