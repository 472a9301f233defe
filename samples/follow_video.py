"""Follow a pattern through a video
================================

It makes the video itself: what is followed moves, dims, is hidden, and returns.

    python samples/follow_video.py
"""

import tempfile
from pathlib import Path

import cv2
import numpy as np

import nuvmatch
from nuvmatch.io import read_image

HERE = Path(__file__).resolve().parent
FRAMES, HIDDEN = 40, range(18, 25)


def make_video(path):
    """A man that moves over a photograph, ever darker and behind a box for some frames."""
    ground = read_image(HERE / "photos" / "coins.png")
    man = read_image(HERE / "templates" / "camera.png")
    height, width = man.shape
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25, ground.shape[::-1])
    for number in range(FRAMES):
        row, col = 60 + 3 * number, 20 + 6 * number
        frame = ground.copy()
        if number not in HIDDEN:
            frame[row : row + height, col : col + width] = man
        frame = np.rint(frame * (1 - number / FRAMES / 2)).astype(np.uint8)
        video.write(cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR))
    video.release()


def read_video(path):
    video = cv2.VideoCapture(str(path))
    while True:
        more, frame = video.read()
        if not more:
            break
        yield cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
    video.release()


def main():
    man = read_image(HERE / "templates" / "camera.png")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "man.avi")
        make_video(path)
        for number, match in enumerate(nuvmatch.track(read_video(path), man, subpixel=True)):
            if match is None:
                print(f"frame {number:2}: lost")
            else:
                row, col = match.center
                print(f"frame {number:2}: row {row:6.2f}, column {col:6.2f} +- {match.sigma:.2f}")


if __name__ == "__main__":
    main()
