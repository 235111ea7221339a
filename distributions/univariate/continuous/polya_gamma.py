"""Pólya-gamma: the scale mixture that turns logistic likelihoods into normal ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.polya_contour import log_inversion, slope
from probdiff.distributions.support import Positive, Real, positive
from probdiff.special import log1mexp
from probdiff.tree import Array

CUT = 0.64  # where Devroye's two series of the density change places
MOST = 40  # shapes up to here are drawn as sums


class PolyaGamma(Continuous):
    """E exp(-t X) = cosh^h(z / 2) / cosh^h(sqrt(z² / 4 + t / 2)).

    h  positive  shape; the sum of independent variables has the sum of their shapes
    z  real      tilt: the density of z = 0, times exp(-z² x / 2) and normalised

    Polson, Scott & Windle, Bayesian inference for logistic models using Pólya-Gamma latent variables, JASA 108 (2013),
    also for draws with whole h, which are exact; others are drawn by inversion.
    """

    h: Positive = 1.0
    z: Real = 0.0

    support = positive
    costly = True

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, 0.5 * (np.pi**2 + self.z**2)

    def logpdf(self, x: Array) -> Array:
        return log_inversion("density", x, self.h, self._tilt())

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _tails(self, x: Array) -> tuple[Array, Array]:
        tail = log_inversion("tail", x, self.h, self._tilt())
        below, rest = x <= self.mean(), log1mexp(tail)
        return np.where(below, tail, rest), np.where(below, rest, tail)

    def _tilt(self) -> Array:
        return 0.5 * self.z * self.z

    def mean(self) -> Array:
        return self._cumulant(1)

    def var(self) -> Array:
        return self._cumulant(2)

    def skewness(self) -> Array:
        return self._cumulant(3) / self._cumulant(2) ** 1.5

    def kurtosis(self) -> Array:
        return self._cumulant(4) / self._cumulant(2) ** 2

    def _cumulant(self, order: int) -> Array:
        return self.h * (-0.5) ** (order + 1) * slope(0.5 * self._tilt(), order - 1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        h, z = (np.broadcast_to(np.asarray(v, dtype=float), shape) for v in (self.h, self.z))
        if not np.all((np.floor(h) == h) & (h <= MOST)):
            return super().draw(shape, rng)
        count = h.astype(int)
        parts = np.repeat(0.5 * abs(z).ravel(), count.ravel())
        owner = np.repeat(np.arange(count.size), count.ravel())
        return np.bincount(owner, 0.25 * jacobi(parts, rng), minlength=count.size).reshape(shape)


def jacobi(z: Any, rng: np.random.Generator) -> Any:
    """Four times PolyaGamma(1, 2 z) variables, z >= 0, by rejection between partial sums of the alternating series."""
    rate = 0.125 * math.pi**2 + 0.5 * z * z
    root = math.sqrt(CUT)
    log_right = math.log(0.5 * math.pi) - np.log(rate) - rate * CUT
    left = np.logaddexp(log_ndtr(root * z - 1 / root), 2 * z + log_ndtr(-root * z - 1 / root))
    share = expit(log_right - left + z - math.log(2))
    x = np.zeros(z.shape)
    todo = np.arange(z.size)
    while todo.size:
        right = rng.random(todo.size) < share[todo]
        beyond = CUT + rng.standard_exponential(todo.size) / rate[todo]
        candidate = np.where(right, beyond, below_cut(z[todo], rng))
        accepted = under_series(candidate, rng)
        x[todo[accepted]] = candidate[accepted]
        todo = todo[~accepted]
    return x


def below_cut(z: Any, rng: np.random.Generator) -> Any:
    """Inverse Gaussian variables of mean 1 / z and shape 1, given that they are less than CUT."""
    x = np.zeros(z.shape)
    todo = np.arange(z.size)
    while todo.size:
        at = z[todo]
        far = at * CUT < 1
        # Mean beyond CUT: a scaled inverse chi-squared variable, given the bound, thinned; else plain draws.
        first, second = rng.standard_exponential((2, todo.size))
        stable = CUT / (1 + CUT * first) ** 2
        thinned = (first * first <= 2 * second / CUT) & (rng.standard_exponential(todo.size) >= 0.5 * at * at * stable)
        plain = rng.wald(1 / np.where(far, 1.0, at), 1.0)
        accepted = np.where(far, thinned, plain < CUT)
        x[todo[accepted]] = np.where(far, stable, plain)[accepted]
        todo = todo[~accepted]
    return x


def under_series(x: Any, rng: np.random.Generator) -> Any:
    """Whether a uniform height under the first term is under the whole series too."""

    def term(n: int) -> Any:
        left = (2 / (math.pi * x)) ** 1.5 * np.exp(-2 * (n + 0.5) ** 2 / x)
        return math.pi * (n + 0.5) * np.where(x < CUT, left, np.exp(-0.5 * ((n + 0.5) * math.pi) ** 2 * x))

    total = term(0)
    height = rng.random(x.shape) * total
    under, settled = np.zeros(x.shape, bool), np.zeros(x.shape, bool)
    n = 0
    while not np.all(settled):
        n += 1
        total = total - term(n) if n % 2 else total + term(n)
        now = ~settled & (height <= total if n % 2 else height > total)
        under |= now & bool(n % 2)
        settled |= now
    return under
