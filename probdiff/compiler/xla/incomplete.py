"""The incomplete gamma and beta functions: a series and continued fractions, until the last element has converged.

JAX's own lose half of their digits where the shapes are 10^5: their factor in front is a difference of large
logarithms. Here the error is below 1e-12 for shapes up to 10^5, and some 1e-12 at 10^7.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.xla.library import jnp, lax
from probdiff.compiler.xla.normal import ndtr
from probdiff.graph.program import Program
from probdiff.graph.trace import capture
from probdiff.ops.saddle import beta_kernel, gamma_kernel
from probdiff.tree import flatten

LONGEST = 50_000  # steps: a few times the root of the largest shape are needed


@functools.cache
def _recorded(kernel: Callable[..., Any], count: int) -> Program:
    kinds = [((), np.dtype(float))] * count
    return capture(kernel, flatten((0.0,) * count)[1], kinds, list(range(count))).program


def _exp_of(kernel: Callable[..., Any], *xs: Any) -> Any:
    from probdiff.compiler.xla.lower import evaluate

    return jnp.exp(evaluate(_recorded(kernel, len(xs)), xs)[0])


def _until_steady(step: Callable[..., Any], start: tuple[Any, ...]) -> tuple[Any, ...]:
    """Apply step(i, state) -> (state, relative change) for i = 1, 2, … while an element still changes."""
    eps = float(jnp.finfo(start[0].dtype).eps)

    def going(carry: Any) -> Any:
        i, _, change = carry
        return (i < LONGEST) & jnp.any(change > eps)

    def body(carry: Any) -> Any:
        i, state, _ = carry
        state, change = step(i.astype(start[0].dtype), state)
        return i + 1, state, jnp.abs(change)

    first = (jnp.asarray(1, jnp.int32), start, jnp.ones_like(start[0]))
    found: tuple[Any, ...] = lax.while_loop(going, body, first)[1]
    return found


def _gamma_series(a: Any, x: Any) -> Any:
    """Σ x^n / (a (a + 1) … (a + n)), times x^a exp(-x) / Γ(a) the lower tail. DLMF 8.7.1."""

    def step(n: Any, state: Any) -> Any:
        term, total = state
        term = term * x / (a + n)
        return (term, total + term), term / total

    return _until_steady(step, (1.0 / a, 1.0 / a))[1]


def _gamma_fraction(a: Any, x: Any) -> Any:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - …)), times x^a exp(-x) / Γ(a) the upper tail. DLMF 8.9.2."""

    def step(n: Any, state: Any) -> Any:
        c, d, h = state
        b, numerator = x + 1.0 - a + 2.0 * n, n * (a - n)
        d = 1.0 / (numerator * d + b)
        c = b + numerator / c
        return (c, d, h * c * d), c * d - 1.0

    d = 1.0 / (x + 1.0 - a)
    return _until_steady(step, (jnp.full_like(d, np.inf), d, d))[2]


def _gamma_tails(a: Any, x: Any) -> tuple[Any, Any]:
    """P(a, x) and Q(a, x)."""
    a, x = jnp.broadcast_arrays(a, x)
    ordinary = (a > 0.0) & (x > 0.0) & (a < np.inf) & (x < np.inf)
    shape, at = jnp.where(ordinary, a, 1.0), jnp.where(ordinary, x, 1.0)
    below = at < shape + 1.0
    scale = _exp_of(gamma_kernel, shape, at)
    series = _gamma_series(shape, jnp.where(below, at, 0.0))
    fraction = _gamma_fraction(jnp.where(below, 1.0, shape), jnp.where(below, 1.0, at))
    tail = scale * jnp.where(below, series, fraction)
    lower, upper = jnp.where(below, tail, 1.0 - tail), jnp.where(below, 1.0 - tail, tail)
    full = (x == np.inf) & (a < np.inf) | (a == 0.0) & (x > 0.0)
    empty = (x == 0.0) & (a > 0.0) | (a == np.inf) & (x < np.inf)
    bad = ~ordinary & ~((full | empty) & (a >= 0.0) & (x >= 0.0))
    edge = jnp.where(bad, np.nan, jnp.where(full, 1.0, 0.0))
    return jnp.where(ordinary, lower, edge), jnp.where(ordinary, upper, 1.0 - edge)


def gammainc(a: Any, x: Any) -> Any:
    """The lower regularised incomplete gamma function."""
    return _gamma_tails(a, x)[0]


def gammaincc(a: Any, x: Any) -> Any:
    """The upper regularised incomplete gamma function."""
    return _gamma_tails(a, x)[1]


def _beta_fraction(a: Any, b: Any, t: Any, s: Any) -> Any:
    """I_t(a, b) B(a, b) / (t^a s^b) for s = 1 - t and a s >= b t, as a continued fraction without cancellation.

    1 / (β0 + α1 / (β1 + …)),  αn = (a + n - 1) (a + b + n - 1) n (b - n) t² / (a + 2 n - 1)²,
    βn = n + n (b - n) t / (a + 2 n - 1) + (a + n) / (a + 2 n + 1) (a s - b t + 1 + n (1 + s)).
    A. DiDonato & A. Morris, Significant digit computation of the incomplete beta function ratios, TOMS 18 (1992).
    """
    gap = a * s - b * t + 1.0

    def step(n: Any, state: Any) -> Any:
        c, d, h = state
        w = n * (b - n) * t
        alpha = (a + n - 1.0) / (a + 2.0 * n - 1.0) * ((a + b + n - 1.0) / (a + 2.0 * n - 1.0)) * (w * t)
        beta = n + w / (a + 2.0 * n - 1.0) + (a + n) / (a + 2.0 * n + 1.0) * (gap + n * (1.0 + s))
        d = 1.0 / (beta + alpha * d)
        c = beta + alpha / c
        return (c, d, h / (c * d)), c * d - 1.0

    first = a / (a + 1.0) * gap
    return _until_steady(step, (first, jnp.zeros_like(first), 1.0 / first))[2]


def _beta_tails(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """I_x(a, b) and 1 - I_x(a, b)."""
    a, b, x = jnp.broadcast_arrays(a, b, x)
    ordinary = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < np.inf) & (b < np.inf)
    a_, b_, x_ = (jnp.where(ordinary, v, s) for v, s in ((a, 1.0), (b, 1.0), (x, 0.5)))
    turned = a_ * (1.0 - x_) < b_ * x_
    p, q = jnp.where(turned, b_, a_), jnp.where(turned, a_, b_)
    t, s = jnp.where(turned, 1.0 - x_, x_), jnp.where(turned, x_, 1.0 - x_)
    log_x, log_rest = jnp.log(x_), jnp.log1p(-x_)
    log_t, log_s = jnp.where(turned, log_rest, log_x), jnp.where(turned, log_x, log_rest)
    tail = _exp_of(beta_kernel, p, q, t, s, log_t, log_s) * _beta_fraction(p, q, t, s)
    lower, upper = jnp.where(turned, 1.0 - tail, tail), jnp.where(turned, tail, 1.0 - tail)
    inside = (x >= 0.0) & (x <= 1.0) & (a >= 0.0) & (b >= 0.0)
    full, empty = (x == 1.0) | (a == 0.0) & (b > 0.0), (x == 0.0) | (b == 0.0) & (a > 0.0)
    edge = jnp.where(inside & (full != empty), jnp.where(full, 1.0, 0.0), np.nan)
    return jnp.where(ordinary, lower, edge), jnp.where(ordinary, upper, 1.0 - edge)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function."""
    return _beta_tails(a, b, x)[0]


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """One minus the regularised incomplete beta function."""
    return _beta_tails(a, b, x)[1]


def stdtr(v: Any, t: Any) -> Any:
    """Student's distribution function: I_y(v / 2, 1 / 2) / 2 with y = v / (v + t²), and one minus it for t > 0."""
    v, t = jnp.broadcast_arrays(v, t)
    small = t * t < v  # then 1 - y has more digits than y
    half, share = jnp.full_like(v, 0.5), jnp.where(small, t * t, v) / (v + t * t)
    lower, upper = _beta_tails(jnp.where(small, half, 0.5 * v), jnp.where(small, 0.5 * v, half), share)
    tail = 0.5 * jnp.where(small, upper, lower)
    found = jnp.where(t > 0.0, 1.0 - tail, tail)
    return jnp.where(v > 1e17, ndtr(t), found)
