"""Search several images
=====================

Prepare a template once and seek it in several images.

    python samples/many_images.py
"""

from pathlib import Path

import nuvmatch
from nuvmatch.io import read_image

HERE = Path(__file__).resolve().parent


def main():
    matcher = nuvmatch.Matcher(read_image(HERE / "templates" / "camera.png"))
    for path in sorted((HERE / "scenes").glob("camera_*.png")):
        best = matcher.locate(read_image(path))[0]
        print(f"{path.name:22} row {best.row}, column {best.col}, score {best.score:.4f}")


if __name__ == "__main__":
    main()
