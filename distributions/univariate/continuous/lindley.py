"""Lindley: lifetimes with a rising hazard, a mixture of an exponential and a gamma variable."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.powers import exp_excess
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class Lindley(Continuous):
    """p(x) = theta² / (1 + theta) (1 + x) exp(-theta x),  x >= 0.

    theta  positive  rate of the tail

    Ghitany, Atieh & Nadarajah, Lindley distribution and its application, Math. Comput. Simul. 78 (2008).
    """

    theta: Positive

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        return np.log(self.theta / (1 + self.theta)) + np.log(self.theta) + np.log1p(x) - self.theta * x

    def logcdf(self, x: Array) -> Array:
        z = self.theta * x
        near = np.minimum(z, 1.0)
        mixture = (np.exp(-near) * exp_excess(near) - self.theta * np.expm1(-near)) / (1 + self.theta)
        return np.where(z < 1, np.log(mixture), np.log1p(-np.exp(self.logccdf(x))))

    def logccdf(self, x: Array) -> Array:
        z = self.theta * x
        return np.log1p(z / (1 + self.theta)) - z

    def mean(self) -> Array:
        t = self.theta
        return (t + 2) / (t * (1 + t))

    def var(self) -> Array:
        t = self.theta
        return ((t + 4) * t + 2) / (t * (1 + t)) ** 2

    def skewness(self) -> Array:
        t = self.theta
        return 2 * (((t + 6) * t + 6) * t + 2) / ((t + 4) * t + 2) ** 1.5

    def kurtosis(self) -> Array:
        t = self.theta
        return 6 * ((((t + 8) * t + 12) * t + 8) * t + 2) / ((t + 4) * t + 2) ** 2

    def mode(self) -> Array:
        return np.maximum(1 / self.theta - 1, 0.0)

    def mgf(self, t: Array) -> Array:
        rest = self.theta - t
        return np.where(rest > 0, self.theta / rest * self.theta / rest * (1 + rest) / (1 + self.theta), math.inf)

    def cf(self, t: Array) -> Array:
        rest = self.theta - 1j * t
        return self.theta / rest * self.theta / rest * (1 + rest) / (1 + self.theta)

    def exponential_form(self) -> ExponentialForm:
        log_partition = np.log1p(self.theta) - 2 * np.log(self.theta)
        return ExponentialForm(lambda x: (x,), (-self.theta,), log_partition)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        second = rng.random(shape) * (1 + self.theta) < 1
        return (rng.standard_exponential(shape) + np.where(second, rng.standard_exponential(shape), 0.0)) / self.theta

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        m = np.sum(w * x)
        root = np.sqrt((m - 1) ** 2 + 8 * m)
        return cls(4 / (root + m - 1) if m > 1 else (1 - m + root) / (2 * m))
