"""Which credits go bad: logistic regression on 1000 rows of 25 columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

STAN = """
data { int N; int K; matrix[N, K] X; array[N] int bad; }
parameters { vector[K] w; }
model {
  w ~ std_normal();
  bad ~ bernoulli_logit_glm(X, 0, w);
}
"""


def data() -> dict[str, Any]:
    """Standardised columns and a column of ones; 1 for a credit that went bad."""
    from probdiff.models.zoo import load
    from probdiff.models.zoo.german_credit import design

    d = load("german_credit")
    X = design(d.features)
    return {"N": X.shape[0], "K": X.shape[1], "X": X, "bad": d.bad.astype(int)}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    import numpyro
    from numpyro import distributions as dist

    def model() -> None:
        w = numpyro.sample("w", dist.Normal(0, 1).expand([d.K]).to_event(1))
        with numpyro.plate("row", d.N):
            numpyro.sample("bad", dist.Bernoulli(logits=d.X @ w), obs=d.bad)

    return model


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    with pm.Model() as model:
        w = pm.Normal("w", 0, 1, shape=d.K)
        pm.Bernoulli("bad", logit_p=d.X @ w, observed=d.bad)
    return model
