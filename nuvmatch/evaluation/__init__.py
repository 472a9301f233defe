"""What measures do on one's own images: which finds a template, and whether it tells it is there.

`compare` counts how often each has the right place first, `check_presence` which false matches and
which true ones `false_alarms=` lets through.
"""

from .comparing import Comparison, compare
from .features import nuv_score
from .presence import Presence, PresenceTrial, check_presence
from .trials import Judgement, Trial, cut_trials, judge

__all__ = [
    "Comparison",
    "Judgement",
    "Presence",
    "PresenceTrial",
    "Trial",
    "check_presence",
    "compare",
    "cut_trials",
    "judge",
    "nuv_score",
]
