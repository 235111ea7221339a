"""Program 5: an autoregression of order 5 over 2000 steps: intercept, five coefficients, log scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import SUMS_ONCE, Problem, program

ORDER = 5


def problem(n: int) -> Problem:
    rng = np.random.default_rng(105)
    phi = np.array([0.5, -0.2, 0.15, 0.1, -0.1])
    y = np.zeros(n)
    for t in range(ORDER, n):
        y[t] = 0.3 + phi @ y[t - ORDER : t][::-1] + 0.7 * rng.normal()
    return Problem(np.concatenate([[0.25], phi + 0.03, [np.log(0.75)]]), (y,))


def density(theta: Any, y: Any) -> Any:
    n = len(y)
    mu = theta[0] + sum(theta[k] * y[ORDER - k : n - k] for k in range(1, ORDER + 1))
    r = (y[ORDER:] - mu) / np.exp(theta[6])
    return -0.5 * np.sum(r**2) - (n - ORDER) * theta[6] - 0.5 * np.sum(theta**2)


def jax_numpy(theta: Any, y: Any) -> Any:
    import jax.numpy as jnp

    n = len(y)
    mu = theta[0] + sum(theta[k] * y[ORDER - k : n - k] for k in range(1, ORDER + 1))
    r = (y[ORDER:] - mu) / jnp.exp(theta[6])
    return -0.5 * jnp.sum(r**2) - (n - ORDER) * theta[6] - 0.5 * jnp.sum(theta**2)


def tensor(theta: Any, y: Any) -> Any:
    import pytensor.tensor as pt

    n = y.type.shape[0]
    mu = theta[0] + sum(theta[k] * y[ORDER - k : n - k] for k in range(1, ORDER + 1))
    r = (y[ORDER:] - mu) / pt.exp(theta[6])
    return -0.5 * pt.sum(r**2) - (n - ORDER) * theta[6] - 0.5 * pt.sum(theta**2)


def torch(theta: Any, y: Any) -> Any:
    lags = y.unfold(0, ORDER, 1)[:-1]  # a view: row t holds y[t], …, y[t + 4]
    r = y[ORDER:] - theta[0] - lags @ theta[1:6].flip(0)
    log_sigma = theta[6]
    return -0.5 * r.square().sum() * (-2 * log_sigma).exp() - len(r) * log_sigma - 0.5 * theta.square().sum()


STAN = """
data { int n; int order; vector[n] y; }
transformed data {
  matrix[n - order, order] lags;
  for (k in 1:order) lags[, k] = y[order + 1 - k : n - k];
}
parameters { vector[order + 2] theta; }
model {
  target += normal_id_glm_lupdf(y[order + 1 : n] | lags, theta[1], theta[2 : order + 1], exp(theta[order + 2]));
  target += -0.5 * dot_self(theta);
}
"""


def loop(theta: Any, y: Any) -> Any:
    precision, gradient, squares = math.exp(-2 * theta[6]), np.zeros(7), 0.0
    c, p1, p2, p3, p4, p5 = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
    g0 = g1 = g2 = g3 = g4 = g5 = 0.0
    for t in range(5, y.size):
        r = y[t] - c - p1 * y[t - 1] - p2 * y[t - 2] - p3 * y[t - 3] - p4 * y[t - 4] - p5 * y[t - 5]
        squares += r * r
        g0 += r
        g1 += r * y[t - 1]
        g2 += r * y[t - 2]
        g3 += r * y[t - 3]
        g4 += r * y[t - 4]
        g5 += r * y[t - 5]
    gradient[0], gradient[1], gradient[2] = precision * g0, precision * g1, precision * g2
    gradient[3], gradient[4], gradient[5] = precision * g3, precision * g4, precision * g5
    gradient[6] = precision * squares - (y.size - 5)
    value = -0.5 * precision * squares - (y.size - 5) * theta[6]
    for k in range(7):
        value -= 0.5 * theta[k] * theta[k]
        gradient[k] -= theta[k]
    return value, gradient


def reference(theta: Any, y: Any) -> Any:
    lags = np.column_stack([np.ones(len(y) - ORDER), *(y[ORDER - k : len(y) - k] for k in range(1, ORDER + 1))])
    r, precision = y[ORDER:] - lags @ theta[:6], np.exp(-2 * theta[6])
    value = -0.5 * precision * r @ r - len(r) * theta[6] - 0.5 * theta @ theta
    return value, np.append(precision * (r @ lags), precision * r @ r - len(r)) - theta


PARTS = (
    program(
        name="autoregression",
        title="AR(5), T = 2000",
        number=5,
        size=2_000,
        quick=300,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda y: {"n": len(y), "order": ORDER, "y": y},
        stan_note=SUMS_ONCE,
        loop=loop,
    ),
)
