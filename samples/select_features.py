"""Select features
===============

Those that explain a target by any curve, chosen by scikit-learn with nuv_score.

    python samples/select_features.py
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectKBest, f_regression

from nuvmatch import nuv_score


def make_curves(samples=400, features=20):
    """Noise, and a target that features 3, 8 and 15 bend, but neither raise nor lower."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(samples, features))
    y = X[:, 3] ** 2 + 2 * np.cos(3 * X[:, 8]) + 2 * (abs(X[:, 15]) < 0.7)
    return X, y + 0.3 * rng.normal(size=samples)


def show(name, X, y, k, names):
    for score in (f_regression, nuv_score):
        chosen = SelectKBest(score, k=k).fit(X, y).get_support(indices=True)
        print(f"{name}, by {score.__name__:12} {', '.join(str(names[i]) for i in chosen)}")


def main():
    X, y = make_curves()
    show("curves", X, y, 3, range(X.shape[1]))
    diabetes = load_diabetes()
    show("diabetes", diabetes.data, diabetes.target, 4, diabetes.feature_names)


if __name__ == "__main__":
    main()
