"""PWC nUV: the piecewise-constant normalised unexplained variance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.images import Image
from ..engine.slices import Slices
from ..engine.sums import TileSums, for_each_tile
from ..tones.models import piecewise_constant
from .template import Template


class NUV:
    """Share of a window's variance that the template's bins do not explain, in [0, 1]."""

    def __init__(self, template: Template) -> None:
        self._slices = Slices.from_labels(template.labels)

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map."""
        for_each_tile(image, self._slices, self._score, out, n_threads)

    def _score(self, tile: TileSums) -> NDArray[np.float64]:
        scores = np.empty(tile.squares.shape)
        slices = self._slices
        piecewise_constant(tile.sums, tile.squares, slices.counts, slices.channel, scores)
        return scores
