"""Calls of other libraries, written as there and answered by any measure.

`matchTemplate` is OpenCV's, `match_template` scikit-image's; `locate_on` and `locate_all_on` are
what PyAutoGUI and PyScreeze do with a screenshot; `as_detections` and `as_hits` hand matches on to
supervision and to Multi-Template-Matching.
"""

from .boxes import as_detections, as_hits
from .opencv import (
    TM_AUTO,
    TM_CCOEFF,
    TM_CCOEFF_NORMED,
    TM_CCORR,
    TM_CCORR_NORMED,
    TM_MI,
    TM_NCC2,
    TM_NCC_EXACT,
    TM_NMI,
    TM_NUV,
    TM_NUV_ADAPTIVE,
    TM_NUV_CURVES,
    TM_NUV_LINEAR,
    TM_NUV_MONOTONE,
    TM_SQDIFF,
    TM_SQDIFF_NORMED,
    TM_SSD,
    matchTemplate,
)
from .scikit_image import match_template
from .screens import Box, ImageNotFoundException, locate_all_on, locate_on

__all__ = [
    "TM_AUTO",
    "TM_CCOEFF",
    "TM_CCOEFF_NORMED",
    "TM_CCORR",
    "TM_CCORR_NORMED",
    "TM_MI",
    "TM_NCC2",
    "TM_NCC_EXACT",
    "TM_NMI",
    "TM_NUV",
    "TM_NUV_ADAPTIVE",
    "TM_NUV_CURVES",
    "TM_NUV_LINEAR",
    "TM_NUV_MONOTONE",
    "TM_SQDIFF",
    "TM_SQDIFF_NORMED",
    "TM_SSD",
    "Box",
    "ImageNotFoundException",
    "as_detections",
    "as_hits",
    "locate_all_on",
    "locate_on",
    "matchTemplate",
    "match_template",
]
