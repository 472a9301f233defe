"""What the paper printed: its table of AUC and p-values, and the errors of its predictions."""

METHODS = ("equal width", "equal frequency, faulty", "k-means", "greedy")
AUC = {
    "general": (0.63, 0.50, 0.67, 0.76),
    "spherical": (0.83, 0.50, 0.84, 0.84),
}
# Of the pairs not listed it printed 0: smaller than 1e-6.
P_VALUES = {
    ("spherical", "equal width", "k-means"): 2.3e-7,
    ("spherical", "equal width", "greedy"): 2.8e-4,
    ("spherical", "k-means", "greedy"): 5.7e-2,
}
# Largest relative difference of means, and the binning that the section is about.
PREDICTION_ERRORS = {
    "general": {"method": "greedy", "noise": 3e-4, "distorted": 8e-4},
    "spherical": {"method": "k-means", "noise": 3e-4, "distorted": 1e-3},
}


def auc(setting, method):
    """The printed AUC, or None."""
    return dict(zip(METHODS, AUC.get(setting, ()), strict=False)).get(method)


def p_value(setting, method, other):
    """The printed p-value, or None."""
    if setting not in AUC or method not in METHODS or other not in METHODS:
        return None
    return P_VALUES.get((setting, method, other), 0.0)
