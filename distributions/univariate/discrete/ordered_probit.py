"""OrderedProbit: ordered categories, where a normal variable falls between cutpoints."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from probdiff.distributions.base import Discrete
from probdiff.distributions.summation import pick
from probdiff.distributions.support import Integers, Positive, Real, integer_interval, ordered
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.tree import Array


class OrderedProbit(Discrete):
    """P(X <= k) = Φ((cutpoints_k - eta) / scale),  k = 0, …, K - 1, with K - 1 cutpoints.

    eta        real             the linear predictor: the larger, the higher the category
    cutpoints  rising strictly  along the last axis
    scale      positive         standard deviation of the normal variable

    McCullagh, Regression models for ordinal data, JRSS B 42 (1980).
    """

    eta: Real
    cutpoints: Annotated[Any, ordered]
    scale: Positive = 1.0

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, float(self.cutpoints.shape[-1]))

    def logpdf(self, x: Array) -> Array:
        last = self.cutpoints.shape[-1] - 1
        below, above = self._z(np.maximum(x - 1, 0)), self._z(np.minimum(x, last))
        between = STANDARD.logdiffcdf(below, above)
        return np.where(x < 1, log_ndtr(above), np.where(x > last, log_ndtr(-below), between))

    def cdf(self, x: Array) -> Array:
        return ndtr(self._z(x))

    def ccdf(self, x: Array) -> Array:
        return ndtr(-self._z(x))

    def logcdf(self, x: Array) -> Array:
        return log_ndtr(self._z(x))

    def logccdf(self, x: Array) -> Array:
        return log_ndtr(-self._z(x))

    def mean(self) -> Array:
        return np.sum(ndtr((np.expand_dims(self.eta, -1) - self.cutpoints) / np.expand_dims(self.scale, -1)), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        latent = self.eta + self.scale * rng.standard_normal(shape)
        return np.sum(np.expand_dims(latent, -1) > self.cutpoints, axis=-1)

    def _z(self, k: Array) -> Array:
        return (pick(self.cutpoints, k) - self.eta) / self.scale


STANDARD = Normal(0.0, 1.0)
