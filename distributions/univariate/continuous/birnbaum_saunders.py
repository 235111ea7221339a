"""Birnbaum–Saunders (fatigue life): when cracks, which grow by random steps, have reached a length."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.from_normal import FromNormal
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2, arcsinh
from probdiff.distributions.support import Positive, positive
from probdiff.tree import Array


class BirnbaumSaunders(FromNormal):
    """(sqrt(x / scale) - sqrt(scale / x)) / shape is standard normal,  x > 0.

    shape  positive
    scale  positive  median

    Birnbaum & Saunders, A new family of life distributions, J. Appl. Prob. 6 (1969).
    """

    shape: Positive
    scale: Positive = 1.0

    support = positive

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, 0.5 / (self.shape**2 * self.scale)

    def logpdf(self, x: Array) -> Array:
        w = self._normal(x)
        half = 0.5 * abs(np.log(x) - np.log(self.scale))
        log_roots = half + np.log1p(np.exp(-2 * half))
        return log_roots - LOG_2 - np.log(self.shape) - np.log(x) - 0.5 * w * w - HALF_LOG_2PI

    def mean(self) -> Array:
        return self.scale * (1 + 0.5 * self.shape**2)

    def var(self) -> Array:
        a = self.shape**2
        return self.scale**2 * a * (1 + 1.25 * a)

    def skewness(self) -> Array:
        a = self.shape**2
        return 4 * self.shape * (11 * a + 6) / (5 * a + 4) ** 1.5

    def kurtosis(self) -> Array:
        a = self.shape**2
        return 6 * a * (93 * a + 40) / (5 * a + 4) ** 2

    def _normal(self, x: Array) -> Array:
        # The difference of the roots does not cancel in this form.
        return (x - self.scale) / (np.sqrt(x) * np.sqrt(self.scale)) / self.shape

    def _from_normal(self, w: Array) -> Array:
        return self.scale * np.exp(2 * arcsinh(0.5 * self.shape * w))
