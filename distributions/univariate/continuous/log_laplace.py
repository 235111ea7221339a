"""Log-Laplace: a variable whose logarithm has Laplace's law, with powers on both sides."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.powers import log_ratio
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, nonnegative
from probdiff.special import log1mexp
from probdiff.tree import Array


class LogLaplace(Continuous):
    """p(x) = shape / (2 x) min(z, 1 / z)^shape,  z = x / scale,  x >= 0.

    shape  positive  moments of order shape and higher are infinite
    scale  positive  median

    Kozubowski & Podgórski, A log-Laplace growth rate model, The Mathematical Scientist 28 (2003).
    """

    shape: Positive
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        t = log_ratio(x, self.scale)
        inside = np.log(0.5 * self.shape) - self.shape * abs(t) - t - np.log(self.scale)
        at_zero = np.where(self.shape == 1, -LOG_2 - np.log(self.scale), np.inf * (1 - self.shape))
        return np.where(x > 0, inside, at_zero)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def quantile(self, p: Array) -> Array:
        return self.scale * np.where(p < 0.5, 2 * p, 1 / (2 - 2 * np.maximum(p, 0.5))) ** (1 / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.where(p < 0.5, 1 / (2 * p), 2 - 2 * np.maximum(p, 0.5)) ** (1 / self.shape)

    def kinks(self) -> tuple[Array, ...]:
        return (self.scale,)

    def mean(self) -> Array:
        return self._moment(1)

    def var(self) -> Array:
        return np.where(self.shape > 2, self._moment(2) - self._moment(1) ** 2, np.inf)

    def mode(self) -> Array:
        return np.where(self.shape > 1, self.scale, 0.0)

    def _moment(self, order: int) -> Array:
        """E[X^order]."""
        square = self.shape**2
        return np.where(self.shape > order, self.scale**order * square / (square - order**2), np.inf)

    def _tails(self, x: Array) -> tuple[Array, Array]:
        t = log_ratio(x, self.scale)
        tail = -LOG_2 - self.shape * abs(t)
        rest = log1mexp(tail)
        return np.where(t < 0, tail, rest), np.where(t < 0, rest, tail)
