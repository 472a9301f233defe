"""Follow a template through frames: around where it was, and everywhere once it is lost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _checks
from .finding import Null, PeakRule, check_null
from .matcher import Matcher
from .measures import MeasureLike
from .results import Match, Region

_SURE = 0.01  # false alarms that a match has at most which no whole frame is asked about

_RECIPE = (
    "it must be an iterable of images: a list, or a generator that reads a video frame by frame, "
    'as the recipe "Video" has it'
)


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
    place may lie beside that region, in the whole frame. A frame that is searched whole tells
    itself what chance shows.

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
        What chance shows, from `Matcher.calibrate`. None: decoys tell, sought in each frame that
        is searched whole; what they tell holds for the regions of frames that follow, as long as
        it is found there about as surely (half as many digits of false alarms). One that is given
        is of the first template; with `renew` the next ones learn.
    renew : int, optional
        After so many frames in which it was found it is cut anew from the last of them, as what
        changes slowly asks for; its place drifts by part of a pixel each time. What covers it
        slowly is learnt as well, and followed in its place: take more frames than that takes, and
        ask the first template now and then. What the measure refuses, as greys beyond bin edges
        of yours, is not taken. None: never.
    subpixel : bool or "precise"
        As for `Matcher.locate`.

    Returns
    -------
    iterator of Match or None
        One for each frame: where it is, or None where it is lost, or where a frame is flat or
        does not show what chance does.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above, or, when its frame comes, the template is larger
        than a frame.

    Warns
    -----
    UserWarning
        Once, if a frame that is not flat does not show what chance does, and none before it did:
        frames may be too small.

    Examples
    --------
    >>> import numpy as np
    >>> scene = np.random.default_rng(0).integers(0, 256, (40, 40), dtype=np.uint8)
    >>> frames = [np.roll(scene, step, axis=1) for step in range(3)]
    >>> [match.col for match in track(frames, scene[20:27, 30:37])]
    [30, 31, 32]
    """
    false_alarms = _checks.as_number(false_alarms, "false_alarms", 0)
    rule = PeakRule(false_alarms=false_alarms, max_matches=1, subpixel=subpixel)
    margin = None if margin is None else _checks.as_integer(margin, "margin", 1)
    renew = None if renew is None else _checks.as_integer(renew, "renew", 1)
    if null is not None:
        check_null(null)
    given = {"mask": mask, "nodata": nodata, "n_threads": n_threads}
    follower = _Follower(template, measure, given, null, rule, margin)
    _check_frames(frames, follower.width)
    return _follow(frames, follower, renew)


def _check_frames(frames: Any, width: int) -> None:
    """Refuse what is no series of images in which a template of some width may be."""
    if isinstance(frames, (str, bytes)) or not isinstance(frames, Iterable):
        raise TypeError(f"frames is {frames!r}; {_RECIPE}")
    shape = frames.shape if isinstance(frames, np.ndarray) else (0, 0, 0, 0)
    if len(shape) < 3 or (len(shape) == 3 and shape[2] <= min(4, width - 1)):
        raise ValueError(f"frames is a single image of shape {shape}; {_RECIPE}")


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
        self._learns = null is None
        self._null = null
        self._rule = rule
        self._margin = margin or max(self._matcher.shape)
        self._last: Match | None = None
        self._sure = math.inf  # a region is believed by what chance showed in frames before
        self._told = False  # whether a frame has shown what chance does, or it was warned

    @property
    def width(self) -> int:
        """Of the template."""
        return self._matcher.shape[1]

    def find(self, frame: ArrayLike) -> Match | None:
        """Seek it around its last place, and if it is not there for certain, everywhere."""
        match = self._near(frame)
        if match is None or _alarms(match) > self._sure:
            anywhere = self._anywhere(frame)
            match = self._near(frame)  # by what this frame shows of chance
            if match is None or _alarms(match) > _SURE:
                found = [one for one in (match, anywhere) if one is not None]
                match = min(found, key=lambda one: (_alarms(one), one.score), default=None)
            if match is not None and self._learns:
                self._sure = min(math.sqrt(_alarms(match)), _SURE)
        self._last = match
        return match

    def cut_from(self, frame: ArrayLike, match: Match) -> None:
        """Follow what a frame shows at a match from there on."""
        row, col, height, width = match.region
        window = np.asarray(frame)[row : row + height, col : col + width]
        given = {**self._given, "mask": self._matcher._template.mask}  # of its alpha and NaN, too
        try:
            matcher = Matcher(window, self._matcher.measure, **given)
        except ValueError:  # beyond bin edges that are given, say: what was followed so far is kept
            return
        if not self._learns:  # what is given of chance is of the template as it was
            with _checks.silence():
                if not matcher.calibrate(frame).decides:
                    return
        self._matcher, self._null, self._learns = matcher, None, True

    def _near(self, frame: ArrayLike) -> Match | None:
        """Seek it around its last place, if it is known what chance shows."""
        if self._last is None or self._null is None:
            return None
        region = self._last.region_around(self._margin)
        match, _ = self._seek(frame, region, self._null)
        if match is None or _ends_before(region, match, np.shape(frame)):
            return None
        return match

    def _anywhere(self, frame: ArrayLike) -> Match | None:
        """Seek it in the whole frame, which tells what chance shows if nobody else does."""
        if not self._learns:
            return self._seek(frame, None, self._null)[0]
        with _checks.silence() as unsaid:
            match, chance = self._seek(frame, None, None)
        self._null = None
        if chance.null.decides or self._rule.false_alarms == math.inf:
            self._null = chance.null
            for message in unsaid:
                _checks.warn(message)
        elif chance.windows and not self._told:
            _checks.warn(
                f"the frame of shape {np.shape(frame)} does not show what chance does, so that "
                "nothing in it is believed; if others are no larger, give null=, from "
                "Matcher.calibrate of larger images or more of them"
            )
        self._told |= chance.windows > 0
        return match

    def _seek(
        self, frame: ArrayLike, region: Region | None, null: Null | None
    ) -> tuple[Match | None, Any]:
        """Return the best place of which chance shows few, and the `Chance`, if it was searched."""
        matcher, rule = self._matcher, self._rule
        found = matcher._seek(frame, None, region, rule, null)
        matches = found.peaks.compared(found.peaks.matches)
        match = matcher._complete(matches[0], found, rule.subpixel) if matches else None
        return match, found.peaks.chance


def _alarms(match: Match) -> float:
    return math.inf if match.false_alarms is None else match.false_alarms


def _ends_before(region: Region, match: Match, frame: tuple[int, ...]) -> bool:
    """Whether a match is on a border of the region beyond which the frame goes on."""
    row, col, height, width = region
    return (
        match.row == row > 0
        or match.col == col > 0
        or match.row + match.height == row + height < frame[0]
        or match.col + match.width == col + width < frame[1]
    )
