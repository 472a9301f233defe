"""Families of tone curves: what may happen to grey levels between template and image.

A family has ``sample(levels, n, rng)``, which draws n curves and returns their values at the
given levels as an array of shape (n, d_τ). Levels are scaled to [0, 1] by the sensor's range.
"""

import hashlib
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_flag, as_greys, as_integer, as_number, as_range
from .._settings import Settings
from .ranges import scale_levels, sensor_range

Curve = NDArray[np.float64]
Seed = int | np.random.Generator


@runtime_checkable
class Family(Protocol):
    """What can be sampled for tone curves."""

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""


class _Family(Settings):
    _prefix = "tones."


@dataclass(frozen=True, repr=False)
class FromFunction(_Family):
    """Curves from a Python function ``f(levels, rng) -> curve``."""

    function: Callable[[NDArray[np.float64], np.random.Generator], ArrayLike]

    def __post_init__(self) -> None:
        try:
            signature = inspect.signature(self.function)
        except ValueError:  # what is built in may not tell
            return
        try:
            signature.bind(None, None)
        except TypeError as error:
            raise TypeError(
                f"tones is {self.function!r}, which cannot be called as f(levels, rng): {error}"
            ) from None

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rng = np.random.default_rng(rng)
        curves = np.empty((n, len(levels)))
        for curve in curves:
            drawn = as_greys(self.function(levels.copy(), rng), "a curve of tones")
            if drawn.shape != curve.shape:
                raise ValueError(
                    f"a curve of tones has shape {drawn.shape}; over {len(levels)} levels it must "
                    f"have {curve.shape}"
                )
            curve[:] = drawn
        return curves


def as_family(family: Any) -> Family:
    """Take a family, or a function ``f(levels, rng)`` that returns a curve."""
    if isinstance(family, Family) and not isinstance(family, type):
        return family
    if callable(family) and not isinstance(family, type):
        return FromFunction(family)
    raise TypeError(
        f"tones is {family!r}; it must be a family of nuvmatch.tones, or a function "
        "f(levels, rng) that returns a curve"
    )


def draw_curves(family: Any, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
    """Draw curves of anyone's family, and refuse what are none.

    Raises
    ------
    TypeError, ValueError
        If they are not of shape (n, d_τ), or not finite.
    """
    drawn = as_family(family).sample(levels, n, rng)
    curves = as_greys(drawn, "the curves of tones").astype(np.float64)
    if curves.shape != (n, len(levels)):
        raise ValueError(
            f"the family's curves have shape {curves.shape}; {n} over {len(levels)} levels "
            f"must have {(n, len(levels))}"
        )
    if not np.isfinite(curves).all():
        raise ValueError(f"{family} has curves with NaN or infinity; they must be finite")
    return curves


def _log_uniform(
    rng: np.random.Generator, interval: tuple[float, float], n: int
) -> NDArray[np.float64]:
    return np.exp(rng.uniform(math.log(interval[0]), math.log(interval[1]), n))


@dataclass(frozen=True, repr=False)
class Gamma(_Family):
    """``τ^γ``, with γ between `low` and `high`.

    Parameters
    ----------
    low, high : float
        Range of γ, positive. The defaults are the paper's (section 3.5).
    log : bool
        Draw log γ uniformly instead of γ: then 1/γ is as likely as γ.
    """

    low: float = 1.0
    high: float = 10.0
    log: bool = False

    def __post_init__(self) -> None:
        self._set(low=as_number(self.low, "low", np.finfo(float).tiny))
        self._set(high=as_number(self.high, "high", self.low, np.finfo(float).max))
        self._set(log=as_flag(self.log, "log"))

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rng = np.random.default_rng(rng)
        if self.log:
            gammas = _log_uniform(rng, (self.low, self.high), n)
        else:
            gammas = rng.uniform(self.low, self.high, n)
        return np.asarray(np.clip(levels, 0, None) ** gammas[:, np.newaxis])


@dataclass(frozen=True, repr=False)
class Exposure(_Family):
    """``gain * τ + offset``, clipped to [0, 1]: under- and over-exposure.

    Parameters
    ----------
    gain, offset : (float, float)
        Ranges; the gain is drawn log-uniformly.
    """

    gain: tuple[float, float] = (0.5, 3.0)
    offset: tuple[float, float] = (-0.3, 0.3)

    def __post_init__(self) -> None:
        self._set(gain=as_range(self.gain, "gain"))
        self._set(offset=as_range(self.offset, "offset"))
        as_number(self.gain[0], "gain", np.finfo(float).tiny)

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rng = np.random.default_rng(rng)
        gains = _log_uniform(rng, self.gain, n)[:, np.newaxis]
        offsets = rng.uniform(*self.offset, n)[:, np.newaxis]
        return np.asarray(np.clip(gains * levels + offsets, 0, 1))


@dataclass(frozen=True, repr=False)
class Sigmoid(_Family):
    """``1 / (1 + exp(-slope (τ - centre)))``: more or less contrast in the middle tones.

    Parameters
    ----------
    slope, centre : (float, float)
        Ranges; the slope is drawn log-uniformly.
    """

    slope: tuple[float, float] = (2.0, 20.0)
    centre: tuple[float, float] = (0.2, 0.8)

    def __post_init__(self) -> None:
        self._set(slope=as_range(self.slope, "slope"))
        self._set(centre=as_range(self.centre, "centre"))
        as_number(self.slope[0], "slope", np.finfo(float).tiny)

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rng = np.random.default_rng(rng)
        slopes = _log_uniform(rng, self.slope, n)[:, np.newaxis]
        centres = rng.uniform(*self.centre, n)[:, np.newaxis]
        return np.asarray(0.5 * (1 + np.tanh(0.5 * slopes * (np.asarray(levels) - centres))))


@dataclass(frozen=True, repr=False)
class Monotone(_Family):
    """Random increasing curves from 0 to 1: straight between knots, rises Dirichlet.

    Parameters
    ----------
    pieces : int
        Pieces of equal width.
    """

    pieces: int = 8

    def __post_init__(self) -> None:
        self._set(pieces=as_integer(self.pieces, "pieces", 1))

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rises = np.random.default_rng(rng).dirichlet(np.ones(self.pieces), n)
        knots = np.concatenate((np.zeros((n, 1)), np.cumsum(rises, axis=1)), axis=1)
        return np.asarray(np.einsum("nk,kd->nd", knots, hats(levels, self.pieces)))


def hats(levels: NDArray[np.float64], pieces: int) -> NDArray[np.float64]:
    """Weights (pieces + 1, d_τ) that interpolate linearly between equally spaced knots."""
    place = np.clip(np.asarray(levels), 0, 1) * pieces
    return np.maximum(1 - abs(place - np.arange(pieces + 1)[:, np.newaxis]), 0)


@dataclass(frozen=True, repr=False)
class Smooth(_Family):
    """Random smooth curves of any shape, inverted and solarised ones among them.

    Cosine series ``sum_k a_k cos(π k τ)`` with normal a_k of standard deviation
    ``exp(-(π k length)^2 / 4)``: a Gaussian process with squared-exponential covariance.

    Parameters
    ----------
    length : float
        Over which share of the range a curve keeps its course, from 0.01 to 10: beyond 1 all
        are about the same, and beyond 10 none is left.
    """

    length: float = 0.25

    def __post_init__(self) -> None:
        self._set(length=as_number(self.length, "length", 0.01, 10))

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        frequencies = np.pi * np.arange(1, max(2, int(np.ceil(2.5 / self.length))))
        spreads = np.exp(-((frequencies * self.length) ** 2) / 4)
        weights = np.random.default_rng(rng).standard_normal((n, frequencies.size)) * spreads
        waves = np.cos(frequencies[:, np.newaxis] * levels)
        return np.asarray(np.einsum("nk,kd->nd", weights, waves))


@dataclass(frozen=True, repr=False)
class Inverted(_Family):
    """``1 - m(τ)`` for the curves m of another family."""

    family: Family

    def __post_init__(self) -> None:
        self._set(family=as_family(self.family))

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        return np.asarray(1 - self.family.sample(levels, n, rng))


@dataclass(frozen=True, repr=False)
class Mixture(_Family):
    """Curves of several families.

    Parameters
    ----------
    families : sequence of Family
        At least one.
    weights : sequence of float, optional
        How likely each is, in proportion; None: equally.
    """

    families: Sequence[Family]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.families, Iterable):
            raise TypeError(f"families is {self.families}; it must be a sequence of families")
        self._set(families=tuple(map(as_family, self.families)))
        if not self.families:
            raise ValueError("families is empty; a mixture is of at least one")
        if self.weights is None:
            return
        if not isinstance(self.weights, Iterable):
            raise TypeError(f"weights is {self.weights}; it must be a sequence of numbers")
        self._set(weights=tuple(self.weights))
        if len(self.weights) != len(self.families):
            raise ValueError(
                f"weights are {len(self.weights)} for {len(self.families)} families; they must "
                "be as many"
            )
        most = np.finfo(float).max
        self._set(weights=tuple(as_number(one, "weights", 0, most) for one in self.weights))
        if not sum(self.weights) > 0:
            raise ValueError("weights are all 0; some family must be possible")

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rng = np.random.default_rng(rng)
        weights = np.ones(len(self.families)) if self.weights is None else np.array(self.weights)
        weights = weights / weights.max()  # no sum overflows
        # Shares as exact as n allows, so that no family is missed by chance.
        ends = np.rint(n * np.cumsum(weights) / weights.sum()).astype(int)
        curves = np.empty((n, len(levels)))
        for family, start, end in zip(self.families, [0, *ends[:-1]], ends, strict=True):
            if end > start:
                curves[start:end] = draw_curves(family, levels, end - start, rng)
        return curves


@dataclass(frozen=True, repr=False)
class Gaussian(_Family):
    """Normal curves with a given mean and covariance over the levels.

    Parameters
    ----------
    mean : array_like of shape (d_τ,)
    covariance : array_like of shape (d_τ, d_τ)
        Symmetric, positive semi-definite.
    """

    mean: ArrayLike
    covariance: ArrayLike
    _root: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        covariance = as_greys(self.covariance, "covariance").astype(np.float64)
        size = np.size(self.mean)
        if covariance.shape != (size, size) or np.ndim(self.mean) != 1 or size == 0:
            raise ValueError(
                f"mean has shape {np.shape(self.mean)}, covariance {covariance.shape}; they must "
                "be (d,) and (d, d), and not empty"
            )
        for given, name in ((covariance, "covariance"), (self.mean, "mean")):
            if not np.isfinite(as_greys(given, name)).all():
                raise ValueError(f"{name} holds NaN or infinity; it must be finite")
        asymmetry = abs(covariance - covariance.T).max()
        if asymmetry > 1e-9 * abs(covariance).max():
            raise ValueError(
                f"covariance is not symmetric: it differs from its transpose by {asymmetry:g}"
            )
        eigenvalues, vectors = np.linalg.eigh(covariance)
        if eigenvalues[0] < -1e-9 * max(abs(eigenvalues[-1]), 1e-300):
            raise ValueError(
                f"covariance has the negative eigenvalue {eigenvalues[0]:g}; it must be "
                "positive semi-definite"
            )
        mean = as_greys(self.mean, "mean").astype(np.float64)
        self._set(mean=tuple(mean.tolist()), covariance=tuple(map(tuple, covariance.tolist())))
        self._set(_root=vectors * np.sqrt(np.maximum(eigenvalues, 0)))

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        mean = np.asarray(self.mean, np.float64)
        if mean.size != len(levels):
            raise ValueError(
                f"this family is over {mean.size} levels; {len(levels)} were asked for"
            )
        normal = np.random.default_rng(rng).standard_normal((n, mean.size))
        return np.asarray(mean + normal @ self._root.T)


@dataclass(frozen=True, repr=False)
class Spherical(_Family):
    """``τ`` plus independent normal deviations of each level (paper, Proposition 4).

    Parameters
    ----------
    sigma : float
        Standard deviation.
    """

    sigma: float

    def __post_init__(self) -> None:
        self._set(sigma=as_number(self.sigma, "sigma", 0, np.finfo(float).max))

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rng = np.random.default_rng(rng)
        return np.asarray(levels + self.sigma * rng.standard_normal((n, len(levels))))


class FromPairs:
    """Curves learnt from aligned pairs of images: how the second shows the first's greys.

    A pair's curve is the mean grey of the second image over the pixels of each level of
    the first, straight between levels that occur. Each sampled curve is that of a pair
    drawn at random, learnt from half of its pixels, so that a single pair varies too.

    Parameters
    ----------
    pairs : sequence of (array_like, array_like)
        Images of equal shapes within a pair.
    value_range : (float, float), optional
        Greys of the first images that are the levels 0 and 1. None: the range of 8 bits;
        of uint16 those of the 8, 10, 12, 14 or 16 bits that an image needs; floats inside
        [0, 1] as they are; else the lowest and highest of an image.
    levels : int
        How many levels of the first image are told apart.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[ArrayLike, ArrayLike]],
        *,
        value_range: tuple[float, float] | None = None,
        levels: int = 64,
    ) -> None:
        if value_range is not None:
            value_range = as_range(value_range, "value_range")
        if len(pairs) == 0:
            raise ValueError("pairs is empty; there must be at least one pair of images")
        self._levels = as_integer(levels, "levels", 2)
        self._pairs = []
        for i, pair in enumerate(pairs):
            try:
                first, second = pair
            except (TypeError, ValueError):
                raise TypeError(
                    f"pairs[{i}] is no pair of images; pairs is a sequence of (first, second)"
                ) from None
            source, target = as_greys(first, f"pairs[{i}][0]"), as_greys(second, f"pairs[{i}][1]")
            if source.shape != target.shape or source.size == 0:
                raise ValueError(
                    f"pairs[{i}] has shapes {source.shape} and {target.shape}; they must be equal, "
                    "and not empty"
                )
            good = np.isfinite(source) & np.isfinite(target)
            if not good.any():
                raise ValueError(f"pairs[{i}] has no pixel that is finite in both images")
            greys, shown = source[good].astype(np.float64), target[good].astype(np.float64)
            scaled = scale_levels(greys, sensor_range(greys, source.dtype, value_range))
            place = np.clip(np.rint(scaled * (self._levels - 1)), 0, self._levels - 1)
            self._pairs.append((place.astype(np.int64), shown))

    def __str__(self) -> str:
        told = hashlib.blake2b(b"".join(self._content), digest_size=4).hexdigest()
        return f"tones.FromPairs(<{len(self._pairs)} pairs, {told}>)"

    def __repr__(self) -> str:
        """Write what is kept of the images: a level and a grey for each pixel."""
        pairs = tuple((place.tolist(), target.tolist()) for place, target in self._pairs)
        return (
            f"tones.FromPairs({pairs!r}, value_range=(0.0, {self._levels - 1.0}), "
            f"levels={self._levels})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromPairs) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[bytes, ...]:
        pixels = (place.tobytes() + target.tobytes() for place, target in self._pairs)
        return str(self._levels).encode(), *pixels

    def sample(self, levels: NDArray[np.float64], n: int, rng: Seed) -> Curve:
        """Draw n curves and return their values at the levels, shape (n, d_τ)."""
        rng = np.random.default_rng(rng)
        curves = np.empty((n, len(levels)))
        for curve in curves:
            place, target = self._pairs[rng.integers(len(self._pairs))]
            half = rng.random(place.size) < 0.5
            if not half.any():  # of few pixels
                half[:] = True
            counts = np.bincount(place[half], minlength=self._levels)
            sums = np.bincount(place[half], target[half], minlength=self._levels)
            occurs = np.flatnonzero(counts)
            known = occurs / (self._levels - 1)
            curve[:] = np.interp(levels, known, sums[occurs] / counts[occurs])
        return curves


BROAD = Mixture((Gamma(0.25, 4.0, log=True), Monotone(8), Smooth(0.25)))
"""What to expect when nothing is known: gammas either way, any rise, any smooth shape.

On twelve photographs, over eight changes of tones and three levels of noise, bins for this
mixture find the template about as often as for any other family tried, and a little more
often than k-means, at 5 and at 8 bins (`python -m benchmarks.families`).
"""


NAMED: dict[str, Family] = {
    "broad": BROAD,
    "gamma": Gamma(0.25, 4.0, log=True),
    "exposure": Exposure(),
    "sigmoid": Sigmoid(),
    "monotone": Monotone(),
    "smooth": Smooth(),
}
