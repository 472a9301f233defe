"""What a measure is: a description that `prepare` makes ready for one template."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

from numpy.typing import NDArray

from ..binning import Binning
from ..engine import Image
from ..results import ToneCurve
from .template import Template


class Measure(Protocol):
    """A dissimilarity of templates to windows: anything that has `prepare`."""

    def prepare(self, template: Template) -> Scorer:
        """Make it ready for a template; raise ValueError if that cannot be sought by it."""


class Scorer(Protocol):
    """A measure made ready for one template; used from several threads at a time.

    Only `fill` must be there. A method ``gain(window)`` is asked for `nuvmatch.Match.gain`;
    ``lowest(image, dtype, near, n_threads)`` for all windows of a map of that type that score no
    more than the best and `near` more, as `rows`, `cols` and `scores` of shape (n,), or None
    where making the map takes less time.

    Attributes
    ----------
    bins : tuple of nuvmatch.binning.Binning
        How the template's greys are cut, one for each channel; empty if they are not.
    """

    bins: tuple[Binning, ...] = ()

    @abstractmethod
    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        """Fill a score map.

        Parameters
        ----------
        image : Image
            Its `planes` are the greys, (channels, H, W), of any type; `bad` is None, or
            (H, W) and True where a pixel must not be used. It may be a part of the image
            that is searched, of which ``image.whole.planes`` is all.
        out : ndarray of shape (H - h + 1, W - w + 1), float32 or float64
            To be filled everywhere: 0 is perfect, lower is better, NaN is no evidence.
        n_threads : int
            Most threads to use.
        """

    def tone_curve(self, window: NDArray[Any]) -> tuple[ToneCurve, ...] | None:
        """Tell which greys a window (channels, h, w) shows for the template's, if it can."""
        return None


def scorer_of(measure: Measure, template: Template) -> Scorer:
    """Make a measure ready for a template; refuse what cannot fill a map, with a TypeError."""
    scorer = measure.prepare(template)
    if not callable(getattr(scorer, "fill", None)):
        raise TypeError(
            f"{measure} has prepared {scorer!r}; it must be a scorer, with "
            "fill(image, out, n_threads)"
        )
    return scorer


def ask(scorer: Scorer, name: str, window: NDArray[Any]) -> Any:
    """Ask a scorer for what it may be able to tell of a window: None if it is not."""
    answer = getattr(scorer, name, None)
    return None if answer is None else answer(window)


def ask_all(scorers: Iterable[Scorer], name: str, window: NDArray[Any]) -> Any:
    """Ask several, one after the other, until one can tell: None if none can."""
    answers = (ask(scorer, name, window) for scorer in scorers)
    return next((answer for answer in answers if answer not in (None, ())), None)
