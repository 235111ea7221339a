"""Program 7: the forward algorithm of a hidden Markov model, 4 states with normal emissions, 1000 steps, by scan.

Parameters: the logits of the transition matrix, means, log scales; the first state is uniform. Everyone codes the
scaled recursion (a normalised filter and one logarithm a step), emissions shifted by their largest, which cannot
underflow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program

K = 4


def problem(n: int) -> Problem:
    rng = np.random.default_rng(107)
    A = 0.1 * np.ones((K, K)) / K + 0.9 * np.eye(K)
    mu, state, y = np.array([-3.0, -1.0, 1.0, 3.0]), 0, np.zeros(n)
    for t in range(n):
        state = rng.choice(K, p=A[state])
        y[t] = mu[state] + 0.8 * rng.normal()
    logits = 2 * np.eye(K) + 0.2 * rng.normal(size=(K, K))
    return Problem(np.concatenate([logits.ravel(), mu + 0.1, np.full(K, np.log(0.9))]), (y,))


def density(theta: Any, y: Any) -> Any:
    from probdiff import scan, stop_gradient
    from probdiff.special import softmax

    A, mu, log_sigma = softmax(np.reshape(theta[:16], (K, K)), axis=1), theta[16:20], theta[20:]
    log_emission = -0.5 * ((y[:, None] - mu) / np.exp(log_sigma)) ** 2 - log_sigma
    shift = stop_gradient(np.max(log_emission, axis=1))
    emission = np.exp(log_emission - shift[:, None])

    def step(filtered: Any, emission: Any) -> Any:
        joint = (filtered @ A) * emission
        c = np.sum(joint)
        return joint / c, c

    joint = emission[0] / K
    first = np.sum(joint)
    _, c = scan(step, joint / first, emission[1:])
    return np.log(first) + np.sum(np.log(c)) + np.sum(shift) - 0.5 * np.sum(theta**2)


def jax_numpy(theta: Any, y: Any) -> Any:
    import jax
    import jax.numpy as jnp

    A, mu, log_sigma = jax.nn.softmax(theta[:16].reshape(K, K), axis=1), theta[16:20], theta[20:]
    log_emission = -0.5 * ((y[:, None] - mu) / jnp.exp(log_sigma)) ** 2 - log_sigma
    shift = jax.lax.stop_gradient(log_emission.max(axis=1))
    emission = jnp.exp(log_emission - shift[:, None])

    def step(filtered: Any, emission: Any) -> Any:
        joint = jnp.sum(filtered[:, None] * A, axis=0) * emission  # fuses, as a product of matrices does not
        c = jnp.sum(joint)
        return joint / c, c

    joint = emission[0] / K
    first = jnp.sum(joint)
    _, c = jax.lax.scan(step, joint / first, emission[1:])  # unrolling is slower
    return jnp.log(first) + jnp.sum(jnp.log(c)) + jnp.sum(shift) - 0.5 * jnp.sum(theta**2)


def tensor(theta: Any, y: Any) -> Any:
    import pytensor
    import pytensor.tensor as pt
    from pytensor.gradient import disconnected_grad

    A, mu, log_sigma = pt.special.softmax(theta[:16].reshape((K, K)), axis=1), theta[16:20], theta[20:]
    log_emission = -0.5 * ((y[:, None] - mu) / pt.exp(log_sigma)) ** 2 - log_sigma
    shift = disconnected_grad(log_emission.max(axis=1))
    emission = pt.exp(log_emission - shift[:, None])

    def step(emission: Any, filtered: Any, A: Any) -> Any:
        joint = (filtered @ A) * emission
        c = pt.sum(joint)
        return joint / c, c

    joint = emission[0] / K
    first = pt.sum(joint)
    _, c = pytensor.scan(
        step, sequences=[emission[1:]], outputs_info=[joint / first, None], non_sequences=[A], return_updates=False
    )
    return pt.log(first) + pt.sum(pt.log(c)) + pt.sum(shift) - 0.5 * pt.sum(theta**2)


def torch(theta: Any, y: Any) -> Any:
    import torch

    A, mu, log_sigma = theta[:16].reshape(K, K).softmax(1), theta[16:20], theta[20:]
    log_emission = -0.5 * ((y[:, None] - mu) / log_sigma.exp()).square() - log_sigma
    shift = log_emission.detach().max(1).values
    emission = (log_emission - shift[:, None]).exp()
    joint = emission[0] / K
    scales = [joint.sum()]
    for row in emission[1:].unbind():
        joint = (joint / scales[-1]) @ A * row
        scales.append(joint.sum())
    return torch.stack(scales).log().sum() + shift.sum() - 0.5 * theta.square().sum()


STAN = """
data { int n; vector[n] y; }
parameters { vector[24] theta; }
model {
  matrix[4, 4] from;
  array[4] vector[n] log_emission;
  vector[n] shift;
  matrix[n, 4] emission;
  vector[n] c;
  vector[4] predicted = rep_vector(0.25, 4);
  for (k in 1:4) {
    from[, k] = softmax(theta[4 * k - 3 : 4 * k]);
    log_emission[k] = -0.5 * square((y - theta[16 + k]) * exp(-theta[20 + k])) - theta[20 + k];
  }
  shift = fmax(fmax(log_emission[1], log_emission[2]), fmax(log_emission[3], log_emission[4]));
  for (k in 1:4) emission[, k] = exp(log_emission[k] - shift);
  for (t in 1:n) {
    vector[4] joint = predicted .* emission[t]';
    c[t] = sum(joint);
    predicted = from * (joint / c[t]);
  }
  target += sum(log(c)) + sum(shift) - 0.5 * dot_self(theta);
}
"""


def loop(theta: Any, y: Any) -> Any:
    """Forward, then backward: expected transitions and occupations."""
    n = y.size
    A, B, shift = np.zeros((4, 4)), np.zeros((n, 4)), 0.0
    for i in range(4):
        total = 0.0
        for j in range(4):
            A[i, j] = math.exp(theta[4 * i + j])
            total += A[i, j]
        for j in range(4):
            A[i, j] /= total
    inverse = np.exp(-theta[20:])
    for t in range(n):
        largest = -np.inf
        for k in range(4):
            z = (y[t] - theta[16 + k]) * inverse[k]
            B[t, k] = -0.5 * z * z - theta[20 + k]
            largest = max(largest, B[t, k])
        shift += largest
        for k in range(4):
            B[t, k] = math.exp(B[t, k] - largest)
    filtered, c, value = np.zeros((n, 4)), np.zeros(n), shift
    for t in range(n):
        for j in range(4):
            into = 0.25
            if t > 0:
                into = 0.0
                for i in range(4):
                    into += filtered[t - 1, i] * A[i, j]
            filtered[t, j] = into * B[t, j]
            c[t] += filtered[t, j]
        scale = 1 / c[t]
        for j in range(4):
            filtered[t, j] *= scale
        value += math.log(c[t])
    gradient, xi, later, weight = np.zeros(24), np.zeros((4, 4)), np.ones(4), np.zeros(4)
    for t in range(n - 1, -1, -1):
        scale = 1 / c[t]
        for k in range(4):
            z = (y[t] - theta[16 + k]) * inverse[k]
            occupation = filtered[t, k] * later[k]
            gradient[16 + k] += occupation * z * inverse[k]
            gradient[20 + k] += occupation * (z * z - 1)
            weight[k] = B[t, k] * later[k] * scale
        if t > 0:
            for i in range(4):
                total = 0.0
                for j in range(4):
                    total += A[i, j] * weight[j]
                    xi[i, j] += filtered[t - 1, i] * A[i, j] * weight[j]
                later[i] = total
    for i in range(4):
        row = xi[i, 0] + xi[i, 1] + xi[i, 2] + xi[i, 3]
        for j in range(4):
            gradient[4 * i + j] = xi[i, j] - A[i, j] * row
    return value - 0.5 * np.sum(theta * theta), gradient - theta


PARTS = (
    program(
        name="hidden_markov",
        title="Hidden Markov model, K = 4, T = 1000",
        number=7,
        size=1_000,
        quick=200,
        problem=problem,
        reference=loop,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda y: {"n": len(y), "y": y},
        stan_note="it has no hmm_marginal, so the filter is written out",
        loop=loop,
    ),
)
