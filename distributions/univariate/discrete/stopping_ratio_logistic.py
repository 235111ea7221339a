"""StoppingRatioLogistic: ordered categories, reached one after the other, each stopping with a logistic probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from probdiff.distributions.base import Discrete
from probdiff.distributions.summation import pick
from probdiff.distributions.support import Integers, Real, RealVector, integer_interval
from probdiff.special import log1mexp
from probdiff.tree import Array


class StoppingRatioLogistic(Discrete):
    """P(X = k | X >= k) = 1 / (1 + exp(eta - cutpoints_k)),  k = 0, …, K - 1, with K - 1 cutpoints.

    eta        real    the linear predictor: the larger, the higher the category
    cutpoints  vector  along the last axis; they need not rise

    The sequential, or continuation-ratio, model: Tutz, Sequential models in categorical regression, Comp. Stat. & Data
    Analysis 11 (1991).
    """

    eta: Real
    cutpoints: RealVector

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, float(self.cutpoints.shape[-1]))

    def logpdf(self, x: Array) -> Array:
        last = self.cutpoints.shape[-1]
        stops = log_expit(pick(self.cutpoints, np.minimum(x, last - 1)) - self.eta)
        return self._passed(x) + np.where(x < last, stops, 0.0)

    def logccdf(self, x: Array) -> Array:
        return self._passed(x + 1)

    def logcdf(self, x: Array) -> Array:
        return log1mexp(self._passed(x + 1))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        stop = rng.random((*shape, self.cutpoints.shape[-1])) < expit(self.cutpoints - np.expand_dims(self.eta, -1))
        return np.where(np.any(stop, axis=-1), np.argmax(stop, axis=-1), self.cutpoints.shape[-1])

    def _passed(self, k: Array) -> Array:
        """log P(X >= k)."""
        steps = log_expit(np.expand_dims(self.eta, -1) - self.cutpoints)
        return np.sum(np.where(np.arange(self.cutpoints.shape[-1]) < np.expand_dims(k, -1), steps, 0.0), axis=-1)
