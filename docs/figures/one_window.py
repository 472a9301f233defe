"""Draw one window, the template's bins, the fitted curve, and what it leaves: docs/how_it_works.md.

python docs/figures/one_window.py [one_window.svg]
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from nuvmatch import Matcher
from nuvmatch.io import read_image

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "samples"
PLACE = np.s_[130:186, 254:330]


def main(path=HERE / "one_window.svg"):
    template = read_image(SAMPLES / "templates" / "camera.png")
    window = read_image(SAMPLES / "scenes" / "camera_solarised.png")[PLACE]
    (binned,) = Matcher(template).bins
    means = np.bincount(binned.labels.ravel(), window.ravel()) / binned.counts
    fitted = means[binned.labels]
    left, scatter = ((window - fitted) ** 2).sum(), ((window - window.mean()) ** 2).sum()
    with mpl.rc_context({"svg.hashsalt": "nuvmatch", "font.size": 9}):
        figure = draw(template, window, binned, means, fitted, left / scatter)
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(f"score {left / scatter:.4f}")


def draw(template, window, binned, means, fitted, score):
    figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
    pictures = {
        "1. the template": (template, {"cmap": "gray", "vmin": 0, "vmax": 255}),
        f"2. its bins, {len(means)} of them": (binned.labels, {"cmap": "viridis"}),
        "3. a window": (window, {"cmap": "gray", "vmin": 0, "vmax": 255}),
        "5. the template with these tones": (fitted, {"cmap": "gray", "vmin": 0, "vmax": 255}),
        f"6. what is left: score {score:.4f}": (
            window - fitted,
            {"cmap": "gray", "vmin": -128, "vmax": 128},
        ),
    }
    places = [axes[0, 0], axes[0, 1], axes[0, 2], axes[1, 1], axes[1, 2]]
    for axis, (title, (picture, options)) in zip(places, pictures.items(), strict=True):
        axis.imshow(picture, **options)
        axis.set_title(title)
        axis.set_axis_off()
    draw_curve(axes[1, 0], template, window, binned.edges, means)
    return figure


def draw_curve(axis, template, window, edges, means):
    """Each pixel's grey in the window over its grey in the template, and the mean of each bin."""
    axis.plot(template.ravel(), window.ravel(), ".", ms=2, color="0.6", zorder=1, rasterized=True)
    axis.stairs(means, edges, baseline=None, color="tab:red", lw=2)
    for edge in edges[1:-1]:
        axis.axvline(edge, color="0.85", lw=0.8, zorder=0)
    axis.set_title("4. the fitted tone curve")
    axis.set_xlabel("grey in the template")
    axis.set_ylabel("grey in the window")


if __name__ == "__main__":
    main(*sys.argv[1:])
