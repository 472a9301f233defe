"""Normalised cross-correlation, the baseline where tones change linearly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._jit import jit
from .._settings import Settings
from ..engine import Image, Pattern, Spacing, TileProducts, Wanted, for_each_product
from .base import Scorer
from .sharing import SharingScorer
from .template import Template


@dataclass(frozen=True, kw_only=True, repr=False)
class NCC(Settings):
    """``1 - NCC`` in [0, 2], or ``1 - NCC²`` in [0, 1]; colours are pooled.

    By name: "ncc", and "ncc2" with squared=True.

    Parameters
    ----------
    squared : bool
        Whether an inverted window matches too.
    """

    squared: bool = False

    def __post_init__(self) -> None:
        self._set(squared=_checks.as_flag(self.squared, "squared"))

    def prepare(self, template: Template) -> NCCScorer:
        """Centre the template."""
        template.check_contrast()
        return NCCScorer(template, self.squared)


class NCCScorer(SharingScorer):
    """NCC with one template."""

    def __init__(self, template: Template, squared: bool) -> None:
        self._template = template
        self._squared = squared
        self._pattern = Pattern.from_greys(template.greys, template.mask)

    @cached_property
    def _in_steps(self) -> Pattern:
        """The same in steps of the lattice on which floats may lie."""
        lattice, mask = self._template.lattice, self._template.mask
        if lattice is None:
            return self._pattern
        return Pattern.from_greys(lattice.steps.astype(np.float64), mask)

    def shares_with(self, other: Scorer) -> bool:
        """Tell whether another has a template like this, of the same mask: a mirror image of it."""
        return isinstance(other, NCCScorer) and (
            np.array_equal(self._pattern.mask, other._pattern.mask)
            and self._pattern.integral == other._pattern.integral
            and self._spacing == other._spacing
        )

    @property
    def _spacing(self) -> Spacing | None:
        lattice = self._template.lattice
        return None if lattice is None else lattice.spacing

    @staticmethod
    def fill_together(
        scorers: Sequence[NCCScorer], image: Image, out: Sequence[NDArray[Any]], n_threads: int
    ) -> None:
        """Fill score maps: from whole numbers, if both sides are that or on a lattice."""
        dtype = out[0].dtype
        in_steps = image.in_steps(scorers[0]._pattern.mask.size, dtype)
        patterns = [scorer._pattern_for(in_steps, dtype) for scorer in scorers]
        # One side alone would not do: of a copy, its rounding would be left.
        image = in_steps if all(pattern.integral for pattern in patterns) else image
        wanted = [
            Wanted(pattern, partial(scorer._score, pattern), scores)
            for scorer, pattern, scores in zip(scorers, patterns, out, strict=True)
        ]
        for_each_product(image, wanted, n_threads)

    def _pattern_for(self, image: Image, dtype: np.dtype[Any]) -> Pattern:
        lattice = self._template.lattice
        served = image.exact and lattice is not None and lattice.serves(dtype)
        return self._in_steps if served else self._pattern

    def score(self, tile: TileProducts) -> NDArray[np.float64]:
        """Score a tile, from products with the template's greys."""
        return self._score(self._pattern, tile)

    def _score(self, pattern: Pattern, tile: TileProducts) -> NDArray[np.float64]:
        scores = tile.empty_scores()
        of_windows = tile.squares, tile.covariances, tile.residuals
        score_ncc(*of_windows, pattern.squares, self._squared, scores)
        return scores


@jit
def score_ncc(
    squares: NDArray[np.float64],
    covariances: NDArray[np.float64],
    residuals: NDArray[np.float64],
    energy: float,
    squared: bool,
    out: NDArray[np.float64],
) -> None:
    """Score by what a straight line leaves: near 0, 1 - NCC itself would be rounding.

    Parameters
    ----------
    squares, covariances, residuals : ndarray of shape (rows, >= columns)
        Of each window. Where squares are 0 or NaN there is no evidence.
    energy : float
        Squares of the template.
    squared : bool
        Whether the score is ``1 - NCC²``.
    out : ndarray of shape (rows, columns), filled
        Scores; NaN is no evidence.

    Plain twin: ``naive.ncc_map``.
    """
    own = np.sqrt(energy)
    share = 1 / own
    for y in range(out.shape[0]):
        line, columns = out[y], out.shape[1]
        of_line, products, left = squares[y], covariances[y], residuals[y]
        if squared:
            for x in range(columns):
                line[x] = left[x] / of_line[x]
        else:
            for x in range(columns):
                # One division: residual / squares / (1 + NCC), or 1 - NCC where it is negative.
                root, product = np.sqrt(of_line[x]), products[x]
                above, below = left[x], of_line[x] + product * (root * share)
                if not product > 0:
                    above, below = root * own - product, root * own
                score = above / below
                line[x] = 2.0 if score > 2 else score
