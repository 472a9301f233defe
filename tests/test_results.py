"""Matches as a sequence, as records and as a table."""

import json
import pickle
import sys

import numpy as np
import pytest

from nuvmatch import Match, Matches, ToneCurve

CURVE = ToneCurve((0.0, 85.0), (255.0, 10.5))
FOUND = Matches([Match(5, 33, 6, 10, 0.25, CURVE), Match(0, 0, 6, 10, 0.5)])


def test_a_match_names_its_place_in_every_way():
    match = FOUND[0]
    assert (match.x, match.y) == (33, 5)
    assert match.box == (33, 5, 10, 6)
    assert match.center == (7.5, 37.5)
    assert match.similarity == 0.75
    assert (match.angle, match.scale, match.name) == (0.0, 1.0, None)


def test_a_match_cannot_be_changed():
    with pytest.raises(AttributeError):
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
    with pytest.raises(IndexError, match="0 matches"):
        Matches()[0]


def test_columns_have_types_even_when_empty():
    assert FOUND.rows.tolist() == [5, 0]
    assert FOUND.cols.tolist() == [33, 0]
    assert FOUND.scores.tolist() == [0.25, 0.5]
    empty = Matches()
    assert [a.dtype for a in (empty.rows, empty.cols, empty.scores)] == [np.int64] * 2 + [float]


def test_records_are_ready_for_json():
    records = json.loads(json.dumps(FOUND.to_records()))
    assert records[0]["row"] == 5
    assert records[0]["center"] == [7.5, 37.5]
    assert records[0]["tone_curve"] == {"levels": [0, 85], "values": [255, 10.5]}
    assert records[1]["tone_curve"] is None


def test_a_table_has_the_same_columns_when_empty():
    table = FOUND.to_dataframe()
    assert table["score"].tolist() == [0.25, 0.5]
    assert list(Matches().to_dataframe().columns) == list(table.columns)


def test_a_missing_pandas_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        FOUND.to_dataframe()
