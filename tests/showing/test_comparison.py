"""How measures compare, drawn and on a page; and the command that does it."""

import csv
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nuvmatch import cli
from nuvmatch.evaluation import Comparison
from nuvmatch.io import write_picture
from nuvmatch.showing import plot_location_roc, plot_rates, write_comparison

pytestmark = pytest.mark.compiled  # whole searches; other tests run their kernels as plain Python

FOUND = Comparison(
    tuple(
        {"pair": "a", "trial": i, "side": 9, "measure": name, "found": hit, "rank": 2 - hit}
        | {"auc": auc, "ms": 5.0, "refused": ""}
        for name, trials in {
            "nuv": [(True, 1.0), (True, 0.999)],
            "<b>ncc</b>": [(True, 0.99), (False, 0.5)],
        }.items()
        for i, (hit, auc) in enumerate(trials)
    )
)


def curves():
    return {name: FOUND.roc(name) for name in FOUND.measures}


def test_bars_are_rates_and_whiskers_their_intervals():
    table = FOUND.table()
    ax = plot_rates(table)
    bars = [bar for bar in ax.patches if bar.get_height() > 0.5]
    assert [bar.get_width() for bar in bars] == [1, 0.5]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["nuv", "<b>ncc</b>"]
    (whiskers,) = ax.collections
    ends = [segment[:, 0] for segment in whiskers.get_segments()]
    assert_allclose(ends, [[row["low"], row["high"]] for row in table])


def test_a_curve_rises_by_a_half_at_what_each_of_two_trials_needs():
    ax = plot_location_roc(curves())
    needed = dict(zip(["nuv", "ncc"], ax.lines, strict=True))
    shares, passing = needed["ncc"].get_data()
    for share, right in ((0.005, 0), (0.02, 0.5), (0.4, 0.5), (0.6, 1)):
        assert passing[np.asarray(shares) <= share].max() == right
    assert ax.get_xscale() == "log"


def test_a_page_has_the_table_and_both_plots_and_is_escaped(tmp_path):
    write_comparison(tmp_path / "a.html", FOUND.table(), curves(), about="<i>two</i>")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert "<i>two</i>" not in page
    assert "<b>ncc</b>" not in re.sub("<!--.*?-->", "", page, flags=re.DOTALL)
    assert "&lt;b&gt;ncc&lt;/b&gt;</th><td>2</td><td>0.500</td>" in page
    assert not re.search(r"""(src|[^:]href)=["']http""", page)
    with pytest.raises(ValueError, match=r"\.txt"):
        write_comparison(tmp_path / "a.txt", FOUND.table(), curves())


@pytest.fixture
def photo(tmp_path):
    rng = np.random.default_rng(0)
    grey = np.repeat(np.repeat(rng.integers(0, 256, (30, 40)), 3, 0), 3, 1).astype(np.uint8)
    for name, image in (("one.png", grey), ("other.png", 255 - grey), ("small.png", grey[:9])):
        write_picture(tmp_path / name, np.repeat(image[..., None], 3, axis=2))
    return str(tmp_path / "one.png")


def test_the_command_leaves_tables_plots_and_a_page(photo, tmp_path, capsys):
    arguments = ["--measures", "nuv", "ncc", "--sides", "16", "--trials", "3"]
    other = photo.replace("one", "other")
    out = tmp_path / "out"
    command = ["compare", photo, "--against", other, *arguments, "--out", str(out)]
    assert cli.main(command) == 0
    with (out / "table.csv").open() as file:
        rows = {row["measure"]: float(row["rate"]) for row in csv.DictReader(file)}
    assert rows == {"nuv": 1, "ncc": 0}
    with (out / "trials.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6
    assert {path.name for path in out.iterdir()} == {
        "index.html", "rates.svg", "roc.svg", "table.csv", "trials.csv",
    }  # fmt: skip
    assert "nuv          3  1.000" in capsys.readouterr().out


def test_without_partners_tones_are_changed_by_a_family(photo, tmp_path, capsys):
    arguments = ["--tones", "gamma", "--measures", "nuv_adaptive", "--trials", "2"]
    assert cli.main(["compare", photo, *arguments, "--out", str(tmp_path / "out")]) == 0
    assert "gamma tone curves" in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_no_data_are_what_files_say_or_what_is_given(tmp_path, monkeypatch):
    """Of inverted greys NCC² is 0, but where the edge of the data is taken for them."""
    tifffile = pytest.importorskip("tifffile")
    monkeypatch.chdir(tmp_path)
    grey = np.random.default_rng(0).integers(0, 256, (40, 60)).repeat(2, 0).repeat(2, 1)
    grey[:30] = -9999
    tag = {"extratags": [(42113, "s", 0, "-9999", True)]}
    for name, image in (("one", grey), ("other", np.where(grey < 0, grey, 255 - grey))):
        tifffile.imwrite(f"{name}.tif", image.astype(np.int16))
        tifffile.imwrite(f"{name}_tagged.tif", image.astype(np.int16), **tag)

    def rate(kind, *options):
        files = f"one{kind}.tif", "--against", f"other{kind}.tif"
        few = "--measures", "ncc2", "--trials", "5", "--sides", "16"
        assert cli.main(["compare", *files, *few, *options, "--out", "out"]) == 0
        with (tmp_path / "out" / "table.csv").open() as file:
            return float(next(csv.DictReader(file))["rate"])

    assert rate("_tagged") == rate("", "--nodata", "-9999") == 1
    assert rate("") < 1
    assert rate("_tagged", "--nodata", "5", "--nodata", "6") < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "one.png", "other.png"], "1 images have 2 partners"),
        (["--against", "small.png"], "same at the same place"),
        (["--sides", "500"], "500 pixels cannot be cut"),
        (["--against", "none.png"], "none.png"),
        (["--out", "small.png"], "small.png is a file; it must be a folder"),
    ],
)
def test_what_cannot_be_compared_is_said(arguments, message, photo, tmp_path, monkeypatch, capsys):
    """And no folder is left behind, but one that was there before."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", photo, "--out", "out", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
    Path("out").mkdir()
    assert cli.main(["compare", photo, "--out", "out", *arguments]) == 2
    assert Path("out").exists()


def test_noise_is_no_score(photo, capsys):
    with pytest.raises(SystemExit):
        cli.main(["compare", photo, "--out", "out", "--noise", "-1"])
    assert "--noise: '-1'; it must be 0 or more" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["matplotlib.figure", "jinja2"])
def test_what_must_be_installed_is_said_before_the_work(
    missing, photo, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, missing, None)
    out = tmp_path / "out"
    assert cli.main(["compare", photo, "--out", str(out)]) == 2
    assert "pip install 'nuvmatch[" in capsys.readouterr().err
    assert not out.exists()
