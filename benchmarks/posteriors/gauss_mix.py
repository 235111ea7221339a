"""A mixture of two normal distributions with ordered means."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

STAN = """
data { int N; vector[N] y; }
parameters { ordered[2] mu; vector<lower=0>[2] sigma; real<lower=0, upper=1> theta; }
model {
  mu ~ normal(0, 2);
  sigma ~ normal(0, 2);
  theta ~ beta(5, 5);
  for (n in 1:N)
    target += log_mix(theta, normal_lpdf(y[n] | mu[1], sigma[1]), normal_lpdf(y[n] | mu[2], sigma[2]));
}
"""


def data() -> dict[str, Any]:
    """The observations."""
    from probdiff.models.zoo import load

    y = load("gauss_mix").y
    return {"N": len(y), "y": y}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist
    from numpyro.distributions import constraints

    def model() -> None:
        mu = numpyro.sample("mu", dist.ImproperUniform(constraints.ordered_vector, (), (2,)))
        numpyro.factor("near", dist.Normal(0, 2).log_prob(mu).sum())
        sigma = numpyro.sample("sigma", dist.HalfNormal(2).expand([2]).to_event(1))
        theta = numpyro.sample("theta", dist.Beta(5, 5))
        first = jnp.log(theta) + dist.Normal(mu[0], sigma[0]).log_prob(d.y)
        second = jnp.log1p(-theta) + dist.Normal(mu[1], sigma[1]).log_prob(d.y)
        numpyro.factor("y", jnp.logaddexp(first, second).sum())

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2, shape=2, transform=pm.distributions.transforms.ordered, initval=np.array([-1, 1]))
        sigma = pm.HalfNormal("sigma", 2, shape=2)
        theta = pm.Beta("theta", 5, 5)
        first = pt.log(theta) + pm.logp(pm.Normal.dist(mu[0], sigma[0]), d.y)
        second = pt.log1p(-theta) + pm.logp(pm.Normal.dist(mu[1], sigma[1]), d.y)
        pm.Potential("y", pt.logaddexp(first, second).sum())
    return model
