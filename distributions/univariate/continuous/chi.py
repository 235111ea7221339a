"""Chi: the length of a vector of standard normal variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammainccinv, gammaincinv, gammaln, psi, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.gamma_powers import log_lower_gamma, log_upper_gamma
from probdiff.distributions.stable import LARGE, LOG_2, either, gamma_log_kernel, stirling_error
from probdiff.distributions.support import Positive, nonnegative
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.tree import Array


class Chi(Continuous):
    """p(x) = x^(df - 1) exp(-x² / 2) / (2^(df/2 - 1) Γ(df/2)),  x >= 0.

    df  positive  degrees of freedom, the mean of x²

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 18.8.
    """

    df: Positive

    support = nonnegative
    tail_rates = (np.inf, np.inf)

    def logpdf(self, x: Array) -> Array:
        h, r = 0.5 * self.df, 0.5 * x * x

        def direct() -> Array:
            return xlogy(self.df - 1, x) - r - (h - 1) * LOG_2 - gammaln(h)

        return either(h < LARGE, direct, lambda: gamma_log_kernel(h, r) + LOG_2 - np.log(x))

    def logcdf(self, x: Array) -> Array:
        h = 0.5 * self.df
        return log_lower_gamma(h, 0.5 * x * x, self.df * np.log(x) - h * LOG_2)

    def logccdf(self, x: Array) -> Array:
        h = 0.5 * self.df
        return log_upper_gamma(h, 0.5 * x * x, self.df * np.log(x) - h * LOG_2)

    def quantile(self, p: Array) -> Array:
        return self._root(gammaincinv(0.5 * self.df, p), np.log(p))

    def cquantile(self, p: Array) -> Array:
        return self._root(gammainccinv(0.5 * self.df, p), np.log1p(-p))

    def _root(self, r: Array, log_p: Array) -> Array:
        """x with x²/2 = r, or from the leading term of the distribution function where r is too small."""
        h = 0.5 * self.df
        leading = np.exp((log_p + gammaln(h + 1)) / self.df)
        return math.sqrt(2) * np.where(r > 1e-290, np.sqrt(r), leading)

    def mean(self) -> Array:
        h = 0.5 * self.df
        # The ratio of gammas by their Stirling forms, whose large parts are subtracted by hand.
        return np.sqrt(self.df) * np.exp(h * np.log1p(0.5 / h) - 0.5 + stirling_error(h + 0.5) - stirling_error(h))

    def var(self) -> Array:
        w = 2 / self.df
        # Beyond df = 2000 the difference has lost more digits than the expansion.
        expansion = 0.5 - w * (1 / 16 + w * (1 / 64 - w * (5 / 1024 + w * 23 / 4096)))
        return np.where(self.df < 2000, self.df - self.mean() ** 2, expansion)

    def mode(self) -> Array:
        return np.sqrt(np.maximum(self.df - 1, 0.0))

    def entropy(self) -> Array:
        h = 0.5 * self.df
        return gammaln(h) + h - 0.5 * LOG_2 - (h - 0.5) * psi(h)

    def exponential_form(self) -> ExponentialForm:
        h = 0.5 * self.df
        return ExponentialForm(lambda x: (np.log(x),), (self.df - 1,), gammaln(h) + (h - 1) * LOG_2)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.exp(self.log_draw(shape, rng))

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return 0.5 * (LOG_2 + log_standard_gamma(0.5 * self.df, shape, rng))
