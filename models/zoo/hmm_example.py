"""A hidden Markov model with two states and normal emissions."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Dirichlet, Flat, Normal
from probdiff.distributions.support import positive_ordered
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.variables import factor
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.forward_algorithm import forward_algorithm
from probdiff.tree import Array


def hmm_example() -> Posterior:
    """y[t] ~ Normal(mu[state], 1) with 0 < mu[0] < mu[1]; row k of `transition` is where state k goes."""
    y = np.expand_dims(load("hmm_example").y, 1)
    prior = Joint(
        transition=Dirichlet(np.ones((2, 2))),
        mu=Flat(positive_ordered, 2),
        near=factor(lambda mu: Normal([3, 10], 1).logpdf(mu)),
    )

    def loglike(transition: Array, mu: Array) -> Array:
        return forward_algorithm(transition, Normal(mu, 1).logpdf(y))

    return Posterior(prior, loglike=loglike)
