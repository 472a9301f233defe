"""Template matching that survives tone changes: PWC nUV for every sliding window."""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _signatures, binning, theory, tones
from ._jit import clear_cache
from ._version import __version__
from .compiling import warmup
from .evaluation.features import nuv_score
from .finding import Null, find_peaks
from .following import track
from .functions import locate, match_template, score, score_map
from .matcher import Matcher
from .measures import (
    MI,
    NCC,
    NUV,
    SSD,
    AdaptiveNUV,
    Auto,
    CurvesNUV,
    Highest,
    LinearNUV,
    Lowest,
    MonotoneNUV,
    WindowToPattern,
)
from .results import Match, Matches, ToneCurve
from .search import Search
from .shifting import shifts

if _TYPE_CHECKING:
    from . import batch, evaluation, io, out_of_core, showing  # noqa: F401  # for type checkers
    from .showing import report

__all__ = [
    "MI",
    "NCC",
    "NUV",
    "SSD",
    "AdaptiveNUV",
    "Auto",
    "CurvesNUV",
    "Highest",
    "LinearNUV",
    "Lowest",
    "Match",
    "Matcher",
    "Matches",
    "MonotoneNUV",
    "Null",
    "Search",
    "ToneCurve",
    "WindowToPattern",
    "__version__",
    "binning",
    "clear_cache",
    "find_peaks",
    "locate",
    "match_template",
    "nuv_score",
    "report",
    "score",
    "score_map",
    "shifts",
    "theory",
    "tones",
    "track",
    "warmup",
]

for _module in (_sys.modules[__name__], binning, theory, tones):
    _signatures.shorten(_module)
del _module


def __getattr__(name: str) -> object:
    """Import what only some need when it is asked for."""
    if name in ("batch", "compat", "evaluation", "io", "out_of_core", "showing"):
        return _import_module(f".{name}", __name__)
    if name == "report":
        return _import_module(".showing", __name__).report
    raise AttributeError(f"module 'nuvmatch' has no attribute {name!r}")
