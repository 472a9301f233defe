"""Whether one template is another turned, nearly: then it is no decoy of it."""

from __future__ import annotations

import numpy as np

from .._checks import silence
from ..engine import prepare
from ..measures import Measure
from ..measures.template import Template
from .poses import Axis, Values
from .pyramid import Scene, shrink_template

_SIDE = 24  # pixels that both are looked at in
_ALIKE = 0.05  # score up to which they are the same but for rounding and edges
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
    turns = _between(angles)
    poses = np.zeros((turns.size, 4))
    poses[:, :2], poses[:, 2] = (np.array(shape) - 1) / 2, turns
    scene = Scene(prepare(small[1].planes, None, disc.size))
    turned, _ = scene.at(0).upright(poses, np.ones(2), (shape[0], shape[1]))
    scores = np.empty((1, turned.shape[1] - shape[1] + 1))
    scorer.fill(scene.image_of(turned, None), scores, 1)
    own = scores[0, :: shape[1]]
    return bool((own[~np.isnan(own)] <= _ALIKE).any())


def _between(angles: Axis) -> Values:
    """Return by how much two of some angles differ, in steps that are fine enough."""
    grid = angles.grid(_STEP)
    if angles.free:
        return grid
    return np.unique(np.rint(angles.apart(grid[:, None], grid) / _STEP)) * _STEP


def _of_size(template: Template) -> Template:
    """Make a template so small that fine differences do not count."""
    height, width = template.mask.shape
    factor = max(min(height, width) / _SIDE, 1.0)
    return shrink_template(template, (round(height / factor), round(width / factor)))
