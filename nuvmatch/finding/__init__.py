"""Finding answers: where are the places of a score map, any map's, and how sure is that.

It knows maps, and nothing of templates or measures.
"""

from .competing import compete
from .lowest import count_windows, lowest_places, windows_of
from .peaks import (
    NO_PEAKS,
    Chance,
    Feed,
    Peaks,
    feed_bands,
    find_peaks,
    take_best,
    take_peaks,
)
from .rules import PRECISE, PeakRule, reach_of_ties
from .significance import (
    Null,
    check_null,
    logs_of,
    numbers_of,
    tail_size,
    true_size,
    without_true,
)
from .subpixel import Fraction, fraction_at
from .suppression import Places

__all__ = [
    "NO_PEAKS",
    "PRECISE",
    "Chance",
    "Feed",
    "Fraction",
    "Null",
    "PeakRule",
    "Peaks",
    "Places",
    "check_null",
    "compete",
    "count_windows",
    "feed_bands",
    "find_peaks",
    "fraction_at",
    "logs_of",
    "lowest_places",
    "numbers_of",
    "reach_of_ties",
    "tail_size",
    "take_best",
    "take_peaks",
    "true_size",
    "windows_of",
    "without_true",
]
