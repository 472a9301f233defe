"""Matches as a sequence, as records and as a table; tone curves as functions."""

import dataclasses
import json
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nuvmatch import Match, Matches, ToneCurve

CURVE = ToneCurve((0.0, 85.0), (255.0, 10.5))
FULL = Match(5, 33, 6, 10, 0.25, (CURVE,), -2.88, name="button", measure="nuv")
FOUND = Matches([FULL, Match(0, 0, 6, 10, 0.5)])


def test_a_match_names_its_place_in_every_way():
    match = FOUND[0]
    assert (match.x, match.y) == (33, 5)
    assert match.box == (33, 5, 10, 6)
    assert match.region == (5, 33, 6, 10)
    assert match.center == (7.5, 37.5)
    assert match.click == (38, 8)
    assert match.corners == ((5, 33), (5, 42), (10, 42), (10, 33))
    assert match.similarity == 0.75
    assert (match.angle, match.scale, match.gain) == (0.0, 1.0, -2.88)
    assert (match.name, match.measure) == ("button", "nuv")


@pytest.mark.parametrize("height", [1, 2, 7, 8])
def test_places_lie_in_the_window(height):
    match = Match(3, 4, height, 1, 0.0)
    x, y = match.click
    assert (x, y) == (4, 3 + height // 2)
    assert match.center == (3 + (height - 1) / 2, 4.0)
    assert np.mean(match.corners, axis=0).tolist() == list(match.center)
    assert all(isinstance(number, int) for number in (x, y, *match.region, *match.box))


def test_a_region_around_has_so_many_pixels_more_on_each_side():
    match = FOUND[0]
    assert match.region_around(0) == match.region
    assert match.region_around(3) == (2, 30, 12, 16)
    assert match.region_around(np.int64(9)) == (-4, 24, 24, 28)  # `region=` cuts that off
    with pytest.raises(ValueError, match="margin is -1"):
        match.region_around(-1)
    with pytest.raises(TypeError, match=r"margin is 1\.5"):
        match.region_around(1.5)


def test_what_is_not_asked_for_is_none():
    match = Match(0, 0, 6, 10, 0.5)
    assert (match.tone_curves, match.gain, match.name, match.measure) == ((), None, None, None)
    assert (match.false_alarms, match.margin, match.sigma) == (None, None, None)


def test_a_match_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FOUND[0].row = 3


def test_matches_are_a_sequence():
    assert len(FOUND) == 2
    assert list(FOUND) == [FOUND[0], FOUND[-1]]
    assert FOUND[:1] == Matches([FOUND[0]])
    assert FOUND[0] in FOUND
    assert pickle.loads(pickle.dumps(FOUND)) == FOUND
    assert hash(FOUND) == hash(Matches(list(FOUND)))
    assert list(FOUND) != FOUND
    assert repr(FOUND) == "<2 matches: (5, 33): 0.25, (0, 0): 0.5>"
    assert repr(FOUND[:1]) == "<1 match: (5, 33): 0.25>"
    assert repr(Matches()) == "<0 matches>"
    assert repr(Matches([FULL] * 6)).endswith("(5, 33): 0.25, ...>")
    with pytest.raises(IndexError, match="0 matches"):
        Matches()[0]


def test_columns_have_types_even_when_empty():
    assert FOUND.rows.tolist() == [5, 0]
    assert FOUND.cols.tolist() == [33, 0]
    assert FOUND.scores.tolist() == [0.25, 0.5]
    empty = Matches()
    assert [a.dtype for a in (empty.rows, empty.cols, empty.scores)] == [np.int64] * 2 + [float]


def test_records_hold_scalars_each_once_and_are_ready_for_json():
    records = FOUND.to_records()
    assert json.loads(json.dumps(records)) == records
    for record in records:
        assert all(isinstance(value, int | float | str | None) for value in record.values())
    first, second = records
    assert first == FULL.to_record()
    assert list(first) == list(second)
    assert {"x", "y", "box", "similarity", "center", "tone_curves"}.isdisjoint(first)  # once
    assert (first["row"], first["col"], first["height"], first["width"]) == (5, 33, 6, 10)
    assert (first["center_row"], first["center_col"]) == (7.5, 37.5)
    assert (first["click_x"], first["click_y"]) == FULL.click == (38, 8)
    assert (first["score"], first["gain"], first["measure"]) == (0.25, -2.88, "nuv")
    assert (second["gain"], second["name"], second["false_alarms"]) == (None, None, None)


def test_every_scalar_of_a_match_is_in_its_record():
    record = FULL.to_record()
    for field in dataclasses.fields(Match):
        if field.name not in ("tone_curves", "offset", "template_shape"):  # no scalars
            assert record[field.name] == getattr(FULL, field.name)


def test_a_table_has_the_same_columns_when_empty():
    table = FOUND.to_dataframe()
    assert table["score"].tolist() == [0.25, 0.5]
    assert list(table.columns) == list(FULL.to_record())
    assert list(Matches().to_dataframe().columns) == list(table.columns)


def test_a_missing_pandas_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        FOUND.to_dataframe()


def test_a_tone_curve_is_a_function_of_greys():
    """Straight between its points, and level beyond them."""
    curve = ToneCurve((10.0, 20.0, 40.0), (0.0, 100.0, 50.0))
    assert curve(20) == 100
    assert curve(15) == 50
    assert curve(30) == 75
    assert (curve(-5), curve(10), curve(40), curve(1e9)) == (0, 0, 50, 50)
    assert isinstance(curve(np.uint8(15)), float)
    assert_array_equal(curve([[10, 30], [20, 255]]), [[0, 75], [100, 50]])
    assert curve(np.array([15, 30], np.uint8)).tolist() == [50, 75]
    assert curve(np.empty((0, 3))).shape == (0, 3)
    assert curve == ((10, 20, 40), (0, 100, 50))


@pytest.mark.parametrize("greys", [None, "15", 1j, [[1, 2], [3]]])
def test_what_is_no_grey_has_no_tone(greys):
    with pytest.raises(TypeError, match="greys"):
        CURVE(greys)
