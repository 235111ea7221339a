"""Linear regression with flat coefficients, for the posteriors that are one; the columns' first is the intercept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def stan(prior: str) -> str:
    """The program, with this statement for sigma."""
    return f"""
data {{ int N; int K; matrix[N, K] X; vector[N] y; }}
parameters {{ vector[K] beta; real<lower=0> sigma; }}
model {{
  {prior}
  y ~ normal_id_glm(X, 0, beta, sigma);
}}
"""


def numpyro(d: SimpleNamespace, prior: Any) -> Any:
    """The model for NumPyro, with this distribution of sigma."""
    import numpyro
    from numpyro import distributions as dist
    from numpyro.distributions import constraints

    def model() -> None:
        beta = numpyro.sample("beta", dist.ImproperUniform(constraints.real_vector, (), (d.K,)))
        sigma = numpyro.sample("sigma", prior)
        with numpyro.plate("row", d.N):
            numpyro.sample("y", dist.Normal(d.X @ beta, sigma), obs=d.y)

    return model


def pymc(d: SimpleNamespace, prior: Any) -> Any:
    """The model for PyMC; `prior("sigma")` makes sigma."""
    import pymc as pm

    with pm.Model() as model:
        beta = pm.Flat("beta", shape=d.K)
        sigma = prior("sigma")
        pm.Normal("y", d.X @ beta, sigma, observed=d.y)
    return model
