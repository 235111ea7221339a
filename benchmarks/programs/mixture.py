"""Program 8: a mixture of three normals, 10⁵ observations: logits of the weights, means, log scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program

K = 3


def problem(n: int) -> Problem:
    rng = np.random.default_rng(108)
    k = rng.choice(K, n, p=[0.5, 0.3, 0.2])
    y = np.array([-2.0, 0.5, 3.0])[k] + np.array([0.8, 0.5, 1.2])[k] * rng.normal(size=n)
    return Problem(np.array([0.4, 0.1, -0.3, -1.9, 0.6, 2.8, -0.1, -0.6, 0.3]), (y,))


def density(theta: Any, y: Any) -> Any:
    from probdiff.special import log_softmax, logsumexp

    log_weight, mu, log_sigma = log_softmax(theta[:3]), theta[3:6], theta[6:]
    terms = log_weight - log_sigma - 0.5 * ((y[:, None] - mu) * np.exp(-log_sigma)) ** 2
    return np.sum(logsumexp(terms, axis=1)) - 0.5 * np.sum(theta**2)


def jax_numpy(theta: Any, y: Any) -> Any:
    import jax
    import jax.numpy as jnp

    log_weight, mu, log_sigma = jax.nn.log_softmax(theta[:3]), theta[3:6], theta[6:]
    columns = [log_weight[k] - log_sigma[k] - 0.5 * ((y - mu[k]) * jnp.exp(-log_sigma[k])) ** 2 for k in range(K)]
    largest = jax.lax.stop_gradient(jnp.maximum(jnp.maximum(columns[0], columns[1]), columns[2]))
    total = sum(jnp.exp(column - largest) for column in columns)
    return jnp.sum(largest + jnp.log(total)) - 0.5 * jnp.sum(theta**2)


def tensor(theta: Any, y: Any) -> Any:
    import pytensor.tensor as pt
    from pytensor.gradient import disconnected_grad

    log_weight, mu, log_sigma = pt.special.log_softmax(theta[:3]), theta[3:6], theta[6:]
    columns = [log_weight[k] - log_sigma[k] - 0.5 * ((y - mu[k]) * pt.exp(-log_sigma[k])) ** 2 for k in range(K)]
    largest = disconnected_grad(pt.maximum(pt.maximum(columns[0], columns[1]), columns[2]))
    total = sum(pt.exp(column - largest) for column in columns)
    return pt.sum(largest + pt.log(total)) - 0.5 * pt.sum(theta**2)


def torch(theta: Any, y: Any) -> Any:
    log_weight, mu, log_sigma = theta[:3].log_softmax(0), theta[3:6], theta[6:]
    z = (y - mu[:, None]) * (-log_sigma).exp()[:, None]
    terms = (log_weight - log_sigma)[:, None] - 0.5 * z.square()
    return terms.logsumexp(0).sum() - 0.5 * theta.square().sum()


# Vectors and two threads: a loop over observations takes ten times as long.
STAN = """
functions {
  real part(array[] real ys, int first, int last, vector log_weight, vector mu, vector inverse) {
    int n = size(ys);
    vector[n] y = to_vector(ys);
    vector[n] a = log_weight[1] - 0.5 * square((y - mu[1]) * inverse[1]);
    vector[n] b = log_weight[2] - 0.5 * square((y - mu[2]) * inverse[2]);
    vector[n] c = log_weight[3] - 0.5 * square((y - mu[3]) * inverse[3]);
    return sum(log_sum_exp(log_sum_exp(a, b), c));
  }
}
data { int n; array[n] real y; }
parameters { vector[9] theta; }
model {
  target += reduce_sum(part, y, 1, log_softmax(theta[1:3]) - theta[7:9], theta[4:6], exp(-theta[7:9]));
  target += -0.5 * dot_self(theta);
}
"""


def loop(theta: Any, y: Any) -> Any:
    largest = max(theta[0], theta[1], theta[2])
    weight = np.exp(theta[:3] - largest)
    weight /= np.sum(weight)
    inverse = np.exp(-theta[6:])
    a, b, c = math.log(weight[0] * inverse[0]), math.log(weight[1] * inverse[1]), math.log(weight[2] * inverse[2])
    i0, i1, i2, m0, m1, m2 = inverse[0], inverse[1], inverse[2], theta[3], theta[4], theta[5]
    value = r0 = r1 = r2 = z0 = z1 = z2 = s0 = s1 = s2 = 0.0
    for i in range(y.size):
        u0, u1, u2 = (y[i] - m0) * i0, (y[i] - m1) * i1, (y[i] - m2) * i2
        l0, l1, l2 = a - 0.5 * u0 * u0, b - 0.5 * u1 * u1, c - 0.5 * u2 * u2
        top = max(max(l0, l1), l2)
        e0, e1, e2 = math.exp(l0 - top), math.exp(l1 - top), math.exp(l2 - top)
        total = e0 + e1 + e2
        value += top + math.log(total)
        p0, p1, p2 = e0 / total, e1 / total, e2 / total
        r0 += p0
        r1 += p1
        r2 += p2
        z0 += p0 * u0
        z1 += p1 * u1
        z2 += p2 * u2
        s0 += p0 * u0 * u0
        s1 += p1 * u1 * u1
        s2 += p2 * u2 * u2
    counts = np.array([r0, r1, r2])
    gradient = np.empty(9)
    gradient[:3] = counts - y.size * weight
    gradient[3:6] = np.array([z0, z1, z2]) * inverse
    gradient[6:] = np.array([s0, s1, s2]) - counts
    return value - 0.5 * np.sum(theta * theta), gradient - theta


def reference(theta: Any, y: Any) -> Any:
    weight = np.exp(theta[:3]) / np.sum(np.exp(theta[:3]))
    z = (y[:, None] - theta[3:6]) * np.exp(-theta[6:])
    terms = np.log(weight) - theta[6:] - 0.5 * z**2
    largest = terms.max(axis=1)
    e = np.exp(terms - largest[:, None])
    total = e.sum(axis=1)
    p = e / total[:, None]
    by_mean, by_scale = (p * z).sum(axis=0) * np.exp(-theta[6:]), (p * (z**2 - 1)).sum(axis=0)
    value = np.sum(largest + np.log(total)) - 0.5 * theta @ theta
    return value, np.concatenate([p.sum(axis=0) - len(y) * weight, by_mean, by_scale]) - theta


PARTS = (
    program(
        name="mixture",
        title="Mixture of 3 normals, N = 10⁵",
        number=8,
        size=100_000,
        quick=2_000,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda y: {"n": len(y), "y": y},
        loop=loop,
        hand=True,
    ),
)
