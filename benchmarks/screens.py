"""Screens of applications, drawn: a tool bar of icons among text, in a light and a dark theme.

Nothing is copied: icons are drawn from shapes (icons.py), and words are made of syllables.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .icons import ICONS, LOOK_ALIKES, THEMES, compose, draw_icon

SIDES = (16, 20, 24, 32, 40)  # of icons, in pixels
FAMILIES = ("Sans", "Serif", "SansMono")  # of fonts, all DejaVu
LAYOUTS = ("menu tools body status", "tools menu body status", "menu body tools status")
SYLLABLES = re.findall("..", "bacedifogujekilomunaperosutavewixozublakroenisorunastermick")
LEAST_PANE = 110  # pixels a side


# Windows: bars and panes, each a canvas of its own.


class Canvas:
    """A part of a window, with fonts of a family and tones of a theme."""

    def __init__(self, rng, theme, family, shape, ground="panel"):
        self.rng, self.theme, self.family, self.tones = rng, theme, family, THEMES[theme]
        self.height, self.width = (int(length) for length in shape)
        self.image = Image.new("RGB", (self.width, self.height), self.tones[ground])
        self.draw = ImageDraw.Draw(self.image)

    def part(self, shape, ground):
        return Canvas(self.rng, self.theme, self.family, shape, ground)

    def text(self, x, y, words, size, tone="text", bold=False):
        """Write a line; return where it ends."""
        face = font(self.family, size, bold)
        self.draw.text((x, y), words, self.tones[tone], face)
        return int(x + face.getlength(words))

    def box(self, left, top, right, bottom, tone="ground", border="border", radius=0):
        corners = (left, top, right, bottom)
        self.draw.rounded_rectangle(corners, radius, self.tones[tone], self.tones[border])


@cache
def font(family, size, bold):
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    return ImageFont.truetype(folder / f"DejaVu{family}{'-Bold' * bold}.ttf", size)


def words(rng, number):
    lengths = rng.integers(1, 5, number)
    return " ".join("".join(rng.choice(SYLLABLES, length)) for length in lengths).capitalize()


def title(canvas):
    canvas.text(8, 5, words(canvas.rng, 3), 13, bold=True)
    for x, tone in zip((20, 40, 60), ("red", "yellow", "green"), strict=True):
        canvas.box(canvas.width - x, 8, canvas.width - x + 11, 19, tone, radius=5)


def menu(canvas):
    x = canvas.rng.integers(6, 20)
    while x < canvas.width * 0.7:
        x = canvas.text(x, 4, words(canvas.rng, 1), 12) + canvas.rng.integers(10, 20)


def paragraph(canvas):
    rng, size = canvas.rng, int(canvas.rng.integers(9, 17))
    canvas.text(8, 6, words(rng, 2), size + 4, bold=True)
    for y in range(size + 20, canvas.height, size + 6):
        canvas.text(
            8, y, words(rng, int(canvas.width * rng.uniform(0.4, 1.2) / size / 3) + 1), size
        )


def table(canvas):
    rng, step = canvas.rng, int(canvas.rng.integers(17, 26))
    chosen = rng.integers(1, 9)
    for x in range(0, canvas.width, int(rng.integers(70, 120))):
        for row, y in enumerate(range(0, canvas.height, step)):
            tone = "selected" if row == chosen else "ground" if row else "title"
            canvas.box(x, y, canvas.width, y + step, tone)
            cell = words(rng, 1) if rng.random() < 0.6 else f"{rng.uniform(0, 999):.2f}"
            canvas.text(x + 4, y + step // 2 - 8, cell[:9], 11, bold=not row)


def tree(canvas):
    rng, size, depth = canvas.rng, int(canvas.rng.integers(10, 14)), 0
    for y in range(6, canvas.height, size + 8):
        x = 8 + 14 * depth
        canvas.text(x - 4, y, "+-"[rng.integers(2)], size, "faint")
        canvas.text(x + 10, y, words(rng, rng.integers(1, 3)), size)
        depth = int(np.clip(depth + rng.integers(-1, 2), 0, 3))


def form(canvas):
    rng, middle = canvas.rng, canvas.width // 3
    for y in range(8, canvas.height, 30):
        canvas.text(8, y + 3, words(rng, 1)[:9], 12, "faint")
        if rng.random() < 0.7:
            canvas.box(middle, y, canvas.width - 12, y + 22)
            canvas.text(middle + 5, y + 4, words(rng, 2)[: canvas.width // 15], 11)
        else:
            label, tone = words(rng, 1), str(rng.choice(["raised", "selected", "title"]))
            width = font(canvas.family, 12, True).getlength(label)
            canvas.box(middle, y, middle + width + 20, y + 22, tone, radius=4)
            canvas.text(middle + 10, y + 4, label, 12, bold=True)


def chart(canvas):
    rng, x = canvas.rng, np.arange(30, canvas.width - 10, 5)
    canvas.text(30, 6, words(rng, 2), 12, bold=True)
    for y in np.linspace(30, canvas.height - 15, 6):
        canvas.draw.line((30, y, canvas.width - 10, y), canvas.tones["border"])
        canvas.text(4, y - 6, str(rng.integers(10, 99)), 10, "faint")
    for tone in ("blue", "red"):
        y = canvas.height * (0.5 + 0.05 * rng.standard_normal(len(x)).cumsum())
        canvas.draw.line(list(zip(x, y, strict=True)), canvas.tones[tone], 2)


def thumbnail(canvas):
    """Hills of random greys in a tint, brighter towards the top."""
    rng, size = canvas.rng, (canvas.width - 20, canvas.height - 40)
    coarse = rng.normal(0, 40, (canvas.height // 12, canvas.width // 12))
    coarse += np.linspace(200, 70, len(coarse))[:, None]
    hills = Image.fromarray(np.clip(coarse, 0, 255).astype(np.uint8))
    greys = np.array(hills.resize(size, Image.Resampling.BICUBIC))[..., None]
    canvas.image.paste(Image.fromarray((greys * rng.uniform(0.5, 1, 3)).astype(np.uint8)), (10, 10))
    canvas.text(10, canvas.height - 24, words(rng, 2), 11, "faint")


PANES = (paragraph, paragraph, table, tree, form, chart, thumbnail)


def body(canvas):
    """Divide the canvas until its panes are small, and fill each."""
    rng, shape = canvas.rng, (canvas.height, canvas.width)
    longer = int(np.argmax(shape))
    if shape[longer] < 2 * LEAST_PANE or (max(shape) < 300 and rng.random() < 0.4):
        PANES[rng.integers(len(PANES))](canvas)
        if rng.random() < 0.4:
            scroll_bar(canvas)
        return
    first = int(rng.integers(LEAST_PANE, shape[longer] - LEAST_PANE + 1))
    for length, start in ((first, 0), (shape[longer] - first, first)):
        ground = str(rng.choice(["ground", "panel"]))
        pane = canvas.part((*shape[:longer], length, *shape[longer + 1 :]), ground)
        body(pane)
        pane.draw.rectangle((0, 0, pane.width, pane.height), outline=pane.tones["border"])
        canvas.image.paste(pane.image, (start, 0) if longer else (0, start))


def scroll_bar(canvas):
    left, start = canvas.width - 12, canvas.rng.integers(4, canvas.height // 2)
    length = canvas.rng.integers(20, canvas.height // 2)
    canvas.box(left, 0, canvas.width, canvas.height, "panel")
    canvas.box(left + 3, start, canvas.width - 3, start + length, "faint", "faint", 3)


def buttons(rng, icons, side, width):
    """Scatter icons over rows: (row, col) of each, and by how much its button is larger."""
    inner, left = int(rng.integers(3, 7)), int(rng.integers(4, 20))
    row, col, places = inner + 4, left, {}
    for name in rng.permutation(icons).tolist():
        col += int(rng.integers(2, 6) + (rng.random() < 0.25) * rng.integers(10, 30))
        if col + side + 2 * inner > width:
            row, col = row + side + 2 * inner + 4, left
        places[name] = row, col + inner
        col += side + 2 * inner
    return places, inner


def tool_bar(canvas, places, inner, side):
    """Draw the buttons without their icons, and lines where gaps are wide."""
    end = 0
    for row, col in places.values():
        if col - inner - end > 9:
            x = col - inner - 5
            canvas.draw.line((x, row, x, row + side), canvas.tones["border"])
        end = col + side + inner
        tone = canvas.rng.choice(["", "", "raised", "selected"])
        if tone:
            canvas.box(col - inner, row - inner, end - 1, row + side + inner - 1, tone, radius=3)


@dataclass(frozen=True)
class Screen:
    """A window, the top-left pixels (row, col) of its icons, and its theme."""

    image: np.ndarray
    places: dict[str, tuple[int, int]]
    theme: str


def draw_screen(
    rng: np.random.Generator,
    theme: str,
    icons: Sequence[str],
    side: int,
    shape: tuple[int, int] = (480, 640),
    family: str | None = None,
) -> Screen:
    """Draw a window whose tool bar holds these icons, with fonts of a family."""
    places, inner = buttons(rng, list(icons), side, shape[1])
    fill_tools = partial(tool_bar, places=places, inner=inner, side=side)
    tall = max(row for row, _ in places.values()) + side + inner + 4
    heights = {"title": 28, "menu": 24, "tools": tall, "status": 22}
    heights["body"] = shape[0] - sum(heights.values())
    fill = {"title": title, "menu": menu, "tools": fill_tools, "body": body, "status": menu}
    window = Canvas(rng, theme, family or str(rng.choice(FAMILIES)), shape)
    top, tops = 0, {}
    for name in ("title", *str(rng.choice(LAYOUTS)).split()):
        bar = window.part((heights[name], shape[1]), "title" if name == "title" else "panel")
        fill[name](bar)
        window.image.paste(bar.image, (0, top))
        tops[name], top = top, top + heights[name]
    image = np.array(window.image)
    places = {name: (row + tops["tools"], col) for name, (row, col) in places.items()}
    for name, (row, col) in places.items():
        under = image[row : row + side, col : col + side]
        under[:] = compose(draw_icon(name, side, theme), under)
    return Screen(image, places, theme)


@dataclass(frozen=True)
class Case:
    """An icon to be sought, drawn for a theme that may be another than the screen's."""

    template: np.ndarray
    screen: Screen
    place: tuple[int, int] | None
    theme: str
    name: str


def make_case(rng: np.random.Generator, kind: str, sides: Sequence[int] = SIDES) -> Case:
    """Seek an icon that is "there", "absent", or absent while a "look-alike" or more is there."""
    name, side = str(rng.choice(list(ICONS))), int(rng.choice(sides))
    alike = LOOK_ALIKES[name]
    some = rng.permutation(alike)[: rng.integers(1, len(alike) + 1)].tolist()
    shown = {"there": [name], "absent": [], "look-alike": some}[kind]
    others = rng.permutation([other for other in ICONS if other not in (name, *alike)]).tolist()
    shown = shown + others[: rng.integers(8, 13) - len(shown)]
    own, theme = rng.choice(list(THEMES), 2).tolist()
    screen = draw_screen(rng, theme, shown, side)
    return Case(draw_icon(name, side, own), screen, screen.places.get(name), own, name)
