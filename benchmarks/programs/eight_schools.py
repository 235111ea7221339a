"""Program 9: eight schools, non-centred: μ ~ N(0, 5), τ ~ HalfCauchy(5), θ = μ + τ z; parameters μ, log τ, z."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.benchmarks.harness import Contender
from probdiff.benchmarks.programs.contenders import Problem, program

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def problem(n: int) -> Problem:
    rng = np.random.default_rng(109)
    return Problem(np.concatenate([[4.0, 1.2], rng.normal(size=n)]), (EFFECT, ERROR))


def density(theta: Any, y: Any, sigma: Any) -> Any:
    mu, log_tau, z = theta[0], theta[1], theta[2:]
    tau = np.exp(log_tau)
    r = (y - mu - tau * z) / sigma
    prior = -0.5 * np.sum(z**2) - mu**2 / 50 - np.log1p(tau**2 / 25) + log_tau
    return prior - 0.5 * np.sum(r**2)


def jax_numpy(theta: Any, y: Any, sigma: Any) -> Any:
    import jax.numpy as jnp

    mu, log_tau, z = theta[0], theta[1], theta[2:]
    tau = jnp.exp(log_tau)
    r = (y - mu - tau * z) / sigma
    prior = -0.5 * jnp.sum(z**2) - mu**2 / 50 - jnp.log1p(tau**2 / 25) + log_tau
    return prior - 0.5 * jnp.sum(r**2)


def tensor(theta: Any, y: Any, sigma: Any) -> Any:
    import pytensor.tensor as pt

    mu, log_tau, z = theta[0], theta[1], theta[2:]
    tau = pt.exp(log_tau)
    r = (y - mu - tau * z) / sigma
    prior = -0.5 * pt.sum(z**2) - mu**2 / 50 - pt.log1p(tau**2 / 25) + log_tau
    return prior - 0.5 * pt.sum(r**2)


def torch(theta: Any, y: Any, sigma: Any) -> Any:
    mu, log_tau, z = theta[0], theta[1], theta[2:]
    tau = log_tau.exp()
    r = (y - mu - tau * z) / sigma
    prior = -0.5 * z.square().sum() - mu**2 / 50 - (tau**2 / 25).log1p() + log_tau
    return prior - 0.5 * r.square().sum()


STAN = """
data { int n; vector[n] y; vector[n] sigma; }
parameters { vector[n + 2] theta; }
model {
  real tau = exp(theta[2]);
  vector[n] z = theta[3:];
  target += -0.5 * dot_self(z) - square(theta[1]) / 50 - log1p(square(tau) / 25) + theta[2];
  target += -0.5 * dot_self((y - theta[1] - tau * z) ./ sigma);
}
"""


def loop(theta: Any, y: Any, sigma: Any) -> Any:
    mu, tau = theta[0], math.exp(theta[1])
    gradient = np.empty(theta.size)
    value = theta[1] - mu * mu / 50 - math.log1p(tau * tau / 25)
    by_mu, by_tau = -mu / 25, 0.0
    for i in range(y.size):
        z, inverse = theta[i + 2], 1 / sigma[i]
        r = (y[i] - mu - tau * z) * inverse
        value -= 0.5 * (r * r + z * z)
        by_mu += r * inverse
        by_tau += r * inverse * z
        gradient[i + 2] = tau * r * inverse - z
    gradient[0] = by_mu
    gradient[1] = tau * by_tau + 1 - 2 * tau * tau / (25 + tau * tau)
    return value, gradient


def reference(theta: Any, y: Any, sigma: Any) -> Any:
    mu, tau, z = theta[0], np.exp(theta[1]), theta[2:]
    r = (y - mu - tau * z) / sigma
    value = -0.5 * z @ z - mu**2 / 50 - np.log1p(tau**2 / 25) + theta[1] - 0.5 * r @ r
    head = [np.sum(r / sigma) - mu / 25, tau * np.sum(r / sigma * z) + 1 - 2 * tau**2 / (25 + tau**2)]
    return value, np.concatenate([head, tau * r / sigma - z])


CALLS = 1000  # gradients in one timed call: from machine code, as a sampler in C would


def called(address: int, theta: Any) -> Callable[[], Any]:
    """`int f(size_t n, const double *x, double *grad, double *logp, void *data)`, called from machine code."""
    import ctypes

    import numba

    f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[ctypes.c_void_p] * 4)(address)

    def repeat(n: int, x: int, gradient: int, value: int) -> int:
        errors = 0
        for _ in range(CALLS):
            errors += f(n, x, gradient, value, 0)
        return errors

    repeated = numba.njit(repeat)
    gradient, value = np.empty_like(theta), np.empty(1)

    def call() -> Any:
        errors = repeated(theta.size, theta.ctypes.data, gradient.ctypes.data, value.ctypes.data)
        assert errors == 0
        return value[0], gradient

    return call


def through_address(at: Problem) -> Callable[[], Any]:
    from probdiff import compile, value_and_grad

    function = compile(value_and_grad(lambda theta: density(theta, *at.data)))
    call = called(function.record(at.theta).address, at.theta)
    return lambda: (call(), function)[0]  # the address lives as long as the function


def numba_through_address(at: Problem) -> Callable[[], Any]:
    import numba
    from numba import types

    y, sigma = at.data
    real = types.CPointer(types.float64)

    def kernel(n: int, x: Any, gradient: Any, logp: Any, data: Any) -> int:
        mu, tau = x[0], math.exp(x[1])
        value = x[1] - mu * mu / 50 - math.log1p(tau * tau / 25)
        by_mu, by_tau = -mu / 25, 0.0
        for i in range(8):
            z, inverse = x[i + 2], 1 / sigma[i]
            r = (y[i] - mu - tau * z) * inverse
            value -= 0.5 * (r * r + z * z)
            by_mu += r * inverse
            by_tau += r * inverse * z
            gradient[i + 2] = tau * r * inverse - z
        gradient[0] = by_mu
        gradient[1] = tau * by_tau + 1 - 2 * tau * tau / (25 + tau * tau)
        logp[0] = value
        return 0

    compiled = numba.cfunc(types.int32(types.uintp, real, real, real, types.voidptr), fastmath=True)(kernel)
    call = called(compiled.address, at.theta)
    return lambda: (call(), compiled)[0]


PARTS = (
    program(
        name="eight_schools",
        title="Eight schools",
        number=9,
        size=8,
        quick=8,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda y, sigma: {"n": len(y), "y": y, "sigma": sigma},
        loop=loop,
        more=(
            Contender("probdiff, C address", through_address, package="numba", inner=CALLS),
            Contender("Numba, C address", numba_through_address, package="numba", inner=CALLS),
        ),
    ),
)
