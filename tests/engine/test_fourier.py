"""Correlations by transforms: within the bounds of their error, however they are kept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from patterns import all_windows

from nuvmatch.engine import fourier
from nuvmatch.engine.fourier import Correlator, error_bound, halves, single_error_bound
from nuvmatch.engine.prices import TRANSFORMS


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("windows", [(1, 1), (7, 30), (65, 1030)])
def test_correlations_stay_within_the_bound(windows, precision, rng):
    patterns = rng.standard_normal((2, 5, 6))
    patches = rng.standard_normal((2, windows[0] + 4, windows[1] + 5))
    correlator = Correlator(patterns, windows, precision)
    spectrum = correlator.transform(patches[0] + 3, patches[1] + 3, origin=3.0)
    view = all_windows(patches[0] + 1j * patches[1], (5, 6))
    for which, pattern in enumerate(patterns):
        found = correlator.correlate(spectrum, which, windows)
        expected = (view * pattern).sum(axis=(2, 3))
        energies = (patches**2).sum(), (pattern**2).sum()
        bound = error_bound(*energies)
        if precision == np.float32:
            bound = single_error_bound(*energies, correlator.extreme())
        assert abs(found - expected).max() <= bound


def test_complex_numbers_are_two_patches_at_once(rng):
    pattern, patches = rng.random((1, 3, 4)), rng.random((2, 9, 11))
    correlator = Correlator(pattern, (7, 8))
    one = correlator.correlate(correlator.transform(patches[0] + 1j * patches[1]), 0, (7, 8)).copy()
    two = correlator.correlate(correlator.transform(patches[0], patches[1]), 0, (7, 8))
    assert_array_equal(one, two)
    assert_allclose(one.imag, (all_windows(patches[1], (3, 4)) * pattern[0]).sum(axis=(2, 3)))


@pytest.mark.parametrize("rows", [1, 2, 7, 8])
def test_sums_of_a_plane_are_put_together_from_its_halves(rows, rng):
    patterns, plane = rng.random((2, 3, 4)), rng.random((rows + 2, 9))
    upper, lower = halves(plane, rows)
    assert len(upper) - 2 == -(-rows // 2)
    assert len(lower) - 2 == rows // 2
    found = Correlator(patterns, (-(-rows // 2), 6)).sums(plane, 1, (rows, 6))
    assert_allclose(found, (all_windows(plane, (3, 4)) * patterns[1]).sum(axis=(2, 3)))


def test_the_extreme_is_of_either_sign_and_part(rng):
    patch = rng.random((9, 9))
    correlator = Correlator(-np.ones((1, 3, 3)), (7, 7))
    correlator.correlate(correlator.transform(0.1 * patch, patch), 0, (7, 7))
    assert correlator.extreme() >= all_windows(patch, (3, 3)).sum(axis=(2, 3)).max() - 1e-12


def test_spectra_too_large_to_keep_are_made_anew(monkeypatch, rng):
    patterns, patch = rng.random((2, 3, 4)), rng.random((9, 9))
    results = []
    for most in (2**20, 0):
        monkeypatch.setattr(fourier, "_SPECTRA_BYTES_KEPT", most)
        correlator = Correlator(patterns, (7, 6))
        spectrum = correlator.transform(patch)
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
