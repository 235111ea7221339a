"""Counts along a line, their log rate a Gaussian process, not centred."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

STAN = """
data { int N; array[N] real x; array[N] int k; }
parameters { real<lower=0> rho; real<lower=0> alpha; vector[N] z; }
transformed parameters {
  vector[N] f = cholesky_decompose(add_diag(gp_exp_quad_cov(x, alpha, rho), 1e-10)) * z;
}
model {
  rho ~ gamma(25, 4);
  alpha ~ normal(0, 2);
  z ~ std_normal();
  k ~ poisson_log(f);
}
"""


def data() -> dict[str, Any]:
    """Places and counts."""
    from probdiff.models.zoo import load

    d = load("gp_counts")
    return {"N": len(d.x), "x": d.x, "k": d.k.astype(int)}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    square, jitter = (d.x[:, None] - d.x) ** 2, 1e-10 * np.eye(d.N)

    def model() -> None:
        rho = numpyro.sample("rho", dist.Gamma(25, 4))
        alpha = numpyro.sample("alpha", dist.HalfNormal(2))
        z = numpyro.sample("z", dist.Normal(0, 1).expand([d.N]).to_event(1))
        K = alpha**2 * jnp.exp(-square / (2 * rho**2)) + jitter
        f = numpyro.deterministic("f", jnp.linalg.cholesky(K) @ z)
        with numpyro.plate("place", d.N):
            numpyro.sample("k", dist.Poisson(jnp.exp(f)), obs=d.k)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm
    import pytensor.tensor as pt

    square, jitter = (d.x[:, None] - d.x) ** 2, 1e-10 * np.eye(d.N)
    with pm.Model() as model:
        rho = pm.Gamma("rho", 25, 4)
        alpha = pm.HalfNormal("alpha", 2)
        z = pm.Normal("z", 0, 1, shape=d.N)
        K = alpha**2 * pt.exp(-square / (2 * rho**2)) + jitter
        f = pm.Deterministic("f", pt.linalg.cholesky(K) @ z)
        pm.Poisson("k", pt.exp(f), observed=d.k)
    return model
