"""What a diamond costs: a regression on 24 strongly correlated columns of 5000 stones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

STAN = """
data { int N; int K; matrix[N, K] X; vector[N] y; }
parameters { vector[K] b; real intercept; real<lower=0> sigma; }
model {
  b ~ std_normal();
  intercept ~ student_t(3, 8, 10);
  sigma ~ student_t(3, 0, 10);
  y ~ normal_id_glm(X, intercept, b, sigma);
}
"""


def data() -> dict[str, Any]:
    """Centred columns and log prices."""
    from probdiff.models.zoo import load
    from probdiff.models.zoo.diamonds import design

    d = load("diamonds")
    X = design(d)[1]
    return {"N": X.shape[0], "K": X.shape[1], "X": X, "y": np.log(d.price)}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import numpyro
    from numpyro import distributions as dist

    def model() -> None:
        b = numpyro.sample("b", dist.Normal(0, 1).expand([d.K]).to_event(1))
        intercept = numpyro.sample("intercept", dist.StudentT(3, 8, 10))
        sigma = numpyro.sample("sigma", dist.FoldedDistribution(dist.StudentT(3, 0, 10)))
        with numpyro.plate("stone", d.N):
            numpyro.sample("y", dist.Normal(intercept + d.X @ b, sigma), obs=d.y)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    with pm.Model() as model:
        b = pm.Normal("b", 0, 1, shape=d.K)
        intercept = pm.StudentT("intercept", nu=3, mu=8, sigma=10)
        sigma = pm.HalfStudentT("sigma", nu=3, sigma=10)
        pm.Normal("y", intercept + d.X @ b, sigma, observed=d.y)
    return model
