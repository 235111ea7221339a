"""The incomplete beta functions: the tails and their logs, and derivatives of the logs in the shapes.

Values are those of `beta_tail`; derivatives come from expansions that are differentiated term by term. In the variable
logit x the integrand of B(a, b) I_x(a, b) has its top at x = a / (a + b). The tail on the side of x without the top is
computed, the other one is one minus it. It is the lower tail of (p, q) = (a, b) at t = x, or that of (b, a) at 1 - x.
With s = 1 - t, n = p + q:

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

from probdiff.compiler.formulas import beta_tail, series, small_shapes
from probdiff.compiler.formulas.loops import choose, choose_series, summed, summed_series
from probdiff.compiler.formulas.polynomials import beta_kernel, log_gamma_of_next, log_less_psi, polygamma
from probdiff.compiler.formulas.series import Power, Series, powers
from probdiff.tree import Array

LARGE = 5.0  # shapes from which the integral has less terms than the series, or a simpler integrand
FAR = 0.8


def log_tail(order: Power, upper: bool) -> Callable[..., Array]:
    """The derivative of that order in (a, b) of log I_x(a, b), or of log (1 - I_x(a, b))."""
    value_wanted = order == (0, 0)

    def value(a: Array, b: Array, x: Array) -> Array:
        lower, exponent, factor = beta_tail.smaller_tail(a, b, x, 1.0 - x)
        return choose(
            lower != upper, lambda e, f: e + np.log(f), lambda e, f: np.log1p(-np.exp(e) * f), exponent, factor
        )

    def derivative(a: Array, b: Array, x: Array) -> Array:
        tails = both_tails(powers(*order), a, b, x)
        return tails[upper][order] * math.factorial(order[0]) * math.factorial(order[1])

    def formula(a: Array, b: Array, x: Array) -> Array:
        valid = (a > 0.0) & (a < np.inf) & (b > 0.0) & (b < np.inf) & (x >= 0.0) & (x <= 1.0)
        inside = valid & (x > 0.0) & (x < 1.0)
        found = (value if value_wanted else derivative)(*(np.where(inside, v, 0.5) for v in (a, b, x)))
        edge = np.where((x == 0.0) != upper, -np.inf, 0.0) if value_wanted else 0.0
        return np.where(inside, found, np.where(valid, edge, np.nan))

    return formula


def tail(upper: bool) -> Callable[..., Array]:
    """I_x(a, b), or 1 - I_x(a, b)."""

    def formula(a: Array, b: Array, x: Array) -> Array:
        inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < np.inf) & (b < np.inf)
        p, q, t = (np.where(inside, v, 0.5) for v in (a, b, x))
        lower, exponent, factor = beta_tail.smaller_tail(p, q, t, 1.0 - t)
        smaller = np.exp(exponent) * factor
        value = np.where(lower != upper, smaller, 1.0 - smaller)
        allowed = (x >= 0.0) & (x <= 1.0) & (a >= 0.0) & (b >= 0.0) & ((a != b) | (0.0 < a) & (a < np.inf))
        full = (x == 1.0) | ((a == 0.0) | (b == np.inf)) & (x > 0.0)
        empty = (x == 0.0) | ((b == 0.0) | (a == np.inf)) & (x < 1.0)
        edge = np.where(allowed & (full != empty), np.where(full != upper, 1.0, 0.0), np.nan)
        return np.where(inside, value, edge)

    return formula


def stdtr(v: Array, t: Array) -> Array:
    """Student's distribution function: I(v / 2, 1 / 2) / 2 at v / (v + t²) for t <= 0, and one minus it at -t above."""
    inside = (v > 0.0) & (v <= 1e17) & (t != 0.0) & (abs(t) < np.inf)
    return choose(inside, _student, lambda v, t: np.where(v > 0.0, sp.ndtr(t), np.nan), v, t)


def _student(v: Array, t: Array) -> Array:
    r = abs(t) / np.sqrt(v)
    near = np.minimum(np.maximum(r, 1e-140), 1e140)
    square = near * near
    x, y = 1.0 / (1.0 + square), square / (1.0 + square)
    lower, exponent, factor = beta_tail.smaller_tail(0.5 * v, 0.5 + 0.0 * v, x, y)
    smaller = np.exp(exponent) * factor
    tail = 0.5 * np.where(lower, smaller, 1.0 - smaller)
    # Beyond, the tail is a power of r.
    tail = choose(r > near, lambda tail, v, r: tail * (r / 1e140) ** -v, lambda tail, v, r: tail, tail, v, r)
    return np.where(t < 0.0, tail, 1.0 - tail)


def both_tails(keys: list[Power], a: Array, b: Array, x: Array) -> tuple[Series, Series]:
    """The logs of the lower and of the upper tail at (a + α, b + β) as series; a, b > 0, 0 < x < 1."""
    y = 1.0 - x
    turned = a * y < b * x
    pairs = ((a, b), (x, y), (np.log(x), np.log1p(-x)))
    args: list[Any] = [np.where(turned, v[1 - k], v[k]) for v in pairs for k in (0, 1)]
    every = sorted({*keys, *(k[::-1] for k in keys)})

    def usual(*v: Array) -> tuple[Series, Series]:
        found = _usual(every, *v)
        return found, series.log1mexp(found)

    own, other = choose_series(_is_small(*args[:4]), lambda *v: _small(every, *v), usual, *args)
    return (
        {(i, j): np.where(turned, other[j, i], own[i, j]) for i, j in keys},
        {(i, j): np.where(turned, own[j, i], other[i, j]) for i, j in keys},
    )


def _is_small(p: Array, q: Array, t: Array, s: Array) -> Array:
    return np.where(t > FAR, (p < LARGE) | (p * s <= 1.0) & (q < 1.0), p < 1.0)


def _small(
    keys: list[Power], p: Array, q: Array, t: Array, s: Array, log_t: Array, log_s: Array
) -> tuple[Series, Series]:
    """Both tails at t of (p, q) from the end of [0, 1] that is nearer.

    With e and m the shapes at the nearer end and at the other, and v the distance from it, the tail there is
    e^w (1 + T) for w = e log v - log Γ(1 + e) + log Γ(m + e) - log Γ(m).
    """
    on, far = _is_small(p, q, t, s), t > FAR
    e: Any = np.where(far, q, p)
    m: Any = np.where(far, p, q)
    v, log_v = np.where(far, s, t), np.where(far, log_s, log_t)
    small = e < small_shapes.SMALL
    w = _exponent(keys, e, m, log_v)

    def short(e: Array, m: Array, log_v: Array, *_: Array) -> tuple[Series]:
        return (_short_exponent(on & small, keys, e, m, log_v),)

    def usual(e: Array, m: Array, log_v: Array, *w: Array) -> tuple[Series]:
        return (small_shapes.over_shape(e, dict(zip(keys, w, strict=True))),)

    (u,) = choose_series(small, short, usual, e, m, log_v, *(w[k] for k in keys))

    def step(k: Array, terms: Any, sums: Any) -> Any:
        bound: Any = terms[0]
        product: list[Any] = list(terms[1:])
        share, part = v / k, 1.0 / (e + k)
        bound = bound * share * np.maximum(abs(k - m), 1.0)
        product = [share * ((k - m) * c - (product[j - 1] if j else 0.0)) for j, c in enumerate(product)]
        new = [product[j] * part * (-part) ** i for i, j in keys]
        return (bound, *product), (sums[0], *(total + n for total, n in zip(sums[1:], new, strict=True)))

    start = (1.0, *(0.0 if j else 1.0 for j in range(1 + max(j for _, j in keys))))
    tau = dict(zip(keys, summed(on, step, start, (1.0, *(0.0 for _ in keys)))[1:], strict=True))
    near, rest = small_shapes.both_logs(on, e, w, u, tau)
    return (
        {(i, j): np.where(far, rest[j, i], near[i, j]) for i, j in keys},
        {(i, j): np.where(far, near[j, i], rest[i, j]) for i, j in keys},
    )


def _short_exponent(on: Array, keys: list[Power], e: Array, m: Array, log_v: Array) -> Series:
    """w / e, term by term."""
    own = [k for k in keys if not k[1]]
    rise, factor = small_shapes.log_rise(on, keys, e, m), small_shapes.log_rise(on, own, e, 1.0 + 0.0 * e)
    u = {k: rise[k] - factor.get(k, 0.0) for k in keys}
    u[0, 0] = u[0, 0] + log_v
    return u


def _exponent(keys: list[Power], e: Array, m: Array, log_v: Array) -> Series:
    w = {(i, j): beta_tail.log_gamma_difference(i, j, e, m) for i, j in keys}
    w[0, 0] = w[0, 0] + (e * log_v - log_gamma_of_next(e))
    for i, j in keys:
        if i and not j:
            w[i, j] = w[i, j] + ((log_v if i == 1 else 0.0) - polygamma(i - 1, 1.0 + e) / math.factorial(i))
    return w


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
    (found,) = choose_series(
        (p < LARGE) & ~_is_small(p, q, t, s),
        lambda *v: (_rising(keys, *v),),
        lambda *v: (beta_tail.integral(~_is_small(*v) & (v[0] >= LARGE), keys, *v),),
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
