"""Many templates, turned and resized: check, search, let them compete."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _checks
from .._progress import Progress, Tell, telling
from ..finding import Null, PeakRule, check_null, compete
from ..matcher import Matcher
from ..measures import Auto, Measure, MeasureLike, as_measure
from ..results import Matches
from .posed import Posed, PosedHits
from .poses import as_angles, as_scales
from .upright import Upright, UprightHits

_AGAIN = 4  # times as many are asked for where others have taken too many places


class Search:
    """Templates, made ready once, to be sought turned and resized, and to compete for places.

    Parameters
    ----------
    templates : array_like, sequence of array_like, or dict of array_like
        One template as for `Matcher`, several, or several by name. `Match.name` is None of a
        single one, the position of several, or the name.
    measure : str or Measure
        As for `Matcher`. "auto" does not turn nor resize.
    masks : array_like, sequence or dict, optional
        As for `Matcher`, keyed as the templates are; None where all pixels of one count.
    nodata, n_threads
        As for `Matcher`.
    angles : "all", float, or sequence of float
        By how many degrees a template may be turned, counter-clockwise as the eye sees it: these
        and none between. ``range(-10, 11)`` is every degree from -10 to 10.
    scales : float or sequence of float
        By how much it may be resized: two numbers are a range and all between them, one or three
        and more are the scales themselves.
    rivals : sequence
        Names of templates, or positions, that compete for places as others do, and whose matches
        are neither returned nor counted: look-alikes that are not what is sought. One that is
        larger than the image or the region takes no place.
    exact : bool
        Search every pose at full resolution, in steps of a pixel at the corner of the template.
        It takes a thousand times as long; False: coarse to fine.

    Attributes
    ----------
    measure : Measure
    names : tuple
        Of the templates.
    rivals : tuple
        Of those that are not returned.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the form above, or `Matcher` raises it for a template.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    >>> parts = {"left": image[5:15, 3:13], "turned": np.rot90(image[20:32, 30:38])}
    >>> [(m.name, m.row, m.col, m.angle) for m in Search(parts, angles=(0, 90, 180, 270)).locate(
    ...     image, max_per_name=1)]
    [('left', 5, 3, 0.0), ('turned', 20, 30, 270.0)]
    """

    measure: Measure
    names: tuple[Any, ...]
    rivals: tuple[Any, ...]

    def __init__(
        self,
        templates: Any,
        measure: MeasureLike = "nuv",
        *,
        masks: Any = None,
        nodata: float | Sequence[float] | None = None,
        angles: Any = (0.0,),
        scales: Any = (1.0,),
        rivals: Sequence[Any] = (),
        exact: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.measure = as_measure(measure)
        turned, resized = as_angles(angles), as_scales(scales)
        exact = _checks.as_flag(exact, "exact")
        posed = turned.listed != (0.0,) or resized.listed != (0.0,)
        if posed and isinstance(self.measure, Auto):
            raise ValueError(
                'measure is "auto", which neither turns nor resizes templates; "nuv_adaptive" may'
            )
        given = {"nodata": nodata, "n_threads": n_threads}
        self._seekers: list[Upright | Posed] = []
        for name, template, mask in _named(templates, masks):
            matcher = _make_ready(name, template, self.measure, mask=mask, **given)
            if posed:
                self._seekers.append(Posed(name, matcher, turned, resized, coarse=not exact))
            else:
                self._seekers.append(Upright(name, matcher))
        self.names = tuple(seeker.name for seeker in self._seekers)
        self.rivals = _as_rivals(rivals, self.names)

    def __repr__(self) -> str:
        number = len(self.names)
        return f"<Search for {number} template{'s'[: number != 1]}>"

    def locate(
        self,
        image: ArrayLike,
        *,
        image_mask: ArrayLike | None = None,
        region: tuple[int, int, int, int] | None = None,
        threshold: float | None = None,
        false_alarms: float | None = None,
        null: Null | Mapping[Any, Null] | None = None,
        max_matches: int | None = None,
        max_per_name: int | None = None,
        min_distance: float | None = None,
        max_overlap: float = 0.25,
        subpixel: bool | str = False,
        progress: bool | Tell | None = None,
    ) -> Matches:
        """Find the places where the templates match best, each of which one of them gets.

        Parameters
        ----------
        image, image_mask, region, threshold
            As for `Matcher.locate`.
        false_alarms : float, optional
            As for `Matcher.locate`: how many false matches an image like this may show, of all
            templates but rivals, and poses, together. None: not asked for, unless there is a
            `null`.
        null : Null, or dict of Null, optional
            What chance shows of the template, or of each by name, from `calibrate`. None: their
            mirror images tell, sought in the same image.
        max_matches : int, optional
            How many at most. None: no limit; but with no threshold, false_alarms nor max_per_name
            the single best.
        max_per_name : int, optional
            How many of each template at most.
        min_distance : float, optional
            Drop a match closer than this to a better one: between their centers. None: go by
            `max_overlap`.
        max_overlap : float, optional
            Drop a match that shares more than this with a better one: as intersection over union,
            or over the smaller where they are of unlike size.
        subpixel : bool or "precise"
            As for `Matcher.locate`; what is turned or resized is placed precisely anyway, and
            either has `Match.sigma` tell how exactly.
        progress : callable or True, optional
            As for `Matcher.locate`. Of templates that are turned or resized a part is a search for
            one, or for one of its mirror images, in a block of the image.

        Returns
        -------
        Matches
            Best first: by false alarms where these are asked for, else by score over what noise
            would score. For a place templates of one shape compete by score in either case.

        Raises
        ------
        TypeError, ValueError
            As `Matcher.locate`.

        Warns
        -----
        UserWarning
            As `Matcher.locate`.
        """
        if max_per_name is not None:
            max_per_name = _checks.as_integer(max_per_name, "max_per_name", 1)
        if max_per_name is not None and threshold is false_alarms is max_matches is None:
            threshold = math.inf
        rule = PeakRule(threshold, false_alarms, max_matches, min_distance, max_overlap, subpixel)
        known = self._known(null)
        if known and rule.false_alarms is None:
            rule = replace(rule, false_alarms=math.inf)
        wanted = rule.max_matches
        if max_per_name is not None:
            of_names = max_per_name * self._reported
            wanted = of_names if wanted is None else min(wanted, of_names)
        where = {"image": image, "image_mask": image_mask, "region": region}
        only = self._seekers[0]
        with telling(progress) as counted:
            if len(self._seekers) == 1 and isinstance(only, Upright):
                rule = replace(rule, max_matches=wanted)
                return only.locate(where, rule, counted, known.get(only.name))
            seekers = self._of_those_with_room(image, region)
            return self._let_compete(seekers, where, rule, wanted, max_per_name, counted, known)

    def calibrate(self, *images: ArrayLike, image_mask: ArrayLike | None = None) -> dict[Any, Null]:
        """Learn what chance shows in images, for any number of others like them.

        Parameters
        ----------
        *images, image_mask
            As for `Matcher.calibrate`.

        Returns
        -------
        dict of Null
            By name of the template, for `locate`, as ``null=``. It can be pickled.

        Raises
        ------
        TypeError, ValueError
            As `Matcher.calibrate`.

        Warns
        -----
        UserWarning
            As `Matcher.calibrate`.
        """
        if not images:
            raise ValueError("calibrate learns from images; it was given none")
        known = {}
        for one in self._seekers:
            with _checks.naming(one.name):
                known[one.name] = one.calibrate(images, image_mask)
        return known

    @property
    def _reported(self) -> int:
        return len(self.names) - len(self.rivals)

    def _known(self, null: Any) -> dict[Any, Null]:
        """Take what chance shows of all templates, or of none."""
        if null is None:
            return {}
        if not isinstance(null, Mapping) and len(self.names) == 1:
            null = {self.names[0]: null}
        if not isinstance(null, Mapping) or set(null) != set(self.names):
            given = list(null) if isinstance(null, Mapping) else repr(null)
            raise ValueError(
                f"null is of {given}; it must be of all templates by name, {list(self.names)}, as "
                "Search.calibrate makes it"
            )
        for one in null.values():
            check_null(one)
        return dict(null)

    def _of_those_with_room(self, image: Any, region: Any) -> list[Upright | Posed]:
        """Leave out rivals that are larger than the image or the region: they take no place."""
        if not self.rivals:
            return self._seekers
        extent = np.shape(image)[:2]
        if region is not None:
            extent = _checks.as_region(region, extent, (1, 1))[2:]
        return [one for one in self._seekers if one.name not in self.rivals or one.has_room(extent)]

    def _let_compete(
        self,
        seekers: Sequence[Upright | Posed],
        where: dict[str, Any],
        rule: PeakRule,
        wanted: int | None,
        max_per_name: int | None,
        progress: Progress,
        known: dict[Any, Null],
    ) -> Matches:
        """Find places of all templates, and give each place to one of them."""
        number = wanted if wanted in (None, 1) else 2 * wanted
        while True:
            asked = rule, number, self._reported, progress
            hits = []
            for seeker in seekers:
                with _checks.naming(seeker.name):
                    hits.append(seeker.seek(where, *asked, known.get(seeker.name)))
            if rule.false_alarms is not None:
                limit = max((float(h.values[h.passes].max(initial=0)) for h in hits), default=0)
                hits = [of_one.with_refused(limit) for of_one in hits]
            each = [(of_one, i) for of_one in hits for i in range(len(of_one.matches))]
            taken = _compete(hits, each, rule, max_per_name, self.rivals)
            found = [each[i] for i in taken]
            full = max_per_name if rule.false_alarms is None else None
            if len(found) == wanted and _are_settled(found, hits, full):
                break
            if all(of_one.whole for of_one in hits):
                break
            number = _AGAIN * (number or 1)
        for one in hits:
            one.gather([i for of_one, i in found if of_one is one])
        return Matches(of_one.complete(i, rule.subpixel) for of_one, i in found)


def _compete(
    hits: Sequence[UprightHits | PosedHits],
    each: Sequence[tuple[UprightHits | PosedHits, int]],
    rule: PeakRule,
    max_per_name: int | None,
    rivals: Sequence[Any],
) -> list[int]:
    """Give each place to one template: of one shape by score, of all by false alarms then."""
    matches = [of_one.matches[i] for of_one, i in each]
    names = [of_one.name for of_one, _ in each]
    values, alarms, passes = (
        np.concatenate([getattr(of_one, key) for of_one in hits])
        for key in ("values", "alarms", "passes")
    )
    left = np.arange(len(matches))
    if rule.false_alarms is not None:
        # What is more like another template is not this one, however few of it chance shows.
        shapes = [of_one.matcher.shape for of_one, _ in each]
        every = replace(rule, max_matches=None)
        groups = [np.flatnonzero([one == shape for one in shapes]) for shape in set(shapes)]
        ranked = [own[np.argsort(values[own], kind="stable")] for own in groups]
        taken = [compete(matches, names, own, every) for own in ranked]
        left = np.array([i for own in taken for i in own if passes[i]], np.int64)
    order = left[np.lexsort((left, values[left], alarms[left]))]
    return compete(matches, names, order, rule, max_per_name, rivals)


def _are_settled(
    found: Sequence[tuple[UprightHits | PosedHits, int]],
    hits: Sequence[UprightHits | PosedHits],
    full: int | None,
) -> bool:
    """Whether all places that were not asked for come behind the last that is taken.

    What more there is of a template that is `full` takes no place from others.
    """
    last, i = found[-1]
    key = float(last.alarms[i]), float(last.values[i]), hits.index(last)
    taken = Counter(of_one.name for of_one, _ in found)
    return all(
        of_one.whole
        or taken[of_one.name] == full
        or (of_one.alarms.max(initial=0), of_one.values.max(initial=0), number) >= key
        for number, of_one in enumerate(hits)
    )


def _as_rivals(rivals: Any, names: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take names of templates, of which some must be none."""
    if isinstance(rivals, str) or not isinstance(rivals, Sequence):
        raise TypeError(f"rivals is {rivals!r}; it must be a sequence of names of templates")
    unknown = [name for name in rivals if not (isinstance(name, Hashable) and name in names)]
    if unknown:
        raise ValueError(
            f"rivals has {', '.join(map(repr, unknown))}; no template has that name: "
            f"{', '.join(map(repr, names))}"
        )
    if set(rivals) == set(names):
        raise ValueError("all templates are rivals; at least one must be sought")
    return tuple(dict.fromkeys(rivals))


def _named(templates: Any, masks: Any) -> list[tuple[Any, Any, Any]]:
    """Take one template, several, or several by name, each with its mask."""
    if isinstance(templates, Mapping):
        names, given = list(templates), list(templates.values())
        if not isinstance(masks, Mapping | None):
            raise TypeError(
                f"masks is of type {type(masks).__name__}; templates have names: a dict"
            )
    elif (
        isinstance(templates, Sequence)
        and not isinstance(templates, str)
        and _are_several(templates)
    ):
        names, given = list(range(len(templates))), list(templates)
        if not isinstance(masks, Mapping | None):
            masks = list(masks)
            if len(masks) != len(given):
                raise ValueError(f"there are {len(given)} templates and {len(masks)} masks")
            masks = dict(enumerate(masks))
    else:
        return [(None, templates, masks)]
    if not given:
        raise ValueError("there is no template; at least one must be sought")
    masks = masks or {}
    unknown = sorted(map(repr, set(masks) - set(names)))
    if unknown:
        raise ValueError(f"masks has {', '.join(unknown)}; no template has that name")
    return [(name, one, masks.get(name)) for name, one in zip(names, given, strict=True)]


def _are_several(templates: Sequence[Any]) -> bool:
    """Whether this is a sequence of templates, and not the rows of one."""
    return not len(templates) or np.ndim(templates[0]) != 1


def _make_ready(name: Any, template: Any, measure: Measure, **given: Any) -> Matcher:
    try:
        with _checks.naming(name):
            return Matcher(template, measure, **given)
    except (TypeError, ValueError) as error:
        if name is None:
            raise
        raise type(error)(f"template {name!r}: {error}") from error
