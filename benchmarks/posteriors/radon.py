"""Radon in 919 houses of 85 counties, the counties' effects not centred."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

STAN = """
data { int N; int J; int K; matrix[N, K] X; array[N] int county; vector[N] y; }
parameters {
  real mean;
  real<lower=0, upper=100> scale;
  vector[J] z;
  vector[K] w;
  real<lower=0, upper=100> sigma;
}
transformed parameters { vector[J] county_effect = mean + scale * z; }
model {
  mean ~ std_normal();
  z ~ std_normal();
  w ~ std_normal();
  y ~ normal_id_glm(X, county_effect[county], w, sigma);
}
"""


def data() -> dict[str, Any]:
    """Log radon; columns of uranium, floor and the county's mean floor; counties, counted from one."""
    from probdiff.models.zoo import load

    d = load("radon")
    county = d.county.astype(int)
    floor_by_county = np.bincount(county, d.floor) / np.bincount(county)
    X = np.stack([d.log_uranium[county], d.floor, floor_by_county[county]], axis=1)
    sizes = {"N": len(county), "J": len(floor_by_county), "K": X.shape[1]}
    return {**sizes, "X": X, "county": county + 1, "y": np.log(d.radon)}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import numpyro
    from numpyro import distributions as dist

    def model() -> None:
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        scale = numpyro.sample("scale", dist.Uniform(0, 100))
        with numpyro.plate("counties", d.J):
            z = numpyro.sample("z", dist.Normal(0, 1))
            county_effect = numpyro.deterministic("county_effect", mean + scale * z)
        w = numpyro.sample("w", dist.Normal(0, 1).expand([d.K]).to_event(1))
        sigma = numpyro.sample("sigma", dist.Uniform(0, 100))
        with numpyro.plate("houses", d.N):
            numpyro.sample("y", dist.Normal(d.X @ w + county_effect[d.county - 1], sigma), obs=d.y)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 1)
        scale = pm.Uniform("scale", 0, 100)
        z = pm.Normal("z", 0, 1, shape=d.J)
        county_effect = pm.Deterministic("county_effect", mean + scale * z)
        w = pm.Normal("w", 0, 1, shape=d.K)
        sigma = pm.Uniform("sigma", 0, 100)
        pm.Normal("y", d.X @ w + county_effect[d.county - 1], sigma, observed=d.y)
    return model
