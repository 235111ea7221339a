"""The smaller tail of the beta law by the expansion with the fewest terms, as exp(exponent) times a factor.

On the side of x without the top of the integrand it is the lower tail of (p, q) = (a, b) at t = x, or that of (b, a) at
1 - x. With s = 1 - t, n = p + q:

p < 1/2, or t > 4/5 and q < 1     the series t^p / (p B) (1 + Σ (1 - q)_k p t^k / (k! (p + k))), DLMF 8.17.7, or that
                                  for s; their difference from one keeps its digits
large p and q, t near p / n       quadrature
else                              continued fractions, whose terms are positive for k > q in one and k < q in the other
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.compiler.formulas.kernels import beta_parts, error_of_stirling
from probdiff.compiler.formulas.loops import choose, fraction, simple_fraction, summed
from probdiff.compiler.formulas.polynomials import gammaln, log_gamma_of_next, polygamma
from probdiff.compiler.formulas.quadrature import DEPTH, integrals, log_integral, stretched
from probdiff.compiler.formulas.series import Power, Series
from probdiff.compiler.formulas.small_shapes import SMALL
from probdiff.ops.saddle import expm1_less, log1p_less
from probdiff.tree import Array

FAR = 0.8  # beyond, the series from the other end has less terms
MANY = 20.0  # the shape q from which the simple fraction has too many negative terms
LONG = 2000.0  # the smaller shape from which the fraction has more terms than the integral near its top


def smaller_tail(a: Array, b: Array, x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Whether it is the lower tail, the exponent and the factor; a, b > 0, 0 < x < 1 and y = 1 - x."""

    def usual(p: Array, q: Array, t: Array, s: Array) -> tuple[Any, Array, Array]:
        return _usual(p, q, t, s, *beta_parts(p, q, t, s))

    turned, args = _on_tail(a, b, x, y)
    lower, exponent, factor = choose(_is_small(*args), _small, usual, *args)
    return turned != lower, exponent, factor


def tail_and_density(a: Array, b: Array, x: Array, y: Array) -> tuple[Array, ...]:
    """`smaller_tail`, and x y times the density as an exponent and a factor."""
    turned, args = _on_tail(a, b, x, y)
    parts = beta_parts(*args)
    lower, *found = choose(_is_small(*args), lambda p, q, t, s, *_: _small(p, q, t, s), _usual, *args, *parts)
    return turned != lower, *found, *parts


def _on_tail(a: Array, b: Array, x: Array, y: Array) -> tuple[Array, list[Array]]:
    """Whether the top of the integrand is below x, and p, q, t, s."""
    turned = a * y < b * x
    return turned, [np.where(turned, v, u) for u, v in ((a, b), (b, a), (x, y), (y, x))]


def _is_small(p: Array, q: Array, t: Array, s: Array) -> Array:
    return np.where(t > FAR, (p < 0.5) | (q < 1.0) & ((p < 5.0) | (p * s <= 1.0)), p < 0.5)


def _is_long(p: Array, q: Array, t: Array, s: Array) -> Array:
    gap = p * s - q * t
    return (np.minimum(p, q) > LONG) & (gap * gap < 9.0 * (p * (q / (p + q))))


def _small(p: Array, q: Array, t: Array, s: Array) -> tuple[Array, Array, Array]:
    """From the end of [0, 1] that is nearer. With e and m the shapes at that end and at the other, and v the distance
    from it, the tail there is e^w (1 + T) for w = e log v - log Γ(1 + e) + log Γ(m + e) - log Γ(m).
    """
    far = t > FAR
    e: Any = np.where(far, q, p)
    m: Any = np.where(far, p, q)
    v = np.where(far, s, t)
    w = e * np.log(v) - log_gamma_of_next(e) + choose(e < SMALL, _short_rise, log_gamma_rise, e, m)

    def step(n: Array, terms: Any, sums: Any) -> Any:  # two terms over one denominator
        k = 2.0 * n
        before, here = e + (k - 1.0), e + k
        share = terms[0] * v * (k - 1.0 - m) / ((k - 1.0) * k * (before * here))
        following = v * (k - m)
        return (share * following * (before * here),), (sums[0], sums[1] + share * e * (k * here + following * before))

    _, total = summed(_is_small(p, q, t, s), step, (1.0,), (1.0, 0.0))
    low = np.expm1(w)
    rest = -(low + (1.0 + low) * total)
    near = rest > 0.5
    return near != far, np.where(near, w, 0.0), np.where(near, 1.0 + total, rest)


def log_gamma_rise(e: Array, m: Array) -> Array:
    """log Γ(m + e) - log Γ(m)"""
    small = m < 1.0
    z = np.where(small, m + 1.0, m)
    step = (z + e - 0.5) * np.log1p(e / z) + e * (np.log(z) - 1.0)
    step = step + (error_of_stirling(z + e) - error_of_stirling(z))
    return choose(small, lambda step, e, m: step - np.log1p(e / m), lambda step, e, m: step, step, e, m)


def _short_rise(e: Array, m: Array) -> Array:
    """The same with all digits where e is small."""
    return log_gamma_difference(0, 0, e, m)


def log_gamma_difference(i: int, j: int, e: Array, m: Array) -> Array:
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


def _usual(p: Array, q: Array, t: Array, s: Array, exponent: Array, scale: Array) -> tuple[Any, Array, Array]:
    def area(p: Array, q: Array, t: Array, s: Array) -> Array:
        return np.exp(integral(_is_long(p, q, t, s), [(0, 0)], p, q, t, s)[0, 0])

    def ratio(p: Array, q: Array, t: Array, s: Array) -> Array:
        return choose(q < MANY, _simple_fraction, _fraction, p, q, t, s)

    return True, exponent, scale * choose(_is_long(p, q, t, s), area, ratio, p, q, t, s)


def _is_fraction(p: Array, q: Array, t: Array, s: Array) -> Array:
    return ~_is_small(p, q, t, s) & ~_is_long(p, q, t, s)


def _simple_fraction(p: Array, q: Array, t: Array, s: Array) -> Array:
    """1 / (p s (1 + a(1) / (1 + b(1) / (1 + a(2) / …)))): Gauss, of 2F1(1 - q, 1; p + 1; -t / s), DLMF 15.7.5.

    a(k) = (k - q) (p + k - 1) t / s / ((p + 2 k - 2) (p + 2 k - 1))
    b(k) = k (n + k - 1) t / s / ((p + 2 k - 1) (p + 2 k))
    """
    ratio, before, after = t / s, p - 1.0, p + q - 1.0

    def four(k: Array) -> list[tuple[Array, Array]]:
        at = p + 2.0 * k
        inverse = [1.0 / (at + j) for j in (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]
        pairs = []
        for j in (0, 1, 2, 3):
            m = k + float(j) if j else k
            share = ratio * inverse[2 * j + 1]
            a = (m - q) * ((before + m) * inverse[2 * j]) * share
            pairs.append((a, m * ((after + m) * inverse[2 * j + 2]) * share))
        return pairs

    return 1.0 / (p * s * simple_fraction(_is_fraction(p, q, t, s) & (q < MANY), four))


def _fraction(p: Array, q: Array, t: Array, s: Array) -> Array:
    """1 / (b(0) + a(1) / (b(1) + …)), of positive terms for k < q; DiDonato & Morris, Algorithm 708 (1992).

    a(k) = (p + k - 1) (n + k - 1) k (q - k) t² / (p + 2 k - 1)²
    b(k) = k + k (q - k) t / (p + 2 k - 1) + (p + k) (p s - q t + 1 + k (1 + s)) / (p + 2 k + 1)
    """
    gap = p * s - q * t + 1.0
    # What keeps numerators and denominators of all terms within the range of float64.
    scale = 1.0 / (gap + np.minimum(0.02 * np.minimum(p, q), 100.0))
    more, before = 1.0 + s, p + q - 1.0

    def four(k: Array) -> list[tuple[Array, Array]]:
        inverse = [1.0 / (p + 2.0 * k + j) for j in (-1.0, 1.0, 3.0, 5.0, 7.0)]
        pairs = []
        for j in (0.0, 1.0, 2.0, 3.0):
            m = k + j if j else k
            here, following = inverse[int(j)], inverse[int(j) + 1]
            rest = m * (q - m)
            share = t * here
            a = (p + m - 1.0) * share * ((before + m) * share) * (rest * scale) * scale
            b = (m + rest * share) * scale + (p + m) * following * ((gap + m * more) * scale)
            pairs.append((a, b))
        return pairs

    return scale / fraction(_is_fraction(p, q, t, s) & (q >= MANY), scale * gap * (p / (p + 1.0)), four)


def integral(on: Array, keys: list[Power], p: Array, q: Array, t: Array, s: Array) -> Series:
    """log ∫ exp(φ) over the tail in logit t, φ(v) = -p v - n log(s + t e^-v)."""
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
