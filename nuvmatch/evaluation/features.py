"""How well one thing explains another, by the statistic that matches templates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from ..binning import Binning, equal_frequency
from ..engine import unit_scale


def nuv_score(
    X: ArrayLike, y: ArrayLike, *, bins: int = 8, adjusted: bool = False
) -> NDArray[np.float64]:
    """Score features by how much of a target their bins explain, for scikit-learn's selectors.

    ``1 - nUV`` of the target over the bins of each feature: the share of its variance that lies
    between them. Any curve counts, rising or not; 0 is none at all, and 1 is a function of the
    feature's bins. ``SelectKBest(nuv_score, k=10)`` takes it as it is.

    Parameters
    ----------
    X : array_like of shape (n, features)
        Finite numbers; a feature that is constant scores 0.
    y : array_like of shape (n,)
        Finite numbers; or classes, as strings, whose order does not count: of them it is the
        share of their Gini impurity. Whole numbers are numbers, which of two classes gives the
        same; where they name more, pass ``y.astype(str)``.
    bins : int
        In how many bins of nearly equal counts each feature is cut. Equal values stay together,
        each bin holds two or more, and a feature of no more values has one bin for each.
    adjusted : bool
        Divide nUV by its mean for a target that has nothing to do with the feature, ``(n - b) /
        (n - 1)`` for b bins: features of few and of many values compare, and such a one scores 0
        in the mean, below it half of the time.

    Returns
    -------
    ndarray of float64, of shape (features,)
        Higher is better.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above, holds NaN or infinity, or the target is constant.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 80)
    >>> nuv_score(np.column_stack([x, np.ones(80)]), x**2).round(2)  # correlation sees nothing
    array([0.92, 0.  ])
    """
    bins, adjusted = _checks.as_integer(bins, "bins", 2), _checks.as_flag(adjusted, "adjusted")
    features, target = _as_features(X), _as_target(y)
    samples = len(features)
    if len(target) != samples:
        raise ValueError(f"X has {samples} rows, and y {len(target)}; they must be as many")
    total = (target**2).sum()
    scores = np.zeros(features.shape[1])
    for column, feature in enumerate(features.T):
        few = np.unique(feature).size <= bins
        cut = equal_frequency(feature, samples if few else bins, least=2)  # a bin for each of few
        left = sum(_within(part, cut) for part in target.T)
        if cut.counts.size > 1:
            noise = (samples - cut.counts.size) / (samples - 1) if adjusted else 1.0
            scores[column] = 1 - min(left / total, 1.0) / noise
    return scores


def _within(target: NDArray[np.float64], cut: Binning) -> float:
    """Sum the squares of a target less its mean in each bin."""
    means = np.bincount(cut.labels, target) / cut.counts
    return float(((target - means[cut.labels]) ** 2).sum())


def _as_features(X: ArrayLike) -> NDArray[Any]:
    features = _checks.as_greys(X, "X")
    if features.ndim != 2 or features.size == 0:
        raise ValueError(f"X has shape {features.shape}; it must be (samples, features), not empty")
    bad = np.flatnonzero(~np.isfinite(features).all(axis=0))
    if bad.size:
        raise ValueError(f"X holds NaN or infinity, in columns {bad[:10].tolist()}")
    return features


def _as_target(y: ArrayLike) -> NDArray[np.float64]:
    """Take a target as columns of mean 0 and moderate size: one, or one for each class."""
    given = np.asarray(y)
    named = given.dtype.kind in "UT" or isinstance(next(iter(given.flat), None), str)
    if named and not all(isinstance(name, str) for name in given.flat):
        raise TypeError("y holds strings and others; classes are all strings")
    greys = given if named else _checks.as_greys(y, "y")
    if greys.ndim != 1 or greys.size == 0:
        raise ValueError(f"y has shape {greys.shape}; it must be (samples,), not empty")
    if (greys == greys[0]).all():
        raise ValueError(f"y is the same in all {greys.size} rows; there is nothing to explain")
    if named:
        names, numbers = np.unique(greys.astype(np.str_), return_inverse=True)
        columns = np.eye(names.size)[numbers]
    else:
        columns = _checks.as_floats(greys)[0][:, np.newaxis]
        if not np.isfinite(columns).all():
            raise ValueError("y holds NaN or infinity")
        columns = columns * unit_scale(abs(columns).max())  # no square, or difference, overflows
        columns = columns - columns[0]  # a common offset costs no digits
    columns = columns - columns.mean(axis=0)
    return np.asarray(columns / abs(columns).max())
