"""Program 12: beta-binomial regression, 10⁵ observations: intercept, slope, log precision.

y ~ BetaBinomial(n, m φ, (1 - m) φ), m = expit(a + b x).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program


def problem(size: int) -> Problem:
    rng = np.random.default_rng(112)
    x = rng.normal(size=size)
    m = 1 / (1 + np.exp(0.3 - 0.7 * x))
    n = rng.integers(5, 60, size)
    y = rng.binomial(n, rng.beta(8 * m, 8 * (1 - m)))
    return Problem(np.array([-0.25, 0.65, math.log(7.0)]), (x, n.astype(float), y.astype(float)))


def density(theta: Any, x: Any, n: Any, y: Any) -> Any:
    from scipy.special import expit, gammaln

    phi = np.exp(theta[2])
    alpha = phi * expit(theta[0] + theta[1] * x)
    beta = phi - alpha
    terms = gammaln(y + alpha) + gammaln(n - y + beta) - gammaln(n + phi) - gammaln(alpha) - gammaln(beta)
    return np.sum(terms) + len(y) * gammaln(phi) - 0.5 * np.sum(theta**2)


def jax_numpy(theta: Any, x: Any, n: Any, y: Any) -> Any:
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    phi = jnp.exp(theta[2])
    alpha = phi * jax.nn.sigmoid(theta[0] + theta[1] * x)
    beta = phi - alpha
    terms = gammaln(y + alpha) + gammaln(n - y + beta) - gammaln(n + phi) - gammaln(alpha) - gammaln(beta)
    return jnp.sum(terms) + len(y) * gammaln(phi) - 0.5 * jnp.sum(theta**2)


def tensor(theta: Any, x: Any, n: Any, y: Any) -> Any:
    import pytensor.tensor as pt

    phi = pt.exp(theta[2])
    alpha = phi * pt.sigmoid(theta[0] + theta[1] * x)
    beta, gammaln = phi - alpha, pt.gammaln
    terms = gammaln(y + alpha) + gammaln(n - y + beta) - gammaln(n + phi) - gammaln(alpha) - gammaln(beta)
    return pt.sum(terms) + y.type.shape[0] * gammaln(phi) - 0.5 * pt.sum(theta**2)


def torch(theta: Any, x: Any, n: Any, y: Any) -> Any:
    from torch import lgamma

    phi = theta[2].exp()
    alpha = phi * (theta[0] + theta[1] * x).sigmoid()
    beta = phi - alpha
    terms = lgamma(y + alpha) + lgamma(n - y + beta) - lgamma(n + phi) - lgamma(alpha) - lgamma(beta)
    return terms.sum() + len(y) * lgamma(phi) - 0.5 * theta.square().sum()


# The same sums of lgamma, written out, take a sixth less time and lose three digits.
STAN = """
data { int size; vector[size] x; array[size] int n; array[size] int y; }
parameters { vector[3] theta; }
model {
  real phi = exp(theta[3]);
  vector[size] alpha = phi * inv_logit(theta[1] + theta[2] * x);
  target += beta_binomial_lupmf(y | n, alpha, phi - alpha) - 0.5 * dot_self(theta);
}
"""


def loop(theta: Any, x: Any, n: Any, y: Any) -> Any:
    """log Γ and ψ in one: shifted by x (x + 1) … (x + 7) and its derivative, then Stirling's series."""

    def both(x: float) -> Any:
        product, sum_ = 1.0, 0.0
        for _ in range(8):
            sum_ = sum_ * x + product
            product *= x
            x += 1.0
        r = 1 / x
        w = r * r
        log = math.log(x)
        series = r * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * 691 / 360360)))))
        tail = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * 691 / 32760)))))
        value = (x - 0.5) * log - x + 0.9189385332046727 + series - math.log(product)
        return value, log - 0.5 * r - tail - sum_ / product

    phi = math.exp(theta[2])
    whole, whole_dot = both(phi)
    value, by_intercept, by_slope, by_phi = 0.0, 0.0, 0.0, 0.0
    for i in range(y.size):
        m = 1 / (1 + math.exp(-theta[0] - theta[1] * x[i]))
        alpha, beta = phi * m, phi * (1 - m)
        v0, d0 = both(y[i] + alpha)
        v1, d1 = both(n[i] - y[i] + beta)
        v2, d2 = both(n[i] + phi)
        v3, d3 = both(alpha)
        v4, d4 = both(beta)
        value += v0 + v1 - v2 - v3 - v4 + whole
        alpha_bar, beta_bar = d0 - d3, d1 - d4
        eta_bar = (alpha_bar - beta_bar) * phi * m * (1 - m)
        by_intercept += eta_bar
        by_slope += eta_bar * x[i]
        by_phi += alpha_bar * m + beta_bar * (1 - m) - d2 + whole_dot
    gradient = np.array([by_intercept, by_slope, phi * by_phi]) - theta
    return value - 0.5 * np.sum(theta * theta), gradient


def reference(theta: Any, x: Any, n: Any, y: Any) -> Any:
    from scipy.special import expit, gammaln, psi

    m, phi = expit(theta[0] + theta[1] * x), np.exp(theta[2])
    alpha, beta = phi * m, phi * (1 - m)
    terms = gammaln(y + alpha) + gammaln(n - y + beta) - gammaln(n + phi) - gammaln(alpha) - gammaln(beta)
    alpha_bar, beta_bar = psi(y + alpha) - psi(alpha), psi(n - y + beta) - psi(beta)
    eta_bar = (alpha_bar - beta_bar) * phi * m * (1 - m)
    phi_bar = alpha_bar @ m + beta_bar @ (1 - m) - np.sum(psi(n + phi)) + len(y) * psi(phi)
    value = np.sum(terms) + len(y) * gammaln(phi) - 0.5 * theta @ theta
    return value, np.array([np.sum(eta_bar), eta_bar @ x, phi * phi_bar]) - theta


PARTS = (
    program(
        name="beta_binomial",
        title="Beta-binomial regression, N = 10⁵",
        number=12,
        size=100_000,
        quick=2_000,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda x, n, y: {"size": len(y), "x": x, "n": n.astype(int), "y": y.astype(int)},
        loop=loop,
        hand=True,
    ),
)
