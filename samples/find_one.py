"""Find one template
=================

In a scene whose tones have changed; and draw both.

    python samples/find_one.py [PICTURE]
"""

import sys
from pathlib import Path

import numpy as np

import nuvmatch
from nuvmatch.io import read_image, write_picture
from nuvmatch.showing import draw_matches

HERE = Path(__file__).resolve().parent


def main(picture=None):
    photo = read_image(HERE / "photos" / "camera.png")
    scene = read_image(HERE / "scenes" / "camera_solarised.png")
    template = read_image(HERE / "templates" / "camera.png")

    match = nuvmatch.locate(scene, template)[0]
    print(f"row {match.row}, column {match.col}, score {match.score:.4f}")
    (curve,) = match.tone_curves  # one for each channel
    for level, grey in zip(*curve, strict=True):
        print(f"  what is {level:5.1f} in the template is {grey:5.1f} in the scene")

    if picture is not None:
        original = nuvmatch.locate(photo, template)
        found = nuvmatch.Matches([match])
        pair = np.hstack([draw_matches(photo, original), draw_matches(scene, found)])
        write_picture(picture, pair)


if __name__ == "__main__":
    main(*sys.argv[1:])
