"""Skew normal: a normal variable, given that another one that is correlated with it is positive."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erf, erfi, log_ndtr, ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array

# A rule for integrands that fall exponentially, on (0, inf), and Gauss and Legendre's on (0, 1).
STEPS = np.arange(-3.625, 3.7, 0.125)
NODES = np.exp(STEPS - np.exp(-STEPS))
WEIGHTS = 0.125 * (1 + np.exp(-STEPS)) * NODES
UNIT_NODES, UNIT_WEIGHTS = (0.5 * v for v in np.polynomial.legendre.leggauss(12))
UNIT_NODES += 0.5


class SkewNormal(Continuous):
    """p(x) = 2 φ(z) Φ(alpha z) / scale,  z = (x - loc) / scale, with φ, Φ the normal density and distribution.

    loc    real
    scale  positive
    alpha  real      0 is the normal distribution, large values a half-normal

    Azzalini, A class of distributions which includes the normal ones, Scandinavian Journal of Statistics 12 (1985).
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    alpha: Real = 0.0

    support = real

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return (LOG_2 - HALF_LOG_2PI) - 0.5 * z * z - np.log(self.scale) + log_ndtr(self.alpha * z)

    def logcdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return np.where(self.alpha > 0, log_thin_tail(-z, abs(self.alpha)), log_thick_tail(-z, abs(self.alpha)))

    def logccdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return np.where(self.alpha > 0, log_thick_tail(z, abs(self.alpha)), log_thin_tail(z, abs(self.alpha)))

    def mean(self) -> Array:
        return self.loc + self.scale * self._shift()

    def var(self) -> Array:
        return self.scale**2 * (1 - self._shift() ** 2)

    def skewness(self) -> Array:
        m = self._shift()
        return 0.5 * (4 - math.pi) * m**3 / (1 - m * m) ** 1.5

    def kurtosis(self) -> Array:
        m = self._shift()
        return 2 * (math.pi - 3) * m**4 / (1 - m * m) ** 2

    def mgf(self, t: Array) -> Array:
        s = t * self.scale
        return np.exp(t * self.loc + 0.5 * s * s + LOG_2 + log_ndtr(s * self.alpha / np.sqrt(1 + self.alpha**2)))

    def cf(self, t: Array) -> Array:
        s = t * self.scale
        odd = erfi(s * self.alpha / np.sqrt(2 * (1 + self.alpha**2)))
        return np.exp(1j * t * self.loc - 0.5 * s * s) * (1 + 1j * odd)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        root = np.hypot(1.0, self.alpha)
        z = self.alpha / root * abs(rng.standard_normal(shape)) + rng.standard_normal(shape) / root
        return self.loc + self.scale * z

    def _shift(self) -> Array:
        """The mean of z."""
        return math.sqrt(2 / math.pi) * self.alpha / np.sqrt(1 + self.alpha * self.alpha)


def log_thin_tail(h: Array, a: Array) -> Array:
    """log ∫ 2 φ(t) Φ(-a t) dt from h on, a >= 0: the tail that the skewing makes thin."""
    beyond = log_ndtr(-abs(h)) + LOG_2
    share = np.exp(log_owen_rest(abs(h), a) - beyond)
    return np.where(h > 0, log_owen_rest(abs(h), a), np.log1p(-np.exp(beyond + np.log1p(-share))))


def log_thick_tail(h: Array, a: Array) -> Array:
    """log ∫ 2 φ(t) Φ(a t) dt from h on, a >= 0."""
    rest = log_owen_rest(abs(h), a)
    beyond = log_ndtr(-abs(h)) + LOG_2
    return np.where(h > 0, beyond + np.log1p(-np.exp(rest - beyond)), np.log1p(-np.exp(rest)))


def log_owen_rest(h: Array, a: Array) -> Array:
    """log [Φ(-h) - 2 T(h, a)] for h, a >= 0, with T the function of Owen (1956)."""
    near, far = _rest_near(h, a), _log_rest_far(h, a)
    return np.where(h * np.maximum(a, 1.0) < 1, np.log(near), far)


def _rest_near(h: Array, a: Array) -> Array:
    """The same, without the log, where h and h a are below one and little cancels.

    T(h, a) is the integral of exp(-h² (1 + t²) / 2) / (1 + t²) / (2π) from 0 to a; for a > 1 it is turned into
    T(h a, 1 / a) by Owen's reflection.
    """
    steep = a > 1
    k, b = np.where(steep, h * a, h), np.where(steep, 1 / a, a)
    nodes, weights = _columns(UNIT_NODES, UNIT_WEIGHTS, k * b)
    square = 1 + (b * nodes) ** 2
    twice = b * np.sum(weights * np.exp(-0.5 * k * k * square) / square, axis=0) / math.pi
    return np.where(steep, twice - ndtr(-h * a) * erf(math.sqrt(0.5) * h), ndtr(-h) - twice)


def _log_rest_far(h: Array, a: Array) -> Array:
    """The same by the integral from a to infinity, whose largest exponential is taken out.

    The rest falls off exponentially, on the length that is the unit of the rule.
    """
    unit = 1 / (h * (1 + h * a))
    nodes, weights = _columns(NODES, WEIGHTS, unit)
    u = unit * nodes
    inside = np.exp(-h * h * u * (a + 0.5 * u)) / (1 + (a + u) ** 2)
    total = unit * np.sum(weights * inside, axis=0)
    return np.log(total) - 0.5 * h * h * (1 + a * a) - math.log(math.pi)


def _columns(nodes: Array, weights: Array, like: Array) -> tuple[Array, Array]:
    """Nodes and weights on an axis before those of `like`, in its precision."""
    shape = (-1, *(1 for _ in like.shape))
    return nodes.astype(like.dtype).reshape(shape), weights.astype(like.dtype).reshape(shape)
