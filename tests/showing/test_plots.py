"""Plots, by what their artists hold."""

import re
import sys
from io import StringIO

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from nuvmatch import NUV, Match, Matcher, ToneCurve
from nuvmatch.showing import (
    plot_bins,
    plot_location_roc,
    plot_matches,
    plot_measures,
    plot_presence,
    plot_rates,
    plot_roc,
    plot_score_map,
    plot_shifts,
    plot_slices,
    plot_tone_curves,
    write_chart,
)

CURVE = ToneCurve((0.0, 100.0, 200.0), (250.0, 30.0, 90.0))
MATCHES = [Match(3, 4, 5, 6, 0.1), Match(9, 8, 6, 5, 0.2, angle=90.0, template_shape=(5, 6))]
FIELD = np.zeros(
    (2, 2), [(n, float) for n in ("row", "col", "shift_row", "shift_col")] + [("outlier", bool)]
)
FIELD["row"], FIELD["col"] = np.mgrid[10:30:10, 20:40:10]
FIELD["shift_row"], FIELD["shift_col"] = [[1, 2], [3, 4]], [[-1, 0], [5, 6]]
FIELD["outlier"][1, 0] = True


def levels(rng, *channels):
    return rng.integers(0, 256, (9, 9, *channels)).astype(np.uint8)


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot_score_map(np.eye(5), ax=ax),
        lambda ax: plot_matches(np.eye(5), [], ax=ax),
        lambda ax: plot_bins(
            np.arange(81).reshape(9, 9), Matcher(np.arange(81).reshape(9, 9)).bins, ax=ax
        ),
        lambda ax: plot_slices(
            np.arange(81).reshape(9, 9), Matcher(np.arange(81).reshape(9, 9)).bins, ax=ax
        ),
        lambda ax: plot_tone_curves([CURVE], ax=ax),
        lambda ax: plot_measures({"nuv": np.eye(5)}, ax=ax),
        lambda ax: plot_roc([0.1], [0.2], ax=ax),
        lambda ax: plot_presence([0.1], [[0.2]], ax=ax),
        lambda ax: plot_shifts(FIELD, ax=ax),
    ],
)
def test_each_plot_takes_an_axes_and_returns_it(draw):
    ours = Figure().subplots()
    assert draw(ours) is ours
    own = draw(None)
    assert own is not ours
    assert own.has_data() or own.images
    assert own.get_figure().canvas.manager is None  # no window


def test_without_matplotlib_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"nuvmatch\[plot\]"):
        plot_roc([0.1], [0.2])


def test_a_score_map_has_crosses_where_the_matches_are():
    scores = np.linspace(0, 1, 300).reshape(15, 20)
    scores[3, 3] = np.nan
    ax = plot_score_map(scores, MATCHES)
    assert_array_equal(ax.images[0].get_array().filled(np.nan), scores)
    assert_array_equal(ax.lines[0].get_xydata(), [(4, 3), (8, 9)])


def test_outlines_are_turned_and_numbered(rng):
    image = rng.integers(0, 65536, (20, 30)).astype(np.uint16)
    ax = plot_matches(image, MATCHES)
    assert ax.images[0].get_array().shape == (20, 30)
    turned, upright = (patch.get_xy()[:4] for patch in ax.patches)  # the best on top
    assert_allclose(upright, [(3.5, 2.5), (9.5, 2.5), (9.5, 7.5), (3.5, 7.5)])
    assert_allclose(turned, [(7.5, 14.5), (7.5, 8.5), (12.5, 8.5), (12.5, 14.5)])
    assert [text.get_text() for text in ax.texts] == ["2", "1"]
    assert [text.get_position() for text in ax.texts] == [(7.5, 14.5), (3.5, 2.5)]
    assert not plot_matches(image, MATCHES, labels="none").texts
    scores = [text.get_text() for text in plot_matches(image, MATCHES, labels="score").texts]
    assert scores == ["0.2", "0.1"]


def test_cuts_are_drawn_between_the_bins(rng):
    template = levels(rng, 3)
    bins = Matcher(template, NUV(bins=4)).bins
    ax = plot_bins(template, bins)
    wanted = [edge for cut in bins for edge in cut.edges[1:-1]]
    assert [line.get_xdata()[0] for line in ax.lines] == wanted
    assert sum(bar.get_height() for bar in ax.patches) == 3 * 81
    for other in (Matcher(template, "ncc").bins, bins[:1]):
        for plot in (plot_bins, plot_slices):
            with pytest.raises(ValueError, match=rf"bins for {len(other)} channels; .* has 3"):
                plot(template, other)


def test_what_is_masked_out_is_not_drawn(rng):
    template = levels(rng)
    mask = rng.random((9, 9)) < 0.7
    bins = Matcher(template, mask=mask).bins
    assert sum(bar.get_height() for bar in plot_bins(template, bins).patches) == mask.sum()
    shown = plot_slices(template, bins).images[0].get_array()
    assert_array_equal(shown[..., 3] > 0, mask)


def test_each_slice_shows_its_mean():
    template = np.array([[0, 10, 100, 110], [200, 210, 10, 0]], np.uint8)
    cut = Matcher(template, NUV(bins=(0, 50, 150, 210))).bins
    shown = np.asarray(plot_slices(template, cut).images[0].get_array(), float)
    means = np.array([[5, 5, 105, 105], [205, 205, 5, 5]])
    assert abs(shown - 255 * (means - 5) / 200).max() <= 1


def test_bins_of_another_template_are_refused(rng):
    template = levels(rng)
    bins = Matcher(template).bins
    for plot in (plot_bins, plot_slices):
        with pytest.raises(ValueError, match=r"of shape \(9, 9\); this one has \(5, 9\)"):
            plot(template[:5], bins)


def test_a_tone_curve_is_drawn_over_the_greys_that_it_explains(rng):
    template, window = levels(rng), levels(rng)
    ax = plot_tone_curves([CURVE], template, window)
    points, curve = ax.lines
    assert_array_equal(points.get_xydata(), np.column_stack([template.ravel(), window.ravel()]))
    assert_array_equal(curve.get_xydata(), np.column_stack(CURVE))
    colours = [to_hex(line.get_color()) for line in plot_tone_curves([CURVE] * 3).lines]
    assert colours == [to_hex(f"tab:{name}") for name in ("red", "green", "blue")]
    for wrong in (window[:5], levels(rng, 3)):
        with pytest.raises(ValueError, match=r"1 curves, a template .* must go together"):
            plot_tone_curves([CURVE], template, wrong)


def test_measures_stand_side_by_side(rng):
    maps = {"nuv": rng.random((6, 7)), "ncc": rng.random((6, 7))}
    maps["ncc"][0, 0] = np.nan
    ax = plot_measures(maps)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["nuv", "ncc"]
    assert_array_equal(ax.lines[-1].get_ydata(), [np.nanmin(m) for m in maps.values()])
    given = plot_measures(maps, (2, 3)).lines[-1].get_ydata()
    assert_array_equal(given, [m[2, 3] for m in maps.values()])
    whiskers = np.concatenate([line.get_ydata() for line in ax.lines[:-1]])
    assert whiskers.min() == min(np.nanmin(m) for m in maps.values())
    assert whiskers.max() == max(np.nanmax(m) for m in maps.values())


def test_a_place_beside_a_map_is_refused(rng):
    maps = {"nuv": rng.random((6, 7)), "ncc": rng.random((6, 3))}
    for place in ((2000, 3), (2, 5), (-1, 0)):
        with pytest.raises(ValueError, match=r"place is .* of '(nuv|ncc)', of shape \(6, [73]\)"):
            plot_measures(maps, place)
    for place in (3, (1.5, 2), (1, 2, 3), "ab"):
        with pytest.raises(TypeError, match=r"place is .*; it must be \(row, column\)"):
            plot_measures(maps, place)


def test_the_roc_is_that_of_all_pairs(rng):
    present, absent = rng.integers(0, 12, 40) / 10, rng.integers(4, 16, 30) / 10  # with ties
    ax = plot_roc(present, absent, label="nuv")
    for x, y in ax.lines[0].get_xydata():
        assert any(
            x == np.mean(absent <= limit) and y == np.mean(present <= limit)
            for limit in (-1, *present, *absent)
        )
    pairs = [(good < bad) + (good == bad) / 2 for good in present for bad in absent]
    assert ax.get_legend().get_texts()[0].get_text() == f"nuv: {np.mean(pairs):.3f}"
    assert len(plot_roc(present, absent, ax=ax).lines) == 2
    with pytest.raises(ValueError, match="absent is empty"):
        plot_roc(present, [])


def test_what_a_limit_on_false_alarms_lets_through(rng):
    present, absent = [1e-9, 1e-3, 0.5, np.inf], [[0.2, 3.0], [], [0.01]]
    found, seen, promised = plot_presence(present, absent).lines
    for told, share in found.get_xydata():
        assert share == np.mean([one <= told for one in present])
    for told, false in seen.get_xydata():
        assert false == sum(one <= told for image in absent for one in image) / 3
    assert_array_equal(promised.get_xdata(), promised.get_ydata())
    with pytest.raises(ValueError, match="absent is empty"):
        plot_presence(present, [])


def test_shifts_are_arrows_from_the_chips():
    ax = plot_shifts(FIELD, np.zeros((40, 50), np.uint8), longer=4)
    outliers, others = ax.collections
    assert_array_equal(outliers.get_offsets(), [(20, 20)])
    assert_array_equal(others.get_offsets(), [(20, 10), (30, 10), (30, 20)])
    assert_array_equal(others.U, [-1, 0, 6])
    assert_array_equal(others.V, [1, 2, 4])
    assert others.scale == 0.25
    assert (others.angles, others.scale_units) == ("xy", "xy")  # rows go down with the axis
    for axes in (ax, plot_shifts(FIELD)):
        assert axes.yaxis_inverted()


@pytest.mark.parametrize("given", [np.zeros((3, 3)), None, FIELD[["row", "col"]]], ids=str)
def test_what_is_no_field_of_shifts_is_refused(given):
    with pytest.raises(ValueError, match=r"without the fields .*outlier; it must be what nuvmatch"):
        plot_shifts(given, np.zeros((40, 50), np.uint8))


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_name_that_is_no_text_is_drawn(suffix, tmp_path):
    match = Match(3, 4, 5, 6, 0.5, name="caf\udce9.png")
    write_chart(tmp_path / f"a.{suffix}", plot_matches(np.eye(20), [match], labels="score"))


def test_slices_of_large_greys_have_their_means():
    greys = (np.arange(64.0).reshape(8, 8) * 1e36).astype(np.float32)
    large, small = (
        plot_slices(one, Matcher(one).bins).images[0].get_array() for one in (greys, greys / 2**100)
    )
    assert_array_equal(large, small)
    assert np.unique(large).size == 8


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_chart_is_written_by_its_suffix(tmp_path, name, start):
    write_chart(tmp_path / name, plot_roc([0.1], [0.2]))
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["_mine", "$\\foo$", "a$b", "$x$", "_child"])
def test_names_are_shown_as_they_are(name):
    """matplotlib takes "_" for hidden and "$" for a formula, which it may not know."""
    curve = np.linspace(0, 1, 5), np.linspace(0, 1, 5)
    drawn = [
        plot_measures({name: np.eye(5)}),
        plot_roc([1, 2], [2, 3], label=name),
        plot_presence([0.1], [[0.2]], label=name),
        plot_location_roc({"nuv": curve, name: curve}),
        plot_rates([{"measure": name, "rate": 0.5, "low": 0.4, "high": 0.6}]),
    ]
    for ax in drawn:
        page = StringIO()
        with rc_context({"svg.fonttype": "none"}):
            ax.get_figure().savefig(page, format="svg")
        assert re.search(rf">{re.escape(name)}(: [^<]*)?</text>", page.getvalue())
