"""Have all kernels compiled before they are needed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import binning
from .matcher import Matcher
from .measures import MI, NCC, NUV, SSD, AdaptiveNUV, Measure, MonotoneNUV, WindowToPattern

# Templates are summed by additions or, where these are too many, by transforms; and maps of
# one tile and of several take different paths.
_SMALL, _LARGE, _SIDES = 12, 160, (400, 700)

# Each kernel is called by some; those that are not here share theirs with one that is.
_MEASURES: list[Measure] = [
    NUV(gain=(0, 2)), NUV(binning="greedy"), NUV(binning="kmeans"), AdaptiveNUV(),
    MonotoneNUV(), NCC(), SSD(), MI(), WindowToPattern(),
]  # fmt: skip


def warmup() -> None:
    """Compile the kernels of all measures, types and binners, or load them from the cache.

    Without it the first call of each kind does so: about a second a kernel with an empty
    cache, and hardly any time afterwards.
    """
    levels = np.arange(9.0)
    for binner in (binning.optimal, binning.greedy):
        binner(levels, 3, cross=np.outer(levels, levels))
    scene = np.random.default_rng(0).integers(0, 256, (_SIDES[-1],) * 2)
    # As bytes, other whole numbers, fractions, those with little contrast in a part, what
    # cannot be rounded to whole numbers, and what floats cannot tell apart.
    dim = np.where(np.indices(scene.shape)[1] < _SMALL + 2, 1e-9 * scene, scene)
    greys: tuple[NDArray[Any], ...] = (
        scene.astype(np.uint8), scene * 9, scene / 7, dim, scene * 1e280,
        scene + 2**60 * (scene > 9),
    )  # fmt: skip
    for image, dtype in itertools.product(greys, (np.float32, np.float64)):
        _call(image, np.dtype(dtype))
    for image in greys[:2]:  # sums under a large and ragged mask, of whole numbers
        part = image[: _SIDES[0], : _SIDES[0]]
        template = part[:_LARGE, :_LARGE]
        Matcher(template, "ncc", mask=scene[:_LARGE, :_LARGE] % 2 > 0).score_map(part)
    for dtype in (np.float32, np.float64):  # what joins maps is of few types
        Matcher(greys[0][:_SMALL, :_SMALL], "auto", dtype=dtype).locate(greys[0][:_LARGE, :_LARGE])


def _call(scene: NDArray[Any], dtype: np.dtype[Any]) -> None:
    mask = np.ones((_SMALL, _SMALL), np.bool_)
    mask[: _SMALL // 2, : _SMALL // 3] = False
    small = scene[: 3 * _SMALL, : 3 * _SMALL]
    for measure, inside in itertools.product(_MEASURES, (None, mask)):
        matcher = Matcher(small[:_SMALL, :_SMALL], measure, mask=inside, dtype=dtype)
        matcher.locate(small, threshold=0.9)
    for side, measure in itertools.product(_SIDES, (NUV(), AdaptiveNUV())):
        Matcher(scene[:_LARGE, :_LARGE], measure, dtype=dtype).score_map(scene[:side, :side])
    Matcher(scene[:_LARGE, :_LARGE], dtype=dtype).locate(scene)  # without a map
