"""Program 6: GARCH(1,1) over 2000 steps, by scan: s²[t] = ω + α (y[t-1] - μ)² + β s²[t-1], from the sample variance.

Parameters: μ, log ω, logit α, logit β.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program


def problem(n: int) -> Problem:
    rng = np.random.default_rng(106)
    y, variance = np.zeros(n), 1.0
    for t in range(n):
        y[t] = 0.1 + math.sqrt(variance) * rng.normal()
        variance = 0.1 + 0.12 * (y[t] - 0.1) ** 2 + 0.8 * variance
    return Problem(
        np.array([0.05, math.log(0.12), math.log(0.15 / 0.85), math.log(0.75 / 0.25)]), (y, np.array(np.var(y)))
    )


def density(theta: Any, y: Any, start: Any) -> Any:
    from scipy.special import expit

    from probdiff import scan

    omega, alpha, beta = np.exp(theta[1]), expit(theta[2]), expit(theta[3])
    square = (y - theta[0]) ** 2

    def step(variance: Any, square: Any) -> Any:
        return omega + alpha * square + beta * variance, variance

    _, variance = scan(step, start, square)
    return -0.5 * np.sum(np.log(variance) + square / variance) - 0.5 * np.sum(theta**2)


def jax_numpy(theta: Any, y: Any, start: Any) -> Any:
    import jax
    import jax.numpy as jnp

    omega, alpha, beta = jnp.exp(theta[1]), jax.nn.sigmoid(theta[2]), jax.nn.sigmoid(theta[3])
    square = (y - theta[0]) ** 2
    drive = omega + alpha * square

    def step(variance: Any, drive: Any) -> Any:
        return drive + beta * variance, variance

    _, variance = jax.lax.scan(step, start, drive)  # unrolling is slower, an associative scan as fast
    return -0.5 * jnp.sum(jnp.log(variance) + square / variance) - 0.5 * jnp.sum(theta**2)


def tensor(theta: Any, y: Any, start: Any) -> Any:
    import pytensor
    import pytensor.tensor as pt

    omega, alpha, beta = pt.exp(theta[1]), pt.sigmoid(theta[2]), pt.sigmoid(theta[3])
    square = (y - theta[0]) ** 2
    drive = omega + alpha * square[:-1]
    rest = pytensor.scan(
        lambda drive, variance, beta: drive + beta * variance,
        sequences=[drive],
        outputs_info=[start],
        non_sequences=[beta],
        return_updates=False,
    )
    variance = pt.concatenate([start[None], rest])
    return -0.5 * pt.sum(pt.log(variance) + square / variance) - 0.5 * pt.sum(theta**2)


def torch(theta: Any, y: Any, start: Any) -> Any:
    import torch

    omega, alpha, beta = theta[1].exp(), theta[2].sigmoid(), theta[3].sigmoid()
    square = (y - theta[0]).square()
    variances = [start]
    for drive in (omega + alpha * square[:-1]).unbind():
        variances.append(torch.addcmul(drive, beta, variances[-1]))
    variance = torch.stack(variances)
    return -0.5 * (variance.log() + square / variance).sum() - 0.5 * theta.square().sum()


STAN = """
data { int n; vector[n] y; real start; }
parameters { vector[4] theta; }
model {
  real beta = inv_logit(theta[4]);
  vector[n] drive = exp(theta[2]) + inv_logit(theta[3]) * square(y - theta[1]);
  vector[n] variance;
  variance[1] = start;
  for (t in 2:n) variance[t] = drive[t - 1] + beta * variance[t - 1];
  target += normal_lupdf(y | theta[1], sqrt(variance)) - 0.5 * dot_self(theta);
}
"""


def loop(theta: Any, y: Any, start: Any) -> Any:
    """Tangents of the variance in all four parameters go forward with it."""
    mu, omega = theta[0], math.exp(theta[1])
    alpha, beta = 1 / (1 + math.exp(-theta[2])), 1 / (1 + math.exp(-theta[3]))
    value, g0, g1, g2, g3 = 0.0, 0.0, 0.0, 0.0, 0.0
    s, s0, s1, s2, s3 = start.item(), 0.0, 0.0, 0.0, 0.0
    for t in range(y.size):
        r = y[t] - mu
        inverse = 1 / s
        ratio = r * r * inverse
        value -= 0.5 * (math.log(s) + ratio)
        s_bar = 0.5 * (ratio - 1) * inverse
        g0 += s_bar * s0 + r * inverse
        g1 += s_bar * s1
        g2 += s_bar * s2
        g3 += s_bar * s3
        s0 = beta * s0 - 2 * alpha * r
        s1 = beta * s1 + omega
        s2 = beta * s2 + alpha * (1 - alpha) * r * r
        s3 = beta * s3 + beta * (1 - beta) * s
        s = omega + alpha * r * r + beta * s
    gradient = np.array([g0, g1, g2, g3]) - theta
    return value - 0.5 * np.sum(theta * theta), gradient


PARTS = (
    program(
        name="garch",
        title="GARCH(1,1), T = 2000",
        number=6,
        size=2_000,
        quick=300,
        problem=problem,
        reference=loop,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda y, start: {"n": len(y), "y": y, "start": start.item()},
        loop=loop,
    ),
)
