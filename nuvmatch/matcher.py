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
from .measures import BINNED, MEASURES
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
    measure : {"nuv", "ncc", "ncc2", "mi", "nmi", "ssd"}
        Which dissimilarity to compute, 0 being perfect:

        - "nuv": PWC nUV, the share of the window's variance that the template's bins do
          not explain, in [0, 1]:
          ``(Q - sum_j s_j^2 / n_j) / (Q - S^2 / d)``, s_j and n_j being the sum and the
          count of the window's greys in bin j, S and Q the sums of all d greys and squares.
        - "ncc": ``1 - NCC`` in [0, 2]; "ncc2": ``1 - NCC^2`` in [0, 1].
        - "mi": ``1 - I / H(template bins)``; "nmi": ``1 - I / H(window bins)``, both in
          [0, 1], from histograms.
        - "ssd": ``sum (w - t)^2 / (sum w^2 + sum t^2)``, cut at 1.
    bins : int, str, sequence of float, or None
        How the template's greys are cut, for "nuv", "mi" and "nmi": a number of bins,
        never more than the template has levels; a rule ("sturges", "rice", "sqrt",
        "scott", "fd", "auto"; see `nuvmatch.binning.number_of_bins`); or bin edges that
        cover the template. None: 8 bins, or fewer where the template has fewer levels or
        less than twice as many pixels.
    binning : {"optimal", "greedy", "kmeans", "equal_width", "equal_frequency"}
        Which binner of `nuvmatch.binning` places that many bins. "optimal" explains most
        of the expected tone curves, exactly.
    tones : Family or callable, optional
        The expected tone curves, for "optimal", "greedy" and bins="auto": a family of
        `nuvmatch.tones`, or a function ``f(levels, rng)`` that returns a curve. None: the
        broad mixture `nuvmatch.tones.BROAD`. Levels are the template's greys, scaled to
        [0, 1] by the sensor's range: that of uint8 and uint16; floats inside [0, 1] as
        they are; else `value_range`, or without it the template's lowest and highest.
    direction : {"ptw"}
        Pattern to window: the template's bins explain the window.
    mask : array_like of shape (h, w), optional
        Non-zero where a pixel of the template counts.
    value_range : (float, float), optional
        Greys between which the *image* is binned for "mi" and "nmi". None: the type's
        range for 8 bits, else the lowest and highest grey of the image given. For the
        levels of tone curves see `tones`.
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
        mask: ArrayLike | None = None,
        value_range: tuple[float, float] | None = None,
        n_threads: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self._name = _checks.one_of(measure, "measure", tuple(MEASURES))
        binning = _checks.one_of(binning, "binning", BINNERS)
        _checks.one_of(direction, "direction", ("ptw",))
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
        )  # fmt: skip
        self._measure = MEASURES[self._name](self._template)
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
            under the template's mask (except for "ssd"), or has a non-finite or masked-out
            pixel there.

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
        if self._name == "nuv":
            curve = self._tone_curve(image.planes[:, *place])
        return dataclasses.replace(
            match, row=match.row + row, col=match.col + column, tone_curve=curve
        )

    def _tone_curve(self, window: NDArray[Any]) -> ToneCurve:
        """Mean level and mean grey of each bin, for a window (channels, h, w)."""
        template = self._template

        def means(planes: NDArray[Any]) -> tuple[Any, ...]:
            of_channels = []
            for plane, cut in zip(planes, template.cuts, strict=True):
                greys, base = _checks.as_floats(plane[template.mask])
                unit = unit_scale(float(abs(greys).max()))  # so that no sum overflows
                sums = np.bincount(cut.labels, weights=greys * unit)
                of_channels.append(tuple((sums / cut.counts / unit + base).tolist()))
            return of_channels[0] if len(of_channels) == 1 else tuple(of_channels)

        return ToneCurve(means(template.greys + template.base), means(window))


def score_map(
    image: ArrayLike,
    template: ArrayLike,
    *,
    measure: str = "nuv",
    bins: int | str | ArrayLike | None = None,
    binning: str = "optimal",
    tones: Any = None,
    direction: str = "ptw",
    mask: ArrayLike | None = None,
    image_mask: ArrayLike | None = None,
    value_range: tuple[float, float] | None = None,
    n_threads: int | None = None,
    dtype: DTypeLike | None = None,
) -> NDArray[Any]:
    """Compute the dissimilarity of a template to every window of an image.

    Parameters
    ----------
    image, image_mask
        As for `Matcher.score_map`.
    template, measure, bins, binning, tones, direction, mask, value_range, n_threads, dtype
        As for `Matcher`.

    Returns
    -------
    ndarray of shape (H - h + 1, W - w + 1), float32 or float64
        Indexed by the window's top-left pixel; 0 is perfect, lower is better; 1 where a
        window gives no evidence (see `Matcher.score_map`).

    Raises
    ------
    TypeError, ValueError
        As `Matcher` and `Matcher.score_map`.

    Examples
    --------
    >>> image = [[1, 2, 3], [4, 6, 8], [9, 7, 5]]
    >>> score_map(image, [[0, 0], [255, 255]]).round(4)
    array([[0.1695, 0.1099],
           [0.3077, 0.8   ]], dtype=float32)
    """
    matcher = _matcher_for(
        image, template, measure=measure, bins=bins, binning=binning, tones=tones,
        direction=direction, mask=mask, value_range=value_range,
        n_threads=n_threads, dtype=dtype,
    )  # fmt: skip
    return matcher.score_map(image, image_mask=image_mask)


def locate(
    image: ArrayLike,
    template: ArrayLike,
    *,
    threshold: float | None = None,
    max_matches: int | None = None,
    min_distance: float | None = None,
    max_overlap: float = 0.25,
    roi: tuple[int, int, int, int] | None = None,
    measure: str = "nuv",
    bins: int | str | ArrayLike | None = None,
    binning: str = "optimal",
    tones: Any = None,
    direction: str = "ptw",
    mask: ArrayLike | None = None,
    image_mask: ArrayLike | None = None,
    value_range: tuple[float, float] | None = None,
    n_threads: int | None = None,
    dtype: DTypeLike | None = None,
) -> Matches:
    """Find the places of an image where a template matches best.

    Parameters
    ----------
    image, image_mask, threshold, max_matches, min_distance, max_overlap, roi
        As for `Matcher.locate`.
    template, measure, bins, binning, tones, direction, mask, value_range, n_threads, dtype
        As for `Matcher`.

    Returns
    -------
    Matches
        Best first; the single best place, unless a threshold or a number is given;
        empty when nothing passes.

    Raises
    ------
    TypeError, ValueError
        As `Matcher` and `Matcher.locate`.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (60, 80), dtype=np.uint8)
    >>> template = image[20:36, 30:46]
    >>> locate(255 - image, template)[0].box
    (30, 20, 16, 16)
    """
    matcher = _matcher_for(
        image, template, measure=measure, bins=bins, binning=binning, tones=tones,
        direction=direction, mask=mask, value_range=value_range,
        n_threads=n_threads, dtype=dtype,
    )  # fmt: skip
    return matcher.locate(
        image, image_mask=image_mask, threshold=threshold, max_matches=max_matches,
        min_distance=min_distance, max_overlap=max_overlap, roi=roi,
    )  # fmt: skip


def match_template(
    image: ArrayLike, template: ArrayLike, *, pad_input: bool = False, **options: Any
) -> NDArray[Any]:
    """Compute similarities as ``skimage.feature.match_template`` lays them out.

    Parameters
    ----------
    image, template
        As for `score_map`.
    pad_input : bool
        If True, the result has the image's shape and is indexed by the window's pixel
        ``(h // 2, w // 2)`` instead of its top-left one. Places whose window leaves the
        image are 0.
    **options
        As for `score_map`.

    Returns
    -------
    ndarray of shape (H - h + 1, W - w + 1) or (H, W), float32 or float64
        ``1 - score``: 1 is perfect, higher is better; 0 where there is no evidence. It
        feeds ``skimage.feature.peak_local_max``.

    Raises
    ------
    TypeError, ValueError
        As `score_map`.
    """
    if not isinstance(pad_input, (bool, np.bool_)):
        raise TypeError(f"pad_input is {pad_input!r}; it must be True or False")
    similarity = 1 - score_map(image, template, **options)
    if not pad_input:
        return np.asarray(similarity)
    padded = np.zeros(np.shape(image)[:2], similarity.dtype)
    row, column = np.shape(template)[0] // 2, np.shape(template)[1] // 2
    padded[row : row + similarity.shape[0], column : column + similarity.shape[1]] = similarity
    return padded


def nuv(
    template: ArrayLike,
    window: ArrayLike,
    *,
    bins: int | str | ArrayLike | None = None,
    binning: str = "optimal",
    tones: Any = None,
    direction: str = "ptw",
) -> float:
    """Compute PWC nUV of one window: how much of its variance the template leaves open.

    Parameters
    ----------
    template, window : array_like of equal shapes
        Of any dimension, taken as flat vectors of real numbers.
    bins, binning, tones, direction
        As for `Matcher`.

    Returns
    -------
    float
        In [0, 1]; 1 if the window is flat or holds a non-finite value.

    Raises
    ------
    TypeError, ValueError
        As `Matcher`, and if the shapes differ.

    Examples
    --------
    >>> nuv([2, 0, 5], [8, 2, 2], bins=[0, 3, 6])
    0.75
    """
    greys, of_window = _checks.as_greys(template, "template"), _checks.as_greys(window, "window")
    if greys.shape != of_window.shape or greys.size == 0:
        raise ValueError(
            f"the template has shape {greys.shape}, the window {of_window.shape}; "
            "they must be equal, and not empty"
        )
    scores = score_map(
        of_window.reshape(1, -1), greys.reshape(1, -1), bins=bins, binning=binning,
        tones=tones, direction=direction, n_threads=1, dtype=np.float64,
    )  # fmt: skip
    return float(scores[0, 0])


def _matcher_for(image: ArrayLike, template: ArrayLike, **options: Any) -> Matcher:
    """Make a matcher, once it is clear that the template fits the image."""
    shapes = [
        _checks.as_greys(array, name).shape
        for array, name in ((image, "image"), (template, "template"))
    ]
    planes, _ = _checks.as_planes(image, "image", f"; the template has shape {shapes[1]}")
    pattern, _ = _checks.as_planes(template, "template", f"; the image has shape {shapes[0]}")
    _checks.check_fit(planes, pattern)
    return Matcher(template, **options)
