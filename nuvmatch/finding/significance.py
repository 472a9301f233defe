"""How far a place is to be believed: how many as good ones chance alone would show.

The field's term is the number of false alarms (NFA) of a-contrario detection [1]_. What chance
shows is learnt from places where the template is not: best of all from *decoys*, patterns as
like the template as can be that are sought in the same image. In the lowest of their scores,
-log of a score exceeds a high level by exponentially distributed amounts, as in the limit
excesses do [2]_; their mean is Hill's estimator [3]_.

References
----------
.. [1] A. Desolneux, L. Moisan, J.-M. Morel, *From Gestalt Theory to Image Analysis: A
   Probabilistic Approach*, Springer (2008), chapter 3.
.. [2] J. Pickands, *Statistical inference using extreme order statistics*, Annals of
   Statistics 3 (1975).
.. [3] B. M. Hill, *A simple general approach to inference about the tail of a distribution*,
   Annals of Statistics 3 (1975).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_greys, as_integer, as_number, warn
from .lowest import count_windows, lowest_places, windows_of_a_place
from .rules import as_score_map, as_shape
from .suppression import Places

# Lowest scores that a tail is fitted to: so many at least, or one place in so many.
_LEAST, _ONE_IN = 30, 50
_PLACES_TO_LEARN_FROM, _DIFFERENT = 40, 8  # places, and different scores in a tail

# Of a map's own scores the very lowest are left out, true matches maybe.
_OWN_LEAST, _OWN_ONE_IN, _OWN_TRUE = 30, 10, 5

# To tell which places are true more are left out; chance shows as good ones in few images.
_TRUE_LEAST, _TRUE_ONE_IN, _TRUE_MANY, _TELLING = 75, 16, 25, 24
_SURE, _DRAWN = math.log(0.01), math.log(1e-6)  # so sure is only what is drawn there itself
_FAR = math.log(1000)  # of two patterns the one is at a place if chance shows it so much less

_LEAST_SLOPE = 0.0005
_ZERO = math.log(1e-4)  # so much below where the tail ends a score is 0, and none is below it
_ROUNDING = 1e-12


class Tail(NamedTuple):
    """The law of the lowest scores: ``log NFA = start + (log score - level) / slope``.

    `start` is of one window; no score counts as lower than `least`.
    """

    start: float
    level: float
    slope: float
    least: float

    @classmethod
    def fit(
        cls, logs: NDArray[np.float64], size: int, left_out: int, windows: int, least: float
    ) -> Tail:
        """Fit it to the lowest `size` logarithms of scores, ascending, but for the very lowest.

        Those left out count as high as the next: Hill's estimator for censored values. Of
        equal scores, as what repeats itself has them, one counts: they are one observation.
        """
        level = float(logs[size])
        excess = level - np.unique(np.maximum(logs[left_out:size], level + least))
        if excess.size < _DIFFERENT:  # how it goes on is not known: no place is worth more than one
            return cls(math.log(max(left_out, 1) / windows), level, math.inf, level + least)
        slope = (excess.sum() + left_out * excess[0]) / excess.size
        start = math.log(size / windows)
        return cls(start, level, max(float(slope), _LEAST_SLOPE), level + least)

    def log_false_alarms(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return logarithms of false alarms for one window."""
        return np.asarray(self.start + (np.maximum(logs, self.least) - self.level) / self.slope)

    def no_chance(
        self,
        logs: NDArray[np.float64],
        near: NDArray[np.float64],
        windows: int,
        *,
        faithful: bool,
    ) -> NDArray[np.bool_]:
        """Tell which scores of decoys are no chance, by a tail of the template's own.

        Where the template is, they are much like it; and what they are may be drawn itself, as
        the arrow back beside the arrow, or the other eye. Either is far better there than the
        other is: structure that any pattern of the kind resembles is chance.

        Parameters
        ----------
        logs : ndarray
            Logarithms of scores of decoys.
        near : ndarray
            The template's own lowest near each of them; infinite where there is none.
        windows : int
            How many were searched for the template.
        faithful : bool
            Whether what scores 0 is drawn there for certain.
        """
        decoy, own = (self.log_false_alarms(one) + math.log(windows) for one in (logs, near))
        true = (own < _SURE) & (own <= decoy - _FAR)
        drawn = (decoy < _DRAWN) & (decoy <= own - _FAR) & (faithful | (logs > self.least))
        return np.asarray(true | drawn)


@dataclass(frozen=True, eq=False)
class Null:
    """What chance shows: the lowest scores of places where a template is not.

    `nuvmatch.Matcher.calibrate` makes it from images, `from_maps` from score maps.

    Attributes
    ----------
    shape : (int, int)
        Height and width of the template.
    windows : int
        How many windows of evidence an image has, on average of those learnt from.
    sample : int
        How many scores were looked at, of each decoy by itself.
    logs : ndarray of shape (n,)
        Logarithms of the lowest of these that do not overlap much, ascending.
    measure : str or None
        By which measure they are; None: of maps from anywhere.
    template : str or None
        What tells the template from others; None: of maps from anywhere.
    own : bool
        Whether they are those of the map that is judged by them, true matches among them.
    parts : tuple of Null
        Of each measure that was joined with others by false alarms; `logs` are then the
        logarithms of what they are joined to.
    """

    shape: tuple[int, int]
    windows: int
    sample: int
    logs: NDArray[np.float64] = field(repr=False)
    measure: str | None = None
    template: str | None = None
    own: bool = False
    parts: tuple[Null, ...] = ()

    @classmethod
    def from_maps(cls, maps: Sequence[ArrayLike], shape: tuple[int, int]) -> Null:
        """Learn from score maps of images in which the template is not.

        Parameters
        ----------
        maps : sequence of array_like of shape (M, N)
            Dissimilarities, 0 being perfect; NaN is no evidence (``fill_value=nan``).
        shape : (int, int)
            Height and width of the windows, in pixels.

        Returns
        -------
        Null

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above, or a score is below 0.
        """
        shape = as_shape(shape)
        if isinstance(maps, np.ndarray) or not isinstance(maps, Iterable):
            given = f"an array of shape {maps.shape}" if hasattr(maps, "shape") else repr(maps)
            raise TypeError(f"maps is {given}; it must be a sequence of score maps, [map, ..]")
        found = [as_score_map(one, "a map") for one in maps]
        if not found:
            raise ValueError("there is no map; at least one must tell what chance shows")
        sample = count_windows(found)
        lowest = lowest_places([(0, one) for one in found], shape)
        return cls(shape, sample // len(found), sample, logs_of(lowest.scores))

    @cached_property
    def reason(self) -> str:
        """Why nothing can be told; empty if it can."""
        left_out = _OWN_TRUE if self.own else 0
        if self.logs.size < (_OWN_LEAST if self.own else _PLACES_TO_LEARN_FROM):
            return "few" if self.sample else "none"
        return "zero" if self.logs[left_out] <= self._level + self.zero else ""

    def check(
        self,
        shape: tuple[int, int],
        measure: str | None = None,
        template: str | None = None,
        parts: int = 0,
    ) -> None:
        """Refuse to tell of another template, or of another measure or number of them."""
        if self.shape != shape:
            raise ValueError(
                f"null is of windows of shape {self.shape}; those searched are {shape}"
            )
        if template is not None and self.template not in (None, template):
            raise ValueError(
                "null is of another template of this shape, of another type or mask, or of other "
                "poses; Matcher.calibrate makes one that fits"
            )
        others = measure is not None and self.measure not in (None, measure)
        if others or len(self.parts) != parts:
            own = self.measure or "a map from anywhere"
            raise ValueError(
                f"null is of {own}, what is searched of {measure or 'a map from anywhere'}; "
                "Matcher.calibrate makes one that fits"
            )

    def warn_if_undecided(self) -> None:
        """Say why false alarms cannot be told, if they cannot."""
        if all(null.reason == "none" for null in self.parts or (self,)):
            warn("false alarms cannot be told: no window gives evidence")
        elif self.parts and not any(part.decides for part in self.parts):
            warn(
                "no measure can tell false alarms here, so that they are infinite, and places are "
                "ordered by ncc: a larger image, or more of them for `calibrate`, may do"
            )
        elif self.reason == "few":
            enough = _OWN_LEAST if self.own else _PLACES_TO_LEARN_FROM
            warn(
                f"false alarms cannot be told, and are infinite: there are {self.logs.size} places "
                f"to learn from, and {enough} would do: a larger image, or more of them for "
                "`calibrate`"
            )
        elif self.reason == "zero":
            warn(
                f"{self.measure or 'the measure'} cannot decide, and false alarms are infinite: "
                "places without the template score 0 too; another measure may do"
            )

    @property
    def decides(self) -> bool:
        """Whether anything can be told."""
        return not self.reason

    @cached_property
    def tail(self) -> Tail:
        """The law of the lowest scores, if it can be told."""
        left_out = _OWN_TRUE if self.own else 0
        return Tail.fit(self.logs, self._size, left_out, self.sample, self.zero)

    @property
    def shown(self) -> NDArray[np.float64]:
        """Logarithms of scores that chance shows for certain, ascending."""
        return self.logs[:0] if self.own else self.logs

    def false_alarms(self, scores: ArrayLike, windows: int | None = None) -> Any:
        """Tell how many matches as good as these, or better, chance shows.

        Parameters
        ----------
        scores : array_like
            Dissimilarities, 0 being perfect; by "auto" chances, as matches have them.
        windows : int, optional
            Among how many windows. None: as many as an image has. Of no account by "auto", whose
            scores are of all windows that were searched.

        Returns
        -------
        float or ndarray
            In the shape of `scores`; infinite where nothing can be told, NaN where a score is.

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above, or a score is below 0.
        """
        values = as_greys(scores, "scores").astype(np.float64)
        logs, among = logs_of(values), self._among(windows)
        if self.parts and self.decides:
            with np.errstate(divide="ignore"):
                found = -np.log1p(-np.minimum(values, 1))  # of one at least: `Chance.scores`
        else:
            told = numbers_of(self.log_false_alarms(logs, among))
            found = np.where(np.isnan(logs), np.nan, told)
        return float(found) if found.ndim == 0 else found

    def log_false_alarms(self, logs: NDArray[np.float64], windows: int) -> NDArray[np.float64]:
        """Tell the logarithm of the number of false alarms, given those of scores.

        It is no less than what the lowest scores show themselves, equal ones counted, and no
        more than there are places.
        """
        if not self.decides:
            return np.full(np.shape(logs), math.inf)
        found = self.tail.log_false_alarms(logs)
        with np.errstate(divide="ignore"):
            shown = np.log(np.searchsorted(self.shown, logs, side="right") / self.sample)
        of_all = math.log(max(windows, windows_of_a_place(self.shape)))
        most = of_all - math.log(windows_of_a_place(self.shape))
        return np.minimum(np.maximum(found, shown) + of_all, most)

    def no_chance(
        self, logs: NDArray[np.float64], near: NDArray[np.float64], *, faithful: bool
    ) -> NDArray[np.bool_]:
        """Tell which scores of decoys are no chance, being of the template's own; see `Tail`."""
        if not self.decides or self.log_false_alarms(self.logs[:1], self.sample)[0] >= _SURE:
            return np.zeros(logs.shape, np.bool_)
        return self.tail.no_chance(logs, near, self.sample, faithful=faithful)

    def threshold(self, false_alarms: float = 1.0, windows: int | None = None) -> float:
        """Tell the highest score that so many false alarms let through.

        Parameters
        ----------
        false_alarms : float
        windows : int, optional
            Among how many windows, as for `false_alarms`.

        Returns
        -------
        float
            Below 0 where nothing passes.

        Raises
        ------
        TypeError, ValueError
            If an argument is not of the form above.
        """
        most = as_number(false_alarms, "false_alarms", 0)
        log, among = math.log(most) if most > 0 else -math.inf, self._among(windows)
        if self.parts and self.decides:
            return -math.expm1(-most) if most > 0 else -1.0
        limit = self.limit(log, among)
        return math.exp(limit) if limit > -math.inf else -1.0

    def limit(self, log_false_alarms: float, windows: int) -> float:
        """Return the logarithm of the highest score with no more false alarms than that."""
        if math.isinf(log_false_alarms) or not self.decides:
            return math.inf if log_false_alarms == math.inf else -math.inf
        place = windows_of_a_place(self.shape)
        of_one = log_false_alarms - math.log(max(windows, place))
        if log_false_alarms >= math.log(max(windows, place) / place):
            return math.inf
        if of_one >= self.tail.start and math.isinf(self.tail.slope):
            limit = math.inf
        else:
            limit = self.tail.level + self.tail.slope * (of_one - self.tail.start)
        if limit < self.tail.least:
            return -math.inf
        allowed = int(math.exp(of_one) * self.sample * (1 + _ROUNDING))
        if allowed < self.shown.size:
            below = float(self.shown[allowed])
            limit = min(limit, below - _ROUNDING * max(abs(below), 1))
        return limit

    def _among(self, windows: int | None) -> int:
        return self.windows if windows is None else as_integer(windows, "windows", 0)

    @property
    def _size(self) -> int:
        """How many of the scores the tail is fitted to, with those left out."""
        wanted = tail_size(self.sample, self.shape, own=self.own)
        left_out = _OWN_TRUE if self.own else 0
        return _until_different(self.logs, left_out, min(wanted, self.logs.size // 2))

    @property
    def _level(self) -> float:
        """Logarithm of the score where the tail ends."""
        return float(self.logs[self._size])

    @property
    def zero(self) -> float:
        """How far below that a score is 0; what measures are joined to has none."""
        return -math.inf if self.parts else _ZERO


def check_null(null: Any) -> None:
    """Refuse what does not say what chance shows."""
    if not isinstance(null, Null):
        raise TypeError(
            f"null is {null!r}; it must be a Null, as Matcher.calibrate and Null.from_maps make it"
        )


def without_true(
    template: Places, decoys: Places, null: Null, searched: int, *, faithful: bool
) -> Null:
    """Drop places of decoys that are no chance, by the lowest of the template itself.

    Parameters
    ----------
    template : Places
        The best of the template itself, lowest first.
    decoys : Places
        Those that `null` was learnt from.
    null : Null
    searched, faithful
        As for `Tail.no_chance`.

    Returns
    -------
    Null
    """
    ours = template.scores if null.parts else logs_of(template.scores)
    size = min(true_size(searched, null.shape), ours.size // 2)
    kept = np.ones(decoys.rows.size, np.bool_)
    if size >= _TELLING and math.isfinite(ours[size]):
        tail = Tail.fit(ours, size, min(_TRUE_MANY, size // 3), searched, null.zero)
        sure = tail.log_false_alarms(ours) + math.log(searched) < _SURE
        if sure.any():  # what is not is far worse than any decoy that is drawn there
            near = _lowest_near(decoys, template.of(sure), ours[sure], null.shape)
            kept = ~tail.no_chance(null.logs, near, searched, faithful=faithful)
    logs, size = null.logs[kept], tail_size(null.sample, null.shape)
    return replace(null, logs=logs[: max(2 * size, _until_different(logs, 0, size) + 1)])


def _until_different(logs: NDArray[np.float64], left_out: int, size: int) -> int:
    """Return how many of the lowest tell how scores go on: more, where many are equal."""
    others = np.flatnonzero(logs[left_out + 1 :] != logs[left_out:-1]) + left_out + 1
    return max(size, int(others[_DIFFERENT - 1])) if others.size >= _DIFFERENT else size


def _lowest_near(
    places: Places, others: Places, logs: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Return the lowest of the others within half a template of each place, infinite if none is."""
    lowest = np.full(places.rows.size, math.inf)
    for row, col, log in zip(others.rows, others.cols, logs, strict=True):
        near = (abs(places.rows - row) <= shape[0] // 2) & (abs(places.cols - col) <= shape[1] // 2)
        lowest[near] = np.minimum(lowest[near], log)
    return lowest


def tail_size(windows: int, shape: tuple[int, int], *, own: bool = False) -> int:
    """Return how many of the lowest scores among so many are the tail."""
    least, one_in = (_OWN_LEAST, _OWN_ONE_IN) if own else (_LEAST, _ONE_IN)
    return max(least, int(windows / windows_of_a_place(shape) / one_in))


def true_size(windows: int, shape: tuple[int, int]) -> int:
    """Return how many of a template's own lowest scores tell which of them are true."""
    return max(_TRUE_LEAST, int(windows / windows_of_a_place(shape) / _TRUE_ONE_IN))


def numbers_of(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of false alarms by their logarithms: none is impossible.

    What logarithms have rounded is set right: as many as one is 1.
    """
    with np.errstate(over="ignore"):
        mantissas, exponents = np.frexp(np.maximum(np.exp(logs), sys.float_info.min))
    return np.ldexp(np.round(mantissas * 2.0**40) / 2.0**40, exponents)


def logs_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms of scores; raise ValueError where one is below 0."""
    if (scores < 0).any():
        raise ValueError(
            f"the lowest score is {np.nanmin(scores):g}; false alarms are told of dissimilarities "
            "of at least 0, which is perfect: take 1 - s of similarities s up to 1"
        )
    with np.errstate(divide="ignore"):
        return np.log(scores)
