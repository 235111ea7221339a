"""An autoregressive series of order five, as a regression on its past."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

STAN = """
data { int N; int K; matrix[N, K] past; vector[N] y; }
parameters { real alpha; vector[K] beta; real<lower=0> sigma; }
model {
  alpha ~ normal(0, 10);
  beta ~ normal(0, 10);
  sigma ~ cauchy(0, 2.5);
  y ~ normal_id_glm(past, alpha, beta, sigma);
}
"""
LAGS = 5


def data() -> dict[str, Any]:
    """A row a year: the value, and those before it."""
    from probdiff.models.zoo import load

    y = load("ar5").y
    past = np.stack([y[LAGS - lag : len(y) - lag] for lag in range(1, LAGS + 1)], axis=1)
    return {"N": len(past), "K": LAGS, "past": past, "y": y[LAGS:]}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import numpyro
    from numpyro import distributions as dist

    def model() -> None:
        alpha = numpyro.sample("alpha", dist.Normal(0, 10))
        beta = numpyro.sample("beta", dist.Normal(0, 10).expand([d.K]).to_event(1))
        sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
        with numpyro.plate("time", d.N):
            numpyro.sample("y", dist.Normal(alpha + d.past @ beta, sigma), obs=d.y)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0, 10)
        beta = pm.Normal("beta", 0, 10, shape=d.K)
        sigma = pm.HalfCauchy("sigma", 2.5)
        pm.Normal("y", alpha + d.past @ beta, sigma, observed=d.y)
    return model
