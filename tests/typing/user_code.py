"""Code as users write it, for type checkers: they read it, nobody runs it."""

from typing import Any, assert_type

import numpy as np
import PIL.Image
from numpy.typing import NDArray

import nuvmatch
from nuvmatch import (
    MI,
    NUV,
    Auto,
    Lowest,
    Match,
    Matcher,
    Matches,
    Null,
    Search,
    ToneCurve,
    WindowToPattern,
    compat,
    find_peaks,
    locate,
    match_template,
    score,
    score_map,
    tones,
)
from nuvmatch.engine import Image
from nuvmatch.io import read_image
from nuvmatch.measures import Scorer, Template

scene = read_image("scene.png")
template = np.zeros((9, 9), np.uint8)

found = locate(scene, template, "auto", false_alarms=0.01)
assert_type(found, Matches)
best = found[0]
assert_type(best, Match)
assert_type(best.row, int)
assert_type(best.score, float)
assert_type(best.center, tuple[float, float])
assert_type(best.box, tuple[int, int, int, int])
assert_type(best.tone_curves, tuple[ToneCurve, ...])
for match in found:
    assert_type(match, Match)
assert_type(found[1:], Matches)

scores = score_map(scene, [[0, 1], [2, 3]], NUV(bins=16, tones=tones.Gamma(1, 3)))
assert_type(scores, NDArray[np.float32 | np.float64])
peaks = find_peaks(scores, (2, 2), threshold=0.5)
assert_type(peaks, Matches)
assert_type(match_template(scene, template, pad_input=True), NDArray[np.float32 | np.float64])
assert_type(score(template, template), float)

matcher = Matcher(template, Lowest(NUV(), WindowToPattern(bins=16)), mask=template > 0)
null = matcher.calibrate(scene, scene)
assert_type(null, Null)
matcher.locate(scene, null=null, region=best.region_around(20), subpixel="precise")
matcher.score_map(scene, fill_value=float("nan"), out=np.empty((3, 3), np.float32))

search = Search({"one": template, "other": scene[:5, :5]}, MI(bins=16), angles="all")
assert_type(search.locate(scene, max_per_name=1, progress=True), Matches)
Search([template], Auto("ncc2", "mi")).locate(scene, progress=lambda done, parts: None)


class Difference:
    """A measure of one's own."""

    def prepare(self, template: Template) -> Scorer:
        return DifferenceScorer(template)


class DifferenceScorer(Scorer):
    def __init__(self, template: Template) -> None:
        self.greys = template.greys

    def fill(self, image: Image, out: NDArray[Any], n_threads: int) -> None:
        out[:] = float(np.abs(image.planes.astype(float) - self.greys.mean()).mean())


locate(scene, template, Difference())
nuvmatch.evaluation.compare([(scene, tones.Gamma(1, 3))], ["nuv", Difference()])
trial = nuvmatch.evaluation.PresenceTrial(scene, template, [(3, 4)])
nuvmatch.evaluation.check_presence([trial], {"mine": Difference()}, nominal=[1])

screen = PIL.Image.open("screen.png")
assert_type(compat.locate_on(screen, "icon.png", measure="nuv").center, tuple[int, int])
compat.locate_all_on(screen, screen.crop((3, 3, 9, 9)), confidence=0.9)
compat.matchTemplate(screen, template, compat.TM_NUV, mask=screen)
compat.match_template(screen, screen, measure="ncc")
compat.locate_on(screen, best)  # wrong: no picture

locate(scene, template, "nvu")  # wrong: no such measure
locate(scene, template, threshold="0.5")  # wrong: no number
NUV(bons=16)  # wrong: no such option
best.colum  # noqa: B018  # wrong: no such attribute
