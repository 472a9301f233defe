"""How far a search is: told part by part, up to all; and ended by whoever is told."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import nuvmatch
import nuvmatch.cli
from nuvmatch import Matcher, Search, locate

pytestmark = pytest.mark.compiled  # whole searches; other tests run their kernels as plain Python

IMAGE = np.random.default_rng(0).integers(0, 256, (400, 500), dtype=np.uint8)
TEMPLATE = IMAGE[20:40, 30:50].copy()
ROWS, COLUMNS = 381, 481  # of the score map


@pytest.fixture(autouse=True)
def bands(monkeypatch):
    """Ten bands of 39 rows or less."""
    monkeypatch.setattr(nuvmatch.measures.bands, "WINDOWS_HELD", 39 * COLUMNS)


def told(search, *arguments, **options):
    said = []
    found = search(*arguments, **options, progress=lambda *parts: said.append(parts))
    assert found == search(*arguments, **options)
    return said


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({}, 1),
        ({"threshold": 0.5}, 1),
        ({"false_alarms": 1}, 2),  # what chance shows, and the peaks
        ({"measure": "auto", "false_alarms": 1}, 3),  # by each measure, and by all together
    ],
)
@pytest.mark.compiled
def test_each_band_of_each_pass_is_told(options, passes):
    said = told(locate, IMAGE, TEMPLATE, **options)
    assert said == [(i, 10 * passes) for i in range(1, 10 * passes + 1)]


def test_a_small_image_is_one_part(monkeypatch):
    monkeypatch.setattr(nuvmatch.measures.bands, "WINDOWS_HELD", ROWS * COLUMNS)
    assert told(Matcher(TEMPLATE).locate, IMAGE) == [(1, 1)]


def test_templates_are_told_one_after_the_other():
    several = Search([TEMPLATE, IMAGE[60:80, 60:80]])
    said = told(several.locate, IMAGE, max_per_name=1)
    assert [done for done, _ in said] == list(range(1, 21))
    assert said[-1] == (20, 20)
    turned = Search(TEMPLATE, angles=(0, 90))
    assert told(turned.locate, IMAGE) == [(1, 1)]


@pytest.mark.filterwarnings("ignore:false alarms cannot be told")  # twelve chips are too few
def test_chips_are_parts_flat_ones_too():
    fixed, said = IMAGE.copy(), []
    fixed[:100] = 7
    options = {"grid": (3, 4), "size": 20, "search": 4}
    table = nuvmatch.shifts(fixed, IMAGE, **options, progress=lambda *parts: said.append(parts))
    assert table.tobytes() == nuvmatch.shifts(fixed, IMAGE, **options).tobytes()
    assert said == [(i, 12) for i in range(1, 13)]


def test_what_is_raised_ends_the_search():
    class Enough(Exception):
        pass

    def stop(done, _):
        if done == 2:
            raise Enough

    with pytest.raises(Enough):
        locate(IMAGE, TEMPLATE, threshold=0.5, progress=stop)


def test_a_bar_is_shown_on_demand(capsys):
    locate(IMAGE, TEMPLATE, progress=True)
    assert "10/10" in capsys.readouterr().err
    locate(IMAGE, TEMPLATE, progress=False)
    assert capsys.readouterr().err == ""


def test_a_bar_needs_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"pip install 'nuvmatch\[io\]'"):
        locate(IMAGE, TEMPLATE, progress=True)


@pytest.mark.parametrize("progress", [3, "yes", [print]])
def test_anything_else_is_refused(progress):
    with pytest.raises(TypeError, match=r"progress is .*it must be True, or called with"):
        locate(IMAGE, TEMPLATE, progress=progress)


# On the command line


@pytest.fixture
def files(tmp_path):
    for name, image in (("scene.png", IMAGE), ("template.png", TEMPLATE)):
        nuvmatch.io.write_picture(tmp_path / name, np.repeat(image[..., None], 3, axis=2))
    return [str(tmp_path / "scene.png"), str(tmp_path / "template.png")]


def test_the_command_line_shows_parts_of_one_scene_and_number_of_several(files, capsys):
    scene, template = files
    assert nuvmatch.cli.main(["locate", scene, template, "--progress", "--threshold", "0.5"]) == 0
    assert "10/10" in capsys.readouterr().err
    other = shutil.copy(scene, Path(scene).with_name("other.png"))
    twice = [scene, str(other), scene]  # of which one is named twice
    assert nuvmatch.cli.main(["locate", *twice, template, "--progress"]) == 0
    said = capsys.readouterr().err
    assert "2/2" in said
    assert "scene" in said


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_it_shows_nothing_unasked_where_nobody_looks(files, quiet, capsys):
    assert nuvmatch.cli.main(["locate", *files, *quiet]) == 0
    assert capsys.readouterr().err == ""


def test_a_bar_that_is_asked_for_needs_tqdm(files, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert nuvmatch.cli.main(["locate", *files]) == 0
    capsys.readouterr()
    assert nuvmatch.cli.main(["locate", *files, "--progress"]) == 2
    assert "pip install 'nuvmatch[io]'" in capsys.readouterr().err
