"""Log earnings by log height and sex (Gelman & Hill 2006, ch. 4)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def logearn_logheight_male() -> Posterior:
    """log(earn) ~ Normal(beta[0] + beta[1] log(height) + beta[2] male, sigma), all flat."""
    data = load("earnings")
    design = np.stack([np.ones_like(data.height), np.log(data.height), data.male], axis=1)
    prior = Joint(beta=Flat().iid("predictor"), sigma=Flat(positive))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(prior, observe, np.log(data.earn), coords={"predictor": ["intercept", "log height", "male"]})
