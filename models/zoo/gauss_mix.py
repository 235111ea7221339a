"""A mixture of two normal distributions."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Beta, Flat, HalfNormal, Normal
from probdiff.distributions.support import ordered
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.variables import factor
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def gauss_mix() -> Posterior:
    """y ~ theta Normal(mu[0], sigma[0]) + (1 - theta) Normal(mu[1], sigma[1]),  mu[0] < mu[1]."""
    y = load("gauss_mix").y
    prior = Joint(
        mu=Flat(ordered, 2),
        near=factor(lambda mu: Normal(0, 2).logpdf(mu)),
        sigma=HalfNormal(2).iid(2),
        theta=Beta(5, 5),
    )

    def loglike(mu: Array, sigma: Array, theta: Array) -> Array:
        first = np.log(theta) + Normal(mu[0], sigma[0]).logpdf(y)
        second = np.log1p(-theta) + Normal(mu[1], sigma[1]).logpdf(y)
        return np.logaddexp(first, second)

    return Posterior(prior, loglike=loglike)
