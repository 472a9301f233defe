"""Measures as values: what they are made of, how they are written, what they refuse."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from patterns import MEASURES, name_of_measure

import nuvmatch
from nuvmatch import (
    MI,
    NCC,
    NUV,
    SSD,
    AdaptiveNUV,
    Auto,
    CurvesNUV,
    Highest,
    LinearNUV,
    Lowest,
    MonotoneNUV,
    WindowToPattern,
    tones,
)
from nuvmatch.measures import NAMED, as_measure, name_of

INF = np.inf
COLOUR = [[0, 9, 256], [0, 30, 90, 256], [-1, 128, 300]]
PAIR = np.arange(12).reshape(3, 4), np.arange(12).reshape(3, 4) % 5

# What is given beside what stands for the same, or None.
GIVEN = [
    *((measure, None) for measure in (*MEASURES, *NAMED.values())),
    (NUV(bins=np.int64(5)), NUV(bins=5)),
    (NUV(bins=np.array(5)), NUV(bins=5)),
    (NUV(bins="fd", binning="greedy"), None),
    (NUV(bins=[0, 100, 256]), NUV(bins=(0.0, 100.0, 256.0))),
    (NUV(bins=np.array([0, 1 / 3, 7])), NUV(bins=[0, 1 / 3, 7])),
    (MI(bins=np.array([0, 100, 256], np.uint16)), MI(bins=[0, 100, 256])),
    (NUV(bins=COLOUR), NUV(bins=tuple(np.array(edges) for edges in COLOUR))),
    (NUV(bins=np.array([[0, 1, 2]] * 3)), NUV(bins=[(0, 1, 2)] * 3)),
    (NUV(levels_range=[0, 1e300]), NUV(levels_range=(np.float32(0), np.float64(1e300)))),
    (NUV(gain=(-INF, 2)), NUV(gain=np.array([-INF, 2]))),
    (MonotoneNUV(gain=(np.float16(0.5), INF), polarity="increasing"), None),
    (LinearNUV(gain=(-INF, INF), adjusted=np.True_), LinearNUV(gain=[-INF, INF], adjusted=True)),
    (CurvesNUV(n_curves=np.int8(3), tones=tones.Gamma()), None),
    (AdaptiveNUV(n_curves=np.uint8(2)), AdaptiveNUV(n_curves=2)),
    (NUV(tones=tones.Gaussian([0, 1], np.eye(2))), NUV(tones=tones.Gaussian((0, 1.0), np.eye(2)))),
    (NUV(tones=tones.FromPairs([PAIR], value_range=(0, 11), levels=7)), None),
    (
        CurvesNUV(tones=tones.Mixture([tones.Gamma(), tones.Inverted(tones.Smooth())], [1, 2])),
        CurvesNUV(tones=tones.Mixture((tones.Gamma(), tones.Inverted(tones.Smooth())), (1, 2))),
    ),
    (MI(value_range=np.array([0, 9]), bins=[0, 4, 9]), MI(value_range=(0.0, 9.0), bins=(0, 4, 9))),
    (MI(normalize="window"), NAMED["nmi"]),
    (MI(normalize=np.str_("both")), MI(normalize="both")),
    (Auto("nuv", MI()), Auto(NUV(), "mi")),
    (Auto(), NAMED["auto"]),
    (WindowToPattern(bins=np.uint8(9)), WindowToPattern(bins=9)),
    (WindowToPattern(value_range=[0, 5]), WindowToPattern(value_range=(0, 5))),
    (NCC(squared=np.True_), NAMED["ncc2"]),
    (Lowest("nuv", Highest(NUV(gain=(0, INF)), "ssd")), None),
]


@pytest.mark.parametrize(("measure", "same"), GIVEN, ids=itertools.count())
def test_a_measure_is_written_as_the_python_that_makes_it(measure, same):
    """Of any numbers, sequences and arrays, it keeps plain Python: what it prints says all."""
    again = eval(repr(measure), dict(vars(nuvmatch)))
    assert "np." not in repr(measure)
    for other in (again, pickle.loads(pickle.dumps(measure)), same or measure):
        assert other == measure
        assert hash(other) == hash(measure)
        assert repr(other) == repr(measure)


def test_measures_that_differ_are_not_equal():
    distinct = {repr(measure): measure for measure, _ in GIVEN}
    for a, b in itertools.combinations(distinct.values(), 2):
        assert a != b
    assert len(set(distinct.values())) == len(distinct)
    assert NUV() != "nuv"


def test_equal_families_with_other_greys_are_not_equal():
    first, second = PAIR
    pairs = [tones.FromPairs([PAIR]), tones.FromPairs([(first, second + 1)])]
    pairs.append(tones.FromPairs([PAIR], levels=9))
    assert len({NUV(tones=family) for family in pairs}) == 3
    assert NUV(tones=tones.Gaussian([0], [[1]])) != NUV(tones=tones.Gaussian([0], [[2]]))


@pytest.mark.parametrize("measure", MEASURES, ids=name_of_measure)
def test_what_a_measure_prints_scores_alike(measure, rng):
    image, template = rng.integers(0, 256, (14, 15)), rng.integers(0, 256, (5, 6))
    again = eval(repr(measure), dict(vars(nuvmatch)))
    expected = nuvmatch.score_map(image, template, measure)
    assert_array_equal(nuvmatch.score_map(image, template, again), expected)


def test_a_function_as_tones_is_kept_as_it_is(rng):
    def dark(levels, rng):
        return levels**3

    measure = CurvesNUV(tones=dark, n_curves=1)
    assert measure == CurvesNUV(tones=dark, n_curves=1)
    assert "dark" in repr(measure)
    template = rng.permutation(np.repeat(np.arange(5, 256, 7), 4)).reshape(12, 12)
    window = 255 * (template / 255) ** 3
    exact = nuvmatch.CurvesNUV(tones=dark, n_curves=1, bins=36, levels_range=(0, 255))
    assert nuvmatch.score(window, template, exact) < 1e-4


@pytest.mark.parametrize("measure", MEASURES, ids=name_of_measure)
def test_a_measure_cannot_be_changed(measure):
    for field in dataclasses.fields(measure):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(measure, field.name, None)


# Names.


@pytest.mark.parametrize("name", [name for name in NAMED if name != "auto"])
def test_a_name_stands_for_a_measure_with_its_defaults(name, rng):
    assert as_measure(name) == NAMED[name]
    assert name_of(NAMED[name]) == name
    image, template = rng.integers(0, 256, (14, 15)), rng.integers(0, 256, (5, 6))
    by_name, by_measure = (nuvmatch.Matcher(template, m) for m in (name, NAMED[name]))
    assert by_name.measure == by_measure.measure == NAMED[name]
    assert_array_equal(by_name.score_map(image), by_measure.score_map(image))
    assert by_measure.locate(image)[0].measure == name
    assert repr(by_measure) == f"<Matcher for a template of 5 x 6 by {name}>"


@pytest.mark.parametrize(
    "written",
    ["NUV(bins=4)", "NCC(squared=True)", "Lowest(NUV(), Highest(MI(), AdaptiveNUV(n_curves=2)))"],
)
def test_a_measure_without_a_name_is_called_as_it_is_written_in_short(written, rng):
    image, template = rng.integers(0, 256, (14, 15)), rng.integers(0, 256, (5, 6))
    measure = eval(written, vars(nuvmatch))
    name = "ncc2" if measure == NAMED["ncc2"] else written
    assert name_of(measure) == name
    assert str(measure) == written
    assert nuvmatch.locate(image, template, measure)[0].measure == name


class Own:
    def prepare(self, template):
        return NCC().prepare(template)


@pytest.mark.parametrize(
    "make",
    [
        lambda: NUV(tones=lambda levels, rng: levels),
        lambda: Lowest("nuv", Own()),
        lambda: Auto("nuv", Own()),
        Own,
    ],
)
def test_names_do_not_tell_where_what_has_no_repr_is_in_memory(make):
    kept = [make(), make()]  # each where the other is not
    assert name_of(kept[0]) == name_of(kept[1])


@pytest.mark.parametrize(
    ("measure", "error", "message"),
    [
        ("sad", ValueError, "measure is 'sad'.*'nuv'.*NUV"),
        ("", ValueError, "measure is ''"),
        ("NUV", ValueError, "measure is 'NUV'"),
        (3, TypeError, "measure is 3.*prepare"),
        (None, TypeError, "measure is None"),
        (NUV, TypeError, "measure is <class .*NUV"),
        (["nuv", "ncc"], TypeError, "measure is"),
        (len, TypeError, "measure is"),
    ],
)
def test_what_is_no_measure_is_refused(measure, error, message):
    for function in (nuvmatch.locate, nuvmatch.score_map, nuvmatch.match_template, nuvmatch.score):
        with pytest.raises(error, match=message):
            function(np.eye(4), np.eye(4), measure)


# What is refused.


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (NCC, {"bins": 16}),
        (NCC, {"gain": (0, 1)}),
        (SSD, {"polarity": "increasing"}),
        (SSD, {"squared": True}),
        (MI, {"gain": (0, 1)}),
        (MI, {"adjusted": True}),
        (NUV, {"n_curves": 2}),
        (NUV, {"value_range": (0, 255)}),
        (NUV, {"direction": "wtp"}),
        (LinearNUV, {"n_curves": 2}),
        (AdaptiveNUV, {"adjusted": True}),
        (WindowToPattern, {"gain": (0, 1)}),
        (WindowToPattern, {"binning": "kmeans"}),
        (WindowToPattern, {"levels_range": (0, 1)}),
        (Lowest, {"measures": ("nuv", "ncc")}),
        (Auto, {"measures": ("nuv", "ncc")}),
    ],
)
def test_an_option_that_a_measure_does_not_have_is_a_type_error(kind, options):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(options))}'"):
        kind(**options)


@pytest.mark.parametrize("kind", [NUV, AdaptiveNUV, MI, NCC, WindowToPattern])
def test_options_are_given_by_name(kind):
    with pytest.raises(TypeError, match="positional argument"):
        kind(4)


@pytest.mark.parametrize("function", [nuvmatch.locate, nuvmatch.score_map, nuvmatch.Matcher])
def test_options_of_measures_are_no_options_of_functions(function):
    given = (np.eye(9), np.eye(4))[-1 if function is nuvmatch.Matcher else 0 :]
    with pytest.raises(TypeError, match="unexpected keyword argument 'bins'"):
        function(*given, bins=4)


@pytest.mark.parametrize(
    ("kind", "options", "error", "message"),
    [
        (NUV, {"bins": 1}, ValueError, "bins is 1; it must be at least 2"),
        (NUV, {"bins": 2.0}, TypeError, "bins is 2.0"),
        (NUV, {"bins": True}, TypeError, "bins is True"),
        (NUV, {"bins": "doane"}, ValueError, "'doane'"),
        (NUV, {"bins": [0, 300]}, ValueError, "3 or more"),
        (NUV, {"bins": [0, 300, 200]}, ValueError, "ascending"),
        (NUV, {"bins": [0, np.nan, 200]}, ValueError, "ascending"),
        (NUV, {"bins": [[0, 1, 2]] * 2}, ValueError, "edges for 2 channels; colour has 3"),
        (NUV, {"bins": [0, "1", 2]}, TypeError, "bins"),
        (NUV, {"bins": []}, ValueError, "3 or more"),
        (MI, {"bins": 1}, ValueError, "bins is 1"),
        (NUV, {"binning": "magic"}, ValueError, "binning is 'magic'.*'kmeans'"),
        (MI, {"binning": None}, TypeError, "binning is None"),
        (NUV, {"tones": "gamma"}, TypeError, "tones is 'gamma'"),
        (NUV, {"tones": tones.Gamma}, TypeError, "tones is <class"),
        (NUV, {"levels_range": (3, 3)}, ValueError, "levels_range"),
        (MI, {"levels_range": 3}, TypeError, "levels_range"),
        (MI, {"value_range": (3, 3)}, ValueError, "value_range"),
        (MI, {"value_range": (0, INF)}, ValueError, "value_range"),
        (WindowToPattern, {"value_range": 3}, TypeError, "value_range"),
        (MI, {"normalize": "image"}, ValueError, "normalize is 'image'.*'both'"),
        (MI, {"normalize": True}, TypeError, "normalize is True"),
        (NUV, {"polarity": "up"}, ValueError, "polarity is 'up'"),
        (NUV, {"polarity": 1}, TypeError, "polarity is 1"),
        (NUV, {"gain": 3}, TypeError, "gain is 3"),
        (NUV, {"gain": (3, 1)}, ValueError, "gain is"),
        (NUV, {"gain": (np.nan, 1)}, ValueError, "gain"),
        (NUV, {"gain": (-2, -1), "polarity": "increasing"}, ValueError, "every window would be"),
        (NUV, {"gain": (1, 2), "polarity": "decreasing"}, ValueError, "every window would be"),
        (NUV, {"adjusted": 1}, TypeError, "adjusted is 1"),
        (WindowToPattern, {"adjusted": None}, TypeError, "adjusted is None"),
        (NCC, {"squared": 2}, TypeError, "squared is 2"),
        (CurvesNUV, {"n_curves": 0}, ValueError, "n_curves is 0"),
        (AdaptiveNUV, {"n_curves": None}, TypeError, "n_curves is None"),
        (AdaptiveNUV, {"n_curves": 1.5}, TypeError, "n_curves is 1.5"),
        (WindowToPattern, {"bins": 70_000}, ValueError, "65536"),
        (WindowToPattern, {"bins": [0, 1, 2]}, TypeError, "bins"),
    ],
)
def test_bad_settings_are_named(kind, options, error, message):
    with pytest.raises(error, match=message):
        kind(**options)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (NUV(bins=[0, 10, 20]), "cover the template"),
        (NUV(bins=[-9, -8, 300]), "single bin"),
        (NUV(bins=COLOUR), "edges for 3 channels; the template has 1"),
        (NUV(bins=81), "81 bins"),
        (WindowToPattern(bins=81), "81 bins"),
        (MI(bins=[0, 10, 20]), "cover the template"),
    ],
    ids=itertools.count(),
)
def test_bins_that_do_not_suit_the_template_are_refused(measure, message, rng):
    with pytest.raises(ValueError, match=message):
        nuvmatch.Matcher(rng.permutation(81).reshape(9, 9), measure)


def test_bins_for_colour_do_not_suit_grey_and_one_set_of_edges_suits_all(rng):
    template = rng.integers(0, 256, (9, 9, 3)).astype(np.uint8)
    three = nuvmatch.Matcher(template, NUV(bins=COLOUR))
    for c, (cut, edges) in enumerate(zip(three.bins, COLOUR, strict=True)):
        assert_array_equal(cut.labels, np.digitize(template[..., c], edges[1:-1]))
    one = nuvmatch.Matcher(template, NUV(bins=[0, 128, 256]))
    assert [cut.edges.tolist() for cut in one.bins] == [[0, 128, 256]] * 3


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: NUV(gain=(1, 10**400)), ValueError, "308 digits"),
        (lambda: NUV(gain=(1, 2, 3)), TypeError, "two numbers"),
        (lambda: MI(value_range=()), TypeError, "two numbers"),
        (lambda: NUV(binning=np.array(["greedy", "optimal"])), TypeError, "binning is"),
        (lambda: MI(normalize=None), TypeError, "normalize is None"),
    ],
)
def test_odd_settings_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_strings_of_numpy_are_strings():
    measure = NUV(bins=np.str_("rice"), binning=np.str_("greedy"), polarity=np.str_("increasing"))
    assert eval(repr(measure), vars(nuvmatch)) == measure
    assert "str_" not in repr(measure)
