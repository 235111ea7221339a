"""Rows of the incomplete gamma and beta functions: their logs, SciPy's own and its inverses, with all derivatives.

T is the log of a tail and T[k] its derivatives in the shape(s), rows of their own. A derivative in x is
exp(kernel - T) / x (or / (x (1 - x))), whose derivatives in the shapes follow by the recursion of Bell's polynomials.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.ops.dispatch import apply, is_lifted
from probdiff.ops.elementwise import TIMES, Elementwise, row, rows
from probdiff.ops.incomplete import by_formula, log_beta_tail, log_gamma_tail
from probdiff.ops.saddle import beta_kernel, gamma_kernel
from probdiff.tree import Array


def _polygamma(n: int, x: Array) -> Array:
    return sp.psi(x) if n == 0 else apply(rows["polygamma"], n, x)


@functools.cache
def gamma_tail(order: int, upper: bool) -> Elementwise:
    """The row of the derivative of that order in a of log P(a, x), or of log Q(a, x)."""

    def evaluate(a: Any, x: Any) -> Any:
        return log_gamma_tail(order, upper, a, x)

    def da(a: Array, x: Array, z: Array) -> Array:
        return apply(gamma_tail(order + 1, upper), a, x)

    def dx(a: Array, x: Array, z: Array) -> Array:
        tails = [z if k == order else apply(gamma_tail(k, upper), a, x) for k in range(order + 1)]
        slopes = [-_polygamma(k - 1, a) - tails[k] + (np.log(x) if k == 1 else 0.0) for k in range(1, order + 1)]
        bell = [np.exp(gamma_kernel(a, x) - tails[0]) / x * (-1.0 if upper else 1.0)]
        for n in range(order):
            bell.append(sum(math.comb(n, k) * bell[n - k] * slopes[k] for k in range(n + 1)))
        return bell[order]

    return Elementwise(f"log_gammainc{'c' if upper else ''}{order or ''}", evaluate, (da, dx))


@functools.cache
def beta_tail(order: tuple[int, int], upper: bool) -> Elementwise:
    """The row of the derivative of that order in (a, b) of log I_x(a, b), or of log (1 - I_x(a, b))."""

    def evaluate(a: Any, b: Any, x: Any) -> Any:
        return log_beta_tail(order, upper, a, b, x)

    def da(a: Array, b: Array, x: Array, z: Array) -> Array:
        return apply(beta_tail((order[0] + 1, order[1]), upper), a, b, x)

    def db(a: Array, b: Array, x: Array, z: Array) -> Array:
        return apply(beta_tail((order[0], order[1] + 1), upper), a, b, x)

    def dx(a: Array, b: Array, x: Array, z: Array) -> Array:
        def tail(i: int, j: int) -> Array:
            return z if (i, j) == order else apply(beta_tail((i, j), upper), a, b, x)

        def slope(i: int, j: int) -> Array:
            own = _polygamma(i - 1, a) if j == 0 else _polygamma(j - 1, b) if i == 0 else 0.0
            linear = np.log(x) if (i, j) == (1, 0) else np.log1p(-x) if (i, j) == (0, 1) else 0.0
            return _polygamma(i + j - 1, a + b) - own + linear - tail(i, j)

        bell = {(0, 0): _beta_density(a, b, x, tail(0, 0)) * (-1.0 if upper else 1.0)}
        for i, j in list(np.ndindex(order[0] + 1, order[1] + 1))[1:]:
            # One step down in the first variable that has one; the others are spread over both factors.
            m, n = (i - 1, j) if i else (0, j - 1)
            step = (1, 0) if i else (0, 1)
            bell[i, j] = sum(
                math.comb(m, k) * math.comb(n, r) * bell[m - k, n - r] * slope(k + step[0], r + step[1])
                for k, r in np.ndindex(m + 1, n + 1)
            )
        return bell[order]

    suffix = "" if order == (0, 0) else f"{order[0]}{order[1]}"
    return Elementwise(f"log_betainc{'c' if upper else ''}{suffix}", evaluate, (da, db, dx))


def _beta_density(a: Array, b: Array, x: Array, log_scale: Array) -> Array:
    """The beta density at x over exp(log_scale)."""
    return np.exp(beta_kernel(a, b, x, 1.0 - x, np.log(x), np.log1p(-x)) - log_scale) / x / (1.0 - x)


def _gamma_density(a: Array, x: Array, log_scale: Array) -> Array:
    """The gamma density at x over exp(log_scale)."""
    return np.exp(gamma_kernel(a, x) - log_scale) / x


def _gamma_slope(upper: bool) -> Any:
    return lambda a, x, z: apply(TIMES, z, apply(gamma_tail(1, upper), a, x))


def _beta_slope(order: tuple[int, int], upper: bool) -> Any:
    return lambda a, b, x, z: apply(TIMES, z, apply(beta_tail(order, upper), a, b, x))


for _upper in (False, True):
    rows[gamma_tail(0, _upper).name] = gamma_tail(0, _upper)
    rows[beta_tail((0, 0), _upper).name] = beta_tail((0, 0), _upper)

row("gammainc", sp.gammainc, dx=_gamma_slope(False), dy=lambda a, x, z: _gamma_density(a, x, 0.0))
row("gammaincc", sp.gammaincc, dx=_gamma_slope(True), dy=lambda a, x, z: -_gamma_density(a, x, 0.0))
row(
    "betainc",
    sp.betainc,
    dx=_beta_slope((1, 0), False),
    dy=_beta_slope((0, 1), False),
    dw=lambda a, b, x, z: _beta_density(a, b, x, 0.0),
)
row(
    "betaincc",
    sp.betaincc,
    dx=_beta_slope((1, 0), True),
    dy=_beta_slope((0, 1), True),
    dw=lambda a, b, x, z: -_beta_density(a, b, x, 0.0),
)


def _unless_end(top: float, slope: Any) -> Any:
    """The slope in a shape; zero at the ends z = 0 and z = top of a law that has them."""

    def inside(a: Array, *args: Array) -> Array:
        z = args[-1]
        return np.where(((z == 0.0) | (z == top)) & (a > 0.0) & (a < np.inf), 0.0, slope(a, *args))

    return inside


# Inverses: where F(a, z) = p, dz/dp is one over the density and dz/da is -(dF/da) over it; dF/da is p times a slope.
row(
    "gammaincinv",
    sp.gammaincinv,
    dx=_unless_end(np.inf, lambda a, p, z: -apply(gamma_tail(1, False), a, z) / _gamma_density(a, z, np.log(p))),
    dy=lambda a, p, z: 1.0 / _gamma_density(a, z, 0.0),
)
row(
    "gammainccinv",
    sp.gammainccinv,
    dx=_unless_end(np.inf, lambda a, p, z: apply(gamma_tail(1, True), a, z) / _gamma_density(a, z, np.log(p))),
    dy=lambda a, p, z: -1.0 / _gamma_density(a, z, 0.0),
)
row(
    "betaincinv",
    sp.betaincinv,
    dx=_unless_end(
        1.0, lambda a, b, p, z: -apply(beta_tail((1, 0), False), a, b, z) / _beta_density(a, b, z, np.log(p))
    ),
    dy=_unless_end(
        1.0, lambda a, b, p, z: -apply(beta_tail((0, 1), False), a, b, z) / _beta_density(a, b, z, np.log(p))
    ),
    dw=lambda a, b, p, z: 1.0 / _beta_density(a, b, z, 0.0),
)
row(
    "betainccinv",
    sp.betainccinv,
    dx=_unless_end(1.0, lambda a, b, p, z: apply(beta_tail((1, 0), True), a, b, z) / _beta_density(a, b, z, np.log(p))),
    dy=_unless_end(1.0, lambda a, b, p, z: apply(beta_tail((0, 1), True), a, b, z) / _beta_density(a, b, z, np.log(p))),
    dw=lambda a, b, p, z: -1.0 / _beta_density(a, b, z, 0.0),
)


# The odds z = x / (1 - x) of the inverse: their logs and those of 1 / z keep the digits of both ends.
def _odds_kernel(a: Array, b: Array, z: Array) -> Array:
    """z times the density of the odds."""
    x, y = z / (1.0 + z), 1.0 / (1.0 + z)
    rest = np.log1p(np.where(z < 1.0, z, 1.0 / z))
    log_x, log_y = np.where(z < 1.0, np.log(z) - rest, -rest), np.where(z < 1.0, -rest, -np.log(z) - rest)
    return np.exp(beta_kernel(a, b, x, y, log_x, log_y))


def _odds_slope(order: tuple[int, int], upper: bool) -> Any:
    """The derivative in a shape, from the log of the tail of x or of 1 - x, whichever is smaller."""

    def slope(a: Array, b: Array, p: Array, z: Array) -> Array:
        near = apply(beta_tail(order, upper), a, b, z / (1.0 + z))
        far = apply(beta_tail(order[::-1], not upper), b, a, 1.0 / (1.0 + z))
        return (1.0 if upper else -1.0) * z * p * np.where(z < 1.0, near, far) / _odds_kernel(a, b, z)

    return _unless_end(np.inf, slope)


def _beta_odds(a: Any, b: Any, p: Any) -> Any:
    return by_formula(rows["beta_odds"], (a, b, p))


def _beta_oddsc(a: Any, b: Any, q: Any) -> Any:
    return by_formula(rows["beta_oddsc"], (a, b, q))


row(
    "beta_odds",
    _beta_odds,
    dx=_odds_slope((1, 0), False),
    dy=_odds_slope((0, 1), False),
    dw=lambda a, b, p, z: z / _odds_kernel(a, b, z),
)
row(
    "beta_oddsc",
    _beta_oddsc,
    dx=_odds_slope((1, 0), True),
    dy=_odds_slope((0, 1), True),
    dw=lambda a, b, q, z: -z / _odds_kernel(a, b, z),
)


# Student's t: P(T <= -|t|) is half of I(v/2, 1/2) at v / (v + t²); near t = 0 its complement at t² / (v + t²) has the
# digits.
def _student_density(v: Array, t: Array) -> Array:
    return _student_kernel(v, t, *_shares(v, t)) / abs(np.where(t == 0, 1.0, t))


def _student_slope(v: Array, t: Array) -> Array:
    """The derivative of P(T <= t) in v."""
    h = 0.5 * v
    x, q = _shares(v, t)
    far = apply(TIMES, sp.betainc(h, 0.5, x), apply(beta_tail((1, 0), False), h, 0.5, x))
    near = -apply(TIMES, sp.betainc(0.5, h, q), apply(beta_tail((0, 1), False), 0.5, h, q))
    lower = 0.25 * np.where(q < 0.5, near, far) + 0.5 * _student_kernel(v, t, x, q) / v
    return np.where(t == 0, 0.0, np.where(t < 0, lower, -lower))


def _shares(v: Array, t: Array) -> tuple[Array, Array]:
    """v / (v + t²) and t² / (v + t²)."""
    square = np.where(t == 0, 1.0, t * t)
    return v / (v + square), square / (v + square)


def _student_kernel(v: Array, t: Array, x: Array, q: Array) -> Array:
    """|t| times the density; the density itself at t = 0."""
    h = 0.5 * v
    kernel = beta_kernel(h, 0.5, x, q, np.where(q < 0.5, np.log1p(-q), np.log(x)), np.log(q))
    return np.exp(np.where(t == 0, -sp.betaln(h, 0.5) - 0.5 * np.log(v), kernel))


row("stdtr", sp.stdtr, dx=lambda v, t, z: _student_slope(v, t), dy=lambda v, t, z: _student_density(v, t))


# Not SciPy's stdtrit, which is +inf at probability zero and has no digits far out. At the ends t does not move with v.
def _student_inverse(v: Any, p: Any) -> Any:
    return by_formula(rows["student_inverse"], (v, p))


def _student_inverse_slope(v: Array, t: Array) -> Array:
    # Next to t = 0 it is -t d log density / dv.
    middle = 0.5 * (sp.psi(0.5 * v + 0.5) - sp.psi(0.5 * v) - 1.0 / v)
    off = np.where(t == 0.0, -t * middle, -_student_slope(v, t) / _student_density(v, t))
    return np.where(abs(t) == np.inf, 0.0, off)


row(
    "student_inverse",
    _student_inverse,
    dx=lambda v, p, z: _student_inverse_slope(v, z),
    dy=lambda v, p, z: 1.0 / _student_density(v, z),
)


def inverse(name: str, *args: Array) -> Array:
    """The row of that name (one of the inverses above) by its formula, of plain arrays too.

    It has more digits than SciPy's inverse at large shapes and small probabilities.
    """
    return apply(rows[name], *args) if any(map(is_lifted, args)) else by_formula(rows[name], args)


def log_gammainc(a: Array, x: Array) -> Array:
    """log P(a, x), P the lower regularised incomplete gamma function; full relative accuracy in both tails."""
    return apply(gamma_tail(0, False), a, x)


def log_gammaincc(a: Array, x: Array) -> Array:
    """log Q(a, x), Q the upper regularised incomplete gamma function; full relative accuracy in both tails."""
    return apply(gamma_tail(0, True), a, x)


def log_betainc(a: Array, b: Array, x: Array) -> Array:
    """log I_x(a, b), I the regularised incomplete beta function; full relative accuracy in both tails."""
    return apply(beta_tail((0, 0), False), a, b, x)


def log_betaincc(a: Array, b: Array, x: Array) -> Array:
    """log (1 - I_x(a, b)), I the regularised incomplete beta function; full relative accuracy in both tails."""
    return apply(beta_tail((0, 0), True), a, b, x)
