"""Features scored by how much of a target their bins explain."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

import nuvmatch
from nuvmatch import binning, nuv_score


def explained(feature, target, bins):
    """1 - nUV by the plain loop, of bins of equal frequency."""
    labels = binning.equal_frequency(feature, bins, least=2).labels
    return 1 - naive.nuv_window(np.asarray(target)[np.newaxis], labels[np.newaxis])


@pytest.mark.parametrize("bins", [2, 5, 8])
def test_scores_are_those_of_the_loop(bins, rng):
    X = np.column_stack([rng.normal(size=90), rng.exponential(size=90), np.arange(90)])
    y = X[:, 0] ** 2 + rng.normal(size=90)
    expected = [explained(feature, y, bins) for feature in X.T]
    assert_allclose(nuv_score(X, y, bins=bins), expected, rtol=0, atol=1e-12)
    assert_allclose(nuv_score(X.tolist(), y.tolist(), bins=bins), expected, rtol=0, atol=1e-12)


def test_it_is_the_similarity_of_the_target_to_the_feature(rng):
    X, y = rng.integers(0, 200, (120, 3)), rng.random(120)
    measure = nuvmatch.NUV(bins=8, binning="equal_frequency")
    expected = [1 - nuvmatch.score(y, feature, measure) for feature in X.T]
    assert_allclose(nuv_score(X, y), expected, rtol=0, atol=1e-9)


def test_adjusted_scores_are_divided_by_those_of_noise(rng):
    X, y = np.column_stack([rng.normal(size=60), rng.integers(0, 2, 60)]), rng.random(60)
    left = 1 - np.array([explained(X[:, 0], y, 8), explained(X[:, 1], y, 60)])
    expected = 1 - left / (np.array([52, 58]) / 59)
    assert_allclose(nuv_score(X, y, adjusted=True), expected, rtol=0, atol=1e-12)


def test_noise_scores_what_proposition_1_says(rng):
    X, y = rng.normal(size=(40, 3000)), rng.normal(size=40)
    plain, adjusted = nuv_score(X, y, bins=6), nuv_score(X, y, bins=6, adjusted=True)
    assert plain.mean() == pytest.approx(5 / 39, abs=0.005)
    assert adjusted.mean() == pytest.approx(0, abs=0.005)


def test_a_function_of_few_values_is_explained_whole_however_rare_they_are(rng):
    feature = np.repeat([3.0, -1.0, 7.0], [90, 4, 2])
    y = np.repeat([0.1, 5.0, -2.0], [90, 4, 2])
    scores = nuv_score(np.column_stack([feature, feature**3, rng.permutation(feature)]), y)
    assert_allclose(scores[:2], 1, rtol=0, atol=1e-12)
    assert scores[2] < 0.5


def test_a_value_that_stands_alone_does_not_explain_itself():
    y = np.zeros(20)
    y[7] = 1
    assert nuv_score(np.eye(20)[:, [7]], y) == [0]


def test_a_constant_feature_scores_0_adjusted_or_not(rng):
    X = np.column_stack([np.full(30, 0.1), np.zeros(30)])
    for adjusted in (False, True):
        assert nuv_score(X, rng.random(30), adjusted=adjusted).tolist() == [0, 0]


def gini_explained(feature, classes, bins):
    """Goodman and Kruskal's tau of bins, by its definition."""

    def impurity(part):
        return 1 - sum((part == name).mean() ** 2 for name in set(part))

    labels = binning.equal_frequency(feature, bins, least=2).labels
    within = sum(
        (labels == label).mean() * impurity(classes[labels == label]) for label in set(labels)
    )
    return 1 - within / impurity(classes)


@pytest.mark.parametrize("kind", [np.str_, object])
def test_of_classes_it_is_the_share_of_gini_impurity(kind, rng):
    X, classes = rng.normal(size=(150, 2)), np.array(["c", "a", "b"])[rng.integers(0, 3, 150)]
    X[:, 0] += classes == "a"
    X[:, 0] -= 0.4 * (classes == "b")
    expected = [gini_explained(feature, classes, 8) for feature in X.T]
    assert_allclose(nuv_score(X, classes.astype(kind)), expected, rtol=0, atol=1e-12)
    renamed = np.array([{"a": "zz", "b": "y", "c": "x"}[name] for name in classes])
    assert_allclose(nuv_score(X, renamed), expected, rtol=0, atol=1e-12)


def test_of_two_classes_numbers_and_names_are_the_same(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    expected = nuv_score(X, y)
    for target in (y.astype(str), y.astype(bool), 5 - 3.5 * y):
        assert_allclose(nuv_score(X, target), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e300, -3])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_neither_scale_nor_offset_of_the_target_matters(factor, offset, rng):
    X, y = rng.normal(size=(70, 2)), rng.normal(size=70)
    found = nuv_score(X, (y + offset) * factor)
    assert_allclose(found, nuv_score(X, y), rtol=0, atol=1e-8)


@pytest.mark.parametrize("offset", [2**53 - 4, 3**33, -(2**52) - 1, 2**63 - 4])
def test_targets_far_out_are_exact(offset):
    """Of 0, 1, 2, 3 in two pairs a fifth of the variance is left."""
    target = np.array([offset + i for i in range(4)], np.int64)
    assert nuv_score([[1], [1], [2], [2]], target) == pytest.approx(0.8, abs=1e-15)
    if abs(offset) < 2**53:
        assert nuv_score([[1], [1], [2], [2]], target.astype(float)) == pytest.approx(
            0.8, abs=1e-15
        )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": np.ones((9, 2)) * np.nan}, ValueError, r"NaN or infinity, in columns \[0, 1\]"),
        ({"X": [[1, 2]] * 8 + [[1, np.inf]]}, ValueError, r"columns \[1\]"),
        ({"X": np.arange(9)}, ValueError, r"X has shape \(9,\)"),
        ({"X": np.ones((9, 0))}, ValueError, "not empty"),
        ({"X": np.full((9, 2), "a")}, TypeError, "X is of type"),
        ({"X": np.ones((8, 2))}, ValueError, "8 rows, and y 9"),
        ({"y": [0.1] * 9}, ValueError, "the same in all 9 rows"),
        ({"y": ["a"] * 9}, ValueError, "the same in all 9 rows"),
        ({"y": [1, np.nan] * 4 + [2]}, ValueError, "y holds NaN"),
        ({"y": ["a", None, np.nan] * 3}, TypeError, "strings and others"),
        ({"y": np.array([1, 2, None] * 3, object)}, TypeError, "y is of type object"),
        ({"y": np.ones((9, 1))}, ValueError, r"y has shape \(9, 1\)"),
        ({"y": None}, TypeError, "y is None"),
        ({"y": []}, ValueError, "not empty"),
        ({"bins": 1}, ValueError, "bins is 1"),
        ({"bins": 2.0}, TypeError, "bins is 2.0"),
        ({"adjusted": 1}, TypeError, "adjusted is 1"),
    ],
)
def test_what_cannot_be_scored_is_refused(change, error, message, rng):
    given = {"X": rng.random((9, 2)), "y": rng.random(9), **change}
    with pytest.raises(error, match=message):
        nuv_score(**given)


def test_scikit_learn_selects_by_it(rng):
    selection = pytest.importorskip("sklearn.feature_selection")
    X = rng.normal(size=(200, 12))
    y = np.cos(2 * X[:, 4]) + abs(X[:, 9]) + 0.2 * rng.normal(size=200)
    chosen = selection.SelectKBest(nuv_score, k=2).fit(X, y)
    assert chosen.get_support(indices=True).tolist() == [4, 9]
    names = np.array(["low", "middle", "high"])[np.digitize(y, [0.5, 1.2])]
    chosen = selection.SelectPercentile(nuv_score, percentile=17).fit(X, names)
    assert chosen.get_support(indices=True).tolist() == [4, 9]
