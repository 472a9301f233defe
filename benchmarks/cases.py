"""Random templates and distortions after the protocol of the paper's section 4.1."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A template, what may happen to it, and one window of either kind."""

    template: np.ndarray  # (d,), in [0, 1]
    mean: np.ndarray  # (d_τ,) of the distorted levels
    covariance: np.ndarray  # (d_τ, d_τ)
    sigma: float  # of the noise
    distorted: np.ndarray  # (d,): a window that shows the template
    noise: np.ndarray  # (d,): a window that does not

    @property
    def cross(self):
        return self.covariance + np.outer(self.mean, self.mean)


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


def general_case(rng):
    """Any covariance, any mean, as the reference code runs it (its order transposed)."""
    template = random_template(rng, 3)
    levels, index = np.unique(template, return_inverse=True)
    square = rng.random((levels.size, levels.size))
    eigenvalues, vectors = np.linalg.eigh((square + square.T) / 2)
    eigenvalues = np.maximum(eigenvalues, 0.01) * rng.uniform(0.1, 2) ** 2
    covariance = (vectors.T * eigenvalues) @ vectors
    mean = rng.standard_normal(levels.size)
    root = vectors.T * np.sqrt(eigenvalues)
    return make_case(rng, template, index, mean, covariance, root)


def spherical_case(rng):
    """Levels scatter about the template independently."""
    template = random_template(rng, None)
    levels, index = np.unique(template, return_inverse=True)
    sigma_m = rng.uniform(0.1, 2)
    identity = np.eye(levels.size)
    return make_case(rng, template, index, levels, sigma_m**2 * identity, sigma_m * identity)


def make_case(rng, template, index, mean, covariance, root):
    sigma = rng.uniform(0.1, 2)
    curve = mean + root @ rng.standard_normal(mean.size)
    distorted = curve[index] + sigma * rng.standard_normal(template.size)
    noise = sigma * rng.standard_normal(template.size)
    return Case(template, mean, covariance, sigma, distorted, noise)
