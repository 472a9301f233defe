"""What "auto" orders places by: its scores alone are 1 wherever chance shows 40 as good ones."""

import math
from dataclasses import dataclass

import numpy as np

from nuvmatch import Auto, Matcher
from nuvmatch.finding import Chance
from nuvmatch.measures.bands import Bands
from nuvmatch.measures.base import Scorer
from nuvmatch.measures.panel import SHARE


class AutoMap:
    """Makes maps of the logarithms; keeps the last, and what chance shows in it."""

    def __call__(self, image, template):
        matcher = Matcher(template, AutoLogs(), dtype=np.float64, n_threads=1)
        self.scores = matcher.score_map(image, fill_value=math.inf)
        self.chance = matcher._scorer.chance
        return self.scores


@dataclass(frozen=True)
class AutoLogs:
    """`Auto`, but maps are the logarithms that its measures are joined to."""

    def prepare(self, template):
        return LogScorer(Auto().prepare(template).panel)


class LogScorer(Scorer):
    """Fills maps, and keeps of the last one what chance shows in it."""

    def __init__(self, panel):
        self.panel = panel
        self.chance = None

    def fill(self, image, out, n_threads):
        bands = Bands(self.panel.scorers, image, self.panel.shape, np.dtype(np.float32), n_threads)
        null = self.panel.learn([bands], SHARE)
        joined = self.panel.map_by(null, bands)
        self.chance = Chance(null, joined.windows)
        for first, band in joined:
            out[first : first + len(band)] = band
