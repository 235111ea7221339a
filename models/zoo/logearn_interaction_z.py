"""Log earnings by standardised height and sex, with their interaction (Gelman & Hill 2006, ch. 4)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def logearn_interaction_z() -> Posterior:
    """log(earn) ~ Normal(beta · (1, z, male, z male), sigma) with z the standardised height, all flat."""
    data = load("earnings")
    z = (data.height - data.height.mean()) / data.height.std(ddof=1)
    design = np.stack([np.ones_like(z), z, data.male, z * data.male], axis=1)
    prior = Joint(beta=Flat().iid("predictor"), sigma=Flat(positive))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(prior, observe, np.log(data.earn), coords={"predictor": ["intercept", "z", "male", "z:male"]})
