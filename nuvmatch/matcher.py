"""One template, made ready: check, prepare, call, wrap."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _checks
from .binning import Binning
from .engine import Image, available_cpus, prepare, replace_nan
from .finding import PeakRule
from .measures import Measure, Template, as_measure, ask, name_of
from .results import Match, Matches, ToneCurve


class Matcher:
    """One template, made ready once, to be sought in any number of images.

    It can be pickled, and used from several threads at a time.

    Parameters
    ----------
    template : array_like of shape (h, w), (h, w, 1), (h, w, 2), (h, w, 3) or (h, w, 4)
        Grey; grey and alpha; colour; or colour and alpha. Of any boolean, integer or
        float type. Pixels with alpha 0 do not count.
    measure : str or Measure
        How windows are compared, 0 being perfect: a measure such as ``NUV(bins=16)``, the
        name of one with its defaults ("nuv", "nuv_linear", "nuv_monotone", "nuv_curves",
        "nuv_adaptive", "ncc", "ncc2", "mi", "nmi", "ssd"), or an object of your own that
        has ``prepare(template)``.
    mask : array_like of shape (h, w), optional
        Non-zero where a pixel of the template counts.
    n_threads : int, optional
        Most threads to use. None: as many as there are CPUs for this process.
    dtype : {float32, float64}, optional
        Type of score maps. None: float64 for float64 images, else float32.

    Attributes
    ----------
    measure : Measure
        With all its settings; what it prints makes it again.
    shape : (int, int)
        Height and width of the template.
    bins : tuple of nuvmatch.binning.Binning
        How the template's greys are cut, one for each channel: `edges` in its greys, bins
        being ``[edge_j, edge_j+1)``, the last closed; `labels` (h, w), -1 where a pixel does
        not count; `counts` of pixels. For `AdaptiveNUV` and `LinearNUV` the slices that
        are summed; empty for measures without bins of the template.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above; if the template is flat under its mask
        (except for "ssd"), or holds a non-finite pixel there; if fewer than two bins
        are left, or as many as there are pixels: then every window would match.

    Warns
    -----
    UserWarning
        If bins asked for are so many that noise would score below 0.5.
    """

    measure: Measure
    shape: tuple[int, int]
    bins: tuple[Binning, ...]

    def __init__(
        self,
        template: ArrayLike,
        measure: str | Measure = "nuv",
        *,
        mask: ArrayLike | None = None,
        n_threads: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.measure = as_measure(measure)
        if n_threads is not None:
            n_threads = _checks.as_integer(n_threads, "n_threads", 1)
        self._n_threads = n_threads
        self._dtype = None if dtype is None else _checks.as_map_type(dtype)
        self._template = Template.of(template, mask)
        self._scorer = self.measure.prepare(self._template)
        if not callable(getattr(self._scorer, "fill", None)):
            raise TypeError(
                f"{self.measure} has prepared {self._scorer!r}; it must be a scorer, with "
                "fill(image, out, n_threads)"
            )
        height, width = self._template.mask.shape
        self.shape = height, width
        self.bins = getattr(self._scorer, "bins", ())
        self._name = name_of(self.measure)

    def __repr__(self) -> str:
        height, width = self.shape
        return f"<Matcher for a template of {height} x {width} by {self._name}>"

    def __getstate__(self) -> dict[str, Any]:
        """Keep what is given, not what is made of it: that is many times as large."""
        return {
            "template": np.moveaxis(self._template.planes, 0, 2),
            "measure": self.measure,
            "mask": None if self._template.mask.all() else self._template.mask,
            "n_threads": self._n_threads,
            "dtype": self._dtype,
        }

    def __setstate__(self, given: dict[str, Any]) -> None:
        with _checks.silence():  # whoever made it has been warned
            Matcher.__init__(self, **given)

    def score_map(
        self,
        image: ArrayLike,
        *,
        image_mask: ArrayLike | None = None,
        region: tuple[int, int, int, int] | None = None,
        fill_value: float = 1.0,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Compute the dissimilarity of every window of an image.

        Parameters
        ----------
        image : array_like of shape (H, W), (H, W, 1), (H, W, 2), (H, W, 3) or (H, W, 4)
            Grey or colour as the template, with or without alpha, of any boolean,
            integer or float type. Pixels with alpha 0 are masked out.
        image_mask : array_like of shape (H, W), optional
            Zero where a pixel must not be used.
        region : (int, int, int, int), optional
            Row, column, height and width of the part of the image in which windows must
            lie wholly; what sticks out of the image is cut off.
        fill_value : float
            What stands for no evidence: where a window is flat under the template's mask
            (except for "ssd"), has a non-finite or masked-out pixel there, or is refused by
            the measure's `polarity` or `gain`. NaN tells it from a score.
        out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, optional
            Where to put the map, whose type it then decides: the frames of a video need
            no fresh memory each.

        Returns
        -------
        ndarray of shape (H - h + 1, W - w + 1), float32 or float64
            `out`, or a new map; H and W are those of the region, if there is one. Indexed
            by the window's top-left pixel, less the region's; 0 is perfect, lower is better.
            Empty where too little of the region is left.

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above, or the template is larger than the
            image or the region.
        """
        fill_value = _checks.as_fill_value(fill_value)
        prepared, _ = self._prepare(image, image_mask, region)
        return self._scores(prepared, fill_value, out)

    def locate(
        self,
        image: ArrayLike,
        *,
        image_mask: ArrayLike | None = None,
        region: tuple[int, int, int, int] | None = None,
        threshold: float | None = None,
        max_matches: int | None = None,
        min_distance: float | None = None,
        max_overlap: float = 0.25,
    ) -> Matches:
        """Find the places where the template matches best.

        Parameters
        ----------
        image, image_mask, region
            As for `score_map`.
        threshold, max_matches, min_distance, max_overlap
            As for `nuvmatch.find_peaks`. With neither threshold nor max_matches: the
            single best place.

        Returns
        -------
        Matches
            Best first, in coordinates of the full image; empty when nothing passes, or no
            window gives evidence.

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above, or the template is larger than
            the image or the region.
        """
        rule = PeakRule(threshold, max_matches, min_distance, max_overlap)
        prepared, (row, column) = self._prepare(image, image_mask, region)
        found = rule.find(self._scores(prepared, math.nan), self.shape)
        return Matches(self._complete(match, prepared, row, column) for match in found)

    def tone_curve(self, image: ArrayLike, row: int, col: int) -> tuple[ToneCurve, ...]:
        """Tell which greys the image shows at a place for those of the template.

        Parameters
        ----------
        image : array_like
            As for `score_map`.
        row, col : int
            Top-left pixel of the window.

        Returns
        -------
        tuple of ToneCurve
            One for each channel, callable on greys; empty for measures without.

        Raises
        ------
        TypeError, ValueError
            If the window leaves the image, or holds a non-finite pixel that counts.
        """
        planes, _ = self._planes(image)
        row, col = _checks.as_integer(row, "row", 0), _checks.as_integer(col, "col", 0)
        window = self._window(planes, row, col)
        if window.shape[1:] != self.shape:
            raise ValueError(
                f"the window at ({row}, {col}) of shape {self.shape} leaves the image of shape "
                f"{planes.shape[1:]}"
            )
        if not np.isfinite(window[:, self._template.mask]).all():
            raise ValueError(f"the window at ({row}, {col}) holds NaN or infinity")
        return ask(self._scorer, "tone_curve", window) or ()

    def _planes(self, image: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Check an image: its planes, and where its alpha lets pixels count."""
        beside = f"; the template has shape {self.shape}"
        planes, alpha = _checks.as_planes(image, "image", beside)
        _checks.check_fit(planes, self._template.greys)
        return planes, alpha

    def _prepare(
        self, image: ArrayLike, image_mask: ArrayLike | None, region: Any
    ) -> tuple[Image, tuple[int, int]]:
        """Make the part of an image ready that is searched, and say where it begins."""
        planes, alpha = self._planes(image)
        mask = _checks.as_mask(image_mask, "image_mask", planes.shape[1:])
        if alpha is not None:
            mask = alpha if mask is None else mask & alpha
        prepared = prepare(planes, mask, self._template.mask.size)
        if region is None:
            return prepared, (0, 0)
        row, column, *size = _checks.as_region(region, prepared.shape, self.shape)
        return prepared.crop(row, column, *size), (row, column)

    def _scores(
        self, image: Image, fill_value: float, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Score map, with `fill_value` where there is no evidence."""
        rows, columns = (
            max(extent - side + 1, 0) for extent, side in zip(image.shape, self.shape, strict=True)
        )
        shape, dtype = (rows, columns), self._dtype
        if out is not None:
            dtype = _checks.as_output(out, shape, dtype)
        elif dtype is None:
            kind = image.planes.dtype
            dtype = np.dtype(np.float64 if kind.kind == "f" and kind.itemsize >= 8 else np.float32)
        fits = out is not None and out.flags.c_contiguous
        fits = fits and not np.may_share_memory(out, image.planes)
        scores = out if out is not None and fits else np.empty(shape, dtype)
        if scores.size:
            self._scorer.fill(image, scores, self._n_threads or available_cpus())
        if not math.isnan(fill_value):
            replace_nan(scores, fill_value)
        if out is None or fits:
            return scores
        out[:] = scores
        return out

    def _complete(self, match: Match, image: Image, row: int, column: int) -> Match:
        """Add what is known of the window, and the place of the region in the image."""
        window = self._window(image.planes, match.row, match.col)
        return dataclasses.replace(
            match,
            row=match.row + row,
            col=match.col + column,
            tone_curves=ask(self._scorer, "tone_curve", window) or (),
            gain=ask(self._scorer, "gain", window),
            measure=self._name,
        )

    def _window(self, planes: NDArray[Any], row: int, column: int) -> NDArray[Any]:
        height, width = self.shape
        return planes[:, row : row + height, column : column + width]
