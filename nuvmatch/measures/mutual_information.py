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
        self._n_log_n = np.arange(template.pixels + 1.0)
        self._n_log_n[1:] *= np.log(self._n_log_n[1:])

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        template = self._template
        binned = _bin_image(image, template.value_range or image.grey_range, template.image_bins)
        height, width = self._slices.shape
        accuracy = tolerance(out.dtype)

        def task(tile: Tile) -> None:
            evidence = tile_sums(image, self._slices, tile, accuracy).squares
            scores = np.empty(tile.shape)
            rows = slice(tile.top, tile.bottom + height - 1)
            columns = slice(tile.left, tile.right + width - 1)
            joint_histograms(
                np.ascontiguousarray(binned[:, rows, columns]),
                template.labels,
                template.image_bins,
                self._n_log_n,
                self._by_window,
                scores,
            )
            out[tile.place] = np.where(evidence > 0, scores, np.nan)

        columns = min(out.shape[1], 512)
        run(task, tiles(out.shape, max(1, _TILE_WINDOWS // columns), columns), n_threads)


def _bin_image(
    image: Image, value_range: tuple[float, float], bins: int
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Label every pixel by bins of equal width; greys beyond the range fall in the last ones."""
    edges = np.linspace(*value_range, bins + 1)[1:-1]
    binned = np.empty(image.planes.shape, np.uint8 if bins <= 256 else np.uint16)
    for c, plane in enumerate(image.planes):
        for row, greys in enumerate(plane):  # row by row: the labels come as int64
            binned[c, row] = np.searchsorted(edges, greys, side="right")
    return binned


@jit
def joint_histograms(
    binned: NDArray[Any],
    labels: NDArray[np.int64],
    image_bins: int,
    n_log_n: NDArray[np.float64],
    by_window: bool,
    scores: NDArray[np.float64],
) -> None:
    """Score every window by its joint histogram with the template's labels.

    Parameters
    ----------
    binned : ndarray of shape (channels, rows + h - 1, columns + w - 1), uint8 or uint16
    labels : ndarray of shape (channels, h, w)
        -1 where a pixel counts not.
    n_log_n : ndarray of shape (pixels + 1,)
    scores : ndarray of shape (rows, columns), filled

    Plain twin: ``naive.mutual_information``.
    """
    channels, height, width = labels.shape
    rows, columns = scores.shape
    pixels = n_log_n.size - 1
    label_bins = labels.max() + 1
    cells = label_bins * image_bins
    # One more row of cells takes the pixels that do not count.
    histogram = np.zeros(cells + image_bins, np.int32)
    places = np.where(labels < 0, label_bins, labels) * image_bins
    label_terms = np.zeros(channels)
    for c in range(channels):
        counts = np.zeros(label_bins + 1, np.int64)
        for y in range(height):
            for x in range(width):
                counts[places[c, y, x] // image_bins] += 1
        for j in range(label_bins):
            label_terms[c] += n_log_n[counts[j]]
    for top in range(rows):
        for left in range(columns):
            information = 0.0
            entropy = 0.0
            for c in range(channels):
                histogram[:] = 0
                for y in range(height):
                    row = binned[c, top + y, left : left + width]
                    place = places[c, y]
                    for x in range(width):
                        histogram[place[x] + row[x]] += 1
                joint_term = 0.0
                image_term = 0.0
                for i in range(image_bins):
                    count = 0
                    for j in range(i, cells, image_bins):
                        joint_term += n_log_n[histogram[j]]
                        count += histogram[j]
                    image_term += n_log_n[count]
                information += joint_term - image_term - label_terms[c] + n_log_n[pixels]
                entropy += n_log_n[pixels] - (image_term if by_window else label_terms[c])
            share = information / entropy if entropy > 0 else 0.0
            scores[top, left] = min(max(1.0 - share, 0.0), 1.0)
