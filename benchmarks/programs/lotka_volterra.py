"""Program 10: Lotka-Volterra, 20 yearly log-normal observations of two species, RK4 with 20 steps a year.

Parameters, on the log scale: the four rates, both initial populations, the error's scale. The trajectory is a `fwddiff`
kernel: seven tangents go forward with it, and nothing is stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.benchmarks.programs.contenders import Problem, program

STEPS = 20
CENTER = np.log([0.5, 0.03, 0.8, 0.03, 30.0, 5.0, 0.25])


def slope(p: Any, u: Any, v: Any) -> Any:
    """du/dt = (a - b v) u, dv/dt = (d u - c) v, in the arithmetic of whoever calls."""
    return (p[0] - p[1] * v) * u, (p[3] * u - p[2]) * v


def advance(p: Any, u: Any, v: Any) -> Any:
    """One step of the classical Runge-Kutta method."""
    h = 1.0 / STEPS
    a0, a1 = slope(p, u, v)
    b0, b1 = slope(p, u + 0.5 * h * a0, v + 0.5 * h * a1)
    c0, c1 = slope(p, u + 0.5 * h * b0, v + 0.5 * h * b1)
    d0, d1 = slope(p, u + h * c0, v + h * c1)
    return u + h / 6 * (a0 + 2 * (b0 + c0) + d0), v + h / 6 * (a1 + 2 * (b1 + c1) + d1)


def problem(n: int) -> Problem:
    rng = np.random.default_rng(110)
    p, y = np.exp(CENTER), np.zeros((n, 2))
    u, v = p[4], p[5]
    for t in range(n):
        for _ in range(STEPS):
            u, v = advance(p, u, v)
        y[t] = np.log(u), np.log(v)
    return Problem(CENTER + 0.03, (y + 0.25 * rng.normal(size=(n, 2)),))


def density(theta: Any, y: Any) -> Any:
    from probdiff import fori_loop, fwddiff, scan

    def trajectory(p: Any) -> Any:
        def year(at: Any, _: Any) -> Any:
            u, v = fori_loop(0, STEPS, lambda i, at: advance(p, *at), at)
            return (u, v), (u, v)

        _, (u, v) = scan(year, (p[4], p[5]), np.arange(len(y)))
        return np.stack([u, v], axis=1)

    r = (y - np.log(fwddiff(trajectory)(np.exp(theta[:6])))) / np.exp(theta[6])
    return -0.5 * np.sum(r**2) - y.size * theta[6] - 0.5 * np.sum((theta - CENTER) ** 2)


def jax_numpy(theta: Any, y: Any) -> Any:
    """Forward mode through the loop as well, by a rule of its own: four times faster than reverse mode."""
    import jax
    import jax.numpy as jnp

    def trajectory(p: Any) -> Any:
        def year(at: Any, _: Any) -> Any:
            at, _ = jax.lax.scan(lambda at, _: (advance(p, *at), None), at, None, length=STEPS)
            return at, at

        _, (u, v) = jax.lax.scan(year, (p[4], p[5]), None, length=y.shape[0])
        return jnp.stack([u, v], axis=1)

    def with_tangents(p: Any) -> Any:
        return jax.vmap(lambda p_dot: jax.jvp(trajectory, (p,), (p_dot,)), out_axes=(None, 0))(jnp.eye(6))

    seamed = jax.custom_vjp(trajectory)
    seamed.defvjp(with_tangents, lambda tangents, y_bar: (jnp.einsum("kij,ij->k", tangents, y_bar),))
    r = (y - jnp.log(seamed(jnp.exp(theta[:6])))) / jnp.exp(theta[6])
    return -0.5 * jnp.sum(r**2) - y.size * theta[6] - 0.5 * jnp.sum((theta - CENTER) ** 2)


def tensor(theta: Any, y: Any) -> Any:
    import pytensor
    import pytensor.tensor as pt

    p = pt.exp(theta[:6])
    u, v = pytensor.scan(
        lambda u, v, *rates: advance(rates, u, v),
        outputs_info=[p[4], p[5]],
        non_sequences=[p[0], p[1], p[2], p[3]],
        n_steps=STEPS * y.type.shape[0],
        return_updates=False,
    )
    r = (y - pt.log(pt.stack([u[STEPS - 1 :: STEPS], v[STEPS - 1 :: STEPS]], axis=1))) / pt.exp(theta[6])
    return -0.5 * pt.sum(r**2) - y.type.shape[0] * 2 * theta[6] - 0.5 * pt.sum((theta - CENTER) ** 2)


def torch(theta: Any, y: Any) -> Any:
    import torch

    p = theta[:6].exp().unbind()
    u, v, seen = p[4], p[5], []
    for _ in range(len(y)):
        for _ in range(STEPS):
            u, v = advance(p, u, v)
        seen += [u, v]
    r = (y - torch.stack(seen).log().reshape(-1, 2)) / theta[6].exp()
    return -0.5 * r.square().sum() - y.numel() * theta[6] - 0.5 * (theta - torch.from_numpy(CENTER)).square().sum()


# On reals: with functions of vectors, as in the other languages, it takes twice as long.
STAN = """
data { int n; int steps; matrix[n, 2] y; vector[7] center; }
parameters { vector[7] theta; }
model {
  real a = exp(theta[1]);
  real b = exp(theta[2]);
  real c = exp(theta[3]);
  real d = exp(theta[4]);
  real u = exp(theta[5]);
  real v = exp(theta[6]);
  real h = 1.0 / steps;
  matrix[n, 2] seen;
  for (t in 1:n) {
    for (k in 1:steps) {
      real u1 = (a - b * v) * u;
      real v1 = (d * u - c) * v;
      real uh = u + 0.5 * h * u1;
      real vh = v + 0.5 * h * v1;
      real u2 = (a - b * vh) * uh;
      real v2 = (d * uh - c) * vh;
      uh = u + 0.5 * h * u2;
      vh = v + 0.5 * h * v2;
      real u3 = (a - b * vh) * uh;
      real v3 = (d * uh - c) * vh;
      uh = u + h * u3;
      vh = v + h * v3;
      u += h / 6 * (u1 + 2 * (u2 + u3) + (a - b * vh) * uh);
      v += h / 6 * (v1 + 2 * (v2 + v3) + (d * uh - c) * vh);
    }
    seen[t, 1] = u;
    seen[t, 2] = v;
  }
  target += -0.5 * sum(square((y - log(seen)) * exp(-theta[7]))) - 2 * n * theta[7];
  target += -0.5 * dot_self(theta - center);
}
"""


def reference(theta: Any, y: Any) -> Any:
    """Runge-Kutta on the variational equations, whose right side is linear in the tangents (2, 6)."""
    p, h = np.exp(theta[:6]), 1.0 / STEPS

    def right(state: Any) -> Any:
        (u, v), S = state[:, 0], state[:, 1:]
        dot = np.empty_like(state)
        dot[:, 0] = slope(p, u, v)
        dot[0, 1:] = (p[0] - p[1] * v) * S[0] - p[1] * u * S[1] + np.array([u, -u * v, 0, 0, 0, 0])
        dot[1, 1:] = p[3] * v * S[0] + (p[3] * u - p[2]) * S[1] + np.array([0, 0, -v, u * v, 0, 0])
        return dot

    state = np.concatenate([p[4:6, None], np.zeros((2, 4)), np.eye(2)], axis=1)
    value, gradient, precision = 0.0, np.zeros(7), np.exp(-2 * theta[6])
    for row in y:
        for _ in range(STEPS):
            a = right(state)
            b = right(state + 0.5 * h * a)
            c = right(state + 0.5 * h * b)
            state = state + h / 6 * (a + 2 * (b + c) + right(state + h * c))
        r = row - np.log(state[:, 0])
        value -= 0.5 * precision * r @ r
        gradient[:6] += precision * (r / state[:, 0]) @ state[:, 1:]
        gradient[6] += precision * r @ r - 2
    gradient[:6] *= p
    value -= y.size * theta[6] + 0.5 * np.sum((theta - CENTER) ** 2)
    return value, gradient - (theta - CENTER)


PARTS = (
    program(
        name="lotka_volterra",
        title="Lotka-Volterra, 20 years, RK4",
        number=10,
        size=20,
        quick=5,
        problem=problem,
        reference=reference,
        probdiff=density,
        jax_numpy=jax_numpy,
        tensor=tensor,
        torch=torch,
        stan=STAN,
        stan_data=lambda y: {"n": len(y), "steps": STEPS, "y": y, "center": CENTER},
    ),
)
