"""Log leaf biomass of mesquite bushes by the logs of their sizes (Gelman & Hill 2006, ch. 4)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.mesquite import SIZES
from probdiff.tree import Array


def logmesquite() -> Posterior:
    """log(weight) ~ Normal(beta · (1, logs of two diameters, two heights and density, group), sigma), all flat."""
    data = load("mesquite")
    logs = [np.log(vars(data)[name]) for name in SIZES]
    design = np.stack([np.ones_like(data.weight), *logs, data.group], axis=1)
    prior = Joint(beta=Flat().iid("predictor"), sigma=Flat(positive))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(
        prior,
        observe,
        np.log(data.weight),
        coords={"predictor": ["intercept", *(f"log {name}" for name in SIZES), "group"]},
    )
