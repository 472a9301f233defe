"""Join the wings: validate, prepare, call, wrap."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _checks
from .engine.images import Image, prepare, unit_scale
from .engine.moments import scatter_map
from .engine.slices import Slices
from .engine.threads import available_cpus
from .measures import BINNED, DIRECTIONS, MEASURES, NUV, TONE_MODELS, Tuning, make_measure
from .measures.template import BINNERS, prepare_template
from .peaks import PeakRule
from .results import Match, Matches, ToneCurve
from .tones.families import BROAD, as_family


class Matcher:
    """One template, made ready once, to be sought in any number of images.

    It can be pickled, and used from several threads at a time.

    Parameters
    ----------
    template : array_like of shape (h, w), (h, w, 1), (h, w, 2), (h, w, 3) or (h, w, 4)
        Grey; grey and alpha; colour; or colour and alpha. Of any boolean, integer or
        float type. Pixels with alpha 0 do not count.
    measure : {"nuv", "nuv_linear", "nuv_monotone", "nuv_curves", "nuv_adaptive", "ncc",
            "ncc2", "mi", "nmi", "ssd"}
        Which dissimilarity to compute, 0 being perfect:

        - "nuv": PWC nUV, the share of the window's variance that the template's bins do
          not explain, in [0, 1]:
          ``(Q - sum_j s_j^2 / n_j) / (Q - S^2 / d)``, s_j and n_j being the sum and the
          count of the window's greys in bin j, S and Q the sums of all d greys and squares.
        - "nuv_linear", "nuv_monotone", "nuv_curves", "nuv_adaptive": the same share, in
          [0, 1], but the template may explain less: not any grey for each bin, but a
          continuous curve that is straight between bin edges; greys that rise, or fall,
          from bin to bin; the sum of some principal curves of `tones`; or of the first few
          of these, as many as are worth ``exp(0.16)`` times the score for each.
        - "ncc": ``1 - NCC`` in [0, 2]; "ncc2": ``1 - NCC^2`` in [0, 1].
        - "mi": ``1 - I / H(template bins)``; "nmi": ``1 - I / H(window bins)``, both in
          [0, 1], from histograms.
        - "ssd": ``sum (w - t)^2 / (sum w^2 + sum t^2)``, cut at 1.
    bins : int, str, sequence of float, or None
        How the template's greys are cut, for "nuv..", "mi" and "nmi": a number of bins,
        never more than the template has levels; a rule ("sturges", "rice", "sqrt",
        "scott", "fd", "auto"; see `nuvmatch.binning.number_of_bins`); or bin edges that
        cover the template. None: 8 bins, or fewer where the template has fewer levels or
        less than twice as many pixels. "nuv_linear" sums 4 slices for
        each bin, by k-means; "nuv_adaptive" 1.5, unless edges are given.
    binning : {"optimal", "greedy", "kmeans", "equal_width", "equal_frequency"}
        Which binner of `nuvmatch.binning` places that many bins. "optimal" explains most
        of the expected tone curves, exactly.
    tones : Family or callable, optional
        The expected tone curves, for "optimal", "greedy", bins="auto", and the measures
        "nuv_curves" and "nuv_adaptive": a family of
        `nuvmatch.tones`, or a function ``f(levels, rng)`` that returns a curve. None: the
        broad mixture `nuvmatch.tones.BROAD`. Levels are the template's greys, scaled to
        [0, 1] by the sensor's range: that of uint8 and uint16; floats inside [0, 1] as
        they are; else `value_range`, or without it the template's lowest and highest.
    direction : {"ptw", "wtp", "both"}
        Pattern to window: the template's bins explain the window. Window to pattern: bins
        of equal width of the image's greys (`bins` of them, over `value_range`) explain the
        template, ``1 - sum_j (sum of t - mean t where w is in bin j)^2 / m_j / (d var t)``,
        m_j being the pixels in bin j; for "nuv" only. It is for templates of which one grey
        shows as several in the image. Both: the smaller of the two scores.
    polarity : {"increasing", "decreasing"}, optional
        Windows whose gain has the other sign give no evidence; "nuv_monotone" fits curves
        of this kind only. For the measures "nuv..".
    gain : (float, float), optional
        Windows whose gain is not between these give no evidence: the slope of the straight
        line through window greys over template greys, both averaged in bins. Either may be
        infinite. For the measures "nuv..".
    n_curves : int, optional
        How many principal curves "nuv_curves" fits, and "nuv_adaptive" at most. None: as
        many as explain 99 % of the expected tones, and 6.
    adjusted : bool
        Divide scores by their mean for white noise, ``(d - b) / (d - 1)`` for "nuv": then
        that is 1 for all bins, masks and sizes. They are not cut above; no evidence has the
        score ``(d - 1) / (d - b)``. Not for "nuv_adaptive" or direction "both".
    mask : array_like of shape (h, w), optional
        Non-zero where a pixel of the template counts.
    value_range : (float, float), optional
        Greys between which the *image* is binned, for "mi", "nmi", and the directions
        "wtp" and "both". None: the type's range for 8 bits, else the lowest and highest
        grey of the image given. For the levels of tone curves see `tones`.
    n_threads : int, optional
        Most threads to use. None: as many as there are CPUs for this process.
    dtype : {float32, float64}, optional
        Type of score maps. None: float64 for float64 images, else float32.

    Attributes
    ----------
    labels : ndarray of int, of shape (h, w) or (h, w, 3), or None
        The bin of each pixel, -1 where it does not count. None if the measure has no bins.
    bin_edges : ndarray of shape (b + 1,), list of three such, or None
        Edges in greys of the template: bins are ``[edge_j, edge_j+1)``, the last closed.
    counts : ndarray of shape (b,), list of three such, or None
        Pixels in each bin.

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

    labels: NDArray[np.int64] | None
    bin_edges: NDArray[np.float64] | list[NDArray[np.float64]] | None
    counts: NDArray[np.int64] | list[NDArray[np.int64]] | None

    def __init__(
        self,
        template: ArrayLike,
        *,
        measure: str = "nuv",
        bins: int | str | ArrayLike | None = None,
        binning: str = "optimal",
        tones: Any = None,
        direction: str = "ptw",
        polarity: str | None = None,
        gain: tuple[float, float] | None = None,
        n_curves: int | None = None,
        adjusted: bool = False,
        mask: ArrayLike | None = None,
        value_range: tuple[float, float] | None = None,
        n_threads: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self._name = _checks.one_of(measure, "measure", MEASURES)
        binning = _checks.one_of(binning, "binning", BINNERS)
        tuning = _check_model(self._name, direction, polarity, gain, n_curves, adjusted)
        family = BROAD if tones is None else as_family(tones)
        if value_range is not None:
            value_range = _checks.as_range(value_range, "value_range")
        if n_threads is not None:
            n_threads = _checks.as_integer(n_threads, "n_threads", 1)
        self._n_threads = n_threads
        self._dtype = None if dtype is None else _checks.as_map_type(dtype)

        self._template = prepare_template(
            template, mask, bins=bins, binner=binning, family=family,
            value_range=value_range,
            binned=self._name in BINNED, flat_is_fine=self._name == "ssd",
            backwards=direction != "ptw",
        )  # fmt: skip
        self._measure, self._forwards = make_measure(self._name, direction, self._template, tuning)
        made = self._template
        edges = [cut.edges + made.base for cut in made.cuts]
        counts = [cut.counts for cut in made.cuts]
        self.labels = self.bin_edges = self.counts = None
        if len(edges) == 1:
            self.labels, self.bin_edges, self.counts = made.labels[0], edges[0], counts[0]
        elif edges:
            self.labels = np.moveaxis(made.labels, 0, -1)
            self.bin_edges, self.counts = edges, counts

    def __repr__(self) -> str:
        height, width = self._template.mask.shape
        return f"<Matcher {self._name!r} for a template of {height} x {width}>"

    def score_map(
        self,
        image: ArrayLike,
        *,
        image_mask: ArrayLike | None = None,
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
        out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64, optional
            Where to put the map, whose type it then decides: the frames of a video need
            no fresh memory each.

        Returns
        -------
        ndarray of shape (H - h + 1, W - w + 1), float32 or float64
            `out`, or a new map. Indexed by the window's top-left pixel; 0 is perfect,
            lower is better. It is 1 where a window gives no evidence: where it is flat
            under the template's mask (except for "ssd"), has a non-finite or masked-out pixel
            there, or is refused by `polarity` or `gain`.

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above, or the template is larger than the
            image.
        """
        return self._scores(self._prepare(image, image_mask), nothing=1.0, out=out)

    def valid(self, image: ArrayLike, *, image_mask: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Tell which windows give evidence: where a score of 1 is no mere stand-in.

        Parameters
        ----------
        image, image_mask
            As for `score_map`.

        Returns
        -------
        ndarray of bool, of shape (H - h + 1, W - w + 1)

        Raises
        ------
        TypeError, ValueError
            As `score_map`.
        """
        prepared = self._prepare(image, image_mask)
        if self._forwards is not None and self._forwards.limited:
            return np.asarray(~np.isnan(self._scores(prepared, nothing=np.nan)))
        slices = Slices.whole(self._template.mask, len(prepared.planes))
        scatter = scatter_map(prepared, slices, self._map_shape(prepared), self._threads())
        return ~np.isnan(scatter) if self._name == "ssd" else scatter > 0

    def locate(
        self,
        image: ArrayLike,
        *,
        image_mask: ArrayLike | None = None,
        threshold: float | None = None,
        max_matches: int | None = None,
        min_distance: float | None = None,
        max_overlap: float = 0.25,
        roi: tuple[int, int, int, int] | None = None,
    ) -> Matches:
        """Find the places where the template matches best.

        Parameters
        ----------
        image, image_mask
            As for `score_map`.
        threshold, max_matches, min_distance, max_overlap
            As for `nuvmatch.find_peaks`. With neither threshold nor max_matches: the
            single best place.
        roi : (int, int, int, int), optional
            Row, column, height and width of the part of the image in which windows
            must lie wholly. Answers are in coordinates of the full image.

        Returns
        -------
        Matches
            Best first; empty when nothing passes, or no window gives evidence.

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above, or the template is larger than
            the image or the region.
        """
        rule = PeakRule(threshold, max_matches, min_distance, max_overlap)
        prepared = self._prepare(image, image_mask)
        row = column = 0
        if roi is not None:
            row, column, *size = _checks.as_region(roi, prepared.shape, self._template.mask.shape)
            prepared = prepared.crop(row, column, *size)
        scores = self._scores(prepared, nothing=np.nan)
        matches = rule.find(scores, self._template.mask.shape, None)  # NaN is no peak
        return Matches(self._complete(match, prepared, row, column) for match in matches)

    def _threads(self) -> int:
        return self._n_threads or available_cpus()

    def _prepare(self, image: ArrayLike, image_mask: ArrayLike | None) -> Image:
        beside = f"; the template has shape {self._template.mask.shape}"
        planes, alpha = _checks.as_planes(image, "image", beside)
        _checks.check_fit(planes, self._template.greys)
        mask = _checks.as_mask(image_mask, "image_mask", planes.shape[1:])
        if alpha is not None:
            mask = alpha if mask is None else mask & alpha
        return prepare(planes, mask, self._template.mask.size)

    def _map_shape(self, image: Image) -> tuple[int, int]:
        height, width = self._template.mask.shape
        return image.shape[0] - height + 1, image.shape[1] - width + 1

    def _scores(
        self, image: Image, nothing: float, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Score map, with `nothing` where there is no evidence."""
        shape, dtype = self._map_shape(image), self._dtype
        if out is not None:
            dtype = _checks.as_output(out, shape, dtype)
        elif dtype is None:
            kind = image.planes.dtype
            dtype = np.dtype(np.float64 if kind.kind == "f" and kind.itemsize >= 8 else np.float32)
        fits = out is not None and out.flags.c_contiguous
        fits = fits and not np.may_share_memory(out, image.planes)
        scores = out if out is not None and fits else np.empty(shape, dtype)
        self._measure.fill(image, scores, nothing, self._threads())
        if out is None or fits:
            return scores
        out[:] = scores
        return out

    def _complete(self, match: Match, image: Image, row: int, column: int) -> Match:
        """Add the tone curve, and the place of the region in the image."""
        place = (
            slice(match.row, match.row + match.height),
            slice(match.col, match.col + match.width),
        )
        curve = None
        if self._forwards is not None:
            curve = self._tone_curve(self._forwards, image.planes[:, *place])
        return dataclasses.replace(
            match, row=match.row + row, col=match.col + column, tone_curve=curve
        )

    def _tone_curve(self, forwards: NUV, window: NDArray[Any]) -> ToneCurve:
        """Mean level of each slice, and the grey that the model has for it in a window."""
        template, channel = self._template, forwards.slices.channel
        greys, base = _checks.as_floats(window[:, template.mask])
        unit = unit_scale(float(abs(greys).max()))  # so that no sum overflows
        means = forwards.slice_means(greys * unit)
        scatter = float(((greys * unit).var(axis=1) * template.pixels).sum())
        values = forwards.model.fit(means, scatter) / unit + base
        levels = forwards.levels + template.base

        def of_channels(numbers: NDArray[np.float64]) -> tuple[Any, ...]:
            parts = [tuple(numbers[channel == c].tolist()) for c in range(len(greys))]
            return parts[0] if len(parts) == 1 else tuple(parts)

        return ToneCurve(of_channels(levels), of_channels(values))


def _check_model(
    measure: str,
    direction: str,
    polarity: str | None,
    gain: tuple[float, float] | None,
    n_curves: int | None,
    adjusted: bool,
) -> Tuning:
    """Check what is asked of a tone model, and whether it goes together."""
    _checks.one_of(direction, "direction", DIRECTIONS)
    if polarity is not None:
        _checks.one_of(polarity, "polarity", ("increasing", "decreasing"))
    if gain is not None:
        gain = _checks.as_range(gain, "gain", finite=False)
    if n_curves is not None:
        n_curves = _checks.as_integer(n_curves, "n_curves", 1)
    if not isinstance(adjusted, (bool, np.bool_)):
        raise TypeError(f"adjusted is {adjusted!r}; it must be True or False")
    backwards = None if direction == "ptw" else direction
    options = {"direction": backwards, "polarity": polarity, "gain": gain}
    for name, value in {**options, "adjusted": adjusted or None}.items():
        if value is not None and measure not in TONE_MODELS:
            models = ", ".join(map(repr, TONE_MODELS))
            raise ValueError(
                f"{name}={value!r} does not go with measure {measure!r}, only with {models}"
            )
        if value is not None and name in ("polarity", "gain") and direction == "wtp":
            raise ValueError(f"{name} is of the direction 'ptw' or 'both', not of 'wtp'")
    if n_curves is not None and measure not in ("nuv_curves", "nuv_adaptive"):
        raise ValueError(f"n_curves is for 'nuv_curves' and 'nuv_adaptive', not for {measure!r}")
    if direction == "wtp" and measure != "nuv":
        raise ValueError(f"direction 'wtp' has the measure 'nuv' only, not {measure!r}")
    if adjusted and (measure == "nuv_adaptive" or direction == "both"):
        raise ValueError(
            "adjusted=True is not for 'nuv_adaptive' or direction 'both', whose mean on noise "
            "is not known"
        )
    tuning = Tuning(n_curves, polarity, gain, bool(adjusted))
    if not tuning.gains[0] <= tuning.gains[1]:
        raise ValueError(f"no gain between {gain} is {polarity}; every window would be refused")
    return tuning
