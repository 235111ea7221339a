"""An autoregressive series of order five."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import HalfCauchy, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array

LAGS = 5


def ar5() -> Posterior:
    """y[t] ~ Normal(alpha + beta[0] y[t-1] + … + beta[4] y[t-5], sigma), given the first five values."""
    y = load("ar5").y
    past = np.stack([y[LAGS - lag : len(y) - lag] for lag in range(1, LAGS + 1)], axis=1)
    prior = Joint(alpha=Normal(0, 10), beta=Normal(0, 10).iid("lag"), sigma=HalfCauchy(2.5))

    def observe(alpha: Array, beta: Array, sigma: Array) -> Normal:
        return Normal(alpha + past @ beta, sigma)

    return Posterior(prior, observe, y[LAGS:], coords={"lag": range(1, LAGS + 1)})
