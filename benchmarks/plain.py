"""The plain loop that mutual information is usually computed with: an opponent."""

import numba
import numpy as np


def joint_histogram_map(image, labels, bins):
    """Return 1 - I / H(template) of every window from a histogram filled pixel by pixel."""
    n_log_n = np.arange(labels.size + 1.0)
    n_log_n[1:] *= np.log(n_log_n[1:])
    cells = image.astype(np.int64) * bins // 256
    return _fill(cells, labels, labels.max() + 1, bins, n_log_n)


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _fill(cells, labels, label_bins, bins, n_log_n):
    height, width = labels.shape
    rows, columns = cells.shape[0] - height + 1, cells.shape[1] - width + 1
    of_template = 0.0
    for k in range(label_bins):
        of_template += n_log_n[(labels == k).sum()]
    everything = n_log_n[-1]
    out = np.empty((rows, columns), np.float32)
    for row in numba.prange(rows):
        joint = np.empty((bins, label_bins), np.int64)
        for column in range(columns):
            joint[:] = 0
            for y in range(height):
                for x in range(width):
                    joint[cells[row + y, column + x], labels[y, x]] += 1
            both = of_image = 0.0
            for i in range(bins):
                count = 0
                for k in range(label_bins):
                    both += n_log_n[joint[i, k]]
                    count += joint[i, k]
                of_image += n_log_n[count]
            information = both - of_image - of_template + everything
            out[row, column] = 1 - information / (everything - of_template)
    return out
