"""A measure of one's own
======================

Alone and beside another; and the peaks of a map from anywhere.

    python samples/own_measure.py
"""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import nuvmatch
from nuvmatch.io import read_image

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class MeanDifference:
    """Mean absolute difference of 8-bit greys, in [0, 1]."""

    def prepare(self, template):
        return MeanDifferenceScorer(template.planes.astype(np.float32), template.mask)


@dataclass
class MeanDifferenceScorer:
    greys: np.ndarray  # (channels, h, w)
    mask: np.ndarray  # (h, w): which of them count

    def fill(self, image, out, n_threads):
        for row, scores in enumerate(out):
            part = np.s_[..., row : row + len(self.mask), :]
            good = True if image.bad is None else ~image.bad[part]
            strip = np.where(good, image.planes[part], np.nan)  # NaN: no evidence
            windows = sliding_window_view(strip, self.mask.shape, axis=(1, 2))[:, 0]
            differences = abs(windows - self.greys[:, None])[..., self.mask]
            scores[:] = differences.mean(axis=(0, 2)) / 255


def main():
    template = read_image(HERE / "templates" / "camera.png")
    photo = read_image(HERE / "photos" / "camera.png")
    solarised = read_image(HERE / "scenes" / "camera_solarised.png")
    both, part = nuvmatch.Lowest(MeanDifference(), "nuv"), (100, 200, 150, 200)
    similarity = cv2.matchTemplate(photo, template, cv2.TM_CCOEFF_NORMED)
    found = {
        "by a measure of one's own": nuvmatch.locate(
            photo, template, MeanDifference(), region=part
        ),
        "by that or nuv, solarised": nuvmatch.locate(solarised, template, both, region=part),
        "in OpenCV's map": nuvmatch.find_peaks(1 - similarity, template.shape),
    }
    for way, (best, *_) in found.items():
        print(f"{way:26} row {best.row}, column {best.col}, score {best.score:.4f}")


if __name__ == "__main__":
    main()
