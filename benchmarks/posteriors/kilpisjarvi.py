"""A trend over years that are not centred: intercept and slope are almost one number."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

STAN = """
data { int N; matrix[N, 1] year; vector[N] y; vector[2] intercept_prior; vector[2] slope_prior; }
parameters { real alpha; real beta; real<lower=0> sigma; }
model {
  alpha ~ normal(intercept_prior[1], intercept_prior[2]);
  beta ~ normal(slope_prior[1], slope_prior[2]);
  y ~ normal_id_glm(year, alpha, [beta]', sigma);
}
"""


def data() -> dict[str, Any]:
    """Years, temperatures, and the priors' means and standard deviations."""
    from probdiff.models.zoo import load

    d = load("kilpisjarvi")
    priors = {"intercept_prior": d.intercept_prior, "slope_prior": d.slope_prior}
    return {"N": len(d.year), "year": d.year[:, None], "y": d.temperature, **priors}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import numpyro
    from numpyro import distributions as dist
    from numpyro.distributions import constraints

    def model() -> None:
        alpha = numpyro.sample("alpha", dist.Normal(*d.intercept_prior))
        beta = numpyro.sample("beta", dist.Normal(*d.slope_prior))
        sigma = numpyro.sample("sigma", dist.ImproperUniform(constraints.positive, (), ()))
        with numpyro.plate("row", d.N):
            numpyro.sample("y", dist.Normal(alpha + beta * d.year[:, 0], sigma), obs=d.y)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    with pm.Model() as model:
        alpha = pm.Normal("alpha", *d.intercept_prior)
        beta = pm.Normal("beta", *d.slope_prior)
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", alpha + beta * d.year[:, 0], sigma, observed=d.y)
    return model
