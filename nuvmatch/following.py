"""Follow a template through frames: around where it was, and everywhere once it is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _checks
from .finding import Null, PeakRule, check_null
from .matcher import Matcher
from .measures import MeasureLike
from .results import Match

Region = tuple[int, int, int, int]


def track(
    frames: Iterable[ArrayLike],
    template: ArrayLike,
    measure: MeasureLike = "nuv",
    *,
    mask: ArrayLike | None = None,
    nodata: float | Sequence[float] | None = None,
    margin: int | None = None,
    false_alarms: float = 0.01,
    null: Null | None = None,
    renew: int | None = None,
    subpixel: bool | str = False,
    n_threads: int | None = None,
) -> Iterator[Match | None]:
    """Follow a template through frames, one at a time, as they come.

    It is sought around its last place; where chance may show as good a one there, or a better
    place may lie beside that region, in the whole frame.

    Parameters
    ----------
    frames : iterable of array_like
        Images as for `Matcher.locate`: a list, a generator, an array (frames, H, W). Each is
        asked for when its match is.
    template, measure, mask, nodata, n_threads
        As for `Matcher`.
    margin : int, optional
        How many pixels it may move from frame to frame, in rows and in columns. None: as many as
        the template's longer side has.
    false_alarms : float
        As for `Matcher.locate`: what chance shows more of is no match.
    null : Null, optional
        What chance shows, from `Matcher.calibrate`. None: it is learnt from the first frame. With
        `renew` it is learnt again from the frame after each that the template is cut from.
    renew : int, optional
        After so many frames in which it was found it is cut anew from the last of them, as what
        changes slowly asks for; its place drifts by part of a pixel each time. None: never.
    subpixel : bool or "precise"
        As for `Matcher.locate`.

    Returns
    -------
    iterator of Match or None
        One for each frame: where it is, or None where it is lost.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above, or, when its frame comes, the template is larger
        than a frame; if the first frame is too small to tell what chance shows.

    Examples
    --------
    >>> import numpy as np
    >>> scene = np.random.default_rng(0).integers(0, 256, (40, 40), dtype=np.uint8)
    >>> frames = [np.roll(scene, step, axis=1) for step in range(3)]
    >>> [match.col for match in track(frames, scene[20:27, 30:37])]
    [30, 31, 32]
    """
    rule = PeakRule(false_alarms=false_alarms, subpixel=subpixel)
    if not isinstance(frames, Iterable):
        raise TypeError(f"frames is {frames!r}; it must be an iterable of images")
    if isinstance(frames, np.ndarray) and frames.ndim < 3:
        raise ValueError(
            f"frames is a single image of shape {frames.shape}; it must be an iterable of images"
        )
    margin = None if margin is None else _checks.as_integer(margin, "margin", 1)
    renew = None if renew is None else _checks.as_integer(renew, "renew", 1)
    if null is not None:
        check_null(null)
    given = {"mask": mask, "nodata": nodata, "n_threads": n_threads}
    follower = _Follower(template, measure, given, null, rule, margin)
    return _follow(frames, follower, renew)


def _follow(
    frames: Iterable[ArrayLike], follower: _Follower, renew: int | None
) -> Iterator[Match | None]:
    found = 0
    for frame in frames:
        match = follower.find(frame)
        if match is not None:
            found += 1
            if found == renew:
                follower.cut_from(frame, match)
                found = 0
        yield match


class _Follower:
    """A template, what chance shows, and where it was last."""

    def __init__(
        self,
        template: ArrayLike,
        measure: MeasureLike,
        given: dict[str, Any],
        null: Null | None,
        rule: PeakRule,
        margin: int | None,
    ) -> None:
        self._given = given
        self._matcher = Matcher(template, measure, **given)
        self._null = null
        self._rule = rule
        self._margin = margin or max(self._matcher.shape)
        self._last: Match | None = None

    def find(self, frame: ArrayLike) -> Match | None:
        """Seek it around its last place, and if it is not there for certain, everywhere."""
        match = None
        if self._last is not None:
            region = self._last.region_around(self._margin)
            match = self._seek(frame, region)
            if match is not None and _ends_before(region, match, np.shape(frame)):
                match = None
        self._last = match or self._seek(frame, None)
        return self._last

    def cut_from(self, frame: ArrayLike, match: Match) -> None:
        """Follow what a frame shows at a match from there on."""
        row, col, height, width = match.region
        window = np.asarray(frame)[row : row + height, col : col + width]
        self._matcher = Matcher(window, self._matcher.measure, **self._given)
        self._null = None

    def _seek(self, frame: ArrayLike, region: Region | None) -> Match | None:
        if self._null is None:
            self._null = self._learn(frame)
        matches = self._matcher.locate(
            frame, region=region, false_alarms=self._rule.false_alarms, null=self._null,
            max_matches=1, subpixel=self._rule.subpixel,
        )  # fmt: skip
        return matches[0] if matches else None

    def _learn(self, frame: ArrayLike) -> Null:
        null = self._matcher.calibrate(frame)
        if not null.decides and self._rule.false_alarms != np.inf:
            raise ValueError(
                f"the frame of shape {np.shape(frame)} does not show what chance does, so that "
                "nothing can be believed: give null=, from Matcher.calibrate of larger images "
                "or more of them, or false_alarms=inf"
            )
        return null


def _ends_before(region: Region, match: Match, frame: tuple[int, ...]) -> bool:
    """Whether a match is on a border of the region beyond which the frame goes on."""
    row, col, height, width = region
    return (
        match.row == row > 0
        or match.col == col > 0
        or match.row + match.height == row + height < frame[0]
        or match.col + match.width == col + width < frame[1]
    )
