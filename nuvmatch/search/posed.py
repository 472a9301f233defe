"""A template turned and resized: its best poses, and what chance shows of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import silence, warn, warn_of_alpha
from .._progress import Progress
from ..engine import Image
from ..finding import Chance, Null, PeakRule, logs_of, numbers_of
from ..matcher import Matcher
from ..measures.bands import Source
from ..measures.likeness import Look
from ..measures.panel import is_faithful
from ..measures.precise import AROUND
from ..measures.template import Template
from ..results import Match
from .noise import noise_floor
from .polish import polish
from .poses import Axis, Values, have_room, inside, reaches, uprights
from .pyramid import Pyramid, Scene, Sized
from .refine import seek
from .space import NOTHING, WHATEVER_POSE, Found, Space, ordered
from .sweep import poses_of
from .symmetry import is_turned

_AT_FIRST, _AGAIN = 16, 4  # matches where there is no limit, and how many times as many then
_WORK = 4e6  # windows of all poses, that are soon looked at at the coarsest level
_PIXELS = 4  # that a template must have left at the smallest scale
_DIGITS = 12  # of a scale, whose logarithm is sought
_OF_CHANCE = 48  # matches wanted of all decoys together: enough to know what chance shows
_AHEAD = 0.75  # of the next best score elsewhere: what scores less stands out from the rest
_FAR_BETTER = 0.5  # of a decoy's score: where the template scores less it is there itself


class Posed:
    """Seeks one template, turned and resized.

    Parameters
    ----------
    name : str, int or None
        Of the template.
    matcher : Matcher
    angles, scales : Axis
    coarse : bool
        Whether poses are looked at from coarse to fine.
    """

    def __init__(
        self, name: Any, matcher: Matcher, angles: Axis, scales: Axis, *, coarse: bool
    ) -> None:
        smallest = math.prod(matcher.shape) * math.exp(2 * scales.low)
        if smallest < _PIXELS:
            raise ValueError(
                f"a scale of {math.exp(scales.low):.3g} leaves {smallest:.2g} pixels of the "
                f"template of shape {matcher.shape}; there must be {_PIXELS} at least"
            )
        self.name = name
        self.matcher = matcher
        self._angles, self._scales, self._coarse = angles, scales, coarse
        self._pyramid = Pyramid(matcher._template, matcher.measure, matcher._scorer)

    def __getstate__(self) -> tuple[Any, ...]:
        """Keep what is given, not what is made of it."""
        return self.name, self.matcher, self._angles, self._scales, self._coarse

    def __setstate__(self, given: tuple[Any, ...]) -> None:
        Posed.__init__(self, *given[:-1], coarse=given[-1])

    def seek(
        self,
        where: dict[str, Any],
        rule: PeakRule,
        number: int | None,
        sought: int,
        progress: Progress,
        null: Null | None,
    ) -> PosedHits:
        """Find its best poses; the parameters are as those of `Upright.seek`."""
        image = where["image"]
        if isinstance(image, Source):
            space, corner = image.space(self, where["region"])
            transparent = False
        else:
            image, corner, transparent = self.matcher._prepare(**where, least=(1, 1))
            space = self.space(image)
        extent = space.scene.shape
        self._check_room(where["region"], extent)
        if 0 in extent:
            return PosedHits(self, space, corner, NOTHING, None, sought, rule)
        space.progress = progress
        learns = rule.false_alarms is not None and null is None
        progress.expect(space.parts * (2 + len(self._decoys) if learns else 1))
        if null is not None:
            null.check(self.matcher.shape, self.matcher._name, self._digest)
            null.warn_if_undecided()
        most, wanted = self._room(extent), _AT_FIRST if number is None else number
        found = self._seek(space, min(wanted, most))
        closer = self._factor(space) > 1 and not self._stands_out(space, found, wanted)
        if closer:
            progress.expect(space.parts)
            found = self._seek(space, min(wanted, most), closer=True)
        if transparent and not found.scores.size:
            warn_of_alpha()
        if learns:
            null = self._learn([space], closer=closer)
        chance = None if null is None else Chance(null, self._windows(space))
        while True:
            hits = PosedHits(self, space, corner, found, chance, sought, rule)
            hits.whole = bool(wanted >= most or space.most_together(hits.passing) < wanted)
            if hits.whole or number is not None:
                return hits
            wanted *= _AGAIN
            found = self._seek(space, min(wanted, most), closer=closer)

    def space(self, image: Image) -> Space:
        """Return what is searched of an image, or of a part of one."""
        return Space(
            Scene(image), self._angles, self._scales, self.matcher.shape,
            self.matcher._map_type(image.planes.dtype), self.matcher._threads,
        )  # fmt: skip

    def _seek(
        self,
        space: Space,
        wanted: int,
        *,
        closer: bool = False,
        decoy: int | None = None,
        apart: float | None = None,
    ) -> Found:
        """Find the best poses, of a decoy if it is given, as `refine.seek` does."""
        factor = self._factor(space)
        closer = closer and factor > 1  # else nothing is looked at while it is small
        task = partial(_seek_there, factor, decoy, wanted, closer, apart)
        return ordered(
            *(np.concatenate(part) for part in zip(*space.over(self, task), strict=True))
        )

    def _stands_out(self, space: Space, found: Found, wanted: int) -> bool:
        """Whether some of the best places, no more than wanted, score far better than others.

        So does the only place of all poses that were kept.
        """
        scores = space.apart(found, self._reach, WHATEVER_POSE, wanted + 1).scores
        return scores.size == 1 or bool((scores[:-1] <= _AHEAD * scores[1:]).any())

    def _check_room(self, region: Any, extent: tuple[int, int]) -> None:
        """Refuse an image or a region that holds the template in none of the poses."""
        extent = extent if region is None else (int(region[2]), int(region[3]))
        if not self.has_room(extent):
            raise ValueError(
                f"the template of shape {self.matcher.shape} is larger than the "
                f"{'image' if region is None else 'region'} of shape {extent} in all of its poses"
            )

    def has_room(self, extent: tuple[int, ...]) -> bool:
        """Whether an image or a region can hold the template in some pose."""
        return have_room(self.matcher.shape, extent, self._angles, self._scales)

    def _room(self, extent: tuple[int, int]) -> int:
        """Return how many of the smallest there is room for, half a side apart or more.

        So near each other they match as well where what is in the template repeats itself.
        """
        smallest = math.prod(self.matcher.shape) * math.exp(2 * self._scales.low)
        return max(round(4 * math.prod(extent) / smallest), 1)

    def _factor(self, space: Space) -> float:
        """Choose how coarse to begin: no more than there is work to save."""
        for factor in self._factors:
            poses = poses_of(space, self._pyramid.full.radius / factor)
            sides = uprights(poses, space.scene.shape) / factor
            if sides.prod(axis=1).sum() <= _WORK:
                return factor
        return self._factors[-1]

    @property
    def _factors(self) -> list[float]:
        return self._pyramid.factors() if self._coarse else [1.0]

    def calibrate(self, images: Sequence[ArrayLike], image_mask: ArrayLike | None) -> Null:
        """Learn what chance shows of all poses in images, for any number of others like them."""
        prepared = [self.matcher._prepare(one, image_mask, None, (1, 1))[0] for one in images]
        spaces = [self.space(image) for image in prepared]
        for space in spaces:
            self._check_room(None, space.scene.shape)
        return self._learn(spaces, closer=True)

    def _learn(self, spaces: Sequence[Space], *, closer: bool) -> Null:
        """Learn what chance shows of all poses: what decoys score, or the images' own poses.

        Decoys are looked at as closely as the template is, or may be.
        """
        own = [self._seek(space, _OF_CHANCE, closer=closer, apart=self._reach) for space in spaces]
        each = list(zip(spaces, own, strict=True))
        null = by_itself = self._law(spaces, [self._apart(*one) for one in each], 0)
        if self._decoys:
            seen = [self._of_decoys(*one, by_itself, closer=closer) for one in each]
            null = self._law(spaces, seen, len(self._decoys))
        if not self._decoys or not null.decides:
            why, null = self._undecided(null), by_itself
            if null.decides:
                warn(
                    f"{why}; false alarms are told by the best poses in the image itself, less the "
                    "five best: too many, if it is there more often"
                )
        null.warn_if_undecided()
        return null

    def _undecided(self, null: Null) -> str:
        """Say why decoys do not tell."""
        if not self._decoys:
            return (
                "the template is like its mirror images turned, and shifts of it are no decoys "
                "either"
            )
        if null.reason == "zero":
            return "decoys of the template score 0 here"
        return "decoys of the template are in too few places here"

    def _of_decoys(self, space: Space, own: Found, by_itself: Null, *, closer: bool) -> Found:
        """Return the best poses of decoys, but for those that are no chance."""
        each = -(-_OF_CHANCE // len(self._decoys))
        parts = [self._seek(space, each, closer=closer, decoy=i) for i in range(len(self._decoys))]
        found = Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        near = _lowest_near(found, own, self._reach)
        no_chance = by_itself.no_chance(
            logs_of(found.scores), logs_of(near), faithful=is_faithful(self.matcher.measure)
        )
        return found.of(~no_chance & (near > _FAR_BETTER * found.scores))

    def _apart(self, space: Space, found: Found) -> Found:
        """Return one pose of each place: what is there is in several."""
        return space.apart(found, self._reach, WHATEVER_POSE)

    @property
    def _reach(self) -> float:
        return min(self.matcher.shape) / 2

    def _windows(self, space: Space) -> int:
        """Count the windows of all poses, as coarsely as those of large images are looked at."""
        radius = self._pyramid.levels(self._factors[-1])[0].radius
        return len(poses_of(space, radius)) * math.prod(space.scene.shape)

    def _law(self, spaces: Sequence[Space], seen: Sequence[Found], decoys: int) -> Null:
        """Learn from the best poses of so many decoys; of none: from the template's own."""
        logs = np.sort(logs_of(np.concatenate([found.scores for found in seen])))
        windows = sum(map(self._windows, spaces))
        return Null(
            self.matcher.shape, windows // len(spaces), windows * max(decoys, 1), logs,
            self.matcher._name, self._digest, own=not decoys,
        )  # fmt: skip

    @property
    def _digest(self) -> str:
        """What tells the template, and the poses it is sought in, from others."""
        return f"{self.matcher._template.digest}, {self._angles}, {self._scales}, {self._coarse}"

    @cached_property
    def _decoys(self) -> list[Pyramid]:
        """Decoys at each resolution: mirror images, or if these are the template turned, shifts.

        None of lines, edges and what repeats itself: images have more of these than of any shift.
        """
        template, measure = self.matcher._template, self.matcher.measure
        decoys = self._not_turned(template.mirror_images())
        if not decoys and Look(template).stands_out:
            decoys = self._not_turned(template.shifted_images())
        with silence():
            return [Pyramid(image, measure, measure.prepare(image)) for image in decoys]

    def _not_turned(self, candidates: Iterable[Template]) -> list[Template]:
        """Return those of some templates that are neither this one turned nor each other."""
        found = [self.matcher._template]
        for one in candidates:
            if not any(
                is_turned(one, other, self.matcher.measure, self._angles) for other in found
            ):
                found.append(one)
        return found[1:]


def _seek_there(
    factor: float, decoy: int | None, wanted: int, closer: bool, apart: float | None,
    posed: Posed, space: Space,
) -> Found:  # fmt: skip
    pyramid = posed._pyramid if decoy is None else posed._decoys[decoy]
    return seek(pyramid.levels(factor), space, wanted, closer=closer, apart=apart)


def _lowest_near(found: Found, own: Found, reach: float) -> NDArray[np.float64]:
    """Return the lowest of the template's own scores at each pose, infinite if none is there."""
    apart = np.hypot(*(found.poses[:, None, :2] - own.poses[None, :, :2]).transpose(2, 0, 1))
    near = apart < reach * np.exp(own.poses[:, 3])
    return np.asarray(np.where(near, own.scores, math.inf).min(axis=1, initial=math.inf))


class PosedHits:
    """Poses of a template, and what they are compared with others' by; as `UprightHits`."""

    whole = True

    def __init__(
        self,
        seeker: Posed,
        space: Space,
        corner: tuple[int, int],
        found: Found,
        chance: Chance | None,
        sought: int,
        rule: PeakRule,
    ) -> None:
        self.matcher = seeker.matcher
        self._level = seeker._pyramid.full
        self._space = space
        self._corner = np.array(corner)
        with np.errstate(over="ignore"):
            limit = math.inf if rule.threshold is None else float(space.dtype.type(rule.threshold))
        found = found.of(found.scores <= limit)
        self.alarms = np.zeros(len(found.scores))
        if chance is not None:
            self.alarms = numbers_of(chance.log_false_alarms(found.scores) + math.log(sought))
        most = math.inf if rule.false_alarms is None else rule.false_alarms
        self._told = chance is not None
        self._found = found
        self.passes = self.alarms <= most
        self.values = self._found.scores / noise_floor(self.matcher)
        self.name = seeker.name
        self.matches = [self._match(*each) for each in zip(*self._found, strict=True)]

    @property
    def passing(self) -> Found:
        """Poses of which chance does not show too many."""
        return self._found.of(self.passes)

    def with_refused(self, limit: float) -> PosedHits:
        """Return it as it is: poses of which chance shows too many are among them."""
        return self

    def _match(self, pose: Values, score: float) -> Match:
        """Put a pose as a match, in coordinates of the image."""
        height, width = self._space.shape
        reach = reaches(pose[None], (height + 1, width + 1))[0]
        low = np.maximum(np.ceil(pose[:2] - reach), 0)
        high = np.minimum(np.floor(pose[:2] + reach), np.array(self._space.scene.shape) - 1)
        first, sides = low + self._corner, high - low + 1
        offset = pose[:2] - (low + high) / 2
        angle = float(pose[2])
        if self._space.angles.free:
            angle = float(self._space.angles.apart(angle, 0.0))
        on_edge = not inside(pose[None], self._space.shape, self._space.scene.shape, -0.5)[0]
        return Match(
            int(first[0]), int(first[1]), int(sides[0]), int(sides[1]), float(score),
            angle=angle, scale=round(math.exp(pose[3]), _DIGITS),
            name=self.name, measure=self.matcher._name, on_edge=on_edge,
            offset=(float(offset[0]), float(offset[1])), template_shape=self._space.shape,
        )  # fmt: skip

    def gather(self, which: Sequence[int]) -> None:
        """Bring near what is asked of some poses next."""
        self._space.gather(self._found.poses[list(which)])

    def complete(self, i: int, subpixel: bool | str) -> Match:
        """Add what is known of a pose."""
        level, (space, pose) = self._level, self._space.near(self._found.poses[i])
        sized = space.sized(level, float(pose[3]))
        window = space.scene.image_of(*sized.upright(pose[None], level.pitch, level.shape))
        sigma = self._sigma(i, sized, space, pose) if subpixel else None
        return replace(
            self.matches[i], sigma=sigma, margin=self._margin(i),
            false_alarms=float(self.alarms[i]) if self._told else None,
            **self.matcher._tones(window.planes, window),
        )  # fmt: skip

    def _sigma(self, i: int, sized: Sized, space: Space, pose: Values) -> float:
        """Tell how exactly a pose is placed: not at all where what is around it is made up."""
        level = self._level
        around = level.shape[0] + 2 * AROUND, level.shape[1] + 2 * AROUND
        _, bad = sized.upright(pose[None], level.pitch, around)
        placer = level.placer()
        if self.matches[i].on_edge or placer is None or (bad is not None and bad.any()):
            return math.inf
        look = polish(level, space, placer, pose)[1]
        return math.inf if look is None else look.sigma * math.exp(pose[3])

    def _margin(self, i: int) -> float | None:
        """Tell how much better it is than the best that was found elsewhere."""
        poses = self._found.poses
        apart = np.hypot(*(poses[:, :2] - self._found.poses[i][:2]).T)
        radii = np.hypot(*self._space.shape) / 2 * np.exp(poses[:, 3])
        elsewhere = self._found.scores[apart > radii + radii[i : i + 1]]
        return float(elsewhere.min() - self._found.scores[i]) if elsewhere.size else None
