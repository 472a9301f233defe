"""Icons on screenshots, as PyAutoGUI and PyScreeze find them."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from ..io import read_image, to_grey
from ..matcher import Matcher
from ..measures import Measure
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
    """An icon is nowhere on a screenshot, or not as similar as was asked for."""


def locate_on(
    screenshot: str | os.PathLike[str] | ArrayLike,
    icon: str | os.PathLike[str] | ArrayLike,
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
        The least similarity that is enough. By "ncc" it is that of PyScreeze, the correlation. By
        "nuv" and its kin it is the share of the window's contrast that the icon explains: about
        the correlation's square, .81 for .9. An exact copy has 1 by "ncc", and some .99 by "nuv".
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
    threshold = _as_threshold(confidence)
    found = _seek(screenshot, icon, grayscale, region, measure)
    if not found or found[0].score > threshold:
        best = f"the best place has {found[0].similarity:.3f}" if found else "no window does"
        raise ImageNotFoundException(f"nothing is as similar to the icon as {confidence:g}; {best}")
    return Box(*found[0].box)


def locate_all_on(
    screenshot: str | os.PathLike[str] | ArrayLike,
    icon: str | os.PathLike[str] | ArrayLike,
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
    found = _seek(
        screenshot, icon, grayscale, region, measure, threshold=_as_threshold(confidence),
        max_matches=limit, max_overlap=max_overlap,
    )  # fmt: skip
    return [Box(*match.box) for match in found]


def _as_threshold(confidence: Any) -> float:
    """Return the highest score that is enough, in the type of maps of whole numbers."""
    return float(np.float32(1 - _checks.as_number(confidence, "confidence", -1, 1)))


def _seek(
    screenshot: Any, icon: Any, grayscale: bool, region: Any, measure: Any, **rule: Any
) -> Matches:
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
    return Matcher(pattern, measure, dtype=np.float32).locate(screen, region=region, **rule)


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
