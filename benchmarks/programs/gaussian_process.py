"""Program 4: Gaussian-process regression, 200 points, squared-exponential kernel; parameters on the log scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program

JITTER = 1e-8


def problem(n: int) -> Problem:
    rng = np.random.default_rng(104)
    x = np.sort(rng.uniform(0.0, 10.0, n))
    y = np.sin(x) + 0.3 * rng.normal(size=n)
    return Problem(np.log([1.2, 1.1, 0.35]), ((x[:, None] - x) ** 2, y))


def density(theta: Any, square: Any, y: Any) -> Any:
    from probdiff.linalg import solve_triangular

    height, length, sigma = np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2])
    K = height**2 * np.exp(-0.5 * square / length**2) + (sigma**2 + JITTER) * np.eye(len(y))
    L = np.linalg.cholesky(K)
    z = solve_triangular(L, y)
    return -0.5 * np.sum(z**2) - np.sum(np.log(np.diag(L))) - 0.5 * np.sum(theta**2)


def jax_numpy(theta: Any, square: Any, y: Any) -> Any:
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    height, length, sigma = jnp.exp(theta)
    K = height**2 * jnp.exp(-0.5 * square / length**2) + (sigma**2 + JITTER) * jnp.eye(len(y))
    L = jnp.linalg.cholesky(K, symmetrize_input=False)
    z = solve_triangular(L, y, lower=True)
    return -0.5 * jnp.sum(z**2) - jnp.sum(jnp.log(jnp.diag(L))) - 0.5 * jnp.sum(theta**2)


def tensor(theta: Any, square: Any, y: Any) -> Any:
    import pytensor.tensor as pt
    from pytensor.tensor.linalg import cholesky, solve_triangular

    height, length, sigma = pt.exp(theta[0]), pt.exp(theta[1]), pt.exp(theta[2])
    K = height**2 * pt.exp(-0.5 * square / length**2) + (sigma**2 + JITTER) * pt.eye(y.type.shape[0])
    L = cholesky(K)
    z = solve_triangular(L, y, lower=True, b_ndim=1)
    return -0.5 * pt.sum(z**2) - pt.sum(pt.log(pt.diag(L))) - 0.5 * pt.sum(theta**2)


def torch(theta: Any, square: Any, y: Any) -> Any:
    import torch

    height, length, sigma = theta.exp()
    K = height**2 * torch.exp(square * (-0.5 / length**2)) + (sigma**2 + JITTER) * torch.eye(len(y), dtype=y.dtype)
    L = torch.linalg.cholesky(K)
    z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
    return -0.5 * z.square().sum() - L.diagonal().log().sum() - 0.5 * theta.square().sum()


STAN = """
data { int n; array[n] real x; vector[n] y; real jitter; }
transformed data { vector[n] zero = rep_vector(0.0, n); }
parameters { vector[3] theta; }
model {
  matrix[n, n] K = add_diag(gp_exp_quad_cov(x, exp(theta[1]), exp(theta[2])), exp(2 * theta[3]) + jitter);
  target += multi_normal_cholesky_lupdf(y | zero, cholesky_decompose(K)) - 0.5 * dot_self(theta);
}
"""


def reference(theta: Any, square: Any, y: Any) -> Any:
    """K_bar = (a aᵀ - K⁻¹) / 2 with a = K⁻¹ y."""
    from scipy.linalg import lapack

    height, length, sigma = np.exp(theta)
    S = height**2 * np.exp(-0.5 * square / length**2)
    L, _ = lapack.dpotrf(S + (sigma**2 + JITTER) * np.eye(len(y)), lower=1)
    inverse = np.tril(lapack.dpotri(L, lower=1)[0])
    inverse = inverse + np.tril(inverse, -1).T
    a = inverse @ y
    W = 0.5 * (np.outer(a, a) - inverse)
    WS = W * S
    gradient = np.array([2 * np.sum(WS), np.sum(WS * square) / length**2, 2 * sigma**2 * np.trace(W)])
    return -0.5 * y @ a - np.sum(np.log(np.diag(L))) - 0.5 * theta @ theta, gradient - theta


PARTS = (
    program(
        name="gaussian_process",
        title="Gaussian process, n = 200",
        number=4,
        size=200,
        quick=60,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda square, y: {
            "n": len(y),
            "x": np.sqrt(square[0]),  # from the first point: the kernel knows distances only
            "y": y,
            "jitter": JITTER,
        },
        hand=True,
        threads=1,
    ),
)
