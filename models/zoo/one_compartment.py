"""A drug taken by mouth: absorption of first order, elimination that saturates (Michaelis-Menten)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import HalfCauchy, LogNormal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.runge_kutta import runge_kutta
from probdiff.tree import Array

# Steps between measurements, and in the first interval, where a small K_m takes C up in a moment: they grow from zero.
STEPS, FIRST_STEPS = 4, 32


def grid(times: np.ndarray) -> np.ndarray:
    """Equal steps that meet every measurement, after quadratically growing ones from zero to the first."""
    first = times[0] * np.linspace(0, 1, FIRST_STEPS + 1) ** 2
    later = np.linspace(times[0], times[-1], STEPS * (len(times) - 1) + 1)
    return np.concatenate([first, later[1:]])


def one_compartment() -> Posterior:
    """dC/dt = (k_a D exp(-k_a t) - V_m C / (K_m + C)) / V from C(0) = 0;  C_hat ~ LogNormal(log C, sigma)."""
    data = load("one_compartment")
    prior = Joint(k_a=HalfCauchy(1), K_m=HalfCauchy(1), V_m=HalfCauchy(1), sigma=HalfCauchy(1))

    def observe(k_a: Array, K_m: Array, V_m: Array, sigma: Array) -> LogNormal:
        def change(t: Array, C: Array) -> Array:
            return (data.dose * k_a * np.exp(-k_a * t) - V_m * C / (K_m + C)) / data.volume

        path = runge_kutta(change, 0.0, grid(data.times))
        return LogNormal(np.log(path[FIRST_STEPS - 1 :: STEPS]), sigma)

    return Posterior(prior, observe, data.concentration)
