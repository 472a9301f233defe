"""README and pages: their links lead somewhere, and their examples print what they say."""

import ast
import contextlib
import importlib
import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType

import pytest

from nuvmatch import Matcher
from nuvmatch.io import read_image

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *ROOT.glob("docs/api/*.md")]
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def text_of(page):
    return page.read_text("utf-8")


def python_of(page):
    """Blocks of a page as one program, each on the lines that it has there."""
    lines = []
    for block in re.finditer(r"^```python\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE):
        start = text_of(page).count("\n", 0, block.start(1))
        lines += [""] * (start - len(lines)) + block[1].splitlines()
    return "\n".join(lines)


def anchors_of(page):
    """Headings, as links to them are written."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


EXAMPLES = [page for page in PAGES if python_of(page)]


def test_the_readme_fits_a_few_screens():
    assert len(text_of(ROOT / "README.md").splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for target, anchor in LINK.findall(BLOCK.sub("", text_of(page))):
        if re.match(r"\w+:", target):
            continue
        path = page.parent / target if target else page
        assert path.exists() or target == "gallery/index.rst", target  # that is made of samples
        if anchor:
            assert anchor in anchors_of(path), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_is_in_the_tree(page):
    if page.parent.name == "docs" and page.name != "index.md":
        listed = text_of(ROOT / "docs" / "index.md").splitlines()
        assert page.stem in listed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_of_one_machine_is_told(page):
    folders = r"/(?:tmp|root|home|work|Users)/\S*"
    hosts = r"localhost|(?:\d+\.){3}\d+:\d+|index-url"
    assert re.findall(f"{folders}|{hosts}", text_of(page)) == []


def marked(page, name):
    """A table that `benchmarks.readme` writes."""
    return text_of(page).split(f"<!-- {name}: begin -->\n")[1].split(f"\n<!-- {name}: end -->")[0]


def listed_in_the_api():
    """Names by module, as the page lists them."""
    found = {}
    module = None
    for line in text_of(ROOT / "docs" / "api" / "index.md").splitlines():
        if named := re.match(r"\.\. (?:currentmodule|automodule):: (\S+)", line):
            module = named[1]
        elif re.match(r"   \w", line):
            found.setdefault(module, set()).add(line.strip())
    return found


ROOMS = ["nuvmatch"] + [
    f"nuvmatch.{name}"
    for name in (
        "batch", "binning", "evaluation", "io", "out_of_core", "showing", "theory", "tones",
    )
]  # fmt: skip


@pytest.mark.parametrize("name", ROOMS)
def test_all_that_is_public_is_in_the_api(name):
    room = importlib.import_module(name)
    public = {
        name
        for name in getattr(room, "__all__", None) or vars(room)
        if not name.startswith("_") and not isinstance(getattr(room, name), ModuleType)
    }
    if not hasattr(room, "__all__"):
        public = {n for n in public if getattr(getattr(room, n), "__module__", "") == name}
    assert listed_in_the_api()[name] == public


def test_the_same_times_stand_in_the_readme_and_on_its_page():
    assert marked(ROOT / "README.md", "speed") == marked(ROOT / "docs" / "speed.md", "speed")


@pytest.mark.bench
@pytest.mark.compiled
def test_tables_are_made_of_the_results_that_are_kept():
    from benchmarks import readme

    assert marked(ROOT / "README.md", "detection") == readme.location_rates(readme.IN_SHORT)
    choosing = ROOT / "docs" / "choosing.md"
    assert marked(choosing, "detection") == readme.location_rates()
    assert marked(choosing, "hit rates") == readme.hit_rates()
    assert marked(choosing, "compare") == readme.sample_output("compare_measures")


@pytest.mark.compiled
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples_print_what_they_say(page, monkeypatch, tmp_path):
    """What is printed is in a comment behind it; a remark may follow a colon."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)  # they may leave files
    code = python_of(page)
    names, compared = {"__name__": "__main__"}, 0
    for statement in ast.parse(code).body:
        printed = io.StringIO()
        part = compile(ast.Module([statement], []), page.name, "exec")
        with contextlib.redirect_stdout(printed):
            exec(part, names)
        _, _, said = code.splitlines()[statement.end_lineno - 1].partition("  # ")
        if printed.getvalue() and said:
            answer = printed.getvalue().strip().replace("\n", " ")
            assert said == answer or said.startswith(f"{answer}: "), statement.end_lineno
            compared += 1
    assert compared > 0


FIGURES = sorted((ROOT / "docs" / "figures").glob("*.py"))


def draw(script, path):
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(path)


@pytest.mark.compiled
@pytest.mark.parametrize("script", FIGURES, ids=lambda script: script.stem)
def test_figures_are_drawn_and_kept(script, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    draw(script, tmp_path / "figure.svg")
    assert "<svg" in (tmp_path / "figure.svg").read_text("utf-8")
    assert script.with_suffix(".svg").exists()


@pytest.mark.compiled
def test_the_window_that_is_drawn_has_the_score_that_is_told(tmp_path, capsys):
    pytest.importorskip("matplotlib").use("agg")
    draw(ROOT / "docs" / "figures" / "one_window.py", tmp_path / "figure.svg")
    scene = read_image(ROOT / "samples" / "scenes" / "camera_solarised.png")
    template = read_image(ROOT / "samples" / "templates" / "camera.png")
    score = Matcher(template).score_map(scene[130:186, 254:330]).item()
    assert capsys.readouterr().out == f"score {score:.4f}\n"
