"""The incomplete gamma functions: the tails and their logs, and derivatives of the logs in the shape.

Values are those of `gamma_tail`; derivatives come from expansions that are differentiated term by term. In the variable
log x the integrand of Γ(a) P(a, x) has its top at x = a. The tail on the side of x without the top is computed, the
other one is one minus it:

x <= 1, a < 1   either, by Σ (-x)^n a / (n! (a + n)) and x^a / Γ(a + 1), whose difference from one keeps its digits
x < a < 20      the lower one, by Σ x^n / (a (a + 1) … (a + n)), DLMF 8.7.1
else            by quadrature

All sums but the first are of terms of one sign, and so are those of their derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.formulas import gamma_tail, series, small_shapes
from probdiff.compiler.formulas.loops import choose, choose_series, summed, summed_series
from probdiff.compiler.formulas.polynomials import gamma_kernel, log_gamma_of_next, log_less_psi, polygamma
from probdiff.compiler.formulas.quadrature import DEPTH, log_integral, stretched
from probdiff.compiler.formulas.series import Power, Series, powers
from probdiff.ops.saddle import expm1_less
from probdiff.tree import Array

HUGE = 1e100  # shapes whose law is a point, for float64
LARGE = 20.0  # shapes from which the integral has less terms than the series


def log_tail(order: int, upper: bool) -> Callable[..., Array]:
    """The derivative of that order in a of log P(a, x), or of log Q(a, x)."""

    def value(a: Array, x: Array) -> Array:
        lower, exponent, factor = gamma_tail.smaller_tail(a, x)
        return choose(
            lower != upper, lambda e, f: e + np.log(f), lambda e, f: np.log1p(-np.exp(e) * f), exponent, factor
        )

    def derivative(a: Array, x: Array) -> Array:
        return both_tails(powers(order, 0), a, x)[upper][order, 0] * math.factorial(order)

    def formula(a: Array, x: Array) -> Array:
        inside = (a > 0.0) & (a < HUGE) & (x > 0.0) & (x < np.inf)
        found = (derivative if order else value)(np.where(inside, a, 1.0), np.where(inside, x, 1.0))
        edge = 0.0 if order else np.where((x <= a) != upper, -np.inf, 0.0)
        valid = (a > 0.0) & (a < np.inf) & (x >= 0.0)
        return np.where(inside, found, np.where(valid, edge, np.nan))

    return formula


def tail(upper: bool) -> Callable[..., Array]:
    """P(a, x), or Q(a, x)."""

    def formula(a: Array, x: Array) -> Array:
        inside = (a > 0.0) & (a < HUGE) & (x > 0.0) & (x < np.inf)
        lower, exponent, factor = gamma_tail.smaller_tail(np.where(inside, a, 1.0), np.where(inside, x, 1.0))
        smaller = np.exp(exponent) * factor
        # At the ends the law has all its mass at a.
        good = (a >= 0.0) & (x >= 0.0) & ((a != x) | (0.0 < a) & (a < np.inf))
        edge = np.where(x == a, 0.5, np.where((x > a) != upper, 1.0, 0.0))
        return np.where(inside, np.where(lower != upper, smaller, 1.0 - smaller), np.where(good, edge, np.nan))

    return formula


def both_tails(keys: list[Power], a: Array, x: Array) -> tuple[Series, ...]:
    """The logs of the lower and of the upper tail at a + α as series; a and x positive and finite."""
    return choose_series(_is_small(a, x), lambda *ax: _small(keys, *ax), lambda *ax: _usual(keys, *ax), a, x)


def _is_small(a: Array, x: Array) -> Array:
    return (x <= 1.0) & (a < 1.0)


def _small(keys: list[Power], a: Array, x: Array) -> tuple[Series, Series]:
    """P = e^w (1 + T),  1 - P = -expm1(w) - e^w T  for w = a log x - log Γ(a + 1),  T = Σ (-x)^n a / (n! (a + n))."""
    on, small = _is_small(a, x), a < small_shapes.SMALL

    w = {(0, 0): a * np.log(x) - log_gamma_of_next(a)}
    for k, _ in keys[1:]:
        w[k, 0] = (np.log(x) if k == 1 else 0.0) - polygamma(k - 1, 1.0 + a) / math.factorial(k)

    def short(a: Array, x: Array, *_: Array) -> tuple[Series]:
        u = {k: -v for k, v in small_shapes.log_rise(on & small, keys, a, 1.0 + 0.0 * a).items()}
        u[0, 0] = u[0, 0] + np.log(x)
        return (u,)

    def usual(a: Array, x: Array, *w: Array) -> tuple[Series]:
        return (small_shapes.over_shape(a, dict(zip(keys, w, strict=True))),)

    def step(n: Array, terms: Any, sums: Any) -> Any:
        power = terms[0] * (-x / n)
        share = 1.0 / (a + n)
        return (power,), tuple(total + power * share * (-share) ** k for total, (k, _) in zip(sums, keys, strict=True))

    (u,) = choose_series(small, short, usual, a, x, *(w[k] for k in keys))
    tau = dict(zip(keys, summed(on, step, (1.0,), (0.0,) * len(keys)), strict=True))
    return small_shapes.both_logs(on, a, w, u, tau)


def _usual(keys: list[Power], a: Array, x: Array) -> tuple[Series, Series]:
    below = x < a
    kernel = {(0, 0): gamma_kernel(a, x)}
    for k, _ in keys[1:]:
        kernel[k, 0] = -polygamma(k - 1, a) / math.factorial(k) if k > 1 else _log_ratio(a, x) + log_less_psi(a)
    (found,) = choose_series(
        below & (a < LARGE), lambda *ax: (_rising(keys, *ax),), lambda *ax: (_integral(keys, *ax),), a, x
    )
    own = series.total(kernel, found)
    other = series.log1mexp(own)
    return (
        {k: np.where(below, own[k], other[k]) for k in keys},
        {k: np.where(below, other[k], own[k]) for k in keys},
    )


def _log_ratio(a: Array, x: Array) -> Array:
    """log(x / a)"""
    ratio = (x - a) / a
    return np.where(abs(ratio) < 0.5, np.log1p(ratio), np.log(x) - np.log(a))


def _rising(keys: list[Power], a: Array, x: Array) -> Series:
    """log Σ x^n / (a (a + 1) … (a + n))"""
    on = (x < a) & (a < LARGE) & ~_is_small(a, x)

    def factor(n: Any, scale: Any) -> Series:
        share = 1.0 / (a + n)
        return {(k, 0): scale * share * (-share) ** k for k, _ in keys}

    sums = summed_series(on, factor(0.0, 1.0), lambda n: factor(n, x))
    return series.log(sums, np.log(sums[0, 0]))


def _integral(keys: list[Power], a: Array, x: Array) -> Series:
    """log ∫ exp(φ) over the tail on the side of x without the top, φ(s) = ±a s - x (e^{±s} - 1)."""
    below = x < a
    on = ~(below & (a < LARGE)) & ~_is_small(a, x)
    sign = np.where(below, -1.0, 1.0)
    gap = sign * (a - x)

    def phi(s: Array, a: Array, x: Array, sign: Array, gap: Array) -> tuple[Any, ...]:
        e = sign * s
        bend = expm1_less(e)
        return np.where(s < 0.5, gap * s - x * bend, a * e - x * (bend + e)), e, 0.0

    args = (a, x, sign, gap)
    curve = 2.0 * gap + DEPTH
    down = (curve + np.sqrt(curve * curve + 8.0 * DEPTH * a)) / (2.0 * a)
    up = (gap + np.sqrt(gap * gap + 2.0 * DEPTH * x)) / x
    guess = np.where(below, down, np.maximum(np.log1p(DEPTH / x), np.minimum(up, 1.0)))

    def roughly(s: Array) -> tuple[Array, Array]:
        rise = np.expm1(sign * s)
        return gap * s - x * (rise - sign * s), gap - sign * x * rise

    end = stretched(roughly, guess, 2)
    return log_integral(on, phi, end, args, keys)
