"""Mutual information from the joint histogram of template bins and image bins."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from ..engine.images import Image
from ..engine.slices import Slices
from ..engine.sums import tile_sums, tolerance
from ..engine.threads import Tile, run, tiles
from .template import Template

_TILE_WINDOWS = 8192
_MOST_IMAGE_BINS = 65536  # that labels of two bytes can tell apart


class MutualInformation:
    """``1 - I / H`` in [0, 1], H of the template's bins (order of MI) or the window's.

    The window's greys fall into bins of equal width over the value range. Colours are
    pooled: I and H are summed over the channels.
    """

    def __init__(self, template: Template, *, by: Literal["template", "window"]) -> None:
        if template.image_bins > _MOST_IMAGE_BINS:
            raise ValueError(
                f"bins is {template.image_bins}; the image's greys fall into at most "
                f"{_MOST_IMAGE_BINS} bins"
            )
        self._template = template
        self._by_window = by == "window"
        self._slices = Slices.whole(template.mask, len(template.cuts))
        label_bins = max(cut.counts.size for cut in template.cuts)
        cells = label_bins * template.image_bins
        # A cell of the joint histogram is label + label_bins * image bin. Pixels that do
        # not count go to as many cells again, which nobody reads.
        self._cell_type = np.uint16 if 2 * cells <= 65536 else np.int32
        labels = np.where(template.labels < 0, cells, template.labels)
        self._labels = labels.astype(self._cell_type)
        self._label_bins = label_bins
        n_log_n = np.arange(template.pixels + 1.0)
        n_log_n[1:] *= np.log(n_log_n[1:])
        self._n_log_n = n_log_n
        self._label_terms = np.array([n_log_n[cut.counts].sum() for cut in template.cuts])

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        image_cells = self._bin_image(image)
        height, width = self._slices.shape
        accuracy = tolerance(out.dtype)

        def task(tile: Tile) -> None:
            evidence = tile_sums(image, self._slices, tile, accuracy).squares
            scores = np.empty(tile.shape)
            rows = slice(tile.top, tile.bottom + height - 1)
            columns = slice(tile.left, tile.right + width - 1)
            joint_histograms(
                np.ascontiguousarray(image_cells[:, rows, columns]),
                self._labels,
                self._label_bins,
                self._template.image_bins,
                self._n_log_n,
                self._label_terms,
                self._by_window,
                scores,
            )
            out[tile.place] = np.where(evidence > 0, scores, np.nan)

        columns = min(out.shape[1], 512)
        run(task, tiles(out.shape, max(1, _TILE_WINDOWS // columns), columns), n_threads)

    def _bin_image(self, image: Image) -> NDArray[Any]:
        """First cell of each pixel's bin; greys beyond the range fall in the last bins."""
        value_range = self._template.value_range or image.grey_range
        low, high = value_range
        if high - low == np.inf:
            raise ValueError(f"greys reach from {low} to {high}, farther than floats")
        # Whole numbers that floats cannot tell apart are compared less their offset.
        shift = max(-low, high) > 2**53
        if shift:
            low, high = low - image.offset, high - image.offset
        edges = np.linspace(low, high, self._template.image_bins + 1)[1:-1]
        image_cells = np.empty(image.planes.shape, self._cell_type)
        for c, plane in enumerate(image.planes):
            for row, greys in enumerate(plane):  # row by row: the bins come as int64
                own = image.less_offset(greys) if shift else greys
                bins = np.searchsorted(edges, own, side="right")
                image_cells[c, row] = self._label_bins * bins
        return image_cells


@jit
def joint_histograms(
    image_cells: NDArray[Any],
    labels: NDArray[Any],
    label_bins: int,
    image_bins: int,
    n_log_n: NDArray[np.float64],
    label_terms: NDArray[np.float64],
    by_window: bool,
    scores: NDArray[np.float64],
) -> None:
    """Score every window by its joint histogram with the template's labels.

    Parameters
    ----------
    image_cells : ndarray of shape (channels, rows + h - 1, columns + w - 1)
        ``label_bins * bin`` of each pixel.
    labels : ndarray of shape (channels, h, w), same type
        ``label_bins * image_bins`` where a pixel counts not.
    n_log_n : ndarray of shape (pixels + 1,)
    label_terms : ndarray of shape (channels,)
        Sum of n log n over the template's bins.
    scores : ndarray of shape (rows, columns), filled

    Plain twin: ``naive.mutual_information_map``.
    """
    channels, height, width = labels.shape
    rows, columns = scores.shape
    pixels = n_log_n.size - 1
    cells = label_bins * image_bins
    # Two histograms in turn: neighbours of one cell need not wait for each other.
    even = np.zeros(2 * cells, np.int32)
    odd = np.zeros(2 * cells, np.int32)
    for top in range(rows):
        for left in range(columns):
            information = 0.0
            entropy = 0.0
            for c in range(channels):
                for j in range(cells):
                    even[j] = 0
                    odd[j] = 0
                plane = image_cells[c]
                plane_labels = labels[c]
                for y in range(height):
                    cell = plane[top + y, left : left + width]
                    label = plane_labels[y]
                    x = 0  # a "while" here takes two thirds of the time of a "for"
                    while x + 2 <= width:
                        even[cell[x] + label[x]] += 1
                        odd[cell[x + 1] + label[x + 1]] += 1
                        x += 2
                    while x < width:
                        even[cell[x] + label[x]] += 1
                        x += 1
                joint_term = 0.0
                image_term = 0.0
                for i in range(0, cells, label_bins):
                    count = 0
                    for j in range(i, i + label_bins):
                        both = even[j] + odd[j]
                        joint_term += n_log_n[both]
                        count += both
                    image_term += n_log_n[count]
                information += joint_term - image_term - label_terms[c] + n_log_n[pixels]
                entropy += n_log_n[pixels] - (image_term if by_window else label_terms[c])
            share = information / entropy if entropy > 0 else 0.0
            scores[top, left] = min(max(1.0 - share, 0.0), 1.0)
