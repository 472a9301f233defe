"""What tests share: labels and greys as photographs have them, and as they cost digits.

With them the values that maps are compared with, put together from the loops in `naive`.
"""

from dataclasses import fields

import naive
import numpy as np

from nuvmatch import (
    MI,
    NCC,
    NUV,
    SSD,
    AdaptiveNUV,
    CurvesNUV,
    Highest,
    LinearNUV,
    Lowest,
    MonotoneNUV,
    WindowToPattern,
)
from nuvmatch.engine import Programs, Tile, for_each_tile
from nuvmatch.engine.moments import tile_moments
from nuvmatch.engine.plan import inside_way
from nuvmatch.engine.threads import tiles
from nuvmatch.measures import Template, as_measure

TOLERANCE = 1e-9  # of float64 maps
SINGLE_TOLERANCE = 1e-6  # of float32 maps, in which 1 is a multiple of 6e-8
TYPES = [np.uint8, np.int8, np.uint16, np.int32, np.float32, np.float64]

# Of image and window: from one pixel to a template as large as the image.
SHAPES = [
    ((1, 1), (1, 1)),
    ((1, 3), (1, 3)),
    ((3, 1), (3, 1)),
    ((1, 12), (1, 5)),
    ((12, 1), (5, 1)),
    ((9, 9), (9, 9)),
    ((12, 11), (1, 3)),
    ((10, 14), (2, 2)),
    ((13, 11), (3, 7)),
    ((20, 17), (5, 8)),
    ((20, 21), (16, 16)),
]

TONE_MODELS = [NUV, LinearNUV, MonotoneNUV, CurvesNUV, AdaptiveNUV]
PLAIN = ["nuv", "ncc", "ncc2", "mi", "nmi", "ssd"]  # measures whose loops are quick
MEASURES = [
    NUV(), LinearNUV(), MonotoneNUV(), CurvesNUV(), AdaptiveNUV(), NUV(adjusted=True),
    NUV(polarity="increasing"), WindowToPattern(), MI(), MI(normalize="window"),
    MI(normalize="both"), NCC(), NCC(squared=True), SSD(),
    Lowest(NUV(), WindowToPattern()), Highest("ncc2", "mi"),
]  # fmt: skip


def random_labels(rng, shape):
    """Labels 0, 1, .. without gaps, and -1 for some pixels but the first."""
    labels = rng.integers(0, 4, shape)
    counts = rng.random(shape) < 0.8
    counts[0, 0] = True
    packed = np.unique(labels[counts], return_inverse=True)[1]
    labels[:] = -1
    labels[counts] = packed
    return labels


def smooth_labels(rng, shape, bins):
    """Labels in patches of several pixels, as photographs have them."""
    coarse = rng.random((-(-shape[0] // 5), -(-shape[1] // 7)))
    fine = np.kron(coarse, np.ones((5, 7)))[: shape[0], : shape[1]] + 0.1 * rng.random(shape)
    return np.unique((bins * fine).astype(int), return_inverse=True)[1].reshape(shape)


def levels(rng):
    """A small template of few levels."""
    return np.round(rng.random((5, 6)), 1) * 100


def _greys(rng):
    return rng.standard_normal((24, 40))


def _in(part, of):
    """Greys, with a part of them set to a value, or made by a function of them."""

    def make(rng):
        greys = _greys(rng)
        greys[part] = of(greys[part]) if callable(of) else of
        return greys

    return make


def _hot_pixel(rng):
    greys = _in(np.s_[:9, :12], 2)(rng)  # flat windows beside it
    greys[20, 35] = 1e300
    return greys


def _sentinel(rng):
    greys = _greys(rng) * 1e-20
    greys[20, 35] = np.finfo(float).max
    return greys


def _plateaus(rng):
    greys = _in(np.s_[:, :10], 1e6)(rng)
    greys[:, 30:] = -1e6
    return greys


def _whole_plateau(rng):
    greys = rng.integers(0, 9, (24, 40))
    greys[:, 20:] += 2**28
    return greys


# Images that make sums lose digits, by what is bad about them.
RIGHT = np.s_[:, 20:]
TROUBLES = {
    "offset": lambda rng: _greys(rng) + 1e6,
    "negative offset": lambda rng: _greys(rng) - 1e6,
    "plateaus": _plateaus,
    "bright half": _in(RIGHT, 65535),
    "tiny contrast": lambda rng: 0.5 + 1e-9 * _greys(rng),
    "ramp": lambda rng: (np.arange(40) * 1e3 + _greys(rng)).astype(np.float32),
    "hot pixel": _hot_pixel,
    "hidden contrast": _in(RIGHT, lambda greys: greys * 1e-200),
    "sentinel": _sentinel,
    "subnormal": lambda rng: _greys(rng) * 1e-310,
    "step": _in(RIGHT, lambda greys: greys + 12_000),
    "whole plateau": _whole_plateau,
    "wide integers": lambda rng: rng.integers(0, 2**30, (24, 40)),
    "pedestal": lambda rng: rng.integers(60_000, 60_016, (24, 40)).astype(np.uint16),
    "two bright greys": lambda rng: rng.integers(254, 256, (24, 40)).astype(np.uint8),
    "saturated half": lambda rng: np.where(
        np.arange(40) < 20, 255, rng.integers(0, 256, (24, 40))
    ).astype(np.uint8),
}


def noise_scene(rng, image, window, dtype):
    """An image with a plateau, and a template that is not flat."""
    whole = np.dtype(dtype).kind in "ui"
    pixels = rng.integers(0, 100, image) if whole else rng.integers(-50, 50, image) / 50
    pixels[: image[0] // 2, : image[1] // 2] = pixels[0, 0]
    template = rng.integers(0, 40, window)
    template.flat[0], template.flat[-1] = 0, 40
    return pixels.astype(dtype), template.astype(dtype)


def planted_scene(rng, image, window, dtype, channels=None):
    """Noise that holds a plateau, and, inverted, a template of rough and smooth parts."""
    shape = (*image, channels) if channels else image
    pixels = rng.integers(0, 120, shape)
    pixels[: image[0] // 3, : image[1] // 3] = 7
    template = 2 * smooth_labels(rng, window, 40) + rng.integers(0, 9, window)
    if channels:
        template = np.stack([np.roll(template, c, axis=0) for c in range(channels)], axis=-1)
    pixels[-window[0] - 2 : -2, -window[1] - 1 : -1] = 110 - template
    return pixels.astype(dtype), template.astype(dtype)


def name_of_measure(measure):
    """Short, for pytest to print: what differs from the defaults."""
    if isinstance(measure, str):
        return measure
    parts = getattr(measure, "measures", None)
    if parts is not None:
        return f"{type(measure).__name__}({', '.join(map(name_of_measure, parts))})"
    changed = (f for f in fields(measure) if getattr(measure, f.name) != f.default)
    settings = ", ".join(f"{f.name}={getattr(measure, f.name)}" for f in changed)
    return f"{type(measure).__name__}({settings})"


def labels_of(bins):
    """Labels of a template, (h, w), or (h, w, channels) for colour."""
    labels = np.stack([cut.labels for cut in bins], axis=-1)
    return labels[..., 0] if len(bins) == 1 else labels


def flat_windows(image, mask):
    """Which windows show one grey only where the mask counts, in every channel."""
    flat = [naive.is_flat(window, mask) for _, window in naive.windows(image, mask.shape)]
    return np.reshape(flat, naive.map_shape(image, mask.shape))


def reference(image, template, measure, mask=None, value_range=None):
    """Score map of any measure by the loops; 1 where a window gives no evidence."""
    return naive.replace_nan(marked_reference(image, template, measure, mask, value_range), 1)


def marked_reference(image, template, measure, mask=None, value_range=None):
    """Do the same, but with NaN where a window is not flat but in one bin of the image."""
    image, template, measure = np.asarray(image), np.asarray(template), as_measure(measure)
    match measure:
        case Lowest() | Highest():
            maps = [marked_reference(image, template, part, mask) for part in measure.measures]
            return (np.minimum if isinstance(measure, Lowest) else np.maximum).reduce(maps)
        case NCC():
            scores = naive.ncc_map(image, template, mask)
            return 1 - (1 - scores) ** 2 if measure.squared else scores
        case SSD():
            return naive.ssd_map(image, template, mask)
    prepared = Template.of(template, mask)
    ends = value_range or naive.usual_range(image)
    if isinstance(measure, WindowToPattern):
        bins = measure.bins or min(8, (prepared.pixels + 1) // 2)
        if measure.binned:
            template = naive.to_means(template, labels_of(measure.prepare(prepared).bins))

        def score(window):
            return naive.window_to_pattern(window, template, prepared.mask, bins, ends)

        return over_windows(score, image, template.shape)
    scorer = measure.prepare(prepared)
    if isinstance(measure, MI):
        labels, bins = labels_of(scorer.bins), measure.bins or 8
        return naive.mutual_information_map(image, labels, bins, ends, measure.normalize)
    return model_map(scorer, image)


def model_map(scorer, image, step=1):
    """Score map of a tone model by the loops, for its slices and curves."""
    model, labels = scorer.model, labels_of(scorer.bins)

    def score(window):
        if hasattr(model, "curves"):
            own = [model.curves[:, model.channel_of_slice == c] for c in range(len(scorer.bins))]
            return naive.few_curves_window(window, labels, own, model.factors)
        if hasattr(model, "rising"):
            signs = [1] * model.rising + [-1] * model.falling
            return naive.monotone_window(window, labels, signs)
        return naive.nuv_window(window, labels)

    return over_windows(score, image, labels.shape, step)


def over_windows(score, image, shape, step=1):
    """Map of a function of windows; of one out of `step`, and NaN for the others."""
    scores = np.full(naive.map_shape(image, shape), np.nan)
    for i, (place, window) in enumerate(naive.windows(np.asarray(image), shape)):
        if i % step == 0:
            scores[place] = score(window)
    return scores


def slice_sums_of(image, slices, dtype=np.float64, method=None, n_threads=1):
    """Slice sums of all windows less those of their means, and the windows' scatter."""
    height, width = slices.shape
    shape = image.shape[0] - height + 1, image.shape[1] - width + 1
    sums, scatter = np.empty((slices.counts.size, *shape)), np.empty(shape)

    def keep(tile, out):
        rows, columns = tile.tile.shape
        totals = tile.totals[slices.channel_of_slice, :rows, :columns].astype(float)
        of_tile = tile.sums[:, :rows, :columns].astype(float)
        deviations = of_tile - slices.counts[:, None, None] * totals / slices.pixels
        sums[:, *tile.place] = deviations
        scatter[tile.place] = tile.scatter[:rows, :columns]

    for_each_tile(image, Programs(slices), keep, np.empty(shape, dtype), n_threads, method)
    return sums, scatter


def moments_of(image, slices, tile, accuracy=1e-10):
    """Moments of the windows of one tile, the way there being the plan's."""
    programs = Programs(slices)
    inside = inside_way(image, programs, [tile])
    return next(tile_moments(image, programs, tile, accuracy, inside))


def exact_moments(image, slices, tile):
    """Means, scatter and unit of a tile's windows, those that lost digits in two passes."""
    moments = moments_of(image, slices, tile)
    means, unit = moments.levels()
    scatter = moments.scatter.copy()
    if moments.inexact is not None:
        found = moments.recompute(slices.merged, moments.inexact)
        place = found.ys, found.xs
        scatter[place], unit[place], means[:, *place] = found.scatter, found.unit, found.means
    columns = tile.shape[1]
    return means[..., :columns], scatter[:, :columns], unit[:, :columns]


def scatter_of(image, slices, largest=(96, 1024)):
    """Exact scatter of all windows, tile by tile."""
    height, width = slices.shape
    shape = image.shape[0] - height + 1, image.shape[1] - width + 1
    scatter = np.empty(shape)
    for tile in tiles(shape, *largest):
        scatter[tile.place] = exact_moments(image, slices, Tile(*tile))[1]
    return scatter


def all_windows(plane, shape):
    """View of all windows, where loops over them would take too long."""
    return np.lib.stride_tricks.sliding_window_view(plane, shape)
