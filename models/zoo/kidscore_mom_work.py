"""Children's test scores, by their mother's work (Gelman & Hill 2006, ch. 4)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def kidscore_mom_work() -> Posterior:
    """kid_score ~ Normal(beta[0] + beta[w - 1], sigma) for w = mom_work above 1, all flat."""
    data = load("kidiq")
    design = np.stack([np.ones_like(data.mom_work), *(data.mom_work == level for level in (2, 3, 4))], axis=1)
    prior = Joint(beta=Flat().iid("predictor"), sigma=Flat(positive))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(prior, observe, data.kid_score, coords={"predictor": ["intercept", "work 2", "work 3", "work 4"]})
