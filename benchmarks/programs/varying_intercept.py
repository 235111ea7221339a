"""Program 2: regression with an intercept for each of 386 groups, 12,573 rows, non-centred."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import SUMS_ONCE, Problem, program

GROUPS = 386  # parameters: mean, log scale of intercepts, slope, log scale of errors, then standardised intercepts


def problem(n: int, groups: int = GROUPS) -> Problem:
    rng = np.random.default_rng(102)
    group = np.sort(rng.integers(0, groups, n))  # rows of one group stand together, as surveys come
    x = rng.integers(0, 2, n).astype(float)
    alpha = 1.4 + 0.4 * rng.normal(size=groups)
    y = alpha[group] - 0.6 * x + 0.75 * rng.normal(size=n)
    theta = np.concatenate([[1.3, np.log(0.35), -0.5, np.log(0.8)], rng.normal(size=groups)])
    return Problem(theta, (group, x, y))


def density(theta: Any, group: Any, x: Any, y: Any) -> Any:
    mu, log_tau, slope, log_sigma, z = theta[0], theta[1], theta[2], theta[3], theta[4:]
    alpha = mu + np.exp(log_tau) * z
    r = (y - alpha[group] - slope * x) / np.exp(log_sigma)
    prior = -0.5 * (np.sum(z**2) + mu**2 + slope**2 + log_tau**2 + log_sigma**2)
    return prior - 0.5 * np.sum(r**2) - len(y) * log_sigma


def jax_numpy(theta: Any, group: Any, x: Any, y: Any) -> Any:
    import jax.numpy as jnp

    mu, log_tau, slope, log_sigma, z = theta[0], theta[1], theta[2], theta[3], theta[4:]
    alpha = mu + jnp.exp(log_tau) * z
    r = (y - alpha.at[group].get(indices_are_sorted=True, mode="promise_in_bounds") - slope * x) / jnp.exp(log_sigma)
    prior = -0.5 * (jnp.sum(z**2) + mu**2 + slope**2 + log_tau**2 + log_sigma**2)
    return prior - 0.5 * jnp.sum(r**2) - y.shape[0] * log_sigma


def tensor(theta: Any, group: Any, x: Any, y: Any) -> Any:
    import pytensor.tensor as pt

    mu, log_tau, slope, log_sigma, z = theta[0], theta[1], theta[2], theta[3], theta[4:]
    alpha = mu + pt.exp(log_tau) * z
    r = (y - alpha[group] - slope * x) / pt.exp(log_sigma)
    prior = -0.5 * (pt.sum(z**2) + mu**2 + slope**2 + log_tau**2 + log_sigma**2)
    return prior - 0.5 * pt.sum(r**2) - y.shape[0] * log_sigma


def torch(theta: Any, group: Any, x: Any, y: Any) -> Any:
    mu, log_tau, slope, log_sigma, z = theta[0], theta[1], theta[2], theta[3], theta[4:]
    alpha = mu + log_tau.exp() * z
    r = (y - alpha.index_select(0, group) - slope * x) / log_sigma.exp()
    prior = -0.5 * (z.square().sum() + mu**2 + slope**2 + log_tau**2 + log_sigma**2)
    return prior - 0.5 * r.square().sum() - len(y) * log_sigma


STAN = """
data { int n; int groups; array[n] int group; vector[n] x; vector[n] y; }
parameters { vector[groups + 4] theta; }
model {
  vector[groups] alpha = theta[1] + exp(theta[2]) * theta[5:];
  target += normal_lupdf(y | alpha[group] + theta[3] * x, exp(theta[4])) - 0.5 * dot_self(theta);
}
"""


def loop(theta: Any, group: Any, x: Any, y: Any) -> Any:
    mu, tau, slope, precision = theta[0], math.exp(theta[1]), theta[2], math.exp(-2 * theta[3])
    gradient, squares, by_slope = np.zeros(theta.size), 0.0, 0.0
    for i in range(y.size):
        k = group[i] + 4
        r = y[i] - mu - tau * theta[k] - slope * x[i]
        squares += r * r
        by_slope += r * x[i]
        gradient[k] += r
    value, total, by_tau = 0.0, 0.0, 0.0
    for k in range(4, theta.size):
        z = theta[k]
        total += gradient[k]
        by_tau += gradient[k] * z
        value -= 0.5 * z * z
        gradient[k] = precision * tau * gradient[k] - z
    gradient[0] = precision * total - theta[0]
    gradient[1] = precision * tau * by_tau - theta[1]
    gradient[2] = precision * by_slope - theta[2]
    gradient[3] = precision * squares - y.size - theta[3]
    for k in range(4):
        value -= 0.5 * theta[k] * theta[k]
    return value - 0.5 * precision * squares - y.size * theta[3], gradient


def reference(theta: Any, group: Any, x: Any, y: Any) -> Any:
    mu, tau, slope, precision, z = theta[0], np.exp(theta[1]), theta[2], np.exp(-2 * theta[3]), theta[4:]
    r = y - (mu + tau * z)[group] - slope * x
    by_group = np.bincount(group, r, len(z))
    head = [precision * np.sum(r), precision * tau * (by_group @ z), precision * (r @ x), precision * (r @ r) - len(y)]
    gradient = np.concatenate([head, precision * tau * by_group]) - theta
    return -0.5 * theta @ theta - 0.5 * precision * (r @ r) - len(y) * theta[3], gradient


PARTS = (
    program(
        name="varying_intercept",
        title="Varying intercepts, 12,573 rows in 386 groups",
        number=2,
        size=12_573,
        quick=2_000,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda group, x, y: {"n": len(y), "groups": GROUPS, "group": group + 1, "x": x, "y": y},
        stan_note=SUMS_ONCE,
        loop=loop,
        hand=True,
    ),
)
