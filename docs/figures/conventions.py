"""Draw what is called what: docs/conventions.md.

python docs/figures/conventions.py [conventions.svg]
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Arc, Polygon, Rectangle

HERE = Path(__file__).resolve().parent
ROWS, COLS = 12, 26
BLUE, RED, GREEN = "tab:blue", "tab:red", "tab:green"


def main(path=HERE / "conventions.svg"):
    with mpl.rc_context({"svg.hashsalt": "nuvmatch", "font.size": 9}):
        figure, axis = plt.subplots(figsize=(10, 5.2), layout="constrained")
        axis.set(xlim=(-0.7, COLS - 0.3), ylim=(ROWS - 0.3, -0.7), aspect="equal")
        axis.set_xticks(range(COLS), range(COLS), color="0.4")
        axis.set_yticks(range(ROWS), range(ROWS), color="0.4")
        axis.set(xlabel="col, x", ylabel="row, y")
        axis.xaxis.tick_top()
        axis.xaxis.set_label_position("top")
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        for row in range(ROWS + 1):
            axis.plot([-0.5, COLS - 0.5], [row - 0.5] * 2, color="0.9", lw=0.7, zorder=0)
        for col in range(COLS + 1):
            axis.plot([col - 0.5] * 2, [-0.5, ROWS - 0.5], color="0.9", lw=0.7, zorder=0)
        draw_upright(axis)
        draw_turned(axis)
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_upright(axis):
    """A window of 4 x 6 pixels at (4, 3), under a mask, in a region."""
    axis.add_patch(Rectangle((0.5, 1.5), 12, 9, fill=False, color=GREEN, ls="--", lw=1.5))
    axis.text(0.7, 10.95, "region=(2, 1, 9, 12): row, col, height, width", color=GREEN)
    masked = [(4, 3), (4, 8), (7, 3), (7, 8)]
    for row, col in np.ndindex(4, 6):
        place = row + 4, col + 3
        axis.add_patch(
            Rectangle(
                (place[1] - 0.5, place[0] - 0.5),
                1,
                1,
                facecolor="none" if place in masked else "#cfe0f1",
                hatch="////" if place in masked else None,
                edgecolor="0.7",
                lw=0.5,
            )
        )
    axis.add_patch(Rectangle((2.5, 3.5), 6, 4, fill=False, color=BLUE, lw=2))
    axis.plot(3, 4, "o", color=RED, ms=5)
    axis.text(2.4, 3.2, "place (row, col) = (4, 3)", color=RED)
    axis.plot(5.5, 5.5, "+", color=BLUE, ms=9, mew=2)
    axis.text(5.7, 5.2, "center (5.5, 5.5)", color=BLUE)
    axis.text(2.5, 8.3, "window: box = (3, 4, 6, 4): x, y, width, height", color=BLUE)
    axis.annotate("mask = 0", (8.2, 7.0), (9.3, 6.7), color="0.3", arrowprops={"arrowstyle": "->"})


def draw_turned(axis):
    """A match that is turned by 30 degrees: its corners, and the box around them."""
    angle = np.radians(30)
    middle = np.array([19.0, 5.5])
    along = np.array([np.cos(angle), -np.sin(angle)])  # counter-clockwise, as y points down
    down = np.array([np.sin(angle), np.cos(angle)])
    corners = [
        middle + i * 3 * along + j * 2 * down for i, j in [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    ]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    axis.add_patch(Rectangle(low, *(high - low), fill=False, color=BLUE, lw=1, ls=":"))
    axis.add_patch(Polygon(corners, closed=True, fill=False, color=BLUE, lw=2))
    for number, (x, y) in enumerate(corners):
        axis.plot(x, y, "o", color=BLUE, ms=4)
        axis.text(x + 0.2, y - 0.2, f"corners[{number}]", color=BLUE)
    axis.text(low[0], high[1] + 0.9, "box: the upright one around it", color=BLUE)
    axis.plot(*zip(middle, np.add(middle, (3.4, 0)), strict=True), color="0.5", lw=0.8)
    axis.plot(*zip(middle, middle + 3.4 * along, strict=True), color=RED, lw=1.2)
    axis.add_patch(Arc(middle, 4.6, 4.6, theta1=-30, theta2=0, color=RED, lw=1.5))
    axis.text(19.6, 6.2, "angle = 30", color=RED)


if __name__ == "__main__":
    main(*sys.argv[1:])
