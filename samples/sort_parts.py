"""Sort parts on a tray
====================

Which part is where, and how it is turned.

Parts lie at any angle, some brighter than the tray and some darker, under uneven light. Masks let
a part and a rim of the tray around it count, and no more: what lies further off may be another.

    python samples/sort_parts.py [PICTURE]
"""

import math
import sys

import cv2
import numpy as np

from nuvmatch import Search
from nuvmatch.io import write_picture
from nuvmatch.showing import draw_matches

ROWS, COLS, CELL, RIM, FINER = 3, 5, 96, 4, 8
SYMMETRY = {"gear": 45, "bracket": 360, "nut": 60, "key": 360, "washer": 360}


def ring(radii, number, x=0, y=0):
    turns = np.arange(number) * 2 * math.pi / number
    return np.stack([x + radii * np.cos(turns), y + radii * np.sin(turns)], axis=1)


def box(left, top, right, bottom):
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)], float)


PARTS = {  # polygons of (x, y) about the middle: of the part, and of holes in it
    "gear": ([ring(np.resize([28, 28, 21, 21], 32), 32)], [ring(8, 64)]),
    "bracket": ([box(-24, -22, -12, 26), box(-24, 14, 26, 26)], [ring(3, 64, -18, -14)]),
    "nut": ([ring(25, 6)], [ring(13, 64)]),
    "key": ([ring(12, 64, -22), box(-14, -3, 34, 3), box(22, 0, 34, 11)], [box(26, 4, 30, 12)]),
    "washer": ([ring(24, 64)], [ring(11, 64), box(8, -6, 30, 6)]),
}


def draw_part(name, shape, row, col, angle=0.0):
    """What share of each pixel a part covers that lies at a place and is turned."""
    turn = math.radians(angle)
    back = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
    canvas = np.zeros(np.multiply(shape, FINER), np.float32)
    for polygons, share in zip(PARTS[name], (1.0, 0.0), strict=True):
        for points in polygons:
            corners = (points @ back + (col + 0.5, row + 0.5)) * FINER - 0.5
            cv2.fillPoly(canvas, [np.rint(corners).astype(np.int32)], share)
    return cv2.resize(canvas, shape[::-1], interpolation=cv2.INTER_AREA)


def make_template(name):
    """Bright on dark, and a mask of what counts."""
    reach = np.ceil(abs(np.concatenate(PARTS[name][0])).max(axis=0)).astype(int)
    col, row = (reach + RIM).tolist()
    part = draw_part(name, (2 * row + 1, 2 * col + 1), row, col)
    near = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * RIM + 1, 2 * RIM + 1))
    mask = cv2.dilate((part > 0).astype(np.uint8), near)
    return np.rint(40 + 180 * part).astype(np.uint8), mask


def make_tray():
    """The tray, and what lies on it: name, row and column of the middle, angle."""
    rng = np.random.default_rng(1)
    shape = ROWS * CELL, COLS * CELL
    tray = 90 + 50 * np.sin(np.indices(shape)[1] / 200)
    parts = []
    for number, name in enumerate(rng.permutation(np.resize(list(PARTS), ROWS * COLS)).tolist()):
        cell = np.array(divmod(number, COLS)) + 0.5
        row, col = (cell * CELL + rng.uniform(-5, 5, 2)).tolist()
        parts.append((name, row, col, rng.uniform(-180, 180)))
        tray += draw_part(name, shape, *parts[-1][1:]) * (rng.choice([30, 190]) - tray)
    tray = tray * np.linspace(0.7, 1.1, shape[1]) + rng.normal(0, 8, shape)
    return np.clip(np.rint(tray), 0, 255).astype(np.uint8), parts


def main(picture=None):
    tray, parts = make_tray()
    made = {name: make_template(name) for name in PARTS}
    templates, masks = ({name: both[i] for name, both in made.items()} for i in (0, 1))
    search = Search(templates, masks=masks, angles="all")
    # A score is enough on plain ground: right places score below 0.1 here, wrong ones 0.6 and more.
    matches = search.locate(tray, threshold=0.3)
    print(f"{len(matches)} parts found, {len(parts)} are there")
    right = 0
    for name, *place, angle in parts:
        match = min(matches, key=lambda match: math.dist(match.center, place))
        row, col = np.subtract(match.center, place)
        turn = math.remainder(match.angle - angle, SYMMETRY[name])
        right += match.name == name and math.hypot(row, col) <= 2 and abs(turn) <= 2
        print(
            f"{name:7} at ({place[0]:3.0f}, {place[1]:3.0f}), turned {angle:4.0f}: {match.name:7} "
            f"found {row:+.1f}, {col:+.1f} px and {turn:+.1f} degrees beside"
        )
    print(f"{right} of {len(parts)} right")
    if picture is not None:
        write_picture(picture, draw_matches(tray, matches))


if __name__ == "__main__":
    main(*sys.argv[1:])
