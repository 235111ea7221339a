"""Summer temperature in Kilpisjärvi, Finland: a trend over years that are not centred (Bales et al. 2019)."""

from __future__ import annotations

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def kilpisjarvi() -> Posterior:
    """temperature ~ Normal(alpha + beta year, sigma), sigma flat: alpha and beta are almost one number."""
    data = load("kilpisjarvi")
    prior = Joint(alpha=Normal(*data.intercept_prior), beta=Normal(*data.slope_prior), sigma=Flat(positive))

    def observe(alpha: Array, beta: Array, sigma: Array) -> Normal:
        return Normal(alpha + beta * data.year, sigma)

    return Posterior(prior, observe, data.temperature)
