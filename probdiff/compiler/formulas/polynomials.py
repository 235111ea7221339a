"""Polynomials, and the functions made of them that other formulas need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.compiler.formulas.loops import choose
from probdiff.compiler.native.vectormath.coefficients import GAMMALN
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise, rows
from probdiff.ops.saddle import (
    HALF_LOG_2PI,
    LARGE,
    large_beta_kernel,
    large_gamma_kernel,
    log_less_psi_series,
    stirling_series,
)
from probdiff.tree import Array


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """sum_i coefficients[i] * x**i, lowest power first."""
    y: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = y * x + c
    return y


def log_gamma_of_next(a: Array) -> Array:
    """log Γ(1 + a) for 0 <= a <= 1.5, with all its digits next to its zeros."""
    low = a < 0.5
    t = np.where(low, a, a - 1.0)
    return t * polynomial(t, GAMMALN) - np.where(low, np.log1p(a), 0.0)


# Of arguments that are positive: without the reflection they are half as much code.
GAMMALN_POSITIVE = Elementwise("gammaln_positive", sp.gammaln, ())
POLYGAMMA_POSITIVE = (
    Elementwise("psi_positive", sp.psi, ()),
    Elementwise("trigamma_positive", lambda x: sp.polygamma(1, x), ()),
)


def gammaln(x: Array) -> Array:
    """log Γ(x) for x > 0."""
    return apply(GAMMALN_POSITIVE, x)


def polygamma(n: int, x: Array) -> Array:
    """The n-th derivative of psi for x > 0; n is known when the formula is recorded."""
    return apply(POLYGAMMA_POSITIVE[n], x) if n < 2 else apply(rows["polygamma"], n, x)


def log_less_psi(a: Array) -> Array:
    """log a - ψ(a)"""
    return choose(a < LARGE, lambda a: np.log(a) - polygamma(0, a), log_less_psi_series, a)


def gamma_kernel(a: Array, x: Array) -> Array:
    """log [x^a exp(-x) / Γ(a)]"""
    return choose(a < LARGE, lambda a, x: a * np.log(x) - x - gammaln(a), large_gamma_kernel, a, x)


def beta_kernel(a: Array, b: Array, t: Array, s: Array, log_t: Array, log_s: Array) -> Array:
    """log [t^a s^b / B(a, b)],  s = 1 - t."""

    def some_small(a: Array, b: Array, t: Array, s: Array, log_t: Array, log_s: Array) -> Array:
        return a * log_t + b * log_s - log_beta(np.minimum(a, b), np.maximum(a, b))

    def large(a: Array, b: Array, t: Array, s: Array, log_t: Array, log_s: Array) -> Array:
        return large_beta_kernel(a, b, t, s)

    return choose(np.minimum(a, b) < LARGE, some_small, large, a, b, t, s, log_t, log_s)


def log_beta(small: Array, large: Array) -> Array:
    """log B(small, large) for small <= large."""

    def neither(small: Array, large: Array) -> Array:
        return gammaln(small) + gammaln(large) - gammaln(small + large)

    def one(small: Array, large: Array) -> Array:
        n = small + large
        step = (large - 0.5) * np.log1p(small / large) + small * np.log(n) - small
        return gammaln(small) - (step + stirling_series(n) - stirling_series(large))

    def both(small: Array, large: Array) -> Array:
        n = small + large
        powers = (small - 0.5) * np.log(small / n) - (large - 0.5) * np.log1p(small / large) - 0.5 * np.log(n)
        return powers + HALF_LOG_2PI + (stirling_series(small) + stirling_series(large) - stirling_series(n))

    def some(small: Array, large: Array) -> Array:
        return choose(large < LARGE, neither, one, small, large)

    return choose(small < LARGE, some, both, small, large)


# B(2 k) / (2 k)!, the coefficients of Euler and Maclaurin's formula.
BERNOULLI = (
    *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600),
    *(-3617 / 10670622842880000, 43867 / 5109094217170944000),
)


def high_polygamma(n: int) -> Callable[..., Array]:
    """(-1)^(n + 1) n! Σ 1 / (x + k)^(n + 1), n >= 1: terms up to x + k >= n + 10, then Euler and Maclaurin's."""
    from probdiff.ad.control import while_loop

    def formula(x: Array) -> Array:
        power = n + 1
        pole = (x <= 0.0) & (np.floor(x) == x)
        start = np.where(pole | ~(x > -1e6), 1.0, x)

        def body(carry: Any) -> Any:
            y, total = carry
            return y + 1.0, total + y**-power

        y, total = while_loop(lambda c: c[0] < n + 10.0, body, (start, 0.0))
        r = 1.0 / y
        term = r**n
        rest = term * (1.0 / n + 0.5 * r)
        rising = float(power)
        for k, c in enumerate(BERNOULLI):
            term = term * (r * r)
            rest = rest + c * rising * term
            rising *= (power + 2 * k + 1) * (power + 2 * k + 2)
        value = np.where(pole, np.inf, total + rest)
        return np.where(x > -1e6, math.factorial(n) * (-1.0) ** power * value, np.nan)

    return formula
