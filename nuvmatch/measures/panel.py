"""What chance shows of a template: decoys are sought where it is, mirror images or shifts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._checks import silence, warn
from ..engine import run
from ..finding import (
    Chance,
    Null,
    PeakRule,
    check_null,
    count_windows,
    logs_of,
    lowest_places,
    tail_size,
    true_size,
    windows_of,
    without_true,
)
from ..finding.suppression import Places
from .bands import WINDOWS_HELD, Bands, ScoreMap, layers
from .base import Measure, Scorer
from .joining import AGREE, evidence, join
from .likeness import unlike
from .mutual_information import MI
from .named import name_of, type_name
from .ncc import NCC
from .ssd import SSD
from .template import Template

# Each decoy is sought on this share of the windows, but on so many and in so many places at least.
SHARE, _WINDOWS, _PLACES = 0.125, 2**18, 150
_NEARLY_ALL = 0.7  # is as soon done as all
_ENOUGH = 4  # tails of places, of each decoy: those are dropped that are where the template is
_STRIP = 4  # templates: no less high is what is searched of an image
_APART = 2**40  # rows, between images

Given = TypeVar("Given")
Made = TypeVar("Made")
Maps = Sequence[tuple[int, NDArray[Any]]]  # first rows, and score maps


class Lowest(NamedTuple):
    """The lowest places of images, and how many windows of these give evidence."""

    places: Places
    windows: int
    images: int = 1

    def and_also(self, others: Lowest) -> Lowest:
        """Return these, and those of other images."""
        return Lowest(
            self.places.and_also(others.places),
            self.windows + others.windows,
            self.images + others.images,
        )

    @property
    def ranked(self) -> Places:
        """The places, lowest first."""
        return self.places.of(np.argsort(self.places.scores, kind="stable"))


class Panel:
    """A template by one measure or several, and its mirror images.

    Parameters
    ----------
    measures : sequence of Measure
    scorers : sequence of Scorer
        The same, made ready for the template.
    template : Template
    name : str
        Of the measure, or of what joins several.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        scorers: Sequence[Scorer],
        template: Template,
        name: str,
    ) -> None:
        self.measures = measures
        self.scorers = scorers
        self._template = template
        self.name = name
        self.names = tuple(map(name_of, measures))
        self._faithful = {name_of(measure) for measure in measures if is_faithful(measure)}
        self.shape = template.shape

    @cached_property
    def _decoys(self) -> list[list[Scorer]]:
        """Each decoy by all measures: mirror images, or if these are like it, shifts of it."""
        decoys = unlike(self._template, self._template.mirror_images())
        decoys = decoys or unlike(self._template, self._template.shifted_images())
        with silence():  # whoever prepared the template has been warned
            return [[measure.prepare(decoy) for measure in self.measures] for decoy in decoys]

    @property
    def has_decoys(self) -> bool:
        """Whether there is any: a template may be like all that could be."""
        return bool(self._decoys)

    def learn(self, searches: Sequence[Bands], share: float) -> Null:
        """Learn what chance shows in images; warn where they do not show it well.

        Parameters
        ----------
        searches : sequence of Bands
            Of the template, by all measures, in each image; a small part of one does not show
            enough, so that more of it is searched.
        share : float
            Of the windows, on which each decoy is sought.
        """
        searches = [search.enlarged(windows_of(_PLACES, self.shape)) for search in searches]
        null = self._learn(searches, share)
        if null.decides and not self.has_decoys:
            warn(
                "the template is like its mirror images, and like itself shifted, which are the "
                "decoys of others; false alarms are told by the lowest scores of the image itself, "
                "less the five lowest: too many, if it is there more often"
            )
        null.warn_if_undecided()
        return null

    def _learn(self, searches: Sequence[Bands], share: float) -> Null:
        decoys, n_threads = self._seek_decoys(searches, share), searches[0].n_threads
        if not self.joins:
            ours = self._lowest([search.one(0) for search in searches])
            theirs = _of_each(decoys, self._lowest_of, n_threads)
            return self._law(ours[0], [lowest for (lowest,) in theirs], self.name)
        every = [search.made("all", np.asarray, search.dtype) for search in searches]
        ours = self._lowest(every)
        theirs = _of_each(decoys, self._lowest_of, n_threads)
        parts = self._parts(ours, theirs)
        if not any(part.decides for part in parts):
            return Null(self.shape, 0, 0, np.empty(0), self.name, parts=parts)
        joined = self._lowest([self._joined(search, parts) for search in searches])[0]

        def judge(i: int) -> Lowest:
            by = self._by_others(i, ours, theirs, parts)
            return self._lowest_of([(first, join(one, by)) for first, one in decoys[i]])[0]

        judged = _of_each(range(len(decoys)), judge, n_threads)
        return self._law(joined, judged, self.name, parts)

    def _by_others(
        self,
        decoy: int,
        ours: Sequence[Lowest],
        theirs: Sequence[Sequence[Lowest]],
        parts: tuple[Null, ...],
    ) -> tuple[Null, ...]:
        """Learn from all decoys but one, which is judged by it as the template is by all.

        What has taught what chance shows would never surprise. Where fewer decoys do not tell of
        the same measures it is judged by all.
        """
        if len(theirs) == 1:
            return parts
        others = self._parts(ours, [one for i, one in enumerate(theirs) if i != decoy])
        same = all(a.decides == b.decides for a, b in zip(others, parts, strict=True))
        return others if same else parts

    def _parts(
        self, ours: Sequence[Lowest], theirs: Sequence[Sequence[Lowest]]
    ) -> tuple[Null, ...]:
        """Learn from the lowest places of decoys, by each measure."""
        of_measures = zip(*theirs, strict=True) if theirs else [()] * len(self.names)
        return tuple(map(self._law, ours, of_measures, self.names))

    def map_and_chance(
        self, bands: Bands, rule: PeakRule, null: Null | None
    ) -> tuple[ScoreMap, Chance | None]:
        """Return the map to search, and what chance shows in it if that is asked for."""
        learns = null is None and (self.joins or rule.false_alarms is not None)
        bands.progress.expect((1 + learns * (1 + self.joins)) * bands.parts)
        if null is not None:
            null.warn_if_undecided()
        elif learns:
            null = self.learn([bands], SHARE)
        if null is None:
            return bands.one(0), None
        scores = self.map_by(null, bands)
        return scores, Chance(null, scores.windows)

    def check(self, null: Null) -> None:
        """Refuse what was learnt of another template's shape, or by other measures."""
        check_null(null)
        parts = len(self.names) if self.joins else 0
        null.check(self.shape, self.name, self._template.digest, parts)

    @property
    def joins(self) -> bool:
        """Whether there are several measures."""
        return len(self.names) > 1

    def map_by(self, null: Null, bands: Bands) -> ScoreMap:
        """Return the map whose values `null` is of: by "ncc" if no measure can decide."""
        if not self.joins:
            return bands.one(0)
        if any(part.decides for part in null.parts):
            return self._joined(bands, null.parts)
        return self._by_ncc(bands).one(0)

    def _by_ncc(self, bands: Bands) -> Bands:
        return bands.by([NCC().prepare(self._template)])

    def _joined(self, bands: Bands, parts: tuple[Null, ...]) -> ScoreMap:
        return bands.made(parts, partial(join, parts=parts), np.dtype(np.float64))

    def name_at(self, null: Null, bands: Bands, row: int, col: int) -> str:
        """Tell which measure, or which of several, speaks for a place."""
        if not self.joins:
            return self.name
        if not any(part.decides for part in null.parts):
            return "auto (ncc)"
        spoke = (type_name(self.measures[i]) for i in _speaking(null, bands, row, col))
        return f"auto ({', '.join(spoke)})"

    def scores_around(self, null: Null | None, bands: Bands, row: int, col: int) -> NDArray[Any]:
        """Return 3 x 3 scores about a place: by the measure that speaks first for it."""
        first = 0
        if null is not None and self.joins:
            if not any(part.decides for part in null.parts):
                return np.asarray(self._by_ncc(bands).around(row, col, 1)[0])
            first = (_speaking(null, bands, row, col) or [0])[0]
        return np.asarray(bands.around(row, col, 1)[first])

    def _lowest(self, maps: Sequence[ScoreMap]) -> list[Lowest]:
        """Find the lowest places of the template itself, in each layer of its maps.

        They tell which of the decoys' are where it is; where it has none, they are all there is.
        """
        task = partial(_lowest_of_part, self.shape, self.has_decoys)
        return [
            reduce(
                Lowest.and_also,
                (
                    Lowest(places._replace(rows=places.rows + i * _APART), windows)
                    for i, (places, windows) in enumerate(of_layer)
                ),
            )
            for of_layer in zip(*(one.lowest(task) for one in maps), strict=True)
        ]

    def _lowest_of(self, maps: Maps) -> list[Lowest]:
        """Find the lowest places of a decoy, in each layer of its maps."""
        found = []
        for of_layer in zip(*(layers(scores) for _, scores in maps), strict=True):
            windows = count_windows(of_layer)
            size = _ENOUGH * tail_size(windows * len(self._decoys), self.shape)
            bands = [(first, scores) for (first, _), scores in zip(maps, of_layer, strict=True)]
            found.append(Lowest(lowest_places(bands, self.shape, size), windows))
        return found

    def _law(
        self, own: Lowest, decoys: Sequence[Lowest], measure: str, parts: tuple[Null, ...] = ()
    ) -> Null:
        """Learn from the lowest places of decoys, but for those where the template is."""
        learnt = reduce(Lowest.and_also, decoys) if decoys else own
        lowest = learnt.ranked
        null = Null(
            self.shape, own.windows // own.images, learnt.windows,
            lowest.scores if parts else logs_of(lowest.scores), measure, self._template.digest,
            own=not decoys, parts=parts,
        )  # fmt: skip
        if not decoys:
            return null
        faithful = bool(parts) or measure in self._faithful
        return without_true(own.ranked, lowest, null, own.windows, faithful=faithful)

    def _seek_decoys(self, searches: Sequence[Bands], share: float) -> Sequence[Maps]:
        """Seek each decoy in strips of the images, each in others if there is room."""
        of_all = sum(search.extent[0] * search.extent[1] for search in searches)
        least = max(_WINDOWS, windows_of(_PLACES, self.shape))
        wanted = min(max(share * of_all, least), WINDOWS_HELD)
        share = wanted / of_all if wanted < _NEARLY_ALL * of_all else 1.0
        found: list[list[tuple[int, NDArray[Any]]]] = [[] for _ in self._decoys]
        for i, search in enumerate(searches):
            strips = _strips(search.extent[0], share, len(self._decoys), _STRIP * self.shape[0])
            every = range(len(strips))
            # All in the same strip, which is the image, or each in its own.
            at_once = [every] if share == 1 else [range(k, k + 1) for k in every]
            for decoys in filter(len, at_once):
                sought = search.by([scorer for k in decoys for scorer in self._decoys[k]])
                for top, bottom in strips[decoys[0]]:
                    maps = sought.rows(top, bottom)
                    for k, own in zip(decoys, np.split(maps, len(decoys)), strict=True):
                        found[k].append((i * _APART + top, own))
        return found


def _of_each(many: Sequence[Given], make: Callable[[Given], Made], n_threads: int) -> list[Made]:
    """Return what is made of each, by some threads."""
    made: dict[int, Made] = {}

    def task(i: int) -> None:
        made[i] = make(many[i])

    run(task, range(len(many)), n_threads)
    return [made[i] for i in range(len(many))]


def is_faithful(measure: Measure) -> bool:
    """Whether nothing but the template's own pattern scores 0; by others what shows less may."""
    return isinstance(measure, NCC | SSD) or (
        isinstance(measure, MI) and measure.normalize == "both"
    )


def _lowest_of_part(
    shape: tuple[int, int], has_decoys: bool, corner: tuple[int, int], scores: NDArray[Any]
) -> list[tuple[Places, int]]:
    """Find the lowest places in a part of the template's map, layer by layer.

    All of them where it has no decoys. Return also how many windows give evidence.
    """
    found = []
    for layer in layers(scores):
        windows = count_windows([layer])
        number = 2 * true_size(windows, shape) if has_decoys else None
        places = lowest_places([(corner[0], layer)], shape, number)
        found.append((places._replace(cols=places.cols + corner[1]), windows))
    return found


def _speaking(null: Null, bands: Bands, row: int, col: int) -> list[int]:
    """Return numbers of those measures that agree on a place, the surest first."""
    said = evidence(bands.around(row, col)[:, 0, 0], null.parts)
    return [int(i) for i in np.argsort(said, kind="stable")[:AGREE] if said[i] < np.inf]


def _strips(rows: int, share: float, decoys: int, least: int) -> list[list[tuple[int, int]]]:
    """Deal out strips of rows, first and behind the last, that share to each decoy."""
    wanted = round(share * rows)
    if share == 1 or wanted < 1:
        return [[(0, rows)] for _ in range(decoys)]
    number = max(wanted // least, 1)
    height = -(-wanted // number)
    step = (rows - height) / max(number * decoys - 1, 1)
    tops = [round(i * step) for i in range(number * decoys)]
    return [[(top, top + height) for top in tops[i::decoys]] for i in range(decoys)]
