"""Find the pieces on a chess board
================================

White and black ones, by one template each.

A template has alpha, so that the square that a piece stands on does not count. A black piece is
a white one with its tones swapped: to nUV these are the same, and the sign of `Match.gain` tells.

    python samples/find_pieces.py [PICTURE]
"""

import sys

import cv2
import numpy as np

from nuvmatch import Search
from nuvmatch.io import write_picture
from nuvmatch.showing import draw_matches

BOARD = """
r . b q k . . r
p p . . b p p p
. . n p . n . .
. . . . p . . .
. . B . P . . .
. . N P . N . .
P P P . . P P P
R . B Q K . . R
"""
FILES, SQUARE, SIDE = "abcdefgh", 64, 39
EDGE = (SQUARE - SIDE) // 2
FOOT = [5, 34, 5, 30, 10, 27, 28, 27, 33, 30, 33, 34]
BATTLEMENTS = [8, 15, 8, 4, 13, 4, 13, 8, 17, 8, 17, 4, 21, 4, 21, 8, 25, 8, 25, 4, 30, 4, 30, 15]
SHAPES = {  # discs: x, y, radius; and polygons: x, y of each corner
    "p": [FOOT, [13, 27, 17, 14, 21, 14, 25, 27], [19, 11, 6]],
    "r": [FOOT, BATTLEMENTS, [12, 14, 26, 14, 26, 27, 12, 27]],
    "b": [FOOT, [19, 18, 9], [11, 14, 19, 4, 27, 14], [19, 5, 3]],
    "n": [FOOT, [11, 27, 14, 19, 6, 20, 5, 15, 13, 7, 16, 3, 19, 7, 27, 12, 29, 27]],
    "q": [FOOT, [9, 27, 4, 8, 12, 16, 19, 4, 26, 16, 34, 8, 29, 27], [4, 8, 3], [34, 8, 3]],
    "k": [
        FOOT,
        [12, 20, 8],
        [26, 20, 8],
        [17, 27, 17, 2, 21, 2, 21, 27],
        [12, 5, 26, 5, 26, 9, 12, 9],
    ],
}


def make_template(piece):
    """White with a dark rim, and alpha."""
    whole = np.zeros((SIDE, SIDE), np.uint8)
    for shape in SHAPES[piece]:
        if len(shape) == 3:
            cv2.circle(whole, shape[:2], shape[2], 1, cv2.FILLED)
        else:
            cv2.fillPoly(whole, [np.reshape(shape, (-1, 2))], 1)
    inner = cv2.erode(whole, np.ones((5, 5), np.uint8))
    return np.dstack([30 + 205 * inner, 255 * whole])


def make_board(truth):
    """The board, lit from one side."""
    rows, cols = np.indices((8 * SQUARE, 8 * SQUARE)) // SQUARE
    board = np.where((rows + cols) % 2, 110.0, 190.0)
    for (file, rank), sign in truth.items():
        row, col = (8 - int(rank)) * SQUARE + EDGE, FILES.index(file) * SQUARE + EDGE
        grey, alpha = np.moveaxis(make_template(sign.lower()), 2, 0)
        under = board[row : row + SIDE, col : col + SIDE]
        np.copyto(under, grey if sign.isupper() else 255 - grey, where=alpha > 0)
    board = cv2.GaussianBlur(board, (0, 0), 0.7) * np.linspace(1.0, 0.6, board.shape[1])
    board += np.random.default_rng(0).normal(0, 6, board.shape)
    return np.clip(np.rint(board), 0, 255).astype(np.uint8)


def main(picture=None):
    signs = dict(zip((f + r for r in "87654321" for f in FILES), BOARD.split(), strict=True))
    truth = {square: sign for square, sign in signs.items() if sign != "."}
    board = make_board(truth)
    search = Search({piece: make_template(piece) for piece in SHAPES})
    matches = search.locate(board, threshold=0.4)  # wrong ones score above 0.6
    found = {}
    for match in matches:
        row, col = (int(place // SQUARE) for place in match.center)
        found[f"{FILES[col]}{8 - row}"] = match.name.upper() if match.gain > 0 else match.name
    print("  found              truth")
    for rank in "87654321":
        pair = [" ".join(pieces.get(f + rank, ".") for f in FILES) for pieces in (found, truth)]
        print(rank, *pair, sep="  ")
    right = len(found.items() & truth.items())
    print(f"{len(matches)} pieces found, {right} of {len(truth)} right; e4: {found.get('e4')}")
    if picture is not None:
        write_picture(picture, draw_matches(board, matches))


if __name__ == "__main__":
    main(*sys.argv[1:])
