"""The factors in front of the tails, by Stirling's formula with its error, and the logs that they are made of."""

from __future__ import annotations

import math

import numpy as np

from probdiff.compiler.formulas.loops import choose
from probdiff.compiler.formulas.polynomials import log_gamma_of_next, polynomial
from probdiff.ops.saddle import stirling_series
from probdiff.ops.stirling import P, Q
from probdiff.tree import Array

LARGE = 10.0  # shapes from which exponents are written without cancellation
ATANH = tuple(1.0 / k for k in range(3, 27, 2))
VANISHED = 1e17  # shapes from which nothing is left of the error
OVER_2PI = 0.5 / math.pi


def less_log1p(y: Array, *_: Array) -> Array:
    """y - log(1 + y) for |y| < 0.4: twice the inverse hyperbolic tangent of v = y / (2 + y) is log(1 + y)."""
    v = y / (2.0 + y)
    w = v * v
    return y * v - 2.0 * v * (w * polynomial(w, ATANH))


def excess(a: Array, x: Array) -> Array:
    """x / a - 1 - log(x / a)"""
    rest = (x - a) / a
    return choose(abs(rest) < 0.4, less_log1p, lambda rest, a, x: rest - log_ratio(a, x), rest, a, x)


def log_ratio(a: Array, x: Array) -> Array:
    """log(x / a)"""
    ratio = x / a
    return choose(ratio > 1e-290, lambda r, a, x: np.log(r), lambda r, a, x: np.log(x) - np.log(a), ratio, a, x)


def error_of_stirling(a: Array) -> Array:
    """log Γ(a) - [(a - 1/2) log a - a + log(2π)/2]; below one by that of a + 1."""

    def small(a: Array) -> Array:
        return _rational(a + 1.0) + ((a + 0.5) * np.log1p(1.0 / a) - 1.0)

    return choose(a < 1.0, small, _rational, a)


def _rational(a: Array) -> Array:
    """The same for a >= 1, without branches."""
    a = np.minimum(a, VANISHED)
    v = a * a
    return polynomial(v, P[::-1]) / (a * polynomial(v, Q[::-1]))


def gamma_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """x^a exp(-x) / Γ(a) as an exponent and a factor."""

    def small(a: Array, x: Array) -> tuple[Array, Array]:
        return a * np.log(x) - x - log_gamma_of_next(a), a

    def usual(a: Array, x: Array) -> tuple[Array, Array]:
        return (a - x) + a * log_ratio(a, x) - _rational(a), np.sqrt(a * OVER_2PI)

    def large(a: Array, x: Array) -> tuple[Array, Array]:
        return -(a * excess(a, x)) - stirling_series(a), np.sqrt(a * OVER_2PI)

    exponent, scale = choose(a < 1.0, small, lambda a, x: choose(a < LARGE, usual, large, a, x), a, x)
    return exponent, scale


def beta_parts(p: Array, q: Array, t: Array, s: Array) -> tuple[Array, Array]:
    """t^p s^q / B(p, q) as an exponent and a factor, for s = 1 - t >= q / (p + q)."""
    n = p + q
    gap = p * s - q * t  # p - n t = n s - q
    low, high = gap / p, np.minimum(gap / q, 1e300)

    def usual(p: Array, q: Array, t: Array, low: Array, high: Array) -> Array:
        log_t = choose(
            low < 0.7, lambda p, q, t, low: np.log1p(-low), lambda p, q, t, low: _log_share(p, q, t), p, q, t, low
        )
        return p * log_t + q * np.log1p(high)

    def large(p: Array, q: Array, t: Array, low: Array, high: Array) -> Array:
        left = choose(
            low < 0.4,
            lambda p, q, t, low: less_log1p(-low),
            lambda p, q, t, low: -low - _log_share(p, q, t),
            p,
            q,
            t,
            low,
        )
        right = choose(high < 0.4, less_log1p, lambda high: high - np.log1p(high), high)
        return -(p * left + q * right)

    exponent = choose(np.minimum(p, q) < LARGE, usual, large, p, q, t, low, high)
    errors = error_of_stirling(n) - error_of_stirling(p) - error_of_stirling(q)
    return exponent + errors, np.sqrt(p * (q / n) * OVER_2PI)


def _log_share(p: Array, q: Array, t: Array) -> Array:
    """log(t (p + q) / p)"""
    return np.log(t * ((p + q) / p))
