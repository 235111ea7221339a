"""Successes among balls drawn from an urn without replacement: what such laws derive from."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.summation import log_lower, log_upper
from probdiff.distributions.support import Integers, NonnegativeInteger, integer_interval
from probdiff.tree import Array

__all__ = ["Urn"]


class Urn(Discrete, abstract=True):
    """The numbers in the urn and the values they allow; distribution functions are sums over these."""

    successes: NonnegativeInteger
    failures: NonnegativeInteger
    draws: NonnegativeInteger

    relation = "draws <= successes + failures"

    def related(self) -> Array:
        return self.draws <= self.successes + self.failures

    @property
    def support(self) -> Integers:
        zero = 0 * self.draws
        return integer_interval(np.maximum(zero, self.draws - self.failures), np.minimum(self.draws, self.successes))

    def logcdf(self, x: Array) -> Array:
        return log_lower(self, x)

    def logccdf(self, x: Array) -> Array:
        return log_upper(self, x)
