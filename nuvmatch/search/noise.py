"""What noise would score: by it scores of templates of unlike sizes and bins compare."""

from __future__ import annotations

from ..matcher import Matcher
from ..measures import NUV
from ..theory import expected_noise


def noise_floor(matcher: Matcher) -> float:
    """Return the expected score of white noise: of PWC nUV; 1 of what has no such law."""
    measure = matcher.measure
    if not isinstance(measure, NUV) or measure.adjusted:
        return 1.0
    pixels = sum(int(cut.counts.sum()) - 1 for cut in matcher.bins)
    bins = sum(cut.counts.size - 1 for cut in matcher.bins)
    return expected_noise(pixels + 1, bins + 1)
