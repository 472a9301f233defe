"""Tell places to a fraction of a pixel, where it is known: errors, and what sigma says of them.

    python -m benchmarks.subpixel [--trials 240] [--seed 0] [--quick] [--out DIR]

Writes DIR/subpixel.md. A photograph of three times the resolution is shifted by a random part of
a pixel and averaged over blocks, as a sensor does; so is the same unshifted, out of which the
template is cut. Smooth images are noise of a correlation of some pixels. Tones change, noise is
added, and both are quantised to 8 bits.
"""

import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import skimage.registration
from scipy import ndimage

from nuvmatch import Matcher
from nuvmatch.timing import describe, environment

from . import fields, scenes
from .reporting import make_parser, markdown, render, write_text

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "coins", "grass", "retina", "rocket", "brick")
FINER = 3  # times, is what a photograph is shifted at
CHANGES = ("none", "gamma", "inverted gamma", "solarised")
IMAGES = (("smooth", 32), ("photographs", 32), ("photographs", 48), ("photographs", 64))
NOISES = (0.02, 0.15)  # shares of the standard deviation, from and to
WAYS = {"by the map": True, "precise": "precise"}
PHASE = "phase correlation"
AROUND = 3  # pixels, in which the window is sought
SMOOTH = 3  # pixels, standard deviation of the blur that smooth images are made by
TEMPLATE = Path(__file__).with_name("subpixel.md.jinja")


@cache
def photograph(name):
    return scenes.grey(scenes.load(name)).astype(float)


def average(image):
    """Block means, as the pixels of a sensor are."""
    rows, cols = (side // FINER for side in image.shape)
    return image[: rows * FINER, : cols * FINER].reshape(rows, FINER, cols, FINER).mean((1, 3))


def make_pair(kind, side, rng):
    """An image in [0, 1], the same shifted by a part of a pixel, and the shift."""
    shift = rng.uniform(-0.5, 0.5, 2)
    if kind == "smooth":
        image = ndimage.gaussian_filter(rng.standard_normal((4 * side, 4 * side)), SMOOTH)
        moved = ndimage.shift(image, shift, order=5, mode="reflect")
    else:
        fine = photograph(PHOTOGRAPHS[rng.integers(len(PHOTOGRAPHS))])
        image = average(fine)
        moved = average(ndimage.shift(fine, FINER * shift, order=3, mode="reflect"))
    low, span = image.min(), np.ptp(image)
    return (image - low) / span, np.clip((moved - low) / span, 0, 1), shift


def make_trial(kind, side, change, rng):
    """Where the template truly is, to a fraction; the template, and the scene."""
    contrast = 0.0
    while contrast < 0.5:  # of the image's
        image, moved, shift = make_pair(kind, side, rng)
        corner = [int(rng.integers(6, length - side - 5)) for length in image.shape]
        template = image[tuple(slice(start, start + side) for start in corner)]
        contrast = template.std() / image.std()
    scene = scenes.CHANGES[change](rng)(moved)
    scene = scenes.add_noise(scene, rng.uniform(*NOISES), rng)
    return corner + shift, np.rint(255 * template).astype(np.uint8), scene


def by_phase(scene, template, row, col):
    """Offset by scikit-image's phase correlation, which knows nothing of tones."""
    window = scene[row : row + template.shape[0], col : col + template.shape[1]]
    shift, *_ = skimage.registration.phase_cross_correlation(template, window, upsample_factor=100)
    return -shift


def measure(kind, side, number, seed):
    """Rows of all ways: errors in rows and columns, sigma, milliseconds."""
    change = CHANGES[number % len(CHANGES)]
    rng = np.random.default_rng([seed, side, kind == "smooth", number])
    truth, template, scene = make_trial(kind, side, change, rng)
    row, col = (int(at) for at in np.rint(truth))
    region = (row - AROUND, col - AROUND, side + 2 * AROUND, side + 2 * AROUND)
    matcher = Matcher(template, n_threads=1)
    about = {"images": f"{kind}, {side} x {side}", "tones": change}
    matcher.locate(scene, region=region, subpixel="precise")  # plans
    for way, subpixel in WAYS.items():
        started = time.perf_counter()
        (found,) = matcher.locate(scene, region=region, subpixel=subpixel)
        taken = time.perf_counter() - started
        error = np.array(found.center) - (side - 1) / 2 - truth
        told = {"down": error[0], "across": error[1], "sigma": found.sigma, "ms": 1000 * taken}
        yield {**about, "way": way, **told}
    if change == "none":
        place = np.array([found.row, found.col])
        error = place + by_phase(scene, template, *place) - truth
        yield {**about, "way": PHASE, "down": error[0], "across": error[1]}


def summarise(group):
    errors = group[["down", "across"]].to_numpy()
    distance = np.hypot(*errors.T)
    held = (abs(errors) <= group["sigma"].to_numpy()[:, None]).mean()
    return pd.Series(
        {
            "trials": len(group),
            "RMS of a coordinate": np.sqrt((errors**2).mean()),
            "distance: median": np.median(distance),
            "90 %": np.quantile(distance, 0.9),
            "sigma: median": group["sigma"].median(),
            "holds": held if group["sigma"].notna().all() else np.nan,
            "ms": group["ms"].median(),
        }
    )


def as_text(table, by):
    """A row for each group; what is not told is left empty."""
    rows = table.groupby(by, sort=False)[["down", "across", "sigma", "ms"]].apply(summarise)
    rows = rows.reset_index()
    texts = {name: rows[name] for name in by}
    texts["trials"] = [f"{number:.0f}" for number in rows["trials"]]
    for name, digits in (
        ("RMS of a coordinate", 3), ("distance: median", 3), ("90 %", 3), ("sigma: median", 3),
        ("holds", 2), ("ms", 1),
    ):  # fmt: skip
        texts[name] = ["" if np.isnan(x) else f"{x:.{digits}f}" for x in rows[name]]
    return markdown(texts)


def main(arguments=None):
    options = make_parser("subpixel", __doc__, 240, 8, "trials").parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)  # before the work, not after
    table = pd.DataFrame(
        row
        for kind, side in IMAGES
        for number in range(options.number)
        for row in measure(kind, side, number, options.seed)
    )
    page = render(
        TEMPLATE,
        trials=options.number,
        seed=options.seed,
        by_images=as_text(table, ["images", "way"]),
        by_tones=as_text(table[table["images"] == "photographs, 48 x 48"], ["tones", "way"]),
        by_fields=markdown(fields.tabulate(fields.measure_all(options.seed))),
        grid=fields.GRID,
        size=fields.SIZE,
        search=fields.SEARCH,
        largest=fields.LARGEST,
        environment=describe(environment()),
    )
    write_text(options.out / "subpixel.md", page)
    print(f"wrote {options.out / 'subpixel.md'}")


if __name__ == "__main__":
    main()
