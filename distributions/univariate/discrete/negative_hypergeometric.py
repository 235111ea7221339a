"""NegativeHypergeometric: successes drawn from an urn, without replacement, before a number of failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.summation import log_lower, log_upper
from probdiff.distributions.support import Integers, NonnegativeInteger, PositiveInteger, integer_interval
from probdiff.distributions.univariate.discrete.hypergeometric import Hypergeometric
from probdiff.tree import Array


class NegativeHypergeometric(Discrete):
    """P(k) = C(k + r - 1, k) C(successes + failures - r - k, successes - k) / C(successes + failures, successes).

    successes  nonnegative integer  in the urn
    failures   positive integer     in the urn
    r          positive integer     failures to wait for, not more than there are

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 6.2.2. The distribution function is a sum over k.
    """

    successes: NonnegativeInteger
    failures: PositiveInteger
    r: PositiveInteger

    relation = "r <= failures"

    def related(self) -> Array:
        return self.r <= self.failures

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, self.successes)

    def logpdf(self, x: Array) -> Array:
        # k successes and r - 1 failures in any order, then a failure.
        before = Hypergeometric(self.successes, self.failures, x + (self.r - 1), check=False).logpdf(x)
        left = self.failures - self.r + 1.0
        return before + np.log(left) - np.log(left + (self.successes - x))

    def logcdf(self, x: Array) -> Array:
        return log_lower(self, x)

    def logccdf(self, x: Array) -> Array:
        return log_upper(self, x)

    def mean(self) -> Array:
        return self.r * (self.successes / (self.failures + 1))

    def var(self) -> Array:
        f = self.failures + 1.0
        return self.mean() * ((self.successes + f) / f) * ((f - self.r) / (f + 1))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # In an order of uniform times, the r-th failure comes at a Beta one.
        return rng.binomial(self.successes, rng.beta(self.r, self.failures - self.r + 1, shape))
