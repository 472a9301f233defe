"""Read a display
==============

Of seven segments, by ten templates that compete for each place.

The templates are dark digits on light ground; the display shines, is dim on the left and inverted
on the right, lit unevenly and noisy. A 0, 6 or 9 lies wholly within an 8: each of them matches
there, but less well than the 8, which therefore takes the place. Digits and ground are two greys,
so two bins do, and the least is left for noise to fit. Points are not sought.

    python samples/read_digits.py [PICTURE]
"""

import sys

import cv2
import numpy as np

from nuvmatch import NUV, Search
from nuvmatch.io import write_picture
from nuvmatch.showing import draw_matches

SHOWN = "86.03 9175.24"
SEGMENTS = {  # from, to: (column, row), in units of half a digit's width
    "a": ((0, 0), (2, 0)),
    "b": ((2, 0), (2, 2)),
    "c": ((2, 2), (2, 4)),
    "d": ((0, 4), (2, 4)),
    "e": ((0, 2), (0, 4)),
    "f": ((0, 0), (0, 2)),
    "g": ((0, 2), (2, 2)),
}
LIT = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
HALF, STROKE, MARGIN, ADVANCE, GAP = 11, 3, 4, 62, 24


def draw_digit(canvas, digit, row, col):
    """Light the segments of a digit; row and column are those of its top left end."""
    for name in LIT[int(digit)]:
        start, end = (np.array(point) * HALF + (col, row) for point in SEGMENTS[name])
        along = np.sign(end - start)
        start, end = start + 3 * along, end - 3 * along  # segments do not touch each other
        across = along[::-1] * STROKE
        tips = start - 2 * along, end + 2 * along
        corners = [tips[0], start + across, end + across, tips[1], end - across, start - across]
        cv2.fillPoly(canvas, [np.array(corners, np.int32)], 1.0)


def make_template(digit):
    reach = MARGIN + STROKE  # with ground around it, or a 1 would be found in a 7
    canvas = np.zeros((4 * HALF + 2 * reach + 1, 2 * HALF + 2 * reach + 1), np.float32)
    draw_digit(canvas, digit, reach, reach)
    return np.rint(230 - 200 * cv2.GaussianBlur(canvas, (0, 0), 0.8)).astype(np.uint8)


def make_display():
    """The display, as a camera sees it."""
    advances = [GAP if sign in ". " else ADVANCE for sign in SHOWN]
    lit = np.zeros((100, sum(advances) + 40), np.float32)
    for sign, col in zip(SHOWN, 24 + np.cumsum([0, *advances[:-1]]), strict=True):
        if sign == ".":
            cv2.circle(lit, (int(col) - 2, 28 + 4 * HALF), STROKE, 1.0, cv2.FILLED)
        elif sign != " ":
            draw_digit(lit, sign, 28, int(col))
    lit = cv2.GaussianBlur(lit, (0, 0), 0.8)
    across = np.linspace(0, 1, lit.shape[1])
    lit = lit * np.where(across < 0.3, 0.3, 1)
    lit = np.where(across > 0.75, 1 - lit, lit)
    greys = 25 + 40 * across + 130 * lit + np.random.default_rng(0).normal(0, 8, lit.shape)
    return np.clip(np.rint(greys), 0, 255).astype(np.uint8)


def main(picture=None):
    display = make_display()
    digits = {digit: make_template(digit) for digit in "0123456789"}
    matches = Search(digits, NUV(bins=2)).locate(display, threshold=0.5)  # wrong: 0.7 and more
    found = "".join(match.name for match in sorted(matches, key=lambda match: match.col))
    print(f"read  {found}, scores up to {max(matches.scores):.2f}")
    print(f"shown {SHOWN}")
    if picture is not None:
        write_picture(picture, draw_matches(display, matches))


if __name__ == "__main__":
    main(*sys.argv[1:])
