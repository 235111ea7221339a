"""Eight schools, not centred."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

STAN = """
data { int N; vector[N] y; vector[N] sigma; }
parameters { real mu; real<lower=0> tau; vector[N] z; }
transformed parameters { vector[N] theta = mu + tau * z; }
model {
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
  z ~ std_normal();
  y ~ normal(theta, sigma);
}
"""


def data() -> dict[str, Any]:
    """Effects and their standard errors."""
    from probdiff.models.zoo import load

    d = load("eight_schools")
    return {"N": len(d.y), "y": d.y, "sigma": d.sigma}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import numpyro
    from numpyro import distributions as dist

    def model() -> None:
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("school", d.N):
            z = numpyro.sample("z", dist.Normal(0, 1))
            theta = numpyro.deterministic("theta", mu + tau * z)
            numpyro.sample("y", dist.Normal(theta, d.sigma), obs=d.y)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=d.N)
        theta = pm.Deterministic("theta", mu + tau * z)
        pm.Normal("y", theta, d.sigma, observed=d.y)
    return model
