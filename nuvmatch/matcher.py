"""One template, made ready: check, prepare, call, wrap."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _checks
from ._progress import Progress, Tell, telling
from .binning import Binning
from .engine import Image, Survey, available_cpus, prepare, replace_nan
from .finding import NO_PEAKS, PRECISE, Chance, Fraction, Null, PeakRule, Peaks, fraction_at
from .measures import NUV, FlatTemplateError, Measure, MeasureLike, Template
from .measures.bands import Bands, ScoreMap, Sought, Source
from .measures.base import ask, scorer_of
from .measures.named import as_measure, name_of
from .measures.near_ties import NearTies
from .measures.panel import Panel
from .measures.precise import Precise
from .measures.units import Greys, unit_of
from .results import Match, Matches, ToneCurve


class Matcher:
    """One template, made ready once, to be sought in any number of images.

    It can be pickled, and used from several threads at a time.

    Parameters
    ----------
    template : array_like of shape (h, w), (h, w, 1), (h, w, 2), (h, w, 3) or (h, w, 4)
        Grey; grey and alpha; colour; or colour and alpha. Of any boolean, integer or
        float type. NaN does not count, nor alpha below half of white (255 or 65535, 1 for
        floats and booleans), or of its own maximum if that is less. What is flat where it
        counts, an icon of one colour, is sought by its alpha, with a warning.
    measure : str or Measure
        How windows are compared, 0 being perfect: a measure such as ``NUV(bins=16)``, the
        name of one with its defaults ("nuv", "nuv_linear", "nuv_monotone", "nuv_curves",
        "nuv_adaptive", "ncc", "ncc2", "mi", "nmi", "ssd", "auto"), or an object of your own that
        has ``prepare(template)``.
    mask : array_like of shape (h, w), optional
        Non-zero where a pixel of the template counts.
    nodata : float or sequence of float, optional
        Greys that count in neither template nor image. A colour counts, unless all its channels
        have the same one.
    n_threads : int, optional
        Most threads to use. None: as many as there are CPUs for this process, a container's
        quota included, but no more than the environment's NUMBA_NUM_THREADS.
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
        (except for "ssd"), or holds infinity there; if fewer than two bins are left, or as
        many as there are pixels: then every window would match.

    Warns
    -----
    UserWarning
        If bins asked for are so many that noise would score below 0.5; if alpha is 0
        everywhere, and therefore taken for unused, or is taken for the template.
    """

    measure: Measure
    shape: tuple[int, int]
    bins: tuple[Binning, ...]

    def __init__(
        self,
        template: ArrayLike,
        measure: MeasureLike = "nuv",
        *,
        mask: ArrayLike | None = None,
        nodata: float | Sequence[float] | None = None,
        n_threads: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.measure = as_measure(measure)
        if n_threads is not None:
            n_threads = _checks.as_integer(n_threads, "n_threads", 1)
        self._n_threads = n_threads
        self._dtype = None if dtype is None else _checks.as_map_type(dtype)
        self._nodata = _checks.as_nodata(nodata)
        self._template = Template.of(template, mask, self._nodata)
        try:
            self._scorer = scorer_of(self.measure, self._template)
        except FlatTemplateError:
            if self._template.by_alpha is None:
                raise
            _checks.warn(
                "the template is flat where its alpha counts; alpha itself is sought, which "
                'is inverted where the ground is brighter ("ncc2" finds it there, "ncc" does not)'
            )
            self._template = self._template.by_alpha
            self._scorer = scorer_of(self.measure, self._template)
        self.shape = self._template.shape
        self.bins = getattr(self._scorer, "bins", ())
        self._name = name_of(self.measure)
        self._greys = Greys.of_template(self._template)

    def __repr__(self) -> str:
        height, width = self.shape
        return f"<Matcher for a template of {height} x {width} by {self._name}>"

    def __getstate__(self) -> dict[str, Any]:
        """Keep what is given, not what is made of it: that is many times as large."""
        return {
            "template": np.moveaxis(self._template.planes, 0, 2),
            "measure": self.measure,
            "mask": None if self._template.mask.all() else self._template.mask,
            "nodata": self._nodata,  # of images: what counts of the template is in the mask
            "n_threads": self._n_threads,
            "dtype": self._dtype,
        }

    def __setstate__(self, given: dict[str, Any]) -> None:
        nodata = given.pop("nodata")
        with _checks.silence():  # whoever made it has been warned
            Matcher.__init__(self, **given)
        self._nodata = nodata

    def score_map(
        self,
        image: ArrayLike,
        *,
        image_mask: ArrayLike | None = None,
        region: tuple[int, int, int, int] | None = None,
        fill_value: float = 1.0,
        out: NDArray[Any] | None = None,
    ) -> NDArray[np.float32 | np.float64]:
        """Compute the dissimilarity of every window of an image.

        Parameters
        ----------
        image : array_like of shape (H, W), (H, W, 1), (H, W, 2), (H, W, 3) or (H, W, 4)
            Grey or colour as the template, with or without alpha, of any boolean,
            integer or float type. Where alpha is below half it is masked out, as in a
            template; so is `nodata`.
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

        Warns
        -----
        UserWarning
            If alpha is 0 everywhere, or leaves no window to search.
        """
        fill_value = _checks.as_fill_value(fill_value)
        prepared, _, transparent = self._prepare(image, image_mask, region)
        scores = self._scores(prepared, out)
        if transparent and scores.size and np.isnan(scores).all():
            _checks.warn_of_alpha()
        if not math.isnan(fill_value):
            replace_nan(scores, fill_value)
        if out is None or scores is out:
            return scores
        out[:] = scores
        return out

    def locate(
        self,
        image: ArrayLike,
        *,
        image_mask: ArrayLike | None = None,
        region: tuple[int, int, int, int] | None = None,
        threshold: float | None = None,
        false_alarms: float | None = None,
        null: Null | None = None,
        max_matches: int | None = None,
        min_distance: float | None = None,
        max_overlap: float = 0.25,
        subpixel: bool | str = False,
        progress: Progress | bool | Tell | None = None,
    ) -> Matches:
        """Find the places where the template matches best.

        Parameters
        ----------
        image, image_mask, region
            As for `score_map`.
        threshold, max_matches, min_distance, max_overlap
            As for `nuvmatch.find_peaks`. With neither a threshold, nor false_alarms, nor
            max_matches: the single best place.
        false_alarms : float, optional
            How many false matches an image like this may show: a place passes if chance shows
            no more that are as good. Infinity: no limit, but each match tells. None: not asked
            for, unless there is a `null`.
        null : Null, optional
            What chance shows, from `calibrate`. None: decoys tell, the template's mirror images
            sought in the same image (in some eighth of a large one, and around a small region).
        subpixel : bool or "precise"
            Tell `Match.center` to a fraction of a pixel, and how exact it is (`Match.sigma`). True:
            by the scores around the place. "precise": by its pixels, with the tone curve of the
            template's bins; a few milliseconds a match, and some four times as exact on
            photographs.
        progress : callable or True, optional
            Is called with the number of parts of the work that are done, and of all: a part is
            some 2^23 windows. What it raises ends the search. True: a bar is shown (tqdm).

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

        Warns
        -----
        UserWarning
            If alpha is 0 everywhere, or leaves no window to search. If false alarms are asked
            for and cannot be told (they are infinite then): decoys score 0, or there are too
            few places. If the template is like all decoys that could be, stripes for instance.

        Notes
        -----
        Scores within 1e-6 of each other, 1e-9 in float64 maps, are ordered by the NCC of the
        windows, then by their squared differences: of several that match as well an exact copy
        comes first. Only where a pattern repeats itself so often that reading all these windows
        would take a second or more, they come by place. The map is never held whole.
        """
        rule = PeakRule(threshold, false_alarms, max_matches, min_distance, max_overlap, subpixel)
        with telling(progress) as counted:
            found = self._seek(image, image_mask, region, rule, null, counted)
            matches = found.peaks.compared(found.peaks.matches)
            found.bands.gather(matches)
            return Matches(self._complete(match, found, rule.subpixel) for match in matches)

    def calibrate(self, *images: ArrayLike, image_mask: ArrayLike | None = None) -> Null:
        """Learn what chance shows in images, for any number of others like them.

        The template may be in them or not: decoys are sought, its mirror images, in each image
        (in strips of it, where all of them have more than 2^23 windows).

        Parameters
        ----------
        *images : array_like
            As for `score_map`: frames of a series, chips, negatives.
        image_mask : array_like of shape (H, W), optional
            Zero where a pixel must not be used, in each of them.

        Returns
        -------
        Null
            For `locate`, as ``null=``. It can be pickled.

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above, there is no image, or the template is
            larger than one.

        Warns
        -----
        UserWarning
            If false alarms cannot be told from these images.
        """
        if not images:
            raise ValueError("calibrate learns from images; it was given none")
        searches = [self._bands(self._prepare(image, image_mask, None)[0]) for image in images]
        return self._panel.learn(searches, 1.0)

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
        planes, _ = _checks.as_planes(image, "image", self._beside)
        _checks.check_fit(planes, self._template.greys)
        row, col = _checks.as_integer(row, "row", 0), _checks.as_integer(col, "col", 0)
        window = planes[:, row : row + self.shape[0], col : col + self.shape[1]]
        if window.shape[1:] != self.shape:
            raise ValueError(
                f"the window at ({row}, {col}) of shape {self.shape} leaves the image of shape "
                f"{planes.shape[1:]}"
            )
        if not np.isfinite(window[:, self._template.mask]).all():
            raise ValueError(f"the window at ({row}, {col}) holds NaN or infinity")
        return ask(self._scorer, "tone_curve", window) or ()

    @property
    def _beside(self) -> str:
        return f"; the template has shape {self.shape}"

    def _prepare(
        self,
        image: ArrayLike,
        image_mask: ArrayLike | None,
        region: Any,
        least: tuple[int, int] | None = None,
    ) -> tuple[Image, tuple[int, int], bool]:
        """Make the part of an image ready that is searched, of at least the template's shape.

        Return also where it begins, and whether alpha masks some of the image out.
        """
        height, width = least or self.shape
        planes, alpha = _checks.as_planes(image, "image", self._beside)
        _checks.check_fit(planes, self._template.greys, (height, width))
        mask = _checks.as_mask(image_mask, "image_mask", planes.shape[1:])
        opaque = _checks.as_opaque(alpha, "image")
        transparent = opaque is not None and not opaque.all()
        prepared = self._read(planes, mask, opaque)
        if region is None:
            return prepared, (0, 0), transparent
        row, column, *size = _checks.as_region(region, prepared.shape, (height, width))
        return prepared.crop(row, column, *size), (row, column), transparent

    def _read(
        self, planes: NDArray[Any], *allowed: NDArray[np.bool_] | None, survey: Survey | None = None
    ) -> Image:
        """Make planes ready, of which all of these allow a pixel: or a part of those surveyed."""
        masks = [
            one for one in (*allowed, _checks.where_data(planes, self._nodata)) if one is not None
        ]
        mask = reduce(np.logical_and, masks) if masks else None
        return prepare(planes, mask, self._template.mask.size, survey)

    def _map_type(self, kind: np.dtype[Any]) -> np.dtype[Any]:
        """Type of the map of an image of that type."""
        double = kind.kind == "f" and kind.itemsize >= 8
        return self._dtype or np.dtype(np.float64 if double else np.float32)

    def _scores(self, image: Image, out: NDArray[Any] | None) -> NDArray[Any]:
        """Score map, NaN where there is no evidence: in `out` if it can be filled directly."""
        extent = self._bands(image).extent
        if out is None:
            scores = np.empty(extent, self._map_type(image.planes.dtype))
        else:
            dtype = _checks.as_output(out, extent, self._dtype)
            fits = out.flags.c_contiguous and not np.may_share_memory(out, image.planes)
            scores = out if fits else np.empty(extent, dtype)
        if scores.size:
            self._scorer.fill(image, scores, self._threads)
        return scores

    @cached_property
    def _panel(self) -> Panel:
        """What learns from images what chance shows."""
        panel = getattr(self._scorer, "panel", None)
        return panel or Panel((self.measure,), (self._scorer,), self._template, self._name)

    def _bands(self, image: Image) -> Bands:
        """Score maps of an image by all measures that are asked."""
        scorers = self._panel.scorers
        return Bands(scorers, image, self.shape, self._map_type(image.planes.dtype), self._threads)

    @cached_property
    def _near_ties(self) -> NearTies:
        """What tells windows apart that score alike: seldom asked for."""
        return NearTies(self._template)

    @cached_property
    def _precise(self) -> Precise | None:
        """What places windows by their pixels, if the template can be cut into bins."""
        try:
            return Precise(self.bins or NUV().prepare(self._template).bins)
        except ValueError:
            return None

    def _seek(
        self,
        image: ArrayLike,
        image_mask: ArrayLike | None,
        region: tuple[int, int, int, int] | None,
        rule: PeakRule,
        null: Null | None = None,
        progress: Progress | None = None,
    ) -> Sought:
        """Find the peaks of an image's map, by a rule that has been checked."""
        if null is not None:
            self._panel.check(null)
        if isinstance(image, Source):
            bands, corner, transparent = image.bands(self, region)
        else:
            prepared, corner, transparent = self._prepare(image, image_mask, region)
            bands = self._bands(prepared)
        bands.progress = progress or bands.progress
        found = self._seek_in(bands, corner, rule, null)
        if transparent and 0 not in found.bands.extent and math.isinf(found.peaks.lowest):
            _checks.warn_of_alpha()
        return found

    def _seek_in(
        self, bands: Bands, corner: tuple[int, int], rule: PeakRule, null: Null | None = None
    ) -> Sought:
        """Find the peaks in a part of an image, that begins at a corner of it."""
        if 0 in bands.extent:
            return Sought(NO_PEAKS, bands, bands.one(0), corner)
        scores, chance = self._panel.map_and_chance(bands, rule, null)
        return Sought(self._peaks(bands, scores, chance, rule), bands, scores, corner)

    def _peaks(
        self, bands: Bands, scores: ScoreMap, chance: Chance | None, rule: PeakRule
    ) -> Peaks:
        def break_ties(*at: NDArray[np.int64]) -> NDArray[np.float64]:
            return self._near_ties.order(bands.image, self._threads, *at)

        return bands.peaks(scores, chance, rule, break_ties)

    def _complete(self, match: Match, found: Sought, subpixel: bool | str) -> Match:
        """Add what is known of a window: the place in the whole image, tones, a fraction."""
        window = found.bands.image.crop(match.row, match.col, *self.shape)
        known = self._tones(window.planes, window)
        if subpixel:
            known |= self._fraction(match, found, subpixel == PRECISE)._asdict()
        name = self._name
        if found.peaks.chance is not None:
            name = self._panel.name_at(found.peaks.chance.null, found.bands, match.row, match.col)
        row, col = match.row + found.corner[0], match.col + found.corner[1]
        return dataclasses.replace(match, row=row, col=col, measure=name, **known)

    def _tones(self, window: NDArray[Any], image: Image) -> dict[str, Any]:
        """Tell the tone curves and the gain of a window of an image."""
        gain = ask(self._scorer, "gain", window)
        if gain is not None:
            gain *= unit_of(image, self._greys) or 1.0
        return {"tone_curves": ask(self._scorer, "tone_curve", window) or (), "gain": gain}

    def _fraction(self, match: Match, found: Sought, precisely: bool) -> Fraction:
        """Place a match to a fraction of a pixel: by scores, and then by its pixels if asked."""
        null = None if found.peaks.chance is None else found.peaks.chance.null
        around = partial(self._panel.scores_around, null, found.bands)
        fraction = fraction_at(match, found.bands.extent, around, self._template.inside.size)
        if not precisely or self._precise is None or fraction.sigma in (0, math.inf):
            return fraction
        place = self._precise.place(found.bands.image, match.row, match.col, fraction.offset)
        return place or fraction

    @property
    def _threads(self) -> int:
        return self._n_threads or available_cpus()
