"""Mutual information from the joint histogram of template bins and image bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from ..engine import Image, JointSumsOf, Programs, Shape, Slices, for_each_joint_sum
from .base import Scorer
from .bins import Binned, Cuts, report, spread
from .image_bins import bin_image, check_image_bins
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


class MIScorer(Scorer):
    """Mutual information with one template."""

    def __init__(self, cuts: Cuts, measure: MI) -> None:
        check_image_bins(cuts.wanted)
        template = cuts.template
        labels = spread(template, cuts.binnings)
        self.bins = report(template, cuts.binnings, labels)
        self._image_bins = cuts.wanted
        self._measure = measure
        self._mask = Programs(Slices.of_mask(template.mask, len(labels)))
        self._slices = [Programs(Slices(plane[None])) for plane in labels]
        n_log_n = np.arange(template.pixels + 1.0)
        n_log_n[1:] *= np.log2(n_log_n[1:])
        self._n_log_n = n_log_n
        self._label_terms = [n_log_n[cut.counts].sum() for cut in cuts.binnings]
        self._label_entropy = sum(n_log_n[-1] - terms for terms in self._label_terms)
        self._error = _ERROR * len(labels) * template.pixels
        self._template, self._window = _WEIGHTS[measure.normalize]
        # Windows' own entropies may be as small as they like.
        self._to_be_exact = _TOLERANCE * self._template * self._label_entropy < self._error

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        bins = bin_image(image, self._measure.value_range, self._image_bins)
        exact = self._to_be_exact or out.dtype == np.float64
        score = self._score_exactly if exact else self._score
        for_each_joint_sum(
            image, bins, self._image_bins, self._mask, self._slices, score, out, n_threads
        )

    def _score(self, shape: Shape, sums_of: JointSumsOf) -> NDArray[np.float64]:
        """Score in single precision; but whether a match is perfect takes all digits."""
        scores, left_open = self._scores(shape, sums_of, np.empty(0))
        near = (left_open < _LEAST_OPEN + self._error) & ~np.isnan(scores)
        if near.any():
            np.copyto(scores, self._score_exactly(shape, sums_of), where=near)
        return scores

    def _score_exactly(self, shape: Shape, sums_of: JointSumsOf) -> NDArray[np.float64]:
        return self._scores(shape, sums_of, self._n_log_n)[0]

    def _scores(
        self, shape: Shape, sums_of: JointSumsOf, n_log_n: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Add up what each channel leaves open of the other image: ``1 - I / H = (H - I) / H``.

        It is returned with the scores.
        """
        left_open, window_entropy = np.zeros((2, *shape))
        flat = np.ones(shape, np.bool_)
        for c, of_template in enumerate(self._label_terms):
            joint, of_image, largest = sums_of(c, n_log_n)
            left_open += self._template * (of_image - joint) + self._window * (of_template - joint)
            window_entropy += self._n_log_n[-1] - of_image
            flat &= largest == self._n_log_n.size - 1
        left_open[left_open < _LEAST_OPEN] = 0
        entropy = self._template * self._label_entropy + self._window * window_entropy
        scores = np.full(shape, np.nan)
        np.divide(left_open, entropy, out=scores, where=~flat)
        np.minimum(scores, 1, out=scores)
        return scores, left_open
