"""OrderedLogistic: ordered categories, where a logistic variable falls between cutpoints."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy.special import expit, log_expit

from probdiff.distributions.base import Discrete
from probdiff.distributions.summation import pick
from probdiff.distributions.support import Integers, Real, integer_interval, ordered
from probdiff.special import log1mexp
from probdiff.tree import Array


class OrderedLogistic(Discrete):
    """P(X <= k) = 1 / (1 + exp(eta - cutpoints_k)),  k = 0, …, K - 1, with K - 1 cutpoints.

    eta        real             the linear predictor: the larger, the higher the category
    cutpoints  rising strictly  along the last axis

    McCullagh, Regression models for ordinal data, JRSS B 42 (1980).
    """

    eta: Real
    cutpoints: Annotated[Any, ordered]

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, float(self.cutpoints.shape[-1]))

    def logpdf(self, x: Array) -> Array:
        # F(b) - F(a) = F(b) (1 - F(a)) (1 - exp(a - b)), whose last factor does not know eta.
        last = self.cutpoints.shape[-1] - 1
        gap = log1mexp(self.cutpoints[..., :-1] - self.cutpoints[..., 1:])
        below, above = pick(self.cutpoints, np.maximum(x - 1, 0)), pick(self.cutpoints, np.minimum(x, last))
        inner = pick(gap, np.clip(x - 1, 0, last - 1)) if last else 0.0
        under = np.where(x > last, 0.0, log_expit(above - self.eta))
        over = np.where(x < 1, 0.0, log_expit(self.eta - below))
        return under + over + np.where((x < 1) | (x > last), 0.0, inner)

    def cdf(self, x: Array) -> Array:
        return expit(pick(self.cutpoints, x) - self.eta)

    def ccdf(self, x: Array) -> Array:
        return expit(self.eta - pick(self.cutpoints, x))

    def logcdf(self, x: Array) -> Array:
        return log_expit(pick(self.cutpoints, x) - self.eta)

    def logccdf(self, x: Array) -> Array:
        return log_expit(self.eta - pick(self.cutpoints, x))

    def mean(self) -> Array:
        return np.sum(expit(np.expand_dims(self.eta, -1) - self.cutpoints), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        latent = self.eta + rng.logistic(size=shape)
        return np.sum(np.expand_dims(latent, -1) > self.cutpoints, axis=-1)
