"""Geometric: failures before the first success."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, rel_entr, xlog1py

from probdiff.distributions.base import Discrete
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.support import PositiveProbability, nonnegative_integers
from probdiff.tree import Array


class Geometric(Discrete):
    """P(k) = p (1 - p)^k,  k = 0, 1, ….

    p  in (0, 1]  probability of success

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 5.2.
    """

    p: PositiveProbability = 0.5

    support = nonnegative_integers

    def logpdf(self, x: Array) -> Array:
        return np.log(self.p) + xlog1py(x, -self.p)

    def cdf(self, x: Array) -> Array:
        return -np.expm1((x + 1) * np.log1p(-self.p))

    def logccdf(self, x: Array) -> Array:
        return (x + 1) * np.log1p(-self.p)

    def quantile(self, p: Array) -> Array:
        x = np.maximum(np.ceil(np.log1p(-p) / np.log1p(-self.p)) - 1, 0.0)
        # The quotient may round over a whole number: the distribution function decides.
        x = np.where((x > 0) & (self.cdf(x - 1) >= p), x - 1, x)
        return np.where(p < 1, np.where(self.cdf(x) < p, x + 1, x), np.inf)

    def cquantile(self, p: Array) -> Array:
        x = np.maximum(np.ceil(np.log(p) / np.log1p(-self.p)) - 1, 0.0)
        x = np.where((x > 0) & (self.ccdf(x - 1) <= p), x - 1, x)
        return np.where(p > 0, np.where(self.ccdf(x) > p, x + 1, x), np.inf)

    def mean(self) -> Array:
        return (1 - self.p) / self.p

    def var(self) -> Array:
        return (1 - self.p) / self.p**2

    def mode(self) -> Array:
        return 0.0

    def skewness(self) -> Array:
        return (2 - self.p) / np.sqrt(1 - self.p)

    def kurtosis(self) -> Array:
        return 6 + self.p**2 / (1 - self.p)

    def entropy(self) -> Array:
        return (entr(self.p) + entr(1 - self.p)) / self.p

    def mgf(self, t: Array) -> Array:
        return np.where((1 - self.p) * np.exp(t) < 1, self.p / (1 - (1 - self.p) * np.exp(t)), np.inf)

    def cf(self, t: Array) -> Array:
        return self.p / (1 - (1 - self.p) * np.exp(1j * t))

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (x,), (np.log1p(-self.p),), -np.log(self.p))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # The whole part of an exponential wait; the largest whole number is the end, as in NumPy's sampler.
        with np.errstate(divide="ignore"):
            wait = np.floor(rng.standard_exponential(shape) / -np.log1p(-self.p))
        return np.minimum(wait, 2.0**63 - 1024).astype(np.int64)


@closed_form(Geometric, Geometric)
def _divergence(p: Geometric, q: Geometric) -> Array:
    return (rel_entr(p.p, q.p) + rel_entr(1 - p.p, 1 - q.p)) / p.p
