"""Bessel functions: of order 0 and 1 by polynomials, modified ones of any real order by series and quadrature."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.compiler.formulas.loops import choose, summed
from probdiff.compiler.formulas.polynomials import gamma_kernel, polynomial
from probdiff.compiler.formulas.quadrature import DEPTH, PANELS, integrals
from probdiff.compiler.native.vectormath.coefficients import (
    GAMMALN,
    J0,
    J1,
    K0,
    K0E_TAIL,
    K1,
    K1E_TAIL,
    P0,
    P1,
    Q0,
    Q1,
    Y0,
    Y1,
)
from probdiff.tree import Array

SMALL = 8.0
HIGH = 5e3  # orders from which four terms of the uniform expansions are exact to rounding
TWO_OVER_PI = 2.0 / math.pi


def j0(x: Array) -> Array:
    """The Bessel function of the first kind of order 0."""
    a = abs(x)
    t = np.minimum(a, SMALL)
    return np.where(a <= SMALL, polynomial(t * t / 32.0 - 1.0, J0), _beyond(0, a)[0])


def j1(x: Array) -> Array:
    """The Bessel function of the first kind of order 1."""
    a = abs(x)
    t = np.minimum(a, SMALL)
    y = np.where(a <= SMALL, t * polynomial(t * t / 32.0 - 1.0, J1), _beyond(1, a)[0])
    return np.where(x < 0.0, -y, y)


def y0(x: Array) -> Array:
    """The Bessel function of the second kind of order 0; NaN below 0."""
    t = np.minimum(x, SMALL)
    v = t * t / 32.0 - 1.0
    near = polynomial(v, Y0) + TWO_OVER_PI * np.log(t) * polynomial(v, J0)
    return _from_zero(x, np.where(x <= SMALL, near, _beyond(0, x)[1]))


def y1(x: Array) -> Array:
    """The Bessel function of the second kind of order 1; NaN below 0."""
    t = np.minimum(x, SMALL)
    v = t * t / 32.0 - 1.0
    near = t * polynomial(v, Y1) + TWO_OVER_PI * (np.log(t) * t * polynomial(v, J1) - 1.0 / t)
    return _from_zero(x, np.where(x <= SMALL, near, _beyond(1, x)[1]))


def _from_zero(x: Array, y: Array) -> Array:
    return np.where(x > 0.0, y, np.where(x == 0.0, -np.inf, np.nan))


def _beyond(order: int, x: Array) -> tuple[Array, Array]:
    """J and Y by P and Q, DLMF 10.17.3 and 4, with the sine and cosine of the shifted phase from those of x."""
    a = np.where((x <= SMALL) | (x == np.inf), SMALL, x)
    t = 128.0 / (a * a) - 1.0
    p, q = polynomial(t, (P0, P1)[order]), polynomial(t, (Q0, Q1)[order]) / a
    scale = 1.0 / np.sqrt(math.pi * a)
    cosine, sine = np.cos(a), np.sin(a)
    # times sqrt(2): of x - π / 4, or of x - 3 π / 4
    c, s = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)
    return np.where(x == np.inf, 0.0, scale * (p * c - q * s)), np.where(x == np.inf, 0.0, scale * (p * s + q * c))


def k0e(x: Array) -> Array:
    """exp(x) K0(x); NaN below 0."""
    t = np.minimum(x, 2.0)
    e = np.exp(t)
    near = e * (polynomial(0.5 * t * t - 1.0, K0) - np.log(0.5 * t) * e * sp.i0e(t))
    a = np.maximum(x, 2.0)
    far = polynomial(4.0 / a - 1.0, K0E_TAIL) / np.sqrt(a)
    return np.where(x > 0.0, np.where(x <= 2.0, near, far), np.where(x == 0.0, np.inf, np.nan))


def k1e(x: Array) -> Array:
    """exp(x) K1(x); NaN below 0."""
    t = np.minimum(x, 2.0)
    e = np.exp(t)
    near = e * (1.0 / t + np.log(0.5 * t) * e * sp.i1e(t) + t * polynomial(0.5 * t * t - 1.0, K1))
    a = np.maximum(x, 2.0)
    far = polynomial(4.0 / a - 1.0, K1E_TAIL) / np.sqrt(a)
    return np.where(x > 0.0, np.where(x <= 2.0, near, far), np.where(x == 0.0, np.inf, np.nan))


def kve(v: Array, x: Array) -> Array:
    """exp(x) K(v, x) from two orders between -1/2 and 3/2, upwards by DLMF 10.29.1; NaN for x < 0."""
    from probdiff.ad.control import while_loop

    inside = (x > 0.0) & (x < np.inf) & (abs(v) < np.inf)
    order, y = np.where(inside, abs(v), 0.0), np.where(inside, x, 1.0)
    high = order > HIGH
    steps = np.where(high, 0.0, np.rint(order))
    m = np.where(high, 0.0, order - steps)
    pair = choose(y <= 2.0, _small_k, _integral_k, m, y)

    def body(carry: Any) -> Any:
        k, before, here = carry
        return k + 1.0, here, before + 2.0 * (m + k) / y * here

    last, here, _ = while_loop(lambda c: (c[0] <= steps) & (c[1] < np.inf), body, (1.0, *pair))
    value = np.where(high, _uniform(order, y)[0], np.where(last <= steps, np.inf, here))
    edge = np.where(x == 0.0, np.inf, np.where(x == np.inf, 0.0, np.nan))
    return np.where(inside, value, np.where(v == v, edge, np.nan))


def _uniform(v: Array, x: Array) -> tuple[Array, Array]:
    """exp(x) K(v, x) and exp(-x) I(v, x) for large v, DLMF 10.41.3 and 4."""
    root = np.hypot(v, x)
    p = v / root
    w = p * p
    u1 = p * (3.0 - 5.0 * w) / 24.0
    u2 = w * (81.0 + w * (-462.0 + 385.0 * w)) / 1152.0
    u3 = p * w * (30375.0 + w * (-369603.0 + w * (765765.0 - 425425.0 * w))) / 414720.0
    # v log(x / (v + root)) + root - x
    exponent = v * (np.log(x) - np.log(v + root)) + v * (v / (root + x))
    r = 1.0 / v
    k = np.sqrt(0.5 * math.pi / root) * np.exp(-exponent) * (1.0 - r * (u1 - r * (u2 - r * u3)))
    i = np.sqrt(0.5 / math.pi / root) * np.exp(exponent) * (1.0 + r * (u1 + r * (u2 + r * u3)))
    return k, i


def _integral_k(m: Array, x: Array) -> tuple[Array, Array]:
    """∫ exp(-x (cosh t - 1)) cosh(v t) dt over t >= 0 for v = m and m + 1, DLMF 10.32.9."""
    end = 2.0 * np.arcsinh(np.sqrt(0.5 * (DEPTH + 6.0) / x))

    def density(u: Array, end: Array, m: Array, x: Array) -> tuple[Array, Array]:
        t = end * u
        half = np.sinh(0.5 * t)
        weight = end * np.exp(-2.0 * x * half * half)
        return weight * np.cosh(m * t), weight * np.cosh((m + 1.0) * t)

    return integrals(x > 2.0, density, (end, m, x), PANELS)


def _small_k(m: Array, x: Array) -> tuple[Array, Array]:
    """The series of N. M. Temme, J. Comput. Phys. 19 (1975), for K(m, x) and K(m + 1, x), |m| <= 1/2, times exp(x)."""
    on = x <= 2.0
    log_half = np.log(0.5 * x)
    s = m * log_half
    # 1 / Γ(1 ± m) is exp(-even ∓ m odd), where log Γ(1 + m) = m p(m) - log1p(m).
    w = m * m
    plain = polynomial(w, GAMMALN[0::2])
    near = abs(m) < 1e-4
    odd = plain - np.where(near, 1.0 + w / 3.0, np.arctanh(m) / np.where(near, 1.0, m))
    even = w * polynomial(w, GAMMALN[1::2]) - 0.5 * np.log1p(-w)
    scale = np.exp(-even)

    def ratio(z: Array, f: Any, first: float) -> Array:
        """f(z) / z for odd f with f(z) = z + first z³ + …"""
        flat = abs(z) < 1e-4
        return np.where(flat, 1.0 + first * z * z, f(z) / np.where(flat, 1.0, z))

    gamma_1 = scale * odd * ratio(m * odd, np.sinh, 1 / 6)
    gamma_2 = scale * np.cosh(m * odd)
    reflection = 1.0 / ratio(math.pi * m, np.sin, -1 / 6)
    f = reflection * (gamma_1 * np.cosh(s) - gamma_2 * log_half * ratio(s, np.sinh, 1 / 6))
    p = 0.5 * np.exp(-s + even + m * odd)
    q = 0.5 * np.exp(s + even - m * odd)

    def step(k: Array, terms: Any, sums: Any) -> Any:
        c, f, p, q = terms
        f = (k * f + p + q) / (k * k - w)
        p, q = p / (k - m), q / (k + m)
        c = c * (0.25 * x * x / k)
        return (c, f, p, q), (sums[0] + c * f, sums[1] + c * (p - k * f))

    total, following = summed(on, step, (1.0, f, p, q), (f, p))
    e = np.exp(np.minimum(x, 2.0))
    return e * total, e * following * 2.0 / x


def ive(v: Array, x: Array) -> Array:
    """exp(-|x|) I(v, x); for x < 0 of whole orders only.

    Σ (x / 2)^(v + 2 k) / (k! Γ(v + k + 1)), DLMF 10.25.2, or Hankel's expansion for large x; negative orders by
    DLMF 10.27.2.
    """
    a, order = abs(x), abs(v)
    ordinary = (a > 0.0) & (a < np.inf) & (order < np.inf)
    n, y = np.where(ordinary, order, 0.0), np.where(ordinary, a, 1.0)
    low = np.minimum(n, HIGH)
    first = choose(y > np.maximum(40.0, low * low), _far_i, _near_i, low, y)
    first = np.where(n > HIGH, _uniform(n, y)[1], first)
    whole = np.floor(n) == n
    negative = (v < 0.0) & ~whole
    k: Any = kve(np.where(negative, n, 0.5), np.where(negative, y, 1.0))
    turn = n - 2.0 * np.rint(0.5 * n)
    value = np.where(negative, first + 2.0 / math.pi * np.sin(math.pi * turn) * k * np.exp(-2.0 * y), first)
    value = np.where((x < 0.0) & (turn != 0.0), np.where(whole, -value, np.nan), value)
    at_zero = np.where(v == 0.0, 1.0, np.where((v > 0.0) | whole, 0.0, np.inf))
    edge = np.where(a == 0.0, at_zero, 0.0)
    return np.where(ordinary, value, np.where((v == v) & (x == x), edge, np.nan))


def _near_i(v: Array, x: Array) -> Array:
    """The series from its largest term both ways, each term a Poisson probability times one of its kind."""
    on = x <= np.maximum(40.0, v * v)
    half = 0.5 * x
    square = half * half
    top = np.floor(0.5 * square / (0.5 * (np.sqrt(v * v + x * x) + v)))

    def up(k: Array, terms: Any, sums: Any) -> Any:
        term = terms[0] * (square / ((top + k) * (top + k + v)))
        return (term,), (sums[0] + term,)

    def down(k: Array, terms: Any, sums: Any) -> Any:
        at = np.maximum(top + 1.0 - k, 0.0)
        term = terms[0] * (at * (at + v) / square)
        return (term,), (sums[0] + term,)

    (above,) = summed(on, up, (1.0,), (1.0,))
    (total,) = summed(on, down, (1.0,), (above,))
    height = gamma_kernel(top + 1.0, half) + gamma_kernel(top + v + 1.0, half)
    return np.exp(height + np.log(total) - 2.0 * np.log(half))


def _far_i(v: Array, x: Array) -> Array:
    on = x > np.maximum(40.0, v * v)

    def step(k: Array, terms: Any, sums: Any) -> Any:
        odd = 2.0 * k - 1.0
        term = terms[0] * -(4.0 * v * v - odd * odd) / (8.0 * k * x)
        return (term,), (sums[0] + term,)

    (total,) = summed(on, step, (1.0,), (1.0,))
    return total / np.sqrt(2.0 * math.pi * x)
