"""Logit-normal: a share whose log-odds are normal."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit, logit

from probdiff.distributions import bijectors
from probdiff.distributions.base import Distribution
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.from_normal import FromNormal
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, Real, open_unit_interval
from probdiff.distributions.univariate.continuous.normal import (
    Normal,
    normal_parameters,
    normal_partition,
    normal_start,
    normal_statistics,
)
from probdiff.tree import Array


class LogitNormal(FromNormal):
    """p(x) = exp(-z² / 2) / (x (1 - x) scale sqrt(2π)),  z = (log(x / (1 - x)) - loc) / scale,  0 < x < 1.

    loc    real      mean of the log-odds
    scale  positive  standard deviation of the log-odds

    Atchison & Shen, Logistic-normal distributions: some properties and uses, Biometrika 67 (1980).
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = open_unit_interval

    def logpdf(self, x: Array) -> Array:
        z = self._normal(x)
        return -0.5 * z * z - np.log(x) - np.log1p(-x) - np.log(self.scale) - HALF_LOG_2PI

    def latent(self) -> tuple[Distribution, bijectors.Bijector]:
        return Normal(self.loc, self.scale, check=False), bijectors.Interval(0.0, 1.0)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(
            lambda x: normal_statistics(logit(x)),
            normal_parameters(self.loc, self.scale),
            normal_partition(self.loc, self.scale),
        )

    @classmethod
    def start_statistics(cls, *means: Array) -> dict[str, Any]:
        return normal_start(*means)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        odds = logit(x)
        mean = np.sum(w * odds)
        return cls(mean, np.sqrt(np.sum(w * (odds - mean) ** 2)))

    def _normal(self, x: Array) -> Array:
        return (logit(x) - self.loc) / self.scale

    def _from_normal(self, w: Array) -> Array:
        return expit(self.loc + self.scale * w)


@closed_form(LogitNormal, LogitNormal)
def _divergence(p: LogitNormal, q: LogitNormal) -> Array:
    ratio = p.scale / q.scale
    return 0.5 * (ratio**2 - 1 + ((p.loc - q.loc) / q.scale) ** 2) - np.log(ratio)
