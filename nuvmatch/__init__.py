"""Template matching that survives tone changes: PWC nUV for every sliding window."""

from importlib.metadata import version

from . import binning, theory, tones
from .functions import locate, match_template, nuv, score_map
from .matcher import Matcher
from .peaks import find_peaks
from .results import Match, Matches, ToneCurve

__version__ = version("nuvmatch")

__all__ = [
    "Match",
    "Matcher",
    "Matches",
    "ToneCurve",
    "__version__",
    "binning",
    "find_peaks",
    "locate",
    "match_template",
    "nuv",
    "score_map",
    "theory",
    "tones",
]
