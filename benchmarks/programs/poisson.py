"""Program 3: Poisson regression with offset, 10⁴ observations of 10 features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program


def problem(n: int) -> Problem:
    rng = np.random.default_rng(103)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 9))])
    beta = np.concatenate([[0.5], rng.normal(size=9) / 5])
    offset = np.log(rng.uniform(0.5, 5.0, n))
    y = rng.poisson(np.exp(X @ beta + offset)).astype(float)
    return Problem(beta + 0.05 * rng.normal(size=10), (X, offset, y))


def density(beta: Any, X: Any, offset: Any, y: Any) -> Any:
    eta = X @ beta + offset
    return np.sum(y * eta - np.exp(eta)) - 0.5 * np.sum(beta**2)


def jax_numpy(beta: Any, X: Any, offset: Any, y: Any) -> Any:
    import jax.numpy as jnp

    eta = X @ beta + offset
    return jnp.sum(y * eta - jnp.exp(eta)) - 0.5 * jnp.sum(beta**2)


def tensor(beta: Any, X: Any, offset: Any, y: Any) -> Any:
    import pytensor.tensor as pt

    eta = X @ beta + offset
    return pt.sum(y * eta - pt.exp(eta)) - 0.5 * pt.sum(beta**2)


def torch(beta: Any, X: Any, offset: Any, y: Any) -> Any:
    import torch

    eta = torch.addmv(offset, X, beta)
    return torch.dot(y, eta) - eta.exp().sum() - 0.5 * beta.square().sum()


STAN = """
data { int n; int d; matrix[n, d] X; vector[n] log_exposure; array[n] int y; }
parameters { vector[d] beta; }
model { target += poisson_log_glm_lupmf(y | X, log_exposure, beta) - 0.5 * dot_self(beta); }
"""


def loop(beta: Any, X: Any, offset: Any, y: Any) -> Any:
    n, d = X.shape
    value, gradient = 0.0, np.zeros(d)
    for j in range(d):
        value -= 0.5 * beta[j] * beta[j]
        gradient[j] = -beta[j]
    for i in range(n):
        eta = offset[i]
        for j in range(d):
            eta += X[i, j] * beta[j]
        rate = math.exp(eta)
        value += y[i] * eta - rate
        for j in range(d):
            gradient[j] += (y[i] - rate) * X[i, j]
    return value, gradient


def reference(beta: Any, X: Any, offset: Any, y: Any) -> Any:
    eta = X @ beta + offset
    rate = np.exp(eta)
    return y @ eta - np.sum(rate) - 0.5 * beta @ beta, (y - rate) @ X - beta


PARTS = (
    program(
        name="poisson",
        title="Poisson regression with offset, 10⁴×10",
        number=3,
        size=10_000,
        quick=1_000,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda X, offset, y: {
            "n": X.shape[0],
            "d": X.shape[1],
            "X": X,
            "log_exposure": offset,
            "y": y.astype(int),
        },
        loop=loop,
        hand=True,
    ),
)
