"""Mutual information from the joint histogram of template bins and image bins."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._jit import jit
from ..engine.boxes import box_sums
from ..engine.covers import ADDERS
from ..engine.images import Image
from ..engine.moments import add_up, tile_moments
from ..engine.plan import addition_tile
from ..engine.slices import Program, Slices
from ..engine.sums import tolerance
from ..engine.threads import Tile, run, scratch, tiles
from .image_bins import bin_image, check_image_bins
from .template import Template

_ADDER = ADDERS[np.dtype(np.uint8)]


class MutualInformation:
    """``1 - I / H`` in [0, 1], H of the template's bins (order of MI) or the window's.

    The window's greys fall into bins of equal width over the value range. Colours are
    pooled: I and H are summed over the channels.

    A cell of the joint histogram is the sum of a slice over the image that is 1 where a
    pixel falls into the bin, and 0 elsewhere.
    """

    def __init__(self, template: Template, *, by: Literal["template", "window"]) -> None:
        check_image_bins(template.image_bins)
        self._template = template
        self._by_window = by == "window"
        self._whole = Slices.whole(template.mask, len(template.cuts))
        self._slices = [Slices(labels[None]) for labels in template.labels]
        n_log_n = np.arange(template.pixels + 1.0)
        n_log_n[1:] *= np.log(n_log_n[1:])
        self._n_log_n = n_log_n
        self._label_terms = [n_log_n[cut.counts].sum() for cut in template.cuts]

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map."""
        bins = bin_image(image, self._template.value_range, self._template.image_bins)
        accuracy = tolerance(out.dtype)

        windows = out.size * self._template.image_bins
        searched = [s.worth_a_search(_ADDER, windows, exact=True) for s in self._slices]

        def task(tile: Tile) -> None:
            moments = tile_moments(image, self._whole, tile, accuracy)
            evidence = moments.settle().scatter
            shape = moments.scatter.shape
            information = scratch.array("information", shape, np.float64)
            entropy = scratch.array("entropy", shape, np.float64)
            information[:], entropy[:] = 0, 0
            for c, slices in enumerate(self._slices):
                program = slices.program(_ADDER, 1, searched=searched[c])
                self._add_channel(bins[c], program, c, tile, information, entropy)
            scores = share_left(information, entropy)[:, : tile.shape[1]]
            out[tile.place] = np.where(evidence > 0, scores, nothing)

        most = max(slices.counts.size for slices in self._slices)
        run(task, tiles(out.shape, *addition_tile(most)), n_threads)

    def _add_channel(
        self,
        bins: NDArray[Any],
        program: Program,
        channel: int,
        tile: Tile,
        information: NDArray[np.float64],
        entropy: NDArray[np.float64],
    ) -> None:
        """Add what one channel knows, and could know, about the other image."""
        slices = self._slices[channel]
        height, width = slices.shape
        rows, padded = information.shape
        under = bins[tile.top : tile.bottom + height - 1, tile.left : tile.right + width - 1]
        plane = scratch.array("in bin", (1, len(under), padded + width - 1), np.uint8)
        plane[:, :, under.shape[1] :] = 0
        whole = scratch.array("whole", (1, rows, padded), np.uint32)
        cells = scratch.array("cells", (program.plane.size, rows, padded), _ADDER.whole)
        rest = scratch.array("rest", (slices.counts.size, rows, padded), _ADDER.whole)
        rest[:] = slices.counts[:, None, None]
        joint, of_image = np.zeros((2, rows, padded))
        for i in range(self._template.image_bins - 1):
            np.equal(under, i, out=plane[0, :, : under.shape[1]])
            box_sums(plane.astype(np.uint16), height, width, whole)
            add_up(plane, program, whole, cells)
            add_terms(cells[: len(rest)], self._n_log_n, joint, of_image)
            rest -= cells[: len(rest)]
        add_terms(rest, self._n_log_n, joint, of_image)
        everything, of_template = self._n_log_n[-1], self._label_terms[channel]
        information += joint - of_image - of_template + everything
        entropy += everything - (of_image if self._by_window else of_template)


def share_left(
    information: NDArray[np.float64], entropy: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``1 - information / entropy``, cut to [0, 1]; 1 where there is no entropy."""
    share = np.divide(information, entropy, out=np.zeros_like(entropy), where=entropy > 0)
    return np.asarray(np.clip(1 - share, 0, 1))


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
