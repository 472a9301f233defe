"""Tones answer: which tone curves are expected.

They know curves over levels, and nothing of images.
"""

from .cross_product import cross_product
from .families import (
    BROAD,
    Exposure,
    Family,
    FromFunction,
    FromPairs,
    Gamma,
    Gaussian,
    Inverted,
    Mixture,
    Monotone,
    Sigmoid,
    Smooth,
    Spherical,
)

__all__ = [
    "BROAD",
    "Exposure",
    "Family",
    "FromFunction",
    "FromPairs",
    "Gamma",
    "Gaussian",
    "Inverted",
    "Mixture",
    "Monotone",
    "Sigmoid",
    "Smooth",
    "Spherical",
    "cross_product",
]
