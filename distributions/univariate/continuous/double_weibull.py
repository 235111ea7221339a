"""Double Weibull: a Weibull variable with either sign."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.support import Positive, Real
from probdiff.distributions.two_sided import TwoSided
from probdiff.distributions.univariate.continuous.weibull import Weibull
from probdiff.tree import Array


class DoubleWeibull(TwoSided):
    """p(x) = shape z^(shape - 1) exp(-z^shape) / (2 scale),  z = |x - loc| / scale.

    loc    real
    scale  positive
    shape  positive  two peaks above 1, a pole at loc below

    Balakrishnan & Kocherlakota, On the double Weibull distribution, Sankhyā B 47 (1985).
    """

    loc: Real
    scale: Positive
    shape: Positive

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        rate = stretched_rate(self.shape, self.scale)
        return rate, rate

    def var(self) -> Array:
        return self.scale**2 * np.exp(gammaln(1 + 2 / self.shape))

    def kurtosis(self) -> Array:
        return np.exp(gammaln(1 + 4 / self.shape) - 2 * gammaln(1 + 2 / self.shape)) - 3

    def _size(self) -> Weibull:
        return Weibull(self.shape, self.scale, check=False)
