"""Measures answer: how are two patches compared.

Each is a small description that is made ready for one template, and then fills score maps.
"""

from .auto import Auto, AutoScorer
from .base import Measure, Scorer, ask
from .channel import BINNERS
from .combined import Highest, Lowest
from .mutual_information import MI
from .named import NAMED, MeasureLike, as_measure, name_of
from .ncc import NCC
from .nuv import NUV, AdaptiveNUV, CurvesNUV, LinearNUV, MonotoneNUV
from .ssd import SSD
from .template import FlatTemplateError, Template
from .window_to_pattern import WindowToPattern

__all__ = [
    "BINNERS",
    "MI",
    "NAMED",
    "NCC",
    "NUV",
    "SSD",
    "AdaptiveNUV",
    "Auto",
    "AutoScorer",
    "CurvesNUV",
    "FlatTemplateError",
    "Highest",
    "LinearNUV",
    "Lowest",
    "Measure",
    "MeasureLike",
    "MonotoneNUV",
    "Scorer",
    "Template",
    "WindowToPattern",
    "as_measure",
    "ask",
    "name_of",
]

NAMED["auto"] = Auto()  # it takes measures by their names itself
