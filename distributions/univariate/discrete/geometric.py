"""Geometric: failures before the first success."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, rel_entr, xlog1py

from probdiff.distributions.base import Discrete
from probdiff.distributions.divergence import closed_form
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

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.geometric(self.p, shape) - 1


@closed_form(Geometric, Geometric)
def _divergence(p: Geometric, q: Geometric) -> Array:
    return (rel_entr(p.p, q.p) + rel_entr(1 - p.p, 1 - q.p)) / p.p
