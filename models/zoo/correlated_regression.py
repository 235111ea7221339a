"""A regression without intercept whose coefficients are correlated."""

from __future__ import annotations

from probdiff.distributions import HalfNormal, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def correlated_regression() -> Posterior:
    """y ~ Normal(X beta, sigma)."""
    data = load("correlated_regression")
    prior = Joint(beta=Normal(0, 10).iid(5), sigma=HalfNormal(10))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(data.X @ beta, sigma)

    return Posterior(prior, observe, data.y)
