"""Binning answers: how are a template's grey levels cut into slices.

It knows grey levels and nothing of images.
"""

from ._binning import Binning
from .equal import equal_frequency, equal_width
from .optimal import kmeans
from .rules import RULES, number_of_bins

__all__ = ["RULES", "Binning", "equal_frequency", "equal_width", "kmeans", "number_of_bins"]
