"""Compare measures
================

NCC against MI against nUV on one scene whose tones changed in no monotone way.

    python samples/compare_measures.py
"""

from pathlib import Path

import nuvmatch
from nuvmatch.io import read_image

HERE = Path(__file__).resolve().parent
TRUTH = (130, 254)  # where make_scenes.py cut the template out


def main():
    scene = read_image(HERE / "scenes" / "camera_solarised.png")
    template = read_image(HERE / "templates" / "camera.png")
    print(f"the template lies at row {TRUTH[0]}, column {TRUTH[1]}")
    for measure in ("ncc", "ncc2", "mi", "nuv"):
        best = nuvmatch.locate(scene, template, measure)[0]
        verdict = "found" if (best.row, best.col) == TRUTH else "missed"
        print(
            f"{measure:>5}: best at row {best.row:3}, column {best.col:3}, "
            f"score {best.score:.4f}: {verdict}"
        )


if __name__ == "__main__":
    main()
