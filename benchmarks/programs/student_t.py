"""Program 11: a line with Student-t errors, 10⁶ observations: intercept, slope, log scale, log degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program


def problem(n: int) -> Problem:
    rng = np.random.default_rng(111)
    x = rng.normal(size=n)
    y = 0.5 + 1.5 * x + 0.8 * rng.standard_t(4.0, n)
    return Problem(np.array([0.45, 1.55, math.log(0.85), math.log(4.5)]), (x, y))


def density(theta: Any, x: Any, y: Any) -> Any:
    from scipy.special import gammaln

    nu = np.exp(theta[3])
    z = (y - theta[0] - theta[1] * x) * np.exp(-theta[2])
    constant = gammaln(0.5 * (nu + 1)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * nu) - theta[2]
    return len(y) * constant - 0.5 * (nu + 1) * np.sum(np.log1p(z**2 / nu)) - 0.5 * np.sum(theta**2)


def jax_numpy(theta: Any, x: Any, y: Any) -> Any:
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    nu = jnp.exp(theta[3])
    z = (y - theta[0] - theta[1] * x) * jnp.exp(-theta[2])
    constant = gammaln(0.5 * (nu + 1)) - gammaln(0.5 * nu) - 0.5 * jnp.log(jnp.pi * nu) - theta[2]
    return len(y) * constant - 0.5 * (nu + 1) * jnp.sum(jnp.log1p(z**2 / nu)) - 0.5 * jnp.sum(theta**2)


def tensor(theta: Any, x: Any, y: Any) -> Any:
    import pytensor.tensor as pt

    nu = pt.exp(theta[3])
    z = (y - theta[0] - theta[1] * x) * pt.exp(-theta[2])
    constant = pt.gammaln(0.5 * (nu + 1)) - pt.gammaln(0.5 * nu) - 0.5 * pt.log(np.pi * nu) - theta[2]
    return y.type.shape[0] * constant - 0.5 * (nu + 1) * pt.sum(pt.log1p(z**2 / nu)) - 0.5 * pt.sum(theta**2)


def torch(theta: Any, x: Any, y: Any) -> Any:
    nu = theta[3].exp()
    z = (y - theta[0] - theta[1] * x) * (-theta[2]).exp()
    constant = (0.5 * (nu + 1)).lgamma() - (0.5 * nu).lgamma() - 0.5 * (np.pi * nu).log() - theta[2]
    return len(y) * constant - 0.5 * (nu + 1) * (z.square() / nu).log1p().sum() - 0.5 * theta.square().sum()


STAN = """
data { int n; vector[n] x; vector[n] y; }
parameters { vector[4] theta; }
model {
  target += student_t_lpdf(y | exp(theta[4]), theta[1] + theta[2] * x, exp(theta[3])) - 0.5 * dot_self(theta);
}
"""


def digamma(x: float) -> float:
    """Recurrence to x ≥ 10, then the asymptotic series."""
    y = 0.0
    while x < 10.0:
        y -= 1 / x
        x += 1
    w = 1 / (x * x)
    return y + math.log(x) - 0.5 / x - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132))))


def scalars(theta: Any, n: int, logs: float, a: float, b: float, ratio: float) -> Any:
    """The result from four sums: log(1 + q), w r, w r x and w r² / s², where w = 1 / (1 + q)."""
    nu, sigma = math.exp(theta[3]), math.exp(theta[2])
    k = 0.5 * (nu + 1)
    constant = math.lgamma(k) - math.lgamma(0.5 * nu) - 0.5 * math.log(math.pi * nu) - theta[2]
    slope = n * (0.5 * digamma(k) - 0.5 * digamma(0.5 * nu) - 0.5 / nu) - 0.5 * logs + k * ratio / nu**2
    scale = 2 * k / (nu * sigma**2)
    gradient = np.array([scale * a, scale * b, 2 * k * ratio / nu - n, nu * slope])
    return n * constant - k * logs - 0.5 * theta @ theta, gradient - theta


def by_loop(theta: Any, x: Any, y: Any) -> Any:
    intercept, slope, precision, nu = theta[0], theta[1], math.exp(-2 * theta[2]), math.exp(theta[3])
    logs = a = b = ratio = 0.0
    factor = precision / nu
    for i in range(y.size):
        r = y[i] - intercept - slope * x[i]
        q = r * r * factor
        logs += math.log1p(q)
        w = r / (1 + q)
        a += w
        b += w * x[i]
        ratio += w * r
    return logs, a, b, precision * ratio


def reference(theta: Any, x: Any, y: Any) -> Any:
    r, nu = y - theta[0] - theta[1] * x, np.exp(theta[3])
    q = r**2 * (np.exp(-2 * theta[2]) / nu)
    w = r / (1 + q)
    return scalars(theta, len(y), np.sum(np.log1p(q)), np.sum(w), w @ x, np.exp(-2 * theta[2]) * (w @ r))


PARTS = (
    program(
        name="student_t",
        title="Student-t errors, N = 10⁶",
        number=11,
        size=1_000_000,
        quick=5_000,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda x, y: {"n": len(y), "x": x, "y": y},
        loop=by_loop,
        finish=lambda theta, x, y, sums: scalars(theta, len(y), *sums),
        hand=True,
    ),
)
