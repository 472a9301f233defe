"""Finding answers: where are the places of a score map, any map's.

It knows maps, and nothing of templates or measures.
"""

from .peaks import PeakRule, as_matches, find_peaks

__all__ = ["PeakRule", "as_matches", "find_peaks"]
