"""YuleSimon: counts of words and species, with a tail like a power."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.stable import log_gamma_defect
from probdiff.distributions.support import Positive, positive_integers
from probdiff.tree import Array


class YuleSimon(Discrete):
    """P(k) = alpha B(k, alpha + 1),  k = 1, 2, ….

    alpha  positive  P(X > k) falls like k^-alpha

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 6.10.3.
    """

    alpha: Positive

    support = positive_integers
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        return log_gamma_defect(1 + 0 * x, self.alpha, x - 1) - np.log1p(x / self.alpha)

    def logccdf(self, x: Array) -> Array:
        return log_gamma_defect(1 + 0 * x, self.alpha, x)

    def mean(self) -> Array:
        return np.where(self.alpha > 1, self.alpha / (self.alpha - 1), np.inf)

    def var(self) -> Array:
        ratio = self.alpha / (self.alpha - 1)
        return np.where(self.alpha > 2, ratio * ratio / (self.alpha - 2), np.inf)

    def mode(self) -> Array:
        return 1.0

    def skewness(self) -> Array:
        a = self.alpha
        return np.where(a > 3, (a + 1) ** 2 * np.sqrt(a - 2) / ((a - 3) * a), np.inf)

    def kurtosis(self) -> Array:
        a = self.alpha
        return np.where(a > 4, a + 3 + (11 * a**3 - 49 * a - 22) / (a * (a - 3) * (a - 4)), np.inf)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # Geometric with p = exp(-W), W exponential of rate alpha; in floating point, for draws have no bound.
        waited = rng.standard_exponential(shape) / self.alpha
        with np.errstate(all="ignore"):
            k = np.ceil(rng.standard_exponential(shape) / -np.log(-np.expm1(-waited)))
        return np.maximum(k, 1.0)
