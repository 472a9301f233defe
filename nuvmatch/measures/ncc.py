"""Normalised cross-correlation, the baseline where tones change linearly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.images import Image
from ..engine.products import Pattern, TileProducts, for_each_product
from .template import Template


class NCC:
    """``1 - NCC`` in [0, 2], or ``1 - NCC^2`` in [0, 1]; colours are pooled."""

    def __init__(self, template: Template, *, squared: bool) -> None:
        self._pattern = Pattern.from_greys(template.greys, template.mask)
        self._squared = squared

    def fill(self, image: Image, out: NDArray[Any], nothing: float, n_threads: int) -> None:
        """Fill a score map."""
        for_each_product(image, self._pattern, self._score, out, nothing, n_threads)

    def _score(self, tile: TileProducts) -> NDArray[np.float64]:
        squares = np.where(tile.squares > 0, tile.squares, np.nan)
        ncc = tile.covariances / (np.sqrt(squares) * np.sqrt(self._pattern.squares))
        ncc = np.clip(ncc, -1, 1)
        return np.asarray(1 - (ncc**2 if self._squared else ncc))
