"""Template matching that survives tone changes: PWC nUV for every sliding window."""

from . import binning, theory, tones
from ._jit import clear_cache
from ._version import __version__
from .compiling import warmup
from .functions import locate, match_template, nuv, score_map
from .matcher import Matcher
from .peaks import find_peaks
from .results import Match, Matches, ToneCurve

__all__ = [
    "Match",
    "Matcher",
    "Matches",
    "ToneCurve",
    "__version__",
    "binning",
    "clear_cache",
    "find_peaks",
    "locate",
    "match_template",
    "nuv",
    "score_map",
    "theory",
    "tones",
    "warmup",
]
