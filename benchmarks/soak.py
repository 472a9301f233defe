"""Random images and templates, against the loops and against nuvmatch itself, for a while.

    python -m benchmarks.soak [--minutes 20] [--seed 0]
    python -m benchmarks.soak --case N

Small ones are compared with the plain loops of the tests; large ones from one thread, from
several, by additions, by transforms, as crops and in bands with each other. What fails is told with
its number, which --case runs again; then the exit status is 1.
"""

import argparse
import itertools
import sys
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import nuvmatch.matcher
from nuvmatch import Matcher
from nuvmatch.engine import sums
from nuvmatch.measures import NAMED, near_ties

from .reporting import at_least

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import naive

TYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
LARGE_TYPES = ["u1", "u1", "u2", "i4", "f4", "f8"]
SMALL = ["nuv", "nuv_monotone", "ncc", "ncc2", "ssd"]
LARGE = ["nuv", "nuv_linear", "nuv_monotone", "nuv_curves", "nuv_adaptive", "ncc", "ssd", "mi"]
IMAGES = {
    "noise": lambda rng, y, x: rng.random(y.shape),
    "normal": lambda rng, y, x: rng.standard_normal(y.shape),
    "waves": lambda rng, y, x: np.sin(rng.uniform(0, 3) * y + rng.uniform(0, 3) * x),
    "board": lambda rng, y, x: (y // rng.integers(1, 9) + x // rng.integers(1, 9)) % 2,
    "specks": lambda rng, y, x: rng.random(y.shape) < rng.choice([0.002, 0.5, 0.998]),
    "rough": lambda rng, y, x: np.cumsum(rng.integers(-5, 6, y.shape), axis=1),
    "rings": lambda rng, y, x: np.sign(np.sin(rng.uniform(0, 2) * np.hypot(y - 9, x - 9))),
    "ramp": lambda rng, y, x: y * rng.normal() + x * rng.normal(),
    "step": lambda rng, y, x: (x > x.mean()) * 1e4 + rng.random(y.shape),
    "hot pixel": lambda rng, y, x: np.where((y == 3) & (x == 5), 1e6, rng.random(y.shape)),
    "few": lambda rng, y, x: rng.integers(0, 3, y.shape),
    "bright": lambda rng, y, x: 1e6 + rng.integers(0, 2, y.shape),
}


def make_scene(rng, shape, types):
    """An image of some kind, some parts of it flat, in some type."""
    kind = rng.choice(list(IMAGES))
    greys = IMAGES[kind](rng, *np.indices(shape)).astype(float)
    if rng.random() < 0.3:
        row, col = rng.integers(0, shape[0]), rng.integers(0, shape[1])
        greys[row:, col:] = greys[row, col]
    dtype = np.dtype(rng.choice(types))
    if dtype.kind == "b":
        return greys > np.median(greys)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):  # what a half float cannot hold is infinite
            return (greys * 10.0 ** rng.integers(-3, 4)).astype(dtype)
    # Whole numbers over some part of the type's range.
    info = np.iinfo(dtype)
    width = 2.0 ** rng.integers(1, min(info.bits, 40))
    low = max(info.min, -(2**50)) + rng.integers(0, 9)
    spread = (greys - greys.min()) / max(np.ptp(greys), 1e-300)
    return (low + np.rint(spread * (width - 1))).astype(dtype)


def make_case(rng, most, types):
    """An image, a template and a mask: cut from the image in other tones, or of its own."""
    window = rng.integers(1, most[1] + 1, 2)
    shape = window + rng.integers(0, most[0], 2)
    image = make_scene(rng, shape, types)
    template = make_scene(rng, window, types)
    if rng.random() < 0.7:
        row, col = (rng.integers(0, extent + 1) for extent in shape - window)
        template = image[row : row + window[0], col : col + window[1]].astype(float)
        template = template * rng.choice([1, -2.5, 0.125]) + rng.choice([0, 1000])
    mask = rng.random(window) < rng.choice([0.3, 0.9]) if rng.random() < 0.4 else None
    return image, template, mask


def in_one_unit(name, image, template):
    """For SSD both as floats, where it would compare shares of what is white to unlike types."""
    if name == "ssd" and image.dtype != template.dtype:
        return image.astype(float), template.astype(float)
    return image, template


def make_matcher(template, name, bins, **options):
    """A matcher; None if the template cannot be sought."""
    measure = NAMED[name]
    if hasattr(measure, "bins"):
        measure = replace(measure, bins=bins)
    try:
        return Matcher(template, measure, dtype=np.float64, **options)
    except ValueError:  # flat, or of too few pixels: the tests say when
        return None


def compare_with_loops(rng):
    image, template, mask = make_case(rng, (14, 9), TYPES)
    name = str(rng.choice(SMALL))
    image, template = in_one_unit(name, image, template)
    matcher = make_matcher(template, name, int(rng.integers(2, 7)), mask=mask)
    if matcher is None or not np.isfinite(image).all():
        return
    greys = image.astype(float)
    match name:
        case "nuv":
            expected = naive.nuv_map(greys, matcher.bins[0].labels)
        case "nuv_monotone":
            expected = monotone_map(greys, matcher.bins[0].labels)
        case "ncc":
            expected = naive.ncc_map(greys, template, mask)
        case "ncc2":
            expected = 1 - (1 - naive.ncc_map(greys, template, mask)) ** 2
        case "ssd":
            expected = naive.ssd_map(greys, template, mask)
    assert_allclose(matcher.score_map(image), expected, rtol=0, atol=1e-9)


def monotone_map(image, labels):
    scores = np.empty(naive.map_shape(image, labels.shape))
    for place, window in naive.windows(image, labels.shape):
        scores[place] = naive.monotone_window(window, labels)
    return scores


def compare_with_itself(rng):
    image, template, mask = make_case(rng, (500, 120), LARGE_TYPES)
    name, bins = str(rng.choice(LARGE)), int(rng.integers(2, 20))
    image, template = in_one_unit(name, image, template)
    matcher = make_matcher(template, name, bins, mask=mask)
    if matcher is None:
        return
    scores = matcher.score_map(image)
    assert np.isfinite(scores).all()
    assert scores.min() >= 0
    assert scores.max() <= (2 if name == "ncc" else 1)
    for n_threads in (1, 3):
        again = make_matcher(template, name, bins, mask=mask, n_threads=n_threads)
        assert_array_equal(again.score_map(image), scores)
    near = {"rtol": 0, "atol": 1e-12 if image.dtype.kind in "bui" else 1e-9}
    for way in ("additions", "fourier"):
        assert_allclose(map_by(way, matcher, image), scores, **near)
    top, left = (rng.integers(0, extent) for extent in scores.shape)
    if name != "mi":  # whose bins are of the image given
        assert_allclose(matcher.score_map(image[top:, left:]), scores[top:, left:], **near)
    if image.dtype.kind in "bui":
        # How many ties there are to break depends on the bands.
        with mock.patch.object(near_ties, "_PIXELS_READ", 0):
            found = matcher.locate(image, max_matches=9)
            with mock.patch.object(nuvmatch.matcher, "_WINDOWS_HELD", int(rng.integers(1, 9999))):
                in_bands = matcher.locate(image, max_matches=9)
        assert_array_equal([in_bands.rows, in_bands.cols], [found.rows, found.cols])
        assert_allclose(in_bands.scores, found.scores, **near)


def map_by(way, matcher, image):
    """A map of which slices are summed this way."""
    make_plan = sums.make_plan
    sums.make_plan = lambda image, programs, shape, _: make_plan(image, programs, shape, way)
    try:
        return matcher.score_map(image)
    finally:
        sums.make_plan = make_plan


def run(seed, number):
    rng = np.random.default_rng([seed, number])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "with .* bins for .* pixels noise scores")
        if number % 4:
            compare_with_loops(rng)
        else:
            compare_with_itself(rng)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--case", type=at_least(0), help="run this one only")
    options = parser.parse_args(arguments)
    if options.case is not None:
        run(options.seed, options.case)
        return
    end, failed = time.monotonic() + 60 * options.minutes, 0
    for number in itertools.count():
        if time.monotonic() > end:
            break
        try:
            run(options.seed, number)
        except Exception:  # whatever it is, it is a fault to be told of
            failed += 1
            print(f"case {number} of seed {options.seed}:")
            traceback.print_exc(limit=-3)
    print(f"{number} cases, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
