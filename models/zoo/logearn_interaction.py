"""Log earnings by height and sex, with their interaction (Gelman & Hill 2006, ch. 4)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def logearn_interaction() -> Posterior:
    """log(earn) ~ Normal(beta · (1, height, male, height male), sigma), all flat; height is not centred."""
    data = load("earnings")
    design = np.stack([np.ones_like(data.height), data.height, data.male, data.height * data.male], axis=1)
    names = ["intercept", "height", "male", "height:male"]
    prior = Joint(beta=Flat().iid("predictor"), sigma=Flat(positive))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(prior, observe, np.log(data.earn), coords={"predictor": names})
