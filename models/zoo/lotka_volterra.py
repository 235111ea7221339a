"""Hares and lynxes: predators and prey by the Lotka-Volterra equations (Howard 2009)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import LogNormal, Normal, truncated
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.runge_kutta import runge_kutta
from probdiff.tree import Array

# Steps a year. At the posterior, 8 give log-densities right to 1e-4.
STEPS = 8


def lotka_volterra() -> Posterior:
    """du/dt = (theta[0] - theta[1] v) u,  dv/dt = (theta[3] u - theta[2]) v;  pelts ~ LogNormal(log (u, v), sigma)."""
    data = load("lynx_hare")
    pelts = np.stack([data.hare, data.lynx], axis=1)
    prior = Joint(
        theta=truncated(Normal([1.0, 0.05, 1.0, 0.05], [0.5, 0.05, 0.5, 0.05]), lower=0.0),
        start=LogNormal(np.log(10), 1).iid("species"),
        sigma=LogNormal(-1, 1).iid("species"),
    )

    def observe(theta: Array, start: Array, sigma: Array) -> dict[str, LogNormal]:
        def growth(t: Array, population: Array) -> Array:
            hare, lynx = population[0], population[1]
            return np.stack([(theta[0] - theta[1] * lynx) * hare, (theta[3] * hare - theta[2]) * lynx])

        path = runge_kutta(growth, start, np.linspace(0, len(pelts), STEPS * len(pelts) + 1))
        yearly = path[STEPS - 1 :: STEPS]
        return {"first": LogNormal(np.log(start), sigma), "pelts": LogNormal(np.log(yearly), sigma)}

    return Posterior(prior, observe, {"first": data.first, "pelts": pelts}, coords={"species": ["hare", "lynx"]})
