"""What people who match templates ran into: wrong peaks, lost memory, seams, odd installations.

U.. numbers the public bug reports.
"""

import compileall
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from naive import nuv_map
from numpy.testing import assert_allclose, assert_array_equal
from plants import LAB, T4, exact_map, noise, places, planted
from processes import ANSWER, SCRIPT, run_alone

import nuvmatch
from nuvmatch import NUV, Matcher, find_peaks, locate

PACKAGE = Path(nuvmatch.__file__).parent


def test_nan_is_never_the_best():
    """U04."""
    scores = np.full((20, 30), np.nan)
    scores[5, 6], scores[15, 20] = 0.5, 0.25
    assert places(find_peaks(scores, (4, 4), threshold=1)) == [(15, 20), (5, 6)]
    assert not find_peaks(np.full((9, 9), np.nan), (4, 4))
    bordered = np.pad(planted(noise(1, (40, 50)), 255 - T4, 5, 20), 12)
    assert places(locate(bordered, T4)) == [(17, 32)]


def test_nothing_found_is_not_a_zero():
    """U06."""
    image = noise(1, (40, 50))
    assert not locate(image, T4, threshold=0.3)
    assert exact_map(image, T4).min() > 0.6


@pytest.mark.parametrize("offset", [1e6, -1e6])
def test_offsets_change_nothing(offset):
    """U08."""
    image = planted(
        np.random.default_rng(12).standard_normal((96, 96)),
        np.array([-1, 2, 0.5, -2.5])[LAB], 40, 50,
    )  # fmt: skip
    expected, found = exact_map(image, T4), exact_map(image + offset, T4)
    assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert places(locate(image + offset, T4)) == [(40, 50)]
    assert found[40, 50] <= 1e-12


@pytest.mark.compiled
@pytest.mark.parametrize("measure", ["nuv", "nuv_adaptive", "ncc", "mi"])
def test_fifty_runs_give_the_same_bits(measure):
    """U12."""
    image = noise(1, (97, 101))
    template = image[13:24, 29:46]
    expected = Matcher(template, measure, n_threads=1).score_map(image)
    for n_threads in (1, 2, None):
        matcher = Matcher(template, measure, n_threads=n_threads)
        for _ in range(17):
            assert_array_equal(matcher.score_map(image), expected)


@pytest.mark.parametrize("height", [1, 2, 3, 7, 8, 16])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 16])
def test_windows_of_low_variance_are_as_exact_as_others(height, width):
    """U13."""
    if height * width < 3:  # flat, or two bins for two pixels
        return
    image = 100 + 1e-6 * noise(5, (20, 21)).astype(float)
    image[:9, :9] = noise(6, (9, 9))
    matcher = Matcher(noise(7, (height, width)), NUV(bins=2), dtype=float)
    expected = nuv_map(image, matcher.bins[0].labels)
    assert_allclose(matcher.score_map(image), expected, rtol=0, atol=1e-9)


def test_the_best_come_first_and_suppress_the_others():
    """U37."""
    scores = np.ones((30, 30))
    scores[10, 10], scores[10, 13], scores[10, 16] = 0.3, 0.1, 0.2
    assert places(find_peaks(scores, (8, 8), threshold=0.5)) == [(10, 13)]
    assert places(find_peaks(scores, (3, 3), threshold=0.5)) == [(10, 13), (10, 16), (10, 10)]


@pytest.mark.compiled
def test_memory_does_not_grow_with_bins():
    """U44."""
    image = noise(1, (1000, 1200))
    peaks = []
    for bins in (8, 64):
        # One thread: of several one may first take part in the second call, and its scratch count.
        matcher = Matcher(image[:64, :64], NUV(bins=bins), n_threads=1)
        matcher.score_map(image)
        tracemalloc.start()
        matcher.score_map(image)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


@pytest.mark.compiled
def test_plants_on_the_seams_of_tiles_are_found_once():
    """U45."""
    image, expected = noise(1, (700, 1300)), []
    for row in range(20, 660, 37):
        for col in range(20, 1280, 101):
            image = planted(image, T4 // 2 + 90, row, col)
            expected.append((row, col))
    found = locate(image, T4, threshold=0.01)
    assert sorted(places(found)) == expected
    crop = Matcher(T4).score_map(image[133:, 257:])
    assert_array_equal(crop, Matcher(T4).score_map(image)[133:, 257:])


def answer_of(path, home):
    """What a package elsewhere says, with a cache where it finds a place."""
    script = SCRIPT + f"assert nuvmatch.__file__.startswith({str(path)!r})"
    said, _ = run_alone(script, cwd=home, PYTHONPATH=path, HOME=home, NUMBA_CACHE_DIR="")
    return said


@pytest.mark.slow
@pytest.mark.compiled
def test_the_package_runs_from_a_zip_file(tmp_path):
    """U47."""
    copy = tmp_path / "copy" / "nuvmatch"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", copy.parent)
    assert answer_of(archive, tmp_path) == ANSWER


@pytest.mark.slow
@pytest.mark.compiled
def test_the_package_runs_without_its_sources(tmp_path):
    """U47."""
    copy = tmp_path / "copy" / "nuvmatch"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(copy, legacy=True, quiet=1)
    for source in copy.rglob("*.py"):
        source.unlink()
    assert answer_of(copy.parent, tmp_path) == ANSWER


@pytest.mark.slow
@pytest.mark.compiled
def test_an_import_compiles_nothing():
    """U53."""
    script = """
import sys, nuvmatch
kernel = type(nuvmatch.finding.suppression.decide)
kernels = [k for name, module in list(sys.modules.items()) if name.startswith("nuvmatch")
           for k in vars(module).values() if isinstance(k, kernel)]
print(len(kernels) > 20, sum(len(k.signatures) for k in kernels))
"""
    assert run_alone(script, timeout=60) == ("True 0\n", "")
