"""PWC nUV: the piecewise-constant normalised unexplained variance."""

from typing import Any

from numpy.typing import NDArray

from ..engine.images import Image
from ..engine.slices import Slices
from ..engine.sums import TileSums, for_each_tile
from ..tones.models import piecewise_constant
from .template import Template


class NUV:
    """Share of a window's variance that the template's bins do not explain, in [0, 1]."""

    def __init__(self, template: Template) -> None:
        self._slices = Slices(template.labels)

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map."""
        slices = self._slices

        def score(part: TileSums) -> None:
            tile = part.tile
            piecewise_constant(
                part.sums, part.totals, part.scatter, slices.counts, slices.channel,
                nothing, out, tile.top, tile.left, tile.shape[1],
            )  # fmt: skip

        for_each_tile(image, slices, score, out.dtype, out.shape, n_threads)
