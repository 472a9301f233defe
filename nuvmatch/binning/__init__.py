"""Binning answers: how are a template's grey levels cut into slices.

It knows grey levels and nothing of images.
"""

from ._binning import Binning, Levels
from ._quadratic import Curves
from .equal import equal_frequency, equal_width
from .greedy import greedy
from .optimal import kmeans, objective, optimal
from .rules import RULES, number_by_rule, number_of_bins

__all__ = [
    "RULES",
    "Binning",
    "Curves",
    "Levels",
    "equal_frequency",
    "equal_width",
    "greedy",
    "kmeans",
    "number_by_rule",
    "number_of_bins",
    "objective",
    "optimal",
]
