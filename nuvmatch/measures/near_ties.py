"""Which of several windows that score alike by a measure is the most like the template."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engine import Image, Pattern, products_at
from .ncc import NCCScorer
from .ssd import SSDScorer
from .template import Template

# So many pixels are read in less than a second. Where more would have to be, something repeats
# itself all over the image.
_PIXELS_READ = 2**27


class NearTies:
    """NCC and squared differences of single windows: of near-ties an exact copy has the lowest."""

    def __init__(self, template: Template) -> None:
        self._pattern = Pattern.from_greys(template.greys, template.mask)
        self._ncc = NCCScorer(template, squared=False)
        self._ssd = SSDScorer(template)

    def order(
        self, image: Image, n_threads: int, rows: NDArray[np.int64], cols: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return what orders the windows at some places: "ncc", then "ssd", shape (2, n).

        All 0 where these are too many to look at.
        """
        if rows.size * self._pattern.planes.size > _PIXELS_READ:
            return np.zeros((2, rows.size))
        shape = self._pattern.mask.shape[0], self._pattern.mask.shape[1]
        image, rows, cols = image.beside_each_other(rows, cols, shape)
        products = products_at(image, self._pattern, rows, cols, n_threads)
        # Either overwrites what the other has returned.
        ncc = self._ncc.score(products)[0].copy()
        return np.stack([ncc, self._ssd.score_in(image)(products)[0]])
