"""The incomplete beta functions: logs of the tails with their derivatives in the shapes, and the tails themselves.

In the variable logit x the integrand of B(a, b) I_x(a, b) has its top at x = a / (a + b). The tail on the side of x
without the top is computed, the other one is one minus it. It is the lower tail of (p, q) = (a, b) at t = x, or that of
(b, a) at 1 - x. With s = 1 - t, n = p + q:

p < 1 or t > 4/5, if it converges   t^p / (p B) (1 + Σ (1 - q)_k p t^k / (k! (p + k))), DLMF 8.17.7, or the same for s
1 <= p < 5                          t^p s^q / B Σ n (n + 1) … (n + k - 1) / (p (p + 1) … (p + k)) t^k, DLMF 8.17.8
else                                by quadrature

The difference of the first from one keeps its digits; there either tail may be the smaller one. All other sums are of
terms of one sign, and so are those of their derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.compiler.formulas import series
from probdiff.compiler.formulas.loops import choose, choose_series, summed, summed_series
from probdiff.compiler.formulas.polynomials import beta_kernel, gammaln, log_gamma_of_next, log_less_psi, polygamma
from probdiff.compiler.formulas.quadrature import DEPTH, integrals, log_integral, stretched
from probdiff.compiler.formulas.series import Power, Series, powers
from probdiff.ops.saddle import expm1_less, log1p_less
from probdiff.tree import Array

LARGE = 5.0  # shapes from which the integral has less terms than the series, or a simpler integrand
FAR = 0.8


def log_tail(order: Power, upper: bool) -> Callable[..., Array]:
    """The derivative of that order in (a, b) of log I_x(a, b), or of log (1 - I_x(a, b))."""
    value_wanted = order == (0, 0)

    def formula(a: Array, b: Array, x: Array) -> Array:
        valid = (a > 0.0) & (a < np.inf) & (b > 0.0) & (b < np.inf) & (x >= 0.0) & (x <= 1.0)
        inside = valid & (x > 0.0) & (x < 1.0)
        lower, tail = at(powers(*order), *(np.where(inside, v, 0.5) for v in (a, b, x)))
        value = np.where(lower != upper, tail[order], series.log1mexp(tail)[order])
        edge = np.where((x == 0.0) != upper, -np.inf, 0.0) if value_wanted else 0.0
        factor = math.factorial(order[0]) * math.factorial(order[1])
        return np.where(inside, value * factor, np.where(valid, edge, np.nan))

    return formula


def tail(upper: bool) -> Callable[..., Array]:
    """I_x(a, b), or 1 - I_x(a, b)."""

    def formula(a: Array, b: Array, x: Array) -> Array:
        inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < np.inf) & (b < np.inf)
        lower, found = at([(0, 0)], *(np.where(inside, v, 0.5) for v in (a, b, x)))
        value = np.where(lower != upper, np.exp(found[0, 0]), -np.expm1(found[0, 0]))
        allowed = (x >= 0.0) & (x <= 1.0) & (a >= 0.0) & (b >= 0.0) & ((a != b) | (0.0 < a) & (a < np.inf))
        full = (x == 1.0) | ((a == 0.0) | (b == np.inf)) & (x > 0.0)
        empty = (x == 0.0) | ((b == 0.0) | (a == np.inf)) & (x < 1.0)
        edge = np.where(allowed & (full != empty), np.where(full != upper, 1.0, 0.0), np.nan)
        return np.where(inside, value, edge)

    return formula


def stdtr(v: Array, t: Array) -> Array:
    """Student's distribution function: I(v / 2, 1 / 2) / 2 at v / (v + t²) for t <= 0, and one minus it at -t above."""
    inside = (v > 0.0) & (v <= 1e17) & (t != 0.0) & (abs(t) < np.inf)
    shape, r = np.where(inside, v, 1.0), np.where(inside, abs(t), 1.0)
    r = r / np.sqrt(shape)
    square = r * r
    log_x = np.where(r < 1e150, -np.log1p(square), -2.0 * np.log(r))
    y = 1.0 / (1.0 + 1.0 / square)
    log_y = -np.log1p(1.0 / square)
    lower, found = smaller_tail([(0, 0)], 0.5 * shape, 0.5 + 0.0 * shape, 1.0 / (1.0 + square), y, log_x, log_y)
    tail = 0.5 * np.where(lower, np.exp(found[0, 0]), -np.expm1(found[0, 0]))
    value = np.where(inside, np.where(t < 0.0, tail, 1.0 - tail), sp.ndtr(t))
    return np.where(v > 0.0, value, np.nan)


def at(keys: list[Power], a: Array, b: Array, x: Array) -> tuple[Array, Series]:
    """`smaller_tail` for x alone."""
    return smaller_tail(keys, a, b, x, 1.0 - x, np.log(x), np.log1p(-x))


def smaller_tail(
    keys: list[Power], a: Array, b: Array, x: Array, y: Array, log_x: Array, log_y: Array
) -> tuple[Array, Series]:
    """Whether it is the lower tail, and its log at (a + α, b + β) as a series; a, b > 0, 0 < x < 1 and y = 1 - x."""
    turned = a * y < b * x
    pairs = ((a, b), (x, y), (log_x, log_y))
    args: list[Any] = [np.where(turned, v[1 - k], v[k]) for v in pairs for k in (0, 1)]
    both = sorted({*keys, *(k[::-1] for k in keys)})
    lower, found = choose_series(
        _is_small(*args[:4]), lambda *v: _small(both, *v), lambda *v: (True, _usual(both, *v)), *args
    )
    return turned != lower, {(i, j): np.where(turned, found[j, i], found[i, j]) for i, j in keys}


def _is_small(p: Array, q: Array, t: Array, s: Array) -> Array:
    return np.where(t > FAR, (p < LARGE) | (p * s <= 1.0) & (q < 1.0), p < 1.0)


def _small(
    keys: list[Power], p: Array, q: Array, t: Array, s: Array, log_t: Array, log_s: Array
) -> tuple[Array, Series]:
    """The smaller tail at t of (p, q), and whether it is the lower one, from the end of [0, 1] that is nearer.

    With e and m the shapes at the nearer end and at the other, and v the distance from it, the tail there is
    e^w (1 + T) for w = e log v - log Γ(1 + e) + log Γ(m + e) - log Γ(m).
    """
    on, far = _is_small(p, q, t, s), t > FAR
    e: Any = np.where(far, q, p)
    m: Any = np.where(far, p, q)
    v, log_v = np.where(far, s, t), np.where(far, log_s, log_t)
    w = {(i, j): _log_gamma_difference(i, j, e, m) for i, j in keys}
    w[0, 0] = w[0, 0] + (e * log_v - log_gamma_of_next(e))
    for i, j in keys:
        if i and not j:
            w[i, j] = w[i, j] + ((log_v if i == 1 else 0.0) - polygamma(i - 1, 1.0 + e) / math.factorial(i))

    def step(k: Array, terms: Any, sums: Any) -> Any:
        bound: Any = terms[0]
        product: list[Any] = list(terms[1:])
        share, part = v / k, 1.0 / (e + k)
        bound = bound * share * np.maximum(abs(k - m), 1.0)
        product = [share * ((k - m) * c - (product[j - 1] if j else 0.0)) for j, c in enumerate(product)]
        new = [product[j] * (k * part * -((-part) ** i) if i else e * part) for i, j in keys]
        return (bound, *product), (sums[0], *(total + n for total, n in zip(sums[1:], new, strict=True)))

    start = (1.0, *(0.0 if j else 1.0 for j in range(1 + max(j for _, j in keys))))
    t_sum = dict(zip(keys, summed(on, step, start, (1.0, *(0.0 for _ in keys)))[1:], strict=True))
    height, low = np.exp(w[0, 0]), np.expm1(w[0, 0])
    exponential = series.exp(w, height)
    product = series.product(exponential, t_sum)
    rest = {k: -(product[k] + exponential[k]) for k in keys}
    rest[0, 0] = -(low + height * t_sum[0, 0])
    one = {**t_sum, (0, 0): 1.0 + t_sum[0, 0]}
    log_near = series.total(w, series.log(one, np.log1p(t_sum[0, 0])))
    log_rest = series.log(rest, np.log(rest[0, 0]))
    near = rest[0, 0] > 0.5
    found = {k: np.where(near, log_near[k], log_rest[k]) for k in keys}
    return near != far, {(i, j): np.where(far, found[j, i], found[i, j]) for i, j in keys}


def _log_gamma_difference(i: int, j: int, e: Array, m: Array) -> Array:
    """The coefficient of ε^i μ^j in log Γ(m + μ + e + ε) - log Γ(m + μ), with all digits where e is small."""
    if i:
        return polygamma(i + j - 1, m + e) / (math.factorial(i) * math.factorial(j))

    def close(e: Array, m: Array) -> Array:  # the difference is the integral of its derivative
        slope = integrals(m >= 4.0 * e, lambda x, e, m: (polygamma(j, m + e * x),), (e, m), 1)
        return e * slope[0] / math.factorial(j)

    def apart(e: Array, m: Array) -> Array:
        if j:
            return (polygamma(j - 1, m + e) - polygamma(j - 1, m)) / math.factorial(j)
        return gammaln(1.0 + m + e) - gammaln(1.0 + m) - np.log1p(e / m)

    return choose(m >= 4.0 * e, close, apart, e, m)


def _usual(keys: list[Power], p: Array, q: Array, t: Array, s: Array, log_t: Array, log_s: Array) -> Series:
    n = p + q
    args = (p, q, t, s, log_t, log_s)
    kernel = {(0, 0): beta_kernel(*args)}
    gap = p * s - q * t
    for i, j in keys[1:]:
        if i + j > 1:
            own = polygamma(i - 1, p) if j == 0 else polygamma(j - 1, q) if i == 0 else 0.0
            kernel[i, j] = (polygamma(i + j - 1, n) - own) / (math.factorial(i) * math.factorial(j))
        else:
            shape, rest, log_share = (p, -gap, log_t) if i else (q, gap, log_s)
            near = abs(rest) < 0.5 * shape
            ratio = np.where(near, np.log1p(np.where(near, rest, 0.0) / shape), log_share - np.log(shape) + np.log(n))
            kernel[i, j] = ratio + log_less_psi(shape) - log_less_psi(n)
    _, found = choose_series(
        (p < LARGE) & ~_is_small(p, q, t, s),
        lambda *v: (0.0, _rising(keys, *v)),
        lambda *v: (0.0, _integral(keys, *v)),
        *args[:4],
    )
    return series.total(kernel, found)


def _rising(keys: list[Power], p: Array, q: Array, t: Array, s: Array) -> Series:
    """log Σ n (n + 1) … (n + k - 1) / (p (p + 1) … (p + k)) t^k"""
    on = (p < LARGE) & ~_is_small(p, q, t, s)
    first = {(i, j): (-1.0 / p) ** i / p if j == 0 else 0.0 for i, j in keys}

    def factor(k: Array) -> Series:
        share = 1.0 / (p + k)
        top = (p + q + (k - 1.0)) * t
        ratio: Series = {}
        for i, j in keys:
            if j < 2:
                alone = share * (-share) ** i
                ratio[i, j] = t * alone if j else top * alone + (t * share * (-share) ** (i - 1) if i else 0.0)
        return ratio

    sums = summed_series(on, first, factor)
    return series.log(sums, np.log(sums[0, 0]))


def _integral(keys: list[Power], p: Array, q: Array, t: Array, s: Array) -> Series:
    """log ∫ exp(φ) over the tail in logit t, φ(v) = -p v - n log(s + t e^-v)."""
    on = (p >= LARGE) & ~_is_small(p, q, t, s)
    # The side of one half that t lies on decides which of t and s carries the digits.
    left, n, gap = t <= 0.5, p + q, p * s - q * t
    sign, r, lead = np.where(left, -1.0, 1.0), np.where(left, t, s), np.where(left, -p, q)

    def phi(v: Array, sign: Array, r: Array, lead: Array, n: Array, gap: Array) -> tuple[Array, ...]:
        e = sign * v
        bend = expm1_less(e)
        y = r * (bend + e)
        log_1y = np.log1p(y)
        near = -v * gap - n * (log1p_less(y) + r * bend)
        height = np.where(v < 0.5, near, lead * v - n * log_1y)
        return height, np.where(sign < 0.0, -v, 0.0) - log_1y, np.where(sign < 0.0, 0.0, v) - log_1y

    def roughly(v: Array) -> tuple[Array, Array]:
        fall = t * np.expm1(-v)
        return -p * v - n * np.log1p(fall), n * (t + fall) / (1.0 + fall) - p

    args = (sign, r, lead, n, gap)
    width = np.sqrt(2.0 * DEPTH / (n * t * s))
    guess = np.maximum(np.maximum(DEPTH / p, np.log1p(DEPTH / (n * s))), np.minimum(width, 1.0))
    end = stretched(roughly, guess, 3)
    return log_integral(on, phi, end, args, keys)
