"""Generalised hyperbolic: a normal variable whose variance is generalised inverse Gaussian, for returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.gig_integrals import center, draw_log, height, log_bessel, log_mass
from probdiff.distributions.log_sums import log_integral
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, Real, real
from probdiff.special import log1mexp
from probdiff.tree import Array


class GeneralizedHyperbolic(Continuous):
    """p(x) ∝ (r / alpha)^(order - 1/2) K_{order - 1/2}(alpha r) exp(beta y),  y = x - loc,  r² = scale² + y².

    loc    real
    alpha  positive           steepness of the tails; γ² = alpha² - beta²
    beta   between ± alpha    skewness
    scale  positive           delta
    order  real               1 is the hyperbolic law, -1/2 the normal inverse Gaussian one

    x is Normal(loc + beta V, sqrt(V)), V generalised inverse Gaussian of this order with chi = scale², psi = γ².
    Barndorff-Nielsen, Exponentially decreasing distributions for the logarithm of particle size (1977).
    """

    loc: Real
    alpha: Positive
    beta: Real = 0.0
    scale: Positive = 1.0
    order: Real = 1.0

    support = real
    costly = True
    relation = "beta between -alpha and alpha"

    def related(self) -> Array:
        return abs(self.beta) < self.alpha

    def _gamma(self) -> Array:
        return np.sqrt((self.alpha - self.beta) * (self.alpha + self.beta))

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return self.alpha + self.beta, self.alpha - self.beta

    def logpdf(self, x: Array) -> Array:
        a, b, s, p = self.alpha, self.beta, self.scale, self.order
        y, gamma = x - self.loc, self._gamma()
        r = np.hypot(s, y)
        # gamma s + b y - a r <= 0 as the negative of a square over a positive sum, which does not cancel.
        exponent = -((gamma * y - b * s) ** 2) / (a * r + gamma * s + b * y)
        powers = p * np.log(gamma / s) + (p - 0.5) * np.log(r / a)
        return powers + log_bessel(p - 0.5, a * r) - log_bessel(p, gamma * s) - HALF_LOG_2PI + exponent

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _tails(self, x: Array) -> tuple[Array, Array]:
        """Logs of both tails; that on whose side of the mean x lies is integrated."""
        gamma, s, p = self._gamma(), self.scale, self.order
        m = center(p, gamma * s)
        below = x < self.mean()
        side = np.where(below, 1.0, -1.0)
        args = (p, gamma * s, m, s / gamma, side * self.beta, side * (x - self.loc))
        tail = log_integral(tail_height, *args, knees=knees) - log_mass(p, gamma * s, m)
        rest = log1mexp(np.minimum(tail, 0.0))
        return np.where(below, tail, rest), np.where(below, rest, tail)

    def mean(self) -> Array:
        return self.loc + self.beta * self._variance_moment(1)

    def var(self) -> Array:
        first = self._variance_moment(1)
        return first + self.beta**2 * (self._variance_moment(2) - first * first)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        gamma = self._gamma()
        variance = self.scale / gamma * np.exp(draw_log(self.order, gamma * self.scale, shape, rng))
        return self.loc + self.beta * variance + np.sqrt(variance) * rng.standard_normal(shape)

    def _variance_moment(self, j: int) -> Array:
        """E[V^j]."""
        gamma, p = self._gamma(), self.order
        b = gamma * self.scale
        return (self.scale / gamma) ** j * np.exp(log_bessel(p + j, b) - log_bessel(p, b))


def tail_height(v: Array, p: Array, b: Array, m: Array, unit: Array, beta: Array, y: Array) -> Array:
    """The log of the density of v, the log of the variance in units of unit exp(m), times P(X - loc <= y | v)."""
    root = np.sqrt(unit) * np.exp(0.5 * (m + v))
    return height(v, p, b, m) + log_ndtr(y / root - beta * root)


def knees(p: Array, b: Array, m: Array, unit: Array, beta: Array, y: Array) -> tuple[Array, Array]:
    """Where the conditional mean passes y, and how slowly."""
    ahead = beta * y > 0
    steep = np.maximum(np.sqrt(np.where(ahead, beta * y, 1.0)), 1.0)
    place = np.where(ahead, np.log(y / beta), 2 * np.log(abs(y)))
    return place - m - np.log(unit), 1 / steep
