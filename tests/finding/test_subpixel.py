"""Fractions of a pixel out of maps: closed forms, least squares, and what cannot be told."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuvmatch import find_peaks
from nuvmatch.finding.subpixel import lowest_point

seeds = st.integers(0, 2**32)

ROWS, COLS = np.indices((3, 3)) - 1.0


def bowl(hessian, lowest, level):
    """Scores around a place whose lowest point lies beside it."""
    down, across = ROWS - lowest[0], COLS - lowest[1]
    quadratic = hessian[0][0] * down**2 + hessian[1][1] * across**2
    return level + quadratic / 2 + hessian[0][1] * down * across


def random_hessian(rng):
    turned = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    return turned @ np.diag(rng.uniform(0.05, 0.5, 2)) @ turned.T


@given(seeds)
def test_of_a_quadratic_the_lowest_point_is_found_with_the_noise_that_is_left(seed):
    rng = np.random.default_rng(seed)
    hessian, lowest, level = random_hessian(rng), rng.uniform(-0.5, 0.5, 2), rng.uniform(0.01, 0.5)
    pixels = int(rng.integers(16, 5000))
    offset, sigma = lowest_point(bowl(hessian, lowest, level), pixels)
    assert offset == pytest.approx(tuple(lowest), abs=1e-9)
    variances = np.diag(2 * level / pixels * np.linalg.inv(hessian))
    assert sigma == pytest.approx(math.sqrt(variances.mean()), rel=1e-6)


@given(seeds)
def test_what_is_no_quadratic_is_fitted_by_least_squares(seed):
    rng = np.random.default_rng(seed)
    scores = bowl(random_hessian(rng), rng.uniform(-0.2, 0.2, 2), 0.3)
    scores += 0.003 * rng.standard_normal((3, 3))
    terms = [ROWS**0, ROWS, COLS, ROWS**2, ROWS * COLS, COLS**2]
    design = np.stack([term.ravel() for term in terms], axis=1)
    _, down, across, downs, both, acrosses = np.linalg.lstsq(design, scores.ravel())[0]
    expected = np.linalg.solve([[2 * downs, both], [both, 2 * acrosses]], [-down, -across])
    offset, sigma = lowest_point(scores, 10**9)
    assert offset == pytest.approx(tuple(np.clip(expected, -0.5, 0.5)), abs=1e-9)
    assert 0 < sigma < math.inf


def test_misfit_makes_sigma_larger():
    scores = bowl([[0.2, 0], [0, 0.2]], (0, 0), 0.1)
    cusp = 0.1 + 0.2 * np.hypot(ROWS, COLS)
    assert lowest_point(cusp, 1000).sigma > 2 * lowest_point(scores, 1000).sigma


def test_no_step_is_longer_than_half_a_pixel():
    scores = bowl([[0.2, 0], [0, 0.2]], (0.9, -0.8), 0.1)
    assert lowest_point(scores, 1000).offset == pytest.approx((0.5, -0.5))


@pytest.mark.parametrize(
    "scores",
    [
        np.full((3, 3), 0.2),
        np.zeros((3, 3)),
        0.3 + 0.1 * (ROWS**2 - COLS**2),  # a saddle
        0.3 + 0.1 * ROWS**2,  # a valley
        np.where(ROWS * COLS == 1, np.nan, 0.1 + ROWS**2 + COLS**2),
        np.where(ROWS == 1, np.inf, 0.1 + ROWS**2 + COLS**2),
        np.where(ROWS == 1, np.nan, np.where(ROWS == 0, COLS**2, 1)),
        np.where(COLS == 0, 0, 0.5),  # several perfect ones
    ],
)
def test_where_nothing_tells_there_is_no_step_and_sigma_says_so(scores):
    assert lowest_point(scores, 100) == ((0, 0), math.inf)


def test_a_perfect_score_among_others_is_exact():
    assert lowest_point(np.where(ROWS**2 + COLS**2 == 0, 0, 0.3 + ROWS / 9), 100) == ((0, 0), 0)


# By find_peaks.


def peak_at(row, col, shape=(20, 30), level=0.1):
    rows, cols = np.indices(shape, dtype=float)
    return level + 0.02 * ((rows - row) ** 2 + (cols - col) ** 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_center_is_told_to_a_fraction_and_the_window_stays_whole(dtype):
    (found,) = find_peaks(peak_at(7.3, 11.8).astype(dtype), (5, 8), subpixel=True)
    assert (found.row, found.col) == (7, 12)
    assert found.center == pytest.approx((7.3 + 2, 11.8 + 3.5), abs=1e-4)
    assert found.corners[0] == pytest.approx((7.3, 11.8), abs=1e-4)
    assert found.box == (12, 7, 8, 5)
    # The variance is 2 D / d over the second derivative, of 40 pixels.
    assert found.sigma == pytest.approx(math.sqrt(2 * 0.1 / 40 / 0.04), rel=1e-2)
    assert found.to_record()["center_row"] == found.center[0]


def test_unasked_nothing_is_told():
    (found,) = find_peaks(peak_at(7.3, 11.8), (5, 8))
    assert found.sigma is None
    assert found.offset == (0, 0)


@pytest.mark.parametrize("place", [(0, 5), (19, 5), (5, 0), (5, 29), (0, 0)])
def test_at_the_border_there_is_no_step(place):
    (found,) = find_peaks(peak_at(*place), (5, 8), subpixel=True)
    assert (found.row, found.col) == place
    assert found.on_edge
    assert (found.offset, found.sigma) == ((0, 0), math.inf)


def test_every_match_is_told():
    scores = np.minimum(peak_at(5.25, 6.5), peak_at(14.6, 22.4, level=0.15))
    found = find_peaks(scores, (5, 8), max_matches=2, subpixel=True)
    expected = [(5.25, 6.5), (14.6, 22.4)]
    for match, place in zip(found, expected, strict=True):
        assert match.corners[0] == pytest.approx(place, abs=1e-6)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("precise", ValueError, "needs pixels"),
        ("exact", ValueError, "must be True, False or 'precise'"),
        (1, TypeError, "must be True, False or 'precise'"),
        (None, TypeError, "must be True, False or 'precise'"),
    ],
)
def test_what_is_wrong_is_named(value, error, message):
    with pytest.raises(error, match=message):
        find_peaks(peak_at(5, 5), (5, 8), subpixel=value)
