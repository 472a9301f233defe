"""Icons on screenshots, as PyAutoGUI and PyScreeze find them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._checks import Picture
from ..io import read_image, to_grey
from ..matcher import Matcher
from ..measures import Auto, Measure
from ..measures.nuv import ToneModel
from ..results import Matches


class Box(NamedTuple):
    """A place on a screen, in pixels: ``(left, top, width, height)``."""

    left: int
    top: int
    width: int
    height: int

    @property
    def center(self) -> tuple[int, int]:
        """``(x, y)`` of the pixel in its middle, where to click."""
        return self.left + self.width // 2, self.top + self.height // 2


class ImageNotFoundException(LookupError):
    """An icon is nowhere on a screenshot, or not as similar as was asked for.

    What is raised is PyScreeze's and PyAutoGUI's own as well where these have been imported, so
    that what handles theirs handles it.
    """

    def __reduce__(self) -> tuple[Any, ...]:  # a class made as it is raised has no name to load
        return _not_found, self.args


def _not_found(message: str) -> ImageNotFoundException:
    """Make an exception that is also that of those who are called likewise."""
    name = ImageNotFoundException.__name__
    modules = [sys.modules.get(module) for module in ("pyautogui", "pyscreeze")]
    theirs = [getattr(module, name) for module in modules if hasattr(module, name)]
    bases = tuple(dict.fromkeys((ImageNotFoundException, *theirs)))
    raised: type[ImageNotFoundException] = type(name, bases, {})
    return raised(message)


def locate_on(
    screenshot: str | os.PathLike[str] | Picture,
    icon: str | os.PathLike[str] | Picture,
    *,
    confidence: float = 0.999,
    grayscale: bool = False,
    region: tuple[int, int, int, int] | None = None,
    measure: str | Measure = "ncc",
) -> Box:
    """Find the place of a screenshot that shows an icon best.

    It is ``pyscreeze.locate`` with the screenshot first, and of several places it returns the
    best, not the first from the top. Pixels of the icon that are transparent do not count; of the
    screenshot all do. Where one is grey and the other in colour, both are compared in grey.

    Parameters
    ----------
    screenshot, icon : path, Pillow image, or array_like
        Arrays of colours are BGR, as OpenCV and PyScreeze have them.
    confidence : float
        The least similarity that is enough. By "ncc" it is that of PyScreeze, the correlation, of
        which an exact copy has 1. By "nuv" and its kin it is how much of the window's contrast
        the icon explains, over how much it explains of its own, since bins leave some of that
        open: about the correlation's square, .81 for .9, and 1 of an exact copy. By others it is
        ``1 - score``, of which an exact copy may have less than 1.
    grayscale : bool
        Whether colours are compared in grey.
    region : (int, int, int, int), optional
        Left, top, width and height of the part of the screenshot that is searched.
    measure : str or Measure
        "nuv", "nuv_adaptive" find icons of another theme, greyed out or inverted, which "ncc" does
        not: try a confidence of .8.

    Returns
    -------
    Box
        ``(left, top, width, height)``, whose `center` is where to click.

    Raises
    ------
    ImageNotFoundException
        If no place is as similar, as in PyScreeze from 1.0 on: it says how similar the best is.
    TypeError, ValueError
        As `nuvmatch.locate`.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> from nuvmatch.compat import locate_on
    >>> screen = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    >>> box = locate_on(screen, screen[20:36, 30:46], confidence=0.9)
    >>> box
    Box(left=30, top=20, width=16, height=16)
    >>> box.center
    (38, 28)
    """
    confidence = _as_confidence(confidence)
    locate, floor = _made_ready(screenshot, icon, grayscale, region, measure)
    found = locate()
    if not found or found[0].score > _threshold(confidence, floor):
        best = "no window does"
        if found:
            best = f"the best place has {(1 - found[0].score) / (1 - floor):.3f}"
        raise _not_found(f"nothing is as similar to the icon as {confidence:g}; {best}")
    return Box(*found[0].box)


def locate_all_on(
    screenshot: str | os.PathLike[str] | Picture,
    icon: str | os.PathLike[str] | Picture,
    *,
    confidence: float = 0.999,
    grayscale: bool = False,
    limit: int | None = None,
    region: tuple[int, int, int, int] | None = None,
    max_overlap: float = 0.25,
    measure: str | Measure = "ncc",
) -> list[Box]:
    """Find all places of a screenshot that show an icon.

    It is ``pyscreeze.locateAll``, but for the flanks of better places, which are left out.

    Parameters
    ----------
    screenshot, icon, confidence, grayscale, region, measure
        As for `locate_on`.
    limit : int, optional
        How many places at most.
    max_overlap : float
        As for `nuvmatch.find_peaks`: 1 for places that overlap as they like.

    Returns
    -------
    list of Box
        The most similar first; empty when nothing is as similar.

    Raises
    ------
    TypeError, ValueError, OSError
        As `locate_on`.
    """
    confidence = _as_confidence(confidence)
    locate, floor = _made_ready(screenshot, icon, grayscale, region, measure)
    threshold = _threshold(confidence, floor)
    found = locate(threshold=threshold, max_matches=limit, max_overlap=max_overlap)
    return [Box(*match.box) for match in found]


def _as_confidence(confidence: Any) -> float:
    return _checks.as_number(confidence, "confidence", -1, 1)


def _threshold(confidence: float, floor: float) -> float:
    """Return the highest score that is enough, in the type of maps of whole numbers."""
    return float(np.float32(floor + (1 - confidence) * (1 - floor)))


def _floor(matcher: Matcher, icon: NDArray[Any]) -> float:
    """Return what an exact copy scores: bins of several greys leave some of its contrast open.

    By a measure that bins the image that depends on the screenshot, and is taken for 0.
    """
    if not isinstance(matcher.measure, ToneModel):
        return 0.0
    with _checks.silence():  # of its alpha the matcher has told
        floor = float(matcher.score_map(icon, fill_value=np.nan)[0, 0])
    return 0.0 if np.isnan(floor) else floor  # it refuses its own tones, or is sought by its alpha


def _made_ready(
    screenshot: Any, icon: Any, grayscale: bool, region: Any, measure: Any
) -> tuple[Callable[..., Matches], float]:
    """Return what seeks an icon on a screenshot, and what an exact copy of it scores."""
    grayscale = _checks.as_flag(grayscale, "grayscale")
    screen, pattern = _read(screenshot, "image"), _read(icon, "template")
    screen = screen[..., :-1] if screen.ndim == 3 and screen.shape[2] in (2, 4) else screen
    if grayscale or (_channels(screen) < 3) != (_channels(pattern) < 3):
        screen, pattern = to_grey(screen), to_grey(pattern)
    _checks.check_pair(screen, pattern)
    if region is not None:
        try:
            left, top, width, height = region
        except (TypeError, ValueError):
            raise TypeError(
                f"the region is {region!r}; it must be (left, top, width, height)"
            ) from None
        region = top, left, height, width
    matcher = Matcher(pattern, measure, dtype=np.float32)
    if isinstance(matcher.measure, Auto):
        raise ValueError(
            'measure is "auto", whose scores are no similarities; '
            'nuvmatch.locate(.., "auto", false_alarms=1e-6) decides by chance'
        )
    return partial(matcher.locate, screen, region=region), _floor(matcher, pattern)


def _channels(picture: NDArray[Any]) -> int:
    return picture.shape[2] if picture.ndim == 3 else 1


def _read(picture: Any, name: str) -> NDArray[Any]:
    """Take a file or a picture as greys or RGB, with or without alpha."""
    if isinstance(picture, (str, os.PathLike)):
        return read_image(picture)
    pillow = hasattr(picture, "getbands")
    if pillow and picture.mode in ("P", "PA"):
        picture = picture.convert("RGBA")
    greys = _checks.as_greys(picture, name)
    _checks.as_planes(greys, name)
    if pillow or _channels(greys) not in (3, 4):
        return greys
    return greys[..., [2, 1, 0, 3][: greys.shape[2]]]
