"""Show shifts
===========

How one image is shifted against another of other tones, chip by chip.

    python samples/show_shifts.py [shifts.png]
"""

import sys
from pathlib import Path

import cv2
import matplotlib.pyplot as plt
import numpy as np

import nuvmatch
from nuvmatch.io import read_image

HERE = Path(__file__).resolve().parent


def bend(image):
    """Move an image by a smooth field of shifts, invert a half of it: and the field."""
    rows, cols = np.indices(image.shape, dtype=np.float32)
    down, across = 2 * np.sin(cols / 120), 1.5 * np.cos(rows / 100)
    moved = cv2.remap(image, cols - across, rows - down, cv2.INTER_CUBIC)
    half = image.shape[1] // 2
    moved[:, :half] = 255 - moved[:, :half]
    return moved, down, across


def main(path="shifts.png"):
    fixed = read_image(HERE / "photos" / "coins.png")
    moving, down, across = bend(fixed)
    found = nuvmatch.shifts(fixed, moving, grid=(9, 12), size=40, search=6)
    good = (found["false_alarms"] < 0.01) & ~found["outlier"]
    rows, cols = found["row"][good], found["col"][good]
    place = np.rint(rows).astype(int), np.rint(cols).astype(int)
    errors = np.hypot(
        found["shift_row"][good] - down[place], found["shift_col"][good] - across[place]
    )
    print(f"{good.sum()} of {good.size} chips are sure; median error {np.median(errors):.2f} px")
    figure, axes = plt.subplots(figsize=(7, 5.5), layout="constrained")
    axes.imshow(moving, cmap="gray")
    arrows = {"angles": "xy", "scale_units": "xy", "scale": 0.1, "width": 0.004}
    axes.quiver(
        cols, rows, found["shift_col"][good], found["shift_row"][good], color="orange", **arrows
    )
    axes.set_title("Shifts of chips, ten times as long")
    axes.set_axis_off()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:])
