"""Bases of tone curves over the slices of a template, for models that fit a few curves.

A curve has one value for each slice. With n_k pixels in slice k, the curves u_i of a basis are
orthonormal on the template, and beside the constant: ``sum_k n_k u_ik = 0`` and
``sum_k n_k u_ik u_jk = 1 if i = j else 0``. What a curve explains of a window is then
``(sum_k u_ik s_k)^2``, s being the slice sums.
"""

import numpy as np
from numpy.typing import NDArray

from ..binning import Curves

# Curves that others make up but for this share of their length add nothing.
_NEGLIGIBLE = 1e-9

Basis = NDArray[np.float64]  # (curves, slices)


def orthonormal(curves: NDArray[np.float64], counts: NDArray[np.int64]) -> Basis:
    """Make curves (n, slices) orthonormal, in their order; those that add nothing are dropped."""
    roots = np.sqrt(counts / counts.sum())
    weighted = (curves - (curves @ roots**2)[:, None]) * roots
    lengths = np.sqrt((weighted**2).sum(axis=1))
    found: list[NDArray[np.float64]] = []
    for curve, length in zip(weighted, lengths, strict=True):
        rest = curve.copy()
        for _ in range(2):  # the second time for the digits that the first has lost
            for other in found:
                rest -= (rest @ other) * other
        left = float(np.sqrt(rest @ rest))
        if left > _NEGLIGIBLE * max(length, 1e-300):
            found.append(rest / left)
    basis = np.array(found).reshape(-1, counts.size)
    return np.asarray(basis / np.sqrt(counts))


def piecewise_linear(
    levels: NDArray[np.float64], counts: NDArray[np.int64], knots: NDArray[np.float64]
) -> Basis:
    """Take what is straight between knots, and continuous."""
    knots = np.unique(knots)
    hats = np.stack([np.interp(levels, knots, one) for one in np.eye(knots.size)])
    return orthonormal(hats, counts)


def principal(
    curves: Curves, slices: NDArray[np.int64], level_counts: NDArray[np.int64]
) -> tuple[Basis, NDArray[np.float64]]:
    """Find the principal curves of a family, by falling share of what they explain.

    Of all bases they explain most of the family's curves on average (Ky Fan).

    Parameters
    ----------
    curves : Curves
        Sampled over the levels of the template.
    slices : ndarray of shape (d_τ,)
        The slice of each level, ascending from 0.
    level_counts : ndarray of shape (d_τ,)

    Returns
    -------
    basis : ndarray of shape (n, slices)
    shares : ndarray of shape (n,)
        Of the family's variance on the slices; they add up to 1.
    """
    firsts = np.flatnonzero(np.diff(slices, prepend=-1))
    counts = np.add.reduceat(level_counts, firsts)
    means = np.add.reduceat(curves.samples * level_counts, firsts, axis=1) / counts
    roots = np.sqrt(counts)
    weighted = (means - (means @ counts / counts.sum())[:, None]) * roots
    weighted /= float(abs(weighted).max()) or 1.0  # so that no square leaves the float range
    _, lengths, vectors = np.linalg.svd(weighted, full_matrices=False)
    kept = lengths > _NEGLIGIBLE * max(float(lengths[0]), 1e-300)
    shares = lengths[kept] ** 2 / (lengths[kept] ** 2).sum()
    return np.asarray(vectors[kept] / roots), shares
