"""The formulas as plain loops, in two-pass float64: what every kernel is compared with."""

import itertools
import math
from fractions import Fraction

import numpy as np


def windows(image, shape):
    """Yield ((row, col), window) for every window of a score map."""
    for row in range(image.shape[0] - shape[0] + 1):
        for col in range(image.shape[1] - shape[1] + 1):
            yield (row, col), image[row : row + shape[0], col : col + shape[1]]


def map_shape(image, shape):
    return image.shape[0] - shape[0] + 1, image.shape[1] - shape[1] + 1


def as_channels(array):
    """(height, width) or (height, width, channels) -> list of planes."""
    array = np.asarray(array)
    return [array] if array.ndim == 2 else [array[..., c] for c in range(array.shape[2])]


def unit(values):
    """Power of two that brings values into [-1, 1], where no square overflows."""
    return math.ldexp(1, min(-math.frexp(abs(values).max())[1], 1000))


def squares(values):
    """Sum of squared deviations from the mean."""
    values = np.asarray(values, float).ravel()
    values = values - values[0]  # so that the mean is not rounded by an offset
    return float(((values - values.mean()) ** 2).sum())


def moderate(window, counts):
    """A window in a range where no square overflows, less a grey of each channel; 0 outside."""
    window = np.where(counts, window, 0.0)
    window *= unit(window)
    for plane, inside in zip(as_channels(window), as_channels(counts), strict=True):
        plane[inside] -= plane[inside][0]
    return window


def is_flat(window, counts):
    return all(np.ptp(plane[counts]) == 0 for plane in as_channels(window))


def nuv_window(window, labels):
    """Variance within the bins over variance, channels pooled; 1 if flat."""
    window, labels = np.asarray(window, float), np.asarray(labels)
    if is_flat(window, as_channels(labels)[0] >= 0):
        return 1.0
    window = moderate(window, labels >= 0)
    within = total = 0.0
    for plane, bins in zip(as_channels(window), as_channels(labels), strict=True):
        total += squares(plane[bins >= 0])
        within += sum(squares(plane[bins == j]) for j in np.unique(bins[bins >= 0]))
    return min(max(within / total, 0.0), 1.0)


def few_curves_window(window, labels, curves, factors):
    """Least squares fit of the first curves, channel by channel, best over their number."""
    window = np.asarray(window, float)
    if is_flat(window, as_channels(labels)[0] >= 0):
        return 1.0
    window = moderate(window, np.asarray(labels) >= 0)
    scores = [1.0]
    for number, factor in enumerate(factors, 1):
        left = total = 0.0
        for plane, bins, own in zip(as_channels(window), as_channels(labels), curves, strict=True):
            greys = plane[bins >= 0]
            columns = [np.ones(greys.size), *(curve[bins[bins >= 0]] for curve in own[:number])]
            fit, *_ = np.linalg.lstsq(np.stack(columns, axis=1), greys, rcond=None)
            left += ((greys - np.stack(columns, axis=1) @ fit) ** 2).sum()
            total += squares(greys)
        scores.append(factor * left / total)
    return min(scores)


def monotone_window(window, labels, signs=(1, -1)):
    """Least squares over all cuts of the bins into pools whose means rise, or fall."""
    window = np.asarray(window, float)
    if is_flat(window, as_channels(labels)[0] >= 0):
        return 1.0
    window = moderate(window, np.asarray(labels) >= 0)
    scores = []
    for sign in signs:
        left = total = 0.0
        for plane, bins in zip(as_channels(window), as_channels(labels), strict=True):
            groups = [sign * plane[bins == k] for k in range(bins.max() + 1)]
            total += squares(plane[bins >= 0])
            left += min(
                sum(squares(pool) for pool in pools)
                for pools in cuts_of(groups)
                if all(a.mean() <= b.mean() for a, b in itertools.pairwise(pools))
            )
        scores.append(left / total)
    return min(scores)


def cuts_of(groups):
    """Every way to pool neighbours."""
    for cuts in itertools.product([False, True], repeat=len(groups) - 1):
        places = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(groups)]
        yield [np.concatenate(groups[a:b]) for a, b in itertools.pairwise(places)]


def cheapest_runs(line, between, root, run, pixel):
    """Least price to go along a line from the root's run to it, by trying all runs."""

    def price(runs):
        turns = sum(between[a][b] for a, b in itertools.pairwise((root, *runs, root)))
        return run * turns + pixel * sum(between[a][b] for a, b in zip(runs, line, strict=True))

    return min(map(price, itertools.product(range(len(between)), repeat=len(line))))


def usual_range(image, good=None):
    """Lowest and highest good grey, but for a few that are far from all others."""
    greys = sorted(np.asarray(image)[... if good is None else good].ravel().tolist())
    middle = greys[len(greys) // 2]
    below = [grey for grey in greys if grey < middle]
    above = [grey for grey in greys if grey > middle]
    others = len(below) + len(above)  # a background of one grey counts for nothing
    few = int(min(others / 100, math.sqrt(others)))
    kept = [*below[few:], middle, *above[: max(len(above) - few, 0)]]
    if kept[0] == kept[-1]:
        return greys[0], greys[-1]
    reach = (kept[-1] - kept[0]) / 2
    usual = [grey for grey in greys if kept[0] - grey <= reach and grey - kept[-1] <= reach]
    return usual[0], usual[-1]


def image_bins(image, bins, value_range):
    """How many inner edges of bins of equal width are not above each grey."""
    edges = np.linspace(*value_range, bins + 1)[1:-1]
    return np.array([[sum(grey >= edge for edge in edges) for grey in row] for row in image])


def to_means(template, labels):
    """Each grey of a slice as the mean of these, channel by channel."""
    found = np.array(template, float)
    for plane, of_plane in zip(as_channels(found), as_channels(labels), strict=True):
        for label in set(of_plane.ravel().tolist()) - {-1}:
            plane[of_plane == label] = plane[of_plane == label].mean()
    return found


def window_to_pattern(window, template, counts, bins, value_range):
    """Variance of the template within the window's bins over its variance, channels pooled.

    NaN if the window is in one bin.
    """
    edges = np.linspace(*value_range, bins + 1)[1:-1]
    labels_of = [np.digitize(plane[counts], edges) for plane in as_channels(window)]
    if not any(map(np.ptp, labels_of)):
        return math.nan
    within = total = 0.0
    for labels, greys in zip(labels_of, as_channels(template), strict=True):
        own = np.asarray(greys, float)[counts]
        total += squares(own)
        within += sum(squares(own[labels == j]) for j in np.unique(labels))
    return within / total


def nuv_map(image, labels, mask=None):
    """PWC nUV of every window; pixels with label -1 or mask 0 do not count."""
    labels = np.array(labels)
    if mask is not None:
        labels[np.asarray(mask) == 0] = -1
    scores = np.empty(map_shape(image, labels.shape))
    for place, window in windows(image, labels.shape):
        scores[place] = nuv_window(window, labels)
    return scores


def inside(window, template, mask):
    """Greys that count, one row for each channel, of window and template."""
    mask = np.ones(np.shape(template)[:2], bool) if mask is None else np.asarray(mask) != 0
    return (
        np.array([plane[mask] for plane in as_channels(window)], float),
        np.array([plane[mask] for plane in as_channels(template)], float),
    )


def centred(greys):
    """Greys (channels, pixels) less their mean, which no offset rounds."""
    greys = greys - greys[:, :1]
    return greys - greys.mean(axis=1, keepdims=True)


def ncc_map(image, template, mask=None):
    """1 - NCC of every window, channels pooled; 1 if flat."""
    scores = np.ones(map_shape(image, template.shape))
    for place, window in windows(image, template.shape):
        w, t = inside(window, template, mask)
        if np.ptp(w, axis=1).any():
            w, t = centred(w), centred(t)
            w *= unit(w)
            scores[place] = 1 - (w * t).sum() / math.sqrt((w**2).sum() * (t**2).sum())
    return scores


def ssd_map(image, template, mask=None):
    scores = np.empty(map_shape(image, template.shape))
    for place, window in windows(image, template.shape):
        w, t = inside(window, template, mask)
        common = min(unit(w), unit(t))
        w, t = w * common, t * common
        total = (w**2).sum() + (t**2).sum()
        scores[place] = min(((w - t) ** 2).sum() / total, 1) if total else 0
    return scores


def entropy(labels):
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return -float(sum(p * math.log(p) for p in shares))


def mutual_information_map(image, labels, bins, value_range, by):
    """1 - I / H of every window, channels pooled; NaN if it is in one bin.

    H is the template's entropy, the window's, or the mean of both.
    """
    edges = np.linspace(*value_range, bins + 1)[1:-1]
    scores = np.full(map_shape(image, labels.shape), np.nan)
    for place, window in windows(image, labels.shape):
        information = total = 0.0
        in_one_bin = True
        for plane, template in zip(as_channels(window), as_channels(labels), strict=True):
            counts = template >= 0
            a = template[counts]
            b = np.searchsorted(edges, plane[counts], side="right")
            both = np.unique(np.stack([a, b]), axis=1, return_inverse=True)[1].ravel()
            information += entropy(a) + entropy(b) - entropy(both)
            entropies = {"template": entropy(a), "window": entropy(b)}
            total += entropies.get(by, (entropy(a) + entropy(b)) / 2)
            in_one_bin &= np.ptp(b) == 0
        if not in_one_bin:
            scores[place] = min(max(1 - information / total, 0), 1)
    return scores


def joint_sums(bins, labels, values=None):
    """Over joint histograms: n log2 n, of the image's bins too, the fullest of these, explained.

    That is (sum of values)^2 / pixels of each bin of the image.
    """
    values = np.zeros(labels.max() + 1) if values is None else values
    found = np.zeros((4, *map_shape(bins, labels.shape)))
    for place, window in windows(bins, labels.shape):
        both = np.stack([window[labels >= 0], labels[labels >= 0]])
        cells = np.unique(both, axis=1, return_counts=True)[1]
        numbers, own = np.unique(both[0], return_counts=True)
        sums = [sum(values[k] for k in both[1, both[0] == j]) for j in numbers]
        joint, of_image = (float((n * np.log2(n)).sum()) for n in (cells, own))
        found[(..., *place)] = joint, of_image, own.max(), (np.square(sums) / own).sum()
    return found


def replace_nan(scores, value):
    """Scores with the value wherever one is no number."""
    return np.array([[value if math.isnan(score) else score for score in row] for row in scores])


def box_sums(plane, height, width):
    sums = np.empty(map_shape(plane, (height, width)), plane.dtype)
    for place, window in windows(plane, (height, width)):
        sums[place] = window.sum()
    return sums


def inner_sums(plane, mask):
    """Sums of the greys under the mask, and of their squares, of every window."""
    shape = map_shape(plane, mask.shape)
    sums, squares = np.empty(shape, plane.dtype), np.empty(shape, plane.dtype)
    for place, window in windows(plane, mask.shape):
        sums[place], squares[place] = window[mask].sum(), (window[mask] ** 2).sum()
    return sums, squares


def scatter(window, counts):
    """Sum of squared deviations from the mean of each channel."""
    return sum(squares(plane[counts]) for plane in as_channels(window))


def inexact(scatter, squares, factor, least):
    """Where scatter is not above `least`, or not above that share of the squares."""
    out = np.empty(scatter.shape, bool)
    for place in np.ndindex(scatter.shape):
        enough = max(least, factor * sum(plane[place] for plane in squares))
        out[place] = not scatter[place] > enough
    return out


def lattice(greys, low, per_grey):
    """Steps of each grey from the lowest, and whether each step is one grey."""
    exact = [Fraction(float(per_grey)) * (Fraction(float(g)) - Fraction(low)) for g in greys]
    steps = [round(at) for at in exact]
    return steps, len(set(steps)) == len(set(zip(steps, greys.tolist(), strict=True)))


def energy(patch, origin):
    """Sum of squared differences from a number."""
    return float(sum((float(grey) - origin) ** 2 for grey in patch.flat))


def turned(numbers):
    """Rows as columns."""
    return np.array([[row[x] for row in numbers] for x in range(numbers.shape[1])])


def bin_sums(bins, numbers, mask, number):
    """Per bin, sum of numbers and count of pixels where the window is in it, under the mask."""
    found = np.empty((number, 2, *map_shape(bins, mask.shape)))
    for place, window in windows(bins, mask.shape):
        for j in range(number):
            here = mask & (window == j)
            found[j, 0][place], found[j, 1][place] = numbers[here].sum(), here.sum()
    return found


def gain(window, template, labels):
    """Slope of the straight line through means of bins, window over template, pooled."""
    products = squares = 0.0
    planes = zip(as_channels(window), as_channels(template), as_channels(labels), strict=True)
    for plane, greys, bins in planes:
        t, w = np.zeros((2, np.count_nonzero(bins >= 0)))
        for j in np.unique(bins[bins >= 0]):
            own = bins[bins >= 0] == j
            t[own], w[own] = greys[bins == j].mean(), plane[bins == j].mean()
        products += ((t - t.mean()) * (w - w.mean())).sum()
        squares += ((t - t.mean()) ** 2).sum()
    return products / squares


def slice_sums(image, labels):
    """Per slice, row and column: sum of the window's greys less the window's mean."""
    slices = labels.max() + 1
    sums = np.empty((slices, *map_shape(image, labels.shape)))
    for (row, col), window in windows(image, labels.shape):
        centred = window - np.mean(window[labels >= 0])
        for j in range(slices):
            sums[j, row, col] = centred[labels == j].sum()
    return sums


def row_bounds(image, labels, first, step):
    """Per window: squares that slices leave open of every so many rows, over all its scatter.

    Infinite where the window is flat.
    """
    height = labels.shape[1]
    found = np.full(map_shape(image, labels.shape[1:]), np.inf)
    for (row, col), window in windows(image.astype(float), labels.shape[1:]):
        within = whole = 0.0
        for plane, own in zip(as_channels(window), labels, strict=True):
            whole += squares(plane[own >= 0])
            part, slices = plane[first:height:step], own[first:height:step]
            within += sum(squares(part[slices == k]) for k in np.unique(slices[slices >= 0]))
        if whole > 0:
            found[row, col] = within / whole
    return found


def blocks_left_open(image, labels, row, col, side=4):
    """Of a window: root of the squares that slices leave open of sums of blocks; those within.

    Blocks are of so many pixels a side, each by shares of the slices; what is within counts
    where one slice has all of a block.
    """
    open_squares = within = 0.0
    for plane, own in zip(as_channels(image.astype(float)), labels, strict=True):
        height, width = (extent // side * side for extent in own.shape)
        sums, shares = [], []
        for y in range(0, height, side):
            for x in range(0, width, side):
                part = np.s_[y : y + side, x : x + side]
                block = plane[row + y : row + y + side, col + x : col + x + side]
                sums.append(block.sum())
                shares.append([(own[part] == k).mean() for k in range(own.max() + 1)])
                if max(shares[-1]) == 1:
                    within += squares(block.ravel())
        shares, sums = np.array(shares), np.array(sums)
        fit, *_ = np.linalg.lstsq(shares, sums, rcond=None)
        open_squares += ((sums - shares @ fit) ** 2).sum()
    return np.sqrt(open_squares), within


def blocks_apart(image, shape, one, other, side=4):
    """Squares of differences of the sums of so many blocks of two windows, each (row, column)."""
    squares = 0.0
    for y, x in np.ndindex(*shape):
        sums = [
            image[row + side * y : row + side * (y + 1), col + side * x : col + side * (x + 1)]
            .astype(float)
            .sum(axis=(0, 1))
            for row, col in (one, other)
        ]
        squares += float(((sums[0] - sums[1]) ** 2).sum())
    return squares


def covariance(window, template, mask):
    """Sum of products of deviations from the means."""
    w, t = inside(window, template, mask)
    return float(((w - w.mean(1, keepdims=True)) * (t - t.mean(1, keepdims=True))).sum())


def objective(values, labels, cross):
    """<A, S Cross S'>_F by its matrices: A_ij = 1 / n where i and j share a bin of n."""
    values, labels = np.ravel(values), np.ravel(labels)
    levels, index = np.unique(values, return_inverse=True)
    s = np.eye(levels.size)[index]
    same = labels[:, None] == labels
    a = same / same.sum(axis=1)
    return float((a * (s @ cross @ s.T)).sum())


def asymmetry(matrix):
    """Largest magnitude, and largest difference from the transpose."""
    places = list(np.ndindex(matrix.shape))
    return (
        max(abs(matrix[i, j]) for i, j in places),
        max(abs(matrix[i, j] - matrix[j, i]) for i, j in places),
    )


def labels_of(values, cuts):
    """Bins of values for cuts given as indices into the sorted distinct levels."""
    levels = np.unique(values)
    return np.searchsorted(levels[list(cuts)], values, side="right")


def best_objective(values, cross, bins, least=1):
    """Objective and cuts of the best bins, by trying all; the smaller cuts of equal ones."""
    trials = (
        (objective(values, labels_of(values, cuts), cross), cuts)
        for cuts in partitions(np.unique(values), bins)
        if np.bincount(labels_of(values, cuts)).min() >= least
    )
    best, best_cuts = -np.inf, None
    for value, cuts in trials:
        if best_cuts is None or value > best + 1e-9:
            best, best_cuts = value, cuts
    return best, best_cuts


def climb(values, cross, cuts, least=1):
    """The paper's Algorithm 1 from given inner cuts, each trial by the definition."""
    top = np.unique(values).size
    cuts = list(cuts)
    current = objective(values, labels_of(values, cuts), cross)
    while True:
        best_gain, best_cuts = 0.0, None
        for i in range(len(cuts)):
            for step in (-1, 1):
                trial = cuts.copy()
                trial[i] += step
                edges = [0, *trial, top]
                if all(a < b for a, b in itertools.pairwise(edges)) and (
                    np.bincount(labels_of(values, trial)).min() >= least
                ):
                    gain = objective(values, labels_of(values, trial), cross) - current
                    if gain > best_gain + 1e-12:
                        best_gain, best_cuts = gain, trial
        if best_gain <= 1e-12 * abs(current):
            return current, cuts
        current, cuts = current + best_gain, best_cuts


def partitions(levels, bins):
    """Yield every cut of ascending levels into that many neighbours, smaller cuts first."""
    yield from itertools.combinations(range(1, len(levels)), bins - 1)


def best_partition(levels, counts, bins, least=1):
    """Cuts of the least weighted variance within bins, by trying all of them."""
    values = np.repeat(np.asarray(levels, float), counts)
    starts = np.concatenate(([0], np.cumsum(counts)))

    def cost(cuts):
        edges = starts[[0, *cuts, len(levels)]]
        return sum(squares(values[a:b]) for a, b in itertools.pairwise(edges))

    def enough(cuts):
        return np.diff(starts[[0, *cuts, len(levels)]]).min() >= least

    tried = [(cost(cuts), cuts) for cuts in partitions(levels, bins) if enough(cuts)]
    least_cost = min(tried)[0]
    # Of equal ones the first, whatever rounding says.
    return next(found for found in tried if found[0] <= least_cost * (1 + 1e-12) + 1e-12)


def apart(candidates, reach):
    """Take each candidate (.., row, col), best first, that is not near one taken before."""
    taken = []
    for candidate in candidates:
        row, col = candidate[-2:]
        if not any(
            abs(row - y) < len(reach) and abs(col - x) <= reach[abs(row - y)] for *_, y, x in taken
        ):
            taken.append(candidate)
    return taken


def around(scores, row, col):
    """A place of a map and its neighbours."""
    return scores[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2]


def find_peaks(
    scores, shape, threshold=None, max_matches=None, min_distance=None, max_overlap=0.25
):
    """(row, col) of the peaks: sort all that no neighbour undercuts, take each not near one."""
    if threshold is None and max_matches is None:
        max_matches = 1
    height, width = shape
    candidates = sorted(
        (scores[row, col], row, col)
        for row, col in np.ndindex(scores.shape)
        if scores[row, col] < np.inf
        and (threshold is None or scores[row, col] <= threshold)
        and not (around(scores, row, col) < scores[row, col]).any()
    )

    def near(row, col, other_row, other_col):
        dr, dc = abs(row - other_row), abs(col - other_col)
        if min_distance is not None:
            return math.hypot(dr, dc) < min_distance
        shared = max(height - dr, 0) * max(width - dc, 0)
        return shared / (2 * height * width - shared) > max_overlap

    taken = []
    for _, row, col in candidates:
        if not any(near(row, col, *place) for place in taken):
            taken.append((row, col))
    return taken[:max_matches]


def residual(window, template, mask):
    """Sum of squares that the straight line over the template's greys, one slope, leaves."""
    w, t = inside(window, template, mask)
    w, t = centred(w), centred(t)
    energy = (t**2).sum()
    slope = (w * t).sum() / energy if energy > 0 else 0.0
    return float((centred(w - slope * t) ** 2).sum())


def gains(window, template, labels):
    """Gain of each channel by itself; None where the template's is flat."""
    planes = zip(as_channels(window), as_channels(template), as_channels(labels), strict=True)
    return [gain(*parts) if np.ptp(parts[1][parts[2] >= 0]) else None for parts in planes]


# What chance shows.


def lowest_places(scores, shape):
    """(score, row, col) of all places that share a quarter at most, the lowest first."""
    places = find_peaks(scores, shape, threshold=math.inf, max_overlap=0.25)
    return [(float(scores[place]), *place) for place in places]


def windows_of_a_place(shape):
    return max(0.6 * shape[0] * shape[1], 1)


def tail(lowest, learnt, shape, own=False):
    """(size, end, exponent, zero) of the power law of the lowest scores; None if none is told.

    Of `learnt` windows (size / learnt) * (score / end) ** exponent are as low as a score. Of a
    map's own scores the five lowest are left out, and count as low as the sixth. Of equal scores
    one counts: it ends where eight do, if it has fewer; where less than eight differ at all, any
    score is worth what one is.
    """
    least, one_in, left_out, needed = (30, 10, 5, 30) if own else (30, 50, 0, 40)
    if len(lowest) < needed:
        return None
    size = max(least, math.floor(learnt / windows_of_a_place(shape) / one_in))
    size = min(size, len(lowest) // 2)
    longer = size
    while longer < len(lowest) and len(set(lowest[left_out:longer])) < 8:
        longer += 1
    while longer < len(lowest) and lowest[longer] == lowest[longer - 1]:
        longer += 1
    if longer < len(lowest) and len(set(lowest[left_out:size])) < 8:
        size = longer
    end = lowest[size]
    zero = 1e-4 * end
    if lowest[left_out] <= zero:
        return None
    excesses = [math.log(end / score) for score in sorted(set(lowest[left_out:size]))]
    if len(excesses) < 8:
        return max(left_out, 1), end, 0.0, zero
    slope = (sum(excesses) + left_out * excesses[0]) / len(excesses)
    return size, end, 1 / max(slope, 0.0005), zero


def false_alarms(score, lowest, learnt, windows, shape, own=False):
    """How many of so many windows chance shows as low as a score, given its lowest scores."""
    law = tail(lowest, learnt, shape, own)
    if law is None:
        return math.inf
    size, end, exponent, zero = law
    windows = max(windows, windows_of_a_place(shape))
    expected = windows * size / learnt * (max(score, zero) / end) ** exponent
    if not own:
        shown = sum(other <= score for other in lowest)
        expected = max(expected, windows * shown / learnt)
    return min(expected, windows / windows_of_a_place(shape))


def margin(scores, shape, row, col):
    """Lowest score of all windows that share no pixel with one, less its own; None if none."""
    elsewhere = [
        float(scores[y, x])
        for y, x in np.ndindex(scores.shape)
        if (abs(y - row) >= shape[0] or abs(x - col) >= shape[1]) and not math.isnan(scores[y, x])
    ]
    return min(elsewhere) - float(scores[row, col]) if elsewhere else None


def log_of_chance(score, law):
    """Logarithm of a window's false alarms, by a tail and the scores that chance has shown.

    Where the tail says less than these it goes on with a hundredth of its slope; above the
    highest of them (above the tail, if there are none) along a straight line.
    """
    size, end, exponent, zero, learnt, shown = law
    top = shown[-1] if shown else end

    def log_up_to_top(score):
        log = math.log(size / learnt) + exponent * math.log(max(score, zero) / end)
        known = sum(other <= score for other in shown)
        if known and log < math.log(known / learnt):
            return 0.99 * math.log(known / learnt) + 0.01 * log
        return log

    if score <= top:
        return log_up_to_top(score)
    return log_up_to_top(top) + exponent * (score / top - 1)


def join_maps(maps, laws):
    """Mean of the two lowest logarithms of each window, of one law the only one; else NaN.

    None is the law of a measure that cannot decide.
    """
    out = np.full(maps[0].shape, np.nan)
    agree = min(2, sum(law is not None for law in laws))
    for place in np.ndindex(out.shape):
        said = sorted(
            log_of_chance(float(scores[place]), law)
            for scores, law in zip(maps, laws, strict=True)
            if law is not None and not math.isnan(scores[place])
        )
        if 0 < agree <= len(said):
            out[place] = sum(said[:agree]) / agree
    return out


def compete(maps, shapes, floors, max_overlap):
    """Names and places of local minima of several maps, by score over floor, each taken unless
    it shares too much with a better one: intersection over union, or over the smaller box."""
    found = []
    for name, scores in maps.items():
        for row, col in np.ndindex(scores.shape):
            if scores[row, col] <= np.min(around(scores, row, col)):
                found.append((scores[row, col] / floors[name], name, row, col))
    taken = []
    for _, name, row, col in sorted(found):
        height, width = shapes[name]
        for other, top, left in taken:
            h, w = shapes[other]
            down = min(row + height, top + h) - max(row, top)
            across = min(col + width, left + w) - max(col, left)
            shared = max(down, 0) * max(across, 0)
            whole = min(height * width, h * w)
            if (height, width) == (h, w):
                whole = height * width + h * w - shared
            if shared > max_overlap * whole:
                break
        else:
            taken.append((name, row, col))
    return taken
