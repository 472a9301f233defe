"""What chance shows of several templates is learnt once, and told of any number of images."""

import pickle

import numpy as np
import pytest
from scipy import ndimage

from nuvmatch import Matcher, Null, Search

pytestmark = pytest.mark.compiled  # many maps


def smooth(seed, shape=(300, 320)):
    greys = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), 2.0)
    return np.rint(np.interp(greys, [greys.min(), greys.max()], [0, 255])).astype(np.uint8)


TEMPLATES = {"one": smooth(1)[100:124, 50:74], "other": smooth(2)[20:50, 200:226]}
EMPTY = smooth(3)


def planted(turn=0):
    image = smooth(4)
    image[200:224, 30:54] = np.rot90(TEMPLATES["one"], turn)
    return 255 - image


def test_of_templates_as_they_are_it_is_what_each_matcher_learns():
    """Several compete: of two, chance shows twice as many."""
    search = Search(TEMPLATES)
    null = search.calibrate(EMPTY)
    assert list(null) == ["one", "other"]
    (found,) = search.locate(planted(), null=null, max_matches=1)
    matcher = Matcher(TEMPLATES["one"])
    (alone,) = matcher.locate(planted(), null=matcher.calibrate(EMPTY))
    assert (found.name, found.row, found.col) == ("one", 200, 30)
    assert found.false_alarms == pytest.approx(2 * alone.false_alarms)
    assert found.false_alarms < 1e-3


def test_one_template_takes_its_null_alone():
    search = Search(TEMPLATES["one"])
    null = Matcher(TEMPLATES["one"]).calibrate(EMPTY)
    for given in (null, {None: null}, search.calibrate(EMPTY)):
        (found,) = search.locate(planted(), null=given, false_alarms=0.01)
        assert (found.row, found.col) == (200, 30)
        assert not search.locate(EMPTY, null=given, false_alarms=0.01)


def test_turned_ones_are_believed_by_what_other_images_show():
    search = Search(TEMPLATES["one"], angles=(0, 90, 180, 270))
    null = pickle.loads(pickle.dumps(search.calibrate(EMPTY, smooth(5))))
    (found,) = search.locate(planted(1), null=null, false_alarms=0.01)
    assert (found.row, found.col, found.angle) == (200, 30, 90)
    assert not search.locate(smooth(6), null=null, false_alarms=0.01)


def test_a_null_learns_from_as_many_images_as_there_are():
    search = Search(TEMPLATES["one"], angles=(0, 90))
    one, two = search.calibrate(EMPTY)[None], search.calibrate(EMPTY, smooth(5))[None]
    assert two.windows == one.windows
    assert two.sample == 2 * one.sample
    assert set(one.logs) <= set(two.logs)


@pytest.mark.parametrize("angles", [0, (0, 90)])
def test_what_does_not_fit_is_refused(angles):
    search = Search(TEMPLATES, angles=angles)
    null = search.calibrate(EMPTY)
    with pytest.raises(ValueError, match=r"of all templates by name, \['one', 'other'\]"):
        search.locate(EMPTY, null={"one": null["one"]})
    with pytest.raises(ValueError, match="of all templates by name"):
        search.locate(EMPTY, null=null["one"])
    with pytest.raises(TypeError, match="must be a Null"):
        search.locate(EMPTY, null={"one": 1, "other": null["other"]})
    with pytest.raises(ValueError, match=r"null is of windows of shape \(30, 26\)"):
        search.locate(EMPTY, null={"one": null["other"], "other": null["one"]})
    twin = Search(smooth(7)[:24, :24], angles=angles)
    with pytest.raises(ValueError, match="null is of another template"):
        twin.locate(EMPTY, null=null["one"])
    assert isinstance(null["one"], Null)
    with pytest.raises(ValueError, match="it was given none"):
        search.calibrate()
