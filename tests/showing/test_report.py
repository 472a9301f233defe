"""The page that shows matches: what is in the file, and what a browser makes of it."""

import base64
import csv
import html
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from browser import Browser, require_chromium
from numpy.testing import assert_array_equal

import nuvmatch
from nuvmatch import Match, Matches, ToneCurve, report

SCENE = np.add.outer(np.arange(300) // 3, np.arange(400) // 4).astype(np.uint8)
TEMPLATE = (SCENE[40:70, 50:90] * 2).astype(np.uint8)
CURVE = ToneCurve((50.0, 120.0), (25.0, 60.0))
NUV = {"tone_curves": (CURVE,), "measure": "nuv"}
TURNED = {"angle": 30.0, "scale": 1.1, "template_shape": (30, 40)}
MATCHES = Matches(
    [
        Match(40, 50, 30, 40, 0.05, gain=0.5, false_alarms=1e-9, margin=0.3, **NUV),
        Match(150, 60, 55, 60, 0.1, gain=0.25, false_alarms=3e-4, margin=-0.05, **NUV, **TURNED),
        Match(200, 300, 30, 40, 0.2, gain=0.5, false_alarms=np.inf, **NUV),
        Match(30, 250, 30, 40, 0.2, gain=-1.5, false_alarms=2.5, on_edge=True, **NUV),
    ]
)
BOX, CHOSEN = (255, 60, 0), (255, 216, 0)
HOSTILE = "</script><script>document.title='hacked'</script><img src=x onerror=\"alert(1)\">&\udcff"


def written(path, *given, **named):
    report(path, *given, **named)
    return path.read_text("utf-8")


def pictures(page, tag):
    """The embedded pictures of an element, as OpenCV reads them."""
    for data in re.findall(rf'<{tag}\b[^>]*(?:src|href)="data:image/png;base64,([^"]+)"', page):
        picture = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), -1)
        yield picture if picture.ndim == 2 else picture[..., [2, 1, 0, 3][: picture.shape[2]]]


def texts(page, tag):
    return [html.unescape(text) for text in re.findall(rf"<{tag}\b[^>]*>([^<]*)</{tag}>", page)]


# The file


def test_the_page_holds_image_template_and_cut_outs(tmp_path):
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES)
    scene, template = pictures(page, "image")
    assert_array_equal(scene, SCENE)
    assert_array_equal(template, TEMPLATE)
    through, cut, *others = pictures(page, "img")
    assert len(others) == 6
    window = SCENE[40:70, 50:90].astype(float)
    shown = np.rint(255 * (window - window.min()) / np.ptp(window))
    assert abs(cut - shown).max() <= 4  # percentiles
    assert abs(through.astype(int) - cut).max() <= 2  # the curve halves what is doubled
    assert all(picture.shape == (30, 40) for picture in others)  # upright, the turned one too


def test_the_turned_box_has_the_turned_corners(tmp_path):
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES[1:2])
    (points,) = re.findall(r'class="box" points="([^"]+)"', page)
    found = np.array([list(map(float, point.split(","))) for point in points.split()])
    middle = 60 + 30 + 1j * (150 + 27.5)
    turn = np.exp(-1j * np.radians(30)) * 1.1  # the eye has rows downwards
    wanted = middle + turn * np.array([-20 - 15j, 20 - 15j, 20 + 15j, -20 + 15j])
    assert abs(found - np.column_stack([wanted.real, wanted.imag])).max() < 0.006


def test_all_that_is_known_of_matches_is_listed_and_what_is_not_is_left_out(tmp_path):
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES)
    titles = texts(page, "button")
    assert titles[titles.index("#") :] == [
        "#", "measure", "row", "col", "height", "width", "angle", "scale", "score",
        "false alarms", "margin", "gain", "on edge",
    ]  # fmt: skip
    cells = texts(page, "td")
    assert "30.00" in cells
    assert "1.100" in cells
    assert "cannot be told" in cells
    assert "yes" in cells
    plain = written(tmp_path / "b.html", SCENE, TEMPLATE, [Match(1, 2, 30, 40, 0.5)])
    titles = texts(plain, "button")
    assert titles[titles.index("#") :] == ["#", "row", "col", "height", "width", "score"]
    assert "false alarms" not in plain
    assert 'class="curve"' not in plain
    assert len(list(pictures(plain, "img"))) == 1
    precise = [replace(MATCHES[0], offset=(0.25, -0.5), sigma=0.125)]
    page = written(tmp_path / "c.html", SCENE, TEMPLATE, precise)
    assert {"54.75", "69.00", "0.125"} <= set(texts(page, "td"))


def test_the_tone_curve_is_told_in_words_too(tmp_path):
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES[:1])
    assert "tone curve of match 1: the template's greys 50 to 120 show as 25 to 60" in page
    (line,) = re.findall(r'<polyline class="grey" points="([^"]+)"', page)
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in line.split())
    assert x0 < x1
    assert y0 > y1  # rises


def test_every_picture_has_a_text(tmp_path):
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES, np.ones((271, 361)))
    assert all('alt="' in tag for tag in re.findall(r"<img[^>]*>", page))
    drawn = re.findall(r"<svg[^>]*>", page)
    assert len(drawn) == 2 + 1 + 2 * len(MATCHES)
    assert all('role="img"' in tag and 'aria-label="' in tag for tag in drawn)
    for control in re.findall(r'<(?:input|select) id="(\w+)"', page):
        assert f'for="{control}"' in page or f'id="{control}" type="range"' in page


def test_a_score_map_is_shown_with_dots_for_matches_as_they_are(tmp_path):
    scores = np.linspace(0.1, 0.9, 271 * 361).reshape(271, 361)
    scores[0, :5] = np.nan
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES, scores)
    _, shown, _ = pictures(page, "image")
    assert shown.shape == (271, 361, 4)
    assert_array_equal(shown[..., 3] == 0, np.isnan(scores))
    assert shown[1, 0, 2] > shown[1, 0, 0]  # low: blue
    assert shown[-1, -1, 0] > shown[-1, -1, 2]  # high: yellow
    assert "Dark blue is 0.1, yellow 0.9;" in page
    dots = re.findall(r'class="box dot" x1="([\d.]+)" y1="([\d.]+)"', page)
    assert dots == [("250.5", "30.5"), ("300.5", "200.5"), ("50.5", "40.5")]  # best on top
    with pytest.raises(ValueError, match=r"shape \(300, 400\); it must be \(271, 361\)"):
        report(tmp_path / "b.html", SCENE, TEMPLATE, MATCHES, np.ones((300, 400)))


@pytest.mark.parametrize("which", ["first", "second"])
def test_of_templates_of_one_shape_that_of_the_map_has_dots(tmp_path, which):
    image = np.random.default_rng(0).integers(0, 256, (60, 70), np.uint8)
    both = {"first": image[10:22, 10:24], "second": image[40:52, 40:54]}
    found = nuvmatch.Search(both).locate(image, max_per_name=1)
    scores = nuvmatch.score_map(image, both[which])
    page = written(tmp_path / "a.html", image, both, found, scores)
    place = {"first": ("10.5", "10.5"), "second": ("40.5", "40.5")}[which]
    assert re.findall(r'class="box dot" x1="([\d.]+)" y1="([\d.]+)"', page) == [place]


@pytest.mark.parametrize(
    "several", [{"one": TEMPLATE, HOSTILE: TEMPLATE[:20]}, [TEMPLATE, TEMPLATE[:20]]]
)
def test_several_templates_are_told_apart(tmp_path, several):
    names = list(several) if isinstance(several, dict) else [0, 1]
    matches = [
        Match(40, 50, 20, 40, 0.1, name=names[1]),
        Match(150, 60, 30, 40, 0.2, name=names[0]),
    ]
    page = written(tmp_path / "a.html", SCENE, several, matches)
    used = re.findall(r'<use href="#t(\d)"', page)
    assert used == ["1", "0"]
    assert "name" in texts(page, "button")
    stray = [Match(1, 1, 20, 40, 0.1, name="other")]
    with pytest.raises(ValueError, match="'other'; given are"):
        report(tmp_path / "b.html", SCENE, several, stray)


def test_what_one_template_is_called_does_not_matter(tmp_path):
    page = written(tmp_path / "a.html", SCENE, {"the spoon": TEMPLATE}, MATCHES)
    assert "the spoon, 30 &times; 40" in page


def test_hostile_names_are_text(tmp_path):
    matches = [replace(match, name=HOSTILE, measure=HOSTILE) for match in MATCHES]
    page = written(tmp_path / "a.html", SCENE, {HOSTILE: TEMPLATE}, matches, title=HOSTILE)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img src=x" not in page
    assert 'onerror="' not in page
    lines = json.loads(re.search(r'id="csv">(.*)</script>', page)[1])
    (record,) = csv.DictReader(lines[:2])
    assert record["name"] == HOSTILE


def test_nothing_is_asked_of_the_network(tmp_path):
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES, np.ones((271, 361)))
    assert "default-src 'none'" in page
    assert not re.findall(r"https?:|//[a-z]+\.[a-z]+/|@import|url\(", page)


@pytest.mark.parametrize(
    "image",
    [
        SCENE.astype(np.uint16) * 300,
        np.where(SCENE < 9, np.nan, SCENE / 255),
        SCENE > 90,
        np.dstack([SCENE] * 3),
        np.dstack([SCENE, SCENE + 50]),
        np.dstack([SCENE] * 4),
        np.full((300, 400), np.nan),
        np.zeros((300, 400), np.int64),
        SCENE[::-1, ::-1].tolist(),
    ],
    ids=[
        "16 bits",
        "floats",
        "booleans",
        "colour",
        "alpha",
        "colour and alpha",
        "nan",
        "flat",
        "list",
    ],
)
def test_any_image_is_shown(tmp_path, image):
    page = written(tmp_path / "a.html", image, TEMPLATE, MATCHES)
    scene, _ = pictures(page, "image")
    assert scene.shape[:2] == (300, 400)
    assert len(list(pictures(page, "img"))) == 8


def test_colour_curves_are_applied_channel_by_channel(tmp_path):
    colour = np.dstack([TEMPLATE, TEMPLATE[::-1], TEMPLATE[:, ::-1]])
    curves = tuple(ToneCurve((0.0, 255.0), ends) for ends in ((0, 255), (255, 0), (0, 127.5)))
    scene = np.dstack([colour[..., 0], 255 - colour[..., 1], colour[..., 2] // 2])
    page = written(tmp_path / "a.html", scene, colour, [Match(0, 0, 30, 40, 0.0, curves)])
    through, cut = pictures(page, "img")
    assert abs(through.astype(int) - cut).max() <= 2
    assert re.findall(r'<polyline class="(\w+)"', page) == ["red", "green", "blue"]
    # The command line seeks a colour template in a grey scene by its luminance.
    page = written(tmp_path / "b.html", SCENE, colour, [Match(0, 0, 30, 40, 0.0, curves[:1])])
    through, _ = pictures(page, "img")
    assert through.ndim == 2


def test_what_of_a_template_does_not_count_is_not_seen_through_the_curve(tmp_path):
    alpha = np.full(TEMPLATE.shape, 255, np.uint8)
    alpha[:10] = 0
    page = written(tmp_path / "a.html", SCENE, np.dstack([TEMPLATE, alpha]), MATCHES[:1])
    through, cut = pictures(page, "img")
    assert_array_equal(through[..., 3], alpha)
    assert abs(through[10:, :, 0].astype(int) - cut[10:]).max() <= 2
    # An icon of one colour is sought by its alpha.
    icon = np.dstack([np.full_like(TEMPLATE, 9)] * 3 + [TEMPLATE * 2])
    curve = ToneCurve((0.0, 255.0), (0.0, 63.75))
    colour = np.dstack([SCENE] * 3)
    page = written(
        tmp_path / "b.html", colour, icon, [replace(MATCHES[0], tone_curves=(curve,) * 3)]
    )
    through, cut = pictures(page, "img")
    assert abs(through[5:20].astype(int) - cut[5:20]).max() <= 4


def test_a_large_image_is_reduced_and_places_are_not(tmp_path):
    large = np.zeros((5000, 8200), np.uint8)
    large[2000:3000, 4100:6150] = 200
    page = written(tmp_path / "a.html", large, TEMPLATE, [Match(4000, 8000, 30, 40, 0.1)])
    scene, _ = pictures(page, "image")
    assert scene.shape == (2498, 4096)
    assert abs(np.argwhere(scene > 100).min(axis=0) - [999, 2048]).max() <= 1
    assert "It is shown reduced 2 times" in page
    assert 'viewBox="0 0 8200 5000"' in page
    assert 'class="box" points="8000.00,4000.00' in page
    assert "reduced" not in written(tmp_path / "b.html", SCENE, TEMPLATE, MATCHES)


@pytest.mark.slow
def test_thousands_of_matches_in_noise_make_a_page_of_limited_size(tmp_path, rng):
    noise = rng.integers(0, 256, (2000, 2000, 3)).astype(np.uint8)
    template = rng.integers(0, 256, (100, 100, 3)).astype(np.uint8)
    curves = (CURVE, CURVE, CURVE)
    places = rng.integers(0, 1900, (2300, 2))
    matches = [Match(r, c, 100, 100, i / 2300, curves) for i, (r, c) in enumerate(places.tolist())]
    page = written(tmp_path / "a.html", noise, template, matches)
    assert len(page) < 22e6
    assert page.count("<tr data-n") == 2000
    assert "Only the best 2000 are on this page; 300 are not." in page


def test_nothing_found_is_a_page_too(tmp_path):
    page = written(tmp_path / "a.html", SCENE, TEMPLATE, Matches(), np.ones((271, 361)))
    assert "Nothing was found." in page
    assert "0 matches of one template" in page


def test_a_report_is_written_whole_or_refused(tmp_path, monkeypatch):
    for name, error in (("a.txt", ValueError), ("no/a.html", FileNotFoundError)):
        with pytest.raises(error, match=Path(name).name.split(".")[0]):
            report(tmp_path / name, SCENE, TEMPLATE, MATCHES)
    with pytest.raises(TypeError, match="image"):
        report(tmp_path / "a.html", None, TEMPLATE, MATCHES)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'nuvmatch\[report\]'"):
        report(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES)
    assert not list(tmp_path.iterdir())


def test_the_same_matches_make_the_same_page(tmp_path):
    first = written(tmp_path / "a.html", SCENE, TEMPLATE, MATCHES)
    assert written(tmp_path / "b.html", SCENE, TEMPLATE, MATCHES) == first


# The browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    require_chromium()
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def page(browser, tmp_path):
    """The page, opened from disk; afterwards nothing may have been complained of."""
    path = tmp_path / "a.html"
    names = {HOSTILE: TEMPLATE}
    report(path, SCENE, names, MATCHES, np.ones((271, 361)), title=HOSTILE)
    browser.open(path)
    yield browser
    assert browser["document.title"] != "hacked"
    assert not browser.complaints
    assert browser.asked_of_the_network == [path.as_uri()]


def shown(page):
    """The numbers in the list, in its order."""
    numbers = page["[...document.querySelectorAll('tbody tr:not(.off)')].map(r => r.dataset.n)"]
    return [int(number) for number in numbers]


def boxes_by_pixel(page, colour=BOX):
    """Which matches' outlines have that colour all around, and whether it is nowhere else."""
    left, top, width = page[
        "(r => [r.left, r.top, r.width])"
        "(document.querySelector('#scene svg').getBoundingClientRect())"
    ]
    height, width = round(width * 300 / 400), round(width)
    left, top = round(left), round(top)
    picture = page.picture()[top : top + height, left : left + width].astype(int)
    seen = (abs(picture - colour) < 25).all(axis=2)
    beside = cv2.dilate(seen.astype(np.uint8), np.ones((5, 5)))
    found, explained = [], np.zeros(seen.shape, np.uint8)
    for number, match in enumerate(MATCHES, 1):
        corners = np.array(match.corners)[:, ::-1] + 0.5
        middle = corners.mean(axis=0)
        corners += (corners - middle) / abs(corners - middle).max(axis=0) / 2
        ends = corners * width / 400
        shares = np.linspace(0.1, 0.9, 17)[:, None]
        sides = np.concatenate([ends[i - 1] + shares * (ends[i] - ends[i - 1]) for i in range(4)])
        if beside[tuple(np.rint(sides[:, ::-1]).astype(int).T)].mean() > 0.9:
            found.append(number)
            cv2.polylines(explained, [np.rint(ends).astype(np.int32)], True, 1, 9)
    assert not (seen & (explained == 0)).any()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 800, 1300])
def test_boxes_are_where_the_matches_are_at_any_width(page, width, dark, tmp_path):
    page.open(tmp_path / "a.html", width, dark=dark, mobile=width == 360)
    assert page["document.documentElement.scrollWidth"] == width
    page["document.querySelector('#scene').scrollIntoView()"]
    page["document.querySelector('#numbers').click()"]
    assert boxes_by_pixel(page) == [1, 2, 3, 4]
    corner = page.picture()[-1, 1]
    assert (corner < 60).all() if dark else (corner > 230).all()
    smallest = page[
        "Math.min(...[...document.querySelectorAll('button')].map(b => b.offsetHeight))"
    ]
    assert smallest > 24  # a finger's


@pytest.mark.slow
def test_the_slider_hides_matches_and_says_how_many(page):
    assert page["told.value"] == "4 of 4 shown: score of at most 0.2"
    page["slider.focus()"]
    page.press("ArrowLeft")  # two score the same
    assert page["told.value"] == "2 of 4 shown: score of at most 0.1"
    assert shown(page) == [1, 2]
    page["document.querySelector('#scene').scrollIntoView()"]
    page["document.querySelector('#numbers').click()"]
    assert boxes_by_pixel(page) == [1, 2]
    assert page["document.querySelectorAll('#map g[data-n]:not(.off)').length"] == 1
    page["slider.focus()"]
    page.press("ArrowLeft", "ArrowLeft")
    assert page["told.value"] == "0 of 4 shown"
    page["key.value = 'alarms'; key.onchange()"]
    assert page["told.value"] == "4 of 4 shown: any false alarms"
    page["slider.focus()"]
    page.press("ArrowLeft")
    assert page["told.value"] == "3 of 4 shown: false alarms of at most 2.5"
    assert shown(page) == [1, 2, 4]


@pytest.mark.slow
def test_the_list_is_sorted_by_any_column_what_is_empty_last(page):
    def click(title):
        k = page["[...document.querySelectorAll('thead th')].map(h => h.textContent.trim())"].index(
            title
        )
        page.click(f"thead th:nth-child({k + 1}) button")
        return shown(page), page[f"document.querySelectorAll('thead th')[{k}].ariaSort"]

    assert click("row") == ([4, 1, 2, 3], "ascending")
    assert click("row") == ([3, 2, 1, 4], "descending")
    assert click("false alarms") == ([1, 2, 4, 3], "ascending")
    assert click("margin")[0][:2] == [2, 1]
    assert click("margin")[0][:2] == [1, 2]
    assert click("gain")[0][0] == 4
    assert page["document.querySelectorAll('[aria-sort]').length"] == 1


@pytest.mark.slow
def test_those_shown_are_saved_as_csv_in_their_order(page, tmp_path):
    page("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page["slider.value = 2; slider.oninput()"]
    page.click("thead th:first-child button")  # descending
    page.click("#save")
    path, end = tmp_path / "matches.csv", time.monotonic() + 20
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    with path.open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    wanted = [MATCHES[1].to_record(), MATCHES[0].to_record()]
    assert found == [
        {key: "" if value is None else str(value) for key, value in record.items()}
        for record in wanted
    ]


@pytest.mark.slow
def test_keys_go_through_the_matches(page):
    def chosen():
        return page["[...document.querySelectorAll('tr.chosen')].map(r => r.dataset.n).join()"]

    page["document.querySelector('tbody tr[tabindex=\"0\"]').focus()"]
    page.press("ArrowDown", "ArrowDown")
    assert chosen() == page["document.activeElement.dataset.n"] == "2"
    page.press("End")
    assert chosen() == "4"
    page.press("ArrowDown", "Home", "ArrowUp")
    assert chosen() == "1"
    assert page["document.querySelectorAll('tbody tr[tabindex=\"0\"]').length"] == 1
    page["document.querySelector('#scene').focus()"]
    page.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert chosen() == "2"
    page["document.querySelector('#scene').scrollIntoView()"]
    page["document.querySelector('#numbers').click()"]
    page["document.activeElement.blur()"]
    assert boxes_by_pixel(page) == [1, 3, 4]
    assert boxes_by_pixel(page, CHOSEN) == [2]
    assert page["getComputedStyle(document.querySelector('#scene')).outlineStyle"] == "none"
    page.press("Tab")
    assert page["getComputedStyle(document.activeElement).outlineStyle"] == "solid"


@pytest.mark.slow
def test_the_image_is_zoomed_and_the_chosen_match_comes_into_view(page):
    width = "document.querySelector('#scene svg').getBoundingClientRect().width"
    fit = page[width]
    page["document.querySelector('#scene').focus()"]
    page.press("+", "+", "+")
    assert page[width] == pytest.approx(fit * 1.5**3, rel=0.01)
    key = "new KeyboardEvent('keydown', {key: 'ArrowDown', shiftKey: true})"
    before = page["scene.scrollTop"]
    page[f"scene.dispatchEvent({key}) && 0"]
    assert page["scene.scrollTop"] == before + 80
    page.press("End")  # the match that is far to the right
    assert page[
        "((b, v) => b.left > v.left && b.right < v.right && b.top > v.top && b.bottom < v.bottom)"
        "(document.querySelector('#scene .chosen .box').getBoundingClientRect(),"
        " document.querySelector('#scene').getBoundingClientRect())"
    ]
    page.press("0")
    assert page[width] == pytest.approx(fit)
    page.click('[data-zoom="same"][data-of="scene"]')
    assert page[width] == pytest.approx(max(400, fit), rel=0.01)
    page.click('[data-zoom="in"][data-of="map"]')
    assert page[width] == pytest.approx(max(400, fit), rel=0.01)


@pytest.mark.slow
def test_a_box_that_is_clicked_is_chosen_in_the_list(page):
    page["document.querySelector('#scene').scrollIntoView()"]
    x, y = page[
        "(r => [r.left + r.width / 2, r.top + r.height / 2])"
        "(document.querySelector('#scene g[data-n=\"3\"] .box').getBoundingClientRect())"
    ]
    page.click_at(x, y)
    assert page["document.querySelector('tr.chosen').dataset.n"] == "3"
    said = page["document.querySelector('#about').textContent"]
    assert "3: measure nuv, row 200, col 300" in said
    assert page["document.querySelectorAll('#about img').length"] == 2


@pytest.mark.slow
def test_a_printed_page_has_the_list_and_no_controls(page):
    page("Emulation.setEmulatedMedia", media="print", features=[])
    controls = "[...document.querySelectorAll('button, input, select')]"
    seen = page[f"{controls}.filter(c => c.offsetHeight && !c.closest('thead')).length"]
    assert seen == 0
    assert page["told.offsetHeight"] > 0  # how many are on the paper
    assert page["[...document.querySelectorAll('tbody tr')].every(r => r.offsetHeight)"]
    data = base64.b64decode(page("Page.printToPDF")["data"])
    assert data.startswith(b"%PDF")
    page("Emulation.setEmulatedMedia", media="", features=[])


@pytest.mark.slow
def test_a_page_without_matches_opens_without_a_complaint(browser, tmp_path):
    report(tmp_path / "a.html", SCENE, TEMPLATE, [], np.ones((271, 361)))
    browser.open(tmp_path / "a.html")
    browser.click('[data-zoom="in"][data-of="scene"]')
    assert not browser.complaints


@pytest.mark.slow
def test_what_only_reports_and_plots_need_is_not_imported_before():
    code = (
        "import sys, nuvmatch, nuvmatch.cli, nuvmatch.showing;"
        "sys.exit(bool({'jinja2', 'matplotlib'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert nuvmatch.report is report
