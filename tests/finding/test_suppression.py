"""A map in bands or blocks has the peaks of the whole map, near-ties and plateaus included."""

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nuvmatch
from nuvmatch.finding.suppression import Block, Suppression

REACHES = [[0], [2, 2, 1], [5, 5, 5, 4, 3], [0, 0, 0, 0], [], [40] * 40]

seeds = st.integers(0, 2**32 - 1)
limits = st.sampled_from([0.3, 0.7, np.inf])
numbers = st.none() | st.integers(1, 6)


def random_map(rng):
    """Noise, plateaus, slopes over many rows, and holes."""
    rows, columns = rng.integers(1, 30, 2)
    scores = rng.random((rows, columns))
    match rng.integers(4):
        case 1:
            scores = np.round(4 * scores) / 4
        case 2:
            scores[rng.random(scores.shape) < 0.3] = np.nan
        case 3:
            slope = np.add.outer(np.arange(rows), np.arange(columns)) * rng.choice([1, -1])
            scores = slope / 60 + (rng.random(scores.shape) < 0.1)
    return scores.astype(rng.choice([np.float32, np.float64]))


def suppressed(scores, cuts, *arguments):
    found = Suppression(*arguments)
    for first, stop in itertools.pairwise([0, *cuts, len(scores)]):
        found.add(scores[first:stop].copy(), last=stop == len(scores))
    places = found.finish()
    assert places.scores.tolist() == [scores[place] for place in zip(*places[:2], strict=True)]
    assert found.lowest == np.nanmin(scores, initial=np.inf)
    return list(zip(places.rows.tolist(), places.cols.tolist(), strict=True))


def random_cuts(rng, scores):
    return sorted(set(rng.integers(1, len(scores), 4).tolist())) if len(scores) > 1 else []


def in_blocks(scores, rng, *arguments):
    """The same by blocks, looked at elsewhere and put together in any order."""
    found = Suppression(*arguments)
    cuts = [[0, *random_cuts(rng, axis), len(axis)] for axis in (scores, scores.T)]
    blocks = list(itertools.product(*map(itertools.pairwise, cuts)))
    for rows, cols in rng.permutation(blocks).tolist():
        block = Block(tuple(rows), tuple(cols), scores.shape)
        with_more = scores[max(rows[0] - 1, 0) : rows[1] + 1, max(cols[0] - 1, 0) : cols[1] + 1]
        found.add_found(*found.without_ties().of_block(with_more.copy(), block))
    places = found.finish()
    assert found.lowest == np.nanmin(scores, initial=np.inf)
    return list(zip(places.rows.tolist(), places.cols.tolist(), strict=True))


def in_bands(scores, rng, *arguments):
    return suppressed(scores, random_cuts(rng, scores), *arguments)


in_parts = st.sampled_from([in_bands, in_blocks])


@given(seeds, st.sampled_from(REACHES), limits, numbers, in_parts)
def test_parts_have_the_peaks_of_the_whole_map(seed, reach, limit, enough, found_in_parts):
    rng = np.random.default_rng(seed)
    scores = random_map(rng)
    candidates = sorted(
        (scores[place], *place)
        for place in np.ndindex(scores.shape)
        if scores[place] <= scores.dtype.type(limit)
        and not (naive.around(scores, *place) < scores[place]).any()
    )
    expected = [place for _, *place in naive.apart(candidates, reach)][:enough]
    limit = float(scores.dtype.type(limit))
    found = found_in_parts(scores, rng, np.array(reach, int), limit, enough, 0, None)
    assert found == [tuple(place) for place in expected]


@given(
    seeds, st.sampled_from(REACHES), limits, numbers, st.sampled_from([1e-3, 0.05, 0.3]), in_parts
)
def test_near_ties_are_broken_alike_in_parts(seed, reach, limit, enough, tie, found_in_parts):
    """In steps of the score where they are near each other; in steps above the best after that."""
    rng = np.random.default_rng(seed)
    scores = random_map(rng)
    keys = np.round(rng.random((2, *scores.shape)) * 3)
    candidates = sorted(
        (np.rint(float(scores[place]) / tie), *keys[:, *place], *place)
        for place in np.ndindex(scores.shape)
        if scores[place] <= scores.dtype.type(limit)
        and not (naive.around(scores, *place) < scores[place]).any()
    )
    taken = [(row, col) for *_, row, col in naive.apart(candidates, reach)]
    best = min((float(scores[place]) for place in taken), default=0.0)
    taken.sort(key=lambda p: (np.floor((float(scores[p]) - best) / tie), *keys[:, *p], *p))

    def break_ties(rows, cols):
        return keys[:, rows, cols]

    limit = float(scores.dtype.type(limit))
    arguments = np.array(reach, int), limit, enough, tie, break_ties
    assert found_in_parts(scores, rng, *arguments) == taken[:enough]


def test_ties_are_not_broken_where_there_are_none(rng):
    def refuse(rows, cols):
        raise AssertionError

    scores = rng.permutation(900).reshape(30, 30) / 900
    found = Suppression(np.array([3, 3, 3]), np.inf, None, 1e-9, refuse)
    found.add(scores, last=True)
    assert len(found.finish().rows) > 5


@pytest.mark.compiled
@pytest.mark.parametrize("options", [{}, {"max_matches": 9}, {"threshold": 0.9}])
def test_no_more_than_a_seam_waits(options, rng, monkeypatch):
    """Of a map in many bands, found as in one."""
    image = rng.integers(0, 256, (400, 90)).astype(np.uint8)
    matcher = nuvmatch.Matcher(image[150:162, 30:41])
    whole = matcher.locate(image, **options)
    monkeypatch.setattr(nuvmatch.measures.bands, "WINDOWS_HELD", 1000)
    assert matcher.locate(image, **options) == whole
