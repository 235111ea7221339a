"""Folded normal: the size of a normal variable."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfc, log_ndtr, ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import Positive, Real, nonnegative
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.tree import Array


class FoldedNormal(Continuous):
    """p(x) = φ((x - loc) / scale) / scale + φ((x + loc) / scale) / scale,  x >= 0, with φ the normal density.

    loc    real      mean of the normal that is folded; its sign does not matter
    scale  positive  standard deviation of the normal that is folded

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 13.10.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        z, m = x / self.scale, abs(self.loc) / self.scale
        # Near loc = 0 the two terms are alike, and their slopes in loc would cancel.
        alike = -0.5 * (z * z + m * m) + np.log(np.cosh(z * m)) + LOG_2
        apart = -0.5 * ((x - abs(self.loc)) / self.scale) ** 2 + np.log1p(np.exp(-2 * z * m))
        return np.where(z * m < 1, alike, apart) - np.log(self.scale) - HALF_LOG_2PI

    def logcdf(self, x: Array) -> Array:
        return Normal(self.loc, self.scale, check=False).logdiffcdf(-x, x)

    def logccdf(self, x: Array) -> Array:
        m = abs(self.loc)
        far = np.logaddexp(log_ndtr((m - x) / self.scale), log_ndtr(-(m + x) / self.scale))
        return np.where(far < -LOG_2, far, np.log1p(-np.exp(self.logcdf(x))))

    def mean(self) -> Array:
        return abs(self.loc) + self._shift()

    def var(self) -> Array:
        shift = self._shift()
        return self.scale**2 - shift * (2 * abs(self.loc) + shift)

    def mgf(self, t: Array) -> Array:
        s, m = t * self.scale, self.loc / self.scale
        return np.exp(0.5 * s * s) * (np.exp(m * s) * ndtr(m + s) + np.exp(-m * s) * ndtr(s - m))

    def cf(self, t: Array) -> Array:
        s, m = 1j * t * self.scale, self.loc / self.scale
        return np.exp(0.5 * s * s + m * s + log_ndtr(m + s)) + np.exp(0.5 * s * s - m * s + log_ndtr(s - m))

    def _shift(self) -> Array:
        """E|X| - |loc|, small where little is folded."""
        m = abs(self.loc) / self.scale
        return self.scale * (math.sqrt(2 / math.pi) * np.exp(-0.5 * m * m) - m * erfc(m * math.sqrt(0.5)))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return abs(self.loc + self.scale * rng.standard_normal(shape))
