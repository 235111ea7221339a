"""Daily returns whose log-variance wanders (Kim, Shephard & Chib 1998)."""

from __future__ import annotations

import numpy as np

from probdiff.ad.control import scan
from probdiff.distributions import Beta, Cauchy, HalfCauchy, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def stochastic_volatility() -> Posterior:
    """r[t] ~ Normal(0, exp((mu + h[t]) / 2)),  h[t] ~ Normal(phi h[t-1], scale),  (phi + 1) / 2 ~ Beta(20, 1.5).

    h starts in its stationary distribution, and is made from standard normal z.
    """
    returns = load("sp500").returns

    def volatility(phi: Array, mu: Array, scale: Array, z: Array) -> Array:
        def following(h: Array, shock: Array) -> tuple[Array, Array]:
            h = phi * h + shock
            return h, h

        first = scale * z[0] / np.sqrt(1 - phi**2)
        _, later = scan(following, first, scale * z[1:])
        return mu + np.concatenate([np.reshape(first, (1,)), later])

    prior = Joint(
        half=Beta(20, 1.5),
        phi=lambda half: 2 * half - 1,
        mu=Cauchy(0, 5),
        scale=HalfCauchy(2),
        z=Normal(0, 1).iid(len(returns)),
        log_volatility=volatility,
    )
    return Posterior(prior, lambda log_volatility: Normal(0, np.exp(log_volatility / 2)), returns)
