"""The incomplete gamma functions: logs of the tails with their derivatives in the shape, and the tails themselves.

In the variable log x the integrand of Γ(a) P(a, x) has its top at x = a. The tail on the side of x without the top is
computed, the other one is one minus it:

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

from probdiff.compiler.formulas import series
from probdiff.compiler.formulas.loops import choose_series, summed, summed_series
from probdiff.compiler.formulas.polynomials import gamma_kernel, log_gamma_of_next, log_less_psi, polygamma
from probdiff.compiler.formulas.quadrature import DEPTH, log_integral, stretched
from probdiff.compiler.formulas.series import Power, Series, powers
from probdiff.ops.saddle import expm1_less
from probdiff.tree import Array

HUGE = 1e100  # shapes whose law is a point, for float64
LARGE = 20.0  # shapes from which the integral has less terms than the series


def log_tail(order: int, upper: bool) -> Callable[..., Array]:
    """The derivative of that order in a of log P(a, x), or of log Q(a, x)."""

    def formula(a: Array, x: Array) -> Array:
        inside = (a > 0.0) & (a < HUGE) & (x > 0.0) & (x < np.inf)
        lower, tail = smaller_tail(powers(order, 0), np.where(inside, a, 1.0), np.where(inside, x, 1.0))
        value = np.where(lower != upper, tail[order, 0], series.log1mexp(tail)[order, 0]) * math.factorial(order)
        edge = 0.0 if order else np.where((x <= a) != upper, -np.inf, 0.0)
        valid = (a > 0.0) & (a < np.inf) & (x >= 0.0)
        return np.where(inside, value, np.where(valid, edge, np.nan))

    return formula


def tail(upper: bool) -> Callable[..., Array]:
    """P(a, x), or Q(a, x)."""

    def formula(a: Array, x: Array) -> Array:
        inside = (a > 0.0) & (a < HUGE) & (x > 0.0) & (x < np.inf)
        lower, found = smaller_tail([(0, 0)], np.where(inside, a, 1.0), np.where(inside, x, 1.0))
        value = np.where(lower != upper, np.exp(found[0, 0]), -np.expm1(found[0, 0]))
        # At the ends the law has all its mass at a.
        good = (a >= 0.0) & (x >= 0.0) & ((a != x) | (0.0 < a) & (a < np.inf))
        edge = np.where(x == a, 0.5, np.where((x > a) != upper, 1.0, 0.0))
        return np.where(inside, value, np.where(good, edge, np.nan))

    return formula


def smaller_tail(keys: list[Power], a: Array, x: Array) -> tuple[Array, Series]:
    """Whether it is the lower tail, and its log at a + α as a series; a and x positive and finite."""
    small = _is_small(a, x)
    lower, found = choose_series(small, lambda *ax: _small(keys, *ax), lambda *ax: _usual(keys, *ax), a, x)
    return lower, found


def _is_small(a: Array, x: Array) -> Array:
    return (x <= 1.0) & (a < 1.0)


def _small(keys: list[Power], a: Array, x: Array) -> tuple[Array, Series]:
    """P = e^w (1 + T),  1 - P = -expm1(w) - e^w T  for w = a log x - log Γ(a + 1),  T = Σ (-x)^n a / (n! (a + n))."""
    on = _is_small(a, x)
    w = {(0, 0): a * np.log(x) - log_gamma_of_next(a)}
    for k, _ in keys[1:]:
        w[k, 0] = (np.log(x) if k == 1 else 0.0) - polygamma(k - 1, 1.0 + a) / math.factorial(k)

    def step(n: Array, terms: Any, sums: Any) -> Any:
        power = terms[0] * (-x / n)
        share = 1.0 / (a + n)
        new = [power * (n * share * -((-share) ** k) if k else a * share) for k, _ in keys]
        return (power,), tuple(s + t for s, t in zip(sums, new, strict=True))

    t = dict(zip(keys, summed(on, step, (1.0,), (0.0,) * len(keys)), strict=True))
    height, low = np.exp(w[0, 0]), np.expm1(w[0, 0])
    exponential = series.exp(w, height)
    product = series.product(exponential, t)
    upper = {k: -(product[k] + exponential[k]) for k in keys}
    upper[0, 0] = -(low + height * t[0, 0])
    one = {**t, (0, 0): 1.0 + t[0, 0]}
    log_lower = series.total(w, series.log(one, np.log1p(t[0, 0])))
    log_upper = series.log(upper, np.log(upper[0, 0]))
    below = upper[0, 0] > 0.5
    return below, {k: np.where(below, log_lower[k], log_upper[k]) for k in keys}


def _usual(keys: list[Power], a: Array, x: Array) -> tuple[Array, Series]:
    below = x < a
    kernel = {(0, 0): gamma_kernel(a, x)}
    for k, _ in keys[1:]:
        kernel[k, 0] = -polygamma(k - 1, a) / math.factorial(k) if k > 1 else _log_ratio(a, x) + log_less_psi(a)
    _, found = choose_series(
        below & (a < LARGE), lambda *ax: (0.0, _rising(keys, *ax)), lambda *ax: (0.0, _integral(keys, *ax)), a, x
    )
    return below, series.total(kernel, found)


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
