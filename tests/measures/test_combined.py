"""The lowest and the highest of several measures, window by window."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from patterns import TONE_MODELS, name_of_measure, planted_scene

import nuvmatch
from nuvmatch import MI, NCC, NUV, Highest, Lowest, WindowToPattern


@pytest.mark.parametrize("first", [*(model() for model in TONE_MODELS), "ncc"], ids=name_of_measure)
@pytest.mark.parametrize(("combine", "choose"), [(Lowest, np.minimum), (Highest, np.maximum)])
def test_each_window_has_the_lowest_or_highest_score(first, combine, choose, rng):
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8)
    parts = [first, "ncc2", WindowToPattern()]
    maps = [nuvmatch.score_map(image, template, part, fill_value=np.nan) for part in parts]
    combined = nuvmatch.score_map(image, template, combine(*parts), fill_value=np.nan)
    assert_array_equal(combined, choose(choose(maps[0], maps[1]), maps[2]))
    assert np.isnan(combined).any()


def test_what_one_measure_refuses_is_no_evidence(rng):
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8)  # inverted
    rising = NUV(polarity="increasing")
    refused = np.isnan(nuvmatch.score_map(image, template, rising, fill_value=np.nan))
    for combine in (Lowest, Highest):
        for parts in ((rising, "ncc2"), ("ncc2", rising)):
            scores = nuvmatch.score_map(image, template, combine(*parts), fill_value=np.nan)
            assert_array_equal(np.isnan(scores), refused)
            best = nuvmatch.locate(image, template, combine(*parts))[0]
            assert not refused[best.row, best.col]


def test_bins_curves_and_gain_are_of_the_first_measure_that_has_them(rng):
    image, template = planted_scene(rng, (30, 31), (9, 8), np.uint8)
    coarse = MI(bins=3, value_range=(80, 110))  # of all greys 3 bins show the place as flat
    matcher = nuvmatch.Matcher(template, Lowest("ncc2", coarse, NUV(bins=4)))
    assert matcher.bins[0].counts.size == 3
    match = matcher.locate(image)[0]
    alone = nuvmatch.Matcher(template, NUV(bins=4))
    assert match.tone_curves == alone.tone_curve(image, match.row, match.col)
    assert len(match.tone_curves[0].levels) == 4
    assert match.gain == pytest.approx(-1, abs=0.1)
    bare = nuvmatch.Matcher(template, Highest("ncc", "ssd"))
    assert bare.bins == ()
    assert bare.locate(image)[0].gain is None
    assert bare.tone_curve(image, 3, 4) == ()


def test_combinations_may_be_combined(rng):
    image, template = planted_scene(rng, (20, 21), (7, 6), np.uint8)
    nested = Lowest(Highest("nuv", "ncc2"), "nmi")
    maps = [nuvmatch.score_map(image, template, part) for part in ("nuv", "ncc2", "nmi")]
    expected = np.minimum(np.maximum(maps[0], maps[1]), maps[2])
    assert_array_equal(nuvmatch.score_map(image, template, nested), expected)


def test_parts_may_be_names():
    assert Lowest("nuv", "ncc") == Lowest(NUV(), NCC())
    assert Lowest("nuv", "ncc") != Highest("nuv", "ncc")
    assert Lowest("nuv", "ncc") != Lowest("ncc", "nuv")
    assert Lowest("nuv", "ncc").measures == (NUV(), NCC())


@pytest.mark.parametrize("combine", [Lowest, Highest])
@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ([], ValueError, "two .*given 0"),
        (["nuv"], ValueError, "two .*given 1"),
        (["nuv", "sad"], ValueError, "measure is 'sad'"),
        (["nuv", 3], TypeError, "measure is 3"),
        ([["nuv", "ncc"], "ssd"], TypeError, "measure is"),
        (["nuv", NUV(adjusted=True)], ValueError, "is adjusted"),
        ([WindowToPattern(adjusted=True), "nuv"], ValueError, "is adjusted"),
    ],
)
def test_what_cannot_be_combined_is_refused(combine, parts, error, message):
    with pytest.raises(error, match=message):
        combine(*parts)


@pytest.mark.parametrize("combine", [Lowest, Highest])
def test_what_one_measure_cannot_seek_the_combination_cannot(combine):
    with pytest.raises(ValueError, match="81 bins for 81 pixels"):
        nuvmatch.Matcher(np.arange(81).reshape(9, 9), combine("ncc", NUV(bins=81)))
    with pytest.raises(ValueError, match="is flat"):
        nuvmatch.Matcher(np.ones((9, 9)), combine("ssd", "nuv"))
