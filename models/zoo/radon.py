"""Radon in the houses of Minnesota: counties with much data and little (Gelman & Hill 2006, ch. 12)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Normal, Uniform, noncentered
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def radon() -> Posterior:
    """log(radon) ~ Normal(w · (log_uranium, floor, mean floor of the county) + county_effect[county], sigma)."""
    data = load("radon")
    county = data.county.astype(int)
    floor_by_county = np.bincount(county, data.floor) / np.bincount(county)
    X = np.stack([data.log_uranium[county], data.floor, floor_by_county[county]], axis=1)
    prior = Joint(
        mean=Normal(0, 1),
        scale=Uniform(0, 100),
        county_effect=lambda mean, scale: noncentered(Normal(mean, scale)).iid(len(floor_by_county)),
        w=Normal(0, 1).iid("predictor"),
        sigma=Uniform(0, 100),
    )

    def observe(w: Array, county_effect: Array, sigma: Array) -> Normal:
        return Normal(X @ w + county_effect[county], sigma)

    coords = {"predictor": ["log_uranium", "floor", "floor_by_county"]}
    return Posterior(prior, observe, np.log(data.radon), coords=coords)
