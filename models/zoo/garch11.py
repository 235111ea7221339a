"""GARCH(1,1): a series whose variance follows its own past (Bollerslev 1986)."""

from __future__ import annotations

import numpy as np

from probdiff.ad.control import scan
from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import interval, positive, unit_interval
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def garch11() -> Posterior:
    """y[t] ~ Normal(mu, s[t]),  s[t]² = alpha0 + alpha1 (y[t-1] - mu)² + beta1 s[t-1]²,  alpha1 + beta1 < 1."""
    data = load("garch")
    prior = Joint(
        mu=Flat(),
        alpha0=Flat(positive),
        alpha1=Flat(unit_interval),
        beta1=lambda alpha1: Flat(interval(0.0, 1.0 - alpha1)),
    )

    def observe(mu: Array, alpha0: Array, alpha1: Array, beta1: Array) -> Normal:
        def following(variance: Array, y: Array) -> tuple[Array, Array]:
            return alpha0 + alpha1 * (y - mu) ** 2 + beta1 * variance, variance

        _, variance = scan(following, data.first_scale**2, data.y)
        return Normal(mu, np.sqrt(variance))

    return Posterior(prior, observe, data.y)
