"""Statistics that no library has."""

import numpy as np
import scipy.stats


def sign_flip(differences):
    """Exact two-sided p-value of a sum of whole differences, each as likely with the other sign.

    Of differences of single hits this is McNemar's exact test.
    """
    sizes, counts = np.unique(np.abs(differences).astype(int), return_counts=True)
    total, observed = int((sizes * counts).sum()), abs(int(np.sum(differences)))
    if observed == 0:
        return 1.0
    law = np.ones(1)  # of the sum of the positive ones, as binomial numbers of each size make it
    for size, count in zip(sizes, counts, strict=True):
        if size:
            of_size = np.zeros(size * count + 1)
            of_size[::size] = scipy.stats.binom.pmf(np.arange(count + 1), count, 0.5)
            law = np.convolve(law, of_size)
    return float(2 * law[(total + observed) // 2 :].sum())
