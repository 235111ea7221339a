"""Hares and lynxes: a differential equation between the parameters and the data.

Stan's adaptive method is faster there than fixed steps written out, and is the one of posteriordb; the others have the
fixed steps of our model, which their scans are good at.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

STAN = """
functions {
  vector growth(real t, vector u, vector theta) {
    return [(theta[1] - theta[2] * u[2]) * u[1], (theta[4] * u[1] - theta[3]) * u[2]]';
  }
}
data { int N; array[N] real times; vector[2] first; array[N] vector[2] pelts; }
parameters { vector<lower=0>[4] theta; vector<lower=0>[2] start; vector<lower=0>[2] sigma; }
model {
  array[N] vector[2] u = ode_rk45_tol(growth, start, 0, times, 1e-5, 1e-3, 500, theta);
  theta ~ normal([1, 0.05, 1, 0.05]', [0.5, 0.05, 0.5, 0.05]');
  start ~ lognormal(log(10), 1);
  sigma ~ lognormal(-1, 1);
  first ~ lognormal(log(start), sigma);
  for (n in 1:N) pelts[n] ~ lognormal(log(u[n]), sigma);
}
"""
RATES = np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])
STEPS = 8  # a year, as in our model
RTOL = 1e-3  # of log-densities: Stan's solution has an absolute tolerance of 1e-3 in the populations


def data() -> dict[str, Any]:
    """Pelts a year, hares first."""
    from probdiff.models.zoo import load

    d = load("lynx_hare")
    pelts = np.stack([d.hare, d.lynx], axis=1)
    return {"N": len(pelts), "times": np.arange(1.0, len(pelts) + 1), "first": d.first, "pelts": pelts}


def advance(hare: Any, lynx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """One step of the classical Runge-Kutta method."""
    step = 1 / STEPS

    def growth(u: Any, v: Any) -> Any:
        return (a - b * v) * u, (d * u - c) * v

    u1, v1 = growth(hare, lynx)
    u2, v2 = growth(hare + step / 2 * u1, lynx + step / 2 * v1)
    u3, v3 = growth(hare + step / 2 * u2, lynx + step / 2 * v2)
    u4, v4 = growth(hare + step * u3, lynx + step * v3)
    return hare + step / 6 * (u1 + 2 * u2 + 2 * u3 + u4), lynx + step / 6 * (v1 + 2 * v2 + 2 * v3 + v4)


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro: a scan over the steps."""
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    def model() -> None:
        theta = numpyro.sample("theta", dist.TruncatedNormal(*RATES, low=0.0).to_event(1))
        start = numpyro.sample("start", dist.LogNormal(np.log(10), 1).expand([2]).to_event(1))
        sigma = numpyro.sample("sigma", dist.LogNormal(-1, 1).expand([2]).to_event(1))

        def following(state: Any, _: Any) -> Any:
            state = advance(*state, *theta)
            return state, jnp.stack(state)

        _, path = jax.lax.scan(following, (start[0], start[1]), None, length=STEPS * d.N)
        yearly = path[STEPS - 1 :: STEPS]
        numpyro.sample("first", dist.LogNormal(jnp.log(start), sigma).to_event(1), obs=d.first)
        numpyro.sample("pelts", dist.LogNormal(jnp.log(yearly), sigma).to_event(2), obs=d.pelts)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC: a scan over the steps."""
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    with pm.Model() as model:
        theta = pm.TruncatedNormal("theta", *RATES, lower=0, shape=4)
        start = pm.LogNormal("start", np.log(10), 1, shape=2)
        sigma = pm.LogNormal("sigma", -1, 1, shape=2)
        (hare, lynx), _ = pytensor.scan(
            advance,
            outputs_info=[start[0], start[1]],
            non_sequences=[theta[0], theta[1], theta[2], theta[3]],
            n_steps=STEPS * d.N,
            strict=True,
        )
        yearly = pt.stack([hare, lynx], axis=1)[STEPS - 1 :: STEPS]
        pm.LogNormal("first", pt.log(start), sigma, observed=d.first)
        pm.LogNormal("pelts", pt.log(yearly), sigma, observed=d.pelts)
    return model
