"""Icons, drawn: shapes in the tones of a light and a dark theme, in families of look-alikes."""

from functools import cache

import numpy as np
from PIL import Image, ImageDraw

THEMES = {
    "light": {
        "ground": (255, 255, 255), "panel": (238, 239, 242), "title": (214, 219, 228),
        "text": (30, 32, 38), "faint": (122, 126, 136), "border": (186, 190, 198),
        "raised": (250, 250, 252), "selected": (196, 218, 248),
        "line": (58, 62, 72), "fill": (205, 212, 224), "paper": (254, 254, 255),
        "blue": (58, 124, 216), "yellow": (246, 196, 76), "red": (216, 58, 48),
        "green": (44, 150, 72),
    },
    "dark": {
        "ground": (28, 29, 33), "panel": (45, 47, 53), "title": (20, 21, 24),
        "text": (222, 224, 229), "faint": (142, 146, 155), "border": (84, 88, 97),
        "raised": (64, 67, 75), "selected": (38, 70, 112),
        "line": (214, 218, 226), "fill": (104, 110, 124), "paper": (34, 35, 40),
        "blue": (104, 170, 250), "yellow": (150, 112, 34), "red": (255, 122, 108),
        "green": (110, 206, 132),
    },
}  # fmt: skip


# Icons: shapes in a square of 24 units, drawn eight times finer and averaged. Each is a verb of
# `Pen`, a tone of the theme, and numbers.

UNITS, FINE = 24, 8

DRAWINGS = {
    "diskette": "shape blue 3,3 17,3 21,7 21,21 3,21; box fill 7,3 16,8.5; box paper 6,13 18,21",
    "folder": "shape fill 2.5,5 9,5 11.5,8 20,8 20,20 2.5,20; shape yellow 6,11 22,11 19,20 2.5,20",
    "magnifier": "line line 3.4 14.5,14.5 21,21; disc fill 9.5,9.5 6.4",
    "less": "line blue 2 6.5,9.5 12.5,9.5",
    "more": "line blue 2 6.5,9.5 12.5,9.5; line blue 2 9.5,6.5 9.5,12.5",
    "back": "arc blue 2.8 12,13 7 -130,100; shape blue 3.5,9 11,2.5 11,11.5",
    "forth": "arc green 2.8 12,13 7 -50,-280; shape green 20.5,9 13,2.5 13,11.5",
    "underline": "line line 1.8 3,22 21,22",
    "gear": "cog fill 12,12 6.8,9.6; disc blue 12,12 3",
    "envelope": "box paper 2.5,5 21.5,19; shape fill 2.5,5 21.5,5 12,13",
    "bell": "spot line 12,20 1.8;shape yellow 12,3 16,4.5 18,9 18.5,14 21,18 3,18 5.5,14 6,9 8,4.5",
    "printer": "box paper 6.5,2.5 17.5,9; box fill 2.5,8.5 21.5,17; box paper 6.5,14 17.5,21.5;"
    "spot green 18.5,11.5 1",
    "bin": "shape fill 5,7 19,7 17.5,21.5 6.5,21.5; line red 1.6 9.5,10.5 9.5,18;"
    "line red 1.6 14.5,10.5 14.5,18; line line 2.2 3,6 21,6; line line 1.6 9,5 10,2.5 14,2.5 15,5",
    "person": "shape blue 3,21 4.5,16 9,13.5 15,13.5 19.5,16 21,21; disc fill 12,7.5 4.4",
    "sheet": "shape paper 5,2.5 14,2.5 19,7.5 19,21.5 5,21.5; shape fill 14,2.5 19,7.5 14,7.5",
    "writing": "line blue 1.2 8,11 16,11; line blue 1.2 8,14 16,14; line blue 1.2 8,17 16,17",
    "calendar": "box paper 3,4.5 21,21; box red 3,4.5 21,9.5; spot fill 7.5,13 1.2;"
    "spot fill 12,13 1.2; spot fill 16.5,13 1.2; spot fill 7.5,17 1.2; spot fill 12,17 1.2",
    "padlock": "arc line 2.2 12,7 4.4 180,360; line line 2.2 16.4,7 16.4,11;"
    "box yellow 4.5,11 19.5,21",
    "shackle": "line line 2.2 7.6,7 7.6,10",
    "columns": "line line 1.6 3,3 3,21 21.5,21; area blue 5,13 8.5,13 8.5,20 5,20;"
    "area red 10.5,7 14,7 14,20 10.5,20; area green 16,10 19.5,10 19.5,20 16,20",
    "trend": "line line 1.6 4,9 11,3.5 20,7",
    "picture": "box paper 2.5,4 21.5,20; spot yellow 7.5,9 2;"
    "area green 3.5,19 9,12 12,15.5 16,9.5 20.7,19",
    "dot": "spot clear 18,6 4.8; spot red 18,6 3.7",
    "good": "spot clear 17.5,17.5 6; spot green 17.5,17.5 4.8",
    "bad": "spot clear 17.5,17.5 6; spot red 17.5,17.5 4.8",
    "plus": "line paper 1.8 15,17.5 20,17.5; line paper 1.8 17.5,15 17.5,20",
    "minus": "line paper 1.8 15,17.5 20,17.5",
    "tick": "line paper 1.8 15.3,17.7 17,19.5 20,15.7",
    "cross": "line paper 1.8 15.7,15.7 19.3,19.3; line paper 1.8 15.7,19.3 19.3,15.7",
}

# What is drawn for each icon, one upon the other. Those of a row look alike.
ROWS = (
    {"save": "diskette", "save as": "diskette good plus", "saved": "diskette good tick"},
    {"open": "folder", "new folder": "folder good plus", "close": "folder bad cross"},
    {"search": "magnifier", "zoom in": "magnifier more", "zoom out": "magnifier less"},
    {"undo": "back", "undo all": "back underline"},
    {"redo": "forth", "redo all": "forth underline"},
    {"settings": "gear", "add setting": "gear good plus", "updates": "gear dot"},
    {"mail": "envelope", "new mail": "envelope dot", "write mail": "envelope good plus"},
    {"bell": "bell", "alert": "bell dot", "silence": "bell bad minus"},
    {"print": "printer", "printed": "printer good tick", "cancel print": "printer bad cross"},
    {"delete": "bin", "delete for good": "bin bad cross"},
    {"user": "person", "add user": "person good plus", "remove user": "person bad minus"},
    {"new": "sheet", "document": "sheet writing", "add page": "sheet good plus"},
    {"calendar": "calendar", "new event": "calendar good plus", "done": "calendar good tick"},
    {"unlocked": "padlock", "locked": "padlock shackle"},
    {"chart": "columns", "trend": "columns trend"},
    {"picture": "picture", "add picture": "picture good plus", "remove": "picture bad minus"},
)
ICONS = {name: parts for row in ROWS for name, parts in row.items()}
LOOK_ALIKES = {name: [other for other in row if other != name] for row in ROWS for name in row}


class Pen:
    """Draws in units, in the tones of a theme."""

    def __init__(self, side, theme):
        self.image = Image.new("RGBA", (side * FINE, side * FINE))
        self.draw = ImageDraw.Draw(self.image)
        self.unit = side * FINE / UNITS
        self.tones = THEMES[theme] | {"clear": (0, 0, 0, 0)}

    def area(self, tone, *xy):
        self.draw.polygon([self.unit * c for c in xy], self.tones[tone])

    def shape(self, tone, *xy):
        self.area(tone, *xy)
        self.line("line", 1.6, *xy, *xy[:2])

    def box(self, tone, left, top, right, bottom):
        self.shape(tone, left, top, right, top, right, bottom, left, bottom)

    def line(self, tone, width, *xy):
        scaled = [self.unit * c for c in xy]
        self.draw.line(scaled, self.tones[tone], round(width * self.unit), joint="curve")
        for end in (xy[:2], xy[-2:]):
            self.spot(tone, *end, width / 2)

    def spot(self, tone, x, y, radius):
        edges = (x - radius, y - radius, x + radius, y + radius)
        self.draw.ellipse([self.unit * c for c in edges], self.tones[tone])

    def disc(self, tone, x, y, radius):
        self.spot("line", x, y, radius + 0.8)
        self.spot(tone, x, y, radius - 0.8)

    def arc(self, tone, width, x, y, radius, start, end):
        angles = np.radians(np.linspace(start, end, 40))
        self.line(tone, width, *around(x, y, radius, angles))

    def cog(self, tone, x, y, inner, outer):
        radii = np.tile([outer, outer, inner, inner], 8)
        self.shape(tone, *around(x, y, radii, 2 * np.pi * (np.arange(32) - 0.5) / 32))


def around(x, y, radii, angles):
    return np.stack([x + radii * np.cos(angles), y + radii * np.sin(angles)], 1).ravel()


@cache
def draw_icon(name: str, side: int, theme: str) -> np.ndarray:
    """Draw an icon in red, green, blue and opacity; not to be written to."""
    pen = Pen(side, theme)
    for part in ICONS[name].split():
        for stroke in DRAWINGS[part].split(";"):
            verb, tone, *numbers = stroke.replace(",", " ").split()
            getattr(pen, verb)(tone, *map(float, numbers))
    icon = np.array(pen.image.reduce(FINE))  # averages colours by opacity
    icon.flags.writeable = False
    return icon


def compose(icon, ground):
    """Lay an icon over a colour, or over an image of its size."""
    opacity = icon[..., 3:] / 255
    return np.rint(opacity * icon[..., :3] + (1 - opacity) * ground).astype(np.uint8)
