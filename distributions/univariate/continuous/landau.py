"""Landau: the energy that a fast particle loses in a thin layer."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from probdiff.distributions.base import Continuous
from probdiff.distributions.heavy_tails import tabled_guess
from probdiff.distributions.log_sums import log_integral, near_maximum
from probdiff.distributions.support import Positive, Real, real
from probdiff.special import log1mexp
from probdiff.tree import Array

FAR = 45.0  # beyond, the integral over t ends at t < 1, short of exp(-FAR) of the whole
MODE = -0.2227829812564085


class Landau(Continuous):
    """p(x) = 1 / (π scale) ∫ exp(-t log t - z t) sin(π t) dt over t > 0,  z = (x - loc) / scale.

    loc    real      the mode is loc - 0.2228 scale, the median loc + 1.3558 scale
    scale  positive

    The stable law of index 1 and skewness 1: P(X > x) falls like scale / x, and there is no moment. Z is
    log W(φ) - log E, with E exponential and φ uniform in (0, π), W = φ / sin φ exp(-φ cot φ): a mixture of Gumbel laws
    whose integrals over φ do not cancel. Landau, On the energy loss of fast particles by ionization, J. Phys. USSR 8
    (1944); Chambers, Mallows & Stuck, A method for simulating stable random variables, JASA 71 (1976). SciPy's takes
    π / 2 scale for scale, and log(π / 2) scale less for loc.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real
    costly = True
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        near = log_near(density_height, np.minimum(z, FAR))
        far = log_integral(far_density_height, np.log(np.maximum(z, FAR)))
        return np.where(z < FAR, near, far) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def guess(self, lower: Array, lp: Array) -> Array | None:
        # Far below, P(X <= x) is exp(-t) / sqrt(2 π t), t = exp(-1 - z), by Laplace's method.
        far, t = lower & (lp < -6), np.maximum(-lp, 6.0)
        for _ in range(3):
            t = np.maximum(-lp, 6.0) - 0.5 * np.log(2 * math.pi * t)
        table = tabled_guess(self, lower, lp)
        return None if table is None else np.where(far, self.loc - self.scale * (1 + np.log(t)), table)

    def mean(self) -> Array:
        return math.inf

    def var(self) -> Array:
        return math.inf

    def skewness(self) -> Array:
        return math.nan

    def kurtosis(self) -> Array:
        return math.nan

    def mode(self) -> Array:
        return self.loc + MODE * self.scale

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        share = np.maximum(rng.random(shape), 2.0**-54)
        return self.loc + self.scale * (
            log_w(np.log(share) - np.log1p(-share)) - np.log(rng.standard_exponential(shape))
        )

    def _tails(self, x: Array) -> tuple[Array, Array]:
        z = (x - self.loc) / self.scale
        lower = log_near(lower_height, np.minimum(z, 1.0))
        inner = np.clip(z, 1.0, FAR)
        # By parts; at φ = 0, where log W = -1, there is what no W exceeds.
        middle = np.logaddexp(log_near(upper_height, inner), np.log(-np.expm1(-np.exp(-1 - inner))))
        upper = np.where(z < FAR, middle, log_integral(far_tail_height, np.log(np.maximum(z, FAR))))
        return np.where(z < 1, lower, log1mexp(upper)), np.where(z < 1, log1mexp(lower), upper)


def log_near(height: Any, z: Array) -> Array:
    return log_integral(height, z, peak=top(height), knees=bend)


@functools.cache
def top(height: Any) -> Any:
    """Where a height is largest, as a function of z."""

    def place(z: Any) -> Any:
        return near_maximum(lambda u: height(u, z), 0.5 * np.minimum(z, 0.0) - 4, np.log(np.maximum(z, 0.0) + 4) + 0.5)

    return place


def angles(u: Array) -> tuple[Array, Array, Array]:
    """φ, sin φ and cot φ, for log [φ / (π - φ)] = u."""
    phi, rest = math.pi * expit(u), math.pi * expit(-u)
    smaller = np.minimum(phi, rest)
    sine = np.sin(smaller)
    return phi, sine, np.where(u < 0, 1.0, -1.0) * np.cos(smaller) / sine


def log_w(u: Array) -> Array:
    phi, sine, cotangent = angles(u)
    return np.log(phi / sine) - phi * cotangent


def log_slope(u: Array) -> Array:
    """log of d log W / dφ."""
    phi, _, cotangent = angles(u)
    return 2 * np.log(np.hypot(1 - phi * cotangent, phi)) - np.log(phi)


def log_step(u: Array) -> Array:
    """log of dφ / du / π."""
    return log_expit(u) + log_expit(-u)


def density_height(u: Array, z: Array) -> Array:
    v = log_w(u) - z
    return v - np.exp(v) + log_step(u)


def lower_height(u: Array, z: Array) -> Array:
    return log_step(u) - np.exp(log_w(u) - z)


def upper_height(u: Array, z: Array) -> Array:
    """P(X > x), integrated by parts: (π - φ) d log W / dφ times the density of log W + Gumbel noise."""
    return density_height(u, z) + math.log(math.pi) + log_expit(-u) + log_slope(u)


def bend(z: Array) -> tuple[Array, Array]:
    """Where the integrand falls, past log W = z, and over what width; of plain numbers."""
    level = np.maximum(z + 1, 0.5)
    u = np.log(level + 3)
    for _ in range(6):
        rise = np.exp(log_slope(u) + log_expit(-u)) * math.pi * expit(u)
        u = u - (log_w(u) - level) / rise
    return u, 0.5 / rise


def far_density_height(u: Array, log_z: Array) -> Array:
    """exp(u) is t z."""
    return u + far_tail_height(u, log_z) - log_z


def far_tail_height(u: Array, log_z: Array) -> Array:
    t = np.exp(u - log_z)
    return np.log(np.sin(math.pi * t) / math.pi) - np.exp(u) - t * (u - log_z)
