"""What people who match templates ran into: tone changes, bins, peaks and their order.

U.. numbers the public bug reports.
"""

import itertools

import numpy as np
import pytest
from naive import nuv_map
from numpy.lib.stride_tricks import sliding_window_view
from plants import LAB, T4, best_place, exact_map, noise, places, planted, scene
from scipy.stats import rankdata

from nuvmatch import NUV, Matcher, Matches, find_peaks, locate, score, score_map

BINNINGS = ["kmeans", "equal_width", "equal_frequency"]


def squared_ncc(image, template):
    """NCC^2 of every window, by NumPy."""
    windows = sliding_window_view(image.astype(float), template.shape)
    windows = windows - windows.mean((2, 3), keepdims=True)
    pattern = template - template.mean()
    products = (windows * pattern).sum((2, 3)) ** 2
    return products / ((windows**2).sum((2, 3)) * (pattern**2).sum())


# Tone changes

K = np.arange(4) / 3
TONES = {
    "same": 255 * K,
    "gamma": 255 * K**2.2,
    "inverse gamma": 255 * K ** (1 / 2.2),
    "rounded gamma": np.rint(255 * K**2.2),
    "night light": 20 + 30 * K,
    "clipped": np.array([180, 255, 255, 255]),
    "inverted": 255 - 255 * K,
    "dark theme": 0.8 * (255 - 255 * K) + 20,
    "solarised": np.array([10, 200, 220, 30]),
    "other sensor": np.array([120, 40, 250, 90]),
}


@pytest.mark.parametrize("tones", TONES.values(), ids=TONES)
@pytest.mark.parametrize("binning", BINNINGS)
def test_tone_change_is_a_perfect_match(tones, binning):
    """U25, U26: display settings and themes; sigma of noise 0."""
    image = scene(tones)
    scores = score_map(image, T4, NUV(binning=binning))
    assert best_place(scores) == (5, 20)
    assert scores[5, 20] <= 1e-12
    assert np.sort(scores, axis=None)[1] > 0.6
    np.testing.assert_allclose(scores, nuv_map(image, LAB), rtol=0, atol=1e-9)
    assert places(locate(image, T4, threshold=1e-6)) == [(5, 20)]


@pytest.mark.parametrize(("sigma", "about"), [(2, 0.0005), (5, 0.0024), (10, 0.009), (20, 0.037)])
def test_noise_on_top_of_gamma_moves_nothing(sigma, about):
    """U25."""
    disturbance = np.random.default_rng(7).normal(0, sigma, LAB.shape)
    image = planted(scene(TONES["same"]), TONES["gamma"][LAB] + disturbance, 5, 20)
    (match,) = locate(image, T4)
    assert (match.row, match.col) == (5, 20)
    assert about / 2 < match.score < 2 * about
    assert match.score == pytest.approx(nuv_map(image, LAB)[5, 20], abs=1e-9)


@pytest.mark.parametrize("name", ["inverted", "dark theme"])
def test_inverted_is_the_worst_for_ncc(name):
    """U26: and so its best place is another one."""
    scores = exact_map(scene(TONES[name]), T4, measure="ncc")
    assert scores[5, 20] == pytest.approx(2)
    assert scores.argmax() == np.ravel_multi_index((5, 20), scores.shape)
    assert best_place(scores) != (5, 20)


@pytest.mark.parametrize("gain", [-3, 0.01, -1, 1e-9, 1e12])
@pytest.mark.parametrize("offset", [1000, -5])
def test_contrast_and_its_sign_change_nothing(gain, offset):
    """U28."""
    image = scene(TONES["gamma"])[:20, 12:40]
    scores = score_map(gain * (image + offset), T4)
    np.testing.assert_allclose(scores, nuv_map(image, LAB), rtol=0, atol=1e-9)


def test_tone_curves_tell_perfect_matches_apart():
    """U29: so that a greyed or an inverted control can be told from the real one."""
    curves = {
        (5, 20): [0, 85, 170, 255],
        (30, 8): [255, 170, 85, 0],
        (28, 39): [100, 125.5, 151, 176.5],
    }
    image = noise(1, (40, 50)).astype(float)
    for place, curve in curves.items():
        image = planted(image, np.array(curve)[LAB], *place)
    matches = locate(image, T4, threshold=1e-9)
    assert len(matches) == 3
    for match in matches:
        ((levels, values),) = match.tone_curves
        np.testing.assert_allclose(levels, [0, 85, 170, 255])
        np.testing.assert_allclose(values, curves[match.row, match.col])


def test_tone_curve_holds_means_of_what_counts():
    """U29: for each channel, under the mask, of a match that is not perfect."""
    image, mask = noise(3, (20, 20, 3)).astype(float), LAB != 3
    image[~np.pad(mask, ((4, 8), (5, 7)), constant_values=True)] = np.nan
    image[4:12, 5:13][mask] = (np.dstack([LAB, 3 - LAB, LAB % 2]) * 50.0 + LAB.T[..., None])[mask]
    match = locate(image, np.dstack([T4] * 3), mask=mask)[0]
    assert (match.row, match.col) == (4, 5)
    window = image[4:12, 5:13]
    expected = [window[level == LAB].mean(axis=0) for level in range(3)]
    levels, values = zip(*match.tone_curves, strict=True)
    np.testing.assert_allclose(values, np.transpose(expected))
    np.testing.assert_allclose(levels, [[0, 85, 170]] * 3)


def test_worked_values():
    """U30: by hand, in fractions."""
    image = [[1, 2, 3], [4, 6, 8], [9, 7, 5]]
    rows, columns = [[0, 0], [255, 255]], [[0, 255], [0, 255]]
    np.testing.assert_allclose(exact_map(image, rows), [[10 / 59, 10 / 91], [4 / 13, 4 / 5]])
    np.testing.assert_allclose(exact_map(image, columns), [[50 / 59, 82 / 91], [1, 1]])
    assert score([[1, 3], [7, 5]], rows) == pytest.approx(0.2)


@pytest.mark.parametrize("convert", [np.uint8, lambda image: image * 1e-3 + 1])
def test_relation_to_ncc(convert):
    """U30: equal to 1 - NCC^2 for two levels, at most that for a bin for each level."""
    image, rng = convert(noise(1, (30, 36))), np.random.default_rng(51)
    two_levels = (rng.random((6, 7)) < 0.4).astype(int)
    expected = 1 - squared_ncc(image, two_levels)
    np.testing.assert_allclose(exact_map(image, two_levels), expected, rtol=0, atol=1e-9)
    levels = rng.integers(0, 8, (9, 9))
    scores = exact_map(image, levels, NUV(bins=8))
    assert (scores <= 1 - squared_ncc(image, levels) + 1e-12).all()


def test_splitting_a_bin_raises_no_score():
    """U30."""
    image, template = noise(8, (20, 24)), noise(9, (7, 8))
    edges = [[0, 128, 255], [0, 40, 128, 255], [0, 40, 128, 200, 255], [0, 40, 90, 128, 200, 255]]
    maps = [exact_map(image, template, NUV(bins=cuts)) for cuts in edges]
    for coarse, fine in itertools.pairwise(maps):
        assert (fine <= coarse + 1e-12).all()
        assert (fine < coarse - 0.01).any()


@pytest.mark.parametrize("measure", ["nuv", "mi", "nmi", "ncc", "ncc2"])
def test_every_measure_has_one_polarity(measure):
    """U30: 0 for itself, never below; 1 where it is flat, not NaN; no warning."""
    image = noise(1, (24, 30))
    image[:, :12] = 77
    scores = exact_map(planted(image, T4, 9, 17), T4, measure=measure)
    assert best_place(scores) == (9, 17)
    assert scores[9, 17] == pytest.approx(0, abs=1e-12)
    assert (scores[:, :5] == 1).all()
    assert scores.min() >= 0
    assert scores.max() <= (2 if measure == "ncc" else 1)


@pytest.mark.parametrize("counts", [(80, 15, 5), (5, 15, 80), (2, 96, 2), (50, 2, 48), (96, 2, 2)])
@pytest.mark.parametrize("bins", [2, 3, 8])
def test_quantiles_of_few_levels_do_not_collapse(counts, bins):
    """U33: a window in which most pixels are alike still falls into two bins or more."""
    template = np.repeat([0, 1, 2], counts).reshape(10, 10)
    measure = NUV(bins=bins, binning="equal_frequency")
    (cut,) = Matcher(template, measure).bins
    midranks = rankdata(template).reshape(10, 10) - 0.5
    _, expected = np.unique(np.floor(min(bins, 3) * midranks / 100), return_inverse=True)
    assert (cut.labels == expected.reshape(10, 10)).all()
    assert len(cut.counts) >= 2
    assert (cut.counts == np.bincount(expected.ravel())).all()
    window = np.array([0.2, 0.9, 0.5])[template]
    expected = nuv_map(window, cut.labels)[0, 0]
    assert score(window, template, measure) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("counts", [(80, 15, 5), (5, 15, 80), (96, 2, 2), (2, 96, 2)])
@pytest.mark.parametrize("binning", ["kmeans", "equal_width"])
def test_rare_levels_keep_their_bins(counts, binning):
    """U33."""
    template = np.repeat([0, 1, 2], counts)
    window = np.array([0.2, 0.9, 0.5])[template]
    assert score(window, template, NUV(bins=3, binning=binning)) <= 1e-12


@pytest.mark.parametrize("binning", BINNINGS)
@pytest.mark.parametrize(("side", "bins"), [(4, 2), (4, 4), (4, 8), (5, 3), (6, 18)])
def test_noise_scores_as_the_paper_predicts(binning, side, bins):
    """U34: (d - b) / (d - 1) on average, so that scores of sizes and bins compare."""
    d = side * side
    template = np.random.default_rng(5).permutation(d).reshape(side, side)
    image = np.random.default_rng(6).random((60, 60))
    matcher = Matcher(template, NUV(bins=bins, binning=binning))
    scores, (cut,) = matcher.score_map(image), matcher.bins
    assert abs(scores.mean() - (d - bins) / (d - 1)) < 0.02
    expected = nuv_map(image[20 : 29 + side], cut.labels)
    np.testing.assert_allclose(scores[20:30], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bins", [16, 17, 1000])
@pytest.mark.parametrize("binning", BINNINGS)
def test_a_bin_for_each_pixel_is_refused(bins, binning):
    """U34: every window would match."""
    template = np.random.default_rng(5).permutation(16).reshape(4, 4)
    with pytest.raises(ValueError, match="16 bins for 16 pixels"):
        Matcher(template, NUV(bins=bins, binning=binning))


@pytest.mark.parametrize(("levels", "bins"), [(16, 9), (16, 15), (15, 15), (9, 9), (15, 99)])
def test_too_many_bins_warn(levels, bins):
    """U34: the default is quiet."""
    template = np.random.default_rng(5).permutation(np.arange(16) % levels).reshape(4, 4)
    with pytest.warns(UserWarning, match=f"with {min(bins, levels)} bins for 16 pixels"):
        Matcher(template, NUV(bins=bins))
    (cut,) = Matcher(template).bins
    assert len(cut.counts) == 8


@pytest.mark.parametrize(
    ("dtype", "levels", "tones", "low", "high"),
    [
        ("i2", [-1024, -100, 40, 1000], [3000, -1000, -500, 200], -1024, 3071),
        ("f4", [-1024, -100, 40, 1000], [3000, -1000, -500, 200], -1024, 3071),
        ("u2", [0, 1500, 2500, 4095], [4095, 0, 3, 17], 0, 4095),
        ("f8", [-1e-3, -2e-4, 8e-4, 2e-3], [-7, -9, -8, -30], -40, 0),
        ("i4", [-2_000_000, -5, 5, 2_000_000], [1, 2, 0, 3], -2_000_000, 2_000_000),
    ],
)
@pytest.mark.parametrize("binning", BINNINGS)
def test_bins_follow_the_range_of_the_template(dtype, levels, tones, low, high, binning):
    """U35: signed, and beyond [0, 1]."""
    image = np.random.default_rng(35).integers(low, high, (60, 70), endpoint=True).astype(dtype)
    image = planted(image, np.array(tones, dtype)[LAB], 33, 11)
    template = np.array(levels, dtype)[LAB]
    scores = exact_map(image, template, NUV(binning=binning))
    assert best_place(scores) == (33, 11)
    assert scores[33, 11] <= 1e-12
    np.testing.assert_allclose(scores[25:38], nuv_map(image[25:45], LAB), rtol=0, atol=1e-9)


# Peaks, order, coordinates


@pytest.mark.parametrize("template", [T4, T4[:5], T4[:, 1:4], LAB / 4, T4 > 90])
def test_ties_come_row_by_row(template):
    """U38: every copy side by side, in the order of reading."""
    h, w = template.shape
    grid = list(itertools.product(range(0, 5 * h, h), range(0, 4 * w, w)))
    tiled = np.tile(template, (5, 4))
    for threads in None, 1, 3:
        assert places(locate(tiled, template, threshold=0, n_threads=threads)) == grid
    assert places(locate(tiled, template, max_matches=7)) == grid[:7]
    assert places(locate(tiled, template)) == [(0, 0)]


@pytest.mark.parametrize(
    ("min_distance", "cols"), [(20, [10]), (5, [10, 15]), (4.5, [10, 15]), (0, range(10, 20))]
)
def test_plateau_gives_separate_peaks(min_distance, cols):
    """U38: from its first place on; exactly min_distance apart is far enough."""
    for scores in (ones := np.ones((30, 30))), ones.T, ones.astype(np.float32):
        scores = planted(scores, np.full((1, 10), 0.25), 10, 10)
        matches = find_peaks(scores, (8, 8), threshold=0.5, min_distance=min_distance)
        assert places(matches) == [(10, col) for col in cols]
    column = find_peaks(scores.T, (8, 8), threshold=0.5, min_distance=min_distance)
    assert places(column) == [(row, 10) for row in cols]


def test_peaks_may_be_just_the_distance_apart():
    """U38: also along a slope."""
    scores = planted(np.ones((12, 12)), np.zeros((1, 1)), 2, 3)
    scores = planted(scores, np.zeros((1, 1)), 5, 7)
    for min_distance, expected in [(5, [(2, 3), (5, 7)]), (np.nextafter(5, 6), [(2, 3)])]:
        matches = find_peaks(scores, (8, 8), threshold=0, min_distance=min_distance)
        assert places(matches) == expected


@pytest.mark.parametrize("shape", [(6, 10), (10, 6), (1, 12), (12, 1), (5, 5)])
def test_row_and_column_are_not_swapped(shape):
    """U39: in any of the names of a place."""
    h, w = shape
    labels = np.random.default_rng(41).permutation(np.arange(h * w) % 4).reshape(shape)
    image = planted(noise(42, (40, 70)), np.array([10, 200, 60, 120])[labels], 5, 33)
    scores = score_map(image, labels)
    assert scores.shape == (41 - h, 71 - w)
    assert best_place(scores) == (5, 33)
    (match,) = locate(image, labels)
    assert (match.row, match.col, match.height, match.width) == (5, 33, h, w)
    assert (match.y, match.x) == (5, 33)
    assert match.box == (33, 5, w, h)
    ys, xs = np.mgrid[5 : 5 + h, 33 : 33 + w]
    assert match.center == (ys.mean(), xs.mean())
    record = match.to_record()
    assert (record["row"], record["col"]) == (5, 33)
    assert (record["center_row"], record["center_col"]) == match.center


@pytest.mark.parametrize(
    "place", [(0, 0), (0, 42), (32, 0), (32, 42), (0, 20), (32, 20), (15, 0), (15, 42)]
)
def test_match_on_the_border_counts(place):
    """U40: windows that end with the image, and peaks of a map on its rim."""
    image = planted(noise(1, (40, 50)), 255 - T4, *place)
    assert places(locate(image, T4, threshold=0)) == [place]
    scores = planted(np.ones((33, 43)), np.zeros((1, 1)), *place)
    for rule in {"min_distance": 20}, {"max_overlap": 0}, {}:
        assert places(find_peaks(scores, (8, 8), threshold=0.5, **rule)) == [place]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score_at_the_threshold_passes(dtype):
    """U42: in the precision of the map; one that is a hair above does not."""
    image = planted(noise(1, (40, 50)), (255 - T4) // 2 + noise(2, (8, 8)) // 16, 11, 4)
    matcher = Matcher(T4, dtype=dtype)
    found = matcher.score_map(image)[11, 4]
    assert 0 < found < 0.2
    assert found.dtype == dtype
    for threshold in found, float(found):
        assert places(matcher.locate(image, threshold=threshold)) == [(11, 4)]
    assert not matcher.locate(image, threshold=np.nextafter(found, dtype(0)))
    tenths = np.full((3, 3), dtype(0.1))
    assert len(find_peaks(tenths, (1, 1), threshold=0.1, max_overlap=1)) == 9


@pytest.mark.parametrize("shape", [(8, 8), (7, 14), (14, 7), (7, 15), (9, 22), (13, 16)])
@pytest.mark.parametrize("tones", [(0, 255), (255, 0), (100, 101), (101, 100), (7, 10)])
def test_perfect_match_passes_threshold_zero(shape, tones):
    """U42: whatever the bins' counts, a window of one grey for each bin scores 0, no more."""
    labels = np.random.default_rng(7).permutation(np.arange(np.prod(shape)) % 2).reshape(shape)
    window = np.array(tones, np.uint8)[labels]
    assert score_map(window, labels, dtype=np.float64).tolist() == [[0]]
    image = planted(noise(1, (20, 26)), window, 3, 2)
    assert places(locate(image, labels, threshold=0)) == [(3, 2)]


@pytest.mark.parametrize(
    ("image", "options"),
    [
        (noise(1, (40, 50)), {"threshold": 0.3}),
        (noise(1, (40, 50)), {"threshold": 0.3, "max_matches": 3}),
        (noise(1, (40, 50)), {"image_mask": np.zeros((40, 50))}),
        (np.full((40, 50), np.nan), {"max_matches": 2}),
        (np.zeros((40, 50)), {}),
    ],
)
def test_not_found_is_an_empty_answer(image, options):
    """U43: neither None nor an error."""
    matches = locate(image, T4, **options)
    assert isinstance(matches, Matches)
    assert not matches
    assert list(matches) == matches.to_records() == []
    assert matches.rows.shape == matches.cols.shape == matches.scores.shape == (0,)
    assert matches.to_dataframe().shape[0] == 0
    assert "row" in matches.to_dataframe()


def test_best_place_is_told_however_bad():
    """U43: with the score that a threshold would have had to allow."""
    image = noise(1, (40, 50))
    expected = nuv_map(image, LAB)
    (match,) = locate(image, T4)
    assert (match.row, match.col) == best_place(expected)
    assert match.score == pytest.approx(expected.min(), abs=1e-6)
    assert match.similarity == 1 - match.score
    assert locate(image, T4, threshold=match.score)[0] == match
