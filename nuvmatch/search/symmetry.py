"""Whether one template is another turned, nearly: then it is no decoy of it."""

from __future__ import annotations

import numpy as np

from .._checks import silence
from ..engine import prepare
from ..measures import Measure
from ..measures.base import Scorer
from ..measures.template import Template
from .poses import Axis, Values
from .pyramid import Scene, shrink_template

_SIDE = 24  # pixels that both are looked at in
_ALIKE = 0.05  # so much more than its own score they are the same, but for rounding and edges
_STEP = 3.0  # degrees


def is_turned(one: Template, other: Template, measure: Measure, angles: Axis) -> bool:
    """Tell whether one template, turned by some of these angles, looks like another that is.

    As far as a disc about the middle shows it: all of that turns within the template.
    """
    small = [_of_size(each) for each in (one, other)]
    shape = small[0].mask.shape
    places = np.indices(shape) - (np.array(shape) - 1)[:, None, None] / 2
    disc = np.hypot(*places) <= min(shape) / 2
    pixels = np.moveaxis(small[0].planes, 0, 2)
    try:
        with silence():
            scorer = measure.prepare(Template.of(pixels, disc & small[0].mask))
    except ValueError:  # nothing is there to tell them apart by
        return True
    # A template that is noisy, or is compared by bins of its image, does not score 0 itself.
    alike = _scores(scorer, small[0], np.zeros(1))[0] + _ALIKE
    return bool((_scores(scorer, small[1], _between(angles)) <= alike).any())


def _scores(scorer: Scorer, template: Template, angles: Values) -> Values:
    """Score a template turned by some angles; NaN where there is no evidence."""
    shape = template.mask.shape
    poses = np.zeros((angles.size, 4))
    poses[:, :2], poses[:, 2] = (np.array(shape) - 1) / 2, angles
    scene = Scene(prepare(template.planes, None, template.mask.size))
    turned, _ = scene.at(0).upright(poses, np.ones(2), (shape[0], shape[1]))
    scores = np.empty((1, turned.shape[1] - shape[1] + 1))
    scorer.fill(scene.image_of(turned, None), scores, 1)
    return scores[0, :: shape[1]]


def _between(angles: Axis) -> Values:
    """Return by how much two of some angles differ, in steps that are fine enough.

    Right angles among them: turned by these even what is fine as noise is just the same.
    """
    grid = angles.grid(_STEP)
    if angles.free:
        return np.append(grid, (0.0, 90.0, 180.0, 270.0))
    return np.unique(np.rint(angles.apart(grid[:, None], grid) / _STEP)) * _STEP


def _of_size(template: Template) -> Template:
    """Make a template so small that fine differences do not count."""
    height, width = template.mask.shape
    factor = max(min(height, width) / _SIDE, 1.0)
    return shrink_template(template, (round(height / factor), round(width / factor)))
