"""Show results
============

In all ways there are: nine plots, and a page for the browser.

    python samples/show_results.py [plots.png [found.html]]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from show_shifts import bend

import nuvmatch
from nuvmatch import showing
from nuvmatch.io import read_image

HERE = Path(__file__).resolve().parent
SIDE, TRIALS = 32, 12
TITLES = (
    "matches", "score map", "bins", "slices", "tone curve", "measures side by side",
    "ROC of single windows", "presence", "field of shifts",
)  # fmt: skip


def main(plots="plots.png", page="found.html"):
    photo = read_image(HERE / "photos" / "camera.png")
    scene = read_image(HERE / "scenes" / "camera_solarised.png")
    template = read_image(HERE / "templates" / "camera.png")
    matcher = nuvmatch.Matcher(template)
    matches = matcher.locate(scene, max_matches=5, false_alarms=np.inf)
    best = matches[0]
    row, col, height, width = best.region
    scores = matcher.score_map(scene, fill_value=np.nan)

    figure = Figure(figsize=(10, 8.5), layout="constrained")
    axes = figure.subplots(3, 3).ravel()
    showing.plot_matches(scene, matches, ax=axes[0])
    showing.plot_score_map(scores, matches, ax=axes[1])
    showing.plot_bins(template, matcher.bins, ax=axes[2])
    showing.plot_slices(template, matcher.bins, ax=axes[3])
    window = scene[row : row + height, col : col + width]
    showing.plot_tone_curves(best.tone_curves, template, window, ax=axes[4])
    measures = ("ncc", "ncc2", "mi", "nuv", "nuv_adaptive")
    maps = {measure: nuvmatch.score_map(scene, template, measure) for measure in measures}
    showing.plot_measures(maps, (row, col), ax=axes[5])
    for measure in ("ncc", "nuv"):
        present, absent = judged(photo, scene, measure)
        showing.plot_roc(present, absent, label=measure, ax=axes[6])
        present, absent = searched(photo, scene, measure)
        showing.plot_presence(present, absent, label=measure, ax=axes[7])
    coins = read_image(HERE / "photos" / "coins.png")
    moving, _, _ = bend(coins)
    field = nuvmatch.shifts(coins, moving, grid=(9, 12), size=40, search=6)
    showing.plot_shifts(field, moving, ax=axes[8])
    for ax, title in zip(axes, TITLES, strict=True):
        ax.set_title(title)
    showing.write_chart(plots, axes[0])

    nuvmatch.report(page, scene, {"camera": template}, matches, scores, title="The camera")
    print(f"{len(matches)} matches are shown, the best at row {row}, column {col}")


def templates_of(photo):
    """Templates cut out at random, with their places."""
    rng = np.random.default_rng(0)
    for row, col in rng.integers(0, np.array(photo.shape) - SIDE, (TRIALS, 2)):
        yield photo[row : row + SIDE, col : col + SIDE], row, col


def judged(photo, scene, measure):
    """Scores of true windows, and of those half an image away."""
    noisy = scene + np.random.default_rng(1).normal(0, 20, scene.shape)
    half, scores = np.array(photo.shape) // 2, ([], [])
    for template, *place in templates_of(photo):
        for found, start in zip(scores, (place, (place + half) % (2 * half - SIDE)), strict=True):
            window = noisy[start[0] : start[0] + SIDE, start[1] : start[1] + SIDE]
            found.append(nuvmatch.score(window, template, measure))
    return scores


def searched(photo, scene, measure):
    """False alarms of true places, and of all matches in another photograph."""
    coins = read_image(HERE / "photos" / "coins.png")
    present, absent = [], []
    for template, row, col in templates_of(photo):
        matcher = nuvmatch.Matcher(template, measure)
        (match,) = matcher.locate(scene, max_matches=1, false_alarms=np.inf)
        right = (match.row, match.col) == (row, col)
        present.append(match.false_alarms if right else np.inf)
        absent.append([m.false_alarms for m in matcher.locate(coins, false_alarms=100)])
    return present, absent


if __name__ == "__main__":
    main(*sys.argv[1:])
