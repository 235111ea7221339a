"""Fréchet: the limit law of maxima with power tails (extreme value type II), or inverse Weibull."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gamma

from probdiff.distributions import bijectors
from probdiff.distributions.base import Distribution
from probdiff.distributions.powers import log_ratio
from probdiff.distributions.raw_moments import RawMoments
from probdiff.distributions.support import Positive, positive
from probdiff.distributions.univariate.continuous.gumbel import Gumbel
from probdiff.tree import Array


class Frechet(RawMoments):
    """p(x) = shape / x z exp(-z),  z = (scale / x)^shape,  x > 0.

    shape  positive  moments exist below this order
    scale  positive  the quantile at 1 / e

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 22.
    """

    shape: Positive
    scale: Positive = 1.0

    support = positive
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        k = self.shape
        return np.log(k) - np.log(x) - k * log_ratio(x, self.scale) - (self.scale / x) ** k

    def logcdf(self, x: Array) -> Array:
        return -((self.scale / x) ** self.shape)

    def quantile(self, p: Array) -> Array:
        return self.scale * (-np.log(p)) ** (-1 / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * (-np.log1p(-p)) ** (-1 / self.shape)

    def latent(self) -> tuple[Distribution, bijectors.Bijector]:
        return Gumbel(np.log(self.scale), 1 / self.shape, check=False), bijectors.Positive()

    def mean(self) -> Array:
        return self.scale * self._moment(1)

    def mode(self) -> Array:
        k = self.shape
        return self.scale * (k / (k + 1)) ** (1 / k)

    def entropy(self) -> Array:
        return np.log(self.scale / self.shape) + np.euler_gamma * (1 + 1 / self.shape) + 1

    def _moment(self, i: int) -> Array:
        """E[(X / scale)^i]."""
        return np.where(self.shape > i, gamma(1 - i / self.shape), math.inf)
