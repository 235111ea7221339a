"""Von Mises: an angle around a mean direction, the normal distribution of the circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.bessel import log_i0e
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.log_sums import NODES, WEIGHTS
from probdiff.distributions.support import Interval, Nonnegative, Real
from probdiff.special import logsumexp
from probdiff.tree import Array

DEPTH = 40.0
LOG_2PI = math.log(2 * math.pi)
BOUNDS = np.array([0.0, 1 / 16, 1 / 4, 1 / 2, 1.0])  # panels of the integral, as shares of its length
_HALF = 0.5 * np.diff(BOUNDS)[:, None]
SHARES = (BOUNDS[:-1, None] + _HALF * (NODES + 1)).ravel()
LOG_SHARES = np.log(_HALF * WEIGHTS).ravel()


@dataclass(frozen=True, repr=False)
class Circle(Interval):
    """All angles, with the turn that an unknown one is counted in."""

    def contains(self, x: Array) -> Array:
        return abs(x) < math.inf


class VonMises(Continuous):
    """p(x) = exp(concentration cos(x - loc)) / (2π I_0(concentration)),  x in radians.

    loc            real         mean direction
    concentration  nonnegative  1 / variance when large; 0 is uniform

    The density takes any angle. Draws, quantiles and unknown angles of a model are between loc - π and loc + π, where
    the distribution function goes from 0 to 1. Mardia & Jupp, Directional Statistics, section 3.5.4.
    """

    loc: Real = 0.0
    concentration: Nonnegative = 1.0

    @property
    def support(self) -> Circle:
        return Circle("interval", "an angle", self.loc - math.pi, self.loc + math.pi, True, True)

    def logpdf(self, x: Array) -> Array:
        chord = np.sin(0.5 * (x - self.loc))
        return -2 * self.concentration * chord * chord - LOG_2PI - log_i0e(self.concentration)

    def logcdf(self, x: Array) -> Array:
        return self._log_below(x - self.loc)

    def logccdf(self, x: Array) -> Array:
        return self._log_below(self.loc - x)

    def _log_below(self, z: Array) -> Array:
        """log P(X - loc <= z)."""
        k = self.concentration
        tail = log_far_arc(np.minimum(abs(z), math.pi), k) - LOG_2PI - log_i0e(k)
        return np.where(z < 0, tail, np.log1p(-np.exp(tail)))

    def mean(self) -> Array:
        return self.loc

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def exponential_form(self) -> ExponentialForm:
        k = self.concentration
        return ExponentialForm(
            lambda x: (np.cos(x), np.sin(x)), (k * np.cos(self.loc), k * np.sin(self.loc)), log_i0e(k) + k
        )

    @classmethod
    def start_statistics(cls, *means: Array) -> dict[str, Any]:
        cosine, sine = means
        return {"loc": np.arctan2(sine, cosine)}

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        angle = rng.vonmises(0.0, self.concentration, shape)
        angle += self.loc
        return angle


def log_far_arc(a: Array, k: Array) -> Array:
    """log ∫ exp(k (cos t - 1)) dt over a < t < π, for 0 <= a <= π.

    At the distance s beyond a the exponent is less by 2 k sin(a + s / 2) sin(s / 2), and the integral ends where that
    is DEPTH, or at π.
    """
    rest = math.pi - a
    drop = DEPTH / np.maximum(k, 1e-300)
    # Where the cosine has fallen by `drop`; for small drops, which the inverse sine cannot resolve, by Taylor's series.
    square = np.sin(a) ** 2 + 2 * drop * np.cos(a)
    short = 2 * drop / (np.sin(a) + np.sqrt(np.maximum(square, 1e-300)))
    half_sine = np.cos(0.5 * a) ** 2 - 0.5 * drop
    long = rest - 2 * np.arcsin(np.sqrt(np.maximum(half_sine, 1e-300)))
    end = np.where(
        drop < 1e-3, np.where(square > 0, np.minimum(short, rest), rest), np.where(half_sine > 0, long, rest)
    )
    shares, weights = (np.reshape(v, (-1,) + (1,) * np.ndim(end)) for v in (SHARES, LOG_SHARES))
    half = 0.5 * end * shares
    chord = np.sin(0.5 * a)
    total = logsumexp(weights - 2 * k * np.sin(a + half) * np.sin(half), axis=0)
    return total + np.log(end) - 2 * k * chord * chord
