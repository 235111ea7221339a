"""A drive to the basket as a hidden Markov model with two states and two exponential emissions."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Dirichlet, Exponential, Flat, Normal
from probdiff.distributions.support import positive_ordered
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.variables import factor
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.forward_algorithm import forward_algorithm
from probdiff.tree import Array


def hmm_drive() -> Posterior:
    """u[t] ~ Exponential(rate phi[state]), v[t] ~ Exponential(rate lam[state]), both rates rising with the state."""
    data = load("basketball_drive")
    u, v = np.expand_dims(data.u, 1), np.expand_dims(data.v, 1)
    prior = Joint(
        transition=Dirichlet(data.transition_weights),
        phi=Flat(positive_ordered, 2),
        lam=Flat(positive_ordered, 2),
        near=factor(lambda phi, lam: Normal([0, 3], 1).logpdf(phi) + Normal([0, 3], 1).logpdf(lam)),
    )

    def loglike(transition: Array, phi: Array, lam: Array) -> Array:
        return forward_algorithm(transition, Exponential(rate=phi).logpdf(u) + Exponential(rate=lam).logpdf(v))

    return Posterior(prior, loglike=loglike)
