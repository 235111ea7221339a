"""Party identification in 1980 (Gelman & Hill 2006, ch. 4)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def nes() -> Posterior:
    """partyid7 ~ Normal(beta · (1, ideology, race, three age groups, education, gender, income), sigma), all flat."""
    data = load("nes1980")
    ages = [data.age_discrete == group for group in (2, 3, 4)]
    columns = [data.real_ideo, data.race_adj, *ages, data.educ1, data.gender, data.income]
    design = np.stack([np.ones_like(data.income), *columns], axis=1)
    names = ["intercept", "ideology", "race", "age 2", "age 3", "age 4", "education", "gender", "income"]
    prior = Joint(beta=Flat().iid("predictor"), sigma=Flat(positive))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(prior, observe, data.partyid7, coords={"predictor": names})
