"""Images larger than memory, or spread over machines: dask searches them block by block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

try:
    import dask.array as da
except ImportError as error:
    raise ImportError("nuvmatch.out_of_core needs dask: pip install 'nuvmatch[dask]'") from error

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._progress import Tell
from ..engine import replace_nan
from ..finding import Chance, Null
from ..matcher import Matcher
from ..measures.bands import Combine, Source
from ..measures.panel import SHARE
from ..results import Matches
from ..search import Search
from ..search.posed import Posed
from .blocks import Blocks, LazyImage
from .poses import LazySpace
from .running import BlockError
from .scene import Scene

__all__ = ["BlockError", "locate", "score_map"]


class _OutOfCore(Source):
    """An image out of memory, as matchers and searches take it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @property
    def shape(self) -> tuple[int, int]:
        return self._scene.shape

    def bands(self, matcher: Matcher, region: Any) -> tuple[Blocks, tuple[int, int], bool]:
        """Return score maps of a part of it, block by block."""
        rect = self._scene.part(matcher, region, matcher.shape)
        known, transparent = self._scene.survey(matcher)
        lazy = LazyImage(self._scene, known, matcher, rect)
        return Blocks.by_scorers(matcher._panel.scorers, lazy), rect[:2], transparent

    def space(self, seeker: Posed, region: Any) -> tuple[LazySpace, tuple[int, int]]:
        """Return what is searched in a part of it by one who seeks poses."""
        rect = self._scene.part(seeker.matcher, region, (1, 1))
        known, _ = self._scene.survey(seeker.matcher)
        lazy = LazyImage(self._scene, known, seeker.matcher, rect)
        return LazySpace.for_seeker(seeker, lazy), rect[:2]


def score_map(
    image: Any,
    matcher: Matcher,
    *,
    image_mask: Any = None,
    region: tuple[int, int, int, int] | None = None,
    fill_value: float = 1.0,
) -> da.Array:
    """Compute the dissimilarity of every window of an image out of memory, when it is asked for.

    What parts must know of the whole is learnt here and now: the range of greys that are not of
    8 bits, and by "auto" what chance shows. That reads the image.

    Parameters
    ----------
    image : dask array, zarr array, xarray DataArray, memory map, array_like, or path
        Of shape (H, W), (H, W, 1), (H, W, 2), (H, W, 3) or (H, W, 4), as for
        `Matcher.score_map`; of xarray a band may come first. A path is that of an ``.npy`` file, a
        zarr store, or a TIFF file in tiles or strips.
    matcher : Matcher
    image_mask : the same, of shape (H, W), optional
        Zero where a pixel must not be used.
    region, fill_value
        As for `Matcher.score_map`.

    Returns
    -------
    dask array of shape (H - h + 1, W - w + 1), float32 or float64
        What `Matcher.score_map` returns, in blocks of some 2^23 windows.

    Raises
    ------
    TypeError, ValueError
        As `Matcher.score_map`; if chunk sizes are unknown, or a file cannot be read in parts.
    BlockError
        If a part cannot be read: it says which.
    """
    _check_seeker(matcher, Matcher)
    fill_value = _checks.as_fill_value(fill_value)
    bands, _, _ = _OutOfCore(Scene(image, image_mask)).bands(matcher, region)
    if 0 in bands.extent:
        return da.empty(bands.extent, dtype=bands.dtype)
    panel = matcher._panel
    scores, chance = bands.one(0), None
    if panel.joins:
        null = panel.learn([bands], SHARE)
        scores = panel.map_by(null, bands)
        chance = Chance(null, scores.windows)
    finish = partial(_finish, scores.combine, chance, fill_value, bands.dtype)
    return bands.lazily(finish, bands.dtype)


def locate(
    image: Any,
    seeker: Matcher | Search,
    *,
    image_mask: Any = None,
    region: tuple[int, int, int, int] | None = None,
    threshold: float | None = None,
    false_alarms: float | None = None,
    null: Null | Mapping[Any, Null] | None = None,
    max_matches: int | None = None,
    max_per_name: int | None = None,
    min_distance: float | None = None,
    max_overlap: float = 0.25,
    subpixel: bool | str = False,
    progress: bool | Tell | None = None,
) -> Matches:
    """Find the places where templates match best in an image out of memory.

    No score map is ever held: blocks tell their candidates, of which those near each other compete
    as in one map.

    Parameters
    ----------
    image, image_mask
        As for `score_map`.
    seeker : Matcher or Search
    region, threshold, false_alarms, null, max_matches, min_distance, max_overlap, subpixel
        As for `Matcher.locate` and `Search.locate`.
    progress
        The same; parts are blocks.
    max_per_name : int, optional
        As for `Search.locate`.

    Returns
    -------
    Matches
        What `Matcher.locate` or `Search.locate` returns.

    Raises
    ------
    TypeError, ValueError
        As these; if chunk sizes are unknown, or a file cannot be read in parts.
    BlockError
        If a part cannot be read or searched: it says which.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from nuvmatch import Matcher, out_of_core
    >>> noise = np.random.default_rng(0).integers(0, 256, (120, 160), np.uint8)
    >>> image, template = da.from_array(noise, chunks=50), noise[40:56, 60:76]
    >>> out_of_core.locate(255 - image, Matcher(template))
    <1 match: (40, 60): 0.01487>
    """
    _check_seeker(seeker, Matcher, Search)
    options: dict[str, Any] = {
        "region": region, "threshold": threshold, "false_alarms": false_alarms, "null": null,
        "max_matches": max_matches, "min_distance": min_distance, "max_overlap": max_overlap,
        "subpixel": subpixel, "progress": progress,
    }  # fmt: skip
    if isinstance(seeker, Search):
        options["max_per_name"] = max_per_name
    elif max_per_name is not None:
        raise TypeError("max_per_name is an option of Search.locate; what is sought is a Matcher")
    return seeker.locate(cast(Any, _OutOfCore(Scene(image, image_mask))), **options)


def _check_seeker(seeker: Any, *kinds: type) -> None:
    if not isinstance(seeker, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"what is to be sought is of type {type(seeker).__name__}; it must be a {names}"
        )


def _finish(
    combine: Combine, chance: Chance | None, fill_value: float, dtype: Any, maps: NDArray[Any]
) -> NDArray[Any]:
    """Make a map of several, as `score_map` returns it."""
    scores = combine(maps)
    if chance is not None:
        scores = chance.scores(scores)
    scores = np.ascontiguousarray(scores, dtype)
    if not math.isnan(fill_value):
        replace_nan(scores, fill_value)
    return scores
