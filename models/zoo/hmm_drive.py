"""A drive to the basket as a hidden Markov model with two states and two exponential emissions."""

from __future__ import annotations

import math

import numpy as np

from probdiff.distributions import Dirichlet, Exponential, Flat, HalfNormal, Normal
from probdiff.distributions.support import interval
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.forward_algorithm import forward_algorithm
from probdiff.tree import Array


def increasing_rates() -> Joint:
    """0 < low < high with low ~ Normal(0, 1); the factor Normal(3, 1) of `high` is with the likelihood."""
    return Joint(
        low=HalfNormal(1),
        high=lambda low: Flat(interval(low, math.inf)),
        rate=lambda low, high: np.stack([low, high]),
    )


def hmm_drive() -> Posterior:
    """u[t] ~ Exponential(rate phi[state]), v[t] ~ Exponential(rate lam[state]), both rates rising with the state."""
    data = load("basketball_drive")
    u, v = np.expand_dims(data.u, 1), np.expand_dims(data.v, 1)
    prior = Joint(transition=Dirichlet(data.transition_weights), phi=increasing_rates(), lam=increasing_rates())

    def loglike(transition: Array, phi: dict[str, Array], lam: dict[str, Array]) -> Array:
        emission = Exponential(rate=phi["rate"]).logpdf(u) + Exponential(rate=lam["rate"]).logpdf(v)
        # Unnormalised where `high` is above `low`, so they are no priors of their own.
        factors = Normal(3, 1).logpdf(phi["high"]) + Normal(3, 1).logpdf(lam["high"])
        return factors + forward_algorithm(transition, emission)

    return Posterior(prior, loglike=loglike)
