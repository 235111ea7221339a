"""Hypergeometric: successes among draws without replacement from an urn."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.transforms import stop_gradient
from probdiff.distributions.stable import binomial_log_mass
from probdiff.distributions.urn import Urn
from probdiff.tree import Array


class Hypergeometric(Urn):
    """P(k) = C(successes, k) C(failures, draws - k) / C(successes + failures, draws).

    successes  nonnegative integer  in the urn
    failures   nonnegative integer  in the urn
    draws      nonnegative integer  not more than both together

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 6. The distribution function is a sum over k.
    """

    def logpdf(self, x: Array) -> Array:
        # Three binomials with one probability, which cancels; all three masses are moderate near the mode (Loader).
        x = stop_gradient(x)
        m, n, k = self.successes, self.failures, self.draws
        p = k / np.maximum(m + n + 0 * x, 1)
        q = 1 - p
        log_p, log_q = np.log(p), np.log1p(-p)
        drawn = binomial_log_mass(x, m - x, p, q, log_p, log_q)
        other = binomial_log_mass(k - x, n - (k - x), p, q, log_p, log_q)
        return drawn + other - binomial_log_mass(k + 0 * x, m + n - k + 0 * x, p, q, log_p, log_q)

    def mean(self) -> Array:
        return self.draws * (self.successes / self._size())

    def var(self) -> Array:
        size = self._size()
        share = (self.successes / size) * (self.failures / size)
        return self.draws * share * (size - self.draws) / np.maximum(size - 1, 1)

    def mode(self) -> Array:
        return np.floor((self.draws + 1.0) * (self.successes + 1) / (self.successes + self.failures + 2))

    def skewness(self) -> Array:
        size, m, k = self._size() * 1.0, self.successes, self.draws
        spread = np.sqrt((size - 1) / (k * 1.0 * m * (size - m) * (size - k)))
        return (size - 2 * m) * spread * (size - 2 * k) / (size - 2)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.hypergeometric(self.successes, self.failures, self.draws, shape)

    def _size(self) -> Array:
        return np.maximum(self.successes + self.failures, 1)
