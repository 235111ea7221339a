"""Children's test scores, by their mother's schooling, IQ, and both (Gelman & Hill 2006, ch. 3)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, HalfCauchy, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def kidscore_interaction() -> Posterior:
    """kid_score ~ Normal(beta · (1, mom_hs, mom_iq, mom_hs mom_iq), sigma), beta flat; IQ is not centred."""
    data = load("kidiq")
    design = np.stack([np.ones_like(data.mom_iq), data.mom_hs, data.mom_iq, data.mom_hs * data.mom_iq], axis=1)
    prior = Joint(beta=Flat().iid("predictor"), sigma=HalfCauchy(2.5))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(prior, observe, data.kid_score, coords={"predictor": ["intercept", "mom_hs", "mom_iq", "hs:iq"]})
