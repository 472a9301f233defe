"""Angles, scales, and where the pixels of a template are then."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nuvmatch.search.poses import as_angles, as_scales, inside, reaches, turns


def test_a_quarter_turn_is_counter_clockwise_as_the_eye_sees_it():
    """What is right of the center goes up, as `np.rot90` has it; resizing makes it longer."""
    (turn,) = turns(np.array([90.0]), np.array([np.log(2.0)]))
    assert_allclose(turn @ [0, 1], [-2, 0], atol=1e-12)
    assert_allclose(turn @ [1, 0], [0, 2], atol=1e-12)


@pytest.mark.parametrize("step", [0.3, 1, 5, 7.3, 90, 500])
@pytest.mark.parametrize(
    "angles", ["all", 3.0, (0, 90, 180, 270), np.arange(-10, 11), (0, 0.1, 0.2, 5, 77, 78)]
)
def test_every_angle_is_within_half_a_step_of_one_that_is_looked_at(angles, step):
    axis = as_angles(angles)
    asked = np.linspace(-180, 180, 721) if isinstance(angles, str) else np.atleast_1d(angles)
    apart = abs(axis.apart(asked[:, None], axis.grid(step)))
    assert apart.min(axis=1).max() <= step / 2 + 1e-9
    if not isinstance(angles, str):
        assert set(axis.grid(step)) <= set(asked.astype(float))


def test_two_scales_are_a_range_and_any_other_number_of_them_are_those():
    between = as_scales((0.5, 2))
    assert between.free
    assert_allclose([between.low, between.high], np.log([0.5, 2]))
    assert_allclose(np.exp(as_scales([2, 1, 0.5]).listed), [0.5, 1, 2])
    assert_allclose(np.exp(as_scales(1.25).listed), [1.25])
    assert as_scales((1, 1)).fixed


def test_beside_an_angle_are_those_that_were_asked_for():
    quarters = as_angles((0, 90, 180, 270))
    assert quarters.beside(np.array([0.0]), 90.0).tolist() == [[270, 0, 90]]
    assert quarters.beside(np.array([90.0]), 5.0).tolist() == [[90, 90, 90]]
    assert as_angles("all").beside(np.array([3.0]), 2.0).tolist() == [[1, 3, 5]]
    within = as_scales((0.5, 1)).beside(np.zeros(1), 0.1)
    assert_allclose(within, [[-0.1, 0, 0]])


def test_a_turned_template_must_be_in_the_image():
    """Of 3 x 7 pixels, turned by a quarter, the center is three rows from the border at least."""
    quarter = np.array([[3.0, 5, 90, 0], [2.9, 5, 90, 0], [6, 1, 90, 0], [6, 0.9, 90, 0]])
    assert_allclose(reaches(quarter, (3, 7)), [[3, 1]] * 4, atol=1e-12)
    assert inside(quarter, (3, 7), (20, 20), 1e-9).tolist() == [True, False, True, False]
    assert inside(quarter, (3, 7), (20, 20), 0.2).all()


@pytest.mark.parametrize(
    ("angles", "message"),
    [
        ("some", "'some'.*'all'"),
        ((), "empty"),
        ((0, np.inf), "within"),
        (1e300, "within"),
        (np.nan, "NaN"),
    ],
)
def test_what_are_no_angles_is_said(angles, message):
    with pytest.raises(ValueError, match=message):
        as_angles(angles)


@pytest.mark.parametrize("angles", [(-10, 10), (350.5, 360), [3, -3, 3]])
def test_two_angles_near_each_other_may_be_meant_as_a_range(angles):
    with pytest.warns(UserWarning, match=r"none between; range\(") as said:
        listed = as_angles(angles).listed
    assert listed == (min(angles), max(angles))
    between = eval(re.search(r"range\(.*?\)", str(said[0].message))[0])
    assert np.ptp(angles) <= np.ptp(between) < np.ptp(angles) + 2
    as_angles((0, 90)), as_angles((-5, 0, 5)), as_angles((7, 7)), as_angles((0, 360))  # no word


def test_two_angles_are_near_each_other_across_0_too():
    with pytest.warns(UserWarning, match=r"none between; range\(350, 371\) is every degree"):
        assert as_angles((350, 10)).listed == (10, 350)


@pytest.mark.parametrize(
    ("scales", "message"),
    [((2, 1), "smaller one first"), ((0, 1), "within"), (-1, "within"), ([], "empty")],
)
def test_what_are_no_scales_is_said(scales, message):
    with pytest.raises(ValueError, match=message):
        as_scales(scales)


@pytest.mark.parametrize("take", [as_angles, as_scales])
@pytest.mark.parametrize("given", [None, True, ["1"], [[0, 1]], {"a": 1}])
def test_they_are_numbers(take, given):
    with pytest.raises(TypeError, match=r"angles|scales"):
        take(given)
