"""A hidden Markov model with two states and normal emissions."""

from __future__ import annotations

import math

import numpy as np

from probdiff.distributions import Dirichlet, Flat, Normal, truncated
from probdiff.distributions.support import interval
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.forward_algorithm import forward_algorithm
from probdiff.tree import Array


def hmm_example() -> Posterior:
    """y[t] ~ Normal(mu[state], 1) with 0 < mu[0] < mu[1]; row k of `transition` is where state k goes."""
    y = np.expand_dims(load("hmm_example").y, 1)
    prior = Joint(
        transition=Dirichlet(np.ones((2, 2))),
        low=truncated(Normal(3, 1), lower=0.0),
        high=lambda low: Flat(interval(low, math.inf)),
        mu=lambda low, high: np.stack([low, high]),
    )

    def loglike(transition: Array, high: Array, mu: Array) -> Array:
        # The prior of mu[1] is Normal(10, 1) wherever it is above mu[0]: no term for the part that is cut off.
        return Normal(10, 1).logpdf(high) + forward_algorithm(transition, Normal(mu, 1).logpdf(y))

    return Posterior(prior, loglike=loglike)
