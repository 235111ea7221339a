"""A random walk seen through noise, with nothing seen in its middle."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Normal, noncentered
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load


def brownian_motion() -> Posterior:
    """x[t] = x[t-1] + step[t], step ~ Normal(0, q);  y[t] ~ Normal(x[t], r) where seen. The posterior is normal."""
    data = load("brownian_motion")
    prior = Joint(step=noncentered(Normal(0, data.innovation_scale)).iid(len(data.y)), x=lambda step: np.cumsum(step))
    return Posterior(prior, lambda x: Normal(x, data.noise_scale), data.y, missing="skip")
