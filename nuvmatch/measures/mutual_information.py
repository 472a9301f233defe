"""Mutual information from the joint histogram of template bins and image bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._jit import jit
from ..engine import Counts, Image, Programs, Shape, Slices, for_each_count
from .base import Scorer
from .bins import Binned, Cuts, report, spread
from .image_bins import bin_image, check_image_bins
from .template import Template

# Two pixels in one bin but not in one slice leave open 2 log 2: what is less is rounding.
_LEAST_OPEN = 1.0

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
        n_log_n[1:] *= np.log(n_log_n[1:])
        self._n_log_n = n_log_n
        self._label_terms = [n_log_n[cut.counts].sum() for cut in cuts.binnings]
        self._label_entropy = sum(n_log_n[-1] - terms for terms in self._label_terms)

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        bins = bin_image(image, self._measure.value_range, self._image_bins)
        for_each_count(
            image, bins, self._image_bins, self._mask, self._slices, self._score, out, n_threads
        )

    def _score(self, shape: Shape, counts_of: Callable[[int], Counts]) -> NDArray[np.float64]:
        """Add up what each channel leaves open of the other image: ``1 - I / H = (H - I) / H``."""
        template, window = _WEIGHTS[self._measure.normalize]
        left_open, window_entropy = np.zeros((2, *shape))
        for c, of_template in enumerate(self._label_terms):
            joint, of_image = np.zeros((2, *shape))
            for counts in counts_of(c):
                add_terms(counts, self._n_log_n, joint, of_image)
            left_open += template * (of_image - joint) + window * (of_template - joint)
            window_entropy += self._n_log_n[-1] - of_image  # exactly 0 if all are in one bin
        left_open[left_open < _LEAST_OPEN] = 0
        entropy = template * self._label_entropy + window * window_entropy
        scores = np.full(shape, np.nan)
        np.divide(left_open, entropy, out=scores, where=window_entropy > 0)
        np.minimum(scores, 1, out=scores)
        return scores


@jit
def add_terms(
    counts: NDArray[np.int32],
    n_log_n: NDArray[np.float64],
    joint: NDArray[np.float64],
    of_image: NDArray[np.float64],
) -> None:
    """Add ``n log n`` of one row of each window's joint histogram, and of its sum.

    Parameters
    ----------
    counts : ndarray of shape (slices, rows, columns)
        How many pixels of each slice fall into one bin of the image.
    n_log_n : ndarray of shape (pixels + 1,)
    joint, of_image : ndarray of shape (rows, columns)
        Are added to.

    Plain twin: ``naive.mutual_information_map``.
    """
    slices, rows, columns = counts.shape
    total = np.empty(columns, np.uint32)
    for y in range(rows):
        terms, of_bin = joint[y], of_image[y]
        for x in range(columns):
            total[x] = 0
        for k in range(slices):
            of_slice = counts[k, y]
            for x in range(columns):
                count = np.uint32(of_slice[x])  # without a sign, no index wraps around
                terms[x] += n_log_n[count]
                total[x] += count
        for x in range(columns):
            of_bin[x] += n_log_n[total[x]]
