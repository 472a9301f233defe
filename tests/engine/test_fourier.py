"""Correlations by transforms: within the bounds of their error, however they are kept."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import all_windows

from nuvmatch.engine import fourier
from nuvmatch.engine.fourier import (
    Correlator,
    error_bound,
    halves,
    put_parts,
    turn,
)
from nuvmatch.engine.prices import TRANSFORMS


@pytest.mark.parametrize("windows", [(1, 1), (7, 30), (65, 1030)])
def test_correlations_stay_within_the_bound(windows, rng):
    patterns = rng.standard_normal((2, 5, 6))
    patches = rng.standard_normal((2, windows[0] + 4, windows[1] + 5))
    correlator = Correlator(patterns, windows)
    spectrum, energy = correlator.transform(patches[0] + 3, patches[1] - 2, origin=3 - 2j)
    assert energy == pytest.approx((patches**2).sum())
    view = all_windows(patches[0] + 1j * patches[1], (5, 6))
    for which, pattern in enumerate(patterns):
        found = correlator.correlate(spectrum, which, windows)
        expected = (view * pattern).sum(axis=(2, 3))
        bound = error_bound((patches**2).sum(), (pattern**2).sum())
        assert abs(found - expected).max() <= bound


def test_columns_that_do_not_count_and_rows_that_are_not_there_are_0(rng):
    plane, pattern = rng.integers(0, 256, (9, 14)).astype(np.uint8), rng.random((1, 3, 4))
    upper, lower = halves(plane, 7)
    assert (len(upper), len(lower)) == (6, 5)
    correlator = Correlator(pattern, (4, 8))
    spectrum, energy = correlator.transform(upper, lower, columns=11, origin=99 + 99j)
    assert energy == sum(naive.energy(half[:, :11], 99) for half in (upper, lower))
    found = correlator.correlate(spectrum, 0, (4, 8))
    expected = (all_windows(plane[:, :11] - 99.0, (3, 4)) * pattern[0]).sum(axis=(2, 3))
    assert_allclose(found.real, expected[:4])
    assert_allclose(found.imag[:3], expected[4:])


def test_parts_are_put_together_as_complex_numbers(rng):
    first, second = rng.integers(0, 256, (5, 7)), rng.integers(0, 256, (4, 7))
    out = np.full((8, 9), np.nan, complex)
    energy = put_parts(first, second, 6, 7 + 30j, out)
    expected = np.zeros((8, 9), complex)
    expected[:5, :6] += first[:, :6] - 7
    expected[:4, :6] += 1j * (second[:, :6] - 30)
    assert_array_equal(out, expected)
    assert energy == naive.energy(first[:, :6], 7) + naive.energy(second[:, :6], 30)


@pytest.mark.parametrize("lines", [0, 1, 8, 19])
def test_lines_become_columns(lines, rng):
    numbers = rng.random((lines, 12)) + 1j * rng.random((lines, 12))
    out = np.zeros((10, 25), complex)
    turn(numbers, out, 3)
    assert_array_equal(out[:, 3 : 3 + lines], naive.turned(numbers)[:10])
    assert not out[:, :3].any()
    assert not out[:, 3 + lines :].any()


def test_spectra_too_large_to_keep_are_made_anew(monkeypatch, rng):
    patterns, patch = rng.random((2, 3, 4)), rng.random((9, 9))
    results = []
    for most in (2**20, 0):
        monkeypatch.setattr(fourier, "_SPECTRA_BYTES_KEPT", most)
        correlator = Correlator(patterns, (7, 6))
        spectrum, _ = correlator.transform(patch, 1 - patch)
        results.append([correlator.correlate(spectrum, i, (7, 6)).copy() for i in (0, 1)])
    assert_array_equal(*results)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("windows", [(1, 1), (30, 900), (1061, 1901)])
def test_tiles_fit_into_transforms_of_known_prices(windows, parts):
    for (rows, columns), sides, numbers in fourier.fitting_tiles((20, 31), windows, parts):
        assert 1 <= rows <= windows[0]
        assert 1 <= columns <= windows[1]
        assert sides[0] >= -(-rows // parts) + 19
        assert sides[1] >= columns + 30
        assert all(side in TRANSFORMS or side < min(TRANSFORMS) for side in sides)
        assert numbers * np.prod(windows) >= np.prod(sides)
