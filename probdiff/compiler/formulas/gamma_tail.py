"""The smaller tail of the gamma law by the expansion with the fewest terms, as exp(exponent) times a factor.

x <= 1, a < 1         the series of x^a Σ (-x)^n / (n! (a + n)), whose difference from one keeps its digits
a >= 16, x near a     Temme's uniform expansion, DLMF 8.12.3 and 4
x < a                 Σ x^n / (a (a + 1) … (a + n)), DLMF 8.7.1
x > a                 the continued fraction of Legendre, DLMF 8.9.2 in its simple form
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.compiler.formulas.kernels import excess, gamma_parts
from probdiff.compiler.formulas.loops import choose, simple_fraction, summed
from probdiff.compiler.formulas.polynomials import log_gamma_of_next, polynomial
from probdiff.tree import Array

UNIFORM = 16.0  # shapes from which the uniform expansion has less terms than the others
NEAR = (0.4, 2.1)  # x / a for which TERMS of its terms are exact to rounding
TERMS = 26


def smaller_tail(a: Array, x: Array) -> tuple[Array, Array, Array]:
    """Whether it is the lower tail, the exponent and the factor; a and x positive and finite."""
    lower, exponent, factor = choose(_is_small(a, x), _small, _usual, a, x)
    return lower, exponent, factor


def tail_and_density(a: Array, x: Array) -> tuple[Array, ...]:
    """`smaller_tail`, and x times the density as an exponent and a factor."""

    def law(a: Array, x: Array, exponent: Array, scale: Array) -> tuple[Array, ...]:
        return x < a, *choose(_is_uniform(a, x), lambda a, x, *_: _uniform(a, x), _by_parts, a, x, exponent, scale)

    parts = gamma_parts(a, x)
    return *choose(_is_small(a, x), lambda a, x, *_: _small(a, x), law, a, x, *parts), *parts


def _is_small(a: Array, x: Array) -> Array:
    """Where either tail may be the smaller one."""
    return (x <= 1.0) & (a < 1.0)


def _is_uniform(a: Array, x: Array) -> Array:
    return (a >= UNIFORM) & (x > NEAR[0] * a) & (x < NEAR[1] * a)


def _small(a: Array, x: Array) -> tuple[Array, Array, Array]:
    """P = e^w (1 + T),  1 - P = -expm1(w) - e^w T  for w = a log x - log Γ(a + 1),  T = Σ (-x)^n a / (n! (a + n))."""
    w = a * np.log(x) - log_gamma_of_next(a)

    def step(n: Array, terms: Any, sums: Any) -> Any:  # two terms over one denominator
        m = 2.0 * n
        before, here = a + (m - 1.0), a + m
        share = terms[0] * x / ((m - 1.0) * m * (before * here))
        return (share * x * (before * here),), (sums[0] + share * a * (x * before - m * here),)

    (t,) = summed(_is_small(a, x), step, (1.0,), (0.0,))
    low = np.expm1(w)
    upper = -(low + (1.0 + low) * t)
    below = upper > 0.5
    return below, np.where(below, w, 0.0), np.where(below, 1.0 + t, upper)


def _usual(a: Array, x: Array) -> tuple[Array, Array, Array]:
    """That on the side of x without the top of the integrand at a."""
    return x < a, *choose(_is_uniform(a, x), _uniform, lambda a, x: _by_parts(a, x, *gamma_parts(a, x)), a, x)


def _by_parts(a: Array, x: Array, exponent: Array, scale: Array) -> tuple[Array, Array]:
    return exponent, scale * choose(x < a, _rising, _fraction, a, x)


def _rising(a: Array, x: Array) -> Array:
    """Σ x^n / (a (a + 1) … (a + n)), four terms over one denominator."""
    r = 1.0 / a
    t = x * r

    def step(n: Array, terms: Any, sums: Any) -> Any:
        at = 4.0 * n
        first, second, third, fourth = (1.0 + (at - k) * r for k in (3.0, 2.0, 1.0, 0.0))
        end = third * fourth
        share = terms[0] / (first * second * end)
        term = share * (t * t * (t * t))
        return (term,), (sums[0] + (share * (t * (second * end + t * (end + t * fourth))) + term),)

    on = (x < a) & ~_is_small(a, x) & ~_is_uniform(a, x)
    return r * summed(on, step, (1.0,), (1.0,))[0]


def _fraction(a: Array, x: Array) -> Array:
    """1 / (x + (1 - a) / (1 + 1 / (x + (2 - a) / (1 + 2 / (x + …)))))"""
    r = 1.0 / x
    share = a * r

    def four(n: Array) -> list[tuple[Array, Array]]:
        shifts = [n * r, *((n + k) * r for k in (1.0, 2.0, 3.0))]
        return [(m - share, m) for m in shifts]

    on = (x >= a) & ~_is_small(a, x) & ~_is_uniform(a, x)
    return r / simple_fraction(on, four)


def _uniform(a: Array, x: Array) -> tuple[Array, Array]:
    """With η² / 2 = x / a - 1 - log(x / a), times e^(a η² / 2): erfc(η √(a / 2)) / 2 ± S(η) / √(2 π a).

    S = a / (a + β_1) Σ β_n η^n, β_n = d_n + (n + 2) / a β_(n + 2), and η / (λ - 1) = 1 + Σ d_n η^(n + 1); Gil, Segura
    & Temme, Efficient and accurate algorithms for the incomplete gamma function ratios (2012).
    """
    rise = excess(a, x)
    r = 1.0 / a
    size = np.sqrt(2.0 * rise)
    eta = np.where(x < a, -size, size)
    beta: list[Any] = [*D]
    for n in range(TERMS - 3, -1, -1):
        beta[n] = D[n] + ((n + 2.0) * r) * beta[n + 2]
    w = eta * eta
    total = polynomial(w, beta[0::2]) + eta * polynomial(w, beta[1::2])
    correction = total / (1.0 + r * beta[1]) * np.sqrt((0.5 / math.pi) * r)
    normal = 0.5 * sp.erfcx(size * np.sqrt(0.5 * a))
    return -(a * rise), np.where(x < a, normal - correction, normal + correction)


def _temme(count: int) -> tuple[float, ...]:
    """The d_n: λ - 1 = Σ α_n η^n solves (λ - 1) dλ/dη = η λ, so that η / (λ - 1) = dλ/dη - η."""
    alpha = [Fraction(0), Fraction(1)]
    for n in range(2, count + 2):
        rest = sum(k * alpha[k] * alpha[n + 1 - k] for k in range(2, n))
        alpha.append((alpha[n - 1] - rest) / (n + 1))
    return (float(2 * alpha[2] - 1), *(float(k * alpha[k]) for k in range(3, count + 2)))


D = _temme(TERMS)
