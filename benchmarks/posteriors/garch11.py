"""GARCH(1,1): flat priors, and a bound that depends on another parameter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

STAN = """
data { int N; vector[N] y; real<lower=0> first_scale; }
parameters {
  real mu;
  real<lower=0> alpha0;
  real<lower=0, upper=1> alpha1;
  real<lower=0, upper=1 - alpha1> beta1;
}
model {
  vector[N] s;
  s[1] = first_scale;
  for (t in 2:N) s[t] = sqrt(alpha0 + alpha1 * square(y[t - 1] - mu) + beta1 * square(s[t - 1]));
  y ~ normal(mu, s);
}
"""


def data() -> dict[str, Any]:
    """The series, and the scale of its first value."""
    from probdiff.models.zoo import load

    d = load("garch")
    return {"N": len(d.y), "y": d.y, "first_scale": float(d.first_scale)}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro: a scan over the variance."""
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist
    from numpyro.distributions import constraints

    def model() -> None:
        mu = numpyro.sample("mu", dist.ImproperUniform(constraints.real, (), ()))
        alpha0 = numpyro.sample("alpha0", dist.ImproperUniform(constraints.positive, (), ()))
        alpha1 = numpyro.sample("alpha1", dist.Uniform(0, 1))
        beta1 = numpyro.sample("beta1", dist.Uniform(0, 1 - alpha1))
        numpyro.factor("flat", jnp.log1p(-alpha1))

        def following(variance: Any, y: Any) -> Any:
            return alpha0 + alpha1 * (y - mu) ** 2 + beta1 * variance, variance

        _, variance = jax.lax.scan(following, d.first_scale**2, d.y)
        numpyro.sample("y", dist.Normal(mu, jnp.sqrt(variance)), obs=d.y)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC: a scan over the variance."""
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    first = np.array(d.first_scale**2)
    with pm.Model() as model:
        mu = pm.Flat("mu")
        alpha0 = pm.HalfFlat("alpha0")
        alpha1 = pm.Uniform("alpha1", 0, 1)
        beta1 = pm.Uniform("beta1", 0, 1 - alpha1)
        pm.Potential("flat", pt.log1p(-alpha1))
        variance, _ = pytensor.scan(
            lambda y, variance, mu, a0, a1, b1: a0 + a1 * (y - mu) ** 2 + b1 * variance,
            sequences=[pt.as_tensor(d.y[:-1])],
            outputs_info=[pt.as_tensor(first)],
            non_sequences=[mu, alpha0, alpha1, beta1],
            strict=True,
        )
        variance = pt.concatenate([first[None], variance])
        pm.Normal("y", mu, pt.sqrt(variance), observed=d.y)
    return model
