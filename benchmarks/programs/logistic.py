"""Program 1: logistic regression, 10⁴ observations of 50 features, standard normal coefficients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program


def problem(n: int) -> Problem:
    rng = np.random.default_rng(101)
    X = rng.normal(size=(n, 50))
    beta = rng.normal(size=50) / 5
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ beta))).astype(float)
    return Problem(beta + 0.1 * rng.normal(size=50), (X, y))


def density(beta: Any, X: Any, y: Any) -> Any:
    eta = X @ beta
    return np.sum(y * eta - np.logaddexp(0.0, eta)) - 0.5 * np.sum(beta**2)


def jax_numpy(beta: Any, X: Any, y: Any) -> Any:
    import jax
    import jax.numpy as jnp

    eta = X @ beta
    return jnp.sum(y * eta - jax.nn.softplus(eta)) - 0.5 * jnp.sum(beta**2)


def tensor(beta: Any, X: Any, y: Any) -> Any:
    import pytensor.tensor as pt

    eta = X @ beta
    return pt.sum(y * eta - pt.softplus(eta)) - 0.5 * pt.sum(beta**2)


def torch(beta: Any, X: Any, y: Any) -> Any:
    from torch.nn.functional import binary_cross_entropy_with_logits

    return -binary_cross_entropy_with_logits(X @ beta, y, reduction="sum") - 0.5 * beta.square().sum()


STAN = """
data { int n; int d; matrix[n, d] X; array[n] int y; }
parameters { vector[d] beta; }
model { target += bernoulli_logit_glm_lupmf(y | X, 0.0, beta) - 0.5 * dot_self(beta); }
"""


def loop(beta: Any, X: Any, y: Any) -> Any:
    n, d = X.shape
    value, gradient = 0.0, np.zeros(d)
    for j in range(d):
        value -= 0.5 * beta[j] * beta[j]
        gradient[j] = -beta[j]
    for i in range(n):
        eta = 0.0
        for j in range(d):
            eta += X[i, j] * beta[j]
        e = math.exp(-abs(eta))
        value += y[i] * eta - max(eta, 0.0) - math.log1p(e)
        residual = y[i] - (1.0 if eta > 0.0 else e) / (1.0 + e)
        for j in range(d):
            gradient[j] += residual * X[i, j]
    return value, gradient


def reference(beta: Any, X: Any, y: Any) -> Any:
    eta = X @ beta
    e = np.exp(-np.abs(eta))
    value = y @ eta - np.sum(np.maximum(eta, 0.0) + np.log1p(e)) - 0.5 * beta @ beta
    return value, (y - np.where(eta > 0, 1.0, e) / (1 + e)) @ X - beta


PARTS = (
    program(
        name="logistic",
        title="Logistic regression, 10⁴×50",
        number=1,
        size=10_000,
        quick=1_000,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda X, y: {"n": X.shape[0], "d": X.shape[1], "X": X, "y": y.astype(int)},
        loop=loop,
        hand=True,
    ),
)
