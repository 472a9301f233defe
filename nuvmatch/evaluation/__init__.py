"""Which measure finds one's own templates in one's own images: trials, and a table of them."""

from .comparing import Comparison, compare
from .features import nuv_score
from .trials import Judgement, Trial, cut_trials, judge

__all__ = ["Comparison", "Judgement", "Trial", "compare", "cut_trials", "judge", "nuv_score"]
