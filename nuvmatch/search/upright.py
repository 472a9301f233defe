"""A template as it is, among others: its places, before any of them is taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._progress import Progress
from ..finding import Null, PeakRule, Peaks
from ..matcher import Matcher
from ..measures.bands import Sought
from ..results import Match, Matches
from .noise import noise_floor

_BEHIND = 1e3  # every logarithm of false alarms that can be told


class Upright:
    """Seeks one template, neither turned nor resized.

    Parameters
    ----------
    name : str, int or None
        Of the template.
    matcher : Matcher
    """

    def __init__(self, name: Any, matcher: Matcher) -> None:
        self.name = name
        self.matcher = matcher

    def has_room(self, extent: tuple[int, ...]) -> bool:
        """Whether an image or a region can hold the template."""
        return bool((np.array(self.matcher.shape) <= extent).all())

    def calibrate(self, images: Sequence[ArrayLike], image_mask: ArrayLike | None) -> Null:
        """Learn what chance shows in images, for any number of others like them."""
        return self.matcher.calibrate(*images, image_mask=image_mask)

    def locate(
        self, where: dict[str, Any], rule: PeakRule, progress: Progress, null: Null | None
    ) -> Matches:
        """Find its best places where no other template competes for them."""
        found = self.matcher.locate(**where, **asdict(rule), progress=progress, null=null)
        return Matches(replace(match, name=self.name) for match in found)

    def seek(
        self,
        where: dict[str, Any],
        rule: PeakRule,
        number: int | None,
        sought: int,
        progress: Progress,
        null: Null | None,
    ) -> UprightHits:
        """Find its best places, those beside better ones too: these may go to another template.

        Parameters
        ----------
        where : dict
            `image`, `image_mask` and `region`, as `Matcher.locate` takes them.
        rule : PeakRule
        number : int or None
            How many, if there are; None: all that pass.
        sought : int
            Templates that are sought, this one included.
        progress : Progress
        null : Null or None
            What chance shows, if that is known.
        """
        alarms = None if rule.false_alarms is None else rule.false_alarms / sought
        each = PeakRule(rule.threshold, alarms, number, min_distance=0)
        found = self.matcher._seek(**where, rule=each, null=null, progress=progress)
        return UprightHits(self, found, number, sought, rule)


class UprightHits:
    """Places of a template, and what they are compared with others' by.

    Attributes
    ----------
    name : str, int or None
        Of the template.
    matches : list of Match
        In coordinates of what was searched.
    values : ndarray of shape (n,)
        Their scores over what noise would score; logarithms of false alarms of "auto".
    alarms : ndarray of shape (n,)
        Their false alarms, of all templates together; zeros if not asked for.
    passes : ndarray of bool, of shape (n,)
        Whether these are few enough.
    whole : bool
        Whether there are no others.
    """

    def __init__(
        self, seeker: Upright, found: Sought, number: int | None, sought: int, rule: PeakRule
    ) -> None:
        self.matcher = seeker.matcher
        self._seeker, self._found, self._sought, self._rule = seeker, found, sought, rule
        self.name = seeker.name
        self.matches = found.peaks.matches
        alarms = np.array([match.false_alarms or 0.0 for match in self.matches])
        self.alarms: NDArray[np.float64] = alarms * sought
        self.passes = self.alarms <= (math.inf if rule.false_alarms is None else rule.false_alarms)
        # In their order: of places that match equally an exact copy comes first.
        self.values = np.maximum.accumulate(self._values(found.peaks))
        self.whole = number is None or len(self.matches) < number

    def _values(self, peaks: Peaks) -> NDArray[np.float64]:
        """Return what places are ordered by: where measures are joined, scores are mostly 0."""
        chance = peaks.chance
        if chance is None or not chance.joined:
            return np.asarray(peaks.values / noise_floor(self.matcher))
        if chance.null.decides:
            return chance.log_false_alarms(peaks.values)
        return np.asarray(_BEHIND + peaks.values)  # of "ncc"

    @property
    def _joined(self) -> bool:
        chance = self._found.peaks.chance
        return chance is not None and chance.joined

    def with_refused(self, limit: float) -> UprightHits:
        """Return all places of up to a value, those too that chance shows more of."""
        if self._joined:
            return self
        found = self._found
        highest = float(np.nextafter(limit * noise_floor(self.matcher), math.inf))  # as rounded
        if self._rule.threshold is not None:
            highest = min(highest, self._rule.threshold)
        rule = PeakRule(highest, math.inf, min_distance=0)
        peaks = self.matcher._peaks(found.bands, found.scores, found.peaks.chance, rule)
        found = found._replace(peaks=peaks)
        wider = UprightHits(self._seeker, found, None, self._sought, self._rule)
        wider.whole = self.whole
        return wider

    def gather(self, which: Sequence[int]) -> None:
        """Bring near what is asked of some places next."""
        self._found.bands.gather([self.matches[i] for i in which])

    def complete(self, i: int, subpixel: bool | str) -> Match:
        """Add what is known of a place."""
        (match,) = self._found.peaks.compared([self.matches[i]])
        match = self.matcher._complete(match, self._found, subpixel)
        told = None if match.false_alarms is None else float(self.alarms[i])
        return replace(match, name=self.name, false_alarms=told)
