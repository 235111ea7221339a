"""A hidden Markov model with two states and normal emissions, its states summed out.

All have the forward algorithm with probabilities that are scaled at each step, and as coordinates of mu the logarithms
of its first entry and of the gap.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

OTHER_COORDINATES = ("stanli", "stanli, dense", "nutpie")  # of simplexes; NumPyro has those of our model
STAN = """
data { int N; int K; vector[N] y; vector[K] near; }
parameters { array[K] simplex[K] transition; positive_ordered[K] mu; }
model {
  matrix[K, K] rows;
  matrix[N, K] emission;
  row_vector[K] state;
  vector[N] total;
  for (k in 1:K) {
    rows[k] = transition[k]';
    emission[, k] = exp(-0.5 * square(y - mu[k]));
  }
  mu ~ normal(near, 1);
  total[1] = sum(emission[1]);
  state = emission[1] / total[1];
  for (t in 2:N) {
    state = (state * rows) .* emission[t];
    total[t] = sum(state);
    state /= total[t];
  }
  target += sum(log(total));
}
"""


def data() -> dict[str, Any]:
    """The series, and where the states' means are thought to be."""
    from probdiff.models.zoo import load

    y = load("hmm_example").y
    return {"N": len(y), "K": 2, "y": y, "near": np.array([3.0, 10.0])}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist
    from numpyro.distributions import constraints

    def model() -> None:
        transition = numpyro.sample("transition", dist.Dirichlet(jnp.ones((d.K, d.K))).to_event(1))
        least = numpyro.sample("least", dist.ImproperUniform(constraints.positive, (), ()))
        gap = numpyro.sample("gap", dist.ImproperUniform(constraints.positive, (), ()))
        mu = numpyro.deterministic("mu", jnp.stack([least, least + gap]))
        numpyro.factor("near", dist.Normal(d.near, 1.0).log_prob(mu).sum())
        emission = jnp.exp(-0.5 * (d.y[:, None] - mu) ** 2)

        def following(state: Any, emitted: Any) -> Any:
            joint = (state @ transition) * emitted
            total = joint.sum()
            return joint / total, total

        first = emission[0].sum()
        _, totals = jax.lax.scan(following, emission[0] / first, emission[1:])
        numpyro.factor("y", jnp.log(first) + jnp.log(totals).sum())

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC, whose scan prefers numbers to small arrays."""
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    def following(e0: Any, e1: Any, p0: Any, p1: Any, t00: Any, t01: Any, t10: Any, t11: Any) -> Any:
        a, b = (p0 * t00 + p1 * t10) * e0, (p0 * t01 + p1 * t11) * e1
        return a / (a + b), b / (a + b), a + b

    with pm.Model() as model:
        transition = pm.Dirichlet("transition", np.ones((d.K, d.K)))
        least = pm.HalfFlat("least")
        gap = pm.HalfFlat("gap")
        mu = pm.Deterministic("mu", pt.stack([least, least + gap]))
        pm.Potential("near", pm.logp(pm.Normal.dist(d.near, 1), mu).sum())
        e = pt.exp(-0.5 * (d.y[:, None] - mu) ** 2)
        first = e[0].sum()
        (_, _, totals), _ = pytensor.scan(
            following,
            sequences=[e[1:, 0], e[1:, 1]],
            outputs_info=[e[0, 0] / first, e[0, 1] / first, None],
            non_sequences=[transition[0, 0], transition[0, 1], transition[1, 0], transition[1, 1]],
            strict=True,
        )
        pm.Potential("y", pt.log(first) + pt.log(totals).sum())
    return model
