"""A mixture of two normal distributions."""

from __future__ import annotations

import math

import numpy as np

from probdiff.distributions import Beta, Flat, HalfNormal, Normal
from probdiff.distributions.support import interval
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def gauss_mix() -> Posterior:
    """y ~ theta Normal(mu[0], sigma[0]) + (1 - theta) Normal(mu[1], sigma[1]),  mu[0] < mu[1]."""
    y = load("gauss_mix").y
    prior = Joint(
        low=Normal(0, 2),
        high=lambda low: Flat(interval(low, math.inf)),
        mu=lambda low, high: np.stack([low, high]),
        sigma=HalfNormal(2).iid(2),
        theta=Beta(5, 5),
    )

    def loglike(high: Array, mu: Array, sigma: Array, theta: Array) -> Array:
        first = np.log(theta) + Normal(mu[0], sigma[0]).logpdf(y)
        second = np.log1p(-theta) + Normal(mu[1], sigma[1]).logpdf(y)
        # mu[1] has the prior of mu[0] wherever it is above it.
        return Normal(0, 2).logpdf(high) + np.sum(np.logaddexp(first, second))

    return Posterior(prior, loglike=loglike)
