"""RelaxedBernoulli: a number between 0 and 1 whose logit is logistic; near 0 and 1 when it is cold."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logit

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import OpenUnit, Positive, Real, open_unit_interval
from probdiff.tree import Array


class RelaxedBernoulli(Continuous):
    """logit X = (logits + L) / temperature,  L standard logistic.

    temperature  positive   towards 0, X becomes a Bernoulli variable
    p            in (0, 1)  probability of success, P(X > 1/2)
    logits       real       log(p / (1 - p)), in place of p

    Maddison, Mnih & Teh, The Concrete distribution (2017).
    """

    temperature: Positive
    p: OpenUnit = None
    logits: Real = None

    exclusive = ("p", "logits")
    support = open_unit_interval

    def logpdf(self, x: Array) -> Array:
        z = self._z(x)
        return np.log(self.temperature) + log_expit(z) + log_expit(-z) - np.log(x) - np.log1p(-x)

    def cdf(self, x: Array) -> Array:
        return expit(self._z(x))

    def ccdf(self, x: Array) -> Array:
        return expit(-self._z(x))

    def logcdf(self, x: Array) -> Array:
        return log_expit(self._z(x))

    def logccdf(self, x: Array) -> Array:
        return log_expit(-self._z(x))

    def quantile(self, p: Array) -> Array:
        return expit((logit(p) + self._logits()) / self.temperature)

    def cquantile(self, p: Array) -> Array:
        return expit((self._logits() - logit(p)) / self.temperature)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return expit((self._logits() + rng.logistic(size=shape)) / self.temperature)

    def _z(self, x: Array) -> Array:
        return self.temperature * logit(x) - self._logits()

    def _logits(self) -> Array:
        return logit(self.p) if self.logits is None else self.logits
