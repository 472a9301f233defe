"""Random templates and distortions after the protocol of the paper's section 4.1."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A template, what may happen to it, and one window of either kind."""

    template: np.ndarray  # (d,), in [0, 1]
    cross: np.ndarray  # (d_τ, d_τ): E m mᵀ of the distorted levels m
    told: np.ndarray  # (d_τ, d_τ): what binners are told of it
    sigma_m: float | None  # of each level, where they are disturbed independently
    sigma: float  # of the noise
    distorted: np.ndarray  # (d,): a window that shows the template
    noise: np.ndarray  # (d,): a window that does not


def random_template(rng, decimals):
    d = int(rng.integers(100, 1000))
    match rng.integers(3):
        case 0:
            values = rng.standard_normal(d)
        case 1:
            values = rng.random(d)
        case _:
            values = rng.standard_normal(d) + 2 * rng.integers(0, 2, d)
    values = (values - values.min()) / np.ptp(values)
    exponent = float(rng.integers(1, 4))
    values **= exponent if rng.random() < 0.5 else 1 / exponent
    return values if decimals is None else np.round(values, decimals)


def general_case(rng, *, printed_order=False, printed_cross=False):
    """Any covariance, any mean: as the reference code runs it, or in part as printed.

    The eigenvectors W of a random matrix make the covariance; the paper has W Λ Wᵀ, the
    code Wᵀ Λ W. Of a mean μ the paper's cross-product has ττᵀ instead, the code μμᵀ.
    """
    template = random_template(rng, 3)
    levels = np.unique(template)
    square = rng.random((levels.size, levels.size))
    eigenvalues, vectors = np.linalg.eigh((square + square.T) / 2)
    eigenvalues = np.maximum(eigenvalues, 0.01) * rng.uniform(0.1, 2) ** 2
    axes = vectors if printed_order else vectors.T
    covariance = (axes * eigenvalues) @ axes.T
    mean = rng.standard_normal(levels.size)
    curve = mean + (axes * np.sqrt(eigenvalues)) @ rng.standard_normal(levels.size)
    cross = covariance + np.outer(mean, mean)
    told = covariance + np.outer(levels, levels) if printed_cross else cross
    return make_case(rng, template, cross, told, None, curve)


def spherical_case(rng):
    """Levels scatter about the template independently."""
    template = random_template(rng, None)
    levels = np.unique(template)
    sigma_m = rng.uniform(0.1, 2)
    cross = sigma_m**2 * np.eye(levels.size) + np.outer(levels, levels)
    curve = levels + sigma_m * rng.standard_normal(levels.size)
    return make_case(rng, template, cross, cross, sigma_m, curve)


def make_case(rng, template, cross, told, sigma_m, curve):
    sigma = rng.uniform(0.1, 2)
    index = np.unique(template, return_inverse=True)[1]
    distorted = curve[index] + sigma * rng.standard_normal(template.size)
    noise = sigma * rng.standard_normal(template.size)
    return Case(template, cross, told, sigma_m, sigma, distorted, noise)
