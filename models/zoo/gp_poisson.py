"""Counts along a line, their log rate a Gaussian process."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Gamma, HalfNormal, Normal, Poisson
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def gp_poisson() -> Posterior:
    """k ~ Poisson(exp(f)),  f = chol(K) z,  K[i, j] = alpha² exp(-(x[i] - x[j])² / (2 rho²)) + 1e-10 [i = j]."""
    data = load("gp_counts")
    square = (data.x[:, None] - data.x) ** 2
    jitter = 1e-10 * np.eye(len(data.x))

    def process(rho: Array, alpha: Array, z: Array) -> Array:
        return np.linalg.cholesky(alpha**2 * np.exp(-square / (2 * rho**2)) + jitter) @ z

    prior = Joint(rho=Gamma(25, rate=4), alpha=HalfNormal(2), z=Normal(0, 1).iid(len(data.x)), f=process)
    return Posterior(prior, lambda f: Poisson(np.exp(f)), data.k)
