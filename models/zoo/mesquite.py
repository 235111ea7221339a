"""Leaf biomass of mesquite bushes by their size (Gelman & Hill 2006, ch. 4)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Flat, Normal
from probdiff.distributions.support import positive
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array

SIZES = ("diam1", "diam2", "canopy_height", "total_height", "density")


def mesquite() -> Posterior:
    """weight ~ Normal(beta · (1, two diameters, two heights, density, group), sigma), all flat."""
    data = load("mesquite")
    names = [*SIZES, "group"]
    design = np.stack([np.ones_like(data.weight), *(vars(data)[name] for name in names)], axis=1)
    prior = Joint(beta=Flat().iid("predictor"), sigma=Flat(positive))

    def observe(beta: Array, sigma: Array) -> Normal:
        return Normal(design @ beta, sigma)

    return Posterior(prior, observe, data.weight, coords={"predictor": ["intercept", *names]})
