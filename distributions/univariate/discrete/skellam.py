"""Skellam: the difference of two independent Poisson variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.skellam_tails import log_mass, log_tail
from probdiff.distributions.support import Positive, integers
from probdiff.tree import Array


class Skellam(Discrete):
    """P(k) = exp(-rate1 - rate2) (rate1 / rate2)^(k/2) I_|k|(2 √(rate1 rate2)),  k = …, -1, 0, 1, ….

    rate1  positive  mean of the variable that counts up
    rate2  positive  mean of the variable that counts down

    Skellam, The frequency distribution of the difference between two Poisson variates, JRSS 109 (1946). The
    distribution function is a sum over as many k as a dozen standard deviations have.
    """

    rate1: Positive
    rate2: Positive

    support = integers

    def logpdf(self, x: Array) -> Array:
        return log_mass(x, self.rate1, self.rate2)

    def logcdf(self, x: Array) -> Array:
        return log_tail("lower", x, self.rate1, self.rate2)

    def logccdf(self, x: Array) -> Array:
        return log_tail("upper", x, self.rate1, self.rate2)

    def mean(self) -> Array:
        return self.rate1 - self.rate2

    def var(self) -> Array:
        return self.rate1 + self.rate2

    def skewness(self) -> Array:
        return self.mean() / self.var() ** 1.5

    def kurtosis(self) -> Array:
        return 1 / self.var()

    def mgf(self, t: Array) -> Array:
        return np.exp(self.rate1 * np.expm1(t) + self.rate2 * np.expm1(-t))

    def cf(self, t: Array) -> Array:
        return np.exp(self.rate1 * np.expm1(1j * t) + self.rate2 * np.expm1(-1j * t))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.poisson(self.rate1, shape) - rng.poisson(self.rate2, shape)
